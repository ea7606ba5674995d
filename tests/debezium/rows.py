"""A wide outbox and its rows: what is at the edge of each type, and what a seed draws.

A row is {column: Postgres text, or None}.
"""

import ipaddress
import json
import random
import re
import uuid
import xml.sax.saxutils
from dataclasses import dataclass, field

TOPICS = ("order", "Customer", "shop.customer-v_2")

SCHEMA = """
CREATE TYPE mood AS ENUM ('calm', 'very happy', 'größer "1"', '');
CREATE DOMAIN amount AS numeric(10,2);
CREATE DOMAIN short_text AS varchar(20);
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE EXTENSION citext;
CREATE EXTENSION ltree;
CREATE TABLE outbox (
  id uuid PRIMARY KEY, aggregatetype varchar(255), aggregateid varchar(255), type varchar(255), payload jsonb,
  p_json json, p_text text, p_bytea bytea,
  c_small smallint, c_int int, c_big bigint, c_bool bool, c_num numeric(12,3), c_free numeric, c_real real,
  c_double double precision, c_date date, c_time time, c_ts timestamp, c_ts3 timestamp(3), c_tstz timestamptz,
  c_uuid uuid, c_bytea bytea, c_text text, c_json jsonb, c_texts text[],
  c_num0 numeric(5), c_num38 numeric(38,10), c_char char(5), c_varchar varchar(10), c_plain json,
  c_time0 time(0), c_time3 time(3), c_time4 time(4), c_ts0 timestamp(0), c_ts1 timestamp(1), c_ts4 timestamp(4),
  c_tstz0 timestamptz(0), c_tstz3 timestamptz(3),
  c_enum mood, c_amount amount, c_short short_text, c_positive positive,
  c_smalls smallint[], c_ints int[], c_bigs bigint[], c_bools bool[], c_reals real[], c_doubles float8[],
  c_uuids uuid[], c_dates date[], c_stamps timestamp[], c_zoned timestamptz[], c_varchars varchar(10)[],
  c_nums numeric(6,2)[], c_inet inet, c_cidr cidr, c_mac macaddr, c_mac8 macaddr8, c_ranges int4range,
  c_rangeb int8range, c_rangen numrange, c_ranget tsrange, c_rangez tstzrange, c_ranged daterange, c_xml xml,
  c_lexemes tsvector, c_citext citext, c_path ltree, c_inets inet[], happened timestamp(3),
  d_text text DEFAULT 'its (a) b', d_varchar varchar(20) DEFAULT 'v', d_char char(5) DEFAULT 'c',
  d_int int DEFAULT -7, d_small smallint DEFAULT '8', d_big bigint DEFAULT 9223372036854775807,
  d_bool bool DEFAULT true,
  d_num numeric(8,3) DEFAULT 1.5, d_double float8 DEFAULT 2.5, d_real real DEFAULT 1e10,
  d_json jsonb DEFAULT '{"a": 1}', d_uuid uuid DEFAULT '00000000-0000-4000-8000-0000000000ff',
  d_date date DEFAULT '2024-02-29', d_time time DEFAULT '12:34:56.789',
  d_ts timestamp DEFAULT '2024-02-29 12:34:56.789012',
  d_ts3 timestamp(3) DEFAULT '2024-02-29 12:34:56.789', d_tstz timestamptz DEFAULT '2024-02-29 12:34:56+00',
  d_enum mood DEFAULT 'very happy', d_xml xml DEFAULT '<a/>',
  d_texts text[] DEFAULT '{a}', d_bytea bytea DEFAULT '\\x01', d_inet inet DEFAULT '10.0.0.1',
  d_citext citext DEFAULT 'x',
  d_amount amount DEFAULT 1.5, d_short short_text DEFAULT 's',
  d_now timestamptz DEFAULT now(), d_today date DEFAULT CURRENT_DATE, d_random uuid DEFAULT gen_random_uuid(),
  d_lower text DEFAULT lower('A'), d_sum int DEFAULT 1 + 1, d_null text DEFAULT NULL, d_nullint int DEFAULT NULL::int
);
CREATE PUBLICATION original FOR TABLE outbox WITH (publish = 'insert');
"""

TEXTS = (
    "", " ", "a", "null", "a b", "a\"b\\c'd", "ключ-😀", "Zoë", "\t\n\r", "\u0001\u001f\u007f", "\u2028\u2029",
    "\ufeff", "\uffff", "e\u0301", "日本語", "𝒳𝒴", "</script>", "{\"a\": 1}", "[1]", "x" * 5000, "a=b,c;d",
    "$1 ${x} \\1",
)
JSONS = (
    '{}', '{"a": 1}', '{"a": 1, "b": "two", "c": [1, 2], "d": {"e": true}}', '{"n": null, "m": {"z": null}}', '"text"',
    '42', 'true', 'null', '{"e": []}', '{"e": {}}', '{"a.b": 1, "c d": 2, "1x": 3, "é": 4, "": 5}',
    '{"f": 1.50, "g": 1e3, "h": -0.0, "i": 0.1, "j": 1e-7, "k": 123456789.125}', '{"min": -9223372036854775808}',
    '{"int": 2147483648, "long": 9223372036854775807}', '{"s": "\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u0001 \\u00e9"}',
    '{"e": "😀", "esc": "\\ud83d\\ude00", "sep": "\\u2028"}', '{"l": {"l": {"l": {"l": {"l": [[1], [2]]}}}}}',
    '{"o": [{"a": 1}, {"a": 2}]}', '{"o": [{"a": 1}, {"b": "x"}]}', '{"t": "' + "y" * 30000 + '"}',
    '{"zero": 0, "neg": -1, "small": 1e-300}', '{"bools": [true, false], "floats": [1.5, 2.25]}',
    '{"big": 1e20}', '{"big": 12345678901234567890}', '[1, 2, 3]', '[]', '[1, "a"]', '[{"a": 1}]', '["a", null]',
    '{"mixed": [1, "a"]}', '{"both": [1, 1.5]}', '{"nulls": [null, null]}', '{"o": [{"a": {"b": 1}}, {"a": null}]}',
    '{"o": [{"a": 1}, null, {"a": 2}]}', '{"o": [{"a": 1}, {"a": "x"}]}', '{"o": [[{"a": 1}], [{"b": 2}]]}',
)
JSON_TEXTS = ('{"b":1,   "a" : 2,"b":3}', '\n {"x":\t1.0}  ', '{ }', ' 1 ', '{"a":"\\u0041"}', '{"x":1.0e+2}')
PLAIN_TEXTS = ("", " \t\n ", "plain, \"quoted\", 😀", '{"broken":', "{", "[", '{"a":1} trailing', "\x0b", "\u00a0")

EDGES = {
    "c_small": ("-32768", "32767", "0", "-1"),
    "c_int": ("-2147483648", "2147483647", "0", "-1"),
    "c_big": ("-9223372036854775808", "9223372036854775807", "0", "-1", "9007199254740993"),
    "c_bool": ("t", "f"),
    "c_num": ("0", "-0.001", "999999999.999", "-999999999.999", "1.5", "0.128", "-0.128", "0.127", "32.768"),
    "c_free": ("0", "0.00", "1e-20", "12345678901234567890123456789.123456789", "-0.5", "100", "1e50", "1e-7", "1e-6",
               "-1e-7", "0.00000000"),
    "c_real": ("0", "-0", "0.1", "1.5", "3.4028235e38", "1.17549435e-38", "1e-45", "16777216", "NaN", "Infinity",
               "-Infinity", "1e7", "9999999", "0.001", "0.00099999", "1.0e10", "2e-44", "8.5899346e9"),
    "c_double": ("0", "-0", "0.1", "4.9e-324", "1.7976931348623157e308", "2.2250738585072014e-308", "NaN", "Infinity",
                 "-Infinity", "1e7", "9999999", "0.001", "0.00099999", "1e21", "123456789012", "5.684341886080802e-14",
                 "2e23", "9007199254740993", "1e22", "1e23"),
    "c_date": ("1970-01-01", "1969-12-31", "2024-02-29", "0001-01-01", "9999-12-31", "1582-10-10", "1900-02-28"),
    "c_time": ("00:00:00", "23:59:59.999999", "12:34:56.7", "00:00:00.000001", "12:00"),
    "c_time0": ("00:00:00", "23:59:59", "12:34:56"),
    "c_time3": ("00:00:00.001", "23:59:59.999", "12:34:56.7"),
    "c_time4": ("00:00:00.0001", "23:59:59.9999", "12:34:56.7"),
    "c_ts": ("1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999",
             "2024-02-29 12:34:56.789012", "1582-10-10 01:02:03.000004", "2000-01-01 00:00:00"),
    "c_tstz": ("1970-01-01 00:00:00+00", "1969-12-31 23:59:59.999999+00", "0001-01-02 00:00:00+00",
               "9999-12-30 23:59:59.999999+00", "2024-02-29 12:34:56.789012+05:30", "2024-07-01 00:00:00.1-07",
               "1890-01-01 12:00:00+00", "1582-10-10 00:00:00+00"),
    "c_uuid": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    "c_bytea": ("\\x", "\\x00", "\\x00ff107f80", "\\x" + bytes(range(256)).hex()),
    "c_text": TEXTS,
    "c_json": JSONS,
    "c_texts": ("{}", "{NULL}", '{""}', '{a,"b c",NULL}', '{"q\\"u\\\\o",é,😀}', '{"NULL","{}","a,b"}'),
    "c_num0": ("0", "99999", "-99999", "1"),
    "c_num38": ("0", "1234567890123456789012345678.0123456789", "-0.0000000001", "1", "-1"),
    "c_char": ("", "a", "abcde", " x", "é"),
    "c_varchar": ("", "a", "äöü😀"),
    "c_plain": JSON_TEXTS,
    "c_ts0": ("1970-01-01 00:00:00", "1969-12-31 23:59:59", "2024-02-29 12:34:56"),
    "c_enum": ("calm", "very happy", "größer \"1\"", ""),
    "c_amount": ("0", "-0.01", "99999999.99", "1.5"),
    "c_short": ("", "short", "kurz ü"),
    "c_positive": ("1", "2147483647"),
    "c_smalls": ("{}", "{1,-1,NULL}", "{-32768,32767}"),
    "c_ints": ("{}", "{1,-1,NULL}", "{-2147483648,2147483647}"),
    "c_bigs": ("{}", "{1,-1,NULL}", "{-9223372036854775808,9223372036854775807}"),
    "c_bools": ("{}", "{t,f,NULL}"),
    "c_reals": ("{}", "{1.5,NULL,-0,1e10,3.4028235e38}", "{NaN,Infinity}"),
    "c_doubles": ("{}", "{1.5,NULL,-0,1e10,4.9e-324}", "{NaN,-Infinity}"),
    "c_uuids": ("{}", "{00000000-0000-0000-0000-000000000000,NULL}"),
    "c_dates": ("{}", "{1970-01-01,NULL,2024-02-29}"),
    "c_stamps": ("{}", '{"1970-01-01 00:00:00",NULL,"2024-02-29 12:34:56.789012"}'),
    "c_zoned": ("{}", '{"1970-01-01 00:00:00+00",NULL,"2024-02-29 12:34:56.789012+02"}'),
    "c_varchars": ("{}", '{a,NULL,"b c"}'),
    "c_nums": ("{}", "{1.5,NULL,-0.01}"),
    "c_inet": ("10.1.2.3", "10.1.2.0/24", "::1", "2001:db8::ff00:42:8329/64", "0.0.0.0/0"),
    "c_cidr": ("10.1.2.0/24", "::/0", "192.168.100.128/25"),
    "c_mac": ("08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff"),
    "c_mac8": ("08:00:2b:01:02:03:04:05",),
    "c_ranges": ("empty", "[1,5)", "(,)", "[-1,)"),
    "c_rangeb": ("empty", "[1,9223372036854775807)", "(,)"),
    "c_rangen": ("empty", "[1.5,2.50]", "(,0)"),
    "c_ranget": ("empty", "[2024-02-29 12:34:56.789012,)", "[1970-01-01,2001-01-01)"),
    "c_rangez": ("empty", "[2024-02-29 12:34:56.789012+02,)", "[1970-01-01 00:00:00+00,2001-01-01 00:00:00+05:30)"),
    "c_ranged": ("empty", "[1970-01-01,2001-01-01]", "(,)"),
    "c_xml": ("<a/>", "<a b=\"c\">ü &amp; \n</a>", "text", "<?xml version=\"1.0\"?><x/>"),
    "c_lexemes": ("", "a b:1A,2 'c d'", "'it''s' 'ü'"),
    "c_citext": ("", "Ab", "ÄöÜ \"x\""),
    "c_path": ("", "Top", "Top.Science.Astronomy"),
    "c_inets": ("{}", "{10.0.0.0/8,NULL,::1}"),
    "happened": ("1970-01-01 00:00:00", "1970-01-01 00:00:00.001", "2024-02-29 12:34:56.789", "2001-01-01"),
}
EDGES["c_date"] += ("infinity", "-infinity", "0044-03-15 BC", "10000-01-01", "5874897-12-31")
EDGES["c_time"] += ("24:00:00",)
EDGES["c_time3"] += ("24:00:00",)
EDGES["c_ts"] += ("infinity", "-infinity", "0044-03-15 12:00:00 BC", "10000-01-01 01:02:03.000004")
EDGES["c_tstz"] += ("infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "10000-01-01 01:02:03.000004+00")
EDGES |= {name: EDGES["c_ts"] for name in ("c_ts1", "c_ts3", "c_ts4")}
EDGES |= {name: EDGES["c_tstz"] for name in ("c_tstz0", "c_tstz3")}

# More than outbox.headers holds: in two parts.
PRINTED = ("c_inet", "c_cidr", "c_mac", "c_mac8", "c_ranges", "c_rangeb", "c_rangen", "c_ranget", "c_rangez",
           "c_ranged", "c_xml", "c_lexemes", "c_citext", "c_path", "c_inets")
PLACED = tuple(name for name in EDGES if name.startswith("c_") and name not in PRINTED)
PAYLOADS = ("payload", "p_json", "p_text", "p_bytea")
# Each row has all of them, and all NULL. Of a default that calls a function Debezium makes a stand-in.
DEFAULTED = tuple(re.findall(r"\bd_[a-z0-9]+", SCHEMA))
CALLED = ("d_now", "d_today", "d_random", "d_lower")
# StringConverter names a Java object for the others: not the same twice.
STRUNG = tuple(name for name in PLACED if name not in ("c_bytea", "c_free"))
COLUMNS = ("id", "aggregatetype", "aggregateid", "type", *PAYLOADS, "happened", *PLACED, *PRINTED)


def _text(rng):
    letters = "abcXYZ 019_-.,:;\"'\\{}[]$%&éßçñ€\u00a0Привет日本語😀𝒳\t\n"
    return "".join(rng.choice(letters) for _ in range(rng.randrange(0, 24)))


def _float(rng, exponents):
    return repr(rng.choice((1, -1)) * rng.random() * 10.0 ** rng.randint(-exponents, exponents))


def _time(rng, digits):
    fraction = f"{rng.randrange(10 ** digits):0{digits}}"
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}.{fraction}"


def _date(rng):
    return f"{rng.choice((rng.randint(1600, 9998), rng.randint(1900, 2100))):04}-{rng.randint(1, 12):02}-" \
           f"{rng.randint(1, 28):02}"


def _range(one):
    def draw(rng):
        low, high = sorted((one(rng), one(rng)))
        return rng.choice((f"[{low},{high}]", f"[{low},)", f"(,{high})", "empty"))
    return draw


def _array(rng, one):
    quoted = (f'"{one(rng)}"' if rng.random() < 0.9 else "NULL" for _ in range(rng.randrange(0, 5)))
    return "{" + ",".join(quoted) + "}"


def _json_value(rng, depth):
    kind = rng.randrange(9 if depth else 6)
    if kind == 0:
        return rng.choice((None, True, False))
    if kind == 1:
        return rng.choice((rng.randint(-5, 5), rng.randint(-2 ** 63, 2 ** 63 - 1), rng.randint(-2 ** 31, 2 ** 31)))
    if kind == 2:
        return rng.uniform(-1, 1) * 10.0 ** rng.randint(-12, 12)
    if kind <= 5:
        return _text(rng)
    if kind == 6:
        return [_json_value(rng, depth - 1) for _ in range(rng.randrange(0, 4))]
    if kind == 7:
        one = rng.choice((lambda: rng.randint(0, 9), lambda: rng.random(), lambda: _text(rng)))
        return [one() for _ in range(rng.randrange(1, 4))]
    return _json_object(rng, depth - 1)


def _json_object(rng, depth=3):
    return {_text(rng) or "k": _json_value(rng, depth) for _ in range(rng.randrange(0, 6))}


def _json(rng):
    return json.dumps(_json_object(rng), ensure_ascii=rng.random() < 0.3)


def _decimal(rng, whole, fraction):
    sign = rng.choice(("", "-"))
    return f"{sign}{rng.randrange(10 ** rng.randint(1, whole))}.{rng.randrange(10 ** fraction):0{fraction}}"


def _stamp(digits):
    return lambda rng: f"{_date(rng)} {_time(rng, digits)}"


def _zoned(digits):
    return lambda rng: f"{_date(rng)} {_time(rng, digits)}{rng.choice(('+00', '-07', '+05:30'))}"


def _hex_uuid(rng):
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _whole(bits):
    return lambda rng: str(rng.randint(-2 ** (bits - 1), 2 ** (bits - 1) - 1) >> rng.randrange(bits - 1))


RANDOM = {
    "c_small": _whole(16), "c_int": _whole(32), "c_big": _whole(64), "c_bool": lambda rng: rng.choice("tf"),
    "c_num": lambda rng: _decimal(rng, 9, 3), "c_free": lambda rng: _decimal(rng, 30, rng.randint(1, 20)),
    "c_real": lambda rng: _float(rng, 37), "c_double": lambda rng: _float(rng, 300), "c_date": _date,
    "c_time": lambda rng: _time(rng, 6), "c_time0": lambda rng: _time(rng, 1)[:8], "c_time3": lambda rng: _time(rng, 3),
    "c_time4": lambda rng: _time(rng, 4), "c_ts": _stamp(6), "c_ts3": _stamp(3), "c_ts1": _stamp(1), "c_ts4": _stamp(4),
    "c_ts0": lambda rng: _stamp(1)(rng)[:-2], "c_tstz": _zoned(6), "c_tstz0": _zoned(1), "c_tstz3": _zoned(3),
    "c_uuid": _hex_uuid, "c_bytea": lambda rng: "\\x" + rng.randbytes(rng.randrange(0, 40)).hex(), "c_text": _text,
    "c_json": _json, "c_num0": lambda rng: str(rng.randint(-99999, 99999)),
    "c_num38": lambda rng: _decimal(rng, 28, 10), "c_char": lambda rng: rng.choice("abcé ") * rng.randrange(0, 6),
    "c_varchar": lambda rng: _text(rng)[:10], "c_plain": _json, "c_amount": lambda rng: _decimal(rng, 8, 2),
    "c_short": lambda rng: _text(rng)[:20], "c_positive": lambda rng: str(rng.randint(1, 2 ** 31 - 1)),
    "c_enum": lambda rng: rng.choice(EDGES["c_enum"]),
    "c_smalls": lambda rng: _array(rng, _whole(16)), "c_ints": lambda rng: _array(rng, _whole(32)),
    "c_bigs": lambda rng: _array(rng, _whole(64)), "c_bools": lambda rng: _array(rng, lambda r: r.choice("tf")),
    "c_reals": lambda rng: _array(rng, lambda r: _float(r, 37)),
    "c_doubles": lambda rng: _array(rng, lambda r: _float(r, 300)), "c_uuids": lambda rng: _array(rng, _hex_uuid),
    "c_dates": lambda rng: _array(rng, _date), "c_stamps": lambda rng: _array(rng, _stamp(6)),
    "c_zoned": lambda rng: _array(rng, _zoned(6)),
    "c_texts": lambda rng: _array(rng, lambda r: _text(r).replace("\\", "\\\\").replace('"', '\\"')),
    "c_varchars": lambda rng: _array(rng, lambda r: _text(r)[:10].replace("\\", "\\\\").replace('"', '\\"')),
    "c_nums": lambda rng: _array(rng, lambda r: _decimal(r, 4, 2)),
    "c_inet": lambda rng: str(ipaddress.ip_address(rng.getrandbits(rng.choice((32, 128))))),
    "c_cidr": lambda rng: f"{rng.randrange(256)}.{rng.randrange(256)}.0.0/{rng.randint(16, 32)}",
    "c_mac": lambda rng: rng.randbytes(6).hex(":"), "c_mac8": lambda rng: rng.randbytes(8).hex(":"),
    "c_ranges": _range(lambda rng: rng.randint(-100, 100)), "c_rangeb": _range(lambda rng: rng.randint(-2**40, 2**40)),
    "c_rangen": _range(lambda rng: rng.randint(-1000, 1000) / 8), "c_ranget": _range(_stamp(6)),
    "c_rangez": _range(lambda rng: _stamp(6)(rng) + "+00"), "c_ranged": _range(_date),
    "c_xml": lambda rng: f"<a b='{rng.randrange(9)}'>{xml.sax.saxutils.escape(_text(rng))}</a>",
    "c_lexemes": lambda rng: " ".join(f"w{rng.randrange(50)}:{rng.randint(1, 9)}" for _ in range(rng.randrange(5))),
    "c_citext": _text, "c_path": lambda rng: ".".join(f"L{rng.randrange(9)}" for _ in range(rng.randrange(5))),
    "c_inets": lambda rng: _array(rng, lambda r: str(ipaddress.ip_address(r.getrandbits(32)))),
    "happened": lambda rng: f"{rng.randint(1971, 2025)}-{rng.randint(1, 12):02}-28 {_time(rng, 3)}",
}
assert set(RANDOM) == set(EDGES)


@dataclass
class Row:
    number: int
    columns: dict = field(repr=False)

    @property
    def id(self):
        return self.columns["id"]


def _id(number):
    return f"00000000-0000-4000-8000-{number:012}"


def _row(number, rng):
    columns = {name: RANDOM[name](rng) if rng.random() < 0.93 else None for name in RANDOM}
    return Row(number, {
        "id": _id(number),
        "aggregatetype": rng.choice(TOPICS),
        "aggregateid": f"key-{rng.randrange(40)}" if rng.random() < 0.9 else _text(rng),
        "type": rng.choice(("OrderCreated", "OrderDeleted", _text(rng))),
        "payload": _json(rng),
        "p_json": rng.choice((_json(rng), rng.choice(JSON_TEXTS))),
        "p_text": rng.choice((_json(rng), _text(rng))),
        "p_bytea": "\\x" + rng.randbytes(rng.randrange(0, 60)).hex(),
        **columns,
    })


def rows(seed, count):
    """`count` rows, of which the first hold every edge of every column, and NULLs."""
    rng = random.Random(seed)
    made = [_row(number, rng) for number in range(1, count + 1)]
    edges = {
        **EDGES, "payload": (None, *JSONS), "p_json": (None, *JSONS, *JSON_TEXTS),
        "p_text": (None, *PLAIN_TEXTS, *JSONS, *JSON_TEXTS), "p_bytea": (None, *EDGES["c_bytea"]),
        "aggregateid": (None, *TEXTS[:-3]), "type": (None, *TEXTS[:-3]),
    }
    for name, values in edges.items():
        assert len(values) < count
        for row, value in zip(made, values):
            row.columns[name] = value
    for name in COLUMNS[3:]:  # a NULL of each
        made[len(made) - 1].columns[name] = None
    return made


def insert(connection, made, rng):
    """Transactions of one row, and some of several."""
    statement = (f"INSERT INTO outbox ({', '.join((*COLUMNS, *DEFAULTED))}) "
                 f"VALUES ({', '.join(['%s'] * len(COLUMNS) + ['NULL'] * len(DEFAULTED))})")
    left = list(made)
    while left:
        take = rng.choice((1, 1, 1, 5))
        with connection.transaction():
            for row in left[:take]:
                connection.execute(statement, [row.columns[name] for name in COLUMNS])
        left = left[take:]

/*
 * What we print of binary values is what the server prints: each value is asked for in
 * both forms, under the settings that walpost forces on its session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "support/check.h"
#include "session_settings.h"
#include "walpost/base/backoff.h"
#include "walpost/values/binary.h"

#define DRAWN 20000 /* random values of a type */
#define ITEM_SIZE_MAX 12
#define HEADER_SIZE 20

enum { AS_TEXT = 0, AS_BINARY = 1 };

static PGconn *pg;
static struct wp_relations *types;
static uint64_t seed = 20260214;

static const char *env(const char *name)
{
	const char *value = getenv(name);

	if (value == NULL)
		fail_msg("%s is not set: run by with-server", name);
	return value;
}

static void set_session(void)
{
	struct wp_buffer text;
	struct wp_sql sql;

	wp_buffer_init(&text, 8192);
	wp_sql_init(&sql, pg, &text);
	wp_session_settings_set_sql(&sql, "");
	CHECK_EQ(wp_sql_end(&sql, NULL), WP_OK);
	PGresult *set = PQexec(pg, (const char *)text.data);
	CHECK_EQ(PQresultStatus(set), PGRES_TUPLES_OK);
	PQclear(set);
	wp_buffer_release(&text);
}

/* The settings are the program's; all else is ours. */
static int connect_as_walpost_does(void **state)
{
	const char *const keys[] = { "host", "port", "user", "dbname", NULL };
	const char *const values[] = {
		env("WALPOST_TEST_DIR"), env("WALPOST_TEST_PORT"), "postgres", "postgres", NULL,
	};
	pg = PQconnectdbParams(keys, values, 0);
	if (PQstatus(pg) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(pg));
	set_session();
	CHECK_EQ(wp_relations_new(100, NULL, &types), WP_OK);
	return 0;
}

static int disconnect(void **state)
{
	wp_relations_free(types);
	PQfinish(pg);
	return 0;
}

static PGresult *ask(const char *sql, struct wp_span parameter, int form)
{
	const char *const values[] = { (const char *)parameter.data };
	const int sizes[] = { (int)parameter.size };
	const int forms[] = { AS_BINARY };
	int count = wp_span_is_null(parameter) ? 0 : 1;
	PGresult *result = PQexecParams(pg, sql, count, NULL, values, sizes, forms, form);

	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(pg));
	return result;
}

static struct wp_span value_at(const PGresult *result, int row)
{
	if (PQgetisnull(result, row, 0))
		return (struct wp_span){ 0 };
	return (struct wp_span){
		.data = (const uint8_t *)PQgetvalue(result, row, 0),
		.size = (size_t)PQgetlength(result, row, 0),
	};
}

static void is_printed(enum wp_type type, enum wp_type element, struct wp_span value,
		       struct wp_span wanted)
{
	struct wp_buffer texts;
	struct wp_span text = { 0 };
	size_t room = wp_binary_room(type, element, value);

	wp_buffer_init(&texts, 1 << 30);
	CHECK_EQ(wp_buffer_reserve(&texts, room), WP_OK);
	CHECK_EQ(wp_binary_text(type, element, value, &texts, &text), WP_OK);
	CHECK(texts.size <= room);
	if (!wp_span_equal(text, wanted))
		fail_msg("%.*s, but Postgres prints %.*s", (int)text.size, (const char *)text.data,
			 (int)wanted.size, (const char *)wanted.data);
	wp_buffer_release(&texts);
}

/* All values of the query's first column. */
static void compare(const char *sql, struct wp_span parameter, enum wp_type wanted)
{
	PGresult *text = ask(sql, parameter, AS_TEXT);
	PGresult *binary = ask(sql, parameter, AS_BINARY);
	uint32_t oid = PQftype(text, 0);
	enum wp_type type = wp_relations_type(types, oid);

	CHECK_EQ(type, wanted);
	CHECK(PQntuples(text) > 0);
	CHECK_EQ(PQntuples(binary), PQntuples(text));
	for (int row = 0; row < PQntuples(text); row++) {
		CHECK_EQ(PQgetisnull(binary, row, 0), PQgetisnull(text, row, 0));
		if (!PQgetisnull(text, row, 0))
			is_printed(type, wp_relations_element(types, oid), value_at(binary, row),
				   value_at(text, row));
	}
	PQclear(text);
	PQclear(binary);
}

static void both_agree(const char *sql, enum wp_type type)
{
	compare(sql, (struct wp_span){ 0 }, type);
}

/* `literals` are parted by bars. */
static void literals_agree(const char *type, const char *literals, enum wp_type wanted)
{
	char sql[4096];
	int size = snprintf(sql, sizeof(sql),
			    "SELECT unnest(string_to_array($walpost$%s$walpost$, '|'))::%s",
			    literals, type);

	CHECK(size > 0 && (size_t)size < sizeof(sql));
	both_agree(sql, wanted);
}

/* -- random bits, sent as an array in binary ------------------------------- */

static uint8_t *put(uint8_t *at, uint64_t value, size_t size)
{
	for (size_t i = size; i-- > 0; value >>= 8)
		at[i] = (uint8_t)value;
	return at + size;
}

static void drawn_agree(const char *type, uint32_t oid, size_t size, uint64_t (*draw)(void),
			enum wp_type wanted)
{
	static uint8_t array[HEADER_SIZE + DRAWN * ITEM_SIZE_MAX];
	const uint32_t header[] = { 1, 0, oid, DRAWN, 1 };
	uint8_t *at = array;
	char sql[64];

	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
		at = put(at, header[i], 4);
	for (size_t i = 0; i < DRAWN; i++)
		at = put(put(at, size, 4), draw(), size);
	(void)snprintf(sql, sizeof(sql), "SELECT unnest($1::%s[])", type);
	compare(sql, (struct wp_span){ .data = array, .size = (size_t)(at - array) }, wanted);
}

static uint64_t any_bits(void)
{
	return wp_random_next(&seed);
}

/* Between two numbers, and nearer to the first as often as further away. */
static int64_t between(int64_t first, int64_t end)
{
	uint64_t width = (uint64_t)end - (uint64_t)first;
	uint64_t bits = wp_random_next(&seed) >> wp_random_next(&seed) % 64;

	return (int64_t)((uint64_t)first + bits % width);
}

static uint64_t any_date(void)
{
	return (uint64_t)between(-2451545, 2145031949);
}

static uint64_t any_time(void)
{
	return (uint64_t)between(0, 86400000001);
}

static uint64_t any_timestamp(void)
{
	return (uint64_t)between(-211813488000000000, 9223371331200000000);
}

/* Neighbours of the powers of two, where the next number below is nearer than the one above. */
static uint64_t near_power_of_two(void)
{
	uint64_t bits = wp_random_next(&seed);

	return (bits & UINT64_C(0xFFF0000000000000)) + bits % 5 - 2;
}

static uint64_t near_power_of_two4(void)
{
	uint64_t bits = wp_random_next(&seed);

	return (uint32_t)((bits & 0xFF800000) + (bits >> 32) % 5 - 2);
}

static uint64_t denormal(void)
{
	return wp_random_next(&seed) >> (12 + wp_random_next(&seed) % 52);
}

static uint64_t small_integer(void)
{
	double number = (double)(wp_random_next(&seed) >> (wp_random_next(&seed) % 60));
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

/* -- numbers --------------------------------------------------------------- */

static void booleans_and_integers_agree(void **state)
{
	literals_agree("bool", "t|f", WP_TYPE_BOOL);
	literals_agree("int2", "0|1|-1|9|10|-32768|-32767|32766|32767", WP_TYPE_INT2);
	literals_agree("int4", "0|1|-1|-2147483648|-2147483647|2147483646|2147483647|1000000000",
		       WP_TYPE_INT4);
	literals_agree("int8",
		       "0|1|-1|-9223372036854775808|-9223372036854775807|9223372036854775807|"
		       "4294967295|4294967296|-4294967296",
		       WP_TYPE_INT8);
	drawn_agree("int2", 21, 2, any_bits, WP_TYPE_INT2);
	drawn_agree("int4", 23, 4, any_bits, WP_TYPE_INT4);
	drawn_agree("int8", 20, 8, any_bits, WP_TYPE_INT8);
}

static void doubles_agree(void **state)
{
	literals_agree("float8",
		       "0|-0|1|-1|0.1|0.3|1e14|1e15|-1e15|999999999999999|999999999999999.9|"
		       "1e16|9007199254740992|9007199254740993|9007199254740994|123456789012345680|"
		       "1e-4|0.0001|0.00012345|1e-5|0.00009999999999999999|1.5e-5|1e22|1e23|1e100|"
		       "1e-100|1.7976931348623157e308|-1.7976931348623157e308|"
		       "2.2250738585072014e-308|2.225073858507201e-308|4.9e-324|-4.9e-324|9.5|"
		       "5.684341886080802e-14|9.88131291682493e-324|8.41e+21|2.0919495182368195e19|"
		       "NaN|Infinity|-Infinity|100|1234567.125|0.5|3.14159265358979",
		       WP_TYPE_FLOAT8);
	drawn_agree("float8", 701, 8, any_bits, WP_TYPE_FLOAT8);
	drawn_agree("float8", 701, 8, near_power_of_two, WP_TYPE_FLOAT8);
	drawn_agree("float8", 701, 8, denormal, WP_TYPE_FLOAT8);
	drawn_agree("float8", 701, 8, small_integer, WP_TYPE_FLOAT8);
	both_agree("SELECT (n / 100.0)::float8 FROM generate_series(-20000, 20000) n",
		   WP_TYPE_FLOAT8);
	both_agree("SELECT ('1e' || n)::float8 FROM generate_series(-323, 308) n", WP_TYPE_FLOAT8);
	both_agree("SELECT 2::float8 ^ n FROM generate_series(-1074, 1023) n", WP_TYPE_FLOAT8);
}

static void floats_agree(void **state)
{
	literals_agree("float4",
		       "0|-0|1|-1|0.1|0.3|99999|100000|999999|999999.9|1e6|-1e6|1e7|16777216|"
		       "16777217|16777218|1e-4|1e-5|0.00012345|0.00009999999|3.4028235e38|"
		       "-3.4028235e38|1.1754944e-38|1.1754942e-38|1.4e-45|-1.4e-45|3.355445e7|"
		       "8.5899346e9|NaN|Infinity|-Infinity|100|0.5|3.1415927",
		       WP_TYPE_FLOAT4);
	drawn_agree("float4", 700, 4, any_bits, WP_TYPE_FLOAT4);
	drawn_agree("float4", 700, 4, near_power_of_two4, WP_TYPE_FLOAT4);
	both_agree("SELECT (n / 100.0)::float4 FROM generate_series(-20000, 20000) n",
		   WP_TYPE_FLOAT4);
	both_agree("SELECT (2::float8 ^ n)::float4 FROM generate_series(-149, 127) n",
		   WP_TYPE_FLOAT4);
}

static void numerics_agree(void **state)
{
	literals_agree(
		"numeric",
		"0|0.0|0.000|-0|1|-1|9|10|9999|10000|10001|99999999|100000000|0.1|0.01|0.001|"
		"0.0001|0.00001|0.00010000|-0.00000000000000000001|1.0|1.10|1.2345|1.23456|"
		"12345.6789|123456.789|1000000000000.0000000000010|1e20|1e-20|-1e100|"
		"0.5000|10000.0001|100000000.00000001|NaN",
		WP_TYPE_NUMERIC);
	literals_agree("numeric(20,8)", "0|1|-1.5|123456789012.12345678|NaN", WP_TYPE_NUMERIC);
	if (PQserverVersion(pg) >= 140000)
		literals_agree("numeric", "Infinity|-Infinity", WP_TYPE_NUMERIC);
	both_agree("SELECT repeat('9', 131072)::numeric", WP_TYPE_NUMERIC);
	both_agree("SELECT ('-1' || repeat('0', 131071) || '.' || repeat('1', 16383))::numeric",
		   WP_TYPE_NUMERIC);
	both_agree("SELECT ('0.' || repeat('0', 16382) || '1')::numeric", WP_TYPE_NUMERIC);
	both_agree("SELECT ('1e' || n)::numeric FROM generate_series(-300, 300) n",
		   WP_TYPE_NUMERIC);
	both_agree("SELECT ((n * 7919) || 'e' || (n % 40))::numeric(80, 20) "
		   "FROM generate_series(-20000, 20000) n",
		   WP_TYPE_NUMERIC);
	both_agree("SELECT (n::numeric / 777) * 10::numeric ^ (n % 30) "
		   "FROM generate_series(-5000, 5000) n",
		   WP_TYPE_NUMERIC);
}

/* -- dates and times ------------------------------------------------------- */

static void dates_agree(void **state)
{
	literals_agree(
		"date",
		"2000-01-01|1999-12-31|1970-01-01|2000-02-29|1900-02-28|1900-03-01|0001-01-01|"
		"0001-12-31 BC|0001-01-01 BC|0005-02-29 BC|4713-01-01 BC|4714-11-24 BC|"
		"9999-12-31|10000-01-01|294276-12-31|5874897-12-31|infinity|-infinity",
		WP_TYPE_DATE);
	both_agree("SELECT '2000-01-01'::date + n FROM generate_series(-160000, 160000) n",
		   WP_TYPE_DATE);
	both_agree("SELECT '0001-01-01'::date + n FROM generate_series(-2000, 2000) n",
		   WP_TYPE_DATE);
	drawn_agree("date", 1082, 4, any_date, WP_TYPE_DATE);
}

static void times_agree(void **state)
{
	literals_agree("time",
		       "00:00:00|00:00:00.000001|00:00:00.1|00:00:01|12:34:56.7|12:34:56.789|"
		       "23:59:59|23:59:59.999999|24:00:00|00:00:00.100000|00:00:00.000100",
		       WP_TYPE_TIME);
	literals_agree("time(3)", "12:34:56.7891", WP_TYPE_TIME);
	drawn_agree("time", 1083, 8, any_time, WP_TYPE_TIME);
}

static void timestamps_agree(void **state)
{
	static const char literals[] =
		"2000-01-01 00:00:00|1999-12-31 23:59:59.999999|1970-01-01 00:00:00.5|"
		"2024-02-29 12:34:56.789|0001-01-01 00:00:00|0001-12-31 23:59:59.999999 BC|"
		"4714-11-24 00:00:00 BC|4713-01-01 23:59:59.999999 BC|9999-12-31 23:59:59|"
		"10000-01-01 00:00:00|294276-12-31 23:59:59.999999|infinity|-infinity";

	literals_agree("timestamp", literals, WP_TYPE_TIMESTAMP);
	literals_agree("timestamptz", literals, WP_TYPE_TIMESTAMPTZ);
	literals_agree("timestamptz",
		       "2024-07-01 12:00:00 Europe/Berlin|2024-01-01 12:00:00.25 -11:30|"
		       "1883-11-18 12:00:00 America/New_York",
		       WP_TYPE_TIMESTAMPTZ);
	drawn_agree("timestamp", 1114, 8, any_timestamp, WP_TYPE_TIMESTAMP);
	drawn_agree("timestamptz", 1184, 8, any_timestamp, WP_TYPE_TIMESTAMPTZ);
}

/* -- the others ------------------------------------------------------------ */

/* PostgreSQL 14 sends the others as they are, see values/binary.c. */
static void bytes_of_the_catalogs_agree(void **state)
{
	both_agree("SELECT ''::\"char\"", WP_TYPE_CHAR);
	both_agree(PQserverVersion(pg) >= 150000
			   ? "SELECT n::int4::\"char\" FROM generate_series(-128, 127) n"
			   : "SELECT n::int4::\"char\" FROM generate_series(0, 127) n",
		   WP_TYPE_CHAR);
}

static void texts_agree(void **state)
{
	both_agree("SELECT 'caf\u00e9'::text UNION SELECT '' UNION SELECT NULL", WP_TYPE_TEXT);
	both_agree("SELECT 'x'::char(10) UNION SELECT ''", WP_TYPE_TEXT);
	both_agree("SELECT 'x'::varchar(10)", WP_TYPE_TEXT);
	both_agree("SELECT current_user::name", WP_TYPE_TEXT);
	both_agree("SELECT '{\"a\" : [1, null]}'::json", WP_TYPE_JSON);
	both_agree("SELECT '{\"a\" : [1.50, null, \"\\u00e9\"]}'::jsonb", WP_TYPE_JSONB);
	both_agree("SELECT md5(n::text)::uuid FROM generate_series(1, 100) n", WP_TYPE_UUID);
	both_agree("SELECT decode(md5(n::text), 'hex') FROM generate_series(1, 100) n UNION "
		   "SELECT ''",
		   WP_TYPE_BYTEA);
}

/* -- arrays ---------------------------------------------------------------- */

static void arrays_of_text_agree(void **state)
{
	both_agree("SELECT v FROM (VALUES ('{}'::text[]), (NULL), ('{a}'), ('{a,b,NULL}'), "
		   "('{NULL}'), ('{\"\"}'), ('{\"NULL\",\"null\",\"nUlL\",\"NULLS\",\"NUL\"}'), "
		   "('{{a,b},{c,d}}'), ('{{{a,b},{c,d}},{{NULL,\"\"},{g,h}}}'), "
		   "('{{{{{{a,b}}}}}}'), ('[2:3]={a,b}'), ('[0:0]={a}'), "
		   "('[-5:-4][2:3]={{a,b},{c,d}}'), "
		   "('[1:2][0:1]={{a,b},{c,d}}'), ('[2147483646:2147483646]={a}'), "
		   "('[-2147483648:-2147483647]={a,b}')) t(v)",
		   WP_TYPE_ARRAY);
	both_agree(
		"SELECT ARRAY['a b', E'a\\tb', E'a\\nb', E'a\\rb', E'a\\vb', E'a\\fb', 'a\"b', "
		"'a\\b', '\\', '\"', '{', '}', ',', 'a,b', '{}', ' ', '''', '(', ';', 'caf\u00e9', "
		"E'\\u00a0', E'\\u0085', E'\\u0001', E'\\x7f', '\\\"\\\"']",
		WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[chr(n)] FROM generate_series(1, 2000) n", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[chr(n) || 'x', 'x' || chr(n)]::varchar[] "
		   "FROM generate_series(1, 300) n",
		   WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY['a ', 'b']::char(4)[]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY['a b', 'b']::name[]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY['{\"a\" : 1}', 'null', '[]', '\"\\\\\"']::json[]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY['{\"a\" : 1}', 'null', '[]', '\"\\\\\"', '1.5']::jsonb[]",
		   WP_TYPE_ARRAY);
}

static void arrays_of_numbers_agree(void **state)
{
	both_agree("SELECT ARRAY[true, false, NULL]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[1, -32768, NULL]::int2[]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[[1, -2147483648], [NULL, 7]]::int4[]", WP_TYPE_ARRAY);
	both_agree("SELECT '[3:4]={1,-9223372036854775808}'::int8[]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[0.1, 1e6, 'NaN', '-Infinity', -1.4e-45]::float4[]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[0.1, 1e15, 'NaN', '-Infinity', -4.9e-324]::float8[]",
		   WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[0.10, 1e15, 'NaN', -0.001, NULL]::numeric[]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[repeat('9', 1000)::numeric, repeat('8', 1000)::numeric]",
		   WP_TYPE_ARRAY);
	both_agree("SELECT array_agg(n) FROM generate_series(-10000, 10000) n", WP_TYPE_ARRAY);
}

static void arrays_of_the_others_agree(void **state)
{
	both_agree("SELECT '{2024-02-29,0001-01-01 BC,infinity,-infinity,NULL}'::date[]",
		   WP_TYPE_ARRAY);
	both_agree("SELECT '{24:00:00,00:00:00.1}'::time[]", WP_TYPE_ARRAY);
	both_agree("SELECT '{2024-02-29 01:02:03,0001-01-01 00:00:00.5 BC,infinity}'::timestamp[]",
		   WP_TYPE_ARRAY);
	both_agree(
		"SELECT '{2024-02-29 01:02:03,0001-01-01 00:00:00.5 BC,infinity}'::timestamptz[]",
		WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY['a', '', ' ', '\"', '\\', '{', ',']::\"char\"[]", WP_TYPE_ARRAY);
	if (PQserverVersion(pg) >= 150000)
		both_agree("SELECT array_agg(n::int4::\"char\") FROM generate_series(-128, 127) n",
			   WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY[[md5('a')::uuid, NULL]]", WP_TYPE_ARRAY);
	both_agree("SELECT ARRAY['', '\\x00ff', NULL, decode(repeat('5c', 100), 'hex')]::bytea[]",
		   WP_TYPE_ARRAY);
}

static void what_else_there_is_is_not_read(void **state)
{
	static const char *const others[] = {
		"money",      "interval",  "timetz", "inet",  "cidr",	"xml",	      "point",
		"int4range",  "bit",	   "varbit", "oid",   "xid",	"tsvector",   "regclass",
		"int2vector", "oidvector", "inet[]", "oid[]", "record", "interval[]", "daterange[]",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char sql[64];
		(void)snprintf(sql, sizeof(sql), "SELECT NULL::%s", others[i]);
		PGresult *result = ask(sql, (struct wp_span){ 0 }, AS_TEXT);
		uint32_t oid = PQftype(result, 0);
		CHECK(!wp_type_is_read_in_binary(wp_relations_type(types, oid),
						 wp_relations_element(types, oid)));
		PQclear(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAIN(booleans_and_integers_agree),
		PLAIN(doubles_agree),
		PLAIN(floats_agree),
		PLAIN(numerics_agree),
		PLAIN(dates_agree),
		PLAIN(times_agree),
		PLAIN(timestamps_agree),
		PLAIN(bytes_of_the_catalogs_agree),
		PLAIN(texts_agree),
		PLAIN(arrays_of_text_agree),
		PLAIN(arrays_of_numbers_agree),
		PLAIN(arrays_of_the_others_agree),
		PLAIN(what_else_there_is_is_not_read),
	};

	return cmocka_run_group_tests_name("binary", tests, connect_as_walpost_does, disconnect);
}

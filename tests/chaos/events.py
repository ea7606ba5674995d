"""An event is its id: topic, key and payload follow from it, so that each of millions can be compared to the byte."""

import base64
import hashlib

TOPICS = {"order": 4, "payment": 3, "audit": 1}  # name: partitions
AGGREGATES = 240
TYPE = "changed"
_LANE_BITS = 40
_MASK = (1 << 64) - 1
_NAMES = tuple(TOPICS)

MIXED, SMALL, LARGEST, SCRATCH = 0, 1, 2, 3

# Of its own for the fault that makes Kafka lose what it had confirmed: the checker is told nothing of these events.
SCRATCH_TOPIC = "scratch"

ID_IN_PAYLOAD = "event-"

# message.max.bytes is 1,000,000: key, headers and the record's frame count too.
LARGEST_BYTES = 999_500
# One in so many is of a size that a topic's lowered limit catches, however it is compressed.
LARGE_EVERY = 200
_PIECES = (
    "the quick brown fox; ", '{"a": "\\"quoted\\""}', "tab\tand newline\n", "Grüße, žluťoučký kůň ",
    "日本語のテキスト", "back\\slash\\n ", "'single' and $$dollar$$ ", "𝄞 outside the BMP ", "%s %d {0} \r\n",
)


def event_id(writer, kind, number):
    return (writer * 4 + kind) << _LANE_BITS | number


def kind_of(id):
    return (id >> _LANE_BITS) & 3


def mixed(id):
    """64 bits that look random (splitmix64)."""
    z = (id + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def topic_of(id):
    if kind_of(id) == SCRATCH:
        return SCRATCH_TOPIC
    return _NAMES[mixed(id) % 7 % 3]  # order and payment more often than audit


def key_of(id):
    """A few aggregates are busy, most are not."""
    bits = mixed(id) >> 8
    if bits & 3 == 0:
        return f"busy-{(bits >> 2) % 6}"
    number = (bits >> 2) % AGGREGATES
    return f"kundë '{number}'" if number % 16 == 0 else f"a-{number}"


def _size_of(bits):
    shape = bits % 1000
    wide = bits >> 12
    if shape < 30:
        return 0
    if shape < 850:
        return 1 + wide % 300
    if shape < 990:
        return 300 + wide % 3_000
    return 3_000 + wide % 50_000


def payload_of(id):
    """Text, or None."""
    bits = mixed(id) >> 16
    if kind_of(id) == LARGEST:
        return filled(id, LARGEST_BYTES - bits % 3 * 1000, bits, ascii_only=True)
    if kind_of(id) == SMALL:
        return filled(id, bits % 40, bits)
    if bits % 33 == 0:
        return None
    if bits % LARGE_EVERY == 1:
        return noise(id, 20_000 + (bits >> 8) % 40_001)
    return filled(id, _size_of(bits >> 6), bits)


def row_of(id):
    """For the outbox."""
    return id, topic_of(id), key_of(id), TYPE, payload_of(id)


def row_with_id_in_payload(id):
    """For any relay: one topic, and always a payload, which begins with the id whatever the relay writes around it."""
    bits = mixed(id) >> 16
    return id, _NAMES[0], key_of(id), TYPE, f"{ID_IN_PAYLOAD}{id}." + filled(id, _size_of(bits >> 6), bits)


def noise(id, size):
    """Text that hardly can be compressed."""
    return base64.b64encode(hashlib.shake_256(b"%d" % id).digest(size)).decode()[:size]


def filled(id, size, bits, ascii_only=False):
    head = f"{id:x}/"
    piece = _PIECES[0] if ascii_only else _PIECES[bits % len(_PIECES)]
    text = head + piece * ((size - len(head)) // len(piece) + 1)
    return text[:size]

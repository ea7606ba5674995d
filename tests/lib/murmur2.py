"""Where the Java producer's default partitioner puts a key (org.apache.kafka.common.utils.Utils.murmur2)."""

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995


def murmur2(data):
    """The hash as a signed 32-bit number, as Java gives it."""
    h = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i:i + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    rest = data[whole:]
    if rest:
        h ^= int.from_bytes(rest, "little")
        h = h * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


def partition_of(key, partitions):
    return (murmur2(key) & 0x7FFFFFFF) % partitions

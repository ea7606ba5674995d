/*
 * Reads big-endian fields from a borrowed span with a sticky error, so that a
 * decoder reads like the protocol's own description. After the first short
 * read everything gives zeroes; wp_wire_end() tells at the end.
 *
 * Owns nothing, allocates nothing. What a row needs is inline: it runs for
 * every field of the stream.
 */
#ifndef WALPOST_BASE_WIRE_H
#define WALPOST_BASE_WIRE_H

#include "walpost/base/error.h"
#include "walpost/base/span.h"

struct wp_wire {
	const uint8_t *at;
	size_t left;
	bool bad;
};

void wp_wire_init(struct wp_wire *w, struct wp_span bytes);

/* This is the one place that checks. Returns a null span when fewer than `size` bytes are left. */
static inline struct wp_span wp_wire_bytes(struct wp_wire *w, size_t size)
{
	if (w->bad || size > w->left) {
		w->bad = true;
		return (struct wp_span){ 0 };
	}
	struct wp_span bytes = { .data = w->at, .size = size };
	w->at += size;
	w->left -= size;
	return bytes;
}

static inline uint8_t wp_wire_u8(struct wp_wire *w)
{
	struct wp_span s = wp_wire_bytes(w, 1);
	return s.data == NULL ? 0 : s.data[0];
}

static inline uint16_t wp_wire_u16(struct wp_wire *w)
{
	struct wp_span s = wp_wire_bytes(w, 2);
	if (s.data == NULL)
		return 0;
	return (uint16_t)(s.data[0] << 8 | s.data[1]);
}

static inline uint32_t wp_wire_u32(struct wp_wire *w)
{
	struct wp_span s = wp_wire_bytes(w, 4);
	if (s.data == NULL)
		return 0;
	return (uint32_t)s.data[0] << 24 | (uint32_t)s.data[1] << 16 | (uint32_t)s.data[2] << 8 |
	       (uint32_t)s.data[3];
}

/* In this form compilers recognize it as one load and a swap. */
static inline uint64_t wp_wire_u64(struct wp_wire *w)
{
	struct wp_span s = wp_wire_bytes(w, 8);
	const uint8_t *at = s.data;

	if (at == NULL)
		return 0;
	return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 |
	       (uint64_t)at[3] << 32 | (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
	       (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

/* Reads a NUL-terminated string; the span is without the NUL, which stands behind it. */
struct wp_span wp_wire_cstr(struct wp_wire *w);
/* Returns WP_PROTO if any read was short or bytes remain. */
enum wp_rc wp_wire_end(const struct wp_wire *w) WP_MUST_CHECK;

/* These write; the caller owns the room. */
void wp_wire_put_u64(uint8_t *at, uint64_t value);

#endif

/*
 * Reads big-endian fields from a borrowed span with a sticky error, so that a
 * decoder reads like the protocol's own description. After the first short
 * read everything gives zeroes; wp_wire_end() tells at the end.
 *
 * Owns nothing, allocates nothing.
 */
#ifndef WALPOST_BASE_WIRE_H
#define WALPOST_BASE_WIRE_H

#include "walpost/base/rc.h"
#include "walpost/base/span.h"

struct wp_wire {
	const uint8_t *at;
	size_t left;
	bool bad;
};

void wp_wire_init(struct wp_wire *w, struct wp_span bytes);
uint8_t wp_wire_u8(struct wp_wire *w);
uint16_t wp_wire_u16(struct wp_wire *w);
uint32_t wp_wire_u32(struct wp_wire *w);
uint64_t wp_wire_u64(struct wp_wire *w);
/* A NUL-terminated string; the span is without the NUL, which stands behind it. */
struct wp_span wp_wire_cstr(struct wp_wire *w);
struct wp_span wp_wire_bytes(struct wp_wire *w, size_t size);
/* WP_PROTO if any read was short or bytes remain. */
enum wp_rc wp_wire_end(const struct wp_wire *w) WP_MUST_CHECK;

/* Writers: the caller owns the room. */
void wp_wire_put_u64(uint8_t *at, uint64_t value);

#endif

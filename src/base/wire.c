#include <string.h>

#include "walpost/base/wire.h"

void wp_wire_init(struct wp_wire *w, struct wp_span bytes)
{
	/* A null span has nothing to read; an empty field of it is still not null. */
	if (wp_span_is_null(bytes))
		bytes = wp_span_of("");
	*w = (struct wp_wire){ .at = bytes.data, .left = bytes.size };
}

struct wp_span wp_wire_cstr(struct wp_wire *w)
{
	const uint8_t *nul = w->bad ? NULL : memchr(w->at, 0, w->left);

	if (nul == NULL) {
		w->bad = true;
		return (struct wp_span){ 0 };
	}
	struct wp_span text = wp_wire_bytes(w, (size_t)(nul - w->at));
	(void)wp_wire_u8(w); /* the NUL, which was found */
	return text;
}

enum wp_rc wp_wire_end(const struct wp_wire *w)
{
	return w->bad || w->left > 0 ? WP_PROTO : WP_OK;
}

void wp_wire_put_u64(uint8_t *at, uint64_t value)
{
	for (int i = 7; i >= 0; i--) {
		at[i] = (uint8_t)value;
		value >>= 8;
	}
}

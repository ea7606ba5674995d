/* Reads a walpost.v1.Message where it stands (message.h). */
#include <string.h>

#include "walpost/outbox/message.h"
#include "walpost/base/utf8.h"
#include "walpost/base/wire.h"

enum wire_type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct field {
	uint64_t number;
	struct wp_span bytes; /* of wire type BYTES; else null */
};

static uint64_t read_varint(struct wp_wire *w)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && !w->bad; shift += 7) {
		uint8_t byte = wp_wire_u8(w);
		value |= (uint64_t)(byte & 0x7F) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	w->bad = true;
	return 0;
}

static bool read_field(struct wp_wire *w, struct field *ret)
{
	if (w->left == 0 || w->bad)
		return false;
	uint64_t tag = read_varint(w);
	*ret = (struct field){ .number = tag >> 3 };
	switch (tag & 7) {
	case VARINT:
		(void)read_varint(w);
		break;
	case FIXED64:
		(void)wp_wire_bytes(w, 8);
		break;
	case BYTES: {
		uint64_t size = read_varint(w);
		if (size > w->left)
			w->bad = true;
		ret->bytes = wp_wire_bytes(w, w->bad ? 0 : (size_t)size);
		break;
	}
	case FIXED32:
		(void)wp_wire_bytes(w, 4);
		break;
	default:
		w->bad = true; /* groups are no more */
	}
	if (ret->number == 0)
		w->bad = true;
	return !w->bad;
}

/* A `string` field is UTF-8, or the message is none. */
static void take_utf8(struct wp_wire *w, const struct field *f, struct wp_span *ret)
{
	if (wp_span_is_null(f->bytes) || !wp_utf8_is_valid(f->bytes))
		w->bad = true;
	else
		*ret = f->bytes;
}

static enum wp_rc take_header(struct wp_span bytes, struct wp_buffer *texts, struct wp_event *ret)
{
	static const struct wp_column_type type = { .type = WP_TYPE_TEXT, .modifier = -1 };
	struct wp_event_fields *headers = &ret->headers;
	struct wp_event_field header = { .type = &type };
	struct wp_wire w;
	struct field f;

	wp_wire_init(&w, bytes);
	while (read_field(&w, &f)) {
		if (f.number == 1)
			take_utf8(&w, &f, &header.name);
		else if (f.number == 2)
			header.value = f.bytes;
	}
	if (w.bad || header.name.size == 0 || headers->count == WP_EVENT_FIELDS_MAX)
		return WP_DATA;
	uint8_t *copy = texts->data + texts->size; /* it has the room */
	memcpy(copy, header.name.data, header.name.size);
	copy[header.name.size] = '\0';
	texts->size += header.name.size + 1;
	header.name.data = copy;
	headers->items[headers->count++] = header;
	ret->data_headers++;
	return WP_OK;
}

static enum wp_rc take_field(struct wp_wire *w, const struct field *f, struct wp_buffer *texts,
			     struct wp_event *ret)
{
	switch (f->number) {
	case 1:
		take_utf8(w, f, &ret->id);
		return WP_OK;
	case 2:
		take_utf8(w, f, &ret->route);
		return WP_OK;
	case 3:
		take_utf8(w, f, &ret->key);
		return WP_OK;
	case 4:
		take_utf8(w, f, &ret->type);
		return WP_OK;
	case 5:
		ret->payload = f->bytes;
		return WP_OK;
	case 6:
		return take_header(f->bytes, texts, ret);
	default:
		return WP_OK;
	}
}

enum wp_rc wp_message_protobuf(struct wp_span content, struct wp_buffer *texts,
			       struct wp_event *ret)
{
	struct wp_wire w;
	struct field f;

	/* A header's name has its tag and length before it: so there is room for each NUL. */
	wp_buffer_empty(texts, content.size);
	enum wp_rc rc = wp_buffer_reserve(texts, content.size + 1);
	if (rc != WP_OK)
		return WP_NOMEM;
	wp_wire_init(&w, content);
	while (rc == WP_OK && read_field(&w, &f))
		rc = take_field(&w, &f, texts, ret);
	return rc == WP_OK && w.bad ? WP_DATA : rc;
}

#include <assert.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/outbox/json_headers.h"

enum wp_rc wp_json_headers_init(struct wp_json_headers *h, struct wp_span text,
				struct wp_buffer *into, struct wp_error *error)
{
	struct wp_json json;
	struct wp_json_fault fault = { 0 };

	assert(!wp_span_is_null(text));
	if (wp_json_read(text, &json, &fault) != WP_OK)
		return wp_error_set(error, WP_DATA,
				    "headers must be a JSON object, but this is not JSON: at byte "
				    "%zu %s; write {\"name\": \"value\"}, or NULL for none",
				    fault.offset, fault.what);
	if (json.kind != WP_JSON_OBJECT) {
		struct wp_excerpt value;
		return wp_error_set(error, WP_DATA,
				    "headers must be a JSON object, but this is not: %s; write "
				    "{\"name\": \"value\"}, or NULL for none",
				    wp_excerpt(&value, json.text));
	}
	/* A string is never longer unescaped. One more is for the empty text. */
	enum wp_rc rc = wp_buffer_reserve(into, text.size + 1);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "no room for headers of %zu bytes", text.size);
	h->into = into;
	wp_json_walk_init(&h->walk, &json);
	return WP_OK;
}

/* WP_DATA: the string holds half of a pair. */
static enum wp_rc unescape_header(struct wp_json_headers *h, struct wp_span string,
				  struct wp_span *ret)
{
	struct wp_span inner = { string.data + 1, string.size - 2 };
	size_t from = h->into->size;

	if (inner.size == 0 || memchr(inner.data, '\\', inner.size) == NULL) {
		*ret = inner;
		return WP_OK;
	}
	enum wp_rc rc = wp_json_unescape(string, h->into);
	assert(rc == WP_OK || rc == WP_DATA); /* room was made */
	*ret = (struct wp_span){ h->into->data + from, h->into->size - from };
	return rc;
}

static enum wp_rc refuse_half_pair(const char *what, struct wp_span string, struct wp_error *error)
{
	struct wp_excerpt shown;

	return wp_error_set(error, WP_DATA,
			    "%s of the headers' JSON object contains half of a surrogate pair: %s; "
			    "write both \\u escapes, or the character itself",
			    what, wp_excerpt(&shown, string));
}

enum wp_rc wp_json_headers_next(struct wp_json_headers *h, struct wp_json_header *ret,
				struct wp_error *error)
{
	struct wp_json_header found = { 0 };
	struct wp_span name;
	struct wp_json json;

	if (!wp_json_walk_next(&h->walk, &name, &json)) {
		*ret = found;
		return WP_OK;
	}
	if (unescape_header(h, name, &found.name) != WP_OK)
		return refuse_half_pair("a name", name, error);
	if (found.name.size == 0)
		return wp_error_set(error, WP_DATA,
				    "a name in the headers' JSON object is empty; name the header, "
				    "or remove it");
	if (json.kind == WP_JSON_STRING && unescape_header(h, json.text, &found.value) != WP_OK)
		return refuse_half_pair("a value", json.text, error);
	if (json.kind != WP_JSON_STRING && json.kind != WP_JSON_NULL)
		found.value = json.text;
	*ret = found;
	return WP_OK;
}

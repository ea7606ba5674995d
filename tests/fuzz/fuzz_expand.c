/*
 * A payload of others, expanded. The first byte chooses the options. What comes out is JSON, an
 * object; its schema is JSON too; what stays says why. Expanded again, it gives nothing new to
 * throw at: an object again, a text or a refusal.
 */
#include "fuzz.h"
#include "walpost/base/json.h"
#include "walpost/envelope/expand.h"

#define SIZE_LIMIT ((size_t)1 << 20)

static void need_object(struct wp_span text)
{
	struct wp_json json;

	NEED(wp_json_read(text, &json, NULL) == WP_OK);
	NEED(json.kind == WP_JSON_OBJECT && json.text.size == text.size);
}

static void try_schema(struct wp_expand *e, struct wp_buffer *schema, const char *field)
{
	struct wp_error error = { 0 };

	wp_buffer_reset(schema);
	enum wp_rc rc =
		wp_expand_schema(e, wp_span_of("payload"), wp_span_of(field), schema, &error);
	NEED(rc == WP_OK || rc == WP_DATA || rc == WP_FULL);
	if (rc == WP_OK)
		need_object(wp_buffer_span(schema));
	else
		NEED(error.text[0] != '\0');
}

static void try_payload(struct wp_expand *e, struct wp_span payload, struct wp_buffer *schema,
			struct wp_buffer *copy)
{
	struct wp_expanded expanded;
	struct wp_error error = { 0 };

	enum wp_rc rc = wp_expand_payload(e, payload, &expanded, &error);
	NEED(rc == WP_OK || (rc == WP_DATA && error.text[0] != '\0'));
	if (rc != WP_OK)
		return;
	NEED(wp_span_is_null(expanded.value) == (expanded.as != WP_EXPANDED_VALUE));
	NEED((expanded.because == NULL) == (expanded.as == WP_EXPANDED_VALUE));
	if (expanded.as != WP_EXPANDED_VALUE)
		return;
	need_object(expanded.value);
	try_schema(e, schema, NULL);
	try_schema(e, schema, "payload");
	if (copy == NULL)
		return;
	NEED(wp_buffer_append(copy, expanded.value) == WP_OK);
	try_payload(e, wp_buffer_span(copy), schema, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_expand *e = NULL;
	struct wp_buffer schema, copy;

	if (size == 0)
		return 0;
	struct wp_expand_options options = { data[0] & 1, data[0] & 2 };
	wp_buffer_init(&schema, SIZE_LIMIT);
	wp_buffer_init(&copy, SIZE_LIMIT);
	NEED(wp_expand_new(&options, SIZE_LIMIT, &e) == WP_OK);
	try_payload(e, (struct wp_span){ data + 1, size - 1 }, &schema, &copy);
	wp_expand_free(e);
	wp_buffer_release(&schema);
	wp_buffer_release(&copy);
	return 0;
}

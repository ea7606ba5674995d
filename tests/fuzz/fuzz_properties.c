/*
 * The two texts that a header column may hold: java.util.Properties, and a JSON object. A walk
 * ends; what it gives does not move and is UTF-8 where the text is.
 */
#include "fuzz.h"
#include "walpost/base/java_properties.h"
#include "walpost/base/utf8.h"
#include "walpost/outbox/json_headers.h"

static struct wp_buffer buffer;

static void need_good(struct wp_span name, struct wp_span value, bool utf8)
{
	NEED(!utf8 || (wp_utf8_is_valid(name) && wp_utf8_is_valid(value)));
}

static void try_properties(struct wp_span text)
{
	struct wp_java_properties p;
	struct wp_java_property found;
	bool utf8 = wp_utf8_is_valid(text);
	enum wp_rc rc;

	wp_buffer_reset(&buffer);
	NEED(wp_java_properties_init(&p, text, &buffer) == WP_OK);
	const uint8_t *first = buffer.data;
	for (size_t count = 0;; count++) {
		rc = wp_java_properties_next(&p, &found);
		if (rc != WP_OK || wp_span_is_null(found.name))
			break;
		NEED(count < text.size);
		need_good(found.name, found.value, utf8);
	}
	NEED(rc == WP_OK || rc == WP_DATA);
	NEED(buffer.data == first && buffer.size <= text.size);
}

static void try_headers(struct wp_span text)
{
	struct wp_json_headers h;
	struct wp_json_header found;
	struct wp_error error = { 0 };

	wp_buffer_reset(&buffer);
	enum wp_rc rc = wp_json_headers_init(&h, text, &buffer, &error);
	const uint8_t *first = buffer.data;
	while (rc == WP_OK) {
		rc = wp_json_headers_next(&h, &found, &error);
		if (rc != WP_OK || wp_span_is_null(found.name))
			break;
		NEED(found.name.size > 0);
		need_good(found.name, found.value, true);
	}
	NEED(rc == WP_OK || (rc == WP_DATA && error.text[0] != '\0'));
	NEED(buffer.data == first && buffer.size <= text.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_span text = { data, size };

	wp_buffer_init(&buffer, 1 << 16);
	try_properties(text);
	try_headers(text);
	wp_buffer_release(&buffer);
	return 0;
}

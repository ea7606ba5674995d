/*
 * A column's type and a value of it: Byte1 type, Byte1 of an array's elements, Int32 modifier,
 * the value's text. JSON that is written must be JSON, so must the schema; what is refused has a
 * reason and leaves nothing behind.
 */
#include <string.h>

#include "fuzz.h"
#include "walpost/base/json.h"
#include "walpost/values/moment.h"
#include "walpost/values/render.h"

#define HEAD_SIZE 6
/* Small enough for longer ones to be refused. */
#define OUTPUT_MAX 6000
#define MARK "#"

typedef enum wp_rc render_function(struct wp_buffer *into, const struct wp_column_type *type,
				   struct wp_span text, struct wp_error *error);

static struct wp_buffer output;

static struct wp_span behind_mark(void)
{
	return (struct wp_span){ output.data + 1, output.size - 1 };
}

static enum wp_rc try_rendering(render_function *function, const struct wp_column_type *type,
				struct wp_span text)
{
	struct wp_error error = { "" };

	wp_buffer_reset(&output);
	NEED(wp_buffer_append_text(&output, MARK) == WP_OK);
	enum wp_rc rc = function(&output, type, text, &error);
	NEED(rc == WP_OK || rc == WP_DATA || rc == WP_FULL);
	NEED((rc == WP_DATA) == (error.text[0] != '\0'));
	NEED(rc == WP_OK || output.size == 1);
	return rc;
}

static void need_json(void)
{
	struct wp_json json;

	NEED(wp_json_read(behind_mark(), &json, NULL) == WP_OK);
	NEED(json.text.size == output.size - 1);
}

static void try_schema(const struct wp_column_type *type, struct wp_span text)
{
	struct wp_json json;
	char field[32] = "";

	/* Both must be UTF-8. */
	for (size_t i = 0; i < text.size && i < sizeof(field) - 1; i++)
		field[i] = (char)(text.data[i] & 0x7F);
	struct wp_column_type labelled = *type;
	labelled.labels = field;
	wp_buffer_reset(&output);
	NEED(wp_render_schema(&output, &labelled, text.size % 2 == 0 ? field : NULL) == WP_OK);
	NEED(wp_json_read(wp_buffer_span(&output), &json, NULL) == WP_OK);
	NEED(json.kind == WP_JSON_OBJECT);
}

static void try_moment(enum wp_type type, struct wp_span text)
{
	struct wp_error error = { "" };
	int64_t us;
	int32_t days;

	enum wp_rc rc = wp_moment_us(type, text, &us, &error);
	NEED(rc == WP_OK || (rc == WP_DATA && error.text[0] != '\0'));
	wp_buffer_reset(&output);
	if (rc == WP_OK)
		NEED(wp_moment_write_iso(&output, us, 6) == WP_OK);
	rc = wp_moment_days(text, &days, &error);
	NEED(rc == WP_OK || rc == WP_DATA);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD_SIZE)
		return 0;
	struct wp_column_type type = {
		.type = (enum wp_type)(data[0] % (WP_TYPE_ARRAY + 1)),
		.element = (enum wp_type)(data[1] % (WP_TYPE_ARRAY + 1)),
		.is_optional = data[1] >= 128,
	};
	memcpy(&type.modifier, data + 2, sizeof(type.modifier));
	struct wp_span text = { data + HEAD_SIZE, size - HEAD_SIZE };
	/* Else half of all columns would be of no known type. */
	if (!wp_render_knows(&type))
		type.modifier = -1;
	if (!wp_render_knows(&type))
		return 0;

	wp_buffer_init(&output, OUTPUT_MAX);
	(void)try_rendering(wp_render_string, &type, text);
	(void)try_rendering(wp_render_header, &type, text);
	if (try_rendering(wp_render_json, &type, text) == WP_OK)
		need_json();
	try_schema(&type, text);
	if (type.type >= WP_TYPE_DATE && type.type <= WP_TYPE_TIMESTAMPTZ)
		try_moment(type.type, text);
	wp_buffer_release(&output);
	return 0;
}

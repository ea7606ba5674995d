#include <assert.h>

#include "render_parts.h"

static bool knows_scalar(enum wp_type type, int32_t modifier)
{
	switch (type) {
	case WP_TYPE_TEXT:
	case WP_TYPE_CHAR:
	case WP_TYPE_ENUM:
	case WP_TYPE_JSON:
	case WP_TYPE_JSONB:
	case WP_TYPE_UUID:
	case WP_TYPE_PRINTED:
	case WP_TYPE_XML:
	case WP_TYPE_TSVECTOR:
	case WP_TYPE_LTREE:
	case WP_TYPE_BYTEA:
	case WP_TYPE_BOOL:
	case WP_TYPE_INT2:
	case WP_TYPE_INT4:
	case WP_TYPE_INT8:
	case WP_TYPE_FLOAT4:
	case WP_TYPE_FLOAT8:
	case WP_TYPE_DATE:
		return true;
	case WP_TYPE_NUMERIC:
		return wp_render_scale(modifier).is_variable ||
		       (wp_render_scale(modifier).precision > 0 &&
			wp_render_scale(modifier).scale >= 0);
	case WP_TYPE_TIME:
	case WP_TYPE_TIMESTAMP:
	case WP_TYPE_TIMESTAMPTZ:
		return modifier >= -1 && modifier <= 6;
	default:
		return false;
	}
}

bool wp_render_knows(const struct wp_column_type *type)
{
	return knows_scalar(type->type == WP_TYPE_ARRAY ? type->element : type->type,
			    type->modifier);
}

/* Only within a list does a header quote texts. */
static enum wp_rc render(struct wp_buffer *into, const struct wp_column_type *type,
			 struct wp_span text, enum wp_render_form form,
			 enum wp_render_form form_within, struct wp_error *error)
{
	size_t size = into->size;
	enum wp_rc rc;

	assert(wp_render_knows(type));
	assert(!wp_span_is_null(text));
	if (type->type == WP_TYPE_ARRAY)
		rc = wp_render_array(into, type, text, form_within, error);
	else
		rc = wp_render_scalar(into, type->type, type->modifier, text, form, error);
	if (rc != WP_OK)
		into->size = size;
	return rc;
}

enum wp_rc wp_render_string(struct wp_buffer *into, const struct wp_column_type *type,
			    struct wp_span text, struct wp_error *error)
{
	return render(into, type, text, WP_RENDER_PLAIN, WP_RENDER_PLAIN, error);
}

enum wp_rc wp_render_header(struct wp_buffer *into, const struct wp_column_type *type,
			    struct wp_span text, struct wp_error *error)
{
	return render(into, type, text, WP_RENDER_PLAIN, WP_RENDER_QUOTED, error);
}

enum wp_rc wp_render_json(struct wp_buffer *into, const struct wp_column_type *type,
			  struct wp_span text, struct wp_error *error)
{
	if (wp_span_is_null(text))
		return wp_buffer_append_text(into, "null");
	return render(into, type, text, WP_RENDER_JSON, WP_RENDER_JSON, error);
}

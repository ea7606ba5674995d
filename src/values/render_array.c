/* Renders an array as a list, from the text that Postgres prints. */
#include <assert.h>
#include <string.h>

#include "walpost/base/display.h"

#include "render_parts.h"

/*
 * What Postgres prints (array_out in its src/backend/utils/adt/arrayfuncs.c):
 *
 *   array   = [ bounds "=" ] "{" [ element *( "," element ) ] "}"
 *   bounds  = 1*( "[" number ":" number "]" ), if one does not begin at 1
 *   element = NULL / characters without , { } " \ / DQUOTE *( character / "\" character ) DQUOTE
 *
 * and a further "{" where the array has more than one dimension.
 */
struct reader {
	const uint8_t *at;
	const uint8_t *end;
	struct wp_buffer element; /* the last one that was read */
};

static enum wp_rc refuse_array(struct wp_span text, struct wp_error *error)
{
	struct wp_excerpt shown;

	return wp_error_set(error, WP_DATA, "\"%s\" is not an array in Postgres's format",
			    wp_excerpt(&shown, text));
}

static bool is_byte_next(const struct reader *r, uint8_t byte)
{
	return r->at < r->end && *r->at == byte;
}

static bool accept_byte(struct reader *r, uint8_t byte)
{
	if (!is_byte_next(r, byte))
		return false;
	r->at++;
	return true;
}

static void skip_bounds(struct reader *r)
{
	const uint8_t *equals = NULL;

	if (is_byte_next(r, '['))
		equals = memchr(r->at, '=', (size_t)(r->end - r->at));
	if (equals != NULL)
		r->at = equals + 1;
}

/* Reads behind the opening quote. The element's buffer has room for all of the text. */
static bool read_quoted_item(struct reader *r)
{
	while (r->at < r->end) {
		uint8_t c = *r->at++;
		if (c == '"')
			return true;
		if (c == '\\') {
			if (r->at == r->end)
				return false;
			c = *r->at++;
		}
		r->element.data[r->element.size++] = c;
	}
	return false;
}

static bool read_bare(struct reader *r)
{
	while (r->at < r->end && *r->at != ',' && *r->at != '}') {
		if (*r->at == '{' || *r->at == '"' || *r->at == '\\')
			return false;
		r->element.data[r->element.size++] = *r->at++;
	}
	return r->element.size > 0;
}

static bool read_element(struct reader *r, bool *ret_null)
{
	wp_buffer_reset(&r->element);
	*ret_null = false;
	if (accept_byte(r, '"'))
		return read_quoted_item(r);
	if (!read_bare(r))
		return false;
	*ret_null = wp_span_is(wp_buffer_span(&r->element), "NULL");
	return true;
}

/* The items of an array of an enum are not optional: Connect refuses a null there. */
static enum wp_rc write_null(struct wp_buffer *into, const struct wp_column_type *type,
			     struct wp_error *error)
{
	if (type->element == WP_TYPE_ENUM)
		return wp_error_set(
			error, WP_DATA,
			"an array of an enum contains NULL, which its schema does not allow");
	return wp_buffer_append_text(into, "null");
}

static enum wp_rc render_elements(struct reader *r, struct wp_buffer *into,
				  const struct wp_column_type *type, struct wp_span text,
				  enum wp_render_form form, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;
	bool null;

	do {
		if (!read_element(r, &null))
			return refuse_array(text, error);
		if (null)
			rc = write_null(into, type, error);
		else
			rc = wp_render_scalar(into, type->element, type->modifier,
					      wp_buffer_span(&r->element), form, error);
		if (rc == WP_OK && is_byte_next(r, ','))
			rc = wp_buffer_append_text(into, form == WP_RENDER_PLAIN ? ", " : ",");
	} while (rc == WP_OK && accept_byte(r, ','));
	if (rc != WP_OK)
		return rc;
	return accept_byte(r, '}') && r->at == r->end ? WP_OK : refuse_array(text, error);
}

static enum wp_rc render_list(struct reader *r, struct wp_buffer *into,
			      const struct wp_column_type *type, struct wp_span text,
			      enum wp_render_form form, struct wp_error *error)
{
	skip_bounds(r);
	if (!accept_byte(r, '{'))
		return refuse_array(text, error);
	if (is_byte_next(r, '{'))
		return wp_error_set(error, WP_DATA, "an array has more than one dimension");
	if (accept_byte(r, '}'))
		return r->at == r->end ? WP_OK : refuse_array(text, error);
	return render_elements(r, into, type, text, form, error);
}

enum wp_rc wp_render_array(struct wp_buffer *into, const struct wp_column_type *type,
			   struct wp_span text, enum wp_render_form form, struct wp_error *error)
{
	struct reader r = { .at = text.data, .end = text.data + text.size };

	assert(type->type == WP_TYPE_ARRAY);
	wp_buffer_init(&r.element, text.size);
	enum wp_rc rc = wp_buffer_reserve(&r.element, text.size);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(into, '[');
	if (rc == WP_OK)
		rc = render_list(&r, into, type, text, form, error);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(into, ']');
	wp_buffer_release(&r.element);
	return rc;
}

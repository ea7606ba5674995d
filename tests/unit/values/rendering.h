/* A column and what its values become, in as few words as a test needs. */
#ifndef WALPOST_TESTS_OUTBOX_RENDERING_H
#define WALPOST_TESTS_OUTBOX_RENDERING_H

#include "support/check.h"
#include "walpost/values/render.h"

/* atttypmod of numeric(precision, scale). */
#define NUMERIC(precision_, scale_) \
	((int32_t)((uint32_t)(precision_) << 16 | ((uint32_t)(scale_)&0x7FF)) + 4)

typedef enum wp_rc render_function(struct wp_buffer *into, const struct wp_column_type *type,
				   struct wp_span text, struct wp_error *error);

static inline struct wp_column_type column_of(enum wp_type type, int32_t modifier)
{
	return (struct wp_column_type){ .type = type, .modifier = modifier, .is_optional = true };
}

static inline struct wp_column_type array_of(enum wp_type element, int32_t modifier)
{
	return (struct wp_column_type){
		.type = WP_TYPE_ARRAY, .element = element, .modifier = modifier, .is_optional = true
	};
}

/* Behind what is there already. */
static inline void check_rendered(render_function *function, struct wp_column_type type,
				  const char *text, const char *wanted)
{
	struct wp_error error = { "" };
	struct wp_buffer into;

	wp_buffer_init(&into, 1 << 20);
	CHECK_EQ(wp_buffer_append_text(&into, ">"), WP_OK);
	enum wp_rc rc = function(&into, &type, wp_span_of(text), &error);
	CHECK_TEXT(error.text, "");
	CHECK_EQ(rc, WP_OK);
	CHECK_EQ(into.data[0], '>');
	CHECK_SPAN(((struct wp_span){ into.data + 1, into.size - 1 }), wanted);
	wp_buffer_release(&into);
}

/* The reason has `part`, and nothing was appended. */
static inline void check_refused(render_function *function, struct wp_column_type type,
				 const char *text, const char *part)
{
	struct wp_error error = { "" };
	struct wp_buffer into;

	wp_buffer_init(&into, 1 << 20);
	CHECK_EQ(wp_buffer_append_text(&into, ">"), WP_OK);
	CHECK_EQ(function(&into, &type, wp_span_of(text), &error), WP_DATA);
	CHECK_HAS(error.text, part);
	CHECK_SPAN(wp_buffer_span(&into), ">");
	wp_buffer_release(&into);
}

/* `plain` for keys and headers, `json` for JSON. */
static inline void check_forms(struct wp_column_type type, const char *text, const char *plain,
			       const char *json)
{
	check_rendered(wp_render_string, type, text, plain);
	check_rendered(wp_render_header, type, text, plain);
	check_rendered(wp_render_json, type, text, json);
}

#endif

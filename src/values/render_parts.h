/*
 * The files of `render` share this. All append to `into` and may leave a part of it behind when they fail: render.c
 * takes it back.
 */
#ifndef WALPOST_SRC_VALUES_RENDER_PARTS_H
#define WALPOST_SRC_VALUES_RENDER_PARTS_H

#include "walpost/values/render.h"

enum wp_render_form {
	WP_RENDER_PLAIN,  /* as it is */
	WP_RENDER_QUOTED, /* within a list in a header: texts in quotes, as Values.append() does */
	WP_RENDER_JSON,
};

/* This is numeric(p,s), as its modifier says it. */
struct wp_render_scale {
	bool is_variable; /* without p and s */
	int precision;
	int scale; /* may be below zero */
};

struct wp_render_scale wp_render_scale(int32_t modifier);
/* Returns the digits behind the point of time, timestamp and timestamptz, 6 where there is no modifier. */
int wp_render_precision(int32_t modifier);

/* Renders a value that is no array; its type is that of an array's elements, or `type` itself. */
enum wp_rc wp_render_scalar(struct wp_buffer *into, enum wp_type type, int32_t modifier,
			    struct wp_span text, enum wp_render_form form,
			    struct wp_error *error) WP_MUST_CHECK;
/* `form` is that of its elements. */
enum wp_rc wp_render_array(struct wp_buffer *into, const struct wp_column_type *type,
			   struct wp_span text, enum wp_render_form form,
			   struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_render_integer(struct wp_buffer *into, enum wp_type type, struct wp_span text,
			     struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_render_float(struct wp_buffer *into, enum wp_type type, struct wp_span text,
			   enum wp_render_form form, struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_render_numeric(struct wp_buffer *into, int32_t modifier, struct wp_span text,
			     enum wp_render_form form, struct wp_error *error) WP_MUST_CHECK;

#endif

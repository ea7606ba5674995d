#ifndef WALPOST_OUTBOX_RENDER_H
#define WALPOST_OUTBOX_RENDER_H

#include <stdbool.h>

#include "walpost/base/buffer.h"
#include "walpost/base/why.h"
#include "walpost/wal/relations.h"

struct wp_column_type {
	enum wp_type type;
	enum wp_type element;
	int32_t modifier;
	bool is_optional;
	const char *labels;
};

bool wp_render_knows(const struct wp_column_type *type);
enum wp_rc wp_render_text(struct wp_buffer *into, const struct wp_column_type *type,
			  struct wp_span text, struct wp_why *why) WP_MUST_CHECK;
enum wp_rc wp_render_json(struct wp_buffer *into, const struct wp_column_type *type,
			  struct wp_span text, struct wp_why *why) WP_MUST_CHECK;
enum wp_rc wp_render_schema(struct wp_buffer *into, const struct wp_column_type *type,
			    const char *field) WP_MUST_CHECK;

#endif

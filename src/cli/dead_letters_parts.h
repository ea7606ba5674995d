/*
 * Here is what rows and messages that are made of a letter alone have in common: which of its
 * headers come from where, and which raw topic gives its topic. Pure.
 */
#ifndef WALPOST_SRC_CLI_DEAD_LETTERS_PARTS_H
#define WALPOST_SRC_CLI_DEAD_LETTERS_PARTS_H

#include <string.h>

#include "dead_letters_retry.h"
#include "walpost/outbox/columns.h"

/* This header has the time of the record that was refused. */
#define WP_LETTER_TIMESTAMP "walpost-dead-letter-timestamp"
#define WP_LETTER_TEXT_MAX ((size_t)1 << 30) /* Postgres takes no more */

static inline bool wp_letter_begins(struct wp_span name, const char *with)
{
	size_t size = strlen(with);

	return name.size >= size && memcmp(name.data, with, size) == 0;
}

static inline bool wp_letter_is_set(const char *option)
{
	return option[0] != '\0';
}

/* Returns NULL if it has none of that name. */
const struct wp_header *wp_letter_header(const struct wp_letter_content *content, const char *name);

/* These are the header names of the configured columns, and which of the standard ones are sent. */
struct wp_letter_headers {
	struct wp_column_list list;
	bool sends_id;
	bool sends_type;
};

/* Fails with WP_CONFIG and the error. */
enum wp_rc wp_letter_headers_init(const struct wp_outbox_options *o, struct wp_letter_headers *ret,
				  struct wp_error *error) WP_MUST_CHECK;
/*
 * Appends the headers that the application's data named, as one JSON object; `ret_count` is how
 * many there were. Fails with WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_letter_data_headers(const struct wp_outbox_options *o,
				  const struct wp_letter_headers *listed,
				  const struct wp_letter_content *content, struct wp_buffer *into,
				  size_t *ret_count) WP_MUST_CHECK;

bool wp_letter_gives_topic(const struct wp_outbox *outbox, struct wp_span route, const char *topic);
/* Returns a raw topic that gives this one by the present outbox.topic.*, or null if none is known. */
struct wp_span wp_letter_route(const struct wp_outbox *outbox, const char *topic);

const char *wp_letter_envelope(enum wp_envelope envelope);
const char *wp_letter_form(enum wp_form form);

#endif

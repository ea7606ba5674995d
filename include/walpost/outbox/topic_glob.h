/*
 * Which topics can our routing produce? A glob made of outbox.topic.replacement:
 * its groups stand for any run of characters, the rest for itself.
 *
 * Errs on the side of too many: how many digits belong to a group cannot be told
 * without the expression, so all of them do. Not covered, for any name would be:
 * raw topics that the expression does not match, which stay as they are, and what
 * stays behind a first match that is shorter than the whole. Pure.
 */
#ifndef WALPOST_OUTBOX_TOPIC_GLOB_H
#define WALPOST_OUTBOX_TOPIC_GLOB_H

#include <stdbool.h>

#include "walpost/outbox/route.h"

struct wp_topic_glob {
	bool never;			 /* longer than any topic's name: fits nothing */
	bool anything;			 /* groups only: fits every name */
	char pattern[2 * WP_TOPIC_SIZE]; /* '*', which no topic's name has, is a group */
};

void wp_topic_glob_init(struct wp_topic_glob *g, const char *replacement);
bool wp_topic_glob_fits(const struct wp_topic_glob *g, const char *topic);

#endif

/*
 * Which topics have taken events of ours? Comma-separated names, for the slot checkpoint row and for
 * the question about what they hold: a topic's name has no comma.
 *
 * Bounded: what does not fit is left out. Pure.
 */
#ifndef WALPOST_SINK_TOPIC_LIST_H
#define WALPOST_SINK_TOPIC_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { WP_TOPIC_LIST_SIZE = 4096 };

struct wp_topic_list {
	char text[WP_TOPIC_LIST_SIZE]; /* "" : none */
};

bool wp_topic_list_has(const struct wp_topic_list *l, const char *name);
/* Once each. Empty names, and names with a comma, are none. */
void wp_topic_list_add(struct wp_topic_list *l, const char *name, size_t size);
/* All of `names`, comma-separated. */
void wp_topic_list_merge(struct wp_topic_list *l, const char *names);

#endif

/*
 * The other side holds this already: the highest walpost-position at the ends of
 * topics that have taken events of ours. It is asked when the database may be behind
 * what was delivered; the answer is a value in the sink's view. Pure types.
 */
#ifndef WALPOST_SINK_TOPIC_ENDS_H
#define WALPOST_SINK_TOPIC_ENDS_H

#include <stdbool.h>
#include <stddef.h>

#include "walpost/base/error.h"
#include "walpost/wal/position.h"

/*
 * Which topics have taken events of ours? Comma-separated names, for the slot checkpoint row and for
 * the question about what they hold: a topic's name has no comma.
 *
 * Bounded: what does not fit is left out. Pure.
 */
enum { WP_TOPIC_LIST_SIZE = 4096 };

struct wp_topic_list {
	char text[WP_TOPIC_LIST_SIZE]; /* "" : none */
};

bool wp_topic_list_has(const struct wp_topic_list *l, const char *name);
/* Adds each name once. Empty names, and names with a comma, are none. */
void wp_topic_list_add(struct wp_topic_list *l, const char *name, size_t size);
/* Adds all of `names`, comma-separated. */
void wp_topic_list_merge(struct wp_topic_list *l, const char *names);

enum { WP_TOPIC_ENDS_NAME_SIZE = 256 };

/* `source` is borrowed as long as the asked one lives. */
struct wp_topic_ends_question {
	struct wp_topic_list topics; /* which */
	const char *source;	     /* only events with this walpost-source; "": any */
	uint16_t epoch;		     /* only positions of this one */
};

enum wp_topic_ends_state {
	WP_TOPIC_ENDS_NONE,	   /* never asked */
	WP_TOPIC_ENDS_ASKING,	   /* the answer comes with a wake */
	WP_TOPIC_ENDS_KNOWN,	   /* all below; `error` names what was not read */
	WP_TOPIC_ENDS_UNREACHABLE, /* nobody answered: ask again later */
	WP_TOPIC_ENDS_UNKNOWN,	   /* nothing is kept that could be asked */
};

struct wp_topic_ends {
	enum wp_topic_ends_state state;
	bool found;		    /* an event of the question's kind: then the next three */
	struct wp_position highest; /* the rest: where it is */
	char topic[WP_TOPIC_ENDS_NAME_SIZE];
	int32_t partition;
	size_t partitions;	  /* of the topics that are there */
	size_t unread_partitions; /* of them */
	struct wp_error error;	  /* KNOWN: "" when all was read; else why not */
};

#endif

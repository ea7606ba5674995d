/*
 * What the other side holds already: the highest walpost-position at the tails of
 * topics that have taken events of ours. Asked when the database may be behind
 * what was delivered; the answer is a value in the sink's view. Pure types.
 */
#ifndef WALPOST_SINK_TAIL_H
#define WALPOST_SINK_TAIL_H

#include "walpost/base/error.h"
#include "walpost/wal/position.h"
#include "walpost/sink/topic_list.h"

enum { WP_TAIL_TOPIC_SIZE = 256 };

/* `source` is borrowed as long as the asked one lives. */
struct wp_tail_question {
	struct wp_topic_list topics; /* which */
	const char *source;	     /* only events with this walpost-source; "": any */
	uint16_t epoch;		     /* only positions of this one */
};

enum wp_tail_state {
	WP_TAIL_NONE,	     /* never asked */
	WP_TAIL_ASKING,	     /* the answer comes with a wake */
	WP_TAIL_KNOWN,	     /* all below; `error` names what was not read */
	WP_TAIL_UNREACHABLE, /* nobody answered: ask again later */
	WP_TAIL_UNKNOWN,     /* nothing is kept that could be asked */
};

struct wp_tail {
	enum wp_tail_state state;
	bool found;		    /* an event of the question's kind: then the next three */
	struct wp_position highest; /* the rest: where it is */
	char topic[WP_TAIL_TOPIC_SIZE];
	int32_t partition;
	size_t partitions;	  /* of the topics that are there */
	size_t unread_partitions; /* of them */
	struct wp_error error;	  /* KNOWN: "" when all was read; else why not */
};

#endif

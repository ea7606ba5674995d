/*
 * Has the database all that was delivered from it? What this process sent is known; what others
 * did stands at the ends of the topics, which are asked for when something calls for it. Not at
 * each start: it costs a fetch from each partition.
 *
 * They are read after the server was asked: meanwhile another relay may have taken the slot and
 * delivered more. So a database that seems to be behind is asked once more: what the server says
 * then decides.
 *
 * Owns: the highest position sent, and the topics that took events. Pure.
 */
#ifndef WALPOST_RELAY_BEHIND_CHECK_H
#define WALPOST_RELAY_BEHIND_CHECK_H

#include "walpost/wal/position.h"
#include "walpost/sink/sink.h"
#include "walpost/source/source.h"

enum wp_behind {
	WP_BEHIND_NOT,
	WP_BEHIND_LOST,	    /* same timeline: its log ends before the event */
	WP_BEHIND_PROMOTED, /* it left the event's timeline before the event */
	WP_BEHIND_NEWER,    /* the event's timeline is none of its past, nor its own */
};

struct wp_behind_check {
	struct wp_position delivered; /* the highest sent by this process; all 0: none */
	struct wp_topic_list topics;  /* that took events: as written down, and by this process */
	bool asked;
	bool refreshed; /* at the server, after the answer */
	uint64_t
		moves; /* of the relay, as it was asked: an answer of before a reconnect has aged */
};

/* This is what this process knew when it had the slot last; `started` false: nothing, but the slot checkpoint. */
struct wp_behind_known {
	bool started;
	uint32_t timeline;
	wp_lsn confirmed_lsn;
};

/* Returns why to ask, in constant text; NULL: nothing calls for it. */
const char *wp_behind_check_reason(const struct wp_behind_known *known,
				   const struct wp_source_facts *f);
/* Returns true when the sink is to be asked now, with the topics. */
bool wp_behind_check_asks(struct wp_behind_check *c, uint64_t moves);

enum wp_behind_check_answer {
	WP_BEHIND_CHECK_GOES_ON,   /* the database has it all */
	WP_BEHIND_CHECK_AWAITED,   /* the sink's answer */
	WP_BEHIND_CHECK_REFRESH,   /* at the server again */
	WP_BEHIND_CHECK_RETRY,	   /* Kafka is not reachable: nothing could be delivered either */
	WP_BEHIND_CHECK_NOT_KNOWN, /* nothing can tell: go on */
	WP_BEHIND_CHECK_NOT_READ,  /* nor could all be read: go on */
	WP_BEHIND_CHECK_STOP,	   /* it lacks what was delivered */
};
enum wp_behind_check_answer wp_behind_check_step(struct wp_behind_check *c,
						 const struct wp_topic_ends *ends,
						 const struct wp_source_facts *f);
/* Another has the slot: an answer that came ages. */
void wp_behind_check_forget(struct wp_behind_check *c);
/* An event of this position went to the sink. */
void wp_behind_check_sent(struct wp_behind_check *c, const struct wp_position *position);
/* Returns the topics that took events, so far as is known, for the slot checkpoint row. */
const char *wp_behind_check_topics(struct wp_behind_check *c, struct wp_sink *sink,
				   const char *dead_letter_topic);

/*
 * An event's position tells timeline and place of its COMMIT; the server's history tells what of
 * that timeline it has. `ret_end`: where that share ends; 0 for NEWER.
 */
enum wp_behind wp_behind_judge(const struct wp_position *delivered,
			       const struct wp_timelines *timelines, wp_lsn server_lsn,
			       wp_lsn *ret_end);
bool wp_behind_is(const struct wp_position *p, const struct wp_source_facts *f);
/* `where`: the event is, of position `p`; `hint`: what else may be so. */
void wp_behind_say(const struct wp_position *p, const struct wp_source_facts *f, const char *where,
		   const char *hint, struct wp_error *ret);

#endif

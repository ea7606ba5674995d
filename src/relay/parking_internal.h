/*
 * Parking and its rounds share this. A round sends the first rows of some aggregates: they are chosen, loaded
 * by the store, sent, confirmed or not, changed in the table. There is one at a time.
 */
#ifndef WALPOST_SRC_RELAY_PARKING_INTERNAL_H
#define WALPOST_SRC_RELAY_PARKING_INTERNAL_H

#include "aggregates.h"
#include "parking.h"

enum {
	WP_ROUND_AGGREGATES_MAX = 32,
	WP_ROUND_ROWS_MAX = 256,
	WP_PARKING_NEWS_MAX = 2 * WP_ROUND_AGGREGATES_MAX,
};

enum row_state { ROW_UNSENT, ROW_SENT, ROW_CONFIRMED, ROW_DROPPED, ROW_FAILED, ROW_LEFT };

struct row {
	enum row_state state;
	struct wp_aggregate *aggregate;
	int letter; /* -1: it is the event */
};

struct chosen {
	struct wp_aggregate *aggregate;
	uint32_t rows_max;
	uint32_t came;
	uint32_t rows; /* of these to be sent in this round */
	uint32_t deleted;
	bool next_alone; /* the row behind them is to be sent alone */
	bool has_next;	 /* that row came, or is the one that failed: */
	struct wp_position next_position;
	bool failed;
	bool exhausted;
	uint32_t attempts;
	int64_t due_in_ms;
	char code[WP_PARKING_CODE_SIZE];
	struct wp_error error;
};

enum round_state { ROUND_NONE, ROUND_LOADING, ROUND_SENDING, ROUND_CHANGING };

struct round {
	enum round_state state;
	uint64_t number;
	bool alone;
	bool is_quiet; /* the one row went while nothing else was in flight */
	int64_t begun_ms;
	struct chosen chosen[WP_ROUND_AGGREGATES_MAX];
	size_t chosen_count;
	struct row rows[WP_ROUND_ROWS_MAX];
	const struct wp_parked_row *loaded[WP_ROUND_ROWS_MAX]; /* the store's */
	size_t row_count;
	size_t next; /* to be sent */
};

struct wp_parking {
	struct wp_park_options options;
	uint16_t epoch;
	bool has_dead_letters;
	struct wp_parked_store *store;
	bool ready;
	bool may_send; /* a new round may begin */
	size_t loaded; /* of the set, so far */
	struct wp_aggregates set;
	struct wp_position *positions; /* owned: of the table, that the log may bring again */
	size_t position_count;
	uint64_t under_way;
	uint64_t loads;	    /* asked for */
	uint64_t looks;	    /* likewise */
	uint64_t submitted; /* changes */
	bool asked_left;    /* what people asked for is not done yet, perhaps */
	uint64_t missed_by; /* the look that may be older than that; 0: none */
	bool has_looked;
	int64_t look_ms;   /* the next */
	wp_lsn confirmed;  /* what the server may forget */
	wp_lsn told;	   /* what of that it knows */
	bool waits_for_it; /* an aggregate that is due does */
	int64_t alone_ms;  /* nothing goes alone before */
	bool is_refused;   /* one that did was, and no set was read since */
	int64_t begun_ms;  /* the stream */
	bool alone_turn;   /* first, if one is due */
	int64_t held_ms;   /* the stream waits for an aggregate no longer */
	struct round round;
	struct wp_parking_figures figures;
	struct wp_parking_figures kept; /* as it was ready last; not known: never */
	int64_t kept_ms;
	struct wp_parking_news news[WP_PARKING_NEWS_MAX];
	size_t news_count;
	size_t news_taken;
	int64_t now_ms;
};

static inline const struct wp_parked_view *wp_parking_view(const struct wp_parking *p)
{
	return p->store->ops->view(p->store);
}

static inline int64_t wp_parking_after(int64_t now_ms, int64_t in_ms)
{
	return in_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + in_ms;
}

/* May the transaction of the event at `position` commit at or behind `lsn`? */
bool wp_parking_is_at_or_behind(const struct wp_parking *p, const struct wp_position *position,
				wp_lsn lsn);
/* Gives changes to the store, and counts them. */
enum wp_rc wp_parking_submit(struct wp_parking *p, const struct wp_parked_change *changes,
			     size_t count) WP_MUST_CHECK;
/* Begins a round that is due, and takes it as far as it goes. */
enum wp_rc wp_parking_step_round(struct wp_parking *p, bool may_send) WP_MUST_CHECK;
void wp_parking_give_up_round(struct wp_parking *p);
/* A round that goes alone, and cannot begin, is given up by then; INT64_MAX: none waits. */
int64_t wp_parking_round_due(const struct wp_parking *p);

#endif

/*
 * The sentence for a human is written where the facts are known. It has a fixed size, so
 * that failing allocates nothing. Functions take it last and may be given NULL.
 * It is written on failure only. Its form is: what happened; what it means; what to do.
 */
#ifndef WALPOST_BASE_ERROR_H
#define WALPOST_BASE_ERROR_H

/*
 * A function that can fail answers these, and an error calls for these. A code exists only where some caller
 * reacts differently to it.
 */
#define WP_MUST_CHECK __attribute__((warn_unused_result))
#define WP_PRINTF(format_index, first_index) \
	__attribute__((format(printf, format_index, first_index)))

enum wp_rc {
	WP_OK = 0,
	WP_AGAIN = -1,	/* nothing now, or not taken yet: ask again later */
	WP_PAUSE = -2,	/* not taken: a question to the outside must be answered first */
	WP_FULL = -3,	/* refused, there is no room; it is still yours */
	WP_DATA = -4,	/* this row cannot be relayed: poison policy */
	WP_PROTO = -5,	/* the peer broke the protocol: drop the connection */
	WP_IO = -6,	/* the peer is gone: reconnect with backoff */
	WP_CONFIG = -7, /* a human must act: exit, never retry */
	WP_NOMEM = -8,	/* exit; a new process resumes from the slot */
};

/*
 * An error of the other side calls for these. One table per side (postgres/reaction, kafka/reaction) maps its
 * codes to them.
 */
enum wp_reaction {
	WP_REACT_NONE = 0,
	WP_REACT_AGAIN,	      /* it passes by itself: go on waiting */
	WP_REACT_WAIT_TOPIC,  /* topic missing or forbidden: rewind, then wait for it */
	WP_REACT_REWIND,      /* purge, new producer, stream again from the confirmed LSN */
	WP_REACT_ISOLATE,     /* rewind with one message per batch: an event may be poison */
	WP_REACT_RECONNECT,   /* new connection with backoff */
	WP_REACT_TRY_THRICE,  /* the same; but the third time at one place a human must act */
	WP_REACT_STANDBY,     /* another process holds the slot: wait for it */
	WP_REACT_LET_GO,      /* the server wants to stop: close, stay away 10 s */
	WP_REACT_STOP_CONFIG, /* wrong configuration: exit code 2 */
	WP_REACT_STOP_HUMAN,  /* a human must act: exit code 3 */
};

const char *wp_reaction_name(enum wp_reaction reaction);

struct wp_error {
	char text[2048]; /* NUL-terminated; cut at a UTF-8 boundary when too long */
};

/* Returns `rc`, so that "return wp_error_set(why, WP_CONFIG, ...)" reads well. */
enum wp_rc wp_error_set(struct wp_error *error, enum wp_rc rc, const char *format, ...)
	WP_PRINTF(3, 4);

/* The process's exit codes are a contract with service managers and scripts, the same for all commands. */
enum wp_exit {
	WP_EXIT_OK = 0,	    /* done, or stopped as asked */
	WP_EXIT_FAILED = 1, /* a restart may help; `check`: a precondition fails */
	WP_EXIT_CONFIG = 2, /* wrong usage or configuration */
	WP_EXIT_HUMAN = 3,  /* a human must act: slot lost, publication missing, poison */
	WP_EXIT_COUNT
};

#endif

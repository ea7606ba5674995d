/*
 * The four files of a replication stream share this: copy.c begins and finishes it, copy_end.c has the ways in
 * which it ends, copy_reader.c takes what the server sends, copy_writer.c sends it what is for it.
 *
 * Private to postgres_stream/.
 */
#ifndef WALPOST_SRC_POSTGRES_STREAM_COPY_PARTS_H
#define WALPOST_SRC_POSTGRES_STREAM_COPY_PARTS_H

#include "walpost/postgres_stream/copy.h"
#include "walpost/postgres_stream/receive_batching.h"

/*
 * The state says where the server's bytes are, and what is done about them:
 *
 *             libpq holds    socket       watched   next() takes
 *   WATCHED   part of one    empty        yes       nothing
 *   RESTS     some           has some     no        nothing, until the pause is over
 *   SOCKET    some           has some     no        what libpq holds, then what is read
 *   LIBPQ     some           was empty    yes       what libpq holds
 *   CLOSED    some           closed       no        what libpq holds
 *   ENDED     the result     open         yes       nothing: the last frame was seen
 *   LOST      perhaps it     closed       no        nothing: likewise
 *
 *   WATCHED, LIBPQ, RESTS -> SOCKET   it was readable; the pause is over; somebody reads again
 *   SOCKET -> LIBPQ -> WATCHED        the socket was emptied, all was taken
 *   WATCHED -> RESTS                  so much comes that it is to gather first
 *   any but ENDED -> CLOSED           the server, or the network, closed the socket
 *   any -> ENDED, CLOSED -> LOST      there is no frame any more
 *
 * The socket is watched only for what somebody wants: not while nobody reads, or the copy is over.
 */
enum wp_copy_input {
	WP_INPUT_WATCHED,
	WP_INPUT_RESTS,
	WP_INPUT_SOCKET,
	WP_INPUT_LIBPQ,
	WP_INPUT_CLOSED,
	WP_INPUT_ENDED,
	WP_INPUT_LOST,
};

/* This waits for room; of several statuses only the newest does. */
enum wp_copy_output {
	WP_OUTPUT_NONE,
	WP_OUTPUT_STATUS,
	WP_OUTPUT_END, /* CopyDone */
	WP_OUTPUT_STATUS_AND_END,
};

/* The server warned that it skips what we must relay. */
enum wp_copy_skipped {
	WP_SKIPPED_NOTHING,
	WP_SKIPPED_OUTBOX,
	WP_SKIPPED_REISSUE, /* whose publication came later */
};

struct wp_copy {
	struct ev_loop *loop; /* borrowed */
	PGconn *pg;	      /* borrowed */
	struct wp_copy_setup setup;
	enum wp_copy_state state;
	struct wp_source_failure failure;
	enum wp_copy_skipped skipped;
	char last_notice[256]; /* what the server said before it went away */

	/* copy_reader.c */
	enum wp_copy_input input;
	enum wp_reading reading;
	ev_io readable;
	ev_io pause; /* a timerfd, owned. libev's own timers are of whole milliseconds */
	enum wp_socket_tuning tuning;
	struct wp_receive_batching batching;
	int64_t ripe_at_us;   /* when what has come is to be taken */
	int64_t ripened_us;   /* when it was, last */
	size_t sipped;	      /* bytes that were read into libpq while it rested, and not taken */
	uint64_t taken;	      /* frames of now */
	uint64_t taken_bytes; /* and what they had on the wire */
	char *frame;	      /* owned: libpq's, handed out last */

	/* copy_writer.c */
	enum wp_copy_output output;
	ev_io writable;
	uint8_t pending[WP_STATUS_SIZE];
};

static inline bool wp_copy_is_over(const struct wp_copy *c)
{
	return c->state == WP_COPY_FINISHED || c->state == WP_COPY_FAILED;
}

static inline bool wp_copy_has_frames(const struct wp_copy *c)
{
	return c->input != WP_INPUT_ENDED && c->input != WP_INPUT_LOST;
}

static inline bool wp_copy_is_closed(const struct wp_copy *c)
{
	return c->input == WP_INPUT_CLOSED || c->input == WP_INPUT_LOST;
}

/* ---- copy_end.c: sees neither of the others ---- */

void wp_copy_wake(struct wp_copy *c);
/* The PGconn's notice receiver; `arg` is the copy. */
void wp_copy_hear_notice(void *arg, const PGresult *notice);
/* Stops all watchers. */
void wp_copy_stop(struct wp_copy *c);
/* Enters another state, in which other things are watched, and wakes. */
void wp_copy_enter(struct wp_copy *c, enum wp_copy_state state);
/* Once the socket is readable it is left alone until next() has read: the watcher is level-triggered. */
void wp_copy_watch(struct wp_copy *c);
/* The socket is closed. */
void wp_copy_closed(struct wp_copy *c);
/* Takes a frame that libpq holds. Returns WP_AGAIN, or WP_IO when there will be none any more. */
enum wp_rc wp_copy_take_data(struct wp_copy *c, char **ret_frame, int *ret_size);
/* Throws frames away to their end, or to that of what has come. The one that was handed out stays. Returns
 * WP_AGAIN, or WP_IO when there is none any more. */
enum wp_rc wp_copy_throw_away(struct wp_copy *c);
/* Fails because the server skips what it must not. */
void wp_copy_fail_skipped(struct wp_copy *c);
/* Fails because the slot is not ours any more, and the server has not said why. */
void wp_copy_fail_unheard(struct wp_copy *c);
void wp_copy_fail_lost(struct wp_copy *c);
/* Fails with the error that is the result. */
void wp_copy_fail_by_server(struct wp_copy *c, const PGresult *result);
/* Follows the last frame: waits for the result without blocking. */
void wp_copy_collect_end(struct wp_copy *c);
/* The socket is closed: what is left in libpq is of no use any more but for the server's last word. */
void wp_copy_abandon(struct wp_copy *c);

/* ---- copy_reader.c: sees copy_end.c ---- */

/* `timer` is a timerfd, which the reader owns from here on. */
void wp_copy_reader_init(struct wp_copy *c, int timer);
void wp_copy_reader_release(struct wp_copy *c);
/* The copy runs: the first frames may have come along with the answer. */
void wp_copy_reader_begin(struct wp_copy *c);
/* From now on what comes is only read to its end. */
void wp_copy_reader_finish(struct wp_copy *c);
/* Reads into libpq. Returns true if there may be more. */
bool wp_copy_read_socket(struct wp_copy *c);
/* The socket is readable: what has come is to be taken. */
void wp_copy_ripen(struct wp_copy *c, int64_t now_us);
/* After CopyDone frames are read to their end: only then has the server read all of ours. */
void wp_copy_discard(struct wp_copy *c);
/* When it cannot write, libpq reads (pqSendSome): no socket tells of that. */
void wp_copy_take_what_libpq_read(struct wp_copy *c);
/* Nobody reads, and the server does not hear us for what its socket holds: some is read. */
void wp_copy_relieve(struct wp_copy *c);

/* ---- copy_writer.c: sees both ---- */

void wp_copy_writer_init(struct wp_copy *c);
/* Writes CopyDone, behind a status that waits. */
void wp_copy_write_end(struct wp_copy *c);

#endif

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "walpost/base/buffer.h"
#include "walpost/base/clock.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres_stream/copy.h"
#include "walpost/postgres_stream/receive_batching.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/wal/slot_cure.h"

#define SQL_SIZE_MAX 8192
/* What may gather in libpq before it is taken: half of what its buffer was made to hold. */
#define SIPPED_MAX (512 * 1024)
/* How often a Unix socket is emptied: about when the walsender has filled it. */
#define SIP_EVERY_US 400
/* Of records, before what they hold is taken. */
#define GULP_MAX (256 * 1024)
/* How many of them of one message, before others have their turn. */
#define GULPS_MAX 64
/* GSSAPI's largest record. */
#define RECORD_MAX (17 * 1024)
/* Before the bytes of a message: its type and its length. */
#define HEADER_SIZE 5

struct wp_copy {
	struct ev_loop *loop; /* borrowed */
	PGconn *pg;	      /* borrowed */
	struct wp_copy_setup setup;
	enum wp_copy_state state;
	struct wp_source_failure failure;
	ev_io readable;
	ev_io writable;
	ev_io pause; /* a timerfd, owned. libev's own timers are of whole milliseconds */
	enum wp_socket_tuning tuning;
	struct wp_receive_batching batching;
	int64_t ripe_at_us;   /* when what has come is to be taken */
	bool rests;	      /* until then; the socket is not watched */
	bool ripe;	      /* it is; until all was taken */
	int64_t ripened_us;   /* when it was, last */
	size_t sipped;	      /* bytes that sip() read into libpq and that were not taken */
	uint64_t taken;	      /* frames of now */
	uint64_t taken_bytes; /* and what they had on the wire */
	enum wp_reading reading;
	bool may_read;	       /* the socket was readable and not all was read since */
	bool lost;	       /* the socket is closed; libpq may hold frames still */
	bool ended;	       /* the last frame was seen; the result is awaited */
	bool skipped;	       /* the server warned that it skips what we must relay */
	bool skipped_reissue;  /* and that is walpost.reissue, whose publication came later */
	bool has_pending;      /* a status waits for room */
	bool end_pending;      /* so does CopyDone */
	char *frame;	       /* owned: libpq's, handed out last */
	char last_notice[256]; /* what the server said before it went away */
	uint8_t pending[WP_STATUS_SIZE];
};

static void wake_consumer(struct wp_copy *c)
{
	c->setup.wake.call(c->setup.wake.arg);
}

static void stop_watchers(struct wp_copy *c)
{
	ev_io_stop(c->loop, &c->readable);
	ev_io_stop(c->loop, &c->writable);
	ev_io_stop(c->loop, &c->pause);
}

static void end_copy(struct wp_copy *c, enum wp_copy_state state)
{
	stop_watchers(c);
	c->state = state;
	wake_consumer(c);
}

static bool is_copy_over(const struct wp_copy *c)
{
	return c->state == WP_COPY_FINISHED || c->state == WP_COPY_FAILED;
}

/* Once readable it is left alone until next() has read: the watcher is level-triggered. */
static void watch_socket(struct wp_copy *c)
{
	bool wanted = c->state != WP_COPY_RUNNING || (c->reading == WP_READING_ON && !c->rests);
	if (wanted && !c->may_read && !c->lost && !is_copy_over(c))
		ev_io_start(c->loop, &c->readable);
	else
		ev_io_stop(c->loop, &c->readable);
}

static const char *error_field(const PGresult *result, int code)
{
	const char *text = PQresultErrorField(result, code);
	return text ? text : "";
}

static bool is_reissue(const struct wp_copy *c, const char *said)
{
	return c->setup.reissue && wp_publication_is_reissue(said);
}

static void on_copy_notice(void *arg, const PGresult *notice)
{
	struct wp_copy *c = arg;
	(void)snprintf(c->last_notice, sizeof(c->last_notice), "%s",
		       error_field(notice, PG_DIAG_MESSAGE_PRIMARY));
	/* Of two that are skipped the configured one is told of first, being named first. */
	if (wp_publication_was_skipped(notice) && !c->skipped) {
		c->skipped = true;
		c->skipped_reissue = is_reissue(c, c->last_notice);
	}
	wp_connection_log_notice(notice);
}

/* ---- the end ---- */

static void fail_copy(struct wp_copy *c, const struct wp_source_failure *failure)
{
	c->failure = *failure;
	end_copy(c, WP_COPY_FAILED);
}

static void fail_without_publication(struct wp_copy *c, const char *sqlstate, const char *said)
{
	struct wp_source_failure f = { .reaction = WP_REACT_STOP_HUMAN };
	(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
	const char *name = c->setup.publication;
	(void)wp_error_set(
		&f.error, WP_CONFIG,
		"publication \"%.64s\" does not exist at this position of the WAL (message from "
		"the server: %.200s): the events there cannot be decoded, and nothing after them "
		"was confirmed. Correct postgres.publication. If the publication was dropped or "
		"created after the slot: create it where walpost check reports it "
		"missing. " WP_SLOT_REPLACE,
		name, said);
	fail_copy(c, &f);
}

/* Nothing is lost: the next stream begins at the same place, and leaves it out. */
static void fail_without_reissue(struct wp_copy *c, const char *sqlstate)
{
	struct wp_source_failure f = { .reaction = WP_REACT_RECONNECT, .reissue_missing = true };
	(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
	(void)wp_error_set(&f.error, WP_IO,
			   "publication \"" WP_REISSUE_PUBLICATION "\" does not exist at this "
			   "position of the WAL: reconnecting without it; it is read again from "
			   "the present on, if it exists");
	fail_copy(c, &f);
}

/* Dropped since its position was read: before the copy the code of a missing publication means that. */
static void fail_without_slot(struct wp_copy *c, const char *sqlstate)
{
	struct wp_source_failure f = { .reaction = WP_REACT_STOP_HUMAN };
	(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
	(void)wp_error_set(&f.error, WP_CONFIG, WP_SLOT_MISSING, c->setup.slot);
	fail_copy(c, &f);
}

static void fail_unheard(struct wp_copy *c)
{
	struct wp_source_failure f = { .reaction = WP_REACT_RECONNECT };
	(void)wp_error_set(&f.error, WP_IO,
			   "slot %.64s is not in use by this stream any more, and the server has "
			   "not said why",
			   c->setup.slot);
	fail_copy(c, &f);
}

static void fail_skipped(struct wp_copy *c)
{
	if (c->skipped_reissue)
		fail_without_reissue(c, "55000");
	else
		fail_without_publication(c, "55000", c->last_notice);
}

static void fail_lost(struct wp_copy *c)
{
	struct wp_source_failure f = { .reaction = WP_REACT_RECONNECT };
	char said[256];
	(void)snprintf(said, sizeof(said), "%s", PQerrorMessage(c->pg));
	said[strcspn(said, "\n")] = '\0';
	(void)wp_error_set(&f.error, WP_IO,
			   "the connection broke without an error from the server: the server "
			   "crashed or stopped, received nothing from walpost within "
			   "wal_sender_timeout, or the network failed (%s%s%s)",
			   said, *c->last_notice ? "; last notice: " : "", c->last_notice);
	fail_copy(c, &f);
}

/*
 * No string of the server holds more than 1 GB: neither a value's text (54000) nor, in
 * other places, the room that is asked for it (an internal error, never translated).
 */
static bool is_row_too_large(const char *sqlstate, const char *said)
{
	return !strcmp(sqlstate, "54000") || strstr(said, "invalid memory alloc request size");
}

static const char *row_size_cure(const struct wp_copy *c, const char *sqlstate, const char *said)
{
	if (c->state == WP_COPY_STARTING || !is_row_too_large(sqlstate, said))
		return "";
	if (c->setup.transfer == WP_TRANSFER_BINARY)
		return " (the row is larger than the server can send)";
	return " (the row is larger than the server can send as text, in which a bytea doubles in "
	       "size: set postgres.binary = on)";
}

static void fail_by_server(struct wp_copy *c, const PGresult *result)
{
	const char *sqlstate = error_field(result, PG_DIAG_SQLSTATE);
	const char *said = error_field(result, PG_DIAG_MESSAGE_PRIMARY);
	bool starting = c->state == WP_COPY_STARTING;
	if (!*sqlstate) {
		fail_lost(c);
		return;
	}
	if (!starting && !strcmp(sqlstate, "42704") && is_reissue(c, said)) {
		fail_without_reissue(c, sqlstate);
		return;
	}
	if (!starting && !strcmp(sqlstate, "42704")) {
		fail_without_publication(c, sqlstate, said);
		return;
	}
	if (starting && !strcmp(sqlstate, "42704")) {
		fail_without_slot(c, sqlstate);
		return;
	}
	struct wp_source_failure f = { 0 };
	f.reaction = wp_postgres_reaction(starting ? WP_PHASE_START : WP_PHASE_COPY, sqlstate);
	(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
	const char *detail = error_field(result, PG_DIAG_MESSAGE_DETAIL);
	const char *context = error_field(result, PG_DIAG_CONTEXT);
	(void)wp_error_set(&f.error, WP_IO, "the server %s: %.300s%s%s%.200s%s%.300s",
			   starting ? "did not start the stream" : "ended the stream", said,
			   row_size_cure(c, sqlstate, said), *detail ? "; " : "", detail,
			   *context ? "; " : "", context);
	fail_copy(c, &f);
}

/* The stream's end in good order: ours, or a server that shuts down. */
static void end_well(struct wp_copy *c)
{
	end_copy(c, WP_COPY_FINISHED);
}

/* After the last frame: waits for the result without blocking. */
static void collect_end(struct wp_copy *c)
{
	c->ended = true;
	while (!is_copy_over(c)) {
		/* PQgetResult() would block only here. */
		if (PQsocket(c->pg) >= 0 && PQisBusy(c->pg)) {
			if (c->lost)
				fail_lost(c);
			break;
		}
		PGresult *result = PQgetResult(c->pg);
		switch (PQresultStatus(result)) {
		case PGRES_COPY_IN: /* CopyDone from the server, ours has not been sent */
			(void)PQputCopyEnd(c->pg, NULL); /* politeness: we close anyway */
			(void)PQflush(c->pg);
			end_well(c);
			break;
		case PGRES_COMMAND_OK:
			end_well(c);
			break;
		default:
			if (c->skipped)
				fail_skipped(c);
			else if (result)
				fail_by_server(c, result);
			else
				fail_lost(c);
		}
		PQclear(result);
	}
	if (!is_copy_over(c))
		watch_socket(c);
}

static size_t waits_in_socket(PGconn *pg)
{
	int waiting = 0;

	return ioctl(PQsocket(pg), FIONREAD, &waiting) == 0 && waiting > 0 ? (size_t)waiting : 0;
}

static bool is_encrypted(PGconn *pg)
{
	return PQsslInUse(pg) || PQgssEncInUse(pg);
}

static void consume(struct wp_copy *c)
{
	bool ok = PQconsumeInput(c->pg);
	/* Of what GSSAPI keeps nobody is told; the second call finds room for all of it. */
	if (ok && PQgssEncInUse(c->pg))
		ok = PQconsumeInput(c->pg);
	c->lost = c->lost || !ok;
}

/* What OpenSSL keeps of a record makes no socket readable. */
static bool tls_holds_more(PGconn *pg)
{
	const SSL *ssl = PQsslStruct(pg, "OpenSSL");
	return ssl && SSL_pending(ssl) > 0;
}

/* Of TLS what was read from the socket, else (GSSAPI) what `calls` can have read at most. */
static size_t bytes_read(PGconn *pg, size_t calls)
{
	const SSL *ssl = PQsslStruct(pg, "OpenSSL");

	return ssl ? (size_t)BIO_number_read(SSL_get_rbio(ssl)) : calls * 2 * RECORD_MAX;
}

/*
 * Encrypted each message of a walsender is a record, and libpq reads one at a time. All that have
 * come are read before the first is taken, or the two sides would go on record by record; but
 * not more than `max` bytes and a record. Returns how many.
 */
static size_t read_records(struct wp_copy *c, size_t max)
{
	size_t before = bytes_read(c->pg, 0), sum = 0, calls = 0;

	c->may_read = true;
	while (c->may_read && sum < max) {
		size_t last = sum;
		consume(c);
		if (!c->lost) /* or what counted is gone */
			sum = bytes_read(c->pg, ++calls) - before;
		c->may_read = !c->lost &&
			      (tls_holds_more(c->pg) || (sum > last && waits_in_socket(c->pg) > 0));
	}
	return sum;
}

static void read_socket(struct wp_copy *c)
{
	if (is_encrypted(c->pg)) {
		(void)read_records(c, GULP_MAX);
	} else {
		consume(c); /* takes all that has come */
		c->may_read = false;
	}
}

/* Empties the socket into libpq, and leaves it there. False: it has room for no more. */
static bool sip(struct wp_copy *c)
{
	size_t waiting = waits_in_socket(c->pg);

	if (waiting == 0)
		return true;
	if (c->sipped >= SIPPED_MAX)
		return false;
	if (is_encrypted(c->pg)) {
		c->sipped += read_records(c, waiting < SIPPED_MAX ? waiting : SIPPED_MAX);
	} else {
		c->sipped += waiting; /* or less: no more than the buffer has room for */
		read_socket(c);
	}
	return true;
}

/* A frame, WP_AGAIN, or WP_IO when there will be none any more. */
static enum wp_rc take_copy_data(struct wp_copy *c, char **ret_frame, int *ret_size)
{
	int size = PQgetCopyData(c->pg, ret_frame, 1);
	if (size == 0)
		return c->lost ? WP_IO : WP_AGAIN;
	if (size < 0)
		return WP_IO;
	*ret_size = size;
	return WP_OK;
}

/* The frame that was handed out stays: it is valid until next() or the end. */
static enum wp_rc throw_away(struct wp_copy *c)
{
	enum wp_rc rc;
	do {
		char *frame = NULL;
		int size;
		rc = take_copy_data(c, &frame, &size);
		PQfreemem(frame);
	} while (rc == WP_OK && !c->skipped);
	return rc;
}

/* What is left in libpq is of no use any more but for the server's last word. */
static void abandon_copy(struct wp_copy *c)
{
	c->lost = true;
	(void)throw_away(c); /* it ends where the frames do */
	if (c->skipped)
		fail_skipped(c);
	else
		collect_end(c);
}

/* ---- sending ---- */

static void flush_pending(struct wp_copy *c);

static void on_copy_writable(struct ev_loop *loop, ev_io *w, int events)
{
	(void)loop, (void)events; /* one watcher, always for writing */
	flush_pending(w->data);
}

/* 1: taken, 0: no room, -1: lost; as libpq's PQputCopyData(). */
static int put_next(struct wp_copy *c)
{
	int taken;
	if (c->has_pending) {
		taken = PQputCopyData(c->pg, (const char *)c->pending, WP_STATUS_SIZE);
		if (taken == 1)
			c->has_pending = false;
	} else {
		taken = PQputCopyEnd(c->pg, NULL);
		if (taken == 1)
			c->end_pending = false;
	}
	return taken;
}

/* When it cannot write libpq reads (pqSendSome): no socket tells of that. */
static void take_what_libpq_read(struct wp_copy *c)
{
	if (c->state == WP_COPY_RUNNING && c->reading == WP_READING_ON) {
		c->ripe = true;
		wake_consumer(c);
	}
}

/* Nothing new is given to libpq before it got rid of the last: that bounds its buffer. */
static void flush_pending(struct wp_copy *c)
{
	for (;;) {
		int rest = PQflush(c->pg);
		if (rest > 0)
			break;
		if (rest == 0 && !c->has_pending && !c->end_pending) {
			ev_io_stop(c->loop, &c->writable);
			return;
		}
		int taken = rest < 0 ? -1 : put_next(c);
		if (taken < 0) {
			abandon_copy(c);
			return;
		}
		if (taken == 0)
			break;
	}
	take_what_libpq_read(c);
	ev_io_start(c->loop, &c->writable);
}

enum wp_rc wp_copy_status(struct wp_copy *c, const struct wp_status *status)
{
	assert(c->state == WP_COPY_RUNNING);
	if (c->ended) /* the server takes no more; next() will tell how it ended */
		return WP_OK;
	wp_status_write(status, c->pending);
	c->has_pending = true;
	flush_pending(c);
	if (c->reading == WP_READING_OFF && !is_copy_over(c) &&
	    wp_socket_tuning_is_stuck(PQsocket(c->pg))) {
		(void)sip(c);
		if (c->lost)
			abandon_copy(c);
	}
	/* libpq looks for notices while it writes. */
	if (c->skipped && !is_copy_over(c))
		fail_skipped(c);
	return c->state == WP_COPY_RUNNING ? WP_OK : WP_IO;
}

void wp_copy_finish(struct wp_copy *c)
{
	assert(c->state == WP_COPY_RUNNING);
	c->state = WP_COPY_FINISHING;
	ev_io_stop(c->loop, &c->pause);
	c->rests = false;
	c->may_read = false;
	if (c->lost) {
		abandon_copy(c);
		return;
	}
	watch_socket(c);
	if (c->ended) {
		collect_end(c);
		return;
	}
	c->end_pending = true;
	flush_pending(c);
}

/* ---- batching of receives ---- */

static void ripen(struct wp_copy *c, int64_t now_us)
{
	ev_io_stop(c->loop, &c->pause);
	c->rests = false;
	c->ripe = true;
	c->ripened_us = now_us;
	c->may_read = true; /* the last of what has come */
	wake_consumer(c);
}

/* The next look at it: when it is ripe, or at the socket before. */
static void pause_until_ripe(struct wp_copy *c, int64_t now_us)
{
	int64_t wait_us = c->ripe_at_us - now_us;

	if (c->tuning == WP_SOCKET_LOCAL && wait_us > SIP_EVERY_US)
		wait_us = SIP_EVERY_US;
	struct itimerspec until = { .it_value = { .tv_nsec = wait_us * 1000 } };
	c->rests = wait_us > 0 && timerfd_settime(c->pause.fd, 0, &until, NULL) == 0;
	if (c->rests)
		ev_io_start(c->loop, &c->pause);
	else
		ripen(c, now_us);
}

static void on_pause(struct ev_loop *loop, ev_io *w, int events)
{
	struct wp_copy *c = w->data;
	uint64_t expirations;

	(void)loop, (void)events; /* one watcher, always for reading */
	if (read(w->fd, &expirations, sizeof(expirations)) <= 0 || c->state != WP_COPY_RUNNING)
		return;
	int64_t now_us = wp_clock_us();
	if (now_us < c->ripe_at_us && (!sip(c) || c->lost))
		c->ripe_at_us = now_us;
	pause_until_ripe(c, now_us);
}

static void all_taken(struct wp_copy *c)
{
	wp_receive_batching_took(&c->batching, c->taken, c->taken_bytes, wp_clock_us());
	c->taken = 0;
	c->taken_bytes = 0;
	c->sipped = 0;
	c->ripe = false;
}

/*
 * All was taken: what comes now gathers until it is ripe, and the socket is looked at then, not
 * before: to be woken by the first of it would cost as much as to be woken for all.
 */
static void wait_for_batch(struct wp_copy *c)
{
	int64_t now_us = wp_clock_us();

	c->ripe_at_us = c->ripened_us + wp_receive_batching_pause_us(&c->batching, now_us);
	if (c->ripe_at_us - now_us >= WP_PACE_PAUSE_MIN_US)
		pause_until_ripe(c, now_us);
}

static void one_taken(struct wp_copy *c, size_t size)
{
	size_t bytes = size + HEADER_SIZE;

	c->taken++;
	c->taken_bytes += bytes;
	c->sipped -= bytes < c->sipped ? bytes : c->sipped;
}

/* ---- receiving ---- */

enum wp_rc wp_copy_next(struct wp_copy *c, struct wp_span *ret)
{
	assert(c->state == WP_COPY_RUNNING);
	enum wp_rc rc = WP_AGAIN;
	int size = 0;
	if (!c->ripe && !c->ended && !c->skipped)
		return WP_AGAIN;
	PQfreemem(c->frame);
	c->frame = NULL;
	if (!c->ended && !c->skipped)
		rc = take_copy_data(c, &c->frame, &size);
	for (int gulps = 0; rc == WP_AGAIN && c->may_read && !c->ended && !c->skipped; gulps++) {
		if (gulps == GULPS_MAX) { /* of a huge row that comes faster than we read */
			wake_consumer(c);
			return WP_AGAIN;
		}
		c->sipped = 0; /* all of it was taken */
		read_socket(c);
		rc = take_copy_data(c, &c->frame, &size);
	}
	if (c->skipped) {
		fail_skipped(c);
		return WP_IO;
	}
	if (c->ended || rc == WP_IO) {
		collect_end(c);
		return is_copy_over(c) ? WP_IO : WP_AGAIN;
	}
	if (rc == WP_OK) {
		one_taken(c, (size_t)size);
		*ret = (struct wp_span){ (const uint8_t *)c->frame, (size_t)size };
	} else {
		bool came = c->taken > 0;
		all_taken(c);
		if (came && c->reading == WP_READING_ON)
			wait_for_batch(c);
		watch_socket(c);
	}
	return rc;
}

/* The answer to START_REPLICATION. */
static void collect_start(struct wp_copy *c)
{
	if (!c->lost && PQisBusy(c->pg))
		return;
	PGresult *result = PQgetResult(c->pg);
	if (PQresultStatus(result) == PGRES_COPY_BOTH) {
		c->ripe = true; /* the first may have come along */
		wp_receive_batching_init(&c->batching, wp_clock_us());
		c->tuning = wp_socket_tuning_fit(PQsocket(c->pg));
		end_copy(c, WP_COPY_RUNNING);
	} else if (result)
		fail_by_server(c, result);
	else
		fail_lost(c);
	PQclear(result);
	watch_socket(c);
}

/* After CopyDone frames are read to their end: only then has the server read all of ours. */
static void discard(struct wp_copy *c)
{
	enum wp_rc rc = c->ended ? WP_IO : throw_away(c);
	if (c->skipped && !is_copy_over(c))
		fail_skipped(c);
	else if (rc == WP_IO)
		collect_end(c);
}

/*
 * A walsender that fails ends the copy, not the connection: no write fails, and whoever does not
 * read never learns of it. The server sends why before it lets go of the slot, so it has come.
 */
static void hear_last_word(struct wp_copy *c)
{
	bool more = true;

	for (int gulps = 0; more && gulps < GULPS_MAX; gulps++) {
		read_socket(c);
		discard(c);
		more = !is_copy_over(c) && !c->lost && (c->may_read || waits_in_socket(c->pg) > 0);
	}
	if (!is_copy_over(c) && c->lost)
		abandon_copy(c);
	if (!is_copy_over(c))
		fail_unheard(c);
}

void wp_copy_reading(struct wp_copy *c, enum wp_reading reading)
{
	assert(c->state == WP_COPY_RUNNING);
	c->reading = reading;
	ev_io_stop(c->loop, &c->pause);
	c->rests = false;
	if (reading == WP_READING_LAST_WORD) {
		hear_last_word(c);
		return;
	}
	watch_socket(c);
	/* Frames may wait in libpq, which no socket tells. */
	if (reading == WP_READING_ON) {
		c->ripe = true;
		wake_consumer(c);
	}
}

static void on_copy_readable(struct ev_loop *loop, ev_io *w, int events)
{
	(void)loop, (void)events; /* one watcher, always for reading */
	struct wp_copy *c = w->data;
	c->may_read = true;
	switch (c->state) {
	case WP_COPY_STARTING:
		while (c->may_read && c->state == WP_COPY_STARTING) {
			read_socket(c);
			collect_start(c);
		}
		return;
	case WP_COPY_FINISHING:
		while (c->may_read && !is_copy_over(c)) {
			read_socket(c);
			discard(c);
		}
		return;
	default:
		ripen(c, wp_clock_us());
		watch_socket(c);
	}
}

/* ---- the beginning ---- */

/* The replication grammar knows '' and "" and no backslashes (repl_scanner.l). */
static enum wp_rc append_replication_quoted(struct wp_buffer *b, char quote, const char *text)
{
	enum wp_rc rc = wp_buffer_append_byte(b, (uint8_t)quote);
	for (; *text && rc == WP_OK; text++) {
		rc = wp_buffer_append_byte(b, (uint8_t)*text);
		if (rc == WP_OK && *text == quote)
			rc = wp_buffer_append_byte(b, (uint8_t)quote);
	}
	return rc == WP_OK ? wp_buffer_append_byte(b, (uint8_t)quote) : rc;
}

/* The publications are a list of identifiers in a literal: quoted twice. */
static enum wp_rc write_start(struct wp_buffer *b, const struct wp_copy_setup *setup)
{
	char at[WP_LSN_TEXT_SIZE];
	struct wp_buffer name;
	wp_buffer_init(&name, SQL_SIZE_MAX);
	enum wp_rc rc = append_replication_quoted(&name, '"', setup->publication);
	if (rc == WP_OK && setup->reissue)
		rc = wp_buffer_append_text(&name, ",\"" WP_REISSUE_PUBLICATION "\"");
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&name, 0);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(b, "START_REPLICATION SLOT ");
	if (rc == WP_OK)
		rc = append_replication_quoted(b, '"', setup->slot);
	if (rc == WP_OK)
		rc = wp_buffer_printf(b, " LOGICAL %s (proto_version '1', publication_names ",
				      wp_lsn_text(setup->at, at));
	if (rc == WP_OK)
		rc = append_replication_quoted(b, '\'', (const char *)name.data);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(b, setup->transfer == WP_TRANSFER_BINARY
						      ? ", messages 'true', binary 'true')"
						      : ", messages 'true')");
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(b, 0);
	wp_buffer_release(&name);
	return rc;
}

static enum wp_rc send_start(struct wp_copy *c, struct wp_error *error)
{
	struct wp_buffer sql;
	wp_buffer_init(&sql, SQL_SIZE_MAX);
	enum wp_rc rc = write_start(&sql, &c->setup);
	if (rc != WP_OK)
		(void)wp_error_set(error, rc, "START_REPLICATION would be too long");
	else if (!PQsendQuery(c->pg, (const char *)sql.data))
		rc = wp_error_set(error, WP_IO, "cannot send START_REPLICATION: %s",
				  PQerrorMessage(c->pg));
	wp_buffer_release(&sql);
	return rc;
}

enum wp_rc wp_copy_new(struct ev_loop *loop, PGconn *pg, const struct wp_copy_setup *setup,
		       struct wp_copy **ret, struct wp_error *error)
{
	struct wp_copy *c = calloc(1, sizeof(*c));
	if (!c)
		return wp_error_set(error, WP_NOMEM, "out of memory for a stream");
	*c = (struct wp_copy){ .loop = loop, .pg = pg, .setup = *setup, .reading = WP_READING_ON };
	enum wp_rc rc = WP_OK;
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer < 0)
		rc = wp_error_set(error, WP_NOMEM, "no timerfd for a stream: %s", strerror(errno));
	if (rc == WP_OK)
		rc = send_start(c, error);
	if (rc != WP_OK) {
		if (timer >= 0)
			(void)close(timer);
		free(c);
		return rc;
	}
	(void)PQsetNoticeReceiver(pg, on_copy_notice, c);
	ev_io_init(&c->readable, on_copy_readable, PQsocket(pg), EV_READ);
	ev_io_init(&c->writable, on_copy_writable, PQsocket(pg), EV_WRITE);
	ev_io_init(&c->pause, on_pause, timer, EV_READ);
	c->readable.data = c->writable.data = c->pause.data = c;
	watch_socket(c);
	ev_io_start(loop, &c->writable); /* for what PQsendQuery() has left */
	*ret = c;
	return WP_OK;
}

void wp_copy_free(struct wp_copy *c)
{
	if (!c)
		return;
	stop_watchers(c);
	wp_connection_log_notices(c->pg);
	PQfreemem(c->frame);
	(void)close(c->pause.fd);
	free(c);
}

enum wp_copy_state wp_copy_state(const struct wp_copy *c)
{
	return c->state;
}

const struct wp_source_failure *wp_copy_failure(const struct wp_copy *c)
{
	return &c->failure;
}

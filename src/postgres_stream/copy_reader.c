/*
 * Takes what the server sends: when the socket is read, how much, and what gathers before it is
 * taken.
 */
#include "copy_parts.h"

#include <assert.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "walpost/base/clock.h"

/* So much may gather in libpq before it is taken: half of what its buffer was made to hold. */
#define SIPPED_MAX (512 * 1024)
/* A Unix socket is emptied so often: about when the walsender has filled it. */
#define SIP_EVERY_US 400
/* So much of records is read before what they hold is taken. */
#define GULP_MAX (256 * 1024)
/* So many of them are read of one message before others have their turn. */
#define GULPS_MAX 64
/* A record of GSSAPI is no larger. */
#define RECORD_MAX (17 * 1024)
/* Type and length stand before the bytes of a message. */
#define HEADER_SIZE 5

/* ---- the socket ---- */

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
	/* Nobody is told what GSSAPI keeps; the second call finds room for all of it. */
	if (ok && PQgssEncInUse(c->pg))
		ok = PQconsumeInput(c->pg);
	if (!ok)
		wp_copy_closed(c);
}

/* What OpenSSL keeps of a record makes no socket readable. */
static bool tls_holds_more(PGconn *pg)
{
	const SSL *ssl = PQsslStruct(pg, "OpenSSL");
	return ssl && SSL_pending(ssl) > 0;
}

/* With TLS, counts what was read from the socket, else (GSSAPI) what `calls` can have read at
 * most. */
static size_t bytes_read(PGconn *pg, size_t calls)
{
	const SSL *ssl = PQsslStruct(pg, "OpenSSL");

	return ssl ? (size_t)BIO_number_read(SSL_get_rbio(ssl)) : calls * 2 * RECORD_MAX;
}

/*
 * When encrypted, each message of a walsender is a record, and libpq reads one at a time. All that
 * have come are read before the first is taken, or the two sides would go on record by record; but
 * not more than `max` bytes and a record. Returns true when there may be more.
 */
static bool read_records(struct wp_copy *c, size_t max, size_t *ret_size)
{
	size_t before = bytes_read(c->pg, 0), sum = 0, calls = 0;
	bool more = true;

	while (more && sum < max) {
		size_t last = sum;
		consume(c);
		if (!wp_copy_is_closed(c)) /* or what counted is gone */
			sum = bytes_read(c->pg, ++calls) - before;
		more = !wp_copy_is_closed(c) &&
		       (tls_holds_more(c->pg) || (sum > last && waits_in_socket(c->pg) > 0));
	}
	*ret_size = sum;
	return more;
}

/* Returns true when there may be more. */
bool wp_copy_read_socket(struct wp_copy *c)
{
	size_t size;

	if (is_encrypted(c->pg))
		return read_records(c, GULP_MAX, &size);
	consume(c); /* takes all that has come */
	return false;
}

/* Empties the socket into libpq, and leaves the bytes there. Returns false when it has room for
 * no more. */
static bool sip(struct wp_copy *c)
{
	size_t size = waits_in_socket(c->pg);

	if (size == 0)
		return true;
	if (c->sipped >= SIPPED_MAX)
		return false;
	if (is_encrypted(c->pg))
		(void)read_records(c, size < SIPPED_MAX ? size : SIPPED_MAX, &size);
	else
		consume(c); /* or less: no more than the buffer has room for */
	c->sipped += size;
	return true;
}

void wp_copy_relieve(struct wp_copy *c)
{
	if (c->reading != WP_READING_OFF || !wp_socket_tuning_is_stuck(PQsocket(c->pg)))
		return;
	(void)sip(c);
	if (wp_copy_is_closed(c))
		wp_copy_abandon(c);
}

/* ---- batching of receives ---- */

void wp_copy_ripen(struct wp_copy *c, int64_t now_us)
{
	ev_io_stop(c->loop, &c->pause);
	if (c->input < WP_INPUT_CLOSED)
		c->input = WP_INPUT_SOCKET; /* the last of what has come */
	c->ripened_us = now_us;
	wp_copy_wake(c);
}

/* Looks at it next when it is ripe, or at the socket before. */
static void pause_until_ripe(struct wp_copy *c, int64_t now_us)
{
	int64_t wait_us = c->ripe_at_us - now_us;

	if (c->tuning == WP_SOCKET_LOCAL && wait_us > SIP_EVERY_US)
		wait_us = SIP_EVERY_US;
	struct itimerspec until = { .it_value = { .tv_nsec = wait_us * 1000 } };
	if (wait_us > 0 && timerfd_settime(c->pause.fd, 0, &until, NULL) == 0) {
		c->input = WP_INPUT_RESTS;
		ev_io_start(c->loop, &c->pause);
	} else {
		wp_copy_ripen(c, now_us);
	}
}

static void on_pause(struct ev_loop *loop, ev_io *w, int events)
{
	struct wp_copy *c = w->data;
	uint64_t expirations;

	(void)loop, (void)events; /* one watcher, always for reading */
	if (read(w->fd, &expirations, sizeof(expirations)) <= 0 || c->state != WP_COPY_RUNNING)
		return;
	int64_t now_us = wp_clock_us();
	if (now_us < c->ripe_at_us && (!sip(c) || wp_copy_is_closed(c)))
		c->ripe_at_us = now_us;
	pause_until_ripe(c, now_us);
}

/*
 * All was taken: what comes now gathers until it is ripe, and the socket is looked at then, not
 * before: being woken by the first of it would cost as much as being woken for all.
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

/* Takes what libpq holds, then what the socket has. WP_AGAIN means that all was taken, or that
 * others have their turn first. */
static enum wp_rc take_frame_data(struct wp_copy *c, int *ret_size)
{
	enum wp_rc rc = wp_copy_take_data(c, &c->frame, ret_size);

	for (int gulps = 0;
	     rc == WP_AGAIN && c->input == WP_INPUT_SOCKET && c->skipped == WP_SKIPPED_NOTHING;
	     gulps++) {
		if (gulps == GULPS_MAX) { /* of a huge row that comes faster than we read */
			wp_copy_wake(c);
			return WP_AGAIN;
		}
		c->sipped = 0; /* all of it was taken */
		bool more = wp_copy_read_socket(c);
		if (!more && !wp_copy_is_closed(c))
			c->input = WP_INPUT_LIBPQ;
		rc = wp_copy_take_data(c, &c->frame, ret_size);
	}
	return rc;
}

static void rest_or_watch(struct wp_copy *c)
{
	bool came = c->taken > 0;

	wp_receive_batching_took(&c->batching, c->taken, c->taken_bytes, wp_clock_us());
	c->taken = 0;
	c->taken_bytes = 0;
	c->sipped = 0;
	c->input = WP_INPUT_WATCHED;
	if (came && c->reading == WP_READING_ON)
		wait_for_batch(c);
	wp_copy_watch(c);
}

enum wp_rc wp_copy_next(struct wp_copy *c, struct wp_span *ret)
{
	int size = 0;
	enum wp_rc rc = WP_IO;

	assert(c->state == WP_COPY_RUNNING);
	if ((c->input == WP_INPUT_WATCHED || c->input == WP_INPUT_RESTS) &&
	    c->skipped == WP_SKIPPED_NOTHING)
		return WP_AGAIN;
	PQfreemem(c->frame);
	c->frame = NULL;
	if (c->input == WP_INPUT_ENDED)
		consume(c); /* the result, it may be */
	if (wp_copy_has_frames(c) && c->skipped == WP_SKIPPED_NOTHING)
		rc = take_frame_data(c, &size);
	if (c->skipped != WP_SKIPPED_NOTHING) {
		wp_copy_fail_skipped(c);
		return WP_IO;
	}
	if (rc == WP_IO) {
		wp_copy_collect_end(c);
		return wp_copy_is_over(c) ? WP_IO : WP_AGAIN;
	}
	if (rc == WP_OK) {
		one_taken(c, (size_t)size);
		*ret = (struct wp_span){ (const uint8_t *)c->frame, (size_t)size };
	} else if (c->input != WP_INPUT_SOCKET) {
		rest_or_watch(c);
	}
	return rc;
}

void wp_copy_discard(struct wp_copy *c)
{
	enum wp_rc rc = wp_copy_throw_away(c);

	if (c->skipped != WP_SKIPPED_NOTHING && !wp_copy_is_over(c))
		wp_copy_fail_skipped(c);
	else if (rc == WP_IO)
		wp_copy_collect_end(c);
}

/*
 * A walsender that fails ends the copy, not the connection: no write fails, and whoever does not
 * read never learns of it. The server sends why before it lets go of the slot, so it has come.
 */
static void hear_last_word(struct wp_copy *c)
{
	bool more = true;

	for (int gulps = 0; more && gulps < GULPS_MAX; gulps++) {
		more = wp_copy_read_socket(c);
		wp_copy_discard(c);
		more = !wp_copy_is_over(c) && !wp_copy_is_closed(c) &&
		       (more || waits_in_socket(c->pg) > 0);
	}
	if (!wp_copy_is_over(c) && wp_copy_is_closed(c))
		wp_copy_abandon(c);
	if (!wp_copy_is_over(c))
		wp_copy_fail_unheard(c);
}

/* Nothing gathers any more, whoever waited for that. */
static void end_pause(struct wp_copy *c)
{
	ev_io_stop(c->loop, &c->pause);
	if (c->input == WP_INPUT_RESTS)
		c->input = WP_INPUT_WATCHED;
}

void wp_copy_reading(struct wp_copy *c, enum wp_reading reading)
{
	assert(c->state == WP_COPY_RUNNING);
	c->reading = reading;
	end_pause(c);
	if (reading == WP_READING_LAST_WORD) {
		hear_last_word(c);
		return;
	}
	/* Frames may wait in libpq, or within a record, which no socket tells. */
	if (reading == WP_READING_ON && c->input < WP_INPUT_CLOSED)
		c->input = WP_INPUT_SOCKET;
	wp_copy_watch(c);
	if (reading == WP_READING_ON)
		wp_copy_wake(c);
}

void wp_copy_take_what_libpq_read(struct wp_copy *c)
{
	if (c->state != WP_COPY_RUNNING || c->reading != WP_READING_ON ||
	    c->input == WP_INPUT_RESTS)
		return;
	if (c->input == WP_INPUT_WATCHED)
		c->input = WP_INPUT_LIBPQ;
	wp_copy_wake(c);
}

/* ---- beginning and end ---- */

void wp_copy_reader_init(struct wp_copy *c, int timer)
{
	c->reading = WP_READING_ON;
	ev_io_init(&c->pause, on_pause, timer, EV_READ);
	c->pause.data = c;
}

void wp_copy_reader_begin(struct wp_copy *c)
{
	if (c->input < WP_INPUT_CLOSED) /* it may have been closed behind the answer */
		c->input = WP_INPUT_SOCKET;
	wp_receive_batching_init(&c->batching, wp_clock_us());
	c->tuning = wp_socket_tuning_fit(PQsocket(c->pg));
}

void wp_copy_reader_finish(struct wp_copy *c)
{
	end_pause(c);
	if (c->input < WP_INPUT_CLOSED)
		c->input = WP_INPUT_WATCHED;
}

void wp_copy_reader_release(struct wp_copy *c)
{
	PQfreemem(c->frame);
	(void)close(c->pause.fd);
}

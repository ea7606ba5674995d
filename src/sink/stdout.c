#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "walpost/sink/json.h"
#include "walpost/sink/stdout.h"

#define PENDING_MAX ((size_t)1 << 20)
#define LINE_MAX ((size_t)1 << 31) /* a guard only: the relay bounds its rows */
#define STUCK_MS 2000
#define PIPE_ATOMIC 4096

enum kind {
	KIND_FILE,   /* never says EAGAIN; its descriptor is always ready */
	KIND_OURS,   /* a pipe or terminal, reopened non-blocking */
	KIND_SOCKET, /* asked each time not to block */
	KIND_POLL,   /* could not be reopened: asked for room before each write */
};

/* A line's bytes lie here, counted since the beginning. */
struct line {
	wp_ticket ticket;
	uint64_t start;
	uint64_t end;
};

struct lines {
	struct line *ring; /* owned */
	size_t capacity;   /* 0 or a power of two */
	size_t first;
	size_t count;
};

struct output {
	struct wp_sink sink;
	int fd;
	bool is_ours; /* fd is to be closed */
	enum kind kind;
	struct wp_buffer pending; /* whole lines; the first may be begun */
	size_t head;		  /* bytes of it that are written */
	uint64_t written;	  /* bytes since the beginning, pending.data[head] is the next */
	uint64_t begun_end;	  /* of a begun line that a restart forgot */
	struct lines sent;	  /* not reported yet, in order */
	struct lines purged;
	int64_t now_ms;
	int64_t stuck_since_ms; /* nothing was taken since; -1: it flows */
	struct wp_sink_view view;
};

static struct output *output_of(struct wp_sink *s)
{
	return (struct output *)s;
}

/* ---- lines: a growing ring ---- */

static bool grow_lines(struct lines *l)
{
	size_t capacity = l->capacity == 0 ? 256 : l->capacity * 2;
	struct line *ring = calloc(capacity, sizeof(*ring));

	if (ring == NULL)
		return false;
	for (size_t i = 0; i < l->count; i++)
		ring[i] = l->ring[(l->first + i) & (l->capacity - 1)];
	free(l->ring);
	*l = (struct lines){ .ring = ring, .capacity = capacity, .count = l->count };
	return true;
}

static bool reserve_line(struct lines *l)
{
	return l->count < l->capacity || grow_lines(l);
}

static struct line *ring_line(const struct lines *l, size_t index)
{
	assert(index < l->count);
	return &l->ring[(l->first + index) & (l->capacity - 1)];
}

static void push_line(struct lines *l, struct line line)
{
	assert(l->count < l->capacity);
	l->count++;
	*ring_line(l, l->count - 1) = line;
}

static struct line pop_line(struct lines *l)
{
	struct line line = *ring_line(l, 0);

	l->first = (l->first + 1) & (l->capacity - 1);
	l->count--;
	return line;
}

/* ---- writing ---- */

static size_t unwritten(const struct output *o)
{
	return o->pending.size - o->head;
}

static ssize_t write_to_output(const struct output *o, const uint8_t *data, size_t size)
{
	struct pollfd room = { .fd = o->fd, .events = POLLOUT };

	switch (o->kind) {
	case KIND_FILE:
	case KIND_OURS:
		return write(o->fd, data, size);
	case KIND_SOCKET:
		return send(o->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	case KIND_POLL:
		if (poll(&room, 1, 0) > 0)
			return write(o->fd, data, size < PIPE_ATOMIC ? size : PIPE_ATOMIC);
		break;
	}
	errno = EAGAIN;
	return -1;
}

static void fail_output(struct output *o, int errnum)
{
	o->view.state = WP_SINK_FAILED;
	o->view.reaction = WP_REACT_STOP_HUMAN;
	o->view.reachable = false;
	(void)wp_error_set(&o->view.error, WP_IO,
			   errnum == EPIPE
				   ? "standard output was closed by its reader (%s); unwritten "
				     "events stay in Postgres; start walpost again with a reader"
				   : "cannot write to standard output (%s); unwritten events stay "
				     "in Postgres; fix the cause and start walpost again",
			   strerror(errnum));
}

static void note_flow(struct output *o, bool flows)
{
	if (flows)
		o->stuck_since_ms = -1;
	else if (o->stuck_since_ms < 0)
		o->stuck_since_ms = o->now_ms;
	bool stuck = o->stuck_since_ms >= 0 && o->now_ms - o->stuck_since_ms >= STUCK_MS;
	if (stuck)
		(void)wp_error_set(
			&o->view.error, WP_AGAIN,
			"standard output is full because its reader does not read; events wait");
	else
		o->view.error.text[0] = '\0';
	o->view.reachable = !stuck;
}

/* What is written leaves the buffer; the rest is moved only when it has become half of it. */
static void compact(struct output *o)
{
	if (unwritten(o) == 0) {
		o->pending.size = o->head = 0;
		/* One huge line does not keep its room for ever. */
		if (o->pending.capacity > 2 * PENDING_MAX) {
			wp_buffer_release(&o->pending);
			wp_buffer_init(&o->pending, LINE_MAX);
		}
	} else if (o->head > o->pending.size / 2) {
		memmove(o->pending.data, o->pending.data + o->head, unwritten(o));
		o->pending.size -= o->head;
		o->head = 0;
	}
}

/* This ends, for at most PENDING_MAX and a line can wait. */
static void write_pending(struct output *o)
{
	bool flows = unwritten(o) == 0;

	while (unwritten(o) > 0) {
		ssize_t size = write_to_output(o, o->pending.data + o->head, unwritten(o));
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
			fail_output(o, errno);
			return;
		}
		if (size <= 0)
			break;
		flows = true;
		o->head += (size_t)size;
		o->written += (uint64_t)size;
	}
	compact(o);
	note_flow(o, flows);
}

/* ---- the sink ---- */

/* Only what is surely longer is refused here; the line itself decides after. */
static bool has_room_for(const struct output *o, size_t size)
{
	return unwritten(o) == 0 || unwritten(o) + size <= PENDING_MAX;
}

static enum wp_rc stdout_send(struct wp_sink *s, wp_ticket ticket, const struct wp_record *record,
			      struct wp_error *error)
{
	struct output *o = output_of(s);
	size_t before = o->pending.size;

	if (o->view.state != WP_SINK_READY)
		return wp_error_set(error, WP_IO, "%s", o->view.error.text);
	if (!has_room_for(o, wp_record_size(record)))
		return WP_AGAIN;
	if (!reserve_line(&o->sent))
		return wp_error_set(error, WP_NOMEM, "out of memory for a line of standard output");
	enum wp_rc rc = wp_json_record(&o->pending, record);
	if (rc == WP_OK && !has_room_for(o, 0) && before > o->head)
		rc = WP_AGAIN;
	if (rc != WP_OK)
		o->pending.size = before;
	if (rc == WP_FULL)
		return wp_error_set(
			error, WP_DATA,
			"a line of more than %zu bytes cannot be written to standard output",
			LINE_MAX);
	if (rc == WP_NOMEM)
		return wp_error_set(error, WP_NOMEM, "out of memory for a line of standard output");
	if (rc != WP_OK)
		return rc;
	uint64_t end = o->written + unwritten(o);
	push_line(&o->sent, (struct line){ ticket, end - (o->pending.size - before), end });
	o->view.in_flight++;
	return WP_OK;
}

static bool is_line_written(const struct output *o)
{
	return o->sent.count > 0 && ring_line(&o->sent, 0)->end <= o->written;
}

static size_t stdout_collect(struct wp_sink *s, int64_t now_ms, struct wp_report *reports,
			     size_t max)
{
	struct output *o = output_of(s);
	size_t count = 0;

	o->now_ms = now_ms;
	if (o->view.state == WP_SINK_READY)
		write_pending(o);
	for (; count < max && is_line_written(o); count++)
		reports[count] = (struct wp_report){ .ticket = pop_line(&o->sent).ticket,
						     .outcome = WP_CONFIRMED };
	for (; count < max && o->purged.count > 0; count++)
		reports[count] = (struct wp_report){ .ticket = pop_line(&o->purged).ticket,
						     .outcome = WP_PURGED };
	o->view.in_flight -= count;
	return count;
}

/* Half a line in the output would spoil the next: what is begun is written to its end. */
static size_t keep_begun(struct output *o)
{
	size_t count = 0;

	while (count < o->sent.count && ring_line(&o->sent, count)->start < o->written)
		o->begun_end = ring_line(&o->sent, count++)->end;
	size_t kept = o->begun_end > o->written ? (size_t)(o->begun_end - o->written) : 0;
	o->pending.size = o->head + kept;
	return count;
}

static void stdout_purge(struct wp_sink *s)
{
	struct output *o = output_of(s);
	size_t begun = keep_begun(o);

	for (size_t i = begun; i < o->sent.count; i++) {
		/* Without memory the rest stays unreported until the restart that follows. */
		if (!reserve_line(&o->purged))
			break;
		push_line(&o->purged, *ring_line(&o->sent, i));
	}
	o->sent.count = begun;
}

static void stdout_restart(struct wp_sink *s, enum wp_batching batching)
{
	struct output *o = output_of(s);

	(void)batching; /* a line is its own batch */
	(void)keep_begun(o);
	o->sent.count = 0;
	o->purged.count = 0;
	o->view.in_flight = 0;
}

static void stdout_topics(struct wp_sink *s, struct wp_topic_list *into)
{
	(void)s; /* there is none to be read again */
}

static void stdout_ask_topic_ends(struct wp_sink *s, const struct wp_topic_ends_question *question)
{
	struct wp_topic_ends *ends = &output_of(s)->view.topic_ends;

	ends->state = WP_TOPIC_ENDS_UNKNOWN;
	(void)wp_error_set(&ends->error, WP_OK,
			   "events written to standard output cannot be read back");
}

static const struct wp_sink_view *stdout_view(struct wp_sink *s)
{
	return &output_of(s)->view;
}

static int stdout_fd(struct wp_sink *s, short *ret_events)
{
	const struct output *o = output_of(s);
	bool wanted = unwritten(o) > 0 && o->view.state == WP_SINK_READY && o->kind != KIND_FILE;

	*ret_events = wanted ? POLLOUT : 0;
	return o->fd;
}

static int64_t stdout_due(struct wp_sink *s)
{
	const struct output *o = output_of(s);

	if (is_line_written(o) || o->purged.count > 0)
		return o->now_ms;
	if (o->view.state != WP_SINK_READY || unwritten(o) == 0)
		return INT64_MAX;
	if (o->kind == KIND_FILE)
		return o->now_ms;
	if (o->stuck_since_ms >= 0 && o->view.reachable)
		return o->stuck_since_ms + STUCK_MS;
	return INT64_MAX;
}

static void stdout_free(struct wp_sink *s, int64_t wait_ms)
{
	struct output *o = output_of(s);

	(void)wait_ms; /* what is not written was not confirmed */
	if (o == NULL)
		return;
	if (o->is_ours)
		(void)close(o->fd);
	wp_buffer_release(&o->pending);
	free(o->sent.ring);
	free(o->purged.ring);
	free(o);
}

static const struct wp_sink_ops ops = {
	.send = stdout_send,
	.collect = stdout_collect,
	.purge = stdout_purge,
	.restart = stdout_restart,
	.topics = stdout_topics,
	.ask_topic_ends = stdout_ask_topic_ends,
	.view = stdout_view,
	.fd = stdout_fd,
	.due = stdout_due,
	.free = stdout_free,
};

/*
 * A pipe or terminal gets an open file of our own: O_NONBLOCK set on the
 * inherited one would change it for every process that shares it.
 */
static void reopen_output(struct output *o, int fd)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int ours = open(path, O_WRONLY | O_NONBLOCK | O_APPEND | O_CLOEXEC | O_NOCTTY);
	o->is_ours = ours >= 0;
	o->kind = o->is_ours ? KIND_OURS : KIND_POLL;
	o->fd = o->is_ours ? ours : fd;
}

enum wp_rc wp_stdout_new(int fd, struct wp_sink **ret, struct wp_error *error)
{
	struct stat status;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &status) < 0)
		return wp_error_set(error, WP_CONFIG,
				    "standard output is not open for writing; open it, or set "
				    "relay.sink to another sink");
	struct output *o = calloc(1, sizeof(*o));
	if (o == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for standard output");
	o->sink.ops = &ops;
	o->fd = fd;
	o->stuck_since_ms = -1;
	o->view = (struct wp_sink_view){ .state = WP_SINK_READY, .reachable = true };
	wp_buffer_init(&o->pending, LINE_MAX);
	if (S_ISREG(status.st_mode))
		o->kind = KIND_FILE;
	else if (S_ISSOCK(status.st_mode))
		o->kind = KIND_SOCKET;
	else
		reopen_output(o, fd);
	*ret = &o->sink;
	return WP_OK;
}

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "walpost/base/log.h"
#include "walpost/base/log_memory.h"

_Static_assert(WP_LOG_LINE_MAX <= PIPE_BUF, "a pipe could tear a line");

enum sink_kind {
	SINK_UNKNOWN, /* not looked at yet */
	SINK_NONE,    /* standard error is closed: its number may come to mean anything */
	SINK_WRITE,   /* a file, or what was reopened non-blocking */
	SINK_SOCKET,
	SINK_POLL, /* could not be reopened: asked for room before each write */
};

/* This is the one global of the program. */
static struct {
	pthread_mutex_t lock; /* guards the rest */
	struct wp_log_options options;
	enum sink_kind kind;
	int fd;
	bool owned;
	char rest[WP_LOG_LINE_MAX]; /* of a line that was taken in part */
	size_t rest_size;
	uint64_t dropped;
	uint64_t dropped_told;
	struct wp_log_memory memory;
} sink = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.options = { .level = WP_LOG_INFO, .format = WP_LOG_LOGFMT },
};

/*
 * Opens a file of our own for the same pipe or terminal: O_NONBLOCK set on the inherited one would
 * change it for every process that shares it.
 */
static void reopen(void)
{
	int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_APPEND | O_CLOEXEC | O_NOCTTY);

	/*
	 * There is no /proc, or the pipe is another user's (a service that changed its user).
	 * Asking for room first is almost as good: only when another writer takes that room in
	 * between does a write wait.
	 */
	sink.kind = fd < 0 ? SINK_POLL : SINK_WRITE;
	sink.fd = fd < 0 ? STDERR_FILENO : fd;
	sink.owned = fd >= 0;
}

static void open_sink(void)
{
	struct stat status;

	sink.fd = STDERR_FILENO;
	sink.owned = false;
	sink.rest_size = 0;
	if (fstat(STDERR_FILENO, &status) < 0)
		sink.kind = SINK_NONE;
	else if (S_ISSOCK(status.st_mode))
		sink.kind = SINK_SOCKET;
	else if (S_ISREG(status.st_mode))
		sink.kind = SINK_WRITE;
	else
		reopen();
}

/* Does as write() does, but a reader that is gone is an error and not the end of the process. */
static ssize_t write_without_sigpipe(const char *text, size_t size)
{
	static const struct timespec at_once = { 0 };
	sigset_t pipe_signal, before, pending;

	(void)sigemptyset(&pipe_signal);
	(void)sigaddset(&pipe_signal, SIGPIPE);
	(void)sigpending(&pending);
	(void)pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	ssize_t written = write(sink.fd, text, size);
	int error = errno;
	if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0)
		(void)sigtimedwait(&pipe_signal, NULL, &at_once); /* takes back what we caused */
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return written;
}

static ssize_t write_some(const char *text, size_t size)
{
	struct pollfd room = { .fd = sink.fd, .events = POLLOUT };

	switch (sink.kind) {
	case SINK_SOCKET:
		return send(sink.fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	case SINK_POLL:
		if (poll(&room, 1, 0) <= 0 || (room.revents & POLLOUT) == 0) {
			errno = EAGAIN;
			return -1;
		}
		return write_without_sigpipe(text, size);
	case SINK_WRITE:
		return write_without_sigpipe(text, size);
	case SINK_NONE:
	case SINK_UNKNOWN:
		break;
	}
	errno = EBADF;
	return -1;
}

/* Writes as much as is taken now. */
static size_t write_all(const char *text, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t written = write_some(text + done, size - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			break;
		done += (size_t)written;
	}
	return done;
}

/* Returns false when nothing of it was written. */
static bool write_line(const struct wp_log_line *line)
{
	/* A line that was begun is ended before another begins. */
	size_t done = write_all(sink.rest, sink.rest_size);
	sink.rest_size -= done;
	memmove(sink.rest, sink.rest + done, sink.rest_size);
	if (sink.rest_size > 0)
		return false;
	done = write_all(line->text, line->size);
	if (done == 0)
		return false;
	sink.rest_size = line->size - done;
	memcpy(sink.rest, line->text + done, sink.rest_size);
	return true;
}

static int64_t wall_clock_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* fails for unknown clocks only */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Tells that so many lines are missing before this place. */
static bool tell_dropped(struct wp_log_line *line)
{
	uint64_t missing = sink.dropped - sink.dropped_told;
	const struct wp_fact facts[] = { WP_INT("dropped", missing), { .kind = WP_FACT_END } };

	if (missing == 0)
		return true;
	wp_log_line_write(line, sink.options.format, wall_clock_ms(), WP_LOG_WARN, "log_dropped",
			  facts);
	if (!write_line(line))
		return false;
	sink.dropped_told = sink.dropped;
	return true;
}

void wp_log_setup(const struct wp_log_options *options)
{
	(void)pthread_mutex_lock(&sink.lock);
	if (sink.owned)
		(void)close(sink.fd); /* written, nothing is lost by it */
	sink.options = *options;
	open_sink();
	(void)pthread_mutex_unlock(&sink.lock);
}

void wp_log_facts(enum wp_log_level level, const char *event, const struct wp_fact *facts)
{
	struct wp_log_line line;

	(void)pthread_mutex_lock(&sink.lock);
	if (level >= WP_LOG_INFO)
		wp_log_memory_add(&sink.memory, wall_clock_ms(), level, event, facts);
	if (level >= sink.options.level) {
		if (sink.kind == SINK_UNKNOWN)
			open_sink();
		bool written = tell_dropped(&line);
		wp_log_line_write(&line, sink.options.format, wall_clock_ms(), level, event, facts);
		if (!written || !write_line(&line))
			sink.dropped++;
	}
	(void)pthread_mutex_unlock(&sink.lock);
}

void wp_log_facts_once(enum wp_log_level level, const char *event, const struct wp_fact *facts)
{
	(void)pthread_mutex_lock(&sink.lock);
	bool is_new = wp_log_memory_is_new(&sink.memory, level, event, facts);
	(void)pthread_mutex_unlock(&sink.lock);
	if (is_new)
		wp_log_facts(level, event, facts);
}

void wp_log_recall(struct wp_log_memory *ret)
{
	(void)pthread_mutex_lock(&sink.lock);
	*ret = sink.memory;
	(void)pthread_mutex_unlock(&sink.lock);
}

void wp_log_set_level(enum wp_log_level level)
{
	(void)pthread_mutex_lock(&sink.lock);
	sink.options.level = level;
	(void)pthread_mutex_unlock(&sink.lock);
}

enum wp_log_level wp_log_level(void)
{
	(void)pthread_mutex_lock(&sink.lock);
	enum wp_log_level level = sink.options.level;
	(void)pthread_mutex_unlock(&sink.lock);
	return level;
}

uint64_t wp_log_dropped(void)
{
	(void)pthread_mutex_lock(&sink.lock);
	uint64_t dropped = sink.dropped;
	(void)pthread_mutex_unlock(&sink.lock);
	return dropped;
}

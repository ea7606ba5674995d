#define _XOPEN_SOURCE 700

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "support/check.h"
#include "walpost/base/log.h"

/* What was read from the other end of standard error, NUL-terminated. */
static char text[1 << 22];
static int stderr_before = -1;
static bool reopening_fails;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	return reopening_fails ? -1 : __real_open(path, flags, 0600);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	return reopening_fails ? -1 : __real_open64(path, flags, 0600);
}

static int keep_stderr(void **state)
{
	stderr_before = dup(STDERR_FILENO);
	return stderr_before < 0;
}

static int restore_stderr(void **state)
{
	reopening_fails = false;
	return dup2(stderr_before, STDERR_FILENO) < 0 || close(stderr_before) < 0;
}

static void log_to(int fd, enum wp_log_level level)
{
	CHECK_EQ(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	wp_log_setup(&(struct wp_log_options){ .level = level, .format = WP_LOG_LOGFMT });
}

static int tear_down(void **state)
{
	CHECK_EQ(dup2(stderr_before, STDERR_FILENO), STDERR_FILENO);
	wp_log_setup(&(struct wp_log_options){ .level = WP_LOG_INFO, .format = WP_LOG_LOGFMT });
	return 0;
}

/* Gives the reading end. */
static int log_to_pipe(void)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	log_to(ends[1], WP_LOG_INFO);
	CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	return ends[0];
}

/* All that is there now, into `text`. */
static void read_all(int fd)
{
	size_t size = 0;

	for (;;) {
		ssize_t got = read(fd, text + size, sizeof(text) - 1 - size);
		if (got <= 0)
			break;
		size += (size_t)got;
	}
	text[size] = '\0';
}

static size_t count_of(const char *part)
{
	size_t count = 0;

	for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
		count++;
	return count;
}

/* Every line of `text` is whole; gives how many. */
static size_t whole_lines(void)
{
	size_t count = 0;

	for (char *line = text; *line != '\0'; count++) {
		char *end = strchr(line, '\n');
		assert_non_null(end);
		CHECK(strncmp(line, "time=", 5) == 0);
		*end = '\0';
		CHECK(strstr(line + 1, "time=") == NULL);
		CHECK(strstr(line, " end=1") == line + strlen(line) - 6 ||
		      strstr(line, "event=log_dropped") != NULL);
		*end = '\n';
		line = end + 1;
	}
	return count;
}

/* The sum of what is told to be missing. */
static unsigned long long told_dropped(void)
{
	static const char mark[] = "event=log_dropped dropped=";
	unsigned long long sum = 0;

	for (const char *at = strstr(text, mark); at != NULL; at = strstr(at + 1, mark))
		sum += strtoull(at + sizeof(mark) - 1, NULL, 10);
	return sum;
}

static void say(size_t size)
{
	char filler[4000];

	memset(filler, 'x', size);
	filler[size] = '\0';
	wp_log(WP_LOG_INFO, "said", WP_TEXT("filler", filler), WP_INT("end", 1));
}

/* Until lines are refused; gives how many were taken. */
static size_t say_until_full(size_t size)
{
	uint64_t dropped = wp_log_dropped();
	size_t count = 0;

	while (wp_log_dropped() == dropped) {
		say(size);
		count++;
	}
	return count - 1;
}

static void a_line_arrives(void **state)
{
	int fd = log_to_pipe();

	wp_log(WP_LOG_WARN, "stream_broken", WP_TEXT("reason", "no reply"),
	       WP_INT("retry_ms", 800));
	read_all(fd);
	CHECK_HAS(text, "Z level=warn event=stream_broken reason=\"no reply\" retry_ms=800\n");
	close(fd);
}

static void lines_below_the_level_are_left_out(void **state)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	log_to(ends[1], WP_LOG_WARN);
	CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	say(1);
	wp_log(WP_LOG_WARN, "seen", WP_INT("a", 1));
	wp_log(WP_LOG_ERROR, "seen_too", WP_INT("a", 1));
	read_all(ends[0]);
	CHECK_EQ(count_of("\n"), 2);
	CHECK_EQ(count_of("seen"), 2);
	close(ends[0]);
}

/* The full pipe would hang the test if a line waited for room. */
static void a_full_pipe_drops_lines_and_the_next_tells_how_many(void **state)
{
	int fd = log_to_pipe();
	uint64_t before = wp_log_dropped();
	size_t taken = say_until_full(1000);

	say(1000);
	say(1000);
	CHECK_EQ(wp_log_dropped() - before, 3);
	read_all(fd);
	(void)whole_lines();
	CHECK_EQ(count_of("event=said"), taken);
	/* The room left may have been enough to tell of the first ones. */
	unsigned long long told = told_dropped();

	say(10);
	read_all(fd);
	CHECK_EQ(whole_lines(), 2);
	CHECK_HAS(text, "level=warn event=log_dropped dropped=");
	CHECK_EQ(told + told_dropped(), 3);
	CHECK(strstr(text, "log_dropped") < strstr(text, "event=said"));

	say(10);
	read_all(fd);
	CHECK_EQ(whole_lines(), 1);
	CHECK_EQ(count_of("log_dropped"), 0);
	CHECK_EQ(wp_log_dropped() - before, 3);
	close(fd);
}

static void the_longest_lines_are_not_torn_by_a_pipe(void **state)
{
	int fd = log_to_pipe();

	for (size_t size = 3900; size < 3990; size += 7) {
		size_t taken = say_until_full(size);
		read_all(fd);
		CHECK(whole_lines() >= taken);
		say(1);
		read_all(fd);
		CHECK(whole_lines() == 2);
	}
	close(fd);
}

static void others_on_the_same_pipe_keep_their_blocking_mode(void **state)
{
	int fd = log_to_pipe();

	CHECK_EQ(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
	close(fd);
}

static void a_pipe_that_cannot_be_reopened_does_not_block_either(void **state)
{
	reopening_fails = true;
	a_full_pipe_drops_lines_and_the_next_tells_how_many(state);
	reopening_fails = false;
}

static void a_reader_that_is_gone_does_not_end_the_process(void **state)
{
	int fd = log_to_pipe();
	uint64_t before = wp_log_dropped();

	close(fd);
	say(1);
	say(1);
	CHECK_EQ(wp_log_dropped() - before, 2);
	(void)tear_down(state);
	/* What is missing is told to the next reader. */
	fd = log_to_pipe();
	say(1);
	read_all(fd);
	CHECK_HAS(text, "event=log_dropped dropped=2\n");
	close(fd);
}

static void a_full_socket_drops_lines_and_tears_none(void **state)
{
	int ends[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	log_to(ends[1], WP_LOG_INFO);
	CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	size_t taken = say_until_full(3000);
	read_all(ends[0]);
	CHECK_EQ(whole_lines(), taken);
	say(1);
	read_all(ends[0]);
	CHECK_HAS(text, "event=log_dropped dropped=1\n");
	CHECK_EQ(whole_lines(), 2);
	close(ends[0]);
}

static void a_socket_whose_peer_is_gone_does_not_end_the_process(void **state)
{
	int ends[2];
	uint64_t before = wp_log_dropped();

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	log_to(ends[1], WP_LOG_INFO);
	close(ends[0]);
	say(1);
	CHECK_EQ(wp_log_dropped() - before, 1);
}

static int log_to_terminal(void)
{
	struct termios raw;
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	CHECK(master >= 0);
	CHECK_EQ(grantpt(master), 0);
	CHECK_EQ(unlockpt(master), 0);
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(slave >= 0);
	CHECK_EQ(tcgetattr(slave, &raw), 0);
	raw.c_oflag &= ~(tcflag_t)OPOST;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	CHECK_EQ(tcsetattr(slave, TCSANOW, &raw), 0);
	log_to(slave, WP_LOG_INFO);
	CHECK_EQ(fcntl(master, F_SETFL, O_NONBLOCK), 0);
	return master;
}

/* A terminal takes what fits: here lines are begun that cannot be ended at once. */
static void a_line_taken_in_part_is_ended_before_the_next_begins(void **state)
{
	int master = log_to_terminal();
	static char all[sizeof(text)];
	size_t size = 0;

	for (int i = 0; i < 20; i++) {
		(void)say_until_full(1777);
		read_all(master);
		memcpy(all + size, text, strlen(text) + 1);
		size += strlen(text);
	}
	say(1); /* ends what may have been begun */
	read_all(master);
	memcpy(all + size, text, strlen(text) + 1);
	memcpy(text, all, sizeof(text));
	CHECK(whole_lines() > 20);
	CHECK(count_of("log_dropped") > 0);
	close(master);
}

static void a_file_takes_everything(void **state)
{
	char path[] = "/tmp/walpost-log-XXXXXX";
	int file = mkstemp(path);
	uint64_t before = wp_log_dropped();

	CHECK(file >= 0);
	int reader = open(path, O_RDONLY);
	CHECK(reader >= 0);
	log_to(file, WP_LOG_INFO);
	for (int i = 0; i < 500; i++)
		say(1000);
	read_all(reader);
	CHECK_EQ(count_of("event=said"), 500);
	CHECK_EQ(wp_log_dropped(), before);
	close(reader);
	CHECK_EQ(unlink(path), 0);
}

/* The number 2 may next be given to a connection. */
static void with_standard_error_closed_nothing_is_written_anywhere(void **state)
{
	int ends[2];
	uint64_t before = wp_log_dropped();

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	close(STDERR_FILENO);
	wp_log_setup(&(struct wp_log_options){ .level = WP_LOG_INFO, .format = WP_LOG_LOGFMT });
	CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	say(1);
	read_all(ends[0]);
	CHECK_EQ(strlen(text), 0);
	CHECK_EQ(wp_log_dropped() - before, 1);
	close(ends[0]);
}

static void *say_often(void *arg)
{
	for (int i = 0; i < 100; i++)
		say(100);
	return NULL;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
	pthread_t threads[4];
	int fd = log_to_pipe();
	uint64_t before = wp_log_dropped();

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, say_often, NULL), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	read_all(fd);
	(void)whole_lines();
	CHECK_EQ(count_of("event=said"), 400 - (wp_log_dropped() - before));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLEAN(a_line_arrives),
		CLEAN(lines_below_the_level_are_left_out),
		CLEAN(a_full_pipe_drops_lines_and_the_next_tells_how_many),
		CLEAN(the_longest_lines_are_not_torn_by_a_pipe),
		CLEAN(others_on_the_same_pipe_keep_their_blocking_mode),
		CLEAN(a_pipe_that_cannot_be_reopened_does_not_block_either),
		CLEAN(a_reader_that_is_gone_does_not_end_the_process),
		CLEAN(a_full_socket_drops_lines_and_tears_none),
		CLEAN(a_socket_whose_peer_is_gone_does_not_end_the_process),
		CLEAN(a_line_taken_in_part_is_ended_before_the_next_begins),
		CLEAN(a_file_takes_everything),
		CLEAN(with_standard_error_closed_nothing_is_written_anywhere),
		CLEAN(lines_of_several_threads_do_not_mix),
	};

	return cmocka_run_group_tests(tests, keep_stderr, restore_stderr);
}

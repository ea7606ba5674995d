#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "support/check.h"
#include "walpost/base/clock.h"
#include "walpost/login/login.h"

#define TIME_MS 20000

static void gives(const char *command, const char *wanted)
{
	struct wp_token t = { .text = NULL };
	struct wp_error error = { .text = "" };

	enum wp_rc rc = wp_login_command(command, TIME_MS, &t, &error);
	CHECK_TEXT(error.text, "");
	CHECK_EQ(rc, WP_OK);
	CHECK_TEXT(t.text, wanted);
	wp_token_release(&t);
}

static void fails(const char *command, int64_t timeout_ms, const char *reason)
{
	struct wp_token t = { .text = NULL };
	struct wp_error error = { .text = "" };

	CHECK_EQ(wp_login_command(command, timeout_ms, &t, &error), WP_IO);
	CHECK_HAS(error.text, reason);
	assert_null(strstr(error.text, "hidden"));
	assert_null(t.text);
}

static void what_it_prints_is_the_token(void **state)
{
	gives("echo secret", "secret");
	gives("printf %s 'a b'", "a b");
	gives("echo '{\"token\": \"t\"}'", "t");
	gives("sh -c 'echo said >&2; echo secret; exit 0'", "secret");
}

static void it_reads_nothing_and_has_none_of_our_descriptors(void **state)
{
	gives("sh -c 'cat; ls /proc/self/fd | tr -d \"\\n\"'", "0123");
}

static void it_is_a_group_of_its_own(void **state)
{
	gives("sh -c 'test $(cut -d\" \" -f5 /proc/$$/stat) = $$ && echo alone'", "alone");
}

static void a_failure_names_the_program_and_never_what_it_printed(void **state)
{
	fails("/nowhere/to/be/found", TIME_MS, "/nowhere/to/be/found cannot be run");
	fails("sh -c 'echo hidden; exit 3'", TIME_MS, "sh exited with status 3");
	fails("sh -c 'echo hidden; kill -9 $$'", TIME_MS, "sh was killed by signal 9");
	fails("true", TIME_MS, "no token: it is empty");
	fails("printf 'hidden\\nhidden\\n'", TIME_MS, "no token: it has more than one line");
	fails("head -c 1000000 /dev/zero", TIME_MS, "head printed more than 65536 bytes");
}

/* Each would hold the pipe open for a minute. */
static void what_it_leaves_behind_is_not_waited_for(void **state)
{
	int64_t start_us = wp_clock_us();

	gives("sh -c 'sleep 60 & echo secret'", "secret");
	gives("sh -c 'setsid sleep 60 & echo secret'", "secret");
	fails("sh -c 'echo hidden; sleep 60'", 100, "sh was killed: it had not ended after 100 ms");
	fails("sh -c 'trap \"\" TERM INT; yes hidden'", 100, "had not ended after 100 ms");
	CHECK(wp_clock_us() - start_us < INT64_C(30) * 1000000);
}

static void a_line_that_is_no_command_is_refused(void **state)
{
	struct wp_token t;
	struct wp_error error;

	CHECK_EQ(wp_login_command("a 'b", TIME_MS, &t, &error), WP_CONFIG);
}

static void *run_long(void *command)
{
	fails(command, TIME_MS, "sh was killed by signal 9");
	return NULL;
}

/* The last of all: from here on none is started. */
static void at_the_end_none_is_left(void **state)
{
	char path[] = "/tmp/walpost-command-XXXXXX";
	char command[160];
	int64_t start_us = wp_clock_us();
	pthread_t thread;

	assert_non_null(mkdtemp(path));
	(void)snprintf(command, sizeof(command), "sh -c 'rmdir %s; sleep 60 & wait'", path);
	CHECK_EQ(pthread_create(&thread, NULL, run_long, command), 0);
	while (access(path, F_OK) == 0)
		(void)poll(NULL, 0, 1);
	wp_login_stop();
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(wp_clock_us() - start_us < INT64_C(10) * 1000000);
	fails("echo hidden", TIME_MS, "echo cannot be started: Operation canceled");
}

int main(void)
{
	return RUN(PLAIN(what_it_prints_is_the_token),
		   PLAIN(it_reads_nothing_and_has_none_of_our_descriptors),
		   PLAIN(it_is_a_group_of_its_own),
		   PLAIN(a_failure_names_the_program_and_never_what_it_printed),
		   PLAIN(what_it_leaves_behind_is_not_waited_for),
		   PLAIN(a_line_that_is_no_command_is_refused), PLAIN(at_the_end_none_is_left));
}

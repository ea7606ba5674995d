/* What is kept, and for how long: with a program that counts how often it is run. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "walpost/base/clock.h"
#include "walpost/base/file_text.h"
#include "walpost/login/login.h"

static char folder[] = "/tmp/walpost-login-XXXXXX";
static char script[64], count_file[64], command[160];

static int set_up(void **state)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/walpost-login-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(script, sizeof(script), "%s/script", folder);
	(void)snprintf(count_file, sizeof(count_file), "%s/count", folder);
	(void)snprintf(command, sizeof(command), "sh %s", script);
	return 0;
}

static int tear_down(void **state)
{
	(void)unlink(script);
	(void)unlink(count_file);
	return rmdir(folder);
}

/* Counts, then prints a token of this lifetime in seconds; 0: of none; negative: it fails. */
static void write_script(int lifetime_s)
{
	FILE *f = fopen(script, "w");

	assert_non_null(f);
	(void)fprintf(f, "echo >> %s\nn=$(wc -l < %s)\n", count_file, count_file);
	if (lifetime_s > 0)
		(void)fprintf(
			f,
			"echo '{\"token\": \"t'$n'\", \"expires_at\": '$(($(date +%%s) + %d))'}'\n",
			lifetime_s);
	else
		(void)fprintf(f, lifetime_s == 0 ? "echo t$n\n" : "exit 1\n");
	CHECK_EQ(fclose(f), 0);
}

static struct wp_login *login_by_command(void)
{
	const struct wp_login_options options = {
		.command = command, .file = "", .region = "", .role = "", .timeout_ms = 20000
	};
	struct wp_login *l = wp_login_new(WP_LOGIN_FOR_POSTGRES, &options);

	assert_non_null(l);
	return l;
}

static enum wp_rc get_as(struct wp_login *l, const char *user, const char *wanted)
{
	const struct wp_login_request request = { .host = "h", .port = "1", .user = user };
	struct wp_token t = { .text = NULL };
	struct wp_error error = { .text = "" };

	enum wp_rc rc = wp_login_get(l, &request, &t, &error);
	if (rc == WP_OK)
		CHECK_TEXT(t.text, wanted);
	else
		CHECK_HAS(error.text, wanted);
	wp_token_release(&t);
	return rc;
}

static void gives(struct wp_login *l, const char *wanted)
{
	CHECK_EQ(get_as(l, "u", wanted), WP_OK);
}

static void one_that_lasts_is_kept(void **state)
{
	struct wp_login *l = login_by_command();

	write_script(1000);
	gives(l, "t1");
	gives(l, "t1");
	CHECK_EQ(get_as(l, "another", "t2"), WP_OK);
	wp_login_free(l);
}

static void one_that_does_not_say_is_for_one_use(void **state)
{
	struct wp_login *l = login_by_command();

	write_script(0);
	gives(l, "t1");
	gives(l, "t2");
	wp_login_free(l);
}

static void one_that_was_refused_is_not_given_again(void **state)
{
	struct wp_login *l = login_by_command();
	struct wp_token t = { .text = NULL };

	CHECK_EQ(wp_login_peek(l, &t), WP_AGAIN);
	write_script(1000);
	gives(l, "t1");
	CHECK_EQ(wp_login_peek(l, &t), WP_OK);
	CHECK_TEXT(t.text, "t1");
	wp_token_release(&t);
	wp_login_refused(l);
	CHECK_EQ(wp_login_peek(l, &t), WP_OK); /* whoever was let in with it has it still */
	wp_token_release(&t);
	gives(l, "t2");
	gives(l, "t2");
	wp_login_refused(l);
	write_script(-1);
	CHECK_EQ(get_as(l, "u", "exited with status 1"), WP_IO);
	wp_login_free(l);
}

static void *get_slowly(void *login)
{
	CHECK_EQ(get_as(login, "u", "exited with status 1"), WP_IO);
	return NULL;
}

/* Three at once, of a program that takes two seconds to fail: it runs once. */
static void whoever_waits_shares_a_failure(void **state)
{
	struct wp_login *l = login_by_command();
	pthread_t threads[3];
	char *count = NULL;
	struct wp_error error;
	FILE *f = fopen(script, "w");

	assert_non_null(f);
	(void)fprintf(f, "echo >> %s\nsleep 2\nexit 1\n", count_file);
	CHECK_EQ(fclose(f), 0);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, get_slowly, l), 0);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK_EQ(wp_file_text(count_file, &count, &error), WP_OK);
	CHECK_TEXT(count, "\n");
	free(count);
	wp_login_free(l);
}

/* A program that runs for two seconds: who refuses is the loop, which must not wait for it. */
static void it_is_refused_at_once_while_somebody_fetches(void **state)
{
	struct wp_login *l = login_by_command();
	pthread_t thread;
	FILE *f = fopen(script, "w");

	assert_non_null(f);
	(void)fprintf(f, "echo >> %s\nsleep 2\nexit 1\n", count_file);
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(pthread_create(&thread, NULL, get_slowly, l), 0);
	while (access(count_file, F_OK) != 0)
		(void)poll(NULL, 0, 1);
	int64_t before_us = wp_clock_us();
	wp_login_refused(l);
	CHECK(wp_clock_us() - before_us < INT64_C(1000000));
	CHECK_EQ(pthread_join(thread, NULL), 0);
	wp_login_free(l);
}

static void the_old_one_serves_while_no_new_one_comes(void **state)
{
	struct wp_login *l = login_by_command();

	write_script(0);
	gives(l, "t1");
	write_script(-1);
	gives(l, "t1");
	gives(l, "t1");
	write_script(0);
	gives(l, "t4");
	wp_login_free(l);
}

static void one_that_has_expired_is_no_token(void **state)
{
	struct wp_login *l = login_by_command();
	FILE *f = fopen(script, "w");

	assert_non_null(f);
	(void)fputs("echo '{\"token\": \"t\", \"expires_at\": 1000}'\n", f);
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(get_as(l, "u", "had expired"), WP_IO);
	wp_login_free(l);
}

static struct wp_login *login_by_file(void)
{
	const struct wp_login_options options = { .provider = WP_LOGIN_FILE,
						  .command = "",
						  .file = script,
						  .region = "",
						  .role = "",
						  .timeout_ms = 1000 };
	struct wp_login *l = wp_login_new(WP_LOGIN_FOR_KAFKA, &options);

	assert_non_null(l);
	return l; /* with a copy of the options */
}

static void a_file_is_read_each_time_it_says_no_lifetime(void **state)
{
	struct wp_login *l = login_by_file();

	CHECK_EQ(get_as(l, "", "token file"), WP_CONFIG);
	for (int i = 0; i < 2; i++) {
		char wanted[8];
		FILE *f = fopen(script, "w");

		assert_non_null(f);
		(void)snprintf(wanted, sizeof(wanted), "t%d", i);
		(void)fprintf(f, "%s\n", wanted);
		CHECK_EQ(fclose(f), 0);
		CHECK_EQ(get_as(l, "", wanted), WP_OK);
	}
	wp_login_free(wp_login_hold(l));
	CHECK_EQ(get_as(l, "", "t1"), WP_OK);
	wp_login_free(l);
	wp_login_free(NULL);
}

/* Its writer is there, and silent. */
static void a_file_that_is_a_pipe_is_not_waited_for(void **state)
{
	struct wp_login *l = login_by_file();

	CHECK_EQ(mkfifo(script, 0600), 0);
	int fd = open(script, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(get_as(l, "", "it is not a regular file"), WP_CONFIG);
	CHECK_EQ(close(fd), 0);
	wp_login_free(l);
}

int main(void)
{
	return RUN(TEST(one_that_lasts_is_kept), TEST(one_that_does_not_say_is_for_one_use),
		   TEST(one_that_was_refused_is_not_given_again),
		   TEST(it_is_refused_at_once_while_somebody_fetches),
		   TEST(whoever_waits_shares_a_failure),
		   TEST(the_old_one_serves_while_no_new_one_comes),
		   TEST(one_that_has_expired_is_no_token),
		   TEST(a_file_is_read_each_time_it_says_no_lifetime),
		   TEST(a_file_that_is_a_pipe_is_not_waited_for));
}

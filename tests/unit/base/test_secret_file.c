#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/files.h"
#include "walpost/base/file_text.h"
#include "walpost/base/secret_file.h"

static char path[64];
static struct wp_secret_file *file;
static struct wp_error error;

static int set_up(void **state)
{
	(void)snprintf(path, sizeof(path), "/tmp/walpost-secret-XXXXXX");
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(close(fd), 0);
	write_text(path, "old\n");
	CHECK_EQ(wp_secret_file_new(path, &file, &error), WP_OK);
	return 0;
}

static int tear_down(void **state)
{
	wp_secret_file_free(file);
	(void)unlink(path);
	(void)rmdir(path);
	return 0;
}

static bool begins_with_n(const char *text)
{
	return text[0] == 'n';
}

static void reads(bool (*is_usable)(const char *text), const char *wanted, enum wp_secret_news news)
{
	struct wp_secret_text now;

	CHECK_EQ(wp_secret_file_read(file, is_usable, &now), WP_OK);
	CHECK_TEXT(now.text, wanted);
	CHECK_EQ(now.news, news);
	if (news == WP_SECRET_LOST)
		CHECK_HAS(now.error.text, path);
	free(now.text);
}

static void each_reader_gets_what_stands_there(void **state)
{
	reads(NULL, "old", WP_SECRET_SAME);
	write_text(path, "new");
	reads(NULL, "new", WP_SECRET_NEW);
	reads(NULL, "new", WP_SECRET_SAME);
}

static void what_was_read_last_stands_in_for_a_file_that_is_gone(void **state)
{
	write_text(path, "new");
	reads(NULL, "new", WP_SECRET_NEW);
	CHECK_EQ(unlink(path), 0);
	reads(NULL, "new", WP_SECRET_LOST);
	reads(NULL, "new", WP_SECRET_STILL_LOST);
	write_text(path, "new");
	reads(NULL, "new", WP_SECRET_SAME);
	CHECK_EQ(unlink(path), 0);
	reads(NULL, "new", WP_SECRET_LOST);
}

static void so_it_does_for_one_that_is_empty_or_a_folder_or_too_large(void **state)
{
	char *large = malloc(WP_FILE_TEXT_SIZE_MAX + 2);

	write_text(path, "\n");
	reads(NULL, "old", WP_SECRET_LOST);
	memset(large, 'x', WP_FILE_TEXT_SIZE_MAX + 1);
	large[WP_FILE_TEXT_SIZE_MAX + 1] = '\0';
	write_text(path, large);
	free(large);
	reads(NULL, "old", WP_SECRET_STILL_LOST);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(mkdir(path, 0700), 0);
	reads(NULL, "old", WP_SECRET_STILL_LOST);
}

static void so_it_does_for_what_the_reader_cannot_use(void **state)
{
	write_text(path, "half");
	reads(begins_with_n, "old", WP_SECRET_LOST);
	write_text(path, "new");
	reads(begins_with_n, "new", WP_SECRET_NEW);
}

static void a_fifo_in_its_place_keeps_nobody_waiting(void **state)
{
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(mkfifo(path, 0600), 0);
	reads(NULL, "old", WP_SECRET_LOST);
}

static void one_that_is_empty_from_the_start_may_stay_so(void **state)
{
	wp_secret_file_free(file);
	write_text(path, "");
	CHECK_EQ(wp_secret_file_new(path, &file, &error), WP_OK);
	reads(NULL, "", WP_SECRET_SAME);
	write_text(path, "new");
	reads(NULL, "new", WP_SECRET_NEW);
}

static void what_is_no_regular_file_gives_its_text_once(void **state)
{
	wp_secret_file_free(file);
	CHECK_EQ(wp_secret_file_new("/dev/null", &file, &error), WP_OK);
	CHECK(!wp_secret_file_is_regular(file));
	reads(NULL, "", WP_SECRET_SAME);
}

static void one_that_cannot_be_read_at_first_is_refused(void **state)
{
	struct wp_secret_file *other = NULL;

	CHECK_EQ(wp_secret_file_new("/nonexistent/secret", &other, &error), WP_CONFIG);
	CHECK_HAS(error.text, "/nonexistent/secret cannot be read");
	assert_null(other);
	wp_secret_file_free(NULL);
}

int main(void)
{
	return RUN(TEST(each_reader_gets_what_stands_there),
		   TEST(what_was_read_last_stands_in_for_a_file_that_is_gone),
		   TEST(so_it_does_for_one_that_is_empty_or_a_folder_or_too_large),
		   TEST(so_it_does_for_what_the_reader_cannot_use),
		   TEST(a_fifo_in_its_place_keeps_nobody_waiting),
		   TEST(one_that_is_empty_from_the_start_may_stay_so),
		   TEST(what_is_no_regular_file_gives_its_text_once),
		   TEST(one_that_cannot_be_read_at_first_is_refused));
}

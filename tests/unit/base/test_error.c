#include <string.h>

#include "support/check.h"
#include "walpost/base/error.h"

#define TEXT_MAX (sizeof(((struct wp_error *)0)->text) - 1)

/* A why of `size` x and then `tail`. */
static struct wp_error why_of(size_t size, const char *tail)
{
	char head[4096];
	struct wp_error error;

	memset(head, 'x', size);
	head[size] = '\0';
	(void)wp_error_set(&error, WP_DATA, "%s%s", head, tail);
	return error;
}

static void setting_it_answers_the_code_and_keeps_the_sentence(void **state)
{
	struct wp_error error;

	CHECK_EQ(wp_error_set(&error, WP_CONFIG, "%s is %d", "size", 7), WP_CONFIG);
	CHECK_TEXT(error.text, "size is 7");
}

static void without_a_why_the_code_is_answered_alone(void **state)
{
	CHECK_EQ(wp_error_set(NULL, WP_IO, "nobody %s", "listens"), WP_IO);
}

static void the_old_sentence_may_be_part_of_the_new(void **state)
{
	struct wp_error error = { "no route" };

	(void)wp_error_set(&error, WP_IO, "while connecting: %s", error.text);
	CHECK_TEXT(error.text, "while connecting: no route");
}

static void a_sentence_of_just_the_size_is_kept_whole(void **state)
{
	CHECK_EQ(strlen(why_of(TEXT_MAX - 1, "").text), TEXT_MAX - 1);
	CHECK_EQ(strlen(why_of(TEXT_MAX, "").text), TEXT_MAX);
	CHECK_EQ(strlen(why_of(TEXT_MAX + 1, "").text), TEXT_MAX);
}

static void a_character_that_fits_to_its_last_byte_stays(void **state)
{
	CHECK_EQ(strlen(why_of(TEXT_MAX - 2, "\xC3\xA9!").text), TEXT_MAX);
	CHECK_EQ(strlen(why_of(TEXT_MAX - 3, "\xE2\x82\xAC!").text), TEXT_MAX);
	CHECK_EQ(strlen(why_of(TEXT_MAX - 4, "\xF0\x9F\x90\x98!").text), TEXT_MAX);
}

static void a_character_that_does_not_fit_is_left_out_whole(void **state)
{
	CHECK_EQ(strlen(why_of(TEXT_MAX - 1, "\xC3\xA9").text), TEXT_MAX - 1);
	CHECK_EQ(strlen(why_of(TEXT_MAX - 1, "\xE2\x82\xAC").text), TEXT_MAX - 1);
	CHECK_EQ(strlen(why_of(TEXT_MAX - 2, "\xE2\x82\xAC").text), TEXT_MAX - 2);
	CHECK_EQ(strlen(why_of(TEXT_MAX - 1, "\xF0\x9F\x90\x98").text), TEXT_MAX - 1);
	CHECK_EQ(strlen(why_of(TEXT_MAX - 3, "\xF0\x9F\x90\x98").text), TEXT_MAX - 3);
}

int main(void)
{
	return RUN(PLAIN(setting_it_answers_the_code_and_keeps_the_sentence),
		   PLAIN(without_a_why_the_code_is_answered_alone),
		   PLAIN(the_old_sentence_may_be_part_of_the_new),
		   PLAIN(a_sentence_of_just_the_size_is_kept_whole),
		   PLAIN(a_character_that_fits_to_its_last_byte_stays),
		   PLAIN(a_character_that_does_not_fit_is_left_out_whole));
}

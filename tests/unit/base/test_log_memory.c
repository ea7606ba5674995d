#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/base/log_memory.h"

static struct wp_log_memory memory;

static int set_up(void **state)
{
	memset(&memory, 0, sizeof(memory));
	return 0;
}

static void add(enum wp_log_level level, const char *event, const char *error)
{
	const struct wp_fact facts[] = { WP_INT("number", 7),
					 WP_TEXT("reason", error),
					 { .kind = WP_FACT_END } };

	wp_log_memory_add(&memory, 1000, level, event, error != NULL ? facts : &facts[2]);
}

static uint64_t count_of(enum wp_log_level level, const char *event)
{
	for (size_t i = 0; i < memory.count_count; i++) {
		if (memory.counts[i].level == level && strcmp(memory.counts[i].event, event) == 0)
			return memory.counts[i].count;
	}
	return 0;
}

static void warnings_and_errors_are_counted_by_event_and_level(void **state)
{
	add(WP_LOG_WARN, "stream_broken", "away");
	add(WP_LOG_WARN, "stream_broken", "away again");
	add(WP_LOG_ERROR, "stream_broken", NULL);
	add(WP_LOG_INFO, "state", "a -> b");
	CHECK_EQ(count_of(WP_LOG_WARN, "stream_broken"), 2);
	CHECK_EQ(count_of(WP_LOG_ERROR, "stream_broken"), 1);
	CHECK_EQ(count_of(WP_LOG_INFO, "state"), 0);
}

static void lines_of_note_are_kept_with_their_reason_and_progress_is_none(void **state)
{
	add(WP_LOG_INFO, "streaming", NULL);
	add(WP_LOG_INFO, "progress", NULL);
	add(WP_LOG_DEBUG, "state", "flits");
	add(WP_LOG_ERROR, "slot_lost", "it is gone");
	CHECK_EQ(memory.line_count, 2);
	CHECK_TEXT(wp_log_memory_line(&memory, 0)->event, "streaming");
	CHECK_TEXT(wp_log_memory_line(&memory, 0)->error, "");
	CHECK_TEXT(wp_log_memory_line(&memory, 1)->event, "slot_lost");
	CHECK_TEXT(wp_log_memory_line(&memory, 1)->error, "it is gone");
	CHECK_EQ(wp_log_memory_line(&memory, 1)->level, WP_LOG_ERROR);
	CHECK_EQ(wp_log_memory_line(&memory, 1)->wall_ms, 1000);
}

static bool is_new(const char *text, int number)
{
	const struct wp_fact facts[] = { WP_TEXT("text", text),
					 WP_INT("n", number),
					 { .kind = WP_FACT_END } };

	return wp_log_memory_is_new(&memory, WP_LOG_WARN, "notice", facts);
}

static void what_is_said_once_is_counted_from_then_on(void **state)
{
	CHECK(is_new("your password expires", 1));
	CHECK_EQ(count_of(WP_LOG_WARN, "notice"), 0);
	CHECK(!is_new("your password expires", 2));
	CHECK(is_new("your password expires soon", 1));
	CHECK(!is_new("your password expires", 1));
	CHECK(is_new("it expires in 10:00:09", 1));
	CHECK(!is_new("it expires in 9:59:58", 1));
	CHECK_EQ(count_of(WP_LOG_WARN, "notice"), 3);
	CHECK(is_new("slot \"sb1\" is away", 1));
	CHECK(is_new("slot \"sb2\" is away", 1));
	CHECK(is_new("slot 'a_1' is away", 1));
	CHECK(is_new("slot 'a_2' is away", 1));
	CHECK_EQ(memory.line_count, 0);
}

static void of_too_many_that_are_said_once_the_oldest_is_said_again(void **state)
{
	char text[16];

	for (int i = 0; i <= WP_LOG_SAID_MAX; i++) {
		(void)snprintf(text, sizeof(text), "notice %c", 'A' + i);
		CHECK(is_new(text, 0));
	}
	CHECK(!is_new("notice B", 0));
	CHECK(is_new("notice A", 0));
}

static void the_oldest_line_goes_first(void **state)
{
	char event[WP_LOG_EVENT_SIZE];

	for (int i = 0; i < WP_LOG_LINES_MAX + 5; i++) {
		(void)snprintf(event, sizeof(event), "event_%d", i);
		add(WP_LOG_INFO, event, NULL);
	}
	CHECK_EQ(memory.line_count, WP_LOG_LINES_MAX);
	CHECK_TEXT(wp_log_memory_line(&memory, 0)->event, "event_5");
	CHECK_TEXT(wp_log_memory_line(&memory, WP_LOG_LINES_MAX - 1)->event, "event_36");
}

static void more_events_than_there_is_room_for_are_counted_as_other(void **state)
{
	char event[WP_LOG_EVENT_SIZE];

	for (int i = 0; i < WP_LOG_EVENTS_MAX + 10; i++) {
		(void)snprintf(event, sizeof(event), "event_%d", i);
		add(WP_LOG_WARN, event, NULL);
	}
	add(WP_LOG_ERROR, "one_more", NULL);
	CHECK_EQ(count_of(WP_LOG_WARN, "event_0"), 1);
	CHECK_EQ(count_of(WP_LOG_WARN, "other"), 12);
	CHECK_EQ(count_of(WP_LOG_ERROR, "other"), 1);
	CHECK_EQ(memory.count_count, WP_LOG_EVENTS_MAX);
}

static void a_long_reason_is_cut_between_characters(void **state)
{
	char error[2 * WP_LOG_WHY_SIZE];

	memset(error, 'a', sizeof(error));
	memcpy(error + WP_LOG_WHY_SIZE - 2, "\xc3\xa9", 2); /* its second byte does not fit */
	error[sizeof(error) - 1] = '\0';
	add(WP_LOG_WARN, "long", error);
	CHECK_EQ(strlen(wp_log_memory_line(&memory, 0)->error), WP_LOG_WHY_SIZE - 2);
}

int main(void)
{
	return RUN(FRESH(warnings_and_errors_are_counted_by_event_and_level),
		   FRESH(lines_of_note_are_kept_with_their_reason_and_progress_is_none),
		   FRESH(what_is_said_once_is_counted_from_then_on),
		   FRESH(of_too_many_that_are_said_once_the_oldest_is_said_again),
		   FRESH(the_oldest_line_goes_first),
		   FRESH(more_events_than_there_is_room_for_are_counted_as_other),
		   FRESH(a_long_reason_is_cut_between_characters));
}

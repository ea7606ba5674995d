#include "notes.h"
#include "stream_renewal.h"
#include "retry.h"
#include "row_warnings.h"
#include "support/check.h"

/* Modules of a few lines each. */

static void the_oldest_note_goes_first_when_there_are_too_many(void **state)
{
	static struct wp_notes notes;
	struct wp_note n;

	for (wp_lsn i = 0; i <= WP_NOTES_MAX; i++)
		(void)wp_notes_add(&notes, WP_NOTE_INFO, "x", i);
	for (wp_lsn i = 1; i <= WP_NOTES_MAX; i++) {
		CHECK(wp_notes_take(&notes, &n));
		CHECK_EQ(n.lsn, i);
	}
	CHECK(!wp_notes_take(&notes, &n));
}

static void no_connection_is_tried_while_the_server_is_let_go(void **state)
{
	struct wp_retry r;

	wp_retry_init(&r, 1);
	int64_t until_ms = wp_retry_stay_away(&r, 1000);
	CHECK(until_ms >= 11000 && until_ms < 13000);
	CHECK_EQ(wp_retry_after_loss(&r, 1000), until_ms);
	CHECK(wp_retry_after_loss(&r, until_ms) > until_ms);
}

static void
a_connection_is_renewed_after_a_huge_row_once_it_is_quiet_and_once_a_minute(void **state)
{
	struct wp_stream_renewal r = { 0 };

	wp_stream_renewal_came(&r, 8 * 1024 * 1024 - 1, 1000);
	CHECK_EQ(wp_stream_renewal_due(&r, -1), INT64_MAX);
	wp_stream_renewal_came(&r, 8 * 1024 * 1024, 2000);
	CHECK_EQ(wp_stream_renewal_due(&r, -1), 7000);
	CHECK_EQ(wp_stream_renewal_due(&r, 512 * 1024 * 1024 + 1), INT64_MAX);
	wp_stream_renewal_sent(&r, 3000);
	CHECK_EQ(wp_stream_renewal_due(&r, 512 * 1024 * 1024), 8000);
	wp_stream_renewal_renewed(&r, 8000);
	CHECK_EQ(wp_stream_renewal_due(&r, 0), 68000);
}

static void a_warning_comes_every_ten_seconds_each_for_itself(void **state)
{
	struct wp_row_warnings w = { 0 };

	CHECK(wp_row_warnings_are_due(&w, WP_WARN_ROW_UPDATED, 1000));
	CHECK(!wp_row_warnings_are_due(&w, WP_WARN_ROW_UPDATED, 10999));
	CHECK(wp_row_warnings_are_due(&w, WP_WARN_MESSAGE_REFUSED, 10999));
	CHECK(wp_row_warnings_are_due(&w, WP_WARN_ROW_UPDATED, 11000));
}

static void rows_of_others_only_are_told_once_after_a_minute_without_an_event(void **state)
{
	struct wp_row_warnings w = { 0 };
	struct wp_pipeline_counts counts = { .ignored = 1 };

	CHECK(!wp_row_warnings_only_ignored(&w, &counts, 1000));
	CHECK_EQ(wp_row_warnings_due(&w, &counts), 61000);
	CHECK(!wp_row_warnings_only_ignored(&w, &counts, 60999));
	CHECK(wp_row_warnings_only_ignored(&w, &counts, 61000));
	CHECK(!wp_row_warnings_only_ignored(&w, &counts, 200000));
	w = (struct wp_row_warnings){ .ignored_since_ms = 1000 };
	counts.events = 1;
	CHECK(!wp_row_warnings_only_ignored(&w, &counts, 200000));
	CHECK_EQ(wp_row_warnings_due(&w, &counts), INT64_MAX);
}

int main(void)
{
	return RUN(
		PLAIN(the_oldest_note_goes_first_when_there_are_too_many),
		PLAIN(no_connection_is_tried_while_the_server_is_let_go),
		PLAIN(a_connection_is_renewed_after_a_huge_row_once_it_is_quiet_and_once_a_minute),
		PLAIN(a_warning_comes_every_ten_seconds_each_for_itself),
		PLAIN(rows_of_others_only_are_told_once_after_a_minute_without_an_event));
}

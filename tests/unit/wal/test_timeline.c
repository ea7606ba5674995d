#include <stdio.h>

#include "support/check.h"
#include "walpost/wal/timeline.h"

static struct wp_timelines timelines_of(uint32_t current, const char *history)
{
	struct wp_timelines t;
	struct wp_error error;

	CHECK_EQ(wp_timelines_read(&t, current, wp_span_of(history), &error), WP_OK);
	return t;
}

static void timeline_1_has_no_history(void **state)
{
	struct wp_timelines t = timelines_of(1, NULL);

	CHECK_EQ(wp_timelines_at(&t, 0), 1);
	CHECK_EQ(wp_timelines_at(&t, UINT64_MAX), 1);
}

static void an_lsn_belongs_to_the_timeline_that_had_not_ended(void **state)
{
	struct wp_timelines t = timelines_of(3, "1\t0/3000\tno recovery target specified\n"
						"\n"
						"2\t1/5000\tbefore 2026-01-02 03:04:05+00\n");

	CHECK_EQ(t.count, 2);
	CHECK_EQ(wp_timelines_at(&t, 0x2FFF), 1);
	CHECK_EQ(wp_timelines_at(&t, 0x3000), 2);
	CHECK_EQ(wp_timelines_at(&t, 0x100004FFF), 2);
	CHECK_EQ(wp_timelines_at(&t, 0x100005000), 3);
}

static void a_timeline_that_ended_where_it_began_holds_nothing(void **state)
{
	struct wp_timelines t = timelines_of(3, "1\t0/3000\tx\n2\t0/3000\tx\n");

	CHECK_EQ(wp_timelines_at(&t, 0x2FFF), 1);
	CHECK_EQ(wp_timelines_at(&t, 0x3000), 3);
}

static void comments_blank_lines_and_a_missing_last_newline_are_fine(void **state)
{
	struct wp_timelines t =
		timelines_of(7, "# a comment\n \t\r\n  4 \t A/B  reason # x\r\n5\tA/C");

	CHECK_EQ(t.count, 2);
	CHECK_EQ(wp_timelines_at(&t, 0xA0000000A), 4);
	CHECK_EQ(wp_timelines_at(&t, 0xA0000000B), 5);
	CHECK_EQ(wp_timelines_at(&t, 0xA0000000C), 7);
}

static void a_malformed_line_is_refused_and_named(void **state)
{
	static const char *const lines[] = {
		"x\t0/1\tr",	    "2",       "2\t",	     "2\t0\tr",	   "2 0/G r",
		"0\t0/1\tr",	    "-2\t0/1", "2x\t0/1\tr", "2\t0/1x\tr", "99999999999\t0/9\tr",
		"4294967296 0/9 r",
	};
	struct wp_timelines t = timelines_of(8, "1\t0/1\tr\n");

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char history[128];
		struct wp_error error = { "" };
		(void)snprintf(history, sizeof(history), "1\t0/1\tr\n\n%s\n", lines[i]);
		CHECK_EQ(wp_timelines_read(&t, 9, wp_span_of(history), &error), WP_PROTO);
		CHECK_HAS(error.text, "timeline 9");
		CHECK_HAS(error.text, "line 3");
	}
	CHECK_EQ(t.current, 8);
}

static void a_history_out_of_order_is_refused(void **state)
{
	struct wp_timelines t;

	CHECK_EQ(wp_timelines_read(&t, 9, wp_span_of("2\t0/1\tr\n2\t0/2\tr\n"), NULL), WP_PROTO);
	CHECK_EQ(wp_timelines_read(&t, 9, wp_span_of("2\t0/1\tr\n1\t0/2\tr\n"), NULL), WP_PROTO);
	CHECK_EQ(wp_timelines_read(&t, 9, wp_span_of("1\t0/2\tr\n2\t0/1\tr\n"), NULL), WP_PROTO);
}

static void a_history_reaching_past_its_own_timeline_is_refused(void **state)
{
	struct wp_timelines t;

	CHECK_EQ(wp_timelines_read(&t, 3, wp_span_of("2\t0/1\tr\n"), NULL), WP_OK);
	CHECK_EQ(wp_timelines_read(&t, 2, wp_span_of("2\t0/1\tr\n"), NULL), WP_PROTO);
	CHECK_EQ(wp_timelines_read(&t, 1, wp_span_of("2\t0/1\tr\n"), NULL), WP_PROTO);
	CHECK_EQ(wp_timelines_read(&t, 0, wp_span_of(NULL), NULL), WP_PROTO);
}

static struct wp_timelines with_switches(uint32_t count)
{
	static char history[(WP_TIMELINES_MAX + 10) * 32];
	size_t size = 0;

	for (uint32_t i = 1; i <= count; i++)
		size += (size_t)snprintf(history + size, sizeof(history) - size, "%u\t0/%X00\tr\n",
					 i, i);
	return timelines_of(count + 1, history);
}

static void as_many_switches_as_fit_are_all_kept(void **state)
{
	struct wp_timelines t = with_switches(WP_TIMELINES_MAX);

	CHECK_EQ(t.count, WP_TIMELINES_MAX);
	CHECK_EQ(wp_timelines_at(&t, 0), 1);
	CHECK_EQ(wp_timelines_at(&t, 0x100), 2);
	t = with_switches(WP_TIMELINES_MAX - 1);
	CHECK_EQ(t.count, WP_TIMELINES_MAX - 1);
}

static void of_more_the_newest_are_kept(void **state)
{
	struct wp_timelines t = with_switches(WP_TIMELINES_MAX + 1);

	CHECK_EQ(t.count, WP_TIMELINES_MAX);
	CHECK_EQ(wp_timelines_at(&t, 0), 2);
	CHECK_EQ(wp_timelines_at(&t, 0x200), 3);
	CHECK_EQ(wp_timelines_at(&t, UINT64_MAX), WP_TIMELINES_MAX + 2);
}

int main(void)
{
	return RUN(PLAIN(timeline_1_has_no_history),
		   PLAIN(an_lsn_belongs_to_the_timeline_that_had_not_ended),
		   PLAIN(a_timeline_that_ended_where_it_began_holds_nothing),
		   PLAIN(comments_blank_lines_and_a_missing_last_newline_are_fine),
		   PLAIN(a_malformed_line_is_refused_and_named),
		   PLAIN(a_history_out_of_order_is_refused),
		   PLAIN(a_history_reaching_past_its_own_timeline_is_refused),
		   PLAIN(as_many_switches_as_fit_are_all_kept), PLAIN(of_more_the_newest_are_kept));
}

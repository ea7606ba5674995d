#include "support/check.h"
#include "walpost/relay/behind_check.h"

static enum wp_behind judge(uint32_t timeline, wp_lsn commit_lsn, const struct wp_timelines *t,
			    wp_lsn server_lsn, wp_lsn wanted_end)
{
	struct wp_position p = { .timeline = timeline, .commit_lsn = commit_lsn };
	wp_lsn end = 12345;

	enum wp_behind behind = wp_behind_judge(&p, t, server_lsn, &end);
	CHECK_EQ(end, wanted_end);
	return behind;
}

/* 1 up to 100, 2 up to 200, then 4. */
static const struct wp_timelines PROMOTED = {
	.current = 4,
	.count = 2,
	.past = { { 1, 100 }, { 2, 200 } },
};

static void on_the_same_timeline_the_end_of_the_log_decides(void **state)
{
	const struct wp_timelines one = { .current = 1 };

	CHECK_EQ(judge(1, 299, &one, 300, 300), WP_BEHIND_NOT);
	CHECK_EQ(judge(1, 300, &one, 300, 300), WP_BEHIND_LOST);
	CHECK_EQ(judge(1, 301, &one, 300, 300), WP_BEHIND_LOST);
	CHECK_EQ(judge(4, 301, &PROMOTED, 300, 300), WP_BEHIND_LOST);
}

static void on_an_older_one_the_place_where_the_server_left_it_decides(void **state)
{
	CHECK_EQ(judge(1, 99, &PROMOTED, 300, 100), WP_BEHIND_NOT);
	CHECK_EQ(judge(1, 100, &PROMOTED, 300, 100), WP_BEHIND_PROMOTED);
	CHECK_EQ(judge(2, 199, &PROMOTED, 300, 200), WP_BEHIND_NOT);
	CHECK_EQ(judge(2, 200, &PROMOTED, 300, 200), WP_BEHIND_PROMOTED);
	CHECK_EQ(judge(2, 1000, &PROMOTED, 300, 200), WP_BEHIND_PROMOTED);
}

static void a_timeline_that_is_not_in_the_servers_past_is_another_branch(void **state)
{
	CHECK_EQ(judge(3, 1, &PROMOTED, 300, 0), WP_BEHIND_NEWER);
	CHECK_EQ(judge(5, 1, &PROMOTED, 300, 0), WP_BEHIND_NEWER);
}

static void without_a_history_the_end_of_the_log_decides(void **state)
{
	const struct wp_timelines unknown = { .current = 3 };

	CHECK_EQ(judge(2, 299, &unknown, 300, 300), WP_BEHIND_NOT);
	CHECK_EQ(judge(2, 300, &unknown, 300, 300), WP_BEHIND_PROMOTED);
	CHECK_EQ(judge(4, 1, &unknown, 300, 0), WP_BEHIND_NEWER);
}

static void what_is_older_than_the_remembered_past_is_judged_by_its_beginning(void **state)
{
	struct wp_timelines full = { .current = 1000, .count = WP_TIMELINES_MAX };

	for (uint32_t i = 0; i < WP_TIMELINES_MAX; i++) {
		full.past[i].timeline = 500 + i;
		full.past[i].ends_at = 5000 + i;
	}
	CHECK_EQ(judge(3, 4999, &full, 9000, 5000), WP_BEHIND_NOT);
	CHECK_EQ(judge(3, 5000, &full, 9000, 5000), WP_BEHIND_PROMOTED);
}

int main(void)
{
	return RUN(PLAIN(on_the_same_timeline_the_end_of_the_log_decides),
		   PLAIN(on_an_older_one_the_place_where_the_server_left_it_decides),
		   PLAIN(a_timeline_that_is_not_in_the_servers_past_is_another_branch),
		   PLAIN(without_a_history_the_end_of_the_log_decides),
		   PLAIN(what_is_older_than_the_remembered_past_is_judged_by_its_beginning));
}

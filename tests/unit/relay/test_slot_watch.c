#include "slot_watch.h"
#include "support/check.h"

static struct wp_slot_watch s;
static struct wp_slot_state slot;

static int set_up(void **state)
{
	wp_slot_watch_init(&s);
	wp_slot_watch_begin(&s, 100, 0);
	slot = (struct wp_slot_state){ .keeping = WP_KEEPING_RESERVED, .server_lsn = 200 };
	return 0;
}

static unsigned judge(int64_t now_ms)
{
	slot.answers++;
	return wp_slot_watch_judge(&s, &slot, now_ms);
}

static void it_is_asked_every_two_seconds_and_an_open_question_is_not_asked_again(void **state)
{
	CHECK(!wp_slot_watch_asks(&s, false, 1999));
	CHECK_EQ(wp_slot_watch_due(&s, false), 2000);
	CHECK(!wp_slot_watch_asks(&s, true, 2000));
	CHECK_EQ(wp_slot_watch_due(&s, true), INT64_MAX);
	CHECK(wp_slot_watch_asks(&s, false, 2000));
}

static void a_slow_answer_is_asked_for_more_seldom_but_once_a_minute(void **state)
{
	(void)judge(600);
	(void)judge(500);
	CHECK_EQ(wp_slot_watch_due(&s, false), 10000);
	(void)judge(30000);
	(void)judge(30000);
	CHECK_EQ(wp_slot_watch_due(&s, false), 60000);
}

/* This process was stopped for a while, perhaps. */
static void one_slow_answer_changes_nothing(void **state)
{
	(void)judge(30000);
	CHECK_EQ(wp_slot_watch_due(&s, false), 2000);
	(void)judge(50);
	CHECK_EQ(wp_slot_watch_due(&s, false), 2000);
}

static void a_loss_is_certain_when_it_is_seen_twice(void **state)
{
	slot.loss.text[0] = 'x';
	CHECK_EQ(judge(100), WP_SLOT_LOSS_SUSPECTED);
	CHECK(s.suspect);
	CHECK_EQ(wp_slot_watch_due(&s, false), 250);
	CHECK_EQ(judge(200), WP_SLOT_LOSS_CERTAIN);
}

static void a_loss_seen_once_is_forgotten(void **state)
{
	slot.loss.text[0] = 'x';
	CHECK_EQ(judge(100), WP_SLOT_LOSS_SUSPECTED);
	slot.loss.text[0] = '\0';
	CHECK_EQ(judge(200), 0);
	CHECK(!s.suspect);
	slot.loss.text[0] = 'x';
	CHECK_EQ(judge(300), WP_SLOT_LOSS_SUSPECTED);
}

/* What was changed while a question was asked is later than the answer before it. */
static void good_is_the_answer_before_the_last(void **state)
{
	(void)judge(100);
	CHECK_EQ(s.good, 100);
	slot.server_lsn = 300;
	(void)judge(200);
	CHECK_EQ(s.good, 200);
	slot.loss.text[0] = 'x';
	(void)judge(300);
	CHECK_EQ(s.good, 200);
}

static void a_suspicion_that_nobody_answers_is_told_each_minute(void **state)
{
	slot.loss.text[0] = 'x';
	(void)judge(100);
	CHECK_EQ(wp_slot_watch_due(&s, true), 60100);
	CHECK(!wp_slot_watch_reminds(&s, 60099));
	CHECK(wp_slot_watch_reminds(&s, 60100));
	CHECK(!wp_slot_watch_reminds(&s, 60101));
}

static void how_the_log_is_kept_is_told_when_it_changes_over_all_streams(void **state)
{
	CHECK_EQ(judge(100), 0);
	slot.keeping = WP_KEEPING_EXTENDED;
	CHECK_EQ(judge(200), WP_SLOT_EXTENDED);
	CHECK_EQ(judge(300), 0);
	wp_slot_watch_begin(&s, 300, 400);
	CHECK_EQ(judge(500), 0);
	slot.keeping = WP_KEEPING_UNRESERVED;
	CHECK_EQ(judge(600), WP_SLOT_UNRESERVED);
	slot.keeping = WP_KEEPING_RESERVED;
	CHECK_EQ(judge(700), WP_SLOT_RESERVED);
}

int main(void)
{
	return RUN(FRESH(it_is_asked_every_two_seconds_and_an_open_question_is_not_asked_again),
		   FRESH(a_slow_answer_is_asked_for_more_seldom_but_once_a_minute),
		   FRESH(one_slow_answer_changes_nothing),
		   FRESH(a_loss_is_certain_when_it_is_seen_twice),
		   FRESH(a_loss_seen_once_is_forgotten), FRESH(good_is_the_answer_before_the_last),
		   FRESH(a_suspicion_that_nobody_answers_is_told_each_minute),
		   FRESH(how_the_log_is_kept_is_told_when_it_changes_over_all_streams));
}

#include "drain.h"

#include <stdio.h>

#include "support/check.h"

static struct wp_drain d;
static struct wp_slot_state slot;

static int set_up(void **state)
{
	d = (struct wp_drain){ 0 };
	slot = (struct wp_slot_state){ .answers = 4 };
	return 0;
}

static enum wp_drain_step step(void)
{
	return wp_drain_step(&d, true, &slot);
}

static void hold(const char *number)
{
	wp_drain_mark(&d, wp_span_of(number));
	wp_drain_commit(&d, 100);
}

static void answer(const char *drains)
{
	slot.answers++;
	(void)snprintf(slot.drains, sizeof(slot.drains), "%s", drains);
}

static void it_holds_at_the_commit_behind_the_mark(void **state)
{
	wp_drain_commit(&d, 50);
	CHECK_EQ(d.state, WP_DRAIN_NONE);
	wp_drain_mark(&d, wp_span_of("123456789"));
	CHECK_EQ(d.state, WP_DRAIN_MARKED);
	CHECK_EQ(step(), WP_DRAIN_WAITS);
	wp_drain_commit(&d, 100);
	CHECK_EQ(d.state, WP_DRAIN_HELD);
	CHECK_EQ(d.lsn, 100);
}

static void a_number_that_is_none_of_ours_marks_nothing(void **state)
{
	wp_drain_mark(&d, wp_span_of(""));
	CHECK_EQ(d.state, WP_DRAIN_NONE);
	wp_drain_mark(&d, wp_span_of("1234567890123456"));
	CHECK_EQ(d.state, WP_DRAIN_NONE);
	wp_drain_mark(&d, wp_span_of("123456789012345"));
	CHECK_EQ(d.state, WP_DRAIN_MARKED);
}

static void it_asks_once_all_is_confirmed_and_stops_when_the_drain_waits(void **state)
{
	hold("123456789");
	CHECK_EQ(wp_drain_step(&d, false, &slot), WP_DRAIN_WAITS);
	CHECK_EQ(step(), WP_DRAIN_ASK);
	slot.asking = true;
	CHECK_EQ(step(), WP_DRAIN_WAITS);
	slot.asking = false;
	answer("111111111 123456789");
	CHECK_EQ(step(), WP_DRAIN_STOP);
	CHECK_EQ(d.state, WP_DRAIN_STOPS);
	wp_drain_begin(&d, WP_DRAIN_REREAD);
	wp_drain_mark(&d, wp_span_of("5"));
	CHECK_EQ(d.state, WP_DRAIN_STOPS);
}

static void an_answer_to_a_question_that_was_under_way_does_not_count(void **state)
{
	hold("123456789");
	slot.asking = true;
	CHECK_EQ(step(), WP_DRAIN_WAITS);
	slot.asking = false;
	answer("");
	CHECK_EQ(step(), WP_DRAIN_ASK);
	answer("123456789");
	CHECK_EQ(step(), WP_DRAIN_STOP);
}

static void a_drain_that_waits_no_more_stops_nobody(void **state)
{
	static const char *const others[] = { "", "1234567890", "12345678", "0123456789", "2 3" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		hold("123456789");
		CHECK_EQ(step(), WP_DRAIN_ASK);
		answer(others[i]);
		CHECK_EQ(step(), WP_DRAIN_GOES_ON);
		CHECK_EQ(d.state, WP_DRAIN_NONE);
	}
}

static void without_an_answer_it_goes_on(void **state)
{
	hold("123456789");
	CHECK_EQ(step(), WP_DRAIN_ASK);
	CHECK_EQ(step(), WP_DRAIN_UNANSWERED);
	CHECK_EQ(d.state, WP_DRAIN_NONE);
}

static void while_events_may_be_lost_it_does_not_stop_in_good_order(void **state)
{
	hold("123456789");
	CHECK_EQ(step(), WP_DRAIN_ASK);
	answer("123456789");
	slot.loss.text[0] = 'x';
	CHECK_EQ(step(), WP_DRAIN_WAITS);
	slot.loss.text[0] = '\0';
	answer("123456789");
	CHECK_EQ(step(), WP_DRAIN_STOP);
}

static void a_stream_that_reads_the_mark_again_forgets_it(void **state)
{
	hold("123456789");
	wp_drain_begin(&d, WP_DRAIN_REREAD);
	CHECK_EQ(d.state, WP_DRAIN_NONE);
	wp_drain_mark(&d, wp_span_of("123456789"));
	wp_drain_begin(&d, WP_DRAIN_BEHIND);
	CHECK_EQ(d.state, WP_DRAIN_NONE);
}

static void a_stream_that_begins_behind_the_mark_asks_anew(void **state)
{
	hold("123456789");
	CHECK_EQ(step(), WP_DRAIN_ASK);
	wp_drain_begin(&d, WP_DRAIN_BEHIND);
	slot = (struct wp_slot_state){ 0 };
	CHECK_EQ(step(), WP_DRAIN_ASK);
	answer("123456789");
	CHECK_EQ(step(), WP_DRAIN_STOP);
}

int main(void)
{
	return RUN(FRESH(it_holds_at_the_commit_behind_the_mark),
		   FRESH(a_number_that_is_none_of_ours_marks_nothing),
		   FRESH(it_asks_once_all_is_confirmed_and_stops_when_the_drain_waits),
		   FRESH(an_answer_to_a_question_that_was_under_way_does_not_count),
		   FRESH(a_drain_that_waits_no_more_stops_nobody),
		   FRESH(without_an_answer_it_goes_on),
		   FRESH(while_events_may_be_lost_it_does_not_stop_in_good_order),
		   FRESH(a_stream_that_reads_the_mark_again_forgets_it),
		   FRESH(a_stream_that_begins_behind_the_mark_asks_anew));
}

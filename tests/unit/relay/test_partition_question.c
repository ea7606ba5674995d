#include "partition_question.h"
#include "support/check.h"

static struct wp_partition_question q;

static int set_up(void **state)
{
	wp_partition_question_init(&q);
	return 0;
}

static enum wp_partition_step step(enum wp_asked asked, int64_t now_ms)
{
	return wp_partition_question_step(&q, asked, now_ms);
}

static void the_first_is_asked_at_once_and_closed_by_its_answer(void **state)
{
	CHECK_EQ(step(WP_ASKED_NOTHING, 1), WP_PARTITIONS_KNOWN);
	CHECK_EQ(wp_partition_question_open(&q, 7, 1), WP_PARTITIONS_ASK);
	CHECK_EQ(step(WP_ASKED_OPEN, 2), WP_PARTITIONS_AWAITED);
	CHECK_EQ(step(WP_ASKED_ANSWERED, 3), WP_PARTITIONS_KNOWN);
}

static void the_same_again_is_asked_ever_more_seldom_up_to_a_second(void **state)
{
	int64_t now_ms = 1000;
	int64_t wait_ms = 40;

	CHECK_EQ(wp_partition_question_open(&q, 7, now_ms), WP_PARTITIONS_ASK);
	for (; wait_ms <= 2560; wait_ms *= 2) {
		int64_t bounded_ms = wait_ms < 1000 ? wait_ms : 1000;
		CHECK_EQ(step(WP_ASKED_ANSWERED, now_ms), WP_PARTITIONS_KNOWN);
		CHECK_EQ(wp_partition_question_open(&q, 7, now_ms), WP_PARTITIONS_AWAITED);
		CHECK_EQ(q.due_ms, now_ms + bounded_ms);
		CHECK_EQ(step(WP_ASKED_ANSWERED, q.due_ms - 1), WP_PARTITIONS_AWAITED);
		now_ms = q.due_ms;
		CHECK_EQ(step(WP_ASKED_ANSWERED, now_ms), WP_PARTITIONS_ASK);
	}
}

static void another_transaction_is_asked_for_after_20_ms(void **state)
{
	CHECK_EQ(wp_partition_question_open(&q, 7, 1000), WP_PARTITIONS_ASK);
	CHECK_EQ(step(WP_ASKED_ANSWERED, 1001), WP_PARTITIONS_KNOWN);
	CHECK_EQ(wp_partition_question_open(&q, 8, 1002), WP_PARTITIONS_AWAITED);
	CHECK_EQ(q.due_ms, 1020);
}

static void one_that_failed_is_told_and_asked_again_in_a_second(void **state)
{
	CHECK_EQ(wp_partition_question_open(&q, 7, 1000), WP_PARTITIONS_ASK);
	CHECK_EQ(step(WP_ASKED_FAILED, 1500), WP_PARTITIONS_UNKNOWN);
	CHECK_EQ(step(WP_ASKED_FAILED, 2499), WP_PARTITIONS_AWAITED);
	CHECK_EQ(step(WP_ASKED_FAILED, 2500), WP_PARTITIONS_ASK);
}

int main(void)
{
	return RUN(FRESH(the_first_is_asked_at_once_and_closed_by_its_answer),
		   FRESH(the_same_again_is_asked_ever_more_seldom_up_to_a_second),
		   FRESH(another_transaction_is_asked_for_after_20_ms),
		   FRESH(one_that_failed_is_told_and_asked_again_in_a_second));
}

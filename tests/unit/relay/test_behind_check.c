#include "support/check.h"
#include "walpost/relay/behind_check.h"

static struct wp_behind_check c;
static struct wp_topic_ends ends;
static struct wp_source_facts f;

static int set_up(void **state)
{
	c = (struct wp_behind_check){ 0 };
	ends = (struct wp_topic_ends){ .state = WP_TOPIC_ENDS_KNOWN };
	f = (struct wp_source_facts){ .timelines.current = 1, .server_lsn = 500 };
	return 0;
}

static enum wp_behind_check_answer step(void)
{
	return wp_behind_check_step(&c, &ends, &f);
}

static void a_server_as_it_was_left_is_not_asked_about(void **state)
{
	struct wp_behind_known known = { .started = true, .timeline = 1, .confirmed_lsn = 500 };

	CHECK(wp_behind_check_reason(&known, &f) == NULL);
	known.confirmed_lsn = 501;
	CHECK(wp_behind_check_reason(&known, &f) != NULL);
	known.confirmed_lsn = 500;
	known.timeline = 2;
	CHECK(wp_behind_check_reason(&known, &f) != NULL);
}

static void at_the_start_the_slot_checkpoint_tells_if_it_can(void **state)
{
	struct wp_behind_known known = { .started = false };

	CHECK(wp_behind_check_reason(&known, &f) == NULL);
	f.slot_checkpoint_readable = true;
	f.slot_checkpoint_owner[0] = 'x';
	f.slot_checkpoint_timeline = 1;
	CHECK(wp_behind_check_reason(&known, &f) == NULL);
	f.slot_checkpoint_transactions = -1;
	CHECK(wp_behind_check_reason(&known, &f) != NULL);
}

static void it_is_asked_once_unless_the_relay_moved_or_another_had_the_slot(void **state)
{
	CHECK(wp_behind_check_asks(&c, 3));
	CHECK(!wp_behind_check_asks(&c, 3));
	CHECK(wp_behind_check_asks(&c, 4));
	wp_behind_check_forget(&c);
	CHECK(wp_behind_check_asks(&c, 4));
}

static void behind_is_believed_after_a_second_look_at_the_server(void **state)
{
	ends.found = true;
	ends.highest = (struct wp_position){ .commit_lsn = 600, .timeline = 1 };
	CHECK(wp_behind_check_asks(&c, 1));
	CHECK_EQ(step(), WP_BEHIND_CHECK_REFRESH);
	CHECK_EQ(step(), WP_BEHIND_CHECK_STOP);
	CHECK(wp_behind_check_asks(&c, 1));
	CHECK_EQ(step(), WP_BEHIND_CHECK_REFRESH);
	f.server_lsn = 700; /* another relay delivered more meanwhile */
	CHECK_EQ(step(), WP_BEHIND_CHECK_GOES_ON);
}

static void what_cannot_be_known_lets_it_go_on(void **state)
{
	ends.state = WP_TOPIC_ENDS_ASKING;
	CHECK_EQ(step(), WP_BEHIND_CHECK_AWAITED);
	ends.state = WP_TOPIC_ENDS_UNKNOWN;
	CHECK_EQ(step(), WP_BEHIND_CHECK_NOT_KNOWN);
	ends.state = WP_TOPIC_ENDS_KNOWN;
	ends.error.text[0] = 'x';
	CHECK_EQ(step(), WP_BEHIND_CHECK_NOT_READ);
	ends.state = WP_TOPIC_ENDS_UNREACHABLE;
	CHECK_EQ(step(), WP_BEHIND_CHECK_RETRY);
}

static void the_highest_position_sent_is_kept(void **state)
{
	struct wp_position first = { .commit_lsn = 200, .ordinal = 2, .timeline = 1 };
	struct wp_position again = { .commit_lsn = 200, .ordinal = 1, .timeline = 1 };

	wp_behind_check_sent(&c, &first);
	wp_behind_check_sent(&c, &again);
	CHECK_EQ(c.delivered.ordinal, 2);
}

int main(void)
{
	return RUN(FRESH(a_server_as_it_was_left_is_not_asked_about),
		   FRESH(at_the_start_the_slot_checkpoint_tells_if_it_can),
		   FRESH(it_is_asked_once_unless_the_relay_moved_or_another_had_the_slot),
		   FRESH(behind_is_believed_after_a_second_look_at_the_server),
		   FRESH(what_cannot_be_known_lets_it_go_on),
		   FRESH(the_highest_position_sent_is_kept));
}

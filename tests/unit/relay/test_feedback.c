#include "support/check.h"
#include "walpost/relay/feedback.h"

#define INTERVAL_MS 200
#define T0 1000000 /* when the stream began */
#define SAFE 500

enum { TIMEOUT_NONE = 0 };

static struct wp_feedback f;

static void begin_with_timeout(int64_t wal_sender_timeout_ms)
{
	wp_feedback_init(&f, INTERVAL_MS);
	wp_feedback_begin(&f, T0, wal_sender_timeout_ms, SAFE);
}

/* A stream that has told SAFE at its begin. */
static int set_up(void **state)
{
	begin_with_timeout(60 * 1000);
	(void)wp_feedback_sent(&f, T0, SAFE);
	return 0;
}

static void ping(int64_t now_ms)
{
	wp_feedback_heard_keepalive(&f, now_ms, true);
}

/* -- when a status leaves ------------------------------------------------- */

static void a_new_stream_tells_safe_within_the_interval(void **state)
{
	begin_with_timeout(TIMEOUT_NONE);
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + INTERVAL_MS);
}

static void without_news_a_status_leaves_after_ten_seconds(void **state)
{
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 10000);
	(void)wp_feedback_sent(&f, T0 + 10000, SAFE);
	wp_feedback_heard_data(&f, T0 + 10000);
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 20000);
}

static void a_status_leaves_within_a_third_of_the_servers_timeout(void **state)
{
	static const struct {
		int64_t timeout_ms;
		int64_t floor_ms;
	} WANTED[] = {
		{ TIMEOUT_NONE, 10000 },
		{ 60000, 10000 },
		{ 30003, 10000 },
		{ 30000, 10000 },
		{ 29997, 9999 },
		{ 5000, 1666 },
		{ 303, 101 },
		{ 300, 100 },
		{ 297, 100 }, /* ten a second is the most */
		{ 1, 100 },
	};

	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++) {
		begin_with_timeout(WANTED[i].timeout_ms);
		CHECK_EQ(wp_feedback_due(&f, 0), T0 + WANTED[i].floor_ms);
	}
}

static void confirm(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		wp_feedback_confirmed(&f);
}

static void many_events_are_told_at_once(void **state)
{
	confirm(WP_FEEDBACK_EVENTS - 1);
	CHECK_EQ(wp_feedback_due(&f, SAFE + 1), T0 + INTERVAL_MS);
	confirm(1);
	CHECK_EQ(wp_feedback_due(&f, SAFE + 1), T0);
	(void)wp_feedback_sent(&f, T0 + 1, SAFE + 1);
	CHECK_EQ(wp_feedback_due(&f, SAFE + 2), T0 + 1 + INTERVAL_MS);
}

/* Of a large transaction: there is no position to tell yet. */
static void many_events_without_progress_are_not_told(void **state)
{
	confirm(10 * WP_FEEDBACK_EVENTS);
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 10000);
	CHECK_EQ(wp_feedback_due(&f, SAFE + 1), T0);
}

static void a_new_stream_counts_anew(void **state)
{
	confirm(WP_FEEDBACK_EVENTS);
	wp_feedback_begin(&f, T0 + 5, TIMEOUT_NONE, SAFE);
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 5 + INTERVAL_MS);
}

static void progress_is_told_at_most_every_interval(void **state)
{
	CHECK_EQ(wp_feedback_due(&f, SAFE + 1), T0 + INTERVAL_MS);
	(void)wp_feedback_sent(&f, T0 + INTERVAL_MS, SAFE + 1);
	CHECK_EQ(wp_feedback_due(&f, SAFE + 1), T0 + INTERVAL_MS + 10000);
	CHECK_EQ(wp_feedback_due(&f, SAFE + 2), T0 + 2 * INTERVAL_MS);
}

static void a_long_interval_does_not_silence_the_relay(void **state)
{
	wp_feedback_init(&f, 3600 * 1000);
	wp_feedback_begin(&f, T0, TIMEOUT_NONE, SAFE);
	(void)wp_feedback_sent(&f, T0, SAFE);
	CHECK_EQ(wp_feedback_due(&f, SAFE + 1), T0 + 10000);
}

static void a_servers_question_is_answered_at_once(void **state)
{
	ping(T0 + 3000);
	CHECK(wp_feedback_due(&f, SAFE) <= T0 + 3000);
	(void)wp_feedback_sent(&f, T0 + 3000, SAFE);
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 3000 + 2000); /* its timeout is 6 s, it seems */
}

/* It asks when it has heard nothing for half of its timeout, which was lowered by a reload. */
static void an_idle_server_whose_timeout_was_lowered_does_not_look_like_one_that_stops(void **state)
{
	static const int64_t TIMEOUTS_MS[] = { 15000, 6000, 1000, 300 };

	for (size_t i = 0; i < sizeof(TIMEOUTS_MS) / sizeof(TIMEOUTS_MS[0]); i++) {
		set_up(state);
		bool asked = false;
		unsigned questions = 0;
		for (int64_t now_ms = T0; now_ms < T0 + 120 * 1000; now_ms++) {
			wp_feedback_note(&f, now_ms, SAFE);
			if (!asked && now_ms - f.sent_at_ms >= TIMEOUTS_MS[i] / 2) {
				asked = true;
				questions++;
				ping(now_ms);
			}
			if (now_ms >= wp_feedback_due(&f, SAFE)) {
				asked = false;
				(void)wp_feedback_sent(&f, now_ms, SAFE);
			}
			CHECK(!wp_feedback_server_stops(&f, now_ms));
			CHECK(now_ms - f.sent_at_ms < TIMEOUTS_MS[i]);
		}
		CHECK_EQ(questions, 1);
	}
}

static void a_keepalive_that_asks_nothing_is_not_answered(void **state)
{
	wp_feedback_heard_keepalive(&f, T0 + 3000, false);
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 10000);
}

static void questions_are_answered_at_most_ten_times_a_second(void **state)
{
	int64_t now_ms = T0 + 1000;
	unsigned answers = 0;

	for (; now_ms < T0 + 2000; now_ms++) { /* a stopping server asks all the time */
		ping(now_ms);
		if (now_ms < wp_feedback_due(&f, SAFE))
			continue;
		(void)wp_feedback_sent(&f, now_ms, SAFE);
		answers++;
	}
	CHECK_EQ(answers, 10);
}

static void progress_does_not_leave_before_the_interval_though_asked_just_before(void **state)
{
	ping(T0 + 1500);
	(void)wp_feedback_sent(&f, T0 + 1500, SAFE);
	CHECK_EQ(wp_feedback_due(&f, SAFE + 1), T0 + 1500 + INTERVAL_MS);
}

/* -- silence -------------------------------------------------------------- */

static void after_fifteen_seconds_of_silence_we_ask(void **state)
{
	CHECK(!wp_feedback_sent(&f, T0 + 10000, SAFE));
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 15000);
	struct wp_feedback early = f;
	CHECK(!wp_feedback_sent(&early, T0 + 14999, SAFE));
	CHECK(wp_feedback_sent(&f, T0 + 15000, SAFE));
}

static void we_ask_once_until_something_is_heard(void **state)
{
	CHECK(wp_feedback_sent(&f, T0 + 15000, SAFE));
	CHECK(!wp_feedback_sent(&f, T0 + 16000, SAFE));
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 26000);
	wp_feedback_heard_keepalive(&f, T0 + 17000, false);
	CHECK(!wp_feedback_sent(&f, T0 + 31999, SAFE));
	CHECK(wp_feedback_sent(&f, T0 + 32000, SAFE));
}

static void asking_keeps_the_gap_between_statuses(void **state)
{
	(void)wp_feedback_sent(&f, T0 + 14950, SAFE);
	CHECK_EQ(wp_feedback_due(&f, SAFE), T0 + 15050);
}

static void forty_seconds_of_silence_after_asking_are_a_half_open_connection(void **state)
{
	CHECK(!wp_feedback_half_open(&f, T0 + 50000)); /* never asked */
	(void)wp_feedback_sent(&f, T0 + 15000, SAFE);
	CHECK(!wp_feedback_half_open(&f, T0 + 39999));
	CHECK(wp_feedback_half_open(&f, T0 + 40000));
}

static void data_or_a_keepalive_is_life(void **state)
{
	struct wp_feedback by_data = f;
	struct wp_feedback by_keepalive = f;

	(void)wp_feedback_sent(&by_data, T0 + 15000, SAFE);
	(void)wp_feedback_sent(&by_keepalive, T0 + 15000, SAFE);
	wp_feedback_heard_data(&by_data, T0 + 39000);
	wp_feedback_heard_keepalive(&by_keepalive, T0 + 39000, false);
	CHECK(!wp_feedback_half_open(&by_data, T0 + 40000));
	CHECK(!wp_feedback_half_open(&by_keepalive, T0 + 40000));
}

static void while_we_do_not_read_silence_says_nothing(void **state)
{
	(void)wp_feedback_sent(&f, T0 + 15000, SAFE);
	wp_feedback_not_reading(&f, T0 + 39000);
	CHECK(!wp_feedback_half_open(&f, T0 + 60000));
	(void)wp_feedback_sent(&f, T0 + 53999, SAFE);
	CHECK(!wp_feedback_half_open(&f, T0 + 79000));
	CHECK(wp_feedback_sent(&f, T0 + 54000, SAFE)); /* 15 s after we read again */
	CHECK(wp_feedback_half_open(&f, T0 + 79000));
}

/* -- a server that wants to stop ------------------------------------------ */

/* `pings` of them from T0, 100 ms apart. */
static void ping_times(unsigned pings)
{
	for (unsigned i = 0; i < pings; i++)
		ping(T0 + 100 * (int64_t)i);
}

static void five_pings_and_two_seconds_without_progress_mean_it_stops(void **state)
{
	ping_times(5);
	CHECK(!wp_feedback_server_stops(&f, T0 + 1999));
	CHECK(wp_feedback_server_stops(&f, T0 + 2000));
}

static void four_pings_are_not_enough(void **state)
{
	ping_times(4);
	CHECK(!wp_feedback_server_stops(&f, T0 + 60000));
}

static void more_than_five_pings_are_as_good(void **state)
{
	ping_times(6);
	CHECK(wp_feedback_server_stops(&f, T0 + 2000));
}

static void keepalives_that_ask_nothing_are_no_pings(void **state)
{
	ping_times(4);
	for (int i = 0; i < 10; i++)
		wp_feedback_heard_keepalive(&f, T0 + 500 + i, false);
	CHECK(!wp_feedback_server_stops(&f, T0 + 60000));
}

static void data_between_the_pings_starts_the_count_again(void **state)
{
	ping_times(4);
	wp_feedback_heard_data(&f, T0 + 500);
	ping(T0 + 600);
	CHECK(!wp_feedback_server_stops(&f, T0 + 60000));
	for (int i = 0; i < 4; i++)
		ping(T0 + 700);
	CHECK(!wp_feedback_server_stops(&f, T0 + 2599));
	CHECK(wp_feedback_server_stops(&f, T0 + 2600));
}

static void progress_of_safe_starts_the_count_and_the_clock_again(void **state)
{
	ping_times(5);
	wp_feedback_note(&f, T0 + 1500, SAFE + 1);
	CHECK(!wp_feedback_server_stops(&f, T0 + 60000));
	for (int i = 0; i < 5; i++)
		ping(T0 + 1600);
	CHECK(!wp_feedback_server_stops(&f, T0 + 3599));
	CHECK(wp_feedback_server_stops(&f, T0 + 3600));
}

static void noting_the_same_safe_changes_nothing(void **state)
{
	ping_times(5);
	wp_feedback_note(&f, T0 + 1999, SAFE);
	CHECK(wp_feedback_server_stops(&f, T0 + 2000));
}

static void a_status_of_ours_is_no_progress(void **state)
{
	ping_times(5);
	(void)wp_feedback_sent(&f, T0 + 1000, SAFE);
	CHECK(wp_feedback_server_stops(&f, T0 + 2000));
}

/* -- streams -------------------------------------------------------------- */

static void a_new_stream_starts_all_clocks_again(void **state)
{
	ping_times(5);
	(void)wp_feedback_sent(&f, T0 + 15000, SAFE);
	ping(T0 + 20000);
	wp_feedback_begin(&f, T0 + 60000, 3000, SAFE);
	CHECK(!wp_feedback_server_stops(&f, T0 + 100000));
	CHECK(!wp_feedback_half_open(&f, T0 + 100000));
	CHECK_EQ(wp_feedback_due(&f, 0), T0 + 61000);
	CHECK(wp_feedback_sent(&f, T0 + 75000, SAFE));
}

static void a_new_stream_may_begin_lower(void **state)
{
	wp_feedback_begin(&f, T0 + 1000, TIMEOUT_NONE, SAFE - 100);
	(void)wp_feedback_sent(&f, T0 + 1000, SAFE - 100);
	CHECK_EQ(f.sent_flush, SAFE - 100);
}

static void the_highest_flush_of_all_streams_is_kept(void **state)
{
	CHECK_EQ(f.highest_flush, SAFE);
	wp_feedback_begin(&f, T0 + 1000, TIMEOUT_NONE, SAFE - 100);
	(void)wp_feedback_sent(&f, T0 + 1000, SAFE - 100);
	CHECK_EQ(f.highest_flush, SAFE);
	(void)wp_feedback_sent(&f, T0 + 2000, SAFE + 100);
	CHECK_EQ(f.highest_flush, SAFE + 100);
}

static void another_owners_positions_make_the_highest_flush_void(void **state)
{
	wp_feedback_forget(&f);
	CHECK_EQ(f.highest_flush, 0);
}

int main(void)
{
	return RUN(
		FRESH(a_new_stream_tells_safe_within_the_interval),
		FRESH(without_news_a_status_leaves_after_ten_seconds),
		FRESH(a_status_leaves_within_a_third_of_the_servers_timeout),
		FRESH(progress_is_told_at_most_every_interval), FRESH(many_events_are_told_at_once),
		FRESH(many_events_without_progress_are_not_told), FRESH(a_new_stream_counts_anew),
		FRESH(a_long_interval_does_not_silence_the_relay),
		FRESH(a_servers_question_is_answered_at_once),
		FRESH(an_idle_server_whose_timeout_was_lowered_does_not_look_like_one_that_stops),
		FRESH(a_keepalive_that_asks_nothing_is_not_answered),
		FRESH(questions_are_answered_at_most_ten_times_a_second),
		FRESH(progress_does_not_leave_before_the_interval_though_asked_just_before),
		FRESH(after_fifteen_seconds_of_silence_we_ask),
		FRESH(we_ask_once_until_something_is_heard),
		FRESH(asking_keeps_the_gap_between_statuses),
		FRESH(forty_seconds_of_silence_after_asking_are_a_half_open_connection),
		FRESH(data_or_a_keepalive_is_life),
		FRESH(while_we_do_not_read_silence_says_nothing),
		FRESH(five_pings_and_two_seconds_without_progress_mean_it_stops),
		FRESH(four_pings_are_not_enough), FRESH(more_than_five_pings_are_as_good),
		FRESH(keepalives_that_ask_nothing_are_no_pings),
		FRESH(data_between_the_pings_starts_the_count_again),
		FRESH(progress_of_safe_starts_the_count_and_the_clock_again),
		FRESH(noting_the_same_safe_changes_nothing), FRESH(a_status_of_ours_is_no_progress),
		FRESH(a_new_stream_starts_all_clocks_again), FRESH(a_new_stream_may_begin_lower),
		FRESH(the_highest_flush_of_all_streams_is_kept),
		FRESH(another_owners_positions_make_the_highest_flush_void));
}

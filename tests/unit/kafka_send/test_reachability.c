#include "reachability.h"
#include "support/check.h"

#define DOWN RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN
#define BROKEN RD_KAFKA_RESP_ERR__TRANSPORT
#define LOGIN RD_KAFKA_RESP_ERR__AUTHENTICATION
#define TLS RD_KAFKA_RESP_ERR__SSL

enum { PATIENCE_MS = 2000 };

static struct wp_reachability reached_at(int64_t now_ms)
{
	struct wp_reachability r;

	wp_reachability_init(&r);
	wp_reachability_opened(&r, 0);
	wp_reachability_heard(&r, now_ms);
	return r;
}

static void one_unanswered_question_after_a_broken_connection_is_no_outage(void **state)
{
	struct wp_reachability r = reached_at(100);

	CHECK(!wp_reachability_error(&r, BROKEN, "Connect failed: refused", 200));
	CHECK(r.is_suspect);
	wp_reachability_unheard(&r, "timed out");
	CHECK(r.is_reachable);
	wp_reachability_unheard(&r, "timed out");
	CHECK(!r.is_reachable);
	CHECK_HAS(r.outage.text, "Connect failed: refused"); /* it says more than "timed out" */
}

static void all_brokers_down_counts_as_one_silence(void **state)
{
	struct wp_reachability r = reached_at(100);

	CHECK(!wp_reachability_error(&r, DOWN, "2/2 brokers are down", 200));
	CHECK(r.is_reachable);
	wp_reachability_unheard(&r, "timed out");
	CHECK(!r.is_reachable);
	CHECK_HAS(r.outage.text, "timed out");
}

static void silence_without_a_broken_connection_is_an_outage(void **state)
{
	struct wp_reachability r = reached_at(100);

	wp_reachability_unheard(&r, "timed out");
	CHECK(!r.is_reachable);
	wp_reachability_heard(&r, 5000);
	CHECK(r.is_reachable && r.is_back);
	CHECK_EQ(wp_reachability_probe_due(&r, false, PATIENCE_MS), 5000);
	wp_reachability_probed(&r, 5000, PATIENCE_MS);
	CHECK_EQ(wp_reachability_probe_due(&r, false, PATIENCE_MS), INT64_MAX);
}

static void a_probe_is_due_when_what_is_in_flight_is_met_with_silence(void **state)
{
	struct wp_reachability r = reached_at(100);

	CHECK_EQ(wp_reachability_probe_due(&r, false, PATIENCE_MS), INT64_MAX);
	CHECK_EQ(wp_reachability_probe_due(&r, true, PATIENCE_MS), 3100);
	wp_reachability_sent(&r, 1000);
	CHECK_EQ(wp_reachability_probe_due(&r, true, PATIENCE_MS), 4000);
	wp_reachability_probed(&r, 4000, PATIENCE_MS);
	CHECK_EQ(wp_reachability_probe_due(&r, true, PATIENCE_MS), 6000);
}

static void a_login_refused_before_the_first_contact_is_the_configurations(void **state)
{
	struct wp_reachability r;

	wp_reachability_init(&r);
	CHECK(!wp_reachability_error(&r, BROKEN, "Connect failed: refused", 100));
	CHECK(wp_reachability_error(&r, LOGIN, "wrong password", 100));
	wp_reachability_heard(&r, 200);
	CHECK(!wp_reachability_error(&r, LOGIN, "wrong password", 300));
}

static void tls_is_wrong_when_it_fails_for_three_seconds_before_the_first_contact(void **state)
{
	struct wp_reachability r;

	wp_reachability_init(&r);
	CHECK_EQ(wp_reachability_tls_wrong_at(&r), INT64_MAX);
	CHECK(!wp_reachability_error(&r, TLS, "first", 100));
	CHECK(!wp_reachability_error(&r, TLS, "second", 900));
	CHECK_EQ(wp_reachability_tls_wrong_at(&r), 3100);
	CHECK_TEXT(r.tls_failure.text, "first");
	wp_reachability_heard(&r, 1000);
	CHECK_EQ(wp_reachability_tls_wrong_at(&r), INT64_MAX);
	CHECK(!wp_reachability_error(&r, TLS, "third", 1100));
	CHECK_EQ(wp_reachability_tls_wrong_at(&r), INT64_MAX);
}

static void the_silence_of_a_broker_that_throttles_us_is_no_outage(void **state)
{
	struct wp_reachability r = reached_at(100);

	r.is_throttled = true;
	CHECK(!wp_reachability_error(&r, BROKEN, "timed out", 200));
	wp_reachability_unheard(&r, "timed out");
	wp_reachability_unheard(&r, "timed out");
	CHECK(r.is_reachable);
	r.is_throttled = false;
	wp_reachability_unheard(&r, "timed out");
	wp_reachability_unheard(&r, "timed out");
	CHECK(!r.is_reachable);
}

static void who_confirms_records_while_a_question_waits_is_there(void **state)
{
	struct wp_reachability r = reached_at(100);

	wp_reachability_probed(&r, 200, PATIENCE_MS);
	wp_reachability_heard(&r, 300);
	wp_reachability_unheard(&r, "timed out");
	CHECK(r.is_reachable);
	wp_reachability_probed(&r, 3000, PATIENCE_MS);
	wp_reachability_sent(&r, 3100);
	wp_reachability_unheard(&r, "timed out");
	CHECK(!r.is_reachable);
}

static void a_name_that_a_broker_advertises_is_told_to_be_so(void **state)
{
	struct wp_reachability r;

	wp_reachability_init(&r);
	wp_reachability_unheard(&r, "k-0.k:9092/1: Failed to resolve 'k-0.k:9092'");
	CHECK_HAS(r.outage.text, "advertised.listeners");
	wp_reachability_unheard(&r, "k:9092/bootstrap: Failed to resolve 'k:9092'");
	CHECK(strstr(r.outage.text, "advertised.listeners") == NULL);
}

int main(void)
{
	return RUN(PLAIN(one_unanswered_question_after_a_broken_connection_is_no_outage),
		   PLAIN(all_brokers_down_counts_as_one_silence),
		   PLAIN(silence_without_a_broken_connection_is_an_outage),
		   PLAIN(a_probe_is_due_when_what_is_in_flight_is_met_with_silence),
		   PLAIN(a_login_refused_before_the_first_contact_is_the_configurations),
		   PLAIN(tls_is_wrong_when_it_fails_for_three_seconds_before_the_first_contact),
		   PLAIN(the_silence_of_a_broker_that_throttles_us_is_no_outage),
		   PLAIN(who_confirms_records_while_a_question_waits_is_there),
		   PLAIN(a_name_that_a_broker_advertises_is_told_to_be_so));
}

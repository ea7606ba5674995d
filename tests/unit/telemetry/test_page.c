#include <stdio.h>

#include "patient.h"
#include "walpost/telemetry/telemetry.h"

static const char *page(void)
{
	wp_verdict_of(&p.telemetry, &p.telemetry.verdict);
	return patient_text(wp_page_html);
}

static void figures_stand_in_it_as_text(void **state)
{
	CHECK_HAS(page(), "<title>walpost: Streaming (orders)</title>");
	CHECK_HAS(page(), "id=\"lag\">4.0 KiB<");
	CHECK_HAS(page(), "id=\"oldest\">none<");
	CHECK_HAS(page(), "4711 confirmed since the start");
	CHECK_HAS(page(), "none: max_slot_wal_keep_size is not set");
}

static void a_refused_reload_stands_over_what_is_in_force(void **state)
{
	assert_null(strstr(page(), "last reload was refused"));
	p.telemetry.reloads.last_refused = true;
	CHECK_HAS(page(), "last reload was refused");
}

static void what_may_be_markup_is_text(void **state)
{
	const struct wp_fact error[] = { WP_TEXT("reason", "<script>&\"x\""),
					 { .kind = WP_FACT_END } };

	wp_log_memory_add(&p.log, 0, WP_LOG_ERROR, "bad", error);
	p.telemetry.slot = "<b>";
	p.telemetry.configuration = "a = <i>\n";
	CHECK_HAS(page(), "&lt;script&gt;&amp;&quot;x&quot;");
	CHECK_HAS(page(), "a = &lt;i&gt;");
	CHECK(strstr(page(), "<b>&") == NULL && strstr(page(), "<i>") == NULL);
}

static void what_would_steer_a_reader_is_escaped(void **state)
{
	const struct wp_fact error[] = { WP_TEXT("reason", "a\x1B[2J\xC2\x9B\xE2\x80\xAE<b>\xFF"),
					 { .kind = WP_FACT_END } };

	wp_log_memory_add(&p.log, 0, WP_LOG_ERROR, "bad", error);
	p.telemetry.configuration = "a = 1\nb = 2\n";
	CHECK_HAS(page(), "a\\x1b[2J\\u009B\\u202E&lt;b&gt;\\xff<");
	CHECK_HAS(page(), "a = 1\nb = 2\n");
}

static void nothing_of_it_comes_from_elsewhere(void **state)
{
	CHECK(strstr(page(), "http:") == NULL);
	CHECK(strstr(page(), "https:") == NULL);
	CHECK(strstr(page(), "src=") == NULL);
	CHECK(strstr(page(), "@import") == NULL);
	CHECK(strstr(page(), "url(") == NULL);
}

static void charts_have_a_point_for_each_sample(void **state)
{
	struct wp_relay_snapshot s = { .state = WP_STREAMING, .confirmed_lsn = 1, .server = 1 };

	CHECK(strstr(page(), "<polyline") == NULL);
	for (int i = 0; i < WP_HISTORY_SAMPLES + 10; i++) {
		s.confirmed += 200;
		wp_history_add(&p.history, 1000 + i * 2000, &s);
	}
	CHECK_EQ(p.history.count, WP_HISTORY_SAMPLES);
	CHECK(wp_history_at(&p.history, 0)->events_s == 100.);
	CHECK_EQ(wp_history_at(&p.history, 0)->at_ms, 1000 + 10 * 2000);
	CHECK_HAS(page(), "id=\"events\">100<");
	CHECK_HAS(page(), "<polyline points=\"0.0,1.0 ");
	CHECK_HAS(page(), " 300.0,1.0 \"/>");
}

/* The text of a chart: its card up to the next. */
static const char *chart(const char *id)
{
	static char text[64 * 1024];
	char open[64];

	(void)snprintf(open, sizeof(open), "id=\"%s\"", id);
	const char *from = strstr(page(), open);
	CHECK(from != NULL);
	const char *to = strstr(from, "class=\"times\"");
	CHECK(to != NULL);
	to = strstr(to, "</div>");
	CHECK(to != NULL && (size_t)(to - from) < sizeof(text));
	memcpy(text, from, (size_t)(to - from));
	text[to - from] = '\0';
	return text;
}

static void charts_have_axes_and_times(void **state)
{
	struct wp_relay_snapshot s = { .state = WP_STREAMING,
				       .confirmed_lsn = 1,
				       .in_flight = 130 };

	s.server = 1 + 3 * 1024 * 1024;
	wp_history_add(&p.history, 1000, &s);
	wp_history_add(&p.history, 3000, &s);
	CHECK_HAS(chart("lag-chart"), "<span>4.0 MiB</span><span>2.0 MiB</span><span>0</span>");
	CHECK_HAS(chart("in-flight-chart"), "<span>200</span><span>100</span><span>0</span>");
	CHECK_HAS(chart("in-flight-chart"), "now 130, highest 130");
	/* 2025-05-08T06:13:20Z and before */
	CHECK_HAS(chart("lag-chart"),
		  "<span>06:08:22</span><span>06:10:51</span><span>06:13:20 UTC</span>");
}

static void a_few_events_in_flight_are_no_mountain(void **state)
{
	struct wp_relay_snapshot s = { .state = WP_STREAMING, .confirmed_lsn = 1, .server = 200 };

	s.in_flight = 3;
	wp_history_add(&p.history, 1000, &s);
	wp_history_add(&p.history, 3000, &s);
	CHECK_HAS(chart("in-flight-chart"), "<span>100</span><span>50</span><span>0</span>");
	CHECK_HAS(chart("lag-chart"), "<span>1.0 MiB</span>");
	CHECK_HAS(chart("events-chart"), "<span>10</span>");
}

static void what_is_not_known_is_no_figure_anywhere(void **state)
{
	struct wp_relay_snapshot *r = &p.telemetry.relay;

	r->state = WP_STANDBY;
	r->holder = "host-b:7:FFEE";
	r->confirmed_lsn = r->read = 0;
	wp_history_add(&p.history, 1000, r);
	wp_history_add(&p.history, 3000, r);
	CHECK_HAS(page(), "id=\"lag\">not known<");
	CHECK_HAS(page(), "<th>confirmed to the server</th><td>not known</td>");
	CHECK(strstr(page(), "0/0") == NULL);
	CHECK_HAS(chart("lag-chart"), "not known");
	CHECK(strstr(chart("lag-chart"), "<polyline") == NULL);
	CHECK(strstr(chart("lag-chart"), ">now") == NULL);
	CHECK_HAS(page(), "relay host-b:7:FFEE streams from the slot");
	CHECK_HAS(page(), "<span class=\"badge\" id=\"state\">Standby</span>");
}

static void a_gap_in_what_is_known_is_a_gap_in_the_line(void **state)
{
	struct wp_relay_snapshot s = { .state = WP_STREAMING, .confirmed_lsn = 1, .server = 2 };

	for (int i = 0; i < 9; i++) {
		s.state = i >= 3 && i < 6 ? WP_STANDBY : WP_STREAMING;
		wp_history_add(&p.history, 1000 + i * 2000, &s);
	}
	const char *first = strstr(chart("lag-chart"), "<polyline");
	CHECK(first != NULL);
	first = strstr(first + 1, "<polyline");
	CHECK(first != NULL && strstr(first + 1, "<polyline") == NULL);
}

static void what_keeps_events_is_told_with_since_when_and_what_to_do(void **state)
{
	CHECK(strstr(page(), "id=\"trouble\"") == NULL);
	p.telemetry.relay.sink_reachable = false;
	p.telemetry.relay.sink_error = "kafka:9092: Connection refused";
	p.telemetry.relay.unreachable_ms = NOW_MS - 51000;
	p.telemetry.relay.in_flight = 3;
	p.telemetry.relay.oldest.any = true;
	p.telemetry.relay.oldest.waiting_ms = 51000; /* and /readyz says ready for 9 s more */
	CHECK_HAS(page(), "<title>walpost: Kafka unreachable (orders)</title>");
	CHECK_HAS(page(), "<span class=\"badge bad\" id=\"state\">Kafka unreachable</span>");
	CHECK_HAS(page(), "<b>Kafka unreachable</b> <span class=\"soft\">since "
			  "2025-05-08T06:12:29Z (51.0 s)</span>");
	CHECK_HAS(page(), "kafka:9092: Connection refused; events wait");
	p.telemetry.relay.sink_error = "";
	CHECK_HAS(page(), "No broker answers; events wait");
	CHECK_HAS(page(), "<strong>What to do:</strong> Check that the brokers are running");
}

static void while_nothing_waits_an_unreachable_kafka_is_a_warning(void **state)
{
	p.telemetry.relay.sink_reachable = false;
	CHECK_HAS(page(), "<span class=\"badge warn\" id=\"state\">Kafka unreachable</span>");
}

static void the_worst_trouble_is_the_badge(void **state)
{
	p.telemetry.relay.halt_event = "slot_moved";
	p.telemetry.relay.halt_error = "somebody moved it";
	p.telemetry.relay.state = WP_HELD;
	p.telemetry.relay.isolating = true;
	CHECK_HAS(page(), "<span class=\"badge bad\" id=\"state\">Halted</span>");
	CHECK_HAS(page(), "<p>slot_moved: somebody moved it</p>");
	CHECK_HAS(page(), "An event was refused");
	/* All that an error can hold ends with what is to be pasted. */
	static char whole[sizeof(((struct wp_error *)0)->text)];
	memset(whole, 'x', sizeof(whole) - 1);
	p.telemetry.relay.halt_error = whole;
	memcpy(whole + sizeof(whole) - 17, "x moves the slot", 17);
	CHECK_HAS(page(), "x moves the slot</p>");
}

static void each_trouble_has_its_words(void **state)
{
	struct wp_relay_snapshot *r = &p.telemetry.relay;

	r->stalled_ms = NOW_MS - 20000;
	CHECK_HAS(page(), "id=\"state\">Kafka confirms nothing<");
	r->waiting = true;
	CHECK_HAS(page(), "id=\"state\">Permission missing<");
	r->waiting_topic = "orders.t";
	r->waiting_ms = NOW_MS - 3000;
	CHECK_HAS(page(), "An event waits for topic orders.t, which is missing or forbidden.");
	r->slot.keeping = WP_KEEPING_UNRESERVED;
	CHECK_HAS(page(), "Slot orders may be lost at the next checkpoint.");
	r->slot.suspect = true;
	CHECK_HAS(page(), "id=\"state\">Events may be lost<");
	r->state = WP_BACKING_OFF;
	r->heard_ms = NOW_MS - 60000;
	CHECK_HAS(page(), "<b>No stream from Postgres</b>");
	r->waiting = false;
	r->sink_throttled = true;
	CHECK_HAS(page(), "<b>Kafka throttles</b>");
	CHECK_HAS(page(), "throttled by a quota");
	r->waiting = true;
	r->sink_data_losses = 2;
	CHECK_HAS(page(), "<b>Kafka lost records</b>");
	p.telemetry.reloads.last_refused = true;
	CHECK_HAS(page(), "<b>Reload refused</b>");
	p.telemetry.step_due_ms = NOW_MS - 60000;
	CHECK_HAS(page(), "id=\"state\">Stuck<");
}

static void whatever_is_not_ready_is_in_trouble(void **state)
{
	p.telemetry.relay.heard_ms = NOW_MS - WP_READY_DEAF_MS;
	CHECK_HAS(page(), "badge bad");
	p.telemetry.relay.heard_ms = NOW_MS;
	p.telemetry.relay.oldest.any = true;
	p.telemetry.relay.oldest.waiting_ms = WP_READY_STALLED_MS;
	p.telemetry.relay.confirmed_ms = INT64_MIN;
	CHECK_HAS(page(), "id=\"state\">Not ready<");
}

static void a_line_of_librdkafka_carries_its_text(void **state)
{
	const struct wp_fact facts[] = { WP_TEXT("facility", "FAIL"),
					 WP_TEXT("text", "broker:9092: Connect failed"),
					 { .kind = WP_FACT_END } };

	wp_log_memory_add(&p.log, 0, WP_LOG_WARN, "kafka_log", facts);
	CHECK_HAS(page(), "kafka_log</td><td class=\"text\">broker:9092: Connect failed<");
}

static void quantiles_have_their_names(void **state)
{
	CHECK(strstr(page(), "id=\"topics\"") == NULL);
	p.meter.topics[0].delivery.count = 1;
	p.meter.topic_count = 1;
	CHECK_HAS(page(), ">p50</th>");
	CHECK_HAS(page(), ">p99</th>");
	CHECK(strstr(page(), ">half<") == NULL);
}

static void what_is_parked_stands_there_only_then(void **state)
{
	p.telemetry.relay.parking.on = p.telemetry.relay.parking.known = true;
	CHECK(strstr(page(), "id=\"parked\"") == NULL);
	park_some();
	CHECK_HAS(page(), "<span class=\"badge warn\" id=\"state\">Events parked</span>");
	CHECK_HAS(page(), "<b>Events parked</b> <span class=\"soft\">since "
			  "2025-05-08T06:11:49Z (90.5 s)</span>");
	CHECK_HAS(page(), "Run walpost parked list");
	CHECK_HAS(page(), "id=\"parked\"");
	CHECK_HAS(page(), "<th>MSG_SIZE_TOO_LARGE</th><td>2</td>");
	CHECK_HAS(page(), "<th>events</th><td>17</td>");
	CHECK_HAS(page(), "<th>oldest parked for</th><td>90.5 s</td>");
	CHECK_HAS(page(), "<th>failed attempts</th><td>5</td>");
	CHECK(strstr(page(), "GONE") == NULL);
	p.telemetry.relay.parking.known = false; /* as of a stream that is over */
	CHECK(strstr(page(), "id=\"parked\"") == NULL);
}

static void a_table_that_cannot_be_written_is_in_trouble(void **state)
{
	struct wp_relay_snapshot *r = &p.telemetry.relay;

	r->parking.on = r->parking.ready = r->parking.known = true;
	r->parking.trouble = "permission denied for table parked";
	r->parking.trouble_ms = NOW_MS - 20000;
	CHECK_HAS(page(), "badge warn\" id=\"state\">Parking unavailable<");
	CHECK_HAS(page(), "<b>Parking unavailable</b> <span class=\"soft\">since "
			  "2025-05-08T06:13:00Z (20.0 s)</span>");
	CHECK_HAS(page(), "cannot be read or written: permission denied for table parked");
	CHECK_HAS(page(), "id=\"parked\"");
	r->stalled_ms = NOW_MS - 15000;
	CHECK_HAS(page(), "badge bad\" id=\"state\">Parking unavailable<");
	CHECK(strstr(page(), "Kafka confirms nothing") == NULL);
	r->stalled_ms = INT64_MIN;
	r->parking.ready = false;
	CHECK_HAS(page(), "badge bad\" id=\"state\">Parking unavailable<");
}

static void every_element_is_closed(void **state)
{
	static const char *const names[] = { "main",  "section", "div",	    "table", "tr",
					     "td",    "th",	 "span",    "b",     "h1",
					     "h2",    "header",	 "footer",  "svg",   "a",
					     "p",     "details", "summary", "pre",   "script",
					     "style", "body",	 "html",    "head",  "title",
					     "ul",    "li",	 "strong" };
	p.telemetry.relay.sink_reachable = false;
	park_some();
	const char *text = page();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char open[16], open_with[16], close[16];
		int opened = 0, closed = 0;
		(void)snprintf(open, sizeof(open), "<%s>", names[i]);
		(void)snprintf(open_with, sizeof(open_with), "<%s ", names[i]);
		(void)snprintf(close, sizeof(close), "</%s>", names[i]);
		for (const char *at = text; (at = strchr(at, '<')) != NULL; at++) {
			opened += strncmp(at, open, strlen(open)) == 0 ||
				  strncmp(at, open_with, strlen(open_with)) == 0;
			closed += strncmp(at, close, strlen(close)) == 0;
		}
		CHECK(opened > 0);
		CHECK_EQ(opened, closed);
	}
}

static void no_buffer_is_overrun(void **state)
{
	patient_bounded(wp_page_html);
}

int main(void)
{
	return RUN(TEST(figures_stand_in_it_as_text),
		   TEST(a_refused_reload_stands_over_what_is_in_force),
		   TEST(what_may_be_markup_is_text), TEST(what_would_steer_a_reader_is_escaped),
		   TEST(nothing_of_it_comes_from_elsewhere),
		   TEST(charts_have_a_point_for_each_sample), TEST(charts_have_axes_and_times),
		   TEST(a_few_events_in_flight_are_no_mountain),
		   TEST(what_is_not_known_is_no_figure_anywhere),
		   TEST(a_gap_in_what_is_known_is_a_gap_in_the_line),
		   TEST(what_keeps_events_is_told_with_since_when_and_what_to_do),
		   TEST(while_nothing_waits_an_unreachable_kafka_is_a_warning),
		   TEST(the_worst_trouble_is_the_badge), TEST(each_trouble_has_its_words),
		   TEST(whatever_is_not_ready_is_in_trouble),
		   TEST(a_line_of_librdkafka_carries_its_text), TEST(quantiles_have_their_names),
		   TEST(what_is_parked_stands_there_only_then),
		   TEST(a_table_that_cannot_be_written_is_in_trouble),
		   TEST(every_element_is_closed), TEST(no_buffer_is_overrun));
}

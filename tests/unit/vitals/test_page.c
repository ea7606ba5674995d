#include <stdio.h>

#include "patient.h"
#include "walpost/vitals/page.h"

static struct patient p;

static int set_up(void **state)
{
	(void)state;
	patient_set_up(&p);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	patient_tear_down(&p);
	return 0;
}

static const char *page(void)
{
	wp_verdict_of(&p.vitals, &p.vitals.verdict);
	return patient_text(wp_page_html, &p);
}

static void figures_stand_in_it_as_text(void **state)
{
	CHECK_HAS(page(), "<title>walpost: streaming (orders)</title>");
	CHECK_HAS(page(), "id=\"lag\">4.0 KiB<");
	CHECK_HAS(page(), "id=\"oldest\">none<");
	CHECK_HAS(page(), "4711 confirmed since the start");
	CHECK_HAS(page(), "none: max_slot_wal_keep_size is not set");
}

static void a_refused_reload_stands_over_what_is_in_force(void **state)
{
	assert_null(strstr(page(), "last reload was refused"));
	p.vitals.reloads.last_refused = true;
	CHECK_HAS(page(), "last reload was refused");
}

static void what_may_be_markup_is_text(void **state)
{
	const struct wp_fact why[] = { WP_TEXT("why", "<script>&\"x\""), { .kind = WP_FACT_END } };

	wp_log_memory_add(&p.log, 0, WP_LOG_ERROR, "bad", why);
	p.vitals.slot = "<b>";
	p.vitals.configuration = "a = <i>\n";
	CHECK_HAS(page(), "&lt;script&gt;&amp;&quot;x&quot;");
	CHECK_HAS(page(), "a = &lt;i&gt;");
	CHECK(strstr(page(), "<b>&") == NULL && strstr(page(), "<i>") == NULL);
}

static void what_would_steer_a_reader_is_escaped(void **state)
{
	const struct wp_fact why[] = { WP_TEXT("why", "a\x1B[2J\xC2\x9B\xE2\x80\xAE<b>\xFF"),
				       { .kind = WP_FACT_END } };

	wp_log_memory_add(&p.log, 0, WP_LOG_ERROR, "bad", why);
	p.vitals.configuration = "a = 1\nb = 2\n";
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
	struct wp_relay_snapshot s = { 0 };

	CHECK(strstr(page(), "<polyline") == NULL);
	for (int i = 0; i < WP_HISTORY_SAMPLES + 10; i++) {
		s.confirmed += 200;
		wp_history_add(&p.history, 1000 + i * 2000, &s);
	}
	CHECK_EQ(p.history.count, WP_HISTORY_SAMPLES);
	CHECK(wp_history_at(&p.history, 0)->events_s == 100.);
	CHECK_EQ(wp_history_at(&p.history, 0)->at_ms, 1000 + 10 * 2000);
	CHECK_HAS(page(), "id=\"events\">100<");
	CHECK_HAS(page(), "<polyline points=\"0.0,2.0 ");
	CHECK_HAS(page(), " 300.0,2.0 \"/>");
}

static void trouble_is_told_in_the_words_of_the_log(void **state)
{
	CHECK_HAS(page(), "<p class=\"soft\">None.</p>");
	p.vitals.relay.halt_event = "slot_moved";
	p.vitals.relay.halt_why = "somebody moved it";
	p.vitals.relay.state = WP_HELD;
	p.vitals.relay.isolating = true;
	CHECK_HAS(page(), "<th>slot_moved</th><td>somebody moved it</td>");
	CHECK_HAS(page(), "class=\"badge bad\"");
	CHECK_HAS(page(), "an event was refused");
}

static void every_element_is_closed(void **state)
{
	static const char *const names[] = { "main",  "section", "div",	    "table", "tr",
					     "td",    "th",	 "span",    "b",     "h1",
					     "h2",    "header",	 "footer",  "svg",   "a",
					     "p",     "details", "summary", "pre",   "script",
					     "style", "body",	 "html",    "head",  "title",
					     "ul",    "li" };
	p.vitals.relay.sink_reachable = false;
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
		CHECK(opened > 0 || strcmp(names[i], "p") == 0);
		CHECK_EQ(opened, closed);
	}
}

static void no_buffer_is_overrun(void **state)
{
	patient_bounded(wp_page_html, &p);
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(figures_stand_in_it_as_text),
		TEST(a_refused_reload_stands_over_what_is_in_force),
		TEST(what_may_be_markup_is_text),
		TEST(what_would_steer_a_reader_is_escaped),
		TEST(nothing_of_it_comes_from_elsewhere),
		TEST(charts_have_a_point_for_each_sample),
		TEST(trouble_is_told_in_the_words_of_the_log),
		TEST(every_element_is_closed),
		TEST(no_buffer_is_overrun),
	};

	return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}

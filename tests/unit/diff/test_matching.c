#include <stdio.h>
#include <string.h>

#include "support/memory.h"
#include "records.h"
#include "support/check.h"
#include "walpost/diff/matching.h"

static const struct wp_matching_setup roomy = {
	.id_header = "id",
	.rows_max = 100000,
	.whole_size_max = 1 << 20,
	.size_max = 2 << 20,
	.shown_max = 3,
};

static struct wp_matching *t;

static void tally_with(const struct wp_matching_setup *setup)
{
	wp_matching_free(t);
	t = NULL;
	CHECK_EQ(wp_matching_new(setup, &t), WP_OK);
}

static int set_up(void **state)
{
	tally_with(&roomy);
	return 0;
}

static int tear_down(void **state)
{
	wp_matching_free(t);
	t = NULL;
	return 0;
}

static void expect(const char *id, const char *topic)
{
	struct headers headers = headers_of(id);
	struct wp_record record = record_with(&headers);

	record.topic = wp_span_of(topic);
	CHECK_EQ(wp_matching_expect(t, 0, &record, 0), WP_OK);
}

static void take(const char *id, const char *topic, const char *value)
{
	struct headers headers = headers_of(id);
	struct wp_record record = record_with(&headers);

	record.topic = wp_span_of(topic);
	record.value = wp_span_of(value);
	CHECK_EQ(wp_matching_take(t, &record, 17), WP_OK);
}

#define GOOD "{\"n\": 1}"
#define BAD "{\"n\": 2}"

static void rows_are_equal_different_or_missing(void **state)
{
	struct wp_matching_row row;

	expect("1", "orders");
	expect("2", "orders");
	expect("3", "orders");
	take("2", "orders", BAD);
	take("1", "orders", GOOD);
	take("9", "orders", GOOD);
	const struct wp_matching_counts *c = wp_matching_finish(t);
	CHECK_EQ(c->rows, 3);
	CHECK_EQ(c->equal, 1);
	CHECK_EQ(c->different, 1);
	CHECK_EQ(c->missing, 1);
	CHECK_EQ(c->records, 3);
	CHECK_EQ(c->foreign, 1);
	CHECK_EQ(c->parts[WP_PART_VALUE], 1);
	CHECK_EQ(c->parts[WP_PART_KEY], 0);
	wp_matching_row(t, 2, &row);
	CHECK_EQ(row.verdict, WP_VERDICT_MISSING);
	CHECK_SPAN(row.id, "3");
	CHECK_SPAN(row.topic, "orders");
}

static void a_difference_is_kept_with_a_piece_of_both_sides(void **state)
{
	expect("1", "orders");
	take("1", "orders", BAD);
	(void)wp_matching_finish(t);
	const struct wp_shown *shown = wp_matching_shown(t, 0);
	CHECK_EQ(shown->row, 0);
	CHECK_TEXT(shown->topic, "orders");
	CHECK_EQ(shown->partition, 2);
	CHECK_EQ(shown->offset, 17);
	CHECK_EQ(shown->count, 1);
	CHECK_EQ(shown->parts[0].at, 6);
	CHECK_EQ(shown->parts[0].wanted.count, 8);
	assert_memory_equal(shown->parts[0].wanted.bytes, GOOD, 8);
	assert_memory_equal(shown->parts[0].found.bytes, BAD, 8);
	CHECK(wp_matching_shown(t, 1) == NULL);
}

static void a_window_begins_at_a_character_shortly_before_the_difference(void **state)
{
	/* 60 bytes, each two of which are one character. */
	char umlauts[61] = "", value[80];
	struct headers headers = headers_of("1");
	struct wp_record record = record_with(&headers);

	for (size_t i = 0; i < 60; i += 2)
		memcpy(umlauts + i, "\xc3\xa4", 3);
	(void)snprintf(value, sizeof(value), "%sx", umlauts);
	record.value = wp_span_of(value);
	CHECK_EQ(wp_matching_expect(t, 0, &record, 0), WP_OK);
	umlauts[59] = '\xb6'; /* the second byte of the last one */
	take("1", "orders", umlauts);
	(void)wp_matching_finish(t);
	const struct wp_window *window = &wp_matching_shown(t, 0)->parts[0].wanted;
	CHECK_EQ(wp_matching_shown(t, 0)->parts[0].at, 59);
	CHECK_EQ(window->from, 34);
	CHECK_EQ(window->size, 61);
	CHECK_EQ(window->count, 27);
}

static void a_window_ends_with_a_character(void **state)
{
	char value[80];
	struct headers headers = headers_of("1");
	struct wp_record record = record_with(&headers);

	/* The last place of the window is the first byte of a character. */
	(void)snprintf(value, sizeof(value), "%063d\xe2\x82\xac and more", 0);
	record.value = wp_span_of(value);
	CHECK_EQ(wp_matching_expect(t, 0, &record, 0), WP_OK);
	take("1", "orders", BAD);
	(void)wp_matching_finish(t);
	CHECK_EQ(wp_matching_shown(t, 0)->parts[0].wanted.count, 63);
}

static void headers_are_counted_by_name_and_each_row_once(void **state)
{
	struct headers headers = headers_of("1");

	expect("1", "orders");
	headers.items[1].value = wp_span_of("made");
	add_header(&headers, "trace", wp_span_of("5"));
	struct wp_record record = record_with(&headers);
	CHECK_EQ(wp_matching_take(t, &record, 1), WP_OK);
	CHECK_EQ(wp_matching_take(t, &record, 2), WP_OK);
	const struct wp_matching_counts *c = wp_matching_finish(t);
	CHECK_EQ(c->header_count, 2);
	CHECK_TEXT(c->headers[0].name, "type");
	CHECK_EQ(c->headers[0].rows, 1);
	CHECK_TEXT(c->headers[1].name, "trace");
	CHECK_EQ(c->parts[WP_PART_HEADER], 1);
	CHECK_EQ(c->repeated, 1);
	CHECK_EQ(c->repeated_unequal, 1);
}

static void an_id_is_the_same_in_all_forms(void **state)
{
	static const char *const forms[] = {
		"7-a", "\"7-a\"", "{\"schema\":{\"type\":\"string\"},\"payload\":\"7-a\"}",
		"{\"schema\":{},\"payload\":\"7\\u002da\"}"
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		for (size_t j = 0; j < sizeof(forms) / sizeof(forms[0]); j++) {
			tally_with(&roomy);
			expect(forms[i], "orders");
			take(forms[j], "orders", GOOD);
			const struct wp_matching_counts *c = wp_matching_finish(t);
			CHECK_EQ(c->missing, 0);
			CHECK_EQ(c->foreign, 0);
		}
	}
}

static void a_number_is_an_id_with_and_without_its_schema(void **state)
{
	expect("12", "orders");
	take("{\"schema\":{\"type\":\"int64\"},\"payload\":12}", "orders", GOOD);
	CHECK_EQ(wp_matching_finish(t)->missing, 0);
}

static void what_only_looks_like_json_is_an_id_as_it_stands(void **state)
{
	static const char *const ids[] = { "{", "{\"a\":1}", "\"", "\"\\ud800\"", "" };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		expect(ids[i], "orders");
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		take(ids[i], "orders", GOOD);
	CHECK_EQ(wp_matching_finish(t)->equal, 5);
}

static void without_the_header_the_columns_value_is_the_id(void **state)
{
	struct wp_matching_setup setup = roomy;
	struct headers headers = headers_of("1");

	setup.id_header = "event";
	tally_with(&setup);
	expect("1", "orders");
	add_header(&headers, "event", wp_span_of("1"));
	struct wp_record record = record_with(&headers);
	CHECK_EQ(wp_matching_take(t, &record, 1), WP_OK);
	take("1", "orders", GOOD);
	const struct wp_matching_counts *c = wp_matching_finish(t);
	CHECK_EQ(c->missing, 0);
	CHECK_EQ(c->nameless, 1);
}

static void a_record_elsewhere_counts_for_a_row_that_has_none_of_its_own(void **state)
{
	expect("1", "orders");
	expect("2", "orders");
	take("1", "others", GOOD);
	take("2", "others", GOOD);
	take("2", "orders", GOOD);
	const struct wp_matching_counts *c = wp_matching_finish(t);
	CHECK_EQ(c->equal, 1);
	CHECK_EQ(c->different, 1);
	CHECK_EQ(c->parts[WP_PART_TOPIC], 1);
	CHECK_EQ(wp_matching_shown(t, 0)->row, 0);
	CHECK(wp_matching_shown(t, 1) == NULL);
}

static void what_is_certain_is_shown_before_what_is_not(void **state)
{
	struct wp_matching_setup setup = roomy;

	setup.shown_max = 1;
	tally_with(&setup);
	expect("1", "orders");
	expect("2", "orders");
	take("1", "others", GOOD);
	take("1", "orders", GOOD);
	take("2", "orders", BAD);
	(void)wp_matching_finish(t);
	CHECK_EQ(wp_matching_shown(t, 0)->row, 1);
}

static void rows_with_one_id_each_have_their_own_record(void **state)
{
	expect("1", "orders");
	expect("1", "orders");
	expect("1", "others");
	take("1", "orders", GOOD);
	take("1", "others", GOOD);
	take("1", "orders", GOOD);
	const struct wp_matching_counts *c = wp_matching_finish(t);
	CHECK_EQ(c->equal, 3);
	CHECK_EQ(c->repeated, 0);
}

static void of_rows_with_one_id_the_equal_one_is_whose_record_it_is(void **state)
{
	struct headers headers = headers_of("1");
	struct wp_record record = record_with(&headers);

	expect("1", "orders");
	record.value = wp_span_of(BAD);
	CHECK_EQ(wp_matching_expect(t, 1, &record, 0), WP_OK);
	expect("1", "orders");
	take("1", "orders", BAD);
	take("1", "orders", GOOD);
	take("1", "orders", GOOD);
	const struct wp_matching_counts *c = wp_matching_finish(t);
	CHECK_EQ(c->equal, 3);
}

static void beyond_the_first_bound_digests_are_kept(void **state)
{
	static const char one[] = "a value that is longer than sixteen bytes";
	static const char other[] = "a value that is longer than sixteen Bytes";
	struct wp_matching_setup setup = roomy;
	struct headers headers = headers_of("1");
	struct wp_record record = record_with(&headers);

	setup.whole_size_max = 0;
	tally_with(&setup);
	record.value = wp_span_of(one);
	CHECK_EQ(wp_matching_expect(t, 0, &record, 0), WP_OK);
	take("1", "orders", one);
	take("1", "orders", other);
	const struct wp_matching_counts *c = wp_matching_finish(t);
	CHECK_EQ(c->digests, 1);
	CHECK_EQ(c->repeated_unequal, 1);
	const struct wp_shown_part *part = &wp_matching_shown(t, 0)->parts[0];
	CHECK_EQ(part->part, WP_PART_VALUE);
	CHECK_EQ(part->at, WP_AT_UNKNOWN);
	CHECK_EQ(part->wanted.kind, WP_TRACE_DIGEST);
	CHECK_EQ(part->wanted.size, strlen(one));
	CHECK_EQ(part->found.count, strlen(other));
}

static void beyond_the_last_bound_a_row_is_refused(void **state)
{
	struct wp_matching_setup setup = roomy;
	struct headers headers = headers_of("1");
	struct wp_record record = record_with(&headers);

	setup.rows_max = 1;
	tally_with(&setup);
	CHECK_EQ(wp_matching_expect(t, 0, &record, 0), WP_OK);
	CHECK_EQ(wp_matching_expect(t, 0, &record, 0), WP_FULL);
	CHECK_EQ(wp_matching_finish(t)->rows, 1);

	setup = roomy;
	setup.size_max = 100;
	tally_with(&setup);
	CHECK_EQ(wp_matching_expect(t, 0, &record, 0), WP_FULL);
	CHECK_EQ(wp_matching_finish(t)->rows, 0);
}

static void many_rows_are_found_again(void **state)
{
	char id[16];

	for (int i = 0; i < 5000; i++) {
		(void)snprintf(id, sizeof(id), "id %d", i);
		expect(id, "orders");
	}
	for (int i = 4999; i >= 0; i--) {
		(void)snprintf(id, sizeof(id), "id %d", i);
		take(id, "orders", GOOD);
	}
	CHECK_EQ(wp_matching_finish(t)->equal, 5000);
}

static void without_rows_all_records_are_foreign(void **state)
{
	take("1", "orders", GOOD);
	CHECK_EQ(wp_matching_finish(t)->foreign, 1);
	wp_matching_free(NULL);
}

static void without_memory_it_says_so_and_goes_on_when_there_is_some(void **state)
{
	struct headers headers = headers_of("\"1\"");
	struct wp_record record = record_with(&headers);
	struct wp_matching *none = NULL;
	size_t failures = 0;

	for (size_t i = 0; i < 2; i++) {
		memory_fails_after(i);
		CHECK_EQ(wp_matching_new(&roomy, &none), WP_NOMEM);
	}
	memory_works();
	enum wp_rc rc = WP_NOMEM;
	while (rc == WP_NOMEM) {
		memory_fails_after(failures);
		rc = wp_matching_expect(t, 0, &record, 0);
		memory_works();
		failures += rc == WP_NOMEM ? 1 : 0;
	}
	CHECK_EQ(rc, WP_OK);
	CHECK(failures > 0);

	tally_with(&roomy);
	expect("1", "orders");
	memory_fails_after(0);
	CHECK_EQ(wp_matching_take(t, &record, 1), WP_NOMEM);
	memory_works();
	CHECK_EQ(wp_matching_take(t, &record, 1), WP_OK);
	CHECK_EQ(wp_matching_finish(t)->missing, 0);
}

int main(void)
{
	return RUN(TEST(rows_are_equal_different_or_missing),
		   TEST(a_difference_is_kept_with_a_piece_of_both_sides),
		   TEST(a_window_begins_at_a_character_shortly_before_the_difference),
		   TEST(a_window_ends_with_a_character),
		   TEST(headers_are_counted_by_name_and_each_row_once),
		   TEST(an_id_is_the_same_in_all_forms),
		   TEST(a_number_is_an_id_with_and_without_its_schema),
		   TEST(what_only_looks_like_json_is_an_id_as_it_stands),
		   TEST(without_the_header_the_columns_value_is_the_id),
		   TEST(a_record_elsewhere_counts_for_a_row_that_has_none_of_its_own),
		   TEST(what_is_certain_is_shown_before_what_is_not),
		   TEST(rows_with_one_id_each_have_their_own_record),
		   TEST(of_rows_with_one_id_the_equal_one_is_whose_record_it_is),
		   TEST(beyond_the_first_bound_digests_are_kept),
		   TEST(beyond_the_last_bound_a_row_is_refused), TEST(many_rows_are_found_again),
		   TEST(without_rows_all_records_are_foreign),
		   TEST(without_memory_it_says_so_and_goes_on_when_there_is_some));
}

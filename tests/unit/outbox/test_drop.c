#include "support/check.h"
#include "support/rows.h"
#include "walpost/outbox/drop.h"

#define NOON_US INT64_C(43200000000) /* 2000-01-01 12:00 */

static struct wp_outbox_options options;
static struct wp_event event;
static struct wp_error error;

static int set_up(void **state)
{
	options = default_options();
	event = (struct wp_event){ .type = wp_span_of("made") };
	return 0;
}

static enum wp_drop judge(void)
{
	enum wp_drop drop;

	CHECK_EQ(wp_drop_judge(&options, &event, false, NOON_US, &drop, &error), WP_OK);
	return drop;
}

static enum wp_drop with_type(const char *list, const char *type)
{
	options.skip_types = list;
	event.type = wp_span_of(type);
	return judge();
}

static void types_go_by_patterns(void **state)
{
	CHECK_EQ(with_type("", "made"), WP_DROP_NOT);
	CHECK_EQ(with_type("made", "made"), WP_DROP_TYPE);
	CHECK_EQ(with_type("made", "Made"), WP_DROP_NOT);
	CHECK_EQ(with_type("made", "made2"), WP_DROP_NOT);
	CHECK_EQ(with_type(" lost , ma* ", "made"), WP_DROP_TYPE);
	CHECK_EQ(with_type("lost,,*e", "made"), WP_DROP_TYPE);
	CHECK_EQ(with_type(",", ""), WP_DROP_NOT);
	CHECK_EQ(with_type("*", ""), WP_DROP_TYPE);
	event.type = (struct wp_span){ 0 };
	CHECK_EQ(judge(), WP_DROP_NOT);
}

static void expires(enum wp_type type, const char *text, enum wp_drop wanted)
{
	const struct wp_column_type column = { .type = type, .modifier = -1 };

	event.expires = wp_span_of(text);
	event.expires_type = &column;
	CHECK_EQ(judge(), wanted);
}

static void a_time_that_is_over_has_expired(void **state)
{
	expires(WP_TYPE_TIMESTAMPTZ, "2000-01-01 12:00:00+00", WP_DROP_EXPIRED);
	expires(WP_TYPE_TIMESTAMPTZ, "2000-01-01 12:00:00.000001+00", WP_DROP_NOT);
	expires(WP_TYPE_TIMESTAMPTZ, "2000-01-01 13:00:00+02", WP_DROP_EXPIRED);
	expires(WP_TYPE_TIMESTAMP, "2000-01-01 11:59:59", WP_DROP_EXPIRED);
	expires(WP_TYPE_DATE, "2000-01-01", WP_DROP_EXPIRED);
	expires(WP_TYPE_DATE, "2000-01-02", WP_DROP_NOT);
	expires(WP_TYPE_TIMESTAMPTZ, "infinity", WP_DROP_NOT);
	expires(WP_TYPE_TIMESTAMPTZ, "-infinity", WP_DROP_EXPIRED);
	expires(WP_TYPE_INT8, "946728000000", WP_DROP_EXPIRED);
	expires(WP_TYPE_INT8, "946728000001", WP_DROP_NOT);
	expires(WP_TYPE_INT8, "9223372036854775807", WP_DROP_NOT);
	expires(WP_TYPE_INT8, "-9223372036854775808", WP_DROP_EXPIRED);
	options.expired = WP_EXPIRED_SEND;
	expires(WP_TYPE_DATE, "1990-01-01", WP_DROP_NOT);
}

static void what_is_no_time_is_refused(void **state)
{
	static const struct wp_column_type number = { .type = WP_TYPE_INT8, .modifier = -1 };
	static const char *const wrong[] = { "", "soon", "1.5", "12345678901234567890123456" };
	enum wp_drop drop;

	event.expires_type = &number;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		event.expires = wp_span_of(wrong[i]);
		CHECK_EQ(wp_drop_judge(&options, &event, false, NOON_US, &drop, &error), WP_DATA);
		CHECK_EQ(drop, WP_DROP_NOT);
		CHECK_HAS(error.text, "outbox.column.expires");
	}
}

/* Its columns may not be what they seem. */
static void of_an_event_that_was_refused_only_the_type_counts(void **state)
{
	const struct wp_column_type date = { .type = WP_TYPE_DATE, .modifier = -1 };
	enum wp_drop drop;

	event.expires_type = &date;
	event.expires = wp_span_of("1990-01-01");
	CHECK_EQ(wp_drop_judge(&options, &event, true, NOON_US, &drop, &error), WP_OK);
	CHECK_EQ(drop, WP_DROP_NOT);
	options.skip_types = "made";
	CHECK_EQ(wp_drop_judge(&options, &event, true, NOON_US, &drop, &error), WP_OK);
	CHECK_EQ(drop, WP_DROP_TYPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(types_go_by_patterns, set_up),
		cmocka_unit_test_setup(a_time_that_is_over_has_expired, set_up),
		cmocka_unit_test_setup(what_is_no_time_is_refused, set_up),
		cmocka_unit_test_setup(of_an_event_that_was_refused_only_the_type_counts, set_up),
	};

	return cmocka_run_group_tests_name("drop", tests, NULL, NULL);
}

#include "support/check.h"

#include <string.h>

#include "walpost/base/finding.h"

static struct wp_findings f; /* large */

static int none(void **state)
{
	(void)state;
	f.count = 0;
	return 0;
}

static void findings_come_in_order_and_the_first_failure_is_told(void **state)
{
	(void)state;
	CHECK(wp_findings_failure(&f) == NULL);
	wp_findings_add(&f, WP_FINDING_OK, WP_ROOM_SERVER, "a", "fine", "");
	wp_findings_add(&f, WP_FINDING_WARN, WP_ROOM_SLOT, "b", "odd", "cure it");
	CHECK(wp_findings_failure(&f) == NULL);
	CHECK_EQ(f.items[1].reaction, WP_REACT_NONE);
	wp_findings_add(&f, WP_FINDING_FAIL, WP_ROOM_TOPIC, "c", "bad", "");
	wp_findings_add(&f, WP_FINDING_FAIL, WP_ROOM_TOPIC, "d", "bad", "");
	CHECK_EQ(f.count, 4);
	CHECK_TEXT(wp_findings_failure(&f)->name, "c");
	CHECK_EQ(wp_findings_failure(&f)->reaction, WP_REACT_STOP_CONFIG);
	CHECK_TEXT(f.items[1].cure, "cure it");
	CHECK_TEXT(f.items[1].about, "");
}

static void what_is_too_long_is_cut_at_a_character(void **state)
{
	(void)state;
	char what[sizeof(f.items[0].what) + 100];
	const size_t fits = sizeof(f.items[0].what) - 3;
	memset(what, 'x', sizeof(what));
	memcpy(what + fits, "\xe2\x82\xac", 4); /* its last byte has no room */
	const struct wp_finding *item =
		wp_findings_add(&f, WP_FINDING_OK, WP_ROOM_KAFKA, "a", what, "");
	CHECK_EQ(strlen(item->what), fits);
}

static void levels_and_rooms_have_names(void **state)
{
	(void)state;
	CHECK_TEXT(wp_finding_level_name(WP_FINDING_WARN), "warn");
	for (int room = 0; room < WP_ROOM_COUNT; room++)
		CHECK(strlen(wp_finding_room_name((enum wp_finding_room)room)) > 3);
}

static void a_cure_without_room_is_not_cut(void **state)
{
	(void)state;
	struct wp_finding item = { .what = "it's broken", .cure = "SELECT mend();" };
	char said[400];
	wp_finding_say(&item, said, sizeof(said));
	CHECK_TEXT(said, "it's broken; cure: SELECT mend();");
	memset(item.cure, 'x', 381);
	wp_finding_say(&item, said, sizeof(said));
	CHECK_TEXT(said, "it's broken; walpost check prints the cure");
	memset(item.what, 'y', 400);
	wp_finding_say(&item, said, sizeof(said));
	CHECK_EQ(strlen(said), sizeof(said) - 1);
	CHECK_HAS(said, "yyy; walpost check prints the cure");
	*item.cure = '\0';
	item.what[200] = '\0';
	wp_finding_say(&item, said, sizeof(said));
	CHECK_EQ(strlen(said), 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(findings_come_in_order_and_the_first_failure_is_told, none),
		cmocka_unit_test_setup(what_is_too_long_is_cut_at_a_character, none),
		cmocka_unit_test(levels_and_rooms_have_names),
		cmocka_unit_test(a_cure_without_room_is_not_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

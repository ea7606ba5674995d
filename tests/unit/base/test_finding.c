#include "support/check.h"
#include "support/memory.h"

#include <string.h>

#include "walpost/base/finding.h"

static struct wp_findings f;
static int set_up(void **state)
{
	wp_findings_release(&f);
	return 0;
}

static void findings_come_in_order_and_the_first_failure_is_told(void **state)
{
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
	char what[sizeof(f.items[0].what) + 100];
	const size_t fits = sizeof(f.items[0].what) - 3;
	memset(what, 'x', sizeof(what));
	memcpy(what + fits, "\xe2\x82\xac", 4); /* its last byte has no room */
	const struct wp_finding *item =
		wp_findings_add(&f, WP_FINDING_OK, WP_ROOM_KAFKA, "a", what, "");
	CHECK_EQ(strlen(item->what), fits);
}

static void a_cure_that_is_too_long_is_cut_at_a_character(void **state)
{
	char cure[sizeof(f.items[0].cure) + 100];
	const size_t fits = sizeof(f.items[0].cure) - 3;
	memset(cure, 'x', sizeof(cure));
	memcpy(cure + fits, "\xe2\x82\xac", 4);
	const struct wp_finding *item =
		wp_findings_add(&f, WP_FINDING_WARN, WP_ROOM_KAFKA, "a", "odd", cure);
	CHECK_EQ(strlen(item->cure), fits);
}

static void words_of_another_encoding_become_utf8(void **state)
{
	const struct wp_finding *item =
		wp_findings_add(&f, WP_FINDING_FAIL, WP_ROOM_CONNECTION, "a",
				"le r\xf4le n'a pas \xe2\x82\xac", "\xff");
	CHECK_TEXT(item->what, "le r?le n'a pas \xe2\x82\xac");
	CHECK_TEXT(item->cure, "?");
}

static void many_fit(void **state)
{
	for (size_t i = 0; i < WP_FINDINGS_MAX; i++)
		wp_findings_add(&f, WP_FINDING_OK, WP_ROOM_SERVER, i == 0 ? "first" : "a", "", "");
	CHECK_EQ(f.count, WP_FINDINGS_MAX);
	CHECK_TEXT(f.items[0].name, "first");
}

static void without_memory_there_is_a_failure_that_passes(void **state)
{
	memory_fails_after(0);
	wp_findings_add(&f, WP_FINDING_OK, WP_ROOM_SERVER, "a", "fine", "");
	memory_works();
	CHECK_EQ(f.count, 0);
	CHECK_TEXT(wp_findings_failure(&f)->name, "memory");
	CHECK_EQ(wp_findings_failure(&f)->reaction, WP_REACT_RECONNECT);
}

static void levels_and_rooms_have_names(void **state)
{
	CHECK_TEXT(wp_finding_level_name(WP_FINDING_WARN), "warn");
	for (int room = 0; room < WP_ROOM_COUNT; room++)
		CHECK(strlen(wp_finding_room_name((enum wp_finding_room)room)) > 3);
}

static void a_cure_without_room_is_not_cut(void **state)
{
	struct wp_finding item = { .what = "it's broken", .cure = "SELECT mend();" };
	char said[400];
	wp_finding_say(&item, said, sizeof(said));
	CHECK_TEXT(said, "it's broken; cure: SELECT mend()");
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
	return RUN(FRESH(findings_come_in_order_and_the_first_failure_is_told),
		   FRESH(what_is_too_long_is_cut_at_a_character),
		   FRESH(a_cure_that_is_too_long_is_cut_at_a_character),
		   FRESH(words_of_another_encoding_become_utf8),
		   cmocka_unit_test_setup_teardown(many_fit, set_up, set_up),
		   FRESH(without_memory_there_is_a_failure_that_passes),
		   PLAIN(levels_and_rooms_have_names), PLAIN(a_cure_without_room_is_not_cut));
}

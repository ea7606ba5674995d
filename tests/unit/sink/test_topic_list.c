#include <string.h>

#include "support/check.h"
#include "walpost/sink/topic_ends.h"

static void add(struct wp_topic_list *l, const char *name)
{
	wp_topic_list_add(l, name, strlen(name));
}

static void each_name_stands_in_it_once(void **state)
{
	struct wp_topic_list l = { .text = "" };

	add(&l, "a");
	add(&l, "ab");
	add(&l, "a");
	CHECK_TEXT(l.text, "a,ab");
	CHECK(wp_topic_list_has(&l, "a") && wp_topic_list_has(&l, "ab"));
	CHECK(!wp_topic_list_has(&l, "b") && !wp_topic_list_has(&l, "abc"));
	CHECK(!wp_topic_list_has(&l, ""));
}

static void what_is_no_name_does_not(void **state)
{
	struct wp_topic_list l = { .text = "" };

	add(&l, "");
	add(&l, "a,b");
	CHECK_TEXT(l.text, "");
	CHECK(!wp_topic_list_has(&l, ""));
}

static void another_list_is_merged_in(void **state)
{
	struct wp_topic_list l = { .text = "a" };

	wp_topic_list_merge(&l, "");
	wp_topic_list_merge(&l, "b,a,,c,");
	CHECK_TEXT(l.text, "a,b,c");
}

static void what_does_not_fit_is_left_out(void **state)
{
	struct wp_topic_list l = { .text = "" };
	char name[249 + 1];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 40; i++) {
		name[0] = (char)('A' + i);
		add(&l, name);
	}
	CHECK_EQ(strlen(l.text), 16 * 250 - 1);
	add(&l, "last"); /* there is room for a short one still */
	CHECK(wp_topic_list_has(&l, "last"));
	name[0] = 'A';
	CHECK(wp_topic_list_has(&l, name));
}

int main(void)
{
	return RUN(PLAIN(each_name_stands_in_it_once), PLAIN(what_is_no_name_does_not),
		   PLAIN(another_list_is_merged_in), PLAIN(what_does_not_fit_is_left_out));
}

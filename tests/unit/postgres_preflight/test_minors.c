#include "support/check.h"

#include <string.h>

#include "preflight_judge.h"
#include "walpost/postgres/versions.h"

static void a_minor_has_the_bugs_that_later_ones_cure(void **state)
{
	struct wp_minor_bugs bugs = wp_minor_bugs(15, 12);
	CHECK_HAS(bugs.text, "lose rows");
	CHECK_HAS(bugs.text, "; can invalidate a new slot");
	CHECK(strstr(bugs.text, "default") == NULL); /* cured by 15.6 and 15.9 */
	CHECK_EQ(bugs.cured, 20);
	CHECK_EQ(wp_minor_bugs(15, 19).count, 2);
	CHECK_EQ(wp_minor_bugs(15, 20).count, 0);
	CHECK_EQ(wp_minor_bugs(15, 20).cured, 0);
}

static void a_bug_begins_with_the_minor_that_brought_it(void **state)
{
	CHECK(strstr(wp_minor_bugs(17, 4).text, "out of memory") == NULL);
	CHECK_HAS(wp_minor_bugs(17, 5).text, "out of memory");
	CHECK(strstr(wp_minor_bugs(17, 6).text, "out of memory") == NULL);
}

static void majors_differ(void **state)
{
	CHECK_EQ(wp_minor_bugs(18, 1).cured, 4);
	CHECK_EQ(wp_minor_bugs(18, 4).count, 0);
	CHECK_EQ(wp_minor_bugs(14, 20).cured, 21);
	CHECK_EQ(wp_minor_bugs(16, 13).cured, 16);
	CHECK_EQ(wp_minor_bugs(13, 0).count, 0);
	CHECK_EQ(wp_minor_bugs(19, 0).count, 0);
}

static void the_oldest_minors_have_room_for_all(void **state)
{
	for (int major = WP_POSTGRES_OLDEST; major <= WP_POSTGRES_NEWEST; major++) {
		struct wp_minor_bugs bugs = wp_minor_bugs(major, 0);
		CHECK(bugs.count > 0);
		CHECK(strlen(bugs.text) < sizeof(bugs.text) - 1);
	}
}

int main(void)
{
	return RUN(PLAIN(a_minor_has_the_bugs_that_later_ones_cure),
		   PLAIN(a_bug_begins_with_the_minor_that_brought_it), PLAIN(majors_differ),
		   PLAIN(the_oldest_minors_have_room_for_all));
}

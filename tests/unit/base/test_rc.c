#include <string.h>

#include "support/check.h"
#include "walpost/base/error.h"

static void every_reaction_has_a_name_of_its_own(void **state)
{
	for (int i = WP_REACT_NONE; i <= WP_REACT_STOP_HUMAN; i++) {
		CHECK(strcmp(wp_reaction_name((enum wp_reaction)i), "unknown") != 0);
		for (int j = WP_REACT_NONE; j < i; j++)
			CHECK(strcmp(wp_reaction_name((enum wp_reaction)i),
				     wp_reaction_name((enum wp_reaction)j)) != 0);
	}
}

static void a_number_that_is_no_reaction_is_unknown(void **state)
{
	CHECK_TEXT(wp_reaction_name((enum wp_reaction)(WP_REACT_STOP_HUMAN + 1)), "unknown");
}

int main(void)
{
	return RUN(PLAIN(every_reaction_has_a_name_of_its_own),
		   PLAIN(a_number_that_is_no_reaction_is_unknown));
}

#include "torture.h"

#include "support/check.h"

enum { ATTEMPTS_MAX = 20000 };

/* Libraries keep something from their first use. */
static void warm_up(script run)
{
	memory_fails(SIZE_MAX, SHORT_ONCE);
	enum wp_rc rc = run();
	(void)memory_is_back();
	CHECK_EQ(rc, WP_OK);
}

static bool survives(script run, size_t index, enum shortage shortage, bool again)
{
	size_t before = memory_blocks();

	memory_fails(index, shortage);
	enum wp_rc rc = run();
	bool failed = memory_is_back();
	if (rc != WP_OK && (rc != WP_NOMEM || !failed))
		fail_msg("the answer was %d when allocation %zu failed", rc, index);
	/* What a library keeps of its first failure (a translated message) it keeps once. */
	if (memory_blocks() != before && !again)
		return survives(run, index, shortage, true);
	if (memory_blocks() != before)
		fail_msg("%zd blocks left when allocation %zu failed",
			 (ptrdiff_t)(memory_blocks() - before), index);
	return failed;
}

void torture(script run)
{
	warm_up(run);
	for (int shortage = SHORT_ONCE; shortage <= SHORT_FROM_THEN_ON; shortage++) {
		size_t index = 0;
		while (survives(run, index, (enum shortage)shortage, false))
			index++;
		CHECK(index > 0 && index < ATTEMPTS_MAX);
	}
}

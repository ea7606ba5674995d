#include "idempotence.h"
#include "support/check.h"

static void who_never_wrote_is_denied_for_good(void **state)
{
	struct wp_idempotence i = { 0 };

	CHECK_EQ(wp_idempotence_denied(&i, "User:alice", "no"), 0);
	CHECK(!i.is_denied);
}

static void each_denial_in_a_row_waits_longer_up_to_eight_seconds(void **state)
{
	static const int64_t waits_ms[] = { 1000, 2000, 4000, 8000, 8000 };
	struct wp_idempotence i = { 0 };

	wp_idempotence_granted(&i);
	for (size_t n = 0; n < sizeof(waits_ms) / sizeof(waits_ms[0]); n++)
		CHECK_EQ(wp_idempotence_denied(&i, "User:alice", "the broker's sentence"),
			 waits_ms[n]);
	CHECK(i.is_denied);
	CHECK_HAS(i.error.text, "the broker's sentence");
	wp_idempotence_granted(&i);
	CHECK(!i.is_denied);
	CHECK_EQ(wp_idempotence_denied(&i, "User:alice", "no"), 1000);
}

int main(void)
{
	return RUN(PLAIN(who_never_wrote_is_denied_for_good),
		   PLAIN(each_denial_in_a_row_waits_longer_up_to_eight_seconds));
}

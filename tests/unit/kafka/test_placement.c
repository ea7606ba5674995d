#include "support/check.h"
#include "walpost/kafka/properties.h"

/* As Apache Kafka's own tests have them (UtilsTest.testMurmur2), made positive. */
static void murmur2_gives_the_published_values(void **state)
{
	static const struct {
		const char *key;
		int32_t hash;
	} vectors[] = {
		{ "21", -973932308 },
		{ "foobar", -790332482 },
		{ "a-little-bit-long-string", -985981536 },
		{ "a-little-bit-longer-string", -1486304829 },
		{ "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971 },
		{ "abc", 479470107 },
	};
	const struct wp_placement *placement = wp_placement_find("murmur2_random");

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct wp_span key = wp_span_of(vectors[i].key);
		CHECK_EQ(wp_placement_of(placement, key, INT32_MAX, 0),
			 (vectors[i].hash & 0x7fffffff) % INT32_MAX);
		CHECK_EQ(wp_placement_of(placement, key, 12, 0),
			 (vectors[i].hash & 0x7fffffff) % 12);
		CHECK_EQ(wp_placement_of(placement, key, 1, 5), 0);
	}
}

static void a_null_key_goes_where_chance_says(void **state)
{
	static const char *const names[] = { "murmur2_random", "consistent_random",
					     "fnv1a_random" };
	struct wp_span null = { NULL, 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct wp_placement *placement = wp_placement_find(names[i]);
		CHECK_EQ(wp_placement_of(placement, null, 4, 6), 2);
		CHECK_EQ(wp_placement_of(placement, null, 4, UINT64_MAX), 3);
		CHECK(!wp_placement_is_by_key(placement, null));
		CHECK(wp_placement_is_by_key(placement, wp_span_of("a")));
	}
}

static void an_empty_key_is_a_key_but_to_consistent_random(void **state)
{
	struct wp_span empty = wp_span_of("");
	const struct wp_placement *murmur2 = wp_placement_find("murmur2_random");
	const struct wp_placement *consistent = wp_placement_find("consistent_random");

	CHECK_EQ(wp_placement_of(murmur2, empty, 1000, 1),
		 wp_placement_of(murmur2, empty, 1000, 2));
	CHECK_EQ(wp_placement_of(consistent, empty, 1000, 1), 1);
	CHECK_EQ(wp_placement_of(consistent, empty, 1000, 2), 2);
}

static void without_random_a_null_key_always_goes_to_the_same_one(void **state)
{
	static const char *const names[] = { "murmur2", "consistent", "fnv1a" };
	struct wp_span null = { NULL, 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct wp_placement *placement = wp_placement_find(names[i]);
		CHECK_EQ(wp_placement_of(placement, null, 1000, 1),
			 wp_placement_of(placement, null, 1000, 2));
	}
}

static void an_unknown_name_is_none(void **state)
{
	CHECK(wp_placement_find("random") == NULL);
	CHECK(wp_placement_find("") == NULL);
}

int main(void)
{
	return RUN(PLAIN(murmur2_gives_the_published_values),
		   PLAIN(a_null_key_goes_where_chance_says),
		   PLAIN(an_empty_key_is_a_key_but_to_consistent_random),
		   PLAIN(without_random_a_null_key_always_goes_to_the_same_one),
		   PLAIN(an_unknown_name_is_none));
}

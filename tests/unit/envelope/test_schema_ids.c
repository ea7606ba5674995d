#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/envelope/schema_ids.h"

static struct wp_schema_ids *made(const char *list)
{
	struct wp_schema_ids *ids = NULL;
	struct wp_error error;

	if (wp_schema_ids_new(list, &ids, &error) != WP_OK)
		fail_msg("%s", error.text);
	return ids;
}

static void has_prefix(const struct wp_schema_ids *ids, const char *topic, const void *bytes,
		       size_t size)
{
	struct wp_span prefix = wp_schema_ids_prefix(ids, wp_span_of(topic));

	CHECK_EQ(prefix.size, size);
	assert_memory_equal(prefix.data, bytes, size);
}

static void an_id_has_four_bytes_big_endian(void **state)
{
	struct wp_schema_ids *ids = made("orders.events:12 , max:2147483647,zero:0");

	has_prefix(ids, "orders.events", "\0\0\0\0\x0c", 5);
	has_prefix(ids, "max", "\0\x7f\xff\xff\xff", 5);
	has_prefix(ids, "zero", "\0\0\0\0\0", 5);
	wp_schema_ids_free(ids);
}

static void protobuf_has_the_index_of_its_message_behind_it(void **state)
{
	struct wp_schema_ids *ids = made("first:7:0, second:7:1, nested:7:1/0, far:7:64/300");

	has_prefix(ids, "first", "\0\0\0\0\7\0", 6);
	/* One index, 1; then two, 1 and 0; all as zigzag varints. */
	has_prefix(ids, "second", "\0\0\0\0\7\2\2", 7);
	has_prefix(ids, "nested", "\0\0\0\0\7\4\2\0", 8);
	has_prefix(ids, "far", "\0\0\0\0\7\4\x80\x01\xd8\x04", 10);
	wp_schema_ids_free(ids);
}

static void the_first_that_matches_counts_and_a_star_is_any_run(void **state)
{
	struct wp_schema_ids *ids = made("a.b:1,a.*:2,*-events:3,x*y*z:4");

	has_prefix(ids, "a.b", "\0\0\0\0\1", 5);
	has_prefix(ids, "a.c", "\0\0\0\0\2", 5);
	has_prefix(ids, "a.", "\0\0\0\0\2", 5);
	has_prefix(ids, "order-events", "\0\0\0\0\3", 5);
	has_prefix(ids, "xyyz-z", "\0\0\0\0\4", 5);
	CHECK(wp_span_is_null(wp_schema_ids_prefix(ids, wp_span_of("a"))));
	CHECK(wp_span_is_null(wp_schema_ids_prefix(ids, wp_span_of("order-events-x"))));
	CHECK(wp_span_is_null(wp_schema_ids_prefix(ids, wp_span_of("xz"))));
	wp_schema_ids_free(ids);
	ids = made("*:9");
	has_prefix(ids, "whatever", "\0\0\0\0\x09", 5);
	wp_schema_ids_free(ids);
}

static void what_is_no_list_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"a",
		"a:",
		"a:x",
		"a:-1",
		":1",
		"a:1,",
		"a:1 b:2",
		"a b:1",
		"a:2147483648",
		"a:12345678901",
		"a:1:",
		"a:1:x",
		"a:1:0/",
		"a:1:0:0",
		"a:1:1/2/3/4/5/6/7/8/9",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct wp_schema_ids *ids = NULL;
		struct wp_error error;
		CHECK_EQ(wp_schema_ids_new(wrong[i], &ids, &error), WP_CONFIG);
		CHECK(ids == NULL);
		CHECK_HAS(error.text, "outbox.confluent.schemas = ");
	}
}

static void eight_levels_and_1024_items_are_possible(void **state)
{
	static char list[16 * 1025];
	struct wp_schema_ids *ids = made("a:1:1/2/3/4/5/6/7/8");
	struct wp_error error;
	size_t size = 0;

	CHECK_EQ(wp_schema_ids_prefix(ids, wp_span_of("a")).size, 5 + 9);
	wp_schema_ids_free(ids);
	for (int i = 0; i < 1024; i++)
		size += (size_t)snprintf(list + size, sizeof(list) - size, "%st%d:%d",
					 i == 0 ? "" : ",", i, i);
	ids = made(list);
	has_prefix(ids, "t1023", "\0\0\0\x03\xff", 5);
	wp_schema_ids_free(ids);
	(void)snprintf(list + size, sizeof(list) - size, ",t:1");
	CHECK_EQ(wp_schema_ids_new(list, &ids, &error), WP_CONFIG);
	CHECK_HAS(error.text, "more than 1,024 items");
}

static void a_topic_has_at_most_249_letters(void **state)
{
	char list[300];
	struct wp_schema_ids *ids = NULL;
	struct wp_error error;

	memset(list, 'a', sizeof(list));
	memcpy(list + 249, ":1", 3);
	wp_schema_ids_free(made(list));
	list[249] = 'a';
	memcpy(list + 250, ":1", 3);
	CHECK_EQ(wp_schema_ids_new(list, &ids, &error), WP_CONFIG);
}

static struct wp_schema_ids *versions_of(const char *list)
{
	struct wp_schema_ids *versions = NULL;
	struct wp_error error;

	if (wp_schema_versions_new(list, &versions, &error) != WP_OK)
		fail_msg("%s", error.text);
	return versions;
}

static void a_subject_without_an_item_has_the_latest(void **state)
{
	struct wp_schema_ids *none = versions_of("");
	struct wp_schema_ids *some =
		versions_of("orders-value:3,com.example.*:latest:1/0, *-value:2147483647");

	CHECK_EQ(wp_schema_version_find(none, wp_span_of("orders-value")).number, 0);
	CHECK_EQ(wp_schema_version_find(some, wp_span_of("orders-value")).number, 3);
	CHECK(wp_span_is_null(wp_schema_version_find(some, wp_span_of("orders-value")).index));
	CHECK_EQ(wp_schema_version_find(some, wp_span_of("bills-value")).number, 2147483647);
	CHECK_EQ(wp_schema_version_find(some, wp_span_of("other")).number, 0);
	struct wp_schema_version nested =
		wp_schema_version_find(some, wp_span_of("com.example.Order"));
	CHECK_EQ(nested.number, 0);
	CHECK_EQ(nested.index.size, 3);
	assert_memory_equal(nested.index.data, "\4\2\0", 3);
	wp_schema_ids_free(none);
	wp_schema_ids_free(some);
}

static void what_is_no_list_of_versions_is_refused(void **state)
{
	static const char *const wrong[] = { "a",      "a:",	    "a:0",  "a:x",
					     "a:late", "a:latest:", "a:1,", ":1" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct wp_schema_ids *versions = NULL;
		struct wp_error error;
		CHECK_EQ(wp_schema_versions_new(wrong[i], &versions, &error), WP_CONFIG);
		CHECK(versions == NULL);
		CHECK_HAS(error.text, "outbox.schema.versions = ");
	}
}

int main(void)
{
	return RUN(PLAIN(a_subject_without_an_item_has_the_latest),
		   PLAIN(what_is_no_list_of_versions_is_refused),
		   PLAIN(an_id_has_four_bytes_big_endian),
		   PLAIN(protobuf_has_the_index_of_its_message_behind_it),
		   PLAIN(the_first_that_matches_counts_and_a_star_is_any_run),
		   PLAIN(what_is_no_list_is_refused),
		   PLAIN(eight_levels_and_1024_items_are_possible),
		   PLAIN(a_topic_has_at_most_249_letters));
}

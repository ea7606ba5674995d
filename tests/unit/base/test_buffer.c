#include <stdlib.h>

#include "support/check.h"
#include "support/memory.h"
#include "walpost/base/buffer.h"

static struct wp_buffer b;

static void buffer_of(size_t size_max, const char *text)
{
	wp_buffer_init(&b, size_max);
	CHECK_EQ(wp_buffer_append_text(&b, text), WP_OK);
}

static int tear_down(void **state)
{
	wp_buffer_release(&b);
	return 0;
}

static void a_fresh_buffer_is_empty_and_not_null(void **state)
{
	wp_buffer_init(&b, 10);
	CHECK_SPAN(wp_buffer_span(&b), "");
}

static void what_is_appended_stands_in_order(void **state)
{
	buffer_of(100, "one");
	CHECK_EQ(wp_buffer_append_byte(&b, ' '), WP_OK);
	CHECK_EQ(wp_buffer_append(&b, wp_span_of("two")), WP_OK);
	CHECK_EQ(wp_buffer_printf(&b, " %d%s", 3, ""), WP_OK);
	CHECK_EQ(wp_buffer_printf(&b, "%s", ""), WP_OK);
	CHECK_SPAN(wp_buffer_span(&b), "one two 3");
}

static void it_takes_its_limit_and_not_one_byte_more(void **state)
{
	buffer_of(4, "123");
	CHECK_EQ(wp_buffer_append_byte(&b, '4'), WP_OK);
	CHECK_EQ(wp_buffer_append_byte(&b, '5'), WP_FULL);
	CHECK_EQ(wp_buffer_append(&b, wp_span_of("")), WP_OK);
	CHECK_SPAN(wp_buffer_span(&b), "1234");
}

static void printing_takes_the_limit_and_not_one_byte_more(void **state)
{
	buffer_of(4, "1");
	CHECK_EQ(wp_buffer_printf(&b, "%d", 2345), WP_FULL);
	CHECK_SPAN(wp_buffer_span(&b), "1");
	CHECK_EQ(wp_buffer_printf(&b, "%d", 234), WP_OK);
	CHECK_SPAN(wp_buffer_span(&b), "1234");
}

static void a_limit_of_nothing_takes_nothing(void **state)
{
	wp_buffer_init(&b, 0);
	CHECK_EQ(wp_buffer_append(&b, wp_span_of("")), WP_OK);
	CHECK_EQ(wp_buffer_append_byte(&b, 'x'), WP_FULL);
	CHECK_EQ(wp_buffer_printf(&b, "x"), WP_FULL);
}

static void sizes_that_would_overflow_are_refused(void **state)
{
	buffer_of(SIZE_MAX - 1, "x");
	CHECK_EQ(wp_buffer_reserve(&b, SIZE_MAX - 1), WP_FULL);
	CHECK_EQ(wp_buffer_reserve(&b, SIZE_MAX), WP_FULL);
}

static void what_is_reserved_is_appended_without_moving(void **state)
{
	buffer_of(5000, "x");
	CHECK_EQ(wp_buffer_reserve(&b, 4999), WP_OK);
	const uint8_t *before = b.data;
	while (b.size < 5000)
		CHECK_EQ(wp_buffer_append_byte(&b, 'y'), WP_OK);
	CHECK(b.data == before);
	CHECK_EQ(wp_buffer_reserve(&b, 0), WP_OK);
	CHECK_EQ(wp_buffer_reserve(&b, 1), WP_FULL);
}

static void without_memory_the_content_stays_as_it_was(void **state)
{
	buffer_of(100000, "kept");
	memory_fails_after(0);
	CHECK_EQ(wp_buffer_reserve(&b, 90000), WP_NOMEM);
	memory_fails_after(0);
	CHECK_EQ(wp_buffer_printf(&b, "%90000d", 1), WP_NOMEM);
	memory_works();
	CHECK_SPAN(wp_buffer_span(&b), "kept");
}

static void reset_empties_it_and_keeps_the_memory(void **state)
{
	buffer_of(100, "old");
	size_t capacity = b.capacity;

	wp_buffer_reset(&b);
	CHECK_SPAN(wp_buffer_span(&b), "");
	CHECK_EQ(b.capacity, capacity);
	CHECK_EQ(wp_buffer_append_text(&b, "new"), WP_OK);
	CHECK_SPAN(wp_buffer_span(&b), "new");
}

static void emptied_it_keeps_memory_unless_it_is_far_too_much(void **state)
{
	buffer_of(64 * 1024 * 1024, "old");
	size_t capacity = b.capacity;

	wp_buffer_empty(&b, 0);
	CHECK_SPAN(wp_buffer_span(&b), "");
	CHECK_EQ(b.capacity, capacity);
	CHECK_EQ(wp_buffer_reserve(&b, 16 * 1024 * 1024), WP_OK);
	capacity = b.capacity;
	wp_buffer_empty(&b, capacity / 8);
	CHECK_EQ(b.capacity, capacity);
	wp_buffer_empty(&b, capacity / 8 - 1);
	CHECK_EQ(b.capacity, 0);
	CHECK_EQ(b.size_max, 64 * 1024 * 1024);
}

static void release_leaves_zeroes_and_may_be_called_again(void **state)
{
	buffer_of(100, "x");
	wp_buffer_release(&b);
	CHECK(b.data == NULL && b.size == 0 && b.capacity == 0 && b.size_max == 0);
	wp_buffer_release(&b);
}

int main(void)
{
	return RUN(CLEAN(a_fresh_buffer_is_empty_and_not_null),
		   CLEAN(what_is_appended_stands_in_order),
		   CLEAN(it_takes_its_limit_and_not_one_byte_more),
		   CLEAN(printing_takes_the_limit_and_not_one_byte_more),
		   CLEAN(a_limit_of_nothing_takes_nothing),
		   CLEAN(sizes_that_would_overflow_are_refused),
		   CLEAN(what_is_reserved_is_appended_without_moving),
		   CLEAN(without_memory_the_content_stays_as_it_was),
		   CLEAN(reset_empties_it_and_keeps_the_memory),
		   CLEAN(emptied_it_keeps_memory_unless_it_is_far_too_much),
		   CLEAN(release_leaves_zeroes_and_may_be_called_again));
}

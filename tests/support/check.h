/* cmocka with both values in the message, and in the order one reads them. */
#ifndef WALPOST_TESTS_CHECK_H
#define WALPOST_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CHECK(condition_) assert_true(condition_)
#define CHECK_EQ(got_, wanted_) assert_int_equal((got_), (wanted_))
#define CHECK_TEXT(got_, wanted_) assert_string_equal((got_), (wanted_))
#define CHECK_HAS(text_, part_) assert_non_null(strstr((text_), (part_)))
#define CHECK_SPAN(span_, text_)                                               \
	do {                                                                   \
		struct wp_span check_span_ = (span_);                          \
		assert_non_null(check_span_.data);                             \
		assert_int_equal(check_span_.size, strlen(text_));             \
		assert_memory_equal(check_span_.data, (text_), strlen(text_)); \
	} while (0)

/*
 * main() is: return RUN(PLAIN(a_test), ...); a FRESH test begins with the file's set_up(), a CLEAN
 * one ends with its tear_down(), a TEST has both.
 */
#define PLAIN(test_) cmocka_unit_test(test_)
#define FRESH(test_) cmocka_unit_test_setup(test_, set_up)
#define CLEAN(test_) cmocka_unit_test_teardown(test_, tear_down)
#define TEST(test_) cmocka_unit_test_setup_teardown(test_, set_up, tear_down)
#define RUN(...)                                                                      \
	_cmocka_run_group_tests(__FILE__, (const struct CMUnitTest[]){ __VA_ARGS__ }, \
				sizeof((const struct CMUnitTest[]){ __VA_ARGS__ }) /  \
					sizeof(struct CMUnitTest),                    \
				NULL, NULL)

#endif

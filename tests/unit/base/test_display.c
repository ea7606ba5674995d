#include <string.h>

#include "support/check.h"
#include "walpost/base/display.h"

static void check_shown(const char *bytes, size_t size, const char *shown)
{
	struct wp_buffer b;

	wp_buffer_init(&b, 1000);
	CHECK_EQ(wp_display_append(&b, (struct wp_span){ (const uint8_t *)bytes, size }), WP_OK);
	CHECK_EQ(wp_buffer_append_byte(&b, '\0'), WP_OK);
	CHECK_TEXT((const char *)b.data, shown);
	wp_buffer_release(&b);
}

static void shows(const char *text, const char *shown)
{
	check_shown(text, strlen(text), shown);
}

static void what_people_write_stands_as_it_is(void **state)
{
	shows("", "");
	shows("order-\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 \\ \"",
	      "order-\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 \\ \"");
	shows("\xC2\xA0", "\xC2\xA0"); /* the first behind C1 */
	shows("\xD7\xA9\xD7\x9C",
	      "\xD7\xA9\xD7\x9C"); /* letters that are read from right to left */
}

static void controls_are_escaped(void **state)
{
	shows("a\x1B[31m\nb\x7F", "a\\x1b[31m\\x0ab\\x7f");
	shows("\xC2\x80\xC2\x9B\xC2\x9F", "\\u0080\\u009B\\u009F");
	check_shown("\0", 1, "\\x00");
}

static void marks_that_turn_the_order_of_letters_are_escaped(void **state)
{
	shows("\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F", "\\u061C\\u200E\\u200F");
	shows("\xE2\x80\xAA\xE2\x80\xAE", "\\u202A\\u202E");
	shows("\xE2\x81\xA6\xE2\x81\xA9", "\\u2066\\u2069");
	shows("\xE2\x80\xA8\xE2\x80\xA9", "\\u2028\\u2029"); /* they end a line */
	shows("\xE2\x80\x8D\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA",
	      "\xE2\x80\x8D\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA"); /* neighbours */
}

static void bytes_that_are_no_character_are_escaped_one_by_one(void **state)
{
	shows("\x9B\xFFz\xE2\x82", "\\x9b\\xffz\\xe2\\x82");
}

int main(void)
{
	return RUN(PLAIN(what_people_write_stands_as_it_is), PLAIN(controls_are_escaped),
		   PLAIN(marks_that_turn_the_order_of_letters_are_escaped),
		   PLAIN(bytes_that_are_no_character_are_escaped_one_by_one));
}

#include "support/check.h"
#include "walpost/base/base64.h"

static void gives(const char *text, const char *wanted)
{
	struct wp_buffer b;

	wp_buffer_init(&b, 100);
	CHECK_EQ(wp_base64_write(&b, wp_span_of(text)), WP_OK);
	CHECK_SPAN(wp_buffer_span(&b), wanted);
	wp_buffer_release(&b);
}

/* RFC 4648, section 10. */
static void the_standards_examples(void **state)
{
	gives("", "");
	gives("f", "Zg==");
	gives("fo", "Zm8=");
	gives("foo", "Zm9v");
	gives("foob", "Zm9vYg==");
	gives("fooba", "Zm9vYmE=");
	gives("foobar", "Zm9vYmFy");
	gives("\xFF\xFE\xFD\xFB", "//79+w==");
}

static void stands_for(const char *text, const char *wanted)
{
	struct wp_buffer b;

	wp_buffer_init(&b, 100);
	CHECK_EQ(wp_base64_read(&b, wp_span_of(text)), wanted != NULL ? WP_OK : WP_DATA);
	CHECK_SPAN(wp_buffer_span(&b), wanted != NULL ? wanted : "");
	wp_buffer_release(&b);
}

static void what_is_written_is_read_and_nothing_else(void **state)
{
	static const char *const wrong[] = { "Zg=", "Zg", "Z===", "Zg==Zg==", "Zm9-", "Zm 9", "=" };

	stands_for("", "");
	stands_for("Zg==", "f");
	stands_for("Zm8=", "fo");
	stands_for("Zm9vYmFy", "foobar");
	stands_for("//79+w==", "\xFF\xFE\xFD\xFB");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		stands_for(wrong[i], NULL);
}

static void what_does_not_fit_changes_nothing(void **state)
{
	struct wp_buffer b;

	wp_buffer_init(&b, 5);
	CHECK_EQ(wp_buffer_append_byte(&b, '>'), WP_OK);
	CHECK_EQ(wp_base64_write(&b, wp_span_of("abcd")), WP_FULL);
	CHECK_EQ(wp_base64_write(&b, wp_span_of("abc")), WP_OK);
	CHECK_SPAN(wp_buffer_span(&b), ">YWJj");
	wp_buffer_release(&b);
}

int main(void)
{
	return RUN(PLAIN(the_standards_examples), PLAIN(what_is_written_is_read_and_nothing_else),
		   PLAIN(what_does_not_fit_changes_nothing));
}

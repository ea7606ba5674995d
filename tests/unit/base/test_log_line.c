#include <string.h>

#include <jansson.h>

#include "support/check.h"
#include "walpost/base/log.h"

#define END ((struct wp_fact){ WP_FACT_END, 0, 0, 0 })
#define HEAD "time=2026-01-02T03:04:05.678Z level=info event=e "
#define TIME_MS 1767323045678

/* A line as text, without its newline. */
static const char *line_of(enum wp_log_format format, const struct wp_fact *facts)
{
	static char text[WP_LOG_LINE_MAX + 1];
	struct wp_log_line line;

	wp_log_line_write(&line, format, TIME_MS, WP_LOG_INFO, "e", facts);
	CHECK(line.size <= WP_LOG_LINE_MAX);
	CHECK_EQ(line.text[line.size - 1], '\n');
	CHECK(memchr(line.text, '\n', line.size) == line.text + line.size - 1);
	memcpy(text, line.text, line.size - 1);
	text[line.size - 1] = '\0';
	return text;
}

#define LOGFMT(...) line_of(WP_LOG_LOGFMT, (const struct wp_fact[]){ __VA_ARGS__, END })
#define JSON(...) line_of(WP_LOG_JSON, (const struct wp_fact[]){ __VA_ARGS__, END })

/* What a JSON reader finds under "v"; the caller frees it with json_decref. */
static json_t *read_json(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

	if (root == NULL)
		fail_msg("%s in %s", error.text, text);
	return root;
}

static void check_json_value(const char *given, const char *wanted)
{
	json_t *root = read_json(JSON(WP_TEXT("v", given)));

	CHECK_TEXT(json_string_value(json_object_get(root, "v")), wanted);
	json_decref(root);
}

static void logfmt_is_words_with_equals_signs(void **state)
{
	CHECK_TEXT(LOGFMT(WP_TEXT("slot", "walpost"), WP_INT("count", 12),
			  WP_LSN("lsn", 0x16B374D848)),
		   HEAD "slot=walpost count=12 lsn=16/B374D848");
}

static void json_is_one_object(void **state)
{
	CHECK_TEXT(
		JSON(WP_TEXT("slot", "walpost"), WP_INT("count", 12), WP_LSN("lsn", 0x16B374D848)),
		"{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"info\",\"event\":\"e\","
		"\"slot\":\"walpost\",\"count\":12,\"lsn\":\"16/B374D848\"}");
}

static void a_line_without_facts_is_whole(void **state)
{
	CHECK_TEXT(LOGFMT(END), "time=2026-01-02T03:04:05.678Z level=info event=e");
	CHECK_HAS(JSON(END), "\"event\":\"e\"}");
}

static void every_level_has_its_name(void **state)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	static const struct wp_fact none = { 0 };
	struct wp_log_line line;

	for (int level = WP_LOG_DEBUG; level <= WP_LOG_ERROR; level++) {
		wp_log_line_write(&line, WP_LOG_LOGFMT, 0, (enum wp_log_level)level, "e", &none);
		line.text[line.size] = '\0';
		CHECK_HAS(line.text, names[level]);
	}
}

static void the_time_is_utc_with_three_digits_of_a_second(void **state)
{
	static const struct wp_fact none = { 0 };
	struct wp_log_line line;

	wp_log_line_write(&line, WP_LOG_LOGFMT, 86399007, WP_LOG_INFO, "e", &none);
	line.text[line.size] = '\0';
	CHECK_HAS(line.text, "time=1970-01-01T23:59:59.007Z ");
}

static void numbers_go_to_their_ends(void **state)
{
	CHECK_TEXT(LOGFMT(WP_INT("a", INT64_MIN), WP_INT("b", INT64_MAX), WP_LSN("c", UINT64_MAX),
			  WP_LSN("d", 0)),
		   HEAD "a=-9223372036854775808 b=9223372036854775807 c=FFFFFFFF/FFFFFFFF d=0/0");
}

static void logfmt_quotes_what_would_not_read_back(void **state)
{
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "plain-1.2:3/\\")), HEAD "v=plain-1.2:3/\\");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "two words")), HEAD "v=\"two words\"");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "a=b")), HEAD "v=\"a=b\"");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "a\"b\\")), HEAD "v=\"a\\\"b\\\\\"");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "a\nb\r\t")), HEAD "v=\"a\\nb\\r\\t\"");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "\x1B[0m\x7F")), HEAD "v=\"\\u001B[0m\\u007F\"");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "\xC2\x9B")), HEAD "v=\"\\u009B\"");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "\xE2\x80\xAE")), HEAD "v=\"\\u202E\"");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "")), HEAD "v=\"\"");
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "\xC3\xA9\xE2\x82\xAC")), HEAD "v=\xC3\xA9\xE2\x82\xAC");
}

static void no_text_is_null(void **state)
{
	CHECK_TEXT(LOGFMT(WP_TEXT("v", NULL)), HEAD "v=null");
	CHECK_HAS(JSON(WP_TEXT("v", NULL)), ",\"v\":null}");
}

static void json_gives_back_what_was_said(void **state)
{
	static const char *const texts[] = {
		"",
		"plain",
		"\"\\/\b\f\n\r\t\x01\x1F\x7F",
		"\xC2\x80\xC2\x9F\xC3\xA9",
		"\xE2\x82\xAC\xEF\xBF\xBF\xEF\xBF\xBD",
		"\xF0\x9F\x90\x98\xF4\x8F\xBF\xBF",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_json_value(texts[i], texts[i]);
}

#define R "\xEF\xBF\xBD"

static void what_is_not_utf8_becomes_the_replacement_character(void **state)
{
	check_json_value("a\x80z", "a" R "z");			   /* continuation alone */
	check_json_value("a\xC3", "a" R);			   /* ends too early */
	check_json_value("a\xC3z", "a" R "z");			   /* interrupted */
	check_json_value("\xE2\x82", R R);			   /* likewise, of three */
	check_json_value("\xF0\x9F\x90z", R R R "z");		   /* likewise, of four */
	check_json_value("\xC0\xAF\xC1\xBF", R R R R);		   /* overlong, of two */
	check_json_value("\xE0\x9F\xBF", R R R);		   /* overlong, of three */
	check_json_value("\xF0\x8F\xBF\xBF", R R R R);		   /* overlong, of four */
	check_json_value("\xED\xA0\x80\xED\xBF\xBF", R R R R R R); /* surrogates */
	check_json_value("\xF4\x90\x80\x80", R R R R);		   /* past the last */
	check_json_value("\xF8\xFE\xFF", R R R);		   /* never a byte of UTF-8 */
	CHECK_TEXT(LOGFMT(WP_TEXT("v", "a\xFF")), HEAD "v=\"a" R "\"");
}

/* Bytes of all sorts, `size` of them. */
static const char *noise(size_t size)
{
	static const char sorts[] = "ab\x01\"\xC3\xA9 \xE2\x82\xAC=\\\xFF\xF0\x9F\x90\x98\n";
	static char text[3 * WP_LOG_LINE_MAX];

	for (size_t i = 0; i < size; i++)
		text[i] = sorts[i % (sizeof(sorts) - 1)];
	text[size] = '\0';
	return text;
}

static void a_line_of_any_length_is_well_formed(void **state)
{
	for (size_t size = 1000; size < 4200; size++) {
		const char *text = noise(size);
		json_t *root =
			read_json(JSON(WP_TEXT("v", text), WP_INT("n", 1), WP_TEXT("w", "x")));
		CHECK(json_object_get(root, "cut") != NULL || json_object_size(root) == 6);
		json_decref(root);
		(void)LOGFMT(WP_TEXT("v", text), WP_INT("n", 1));
	}
}

/* The longest plain text that stands uncut in such a line. */
static size_t uncut_max(enum wp_log_format format)
{
	size_t size = 0;

	for (size_t i = 1; i < WP_LOG_LINE_MAX; i++) {
		static char text[WP_LOG_LINE_MAX + 1];
		memset(text, 'x', i);
		text[i] = '\0';
		const struct wp_fact facts[] = { WP_TEXT("v", text), END };
		size = strstr(line_of(format, facts), "cut") == NULL ? i : size;
	}
	return size;
}

static void a_text_is_cut_only_where_the_line_ends(void **state)
{
	CHECK(uncut_max(WP_LOG_LOGFMT) > WP_LOG_LINE_MAX - 100);
	CHECK(uncut_max(WP_LOG_JSON) > WP_LOG_LINE_MAX - 120);
}

static void what_is_cut_says_so(void **state)
{
	static char text[WP_LOG_LINE_MAX + 10];

	memset(text, 'x', sizeof(text) - 1);
	CHECK_HAS(LOGFMT(WP_TEXT("v", text)), "xxx\" cut=1");
	CHECK_HAS(JSON(WP_TEXT("v", text)), "xxx\",\"cut\":1}");
}

static void a_fact_for_which_no_room_is_left_is_left_out(void **state)
{
	static char text[WP_LOG_LINE_MAX + 10];

	memset(text, 'x', sizeof(text) - 1);
	const char *line = LOGFMT(WP_TEXT("v", text), WP_INT("n", 1), WP_TEXT("w", "y"));
	CHECK(strstr(line, "n=") == NULL);
	CHECK(strstr(line, "w=") == NULL);
	CHECK_HAS(line, " cut=1");
}

int main(void)
{
	return RUN(PLAIN(logfmt_is_words_with_equals_signs), PLAIN(json_is_one_object),
		   PLAIN(a_line_without_facts_is_whole), PLAIN(every_level_has_its_name),
		   PLAIN(the_time_is_utc_with_three_digits_of_a_second),
		   PLAIN(numbers_go_to_their_ends), PLAIN(logfmt_quotes_what_would_not_read_back),
		   PLAIN(no_text_is_null), PLAIN(json_gives_back_what_was_said),
		   PLAIN(what_is_not_utf8_becomes_the_replacement_character),
		   PLAIN(a_line_of_any_length_is_well_formed),
		   PLAIN(a_text_is_cut_only_where_the_line_ends), PLAIN(what_is_cut_says_so),
		   PLAIN(a_fact_for_which_no_room_is_left_is_left_out));
}

#include "support/check.h"
#include "walpost/envelope/cloudevent.h"

typedef bool question(struct wp_span value);

static void all(question *is_so, const char *const *texts, bool wanted)
{
	for (; *texts != NULL; texts++) {
		if (is_so(wp_span_of(*texts)) != wanted)
			fail_msg("\"%s\" is %staken", *texts, wanted ? "not " : "");
	}
}

static void text_is_utf8_without_controls_and_noncharacters(void **state)
{
	static const char *const good[] = { "",
					    " ",
					    "~",
					    "\u00A0",
					    "\uFDCF\uFDF0",
					    "\uFFFD",
					    "\U0001FFFD\U0010FFFD",
					    "a\u0301 \U0001F600",
					    NULL };
	static const char *const bad[] = { "\x1F",   "\x7F",	   "\xC2\x80",	 "\xC2\x9F",
					   "\uFDD0", "\uFDEF",	   "a\n",	 "\uFFFE",
					   "\uFFFF", "\U0001FFFE", "\U0010FFFF", "\xED\xA0\x80",
					   "\xFF",   "\xC3",	   NULL };
	struct wp_span nul = { (const uint8_t *)"a\0b", 3 };

	all(wp_cloudevent_is_text, good, true);
	all(wp_cloudevent_is_text, bad, false);
	CHECK(!wp_cloudevent_is_text(nul));
	CHECK(wp_cloudevent_is_text((struct wp_span){ 0 }));
}

static void a_uri_reference_has_the_characters_of_rfc_3986(void **state)
{
	static const char *const good[] = { "/",
					    "#",
					    "?",
					    "orders",
					    "/cloudevents/spec/pull/123",
					    "1-555-123-4567",
					    "https://github.com/cloudevents?a=b&c=d#e",
					    "mailto:cncf-wg@lists.cncf.io",
					    "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
					    "http://[::1]:80/",
					    "a%20b%C3%a9",
					    "./1:2",
					    "?a:b",
					    "#a:b",
					    "h+t.t-p1:",
					    NULL };
	static const char *const bad[] = { "",	    "a b", "a\n",   "\u00e9", "a|b", "{a}", "a\\b",
					   "%",	    "a%2", "a%2g",  "%g0",    "1:2", ":a",  "a_b:c",
					   "a#b#c", "<a>", "\"a\"", "a^",     "`",   NULL };
	struct wp_span nul = { (const uint8_t *)"a\0b", 3 };

	all(wp_cloudevent_is_uri_reference, good, true);
	all(wp_cloudevent_is_uri_reference, bad, false);
	CHECK(!wp_cloudevent_is_uri_reference(nul));
	CHECK(!wp_cloudevent_is_uri_reference((struct wp_span){ 0 }));
}

static void a_percent_at_the_end_reads_nothing_behind_it(void **state)
{
	struct wp_span cut = { (const uint8_t *)"%20", 2 };

	CHECK(!wp_cloudevent_is_uri_reference(cut));
}

static void an_absolute_uri_has_a_scheme_and_no_fragment(void **state)
{
	static const char *const good[] = { "https://example.com/order/1?v=2", "urn:a:b",
					    "a:", NULL };
	static const char *const bad[] = {
		"",	"/order", "order",	 "https://example.com/order#1",
		"://a", "1a:b",	  "https://a b", NULL
	};

	all(wp_cloudevent_is_absolute_uri, good, true);
	all(wp_cloudevent_is_absolute_uri, bad, false);
}

static void a_media_type_is_two_tokens_and_parameters(void **state)
{
	static const char *const good[] = { "application/json",
					    "text/plain; charset=utf-8",
					    "TEXT/Plain;CharSet=utf-8",
					    "application/vnd.a+json",
					    "a/b ; c=d ;e=\"f; \\\"g\\\"\"",
					    "a/b;c=\"\"",
					    NULL };
	static const char *const bad[] = { "",
					   "json",
					   "/json",
					   "text/",
					   "a/b/c",
					   "a b/c",
					   "a/b ",
					   "a/b;",
					   "a/b; ",
					   "a/b;c",
					   "a/b;c=",
					   "a/b;=d",
					   "a/b;c=\"",
					   "a/b;c=\"\\",
					   "a/b;c=\"\\\"",
					   "a/b c=d",
					   "a/b;c=\"\n\"",
					   "a/b;c=\"\\\n\"",
					   "a/b;c=\"\\\u00e9\"",
					   "a/b;c=\"\u00e9\"",
					   " a/b",
					   "\u00e9/b",
					   "a/(b)",
					   NULL };

	all(wp_cloudevent_is_media_type, good, true);
	all(wp_cloudevent_is_media_type, bad, false);
	CHECK(!wp_cloudevent_is_media_type((struct wp_span){ 0 }));
}

static void json_is_told_by_the_subtype_or_its_suffix(void **state)
{
	static const char *const good[] = { "application/json", "text/JSON;charset=utf-8",
					    "a/b+json",		"a/+json",
					    "a/b.c+Json ; d=e", NULL };
	static const char *const bad[] = {
		"application/xml", "json",    "json/xml", "a/jsons", "a/bjson", "a/json+xml",
		"a/b;c=json",	   "a/b+jso", "a/",	  "",	     NULL
	};

	all(wp_cloudevent_is_json, good, true);
	all(wp_cloudevent_is_json, bad, false);
}

static void no_content_type_means_json(void **state)
{
	CHECK(wp_cloudevent_is_json((struct wp_span){ 0 }));
}

static void an_extension_is_named_with_small_letters_and_digits(void **state)
{
	static const char *const good[] = { "a",      "0",
					    "z9",     "tenant",
					    "iddata", "ids",
					    "datas",  "averylongnamebeyond20characters",
					    NULL };
	static const char *const bad[] = {
		"",	      "A",	     "a_b",	"a-b",	"a b",
		"\u00e9",     "data_base64", "data",	"id",	"source",
		"type",	      "specversion", "subject", "time", "datacontenttype",
		"dataschema", NULL
	};

	all(wp_cloudevent_is_extension_name, good, true);
	all(wp_cloudevent_is_extension_name, bad, false);
}

static void a_time_is_written_with_six_digits_always(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000000Z" },
		{ -1, "1969-12-31T23:59:59.999999Z" },
		{ INT64_C(1522949460123456), "2018-04-05T17:31:00.123456Z" },
		{ INT64_C(951782400000000), "2000-02-29T00:00:00.000000Z" },
		{ INT64_C(951868799999999), "2000-02-29T23:59:59.999999Z" },
		{ INT64_C(951868800000000), "2000-03-01T00:00:00.000000Z" },
		{ INT64_C(4107542399000000), "2100-02-28T23:59:59.000000Z" },
		{ INT64_C(4107542400000001), "2100-03-01T00:00:00.000001Z" },
		{ INT64_C(-11670921600000000), "1600-02-29T21:20:00.000000Z" },
		{ INT64_C(-62135596800000000), "0001-01-01T00:00:00.000000Z" },
		{ INT64_C(253402300799999999), "9999-12-31T23:59:59.999999Z" },
	};
	char text[WP_CLOUDEVENT_TIME_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_TEXT(wp_cloudevent_time_text(cases[i].us, text), cases[i].text);
}

static void a_time_outside_the_years_1_to_9999_cannot_be_written(void **state)
{
	CHECK(wp_cloudevent_time_is_writable(INT64_C(-62135596800000000)));
	CHECK(!wp_cloudevent_time_is_writable(INT64_C(-62135596800000001)));
	CHECK(wp_cloudevent_time_is_writable(INT64_C(253402300799999999)));
	CHECK(!wp_cloudevent_time_is_writable(INT64_C(253402300800000000)));
	CHECK(!wp_cloudevent_time_is_writable(INT64_MAX));
	CHECK(!wp_cloudevent_time_is_writable(INT64_MIN));
}

int main(void)
{
	return RUN(PLAIN(text_is_utf8_without_controls_and_noncharacters),
		   PLAIN(a_uri_reference_has_the_characters_of_rfc_3986),
		   PLAIN(a_percent_at_the_end_reads_nothing_behind_it),
		   PLAIN(an_absolute_uri_has_a_scheme_and_no_fragment),
		   PLAIN(a_media_type_is_two_tokens_and_parameters),
		   PLAIN(json_is_told_by_the_subtype_or_its_suffix),
		   PLAIN(no_content_type_means_json),
		   PLAIN(an_extension_is_named_with_small_letters_and_digits),
		   PLAIN(a_time_is_written_with_six_digits_always),
		   PLAIN(a_time_outside_the_years_1_to_9999_cannot_be_written));
}

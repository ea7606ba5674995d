/* What is read of an answer, and what may be told of it. */
#include "support/check.h"
#include "walpost/http_client/answer_fields.h"
#include "walpost/http_client/refusal.h"

static struct wp_span of(const char *text)
{
	return wp_span_of(text);
}

/* ---- fields ---- */

static void a_text_of_json(void **state)
{
	char text[8];

	CHECK(wp_json_text_member(of("{\"a\": 1, \"b\": \"x\\u0041\", \"c\": {\"d\": \"no\"}}"),
				  "b", text, sizeof(text)));
	CHECK_TEXT(text, "xA");
	CHECK(!wp_json_text_member(of("{\"c\": {\"d\": \"no\"}}"), "d", text, sizeof(text)));
}

static void what_is_no_text_is_missing(void **state)
{
	static const char *const answers[] = { "",
					       "nothing",
					       "[]",
					       "{}",
					       "{\"a\": 1}",
					       "{\"a\": null}",
					       "{\"a\": \"\"}",
					       "{\"a\": \"12345678\"}",
					       "{\"a\": \"x\\u0000y\"}",
					       "{\"a\": \"x\\ud800\"}",
					       "{\"a\": \"x\"",
					       "{\"a\": \"x\"} more" };
	char text[8];

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		CHECK(!wp_json_text_member(of(answers[i]), "a", text, sizeof(text)));
	CHECK(wp_json_text_member(of("{\"a\": \"1234567\"}"), "a", text, sizeof(text)));
}

static void a_number_also_as_a_text(void **state)
{
	int64_t number = 0;

	CHECK(wp_json_number_member(of("{\"n\": 3599}"), "n", &number));
	CHECK_EQ(number, 3599);
	CHECK(wp_json_number_member(of("{\"n\": \"3600\"}"), "n", &number));
	CHECK_EQ(number, 3600);
	CHECK(wp_json_number_member(of("{\"n\": 12.9}"), "n", &number));
	CHECK_EQ(number, 12);
	CHECK(!wp_json_number_member(of("{\"n\": \"soon\"}"), "n", &number));
	CHECK(!wp_json_number_member(of("{\"n\": \"12 s\"}"), "n", &number));
	CHECK(!wp_json_number_member(of("{\"n\": 1e99}"), "n", &number));
	CHECK(!wp_json_number_member(of("{\"n\": true}"), "n", &number));
	CHECK(!wp_json_number_member(of("{}"), "n", &number));
}

static void an_element_of_xml(void **state)
{
	char text[8];

	CHECK(wp_xml_text(of("<A><B>x</B><Code>abc</Code><Code>d</Code></A>"), "Code", text,
			  sizeof(text)));
	CHECK_TEXT(text, "abc");
	CHECK(!wp_xml_text(of("<A><Code></Code></A>"), "Code", text, sizeof(text)));
	CHECK(!wp_xml_text(of("<A><Code>abc"), "Code", text, sizeof(text)));
	CHECK(!wp_xml_text(of("<A><Code>abc<"), "Code", text, sizeof(text)));
	CHECK(!wp_xml_text(of("<A><Code>a<b/></Code>"), "Code", text, sizeof(text)));
	CHECK(!wp_xml_text(of("<A><Code>a&amp;b</Code>"), "Code", text, sizeof(text)));
	CHECK(!wp_xml_text(of("<A><Code>12345678</Code>"), "Code", text, sizeof(text)));
	CHECK(!wp_xml_text(of("<A><CodeX>1</CodeX>"), "Code", text, sizeof(text)));
	CHECK(!wp_xml_text(of(""), "Code", text, sizeof(text)));
	CHECK(!wp_xml_text((struct wp_span){ 0 }, "Code", text, sizeof(text)));
}

/* ---- places ---- */

static void a_place_has_neither_user_nor_query(void **state)
{
	CHECK_TEXT(wp_http_place_of("https://a.example/x/y?token=secret#z").text,
		   "https://a.example/x/y");
	CHECK_TEXT(wp_http_place_of("https://user:secret@a.example/x").text, "https://a.example/x");
	CHECK_TEXT(wp_http_place_of("https://a.example/x@y").text, "https://a.example/x@y");
	CHECK_TEXT(wp_http_place_of("http://a\x1b[1m").text, "http://a?[1m");
	CHECK_TEXT(wp_http_place_of("ftp://user:secret@a.example/x").text, "ftp://a.example/x");
	CHECK_TEXT(wp_http_place_of("a#secret://b").text, "a");
	CHECK_TEXT(wp_http_place_of("nothing").text, "nothing");
}

/* ---- refusals ---- */

static enum wp_rc refused(long status, const char *body, const char *wanted)
{
	struct wp_http_place place = wp_http_place_of("https://a.example/t?x");
	struct wp_error error;
	enum wp_rc rc = wp_http_refusal(&place, status, of(body), &error);

	CHECK_TEXT(error.text, wanted);
	return rc;
}

static void the_code_of_an_answer_is_told(void **state)
{
	CHECK_EQ(refused(401, "{\"error\": \"invalid_client\"}",
			 "https://a.example/t answered with status 401 invalid_client"),
		 WP_CONFIG);
	CHECK_EQ(refused(401,
			 "{\"error\": \"invalid_client\", \"error_description\": "
			 "\"AADSTS7000215: Invalid secret hunter2\"}",
			 "https://a.example/t answered with status 401 invalid_client "
			 "AADSTS7000215"),
		 WP_CONFIG);
	CHECK_EQ(refused(403, "<E><Code>AccessDenied</Code><Message>hunter2</Message></E>",
			 "https://a.example/t answered with status 403 AccessDenied"),
		 WP_CONFIG);
	CHECK_EQ(refused(302, "",
			 "https://a.example/t answered with a redirect (status 302), which is not "
			 "followed"),
		 WP_CONFIG);
}

static void what_is_no_code_is_not_told(void **state)
{
	CHECK_EQ(refused(400, "{\"error\": \"your secret hunter2 is wrong\"}",
			 "https://a.example/t answered with status 400"),
		 WP_CONFIG);
	CHECK_EQ(refused(400, "hunter2", "https://a.example/t answered with status 400"),
		 WP_CONFIG);
	CHECK_EQ(refused(400, "{\"error\": \"x\", \"error_description\": \"hunter2: is wrong\"}",
			 "https://a.example/t answered with status 400 x"),
		 WP_CONFIG);
}

static void what_passes_is_tried_again(void **state)
{
	CHECK_EQ(refused(429, "", "https://a.example/t answered with status 429"), WP_IO);
	CHECK_EQ(refused(500, "", "https://a.example/t answered with status 500"), WP_IO);
	CHECK_EQ(refused(503, "", "https://a.example/t answered with status 503"), WP_IO);
	CHECK_EQ(refused(408, "", "https://a.example/t answered with status 408"), WP_IO);
	CHECK_EQ(refused(400, "<E><Code>Throttling</Code></E>",
			 "https://a.example/t answered with status 400 Throttling"),
		 WP_IO);
	CHECK(!wp_http_may_pass(400, of("<E><Code>Other</Code></E>")));
	CHECK(!wp_http_may_pass(404, of("<E><Code>Throttling</Code></E>")));
}

int main(void)
{
	return RUN(PLAIN(a_text_of_json), PLAIN(what_is_no_text_is_missing),
		   PLAIN(a_number_also_as_a_text), PLAIN(an_element_of_xml),
		   PLAIN(a_place_has_neither_user_nor_query), PLAIN(the_code_of_an_answer_is_told),
		   PLAIN(what_is_no_code_is_not_told), PLAIN(what_passes_is_tried_again));
}

#include <stdio.h>

#include "support/check.h"
#include "walpost/login/token.h"

#define NOW_MS INT64_C(1700000000000)

static struct wp_token parsed(const char *text)
{
	struct wp_token t;
	struct wp_error error;

	CHECK_EQ(wp_token_parse(wp_span_of(text), NOW_MS, &t, &error), WP_OK);
	CHECK_EQ(t.fetched_at_ms, NOW_MS);
	return t;
}

static void plain_text_is_the_token(void **state)
{
	struct wp_token t = parsed("secret word\n");

	CHECK_TEXT(t.text, "secret word");
	CHECK_EQ(t.expires_at_ms, 0);
	CHECK_EQ(wp_token_renew_at_ms(&t), 0);
	CHECK_TEXT(t.principal, "");
	wp_token_release(&t);
	t = parsed("windows\r\n");
	CHECK_TEXT(t.text, "windows");
	wp_token_release(&t);
}

static void an_object_says_all(void **state)
{
	struct wp_token t = parsed(
		" {\"principal\": \"User:a\\u00e4\", \"token\": \"x\\\"y\", \"expires_at\": "
		"1700000100, "
		"\"extensions\": {\"logicalCluster\": \"lkc-1\", \"b\": \"\"}, \"more\": [1]}\n");

	CHECK_TEXT(t.text, "x\"y");
	CHECK_TEXT(t.principal, "User:a\xC3\xA4");
	CHECK_EQ(t.expires_at_ms, NOW_MS + 100000);
	CHECK_EQ(wp_token_renew_at_ms(&t), NOW_MS + 80000);
	CHECK_EQ(t.extension_count, 2);
	CHECK_TEXT(t.extensions[0].name, "logicalCluster");
	CHECK_TEXT(t.extensions[0].value, "lkc-1");
	CHECK_TEXT(t.extensions[1].value, "");
	wp_token_release(&t);
}

static void expires(const char *value, int64_t wanted_ms)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "{\"token\":\"t\",\"expires_at\":%s}", value);
	struct wp_token t = parsed(text);
	CHECK_EQ(t.expires_at_ms, wanted_ms);
	wp_token_release(&t);
}

static void an_expiry_has_many_forms(void **state)
{
	expires("1700000100", NOW_MS + 100000);
	expires("1700000100.5", NOW_MS + 100500);
	expires("1700000100000", NOW_MS + 100000);
	expires("\"2023-11-14T22:15:00Z\"", NOW_MS + 100000);
	expires("\"2023-11-14T22:15:00.123456789Z\"", NOW_MS + 100000);
	expires("\"2023-11-15T00:15:00+02:00\"", NOW_MS + 100000);
	expires("\"2023-11-14 19:45:00-02:30\"", NOW_MS + 100000);
	expires("\"2024-02-29T00:00:00Z\"", INT64_C(1709164800000));
	expires("\"1970-01-01T00:00:01Z\"", 1000);
}

/* {"exp":1700000100,"sub":"service"}, {"exp":1700000100,"sub":null} */
#define CLAIMS "eyJleHAiOjE3MDAwMDAxMDAsInN1YiI6InNlcnZpY2UifQ"
#define NULL_CLAIMS "eyJleHAiOjE3MDAwMDAxMDAsInN1YiI6bnVsbH0"

static void a_jwt_says_it_in_its_claims(void **state)
{
	struct wp_token t = parsed("eyJhbGciOiJub25lIn0." CLAIMS ".");

	CHECK_EQ(t.expires_at_ms, NOW_MS + 100000);
	CHECK_TEXT(t.principal, "service");
	wp_token_release(&t);
	t = parsed("{\"token\": \"e30." CLAIMS
		   ".x\", \"expires_at\": 1700000050, \"principal\": \"p\"}");
	CHECK_EQ(t.expires_at_ms, NOW_MS + 50000);
	CHECK_TEXT(t.principal, "p");
	wp_token_release(&t);
	t = parsed("e30." NULL_CLAIMS ".x");
	CHECK_TEXT(t.principal, "");
	CHECK_EQ(t.expires_at_ms, NOW_MS + 100000);
	wp_token_release(&t);
	/* What only looks like one is a token like any other. */
	const char *others[] = { "a.b", "a.b.c.d", ("a." CLAIMS), "a.!!.c", "..", "a.bnVsbA.c" };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		t = parsed(others[i]);
		CHECK_TEXT(t.text, others[i]);
		CHECK_EQ(t.expires_at_ms, 0);
		wp_token_release(&t);
	}
}

static void refused(const char *text, const char *reason)
{
	struct wp_token t;
	struct wp_error error;

	CHECK_EQ(wp_token_parse(wp_span_of(text), NOW_MS, &t, &error), WP_CONFIG);
	CHECK_HAS(error.text, reason);
	assert_null(strstr(error.text, "hidden"));
}

static void what_is_no_token_is_refused_without_being_quoted(void **state)
{
	static char long_one[WP_TOKEN_SIZE_MAX + 2];

	refused("", "empty");
	refused("\n", "empty");
	refused("hidden\nhidden", "more than one line");
	refused("hidden\x1b[0m", "control character 27");
	refused("{\"token\": \"hidden\"", "not a JSON object");
	refused("{\"token\": \"hidden\"} x", "not a JSON object");
	refused("{\"access_token\": \"hidden\"}", "without \"token\"");
	refused("{\"token\": 1}", "\"token\" is not a text");
	refused("{\"token\": \"\"}", "empty");
	refused("{\"token\": \"hidden\\nx\"}", "more than one line");
	refused("{\"token\": \"hidden\\u0000x\"}", "control character 0");
	refused("{\"token\": \"hidden\", \"expires_at\": \"tomorrow\"}", "\"expires_at\"");
	refused("{\"token\": \"hidden\", \"expires_at\": \"2023-13-01T00:00:00Z\"}",
		"\"expires_at\"");
	refused("{\"token\": \"hidden\", \"expires_at\": -1}", "\"expires_at\"");
	refused("{\"token\": \"hidden\", \"principal\": 1}", "\"principal\"");
	refused("{\"token\": \"hidden\", \"extensions\": [1]}", "\"extensions\"");
	refused("{\"token\": \"hidden\", \"extensions\": {\"a\": 1}}", "\"extensions\"");
	memset(long_one, 'x', sizeof(long_one) - 1);
	refused(long_one, "longer than 65536 bytes");
}

static void a_copy_lives_on(void **state)
{
	struct wp_token t = parsed("{\"token\": \"a\", \"principal\": \"p\"}");
	struct wp_token copy;

	CHECK_EQ(wp_token_copy(&t, &copy), WP_OK);
	wp_token_release(&t);
	assert_null(t.text);
	CHECK_TEXT(copy.text, "a");
	CHECK_TEXT(copy.principal, "p");
	wp_token_release(&copy);
	wp_token_release(&copy);
}

static void a_bearer_token_has_no_space(void **state)
{
	static const char *const wrong[] = { "Bearer hidden", "hidden ", "hidd\xc3\xa9n" };
	struct wp_error error;

	struct wp_token t = parsed("aB1-._~+/=");
	CHECK_EQ(wp_token_judge_bearer(&t, &error), WP_OK);
	wp_token_release(&t);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		t = parsed(wrong[i]);
		CHECK_EQ(wp_token_judge_bearer(&t, &error), WP_CONFIG);
		CHECK_HAS(error.text, "space");
		assert_null(strstr(error.text, "hidden"));
		wp_token_release(&t);
	}
}

static void extensions_of_the_configuration_stand_beside_the_token_s_own(void **state)
{
	struct wp_token t = parsed("{\"token\": \"a\", \"extensions\": {\"pool\": \"own\"}}");

	CHECK_EQ(wp_token_extend(&t, "cluster=lkc-1, pool=other,empty=,", NULL), WP_OK);
	CHECK_EQ(t.extension_count, 3);
	CHECK_TEXT(t.extensions[0].value, "own");
	CHECK_TEXT(t.extensions[1].name, "cluster");
	CHECK_TEXT(t.extensions[1].value, "lkc-1");
	CHECK_TEXT(t.extensions[2].name, "empty");
	CHECK_TEXT(t.extensions[2].value, "");
	wp_token_release(&t);
}

static void cannot_extend(const char *extensions, const char *reason)
{
	struct wp_token t = { .text = NULL };
	struct wp_error error;

	CHECK_EQ(wp_token_extend(&t, extensions, &error), WP_CONFIG);
	CHECK_HAS(error.text, reason);
}

static void what_is_no_extension_is_named(void **state)
{
	char text[400];

	cannot_extend("a=1,cluster", "\"cluster\" is not name=value");
	cannot_extend("=1", "\"=1\"");
	cannot_extend("a1=1", "\"a1=1\"");
	cannot_extend("auth=1", "\"auth=1\"");
	cannot_extend("a=\xc3\xa9", "a must have printable ASCII");
	cannot_extend("a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1", "more than 8");
	(void)snprintf(text, sizeof(text), "a=%0300d", 1);
	cannot_extend(text, "at most 255 bytes");
	(void)snprintf(text, sizeof(text), "%.70s=1",
		       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	cannot_extend(text, "bytes");
}

int main(void)
{
	return RUN(PLAIN(plain_text_is_the_token), PLAIN(an_object_says_all),
		   PLAIN(an_expiry_has_many_forms), PLAIN(a_jwt_says_it_in_its_claims),
		   PLAIN(what_is_no_token_is_refused_without_being_quoted), PLAIN(a_copy_lives_on),
		   PLAIN(a_bearer_token_has_no_space),
		   PLAIN(extensions_of_the_configuration_stand_beside_the_token_s_own),
		   PLAIN(what_is_no_extension_is_named));
}

/*
 * Requests and signatures of AWS's own test suite (awslabs/aws-c-auth,
 * tests/aws-signing-test-suite/v4, Apache-2.0), named as there, and of its documentation.
 */
#include "sigv4.h"

#include "support/check.h"
#include "walpost/base/percent.h"
#include "walpost/base/secret_buffer.h"

#define EMPTY                                          \
	{                                              \
		.data = (const uint8_t *)"", .size = 0 \
	}
#define ALPHABET "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define LONG_TOKEN                                                                                 \
	"AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmx" \
	"fpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0K" \
	"PkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZb" \
	"qBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

/* 2015-08-30T12:36:00Z */
#define SUITE_S 1440938160

struct vector {
	const char *name;
	const char *method;
	const char *path;
	struct wp_sigv4_field query[2];
	struct wp_sigv4_field headers[4];
	const char *body;
	const char *session;
	const char *in_header; /* the signature there */
	const char *in_query;
};

static const struct vector suite[] = {
	{ "get-vanilla-query-order-key-case", "GET", "/",
	  .query = { { "Param2", "value2" }, { "Param1", "value1" } },
	  .in_header = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
	  .in_query = "86012e2c9ad4d77369f5d81c11f75158aae4f895a085212cc6d3f923d300bed5" },
	{ "get-vanilla-empty-query-key", "GET", "/", .query = { { "Param1", "value1" } },
	  .in_header = "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
	  .in_query = "49096700cbbaa5753443850f40df10f904fc2fdb544dc9512203cc77c471a9de" },
	{ "get-vanilla-utf8-query", "GET", "/", .query = { { "\u1234", "bar" } },
	  .in_header = "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
	  .in_query = "0bdd809b1519ac4f0c1dc3540e2cc46bd0c7f778eda408b2ebf3b913d21ff600" },
	{ "get-vanilla-query-unreserved", "GET", "/", .query = { { ALPHABET, ALPHABET } },
	  .in_header = "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
	  .in_query = "8e76a88a7433637b12778d5592799b29ad21ecd6cf6325051c21d86f0acda2bf" },
	{ "get-unreserved", "GET", "/" ALPHABET,
	  .in_header = "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
	  .in_query = "95968482db1b9e0fadef6efc1bd24689f77c77d9ef56919c96a28cc92e0d6005" },
	{ "get-space-normalized", "GET", "/example space/",
	  .in_header = "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
	  .in_query = "7a1f416954786484c9824d93c1f26ef64acb9b1b6c9154d08c9f07d0e394abf6" },
	{ "get-header-value-trim", "GET", "/",
	  .headers = { { "My-Header1", " value1" }, { "My-Header2", " \"a   b   c\"" } },
	  .in_header = "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
	  .in_query = "e7bb0fd515e125e1aec2ecc4c0c17484fb06f6846b927c35e46005dd3df3acd4" },
	{ "get-header-value-multiline", "GET", "/",
	  .headers = { { "My-Header1", "value1\n  value2\n     value3" } },
	  .in_header = "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd",
	  .in_query = "e6f5def831211aca02987a44b96826706278c7bc078112ae0263659c5b2f2d56" },
	{ "get-vanilla-with-session-token", "GET", "/",
	  .session = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267",
	  .in_header = "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
	  .in_query = "7ff2b50b376cb4d151970630573d6291dc128cc5c2a12ffb237f73cc53f67b6c" },
	{ "post-sts-header-before", "POST", "/", .session = LONG_TOKEN,
	  .in_header = "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
	  .in_query = "46c2e3c63c1dbe7d39f8ada16fe7f001c1f56c5791441565323677f96308871c" },
	{ "post-sts-header-after", "POST", "/",
	  .in_header = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
	  .in_query = "2ce6e6d2e0cf2f9d1b55fafec88cd20574c31dc2e7631979f71ba2310083e95b" },
	{ "post-x-www-form-urlencoded", "POST", "/",
	  .headers = { { "Content-Type", "application/x-www-form-urlencoded" },
		       { "Content-Length", "13" } },
	  .body = "Param1=value1",
	  .in_query = "89a40deed0f26f9461242825a082d2222717248abc7ab41f552ad84a94ad46e9" },
	{ "post-x-www-form-urlencoded, as a header is signed", "POST", "/",
	  .headers = { { "Content-Type", "application/x-www-form-urlencoded" },
		       { "Content-Length", "13" },
		       { "x-amz-content-sha256",
			 "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e" } },
	  .body = "Param1=value1",
	  .in_header = "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b" },
};

static size_t count_of(const struct wp_sigv4_field *fields, size_t room)
{
	size_t count = 0;

	while (count < room && fields[count].name != NULL)
		count++;
	return count;
}

static struct wp_sigv4_request request_of(const struct vector *v)
{
	return (struct wp_sigv4_request){
		.region = "us-east-1",
		.service = "service",
		.now_s = SUITE_S,
		.method = v->method,
		.host = "example.amazonaws.com",
		.path = v->path,
		.query = v->query,
		.query_count = count_of(v->query, 2),
		.headers = v->headers,
		.header_count = count_of(v->headers, 4),
		.body = wp_span_of(v->body == NULL ? "" : v->body),
	};
}

static struct wp_sigv4_keys keys_of(const char *session)
{
	return (struct wp_sigv4_keys){ .id = "AKIDEXAMPLE",
				       .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
				       .session = session == NULL ? "" : session };
}

static void ends_in(struct wp_buffer *b, const char *name, const char *wanted)
{
	const char *text = wp_secret_buffer_text(b);

	if (strlen(text) < strlen(wanted) ||
	    strcmp(text + strlen(text) - strlen(wanted), wanted) != 0)
		print_error("%s: %s\n", name, text);
	CHECK(strlen(text) >= strlen(wanted));
	CHECK_TEXT(text + strlen(text) - strlen(wanted), wanted);
}

static void signatures_of_the_test_suite(void **state)
{
	for (size_t i = 0; i < sizeof(suite) / sizeof(suite[0]); i++) {
		const struct vector *v = &suite[i];
		struct wp_sigv4_request r = request_of(v);
		struct wp_sigv4_keys keys = keys_of(v->session);
		struct wp_buffer b;

		CHECK_EQ(wp_secret_buffer_init(&b, WP_SIGV4_SIZE_MAX, NULL), WP_OK);
		if (v->in_header != NULL) {
			CHECK_EQ(wp_sigv4_authorize(&r, &keys, &b), WP_OK);
			ends_in(&b, v->name, v->in_header);
		}
		wp_buffer_reset(&b);
		if (v->in_query != NULL) {
			CHECK_EQ(wp_sigv4_presign(&r, &keys, 3600, &b), WP_OK);
			ends_in(&b, v->name, v->in_query);
		}
		wp_secret_buffer_release(&b);
	}
}

/* "get-vanilla-query-order-encoded": what is sorted is the form that is sent. */
static void parameters_are_sorted_as_they_are_sent(void **state)
{
	const struct wp_sigv4_field query[] = { { "Param-3", "Value3" },
						{ "Param", "Value2" },
						{ "\u1234", "Value1" } };
	struct vector v = { .method = "GET", .path = "/" };
	struct wp_sigv4_request r = request_of(&v);
	struct wp_sigv4_keys keys = keys_of(NULL);
	struct wp_buffer b;

	r.query = query;
	r.query_count = 3;
	CHECK_EQ(wp_secret_buffer_init(&b, WP_SIGV4_SIZE_MAX, NULL), WP_OK);
	CHECK_EQ(wp_sigv4_presign(&r, &keys, 3600, &b), WP_OK);
	CHECK_TEXT(wp_secret_buffer_text(&b),
		   "%E1%88%B4=Value1&Param=Value2&Param-3=Value3&X-Amz-Algorithm=AWS4-HMAC-SHA256"
		   "&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Fus-east-1%2Fservice%2Faws4_request"
		   "&X-Amz-Date=20150830T123600Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-"
		   "Signature=c5f1848ceec943ac2ca68ee720460c23aaae30a2300586597ada94c4a65e4787");
	wp_secret_buffer_release(&b);
}

/* https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-examples.html */
static void the_example_of_iam(void **state)
{
	const struct wp_sigv4_field query[] = { { "Action", "ListUsers" },
						{ "Version", "2010-05-08" } };
	const struct wp_sigv4_field headers[] = {
		{ "Content-Type", "application/x-www-form-urlencoded; charset=utf-8" }
	};
	struct wp_sigv4_request r = { .region = "us-east-1",
				      .service = "iam",
				      .now_s = SUITE_S,
				      .method = "GET",
				      .host = "iam.amazonaws.com",
				      .path = "/",
				      .query = query,
				      .query_count = 2,
				      .headers = headers,
				      .header_count = 1,
				      .body = EMPTY };
	struct wp_sigv4_keys keys = keys_of(NULL);
	struct wp_buffer b;

	CHECK_EQ(wp_secret_buffer_init(&b, WP_SIGV4_SIZE_MAX, NULL), WP_OK);
	CHECK_EQ(wp_sigv4_authorize(&r, &keys, &b), WP_OK);
	CHECK_TEXT(wp_secret_buffer_text(&b),
		   "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
		   "SignedHeaders=content-type;host;x-amz-date, "
		   "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
	wp_secret_buffer_release(&b);
}

/* https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
static void the_example_of_s3(void **state)
{
	const struct wp_sigv4_field headers[] = {
		{ "Range", "bytes=0-9" },
		{ "x-amz-content-sha256",
		  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" }
	};
	struct wp_sigv4_request r = { .region = "us-east-1",
				      .service = "s3",
				      .now_s = 1369353600, /* 2013-05-24 */
				      .method = "GET",
				      .host = "examplebucket.s3.amazonaws.com",
				      .path = "/test.txt",
				      .headers = headers,
				      .header_count = 2,
				      .body = EMPTY };
	struct wp_sigv4_keys keys = { .id = "AKIAIOSFODNN7EXAMPLE",
				      .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
				      .session = "" };
	struct wp_buffer b;

	CHECK_EQ(wp_secret_buffer_init(&b, WP_SIGV4_SIZE_MAX, NULL), WP_OK);
	CHECK_EQ(wp_sigv4_authorize(&r, &keys, &b), WP_OK);
	ends_in(&b, "S3", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
	wp_secret_buffer_release(&b);
}

static void what_is_too_long_is_refused(void **state)
{
	static char token[WP_SIGV4_SIZE_MAX + 1];
	struct vector v = { .method = "GET", .path = "/" };
	struct wp_sigv4_request r = request_of(&v);
	struct wp_sigv4_keys keys = keys_of(token);
	struct wp_buffer b;

	memset(token, '/', sizeof(token) - 1);
	CHECK_EQ(wp_secret_buffer_init(&b, 100, NULL), WP_OK);
	CHECK_EQ(wp_sigv4_presign(&r, &keys, 3600, &b), WP_FULL);
	CHECK_EQ(wp_sigv4_authorize(&r, &keys, &b), WP_FULL);
	keys = keys_of("short");
	CHECK_EQ(wp_sigv4_presign(&r, &keys, 3600, &b), WP_FULL);
	keys.secret = token;
	CHECK_EQ(wp_sigv4_presign(&r, &keys, 3600, &b), WP_FULL);
	wp_secret_buffer_release(&b);
}

static void a_form_is_escaped(void **state)
{
	struct wp_buffer b;

	CHECK_EQ(wp_secret_buffer_init(&b, 200, NULL), WP_OK);
	struct wp_writer form = { .into = &b, .rc = WP_OK };
	wp_form_put(&form, "scope", "a b/c");
	wp_form_put(&form, "x", "100%&=+");
	CHECK_EQ(form.rc, WP_OK);
	CHECK_TEXT(wp_secret_buffer_text(&b), "scope=a%20b%2Fc&x=100%25%26%3D%2B");
	wp_secret_buffer_release(&b);
}

int main(void)
{
	return RUN(PLAIN(signatures_of_the_test_suite),
		   PLAIN(parameters_are_sorted_as_they_are_sent), PLAIN(the_example_of_iam),
		   PLAIN(the_example_of_s3), PLAIN(what_is_too_long_is_refused),
		   PLAIN(a_form_is_escaped));
}

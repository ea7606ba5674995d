/* What is pure of AWS's logins: regions, profiles, keys, tokens. */
#include "aws_keys.h"
#include "aws_profile.h"
#include "aws_region.h"
#include "aws_token.h"
#include "support/check.h"
#include "walpost/base/base64.h"
#include "walpost/base/secret_buffer.h"

/* ---- regions ---- */

static void the_region_of_a_host(void **state)
{
	static const struct {
		const char *host;
		const char *region; /* NULL: it tells none */
	} hosts[] = {
		{ "b-1.demo.ab12.c2.kafka.us-east-1.amazonaws.com", "us-east-1" },
		{ "B-1.Demo.ab12.c2.Kafka.EU-West-1.amazonaws.com", "eu-west-1" },
		{ "boot-ab.c1.kafka-serverless.ap-southeast-2.amazonaws.com", "ap-southeast-2" },
		{ "b-1.demo.ab12.c2.kafka.cn-north-1.amazonaws.com.cn", "cn-north-1" },
		{ "b-1.demo.ab12.c2.kafka.us-gov-west-1.amazonaws.com", "us-gov-west-1" },
		{ "db.cab12.eu-central-1.rds.amazonaws.com", "eu-central-1" },
		{ "db.cluster-ro-cab12.eu-central-1.rds.amazonaws.com", "eu-central-1" },
		{ "db.cab12.rds.cn-north-1.amazonaws.com.cn", "cn-north-1" },
		{ "db.proxy-ab.us-east-2.rds.amazonaws.com", "us-east-2" },
		{ "localhost", NULL },
		{ "", NULL },
		{ "kafka.eu-west-1.example.com", NULL },
		{ "kafka.amazonaws.com", NULL },
		{ "db.rds.amazonaws.com", NULL },
		{ "rds.amazonaws", NULL },
		{ "a.kafka.amazonaws.com", NULL },
		{ "a.b.c.d.e.f.g.h.i.j.k.l.m.n.kafka.eu-west-1.amazonaws.com", NULL },
	};
	char region[WP_AWS_REGION_SIZE];

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		bool found = wp_aws_region_of_host(hosts[i].host, region);
		CHECK_EQ(found, hosts[i].region != NULL);
		if (found)
			CHECK_TEXT(region, hosts[i].region);
	}
}

static void a_region_is_a_label(void **state)
{
	CHECK(wp_aws_region_is_valid("eu-central-1"));
	CHECK(!wp_aws_region_is_valid(""));
	CHECK(!wp_aws_region_is_valid("eu central"));
	CHECK(!wp_aws_region_is_valid("evil.example/"));
	CHECK_TEXT(wp_aws_domain("eu-central-1"), "amazonaws.com");
	CHECK_TEXT(wp_aws_domain("cn-north-1"), "amazonaws.com.cn");
}

/* ---- profiles ---- */

static const char credentials[] = "# keys\n"
				  "[default]\n"
				  "aws_access_key_id = AKIDDEFAULT\r\n"
				  "aws_secret_access_key=a/b+c=d\n"
				  "\n"
				  "[other] ; of others\n"
				  "; aws_access_key_id = NOT\n"
				  "AWS_ACCESS_KEY_ID = AKIDOTHER # the second\n"
				  "aws_access_key_id = AKIDLAST\n"
				  "empty =\n"
				  "s3 =\n"
				  "  aws_session_token = nested\n";

static const char config[] = "[default]\nregion = eu-west-1\n"
			     "[profile demo]\nregion=eu-central-1\nrole_arn = x#y ;z\n"
			     "[profile \"two words\"]\nregion = us-east-1\n"
			     "[demo]\nregion = not-here-1\n"
			     "[profiledemo]\nregion = nor-here-1";

static void gives(enum wp_aws_file which, const char *profile, const char *name, const char *wanted)
{
	char value[32];
	bool found = wp_aws_profile_setting(which == WP_AWS_CONFIG_FILE ? config : credentials,
					    which, profile, name, value, sizeof(value));

	CHECK_EQ(found, wanted != NULL);
	if (found)
		CHECK_TEXT(value, wanted);
}

static void settings_of_the_file_of_keys(void **state)
{
	gives(WP_AWS_CREDENTIALS_FILE, "default", "aws_access_key_id", "AKIDDEFAULT");
	gives(WP_AWS_CREDENTIALS_FILE, "default", "aws_secret_access_key", "a/b+c=d");
	gives(WP_AWS_CREDENTIALS_FILE, "other", "aws_access_key_id", "AKIDLAST");
	gives(WP_AWS_CREDENTIALS_FILE, "other", "empty", NULL);
	gives(WP_AWS_CREDENTIALS_FILE, "other", "aws_session_token", NULL);
	gives(WP_AWS_CREDENTIALS_FILE, "nobody", "aws_access_key_id", NULL);
	CHECK(wp_aws_profile_is_in(credentials, WP_AWS_CREDENTIALS_FILE, "other"));
	CHECK(!wp_aws_profile_is_in(credentials, WP_AWS_CREDENTIALS_FILE, "nobody"));
}

static void settings_of_the_file_of_profiles(void **state)
{
	gives(WP_AWS_CONFIG_FILE, "default", "region", "eu-west-1");
	gives(WP_AWS_CONFIG_FILE, "demo", "region", "eu-central-1");
	gives(WP_AWS_CONFIG_FILE, "demo", "role_arn", "x#y");
	gives(WP_AWS_CONFIG_FILE, "two words", "region", "us-east-1");
	CHECK(wp_aws_profile_is_in(config, WP_AWS_CONFIG_FILE, "two words"));
	CHECK(!wp_aws_profile_is_in("[demo]", WP_AWS_CONFIG_FILE, "demo"));
}

static void a_setting_that_does_not_fit_is_missing(void **state)
{
	char value[4];

	CHECK(!wp_aws_profile_setting("[a]\nx = 1234\n", WP_AWS_CREDENTIALS_FILE, "a", "x", value,
				      sizeof(value)));
	CHECK(wp_aws_profile_setting("[a]\nx = 123\n", WP_AWS_CREDENTIALS_FILE, "a", "x", value,
				     sizeof(value)));
}

/* ---- keys ---- */

static enum wp_rc read_keys(const char *answer, struct wp_aws_credentials *ret)
{
	struct wp_error error;

	return wp_aws_keys_read(wp_span_of(answer), "http://169.254.169.254/x", ret, &error);
}

static void keys_of_an_endpoint(void **state)
{
	struct wp_aws_credentials c;

	CHECK_EQ(
		read_keys("{\"Code\": \"Success\", \"AccessKeyId\": \"ASIA\", \"SecretAccessKey\": "
			  "\"s\", \"Token\": \"t/t\", \"Expiration\": \"2015-08-30T12:36:00Z\"}",
			  &c),
		WP_OK);
	CHECK_TEXT(c.id, "ASIA");
	CHECK_TEXT(c.secret, "s");
	CHECK_TEXT(c.session, "t/t");
	CHECK_EQ(c.expires_at_ms, INT64_C(1440938160000));
}

static void keys_that_are_not_whole_are_none(void **state)
{
	struct wp_aws_credentials c;

	CHECK_EQ(read_keys("", &c), WP_IO);
	CHECK_EQ(read_keys("<html>", &c), WP_IO);
	CHECK_EQ(read_keys("{\"Code\": \"Failed\", \"AccessKeyId\": \"ASIA\", \"SecretAccessKey\": "
			   "\"s\", \"Token\": \"t\", \"Expiration\": \"2015-08-30T12:36:00Z\"}",
			   &c),
		 WP_IO);
	CHECK_EQ(
		read_keys(
			"{\"AccessKeyId\": \"ASIA\", \"SecretAccessKey\": \"s\", \"Token\": \"t\", "
			"\"Expiration\": \"soon\"}",
			&c),
		WP_IO);
}

/* ---- tokens ---- */

static const struct wp_sigv4_keys keys = { .id = "AKIDEXAMPLE",
					   .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
					   .session = "a/b" };

/* The signatures are botocore's (1.44.8), of the same keys, hour and hosts. */
static void a_token_of_msk(void **state)
{
	struct wp_buffer token, url;

	CHECK_EQ(wp_secret_buffer_init(&token, WP_SIGV4_SIZE_MAX, NULL), WP_OK);
	CHECK_EQ(wp_secret_buffer_init(&url, WP_SIGV4_SIZE_MAX, NULL), WP_OK);
	CHECK_EQ(wp_aws_msk_token(&keys, "eu-west-1", 1440938160, &token), WP_OK);
	CHECK(strpbrk(wp_secret_buffer_text(&token), "=+/") == NULL);
	CHECK_EQ(wp_base64url_read(&url, wp_buffer_span(&token)), WP_OK);
	CHECK_TEXT(wp_secret_buffer_text(&url),
		   "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect"
		   "&X-Amz-Algorithm=AWS4-HMAC-SHA256"
		   "&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Feu-west-1%2Fkafka-cluster%2Faws4_"
		   "request"
		   "&X-Amz-Date=20150830T123600Z&X-Amz-Expires=900&X-Amz-Security-Token=a%2Fb"
		   "&X-Amz-SignedHeaders=host&X-Amz-Signature="
		   "35306526b06e8bd252f239a54d559e88ae7d233d374b1de7b9332bb99c66972b"
		   "&User-Agent=walpost%2F" WALPOST_VERSION);
	wp_secret_buffer_release(&token);
	wp_secret_buffer_release(&url);
}

static void a_token_of_rds(void **state)
{
	struct wp_buffer token;

	CHECK_EQ(wp_secret_buffer_init(&token, WP_SIGV4_SIZE_MAX, NULL), WP_OK);
	CHECK_EQ(wp_aws_rds_token(&keys, "eu-west-1", 1440938160,
				  "db.c1.eu-west-1.rds.amazonaws.com:5432", "wal post", &token),
		 WP_OK);
	CHECK_TEXT(wp_secret_buffer_text(&token),
		   "db.c1.eu-west-1.rds.amazonaws.com:5432/?Action=connect&DBUser=wal%20post"
		   "&X-Amz-Algorithm=AWS4-HMAC-SHA256"
		   "&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Feu-west-1%2Frds-db%2Faws4_request"
		   "&X-Amz-Date=20150830T123600Z&X-Amz-Expires=900&X-Amz-Security-Token=a%2Fb"
		   "&X-Amz-SignedHeaders=host&X-Amz-Signature="
		   "ddcddb4d52535a20360948817871b872ec5a56dd8e47c1f11132d7060d4a5494");
	wp_secret_buffer_release(&token);
}

int main(void)
{
	return RUN(PLAIN(the_region_of_a_host), PLAIN(a_region_is_a_label),
		   PLAIN(settings_of_the_file_of_keys), PLAIN(settings_of_the_file_of_profiles),
		   PLAIN(a_setting_that_does_not_fit_is_missing), PLAIN(keys_of_an_endpoint),
		   PLAIN(keys_that_are_not_whole_are_none), PLAIN(a_token_of_msk),
		   PLAIN(a_token_of_rds));
}

/*
 * Where the providers look for credentials, and in which order; nothing here asks an endpoint that
 * answers. What they say to endpoints that do: the ring e2e, test_login*.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "oauth.h"
#include "aws_endpoints.h"
#include "support/check.h"
#include "support/files.h"

#define MSK "b-1.demo.ab12.c2.kafka.eu-west-1.amazonaws.com"
#define ROLE "arn:aws:iam::123456789012:role/walpost"
/* Nothing listens there. */
#define NOBODY "http://127.0.0.1:1"

static char folder[64];

static const char *const variables[] = {
	"AWS_ACCESS_KEY_ID",
	"AWS_SECRET_ACCESS_KEY",
	"AWS_SESSION_TOKEN",
	"AWS_REGION",
	"AWS_DEFAULT_REGION",
	"AWS_PROFILE",
	"AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_ROLE_ARN",
	"AWS_ROLE_SESSION_NAME",
	"AWS_SHARED_CREDENTIALS_FILE",
	"AWS_CONFIG_FILE",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"AWS_ENDPOINT_URL",
	"AZURE_TENANT_ID",
	"AZURE_CLIENT_ID",
	"AZURE_CLIENT_SECRET",
	"AZURE_FEDERATED_TOKEN_FILE",
	"IDENTITY_ENDPOINT",
	"IDENTITY_HEADER",
	"GOOGLE_APPLICATION_CREDENTIALS",
	"CLOUDSDK_CONFIG",
};

static void set(const char *name, const char *value)
{
	CHECK_EQ(setenv(name, value, 1), 0);
}

static void set_path(const char *name, const char *file)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	set(name, path);
}

static void write_in(const char *file, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	write_text(path, text);
}

/* An environment of which no SDK knows anything. */
static int set_up(void **state)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/walpost-provider-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		CHECK_EQ(unsetenv(variables[i]), 0);
	set("HOME", folder);
	set("AWS_EC2_METADATA_DISABLED", "true");
	set("AWS_ENDPOINT_URL_STS", NOBODY);
	set("AZURE_AUTHORITY_HOST", NOBODY);
	set("AZURE_POD_IDENTITY_AUTHORITY_HOST", NOBODY);
	set("GCE_METADATA_HOST", "127.0.0.1:1");
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = { "credentials", "config", "token", "google.json" };
	char path[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		(void)unlink(path); /* not all were written */
	}
	return rmdir(folder);
}

/* ---- one fetch ---- */

struct login {
	struct wp_login_options options;
	struct wp_login_request request;
	struct wp_token token;
	struct wp_error error;
};

typedef enum wp_rc provider(const struct wp_login_request *r, struct wp_token *ret,
			    struct wp_error *error);

static struct login login_of(enum wp_login_purpose purpose, const char *host)
{
	return (struct login){ .options = { .command = "",
					    .file = "",
					    .region = "",
					    .role = "",
					    .timeout_ms = 500 },
			       .request = { .purpose = purpose,
					    .host = host,
					    .port = "5432",
					    .user = "wal",
					    .oidc = { "", "", "", "" },
					    .ca_file = "" } };
}

static enum wp_rc fetch(struct login *l, provider *of)
{
	l->request.options = &l->options;
	return of(&l->request, &l->token, &l->error);
}

static void fails(struct login *l, provider *of, enum wp_rc wanted, const char *part)
{
	CHECK_EQ(fetch(l, of), wanted);
	CHECK_HAS(l->error.text, part);
	CHECK(strstr(l->error.text, "hunter2") == NULL);
	CHECK(l->token.text == NULL);
}

/* ---- AWS ---- */

static void keys_of_the_environment(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, MSK);

	set("AWS_ACCESS_KEY_ID", "AKID");
	set("AWS_SECRET_ACCESS_KEY", "hunter2");
	CHECK_EQ(fetch(&l, wp_login_aws), WP_OK);
	CHECK_TEXT(l.token.principal, "aws-msk-iam");
	CHECK(l.token.expires_at_ms > l.token.fetched_at_ms + 890000);
	CHECK(l.token.expires_at_ms <= l.token.fetched_at_ms + 900000);
	wp_token_release(&l.token);
}

static void one_key_alone_is_a_mistake(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, MSK);

	set("AWS_ACCESS_KEY_ID", "AKID");
	fails(&l, wp_login_aws, WP_CONFIG, "without AWS_SECRET_ACCESS_KEY");
	CHECK_EQ(unsetenv("AWS_ACCESS_KEY_ID"), 0);
	set("AWS_SECRET_ACCESS_KEY", "hunter2");
	fails(&l, wp_login_aws, WP_CONFIG, "without AWS_ACCESS_KEY_ID");
}

static void nothing_found_says_where_was_looked(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, MSK);

	fails(&l, wp_login_aws, WP_CONFIG,
	      "AWS_ACCESS_KEY_ID is not set; AWS_WEB_IDENTITY_TOKEN_FILE is not set; profile "
	      "\"default\" has no keys in ");
	CHECK_HAS(l.error.text, "AWS_CONTAINER_CREDENTIALS_FULL_URI are not set; "
				"AWS_EC2_METADATA_DISABLED is true");
	CHECK_EQ(unsetenv("AWS_EC2_METADATA_DISABLED"), 0);
	set("AWS_EC2_METADATA_SERVICE_ENDPOINT", NOBODY "/");
	fails(&l, wp_login_aws, WP_CONFIG, NOBODY "/latest/api/token cannot be reached");
}

static void a_region_is_found(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, "localhost");

	set("AWS_ACCESS_KEY_ID", "AKID");
	set("AWS_SECRET_ACCESS_KEY", "hunter2");
	fails(&l, wp_login_aws, WP_CONFIG, "set kafka.login.region");
	set_path("AWS_CONFIG_FILE", "config");
	write_in("config", "[default]\nregion = eu/west\n");
	fails(&l, wp_login_aws, WP_CONFIG, "\"eu/west\" is not an AWS region");
	set("AWS_DEFAULT_REGION", "nor this");
	fails(&l, wp_login_aws, WP_CONFIG, "\"nor this\" is not an AWS region");
	set("AWS_REGION", "or this");
	fails(&l, wp_login_aws, WP_CONFIG, "\"or this\" is not an AWS region");
	l.options.region = "eu-central-1";
	CHECK_EQ(fetch(&l, wp_login_aws), WP_OK);
	wp_token_release(&l.token);
}

static void keys_of_a_profile(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_POSTGRES, "db.c1.eu-west-1.rds.amazonaws.com");

	set_path("AWS_SHARED_CREDENTIALS_FILE", "credentials");
	write_in("credentials",
		 "[default]\naws_access_key_id = AKID\n"
		 "[two]\naws_access_key_id = AKIDTWO\naws_secret_access_key=hunter2\n");
	fails(&l, wp_login_aws, WP_CONFIG, "access_key_id without aws_secret_access_key");
	set("AWS_PROFILE", "three");
	fails(&l, wp_login_aws, WP_CONFIG, "AWS_PROFILE: profile \"three\" has no keys in ");
	set("AWS_PROFILE", "two");
	CHECK_EQ(fetch(&l, wp_login_aws), WP_OK);
	CHECK_HAS(l.token.text,
		  "db.c1.eu-west-1.rds.amazonaws.com:5432/?Action=connect&DBUser=wal&");
	CHECK_HAS(l.token.text, "Credential=AKIDTWO%2F");
	CHECK_TEXT(l.token.principal, "aws-rds-iam");
	wp_token_release(&l.token);
}

static void what_only_awss_programs_do_is_refused(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_POSTGRES, "db.c1.eu-west-1.rds.amazonaws.com");

	set_path("AWS_CONFIG_FILE", "config");
	write_in("config", "[default]\nsso_session = x\n");
	fails(&l, wp_login_aws, WP_CONFIG, "fetch the password, by postgres.password_command");
	write_in("config", "[default]\ncredential_process = /bin/x hunter2\n");
	fails(&l, wp_login_aws, WP_CONFIG, "credential_process");
	write_in("config", "[default]\nrole_arn = " ROLE "\nmfa_serial = x\nsource_profile = y\n");
	fails(&l, wp_login_aws, WP_CONFIG, "mfa_serial");
}

static void roles_that_lead_nowhere_are_refused(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, MSK);

	set_path("AWS_CONFIG_FILE", "config");
	write_in("config", "[default]\nrole_arn = " ROLE "\n");
	fails(&l, wp_login_aws, WP_CONFIG, "has role_arn without source_profile");
	write_in("config", "[default]\nrole_arn = " ROLE "\nsource_profile = a\n"
			   "[profile a]\nrole_arn = " ROLE "\nsource_profile = default\n");
	fails(&l, wp_login_aws, WP_CONFIG, "or in a circle");
	write_in("config", "[default]\nrole_arn = " ROLE "\nsource_profile = nobody\n");
	fails(&l, wp_login_aws, WP_CONFIG, "profile \"nobody\" has no keys in ");
	write_in("config", "[default]\nrole_arn = " ROLE "\ncredential_source = Nothing\n");
	fails(&l, wp_login_aws, WP_CONFIG, "credential_source \"Nothing\"");
	write_in("config", "[default]\nrole_arn = " ROLE "\ncredential_source = Environment\n");
	fails(&l, wp_login_aws, WP_CONFIG, "AWS_ACCESS_KEY_ID is not set");
	/* This one leads to STS, with its own keys. */
	write_in("config", "[default]\nrole_arn = " ROLE "\nsource_profile = default\n"
			   "aws_access_key_id = AKID\naws_secret_access_key = hunter2\n");
	fails(&l, wp_login_aws, WP_IO, NOBODY " cannot be reached");
}

static void a_web_identity_comes_before_the_files(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, MSK);

	set_path("AWS_SHARED_CREDENTIALS_FILE", "credentials");
	write_in("credentials",
		 "[default]\naws_access_key_id = AKID\naws_secret_access_key=hunter2\n");
	set_path("AWS_WEB_IDENTITY_TOKEN_FILE", "token");
	fails(&l, wp_login_aws, WP_CONFIG, "without AWS_ROLE_ARN");
	set("AWS_ROLE_ARN", ROLE);
	fails(&l, wp_login_aws, WP_CONFIG, "token cannot be read");
	write_in("token", "hunter2\n");
	fails(&l, wp_login_aws, WP_IO, NOBODY " cannot be reached");
}

static void a_role_is_assumed_with_what_was_found(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, MSK);

	set("AWS_ACCESS_KEY_ID", "AKID");
	set("AWS_SECRET_ACCESS_KEY", "hunter2");
	l.options.role = ROLE;
	fails(&l, wp_login_aws, WP_IO, NOBODY " cannot be reached");
}

static void a_containers_endpoint_is_of_this_machine_or_https(void **state)
{
	CHECK(wp_aws_container_is_allowed("http://169.254.170.2/x"));
	CHECK(wp_aws_container_is_allowed("http://169.254.170.23/v1/credentials"));
	CHECK(wp_aws_container_is_allowed("http://[fd00:ec2::23]/v1/credentials"));
	CHECK(wp_aws_container_is_allowed("http://[::1]:80/x"));
	CHECK(wp_aws_container_is_allowed("http://127.0.0.1:8080/x"));
	CHECK(wp_aws_container_is_allowed("http://127.1.2.3"));
	CHECK(wp_aws_container_is_allowed("http://localhost:1/x"));
	CHECK(wp_aws_container_is_allowed("https://anywhere.example/x"));
	CHECK(!wp_aws_container_is_allowed("http://anywhere.example/x"));
	CHECK(!wp_aws_container_is_allowed("http://169.254.169.254/x"));
	CHECK(!wp_aws_container_is_allowed("http://127.0.0.1.example/x"));
	CHECK(!wp_aws_container_is_allowed("http://127.0.0.1@evil.example/x"));
	CHECK(!wp_aws_container_is_allowed("http://localhost:1@evil.example/x"));
	CHECK(!wp_aws_container_is_allowed("ftp://127.0.0.1/x"));
	CHECK(!wp_aws_container_is_allowed(""));
}

static void another_containers_endpoint_is_refused(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, MSK);

	set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://evil.example/x?hunter2");
	fails(&l, wp_login_aws, WP_CONFIG, "is http://evil.example/x, which is neither HTTPS");
	set("AWS_CONTAINER_CREDENTIALS_FULL_URI", NOBODY "/x");
	fails(&l, wp_login_aws, WP_IO, NOBODY "/x cannot be reached");
}

static void an_rds_token_is_for_one_host_and_user(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_POSTGRES, "a,b");

	fails(&l, wp_login_aws, WP_CONFIG, "signed for one host, which \"a,b\" is not");
	l.request.host = "db.c1.eu-west-1.rds.amazonaws.com";
	l.request.user = "";
	fails(&l, wp_login_aws, WP_CONFIG, "signed for a user");
}

/* ---- Azure ---- */

static void azure_looks_in_its_sdks_order(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, "demo.servicebus.windows.net");

	fails(&l, wp_login_azure, WP_CONFIG,
	      "AZURE_CLIENT_SECRET is not set; AZURE_FEDERATED_TOKEN_FILE is not set; "
	      "IDENTITY_ENDPOINT is not set; " NOBODY
	      "/metadata/identity/oauth2/token cannot be reached");
	set("IDENTITY_ENDPOINT", NOBODY "/msi/token");
	fails(&l, wp_login_azure, WP_CONFIG, "without IDENTITY_HEADER");
	set("IDENTITY_HEADER", "hunter2");
	fails(&l, wp_login_azure, WP_IO, NOBODY "/msi/token cannot be reached");
	set_path("AZURE_FEDERATED_TOKEN_FILE", "token");
	fails(&l, wp_login_azure, WP_CONFIG, "without AZURE_TENANT_ID");
	set("AZURE_TENANT_ID", "tenant");
	fails(&l, wp_login_azure, WP_CONFIG, "without AZURE_CLIENT_ID");
	set("AZURE_CLIENT_ID", "client");
	fails(&l, wp_login_azure, WP_CONFIG, "token cannot be read");
	write_in("token", "hunter2\n");
	fails(&l, wp_login_azure, WP_IO, NOBODY "/tenant/oauth2/v2.0/token cannot be reached");
	set("AZURE_CLIENT_SECRET", "hunter2");
	fails(&l, wp_login_azure, WP_IO, NOBODY "/tenant/oauth2/v2.0/token cannot be reached");
}

/* ---- Google ---- */

static void google_looks_in_its_sdks_order(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, "bootstrap.example");

	fails(&l, wp_login_gcp, WP_CONFIG,
	      "GOOGLE_APPLICATION_CREDENTIALS is not set; there is no file ");
	CHECK_HAS(l.error.text, "http://127.0.0.1:1/computeMetadata/v1/instance/");
	set("CLOUDSDK_CONFIG", folder);
	fails(&l, wp_login_gcp, WP_CONFIG, "/application_default_credentials.json; ");
	set_path("GOOGLE_APPLICATION_CREDENTIALS", "google.json");
	fails(&l, wp_login_gcp, WP_CONFIG, "google.json cannot be read");
}

static void a_file_of_google_is_judged(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, "bootstrap.example");

	set_path("GOOGLE_APPLICATION_CREDENTIALS", "google.json");
	write_in("google.json", "hunter2");
	fails(&l, wp_login_gcp, WP_CONFIG, "it has no \"type\"");
	write_in("google.json", "{\"type\": \"external_account\"}");
	fails(&l, wp_login_gcp, WP_CONFIG,
	      "type external_account, which are not supported here; "
	      "let a program fetch the token, by kafka.token_command");
	write_in("google.json", "{\"type\": \"service_account\", \"client_email\": \"a@b\", "
				"\"private_key\": \"hunter2\"}");
	fails(&l, wp_login_gcp, WP_CONFIG, "no valid private_key");
	write_in("google.json", "{\"type\": \"authorized_user\", \"client_id\": \"a\", "
				"\"client_secret\": \"hunter2\"}");
	fails(&l, wp_login_gcp, WP_CONFIG, "no valid refresh_token");
	write_in("google.json",
		 "{\"type\": \"authorized_user\", \"client_id\": \"a\", \"client_secret\": "
		 "\"hunter2\", \"refresh_token\": \"hunter2\", \"token_uri\": \"" NOBODY "/t\"}");
	fails(&l, wp_login_gcp, WP_IO, NOBODY "/t cannot be reached");
}

/* ---- OAuth ---- */

static void oidc_says_what_is_missing(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, "localhost");

	fails(&l, wp_login_oidc, WP_CONFIG, "sasl.oauthbearer.token.endpoint.url");
	l.request.oidc.token_url = NOBODY "/token?hunter2";
	fails(&l, wp_login_oidc, WP_CONFIG, "sasl.oauthbearer.client.id");
	l.request.oidc.client_id = "walpost";
	fails(&l, wp_login_oidc, WP_CONFIG, "sasl.oauthbearer.client.secret");
	l.request.oidc.client_secret = "hunter2";
	fails(&l, wp_login_oidc, WP_IO, NOBODY "/token cannot be reached");
	l.request.oidc.token_url = "file:///etc/passwd";
	fails(&l, wp_login_oidc, WP_CONFIG, "is not a URL of http or https");
	l.request.oidc.token_url = "https://a b/";
	fails(&l, wp_login_oidc, WP_CONFIG, "is not a valid URL");
}

static enum wp_rc read_oauth(const char *answer, struct login *l)
{
	return wp_oauth_read(wp_span_of(answer), "the server", 1000000, &l->token, &l->error);
}

static void the_lifetime_of_a_token(void **state)
{
	static const struct {
		const char *answer;
		int64_t expires_at_ms;
	} answers[] = {
		{ "{\"access_token\": \"x\", \"expires_in\": 60}", 1060000 },
		{ "{\"access_token\": \"x\", \"expires_in\": \"60\", \"token_type\": \"BEARER\"}",
		  1060000 },
		{ "{\"access_token\": \"x\", \"expires_on\": \"5000\"}", 5000000 },
		{ "{\"access_token\": \"x\"}", 0 },
		/* {"exp":7000} */
		{ "{\"access_token\": \"e30.eyJleHAiOjcwMDB9.x\"}", 7000000 },
		{ "{\"access_token\": \"e30.eyJleHAiOjcwMDB9.x\", \"expires_in\": 60}", 1060000 },
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct login l = login_of(WP_LOGIN_FOR_KAFKA, "localhost");
		CHECK_EQ(read_oauth(answers[i].answer, &l), WP_OK);
		CHECK_EQ(l.token.expires_at_ms, answers[i].expires_at_ms);
		CHECK_EQ(l.token.fetched_at_ms, 1000000);
		wp_token_release(&l.token);
	}
}

static void an_answer_without_a_token(void **state)
{
	struct login l = login_of(WP_LOGIN_FOR_KAFKA, "localhost");

	CHECK_EQ(read_oauth("", &l), WP_IO);
	CHECK_EQ(read_oauth("{\"access_token\": 1}", &l), WP_IO);
	CHECK_EQ(read_oauth("{\"access_token\": \"\"}", &l), WP_IO);
	CHECK_EQ(read_oauth("{\"access_token\": \"hunter2\\n\"}", &l), WP_IO);
	CHECK_HAS(l.error.text, "the server answered with a token that is of no use");
	CHECK(strstr(l.error.text, "hunter2") == NULL);
	CHECK_EQ(read_oauth("{\"access_token\": \"x\", \"token_type\": \"mac\"}", &l), WP_CONFIG);
	CHECK(l.token.text == NULL);
}

int main(void)
{
	return RUN(TEST(keys_of_the_environment), TEST(one_key_alone_is_a_mistake),
		   TEST(nothing_found_says_where_was_looked), TEST(a_region_is_found),
		   TEST(keys_of_a_profile), TEST(what_only_awss_programs_do_is_refused),
		   TEST(roles_that_lead_nowhere_are_refused),
		   TEST(a_web_identity_comes_before_the_files),
		   TEST(a_role_is_assumed_with_what_was_found),
		   PLAIN(a_containers_endpoint_is_of_this_machine_or_https),
		   TEST(another_containers_endpoint_is_refused),
		   TEST(an_rds_token_is_for_one_host_and_user), TEST(azure_looks_in_its_sdks_order),
		   TEST(google_looks_in_its_sdks_order), TEST(a_file_of_google_is_judged),
		   TEST(oidc_says_what_is_missing), PLAIN(the_lifetime_of_a_token),
		   PLAIN(an_answer_without_a_token));
}

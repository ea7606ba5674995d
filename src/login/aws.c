/* Logs in to Amazon's Kafka (MSK) and Postgres (RDS) with keys of AWS, which sign the token. */
#include <stdio.h>
#include <string.h>

#include "aws_credentials.h"
#include "aws_endpoints.h"
#include "aws_shared.h"
#include "aws_token.h"
#include "walpost/base/secret_buffer.h"

#define MS_PER_S 1000
#define TOKEN_SIZE_MAX ((size_t)WP_SIGV4_SIZE_MAX * 2)

static enum wp_rc take_region(const char *said, char ret[WP_AWS_REGION_SIZE],
			      struct wp_error *error)
{
	if (!wp_aws_region_is_valid(said))
		return wp_error_set(error, WP_CONFIG,
				    "\"%.64s\" is not an AWS region; an example is eu-central-1",
				    said);
	(void)snprintf(ret, WP_AWS_REGION_SIZE, "%s", said); /* fits */
	return WP_OK;
}

/* The region is set here, else in the host's name, else where AWS's SDKs look. */
static enum wp_rc find_region(const struct wp_fetch *f, char ret[WP_AWS_REGION_SIZE],
			      struct wp_error *error)
{
	const struct wp_login_request *r = f->request;
	char found[WP_AWS_REGION_SIZE];

	if (r->options->region[0] != '\0')
		return take_region(r->options->region, ret, error);
	if (wp_aws_region_of_host(r->host, ret))
		return WP_OK;
	if (wp_provider_env("AWS_REGION")[0] != '\0')
		return take_region(wp_provider_env("AWS_REGION"), ret, error);
	if (wp_provider_env("AWS_DEFAULT_REGION")[0] != '\0')
		return take_region(wp_provider_env("AWS_DEFAULT_REGION"), ret, error);
	enum wp_rc rc = wp_aws_shared_region(found, error);
	if (rc == WP_AGAIN)
		rc = wp_aws_instance_region(f, found, error);
	if (rc == WP_OK)
		return take_region(found, ret, error);
	if (rc != WP_AGAIN)
		return rc;
	return wp_error_set(error, WP_CONFIG,
			    "no AWS region is known: the host %s does not name one; set "
			    "%s.login.region, or AWS_REGION in the environment",
			    r->host, r->purpose == WP_LOGIN_FOR_KAFKA ? "kafka" : "postgres");
}

/* An address list has one token for all; but a token is signed for one host. */
static enum wp_rc check_postgres(const struct wp_login_request *r, struct wp_error *error)
{
	if (r->host[0] == '\0' || r->host[0] == '/' || strchr(r->host, ',') != NULL)
		return wp_error_set(error, WP_CONFIG,
				    "an RDS token is signed for one host, which \"%s\" is not; "
				    "set the endpoint's name as RDS shows it",
				    r->host);
	if (r->user[0] == '\0')
		return wp_error_set(error, WP_CONFIG,
				    "an RDS token is signed for a user, but none is set; set "
				    "user in postgres.conninfo");
	return WP_OK;
}

static enum wp_rc sign(const struct wp_fetch *f, const struct wp_aws_credentials *c,
		       const char *region, struct wp_buffer *into)
{
	const struct wp_login_request *r = f->request;
	struct wp_sigv4_keys keys = wp_aws_credentials_keys(c);
	int64_t now_s = f->now_ms / MS_PER_S;
	char place[320];

	if (r->purpose == WP_LOGIN_FOR_KAFKA)
		return wp_aws_msk_token(&keys, region, now_s, into);
	int size = snprintf(place, sizeof(place), "%s:%s", r->host,
			    r->port[0] == '\0' ? "5432" : r->port);
	if (size < 0 || (size_t)size >= sizeof(place))
		return WP_FULL;
	return wp_aws_rds_token(&keys, region, now_s, place, r->user, into);
}

static enum wp_rc make(const struct wp_fetch *f, const struct wp_aws_credentials *c,
		       const char *region, struct wp_token *ret, struct wp_error *error)
{
	struct wp_buffer text;
	int64_t expires_at_ms = (f->now_ms / MS_PER_S + WP_AWS_TOKEN_S) * MS_PER_S;

	enum wp_rc rc = wp_secret_buffer_init(&text, TOKEN_SIZE_MAX, error);
	if (rc == WP_OK)
		rc = sign(f, c, region, &text);
	if (rc == WP_FULL)
		rc = wp_error_set(error, WP_CONFIG,
				  "the AWS credentials are too long to be signed with");
	else if (rc == WP_NOMEM)
		rc = wp_error_set(error, rc, "out of memory");
	else
		rc = wp_token_set(ret, wp_buffer_span(&text), error);
	wp_secret_buffer_release(&text);
	if (rc != WP_OK)
		return rc;
	/* What the keys signed ends with them. */
	if (c->expires_at_ms != 0 && c->expires_at_ms < expires_at_ms)
		expires_at_ms = c->expires_at_ms;
	ret->fetched_at_ms = f->now_ms;
	ret->expires_at_ms = expires_at_ms;
	/* librdkafka wants a principal; only AWS knows whom the keys stand for. */
	(void)snprintf(ret->principal, sizeof(ret->principal), "%s",
		       f->request->purpose == WP_LOGIN_FOR_KAFKA ? "aws-msk-iam" : "aws-rds-iam");
	return WP_OK;
}

enum wp_rc wp_login_aws(const struct wp_login_request *r, struct wp_token *ret,
			struct wp_error *error)
{
	struct wp_fetch f = wp_fetch_begin(r);
	struct wp_aws_credentials credentials = { .id = "" };
	char region[WP_AWS_REGION_SIZE];

	enum wp_rc rc = r->purpose == WP_LOGIN_FOR_POSTGRES ? check_postgres(r, error) : WP_OK;
	if (rc == WP_OK)
		rc = find_region(&f, region, error);
	if (rc == WP_OK)
		rc = wp_aws_credentials_find(&f, region, &credentials, error);
	if (rc == WP_OK)
		rc = make(&f, &credentials, region, ret, error);
	wp_aws_credentials_release(&credentials);
	return rc;
}

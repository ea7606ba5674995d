/* Asks the EC2 instance for keys of AWS and its region, by IMDSv2. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "aws_endpoints.h"
#include "aws_keys.h"
#include "walpost/base/secret_buffer.h"

#define TOKEN_HEADER "X-aws-ec2-metadata-token: "
#define TRY_MS 5000
#define ROLES "/latest/meta-data/iam/security-credentials/"

struct instance {
	const struct wp_fetch *fetch;
	char base[256];
	char token_header[512]; /* of the session that IMDSv2 wants */
};

static void find_base(char *ret, size_t size)
{
	const char *said = wp_provider_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode = wp_provider_env("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");

	if (said[0] == '\0')
		said = strcasecmp(mode, "IPv6") == 0 ? "http://[fd00:ec2::254]"
						     : "http://169.254.169.254";
	(void)snprintf(ret, size, "%s", said); /* a long one is cut, and no URL of anything */
	size_t end = strlen(ret);
	if (end > 0 && ret[end - 1] == '/')
		ret[end - 1] = '\0';
}

static enum wp_rc ask(const struct instance *i, const char *method, const char *path,
		      const char *header, struct wp_http_response *ret, struct wp_error *error)
{
	char url[768];

	(void)snprintf(url, sizeof(url), "%s%s", i->base, path); /* both are bounded */
	struct wp_http_request r = wp_fetch_request(i->fetch, method, url);
	r.is_local = true;
	r.try_ms = TRY_MS;
	r.headers[0] = header;
	enum wp_rc rc = wp_http_send(&r, ret, error);
	/* The service has forgotten the session, as after a restart: the next one will do. */
	return rc == WP_CONFIG && ret->status == 401 ? WP_IO : rc;
}

/* The answer is one line, as all but the keys are. */
static bool first_line(struct wp_http_response *a, char *ret, size_t size)
{
	const char *text = wp_secret_buffer_text(&a->body);
	size_t length = strcspn(text, "\r\n");

	if (length == 0 || length >= size)
		return false;
	memcpy(ret, text, length);
	ret[length] = '\0';
	return true;
}

static enum wp_rc open_session(struct instance *i, struct wp_error *error)
{
	struct wp_http_response answer;
	char token[400];

	enum wp_rc rc = ask(i, "PUT", "/latest/api/token",
			    "X-aws-ec2-metadata-token-ttl-seconds: 21600", &answer, error);
	if (rc == WP_IO && !answer.was_connected)
		rc = WP_AGAIN; /* there is none, as far as anyone can tell */
	else if (rc == WP_IO && answer.status == 0 && answer.body.size == 0)
		rc = wp_error_set(error, rc,
				  "%s; if this is a container, set the EC2 instance's metadata "
				  "response hop limit to 2",
				  error->text);
	if (rc == WP_CONFIG && answer.status != 0)
		rc = WP_AGAIN; /* it is switched off, or something else */
	if (rc == WP_OK && first_line(&answer, token, sizeof(token)))
		(void)snprintf(i->token_header, sizeof(i->token_header), TOKEN_HEADER "%s",
			       token); /* fits */
	else if (rc == WP_OK)
		rc = wp_error_set(error, WP_IO, "%s/latest/api/token answered without a token",
				  i->base);
	wp_http_response_release(&answer);
	explicit_bzero(token, sizeof(token));
	return rc;
}

static enum wp_rc begin(struct instance *i, const struct wp_fetch *f, struct wp_error *error)
{
	i->fetch = f;
	i->token_header[0] = '\0';
	if (strcasecmp(wp_provider_env("AWS_EC2_METADATA_DISABLED"), "true") == 0)
		return wp_error_set(error, WP_AGAIN, "AWS_EC2_METADATA_DISABLED is true");
	find_base(i->base, sizeof(i->base));
	return open_session(i, error);
}

static enum wp_rc find_role(const struct instance *i, char *ret, size_t size,
			    struct wp_error *error)
{
	struct wp_http_response answer;

	enum wp_rc rc = ask(i, "GET", ROLES, i->token_header, &answer, error);
	bool has_none = answer.status == 404 || (rc == WP_OK && !first_line(&answer, ret, size));
	if (has_none)
		rc = wp_error_set(error, WP_AGAIN,
				  "the EC2 instance has no role (%s" ROLES " names none)", i->base);
	wp_http_response_release(&answer);
	return rc;
}

static enum wp_rc find_keys(const struct instance *i, const char *role,
			    struct wp_aws_credentials *ret, struct wp_error *error)
{
	struct wp_http_response answer;
	char path[sizeof(ROLES) + 128];

	(void)snprintf(path, sizeof(path), ROLES "%s", role); /* `role` is bounded */
	enum wp_rc rc = ask(i, "GET", path, i->token_header, &answer, error);
	if (rc == WP_OK)
		rc = wp_aws_keys_read(wp_buffer_span(&answer.body), i->base, ret, error);
	wp_http_response_release(&answer);
	return rc;
}

enum wp_rc wp_aws_instance(const struct wp_fetch *f, struct wp_aws_credentials *ret,
			   struct wp_error *error)
{
	struct instance i;
	char role[128];

	enum wp_rc rc = begin(&i, f, error);
	if (rc == WP_OK)
		rc = find_role(&i, role, sizeof(role), error);
	if (rc == WP_OK)
		rc = find_keys(&i, role, ret, error);
	explicit_bzero(i.token_header, sizeof(i.token_header));
	return rc;
}

enum wp_rc wp_aws_instance_region(const struct wp_fetch *f, char ret[WP_AWS_REGION_SIZE],
				  struct wp_error *error)
{
	struct instance i;
	struct wp_http_response answer;

	enum wp_rc rc = begin(&i, f, error);
	if (rc == WP_OK) {
		rc = ask(&i, "GET", "/latest/meta-data/placement/region", i.token_header, &answer,
			 error);
		if (rc == WP_OK && !first_line(&answer, ret, WP_AWS_REGION_SIZE))
			rc = wp_error_set(error, WP_IO, "%s names no region", i.base);
		wp_http_response_release(&answer);
	}
	explicit_bzero(i.token_header, sizeof(i.token_header));
	return rc;
}

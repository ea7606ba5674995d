#include "aws_credentials.h"

#include <stdio.h>
#include <string.h>

#include "aws_endpoints.h"
#include "aws_environment.h"
#include "aws_shared.h"
#include "aws_sts.h"

#define PLACE_COUNT 5

static enum wp_rc web_identity(const struct wp_fetch *f, const char *region,
			       struct wp_aws_credentials *ret, struct wp_error *error)
{
	const char *file = wp_provider_env("AWS_WEB_IDENTITY_TOKEN_FILE");
	const struct wp_aws_role role = { .arn = wp_provider_env("AWS_ROLE_ARN"),
					  .session_name = wp_provider_env("AWS_ROLE_SESSION_NAME"),
					  .external_id = "" };

	if (file[0] == '\0')
		return wp_error_set(error, WP_AGAIN, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
	if (role.arn[0] == '\0')
		return wp_error_set(error, WP_CONFIG,
				    "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN; "
				    "set both or neither");
	return wp_aws_sts_web_identity(f, region, &role, file, ret, error);
}

struct search {
	const struct wp_fetch *fetch;
	const char *region;
	struct wp_aws_credentials *ret;
};

/* The places come in the order in which AWS's SDKs look. */
static enum wp_rc look(void *context, size_t place, struct wp_error *error)
{
	const struct search *s = context;

	/* The place before may have left a part behind. */
	wp_aws_credentials_release(s->ret);
	switch (place) {
	case 0:
		return wp_aws_environment(s->ret, error);
	case 1:
		return web_identity(s->fetch, s->region, s->ret, error);
	case 2:
		return wp_aws_shared(s->fetch, s->region, s->ret, error);
	case 3:
		return wp_aws_container(s->fetch, s->ret, error);
	default:
		return wp_aws_instance(s->fetch, s->ret, error);
	}
}

static enum wp_rc assume(const struct wp_fetch *f, const char *region, struct wp_aws_credentials *c,
			 struct wp_error *error)
{
	const struct wp_aws_role role = { .arn = f->request->options->role,
					  .session_name = wp_provider_env("AWS_ROLE_SESSION_NAME"),
					  .external_id = "" };
	struct wp_aws_credentials assumed = { .id = "" };

	enum wp_rc rc = wp_aws_sts_assume(f, region, &role, c, &assumed, error);
	if (rc == WP_OK)
		*c = assumed;
	wp_aws_credentials_release(&assumed);
	return rc;
}

enum wp_rc wp_aws_credentials_find(const struct wp_fetch *f, const char *region,
				   struct wp_aws_credentials *ret, struct wp_error *error)
{
	struct wp_aws_credentials found = { .id = "" };
	struct search search = { .fetch = f, .region = region, .ret = &found };

	enum wp_rc rc = wp_provider_look_everywhere("AWS", PLACE_COUNT, look, &search, error);
	if (rc == WP_OK && f->request->options->role[0] != '\0')
		rc = assume(f, region, &found, error);
	if (rc == WP_OK)
		*ret = found;
	wp_aws_credentials_release(&found);
	return rc;
}

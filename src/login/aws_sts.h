/*
 * Gets keys of a role by AWS's Security Token Service: with the token of another identity provider, or
 * with other keys. https://docs.aws.amazon.com/STS/latest/APIReference/
 */
#ifndef WALPOST_LOGIN_AWS_STS_H
#define WALPOST_LOGIN_AWS_STS_H

#include "aws_credentials.h"

struct wp_aws_role {
	const char *arn;
	const char *session_name; /* "" : walpost */
	const char *external_id;  /* "" : none */
};

/* Returns WP_CONFIG, WP_IO, WP_NOMEM. */
enum wp_rc wp_aws_sts_web_identity(const struct wp_fetch *f, const char *region,
				   const struct wp_aws_role *role, const char *token_file,
				   struct wp_aws_credentials *ret,
				   struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_aws_sts_assume(const struct wp_fetch *f, const char *region,
			     const struct wp_aws_role *role, const struct wp_aws_credentials *with,
			     struct wp_aws_credentials *ret, struct wp_error *error) WP_MUST_CHECK;

#endif

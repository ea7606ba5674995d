/* Takes keys of AWS from the environment. */
#ifndef WALPOST_LOGIN_AWS_ENVIRONMENT_H
#define WALPOST_LOGIN_AWS_ENVIRONMENT_H

#include "aws_keys.h"

/* Returns WP_AGAIN when they are not set, to look elsewhere; the error says so. WP_CONFIG. */
enum wp_rc wp_aws_environment(struct wp_aws_credentials *ret, struct wp_error *error) WP_MUST_CHECK;

#endif

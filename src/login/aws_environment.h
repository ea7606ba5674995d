/* Keys of AWS in the environment. */
#ifndef WALPOST_LOGIN_AWS_ENVIRONMENT_H
#define WALPOST_LOGIN_AWS_ENVIRONMENT_H

#include "aws_keys.h"

/* WP_AGAIN: not set, look elsewhere; the error says so. WP_CONFIG. */
enum wp_rc wp_aws_environment(struct wp_aws_credentials *ret, struct wp_error *error) WP_MUST_CHECK;

#endif

/*
 * Finds keys of AWS in the files that its SDKs and its command line share: ~/.aws/credentials and
 * ~/.aws/config. A profile has keys, or a role that is assumed with another profile's.
 */
#ifndef WALPOST_LOGIN_AWS_SHARED_H
#define WALPOST_LOGIN_AWS_SHARED_H

#include "aws_credentials.h"

/* Returns WP_AGAIN when there are none, to look elsewhere; the error says what is missing. WP_CONFIG,
 * WP_IO, WP_NOMEM. */
enum wp_rc wp_aws_shared(const struct wp_fetch *f, const char *region,
			 struct wp_aws_credentials *ret, struct wp_error *error) WP_MUST_CHECK;
/* Gives the region of the profile. Returns WP_AGAIN when it has none; WP_CONFIG, WP_NOMEM. */
enum wp_rc wp_aws_shared_region(char ret[WP_AWS_REGION_SIZE], struct wp_error *error) WP_MUST_CHECK;

#endif

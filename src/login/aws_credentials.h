/*
 * Finds keys of AWS as its SDKs do by default: the environment, a web identity, the shared files,
 * the container's endpoint, the instance's.
 * https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
 *
 * Blocks until the fetch's deadline at most. Nothing is kept.
 */
#ifndef WALPOST_LOGIN_AWS_CREDENTIALS_H
#define WALPOST_LOGIN_AWS_CREDENTIALS_H

#include "aws_keys.h"
#include "aws_region.h"
#include "provider.h"

/*
 * Looks into all of them in turn, then assumes options.role with what was found. `region` is where STS is
 * asked. Returns WP_CONFIG when there are none, and the error says where was looked, or when something that
 * is set is wrong; WP_IO; WP_NOMEM. `ret` is written on success only.
 */
enum wp_rc wp_aws_credentials_find(const struct wp_fetch *f, const char *region,
				   struct wp_aws_credentials *ret,
				   struct wp_error *error) WP_MUST_CHECK;

#endif

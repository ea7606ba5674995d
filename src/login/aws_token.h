/*
 * Writes the two tokens that AWS's keys sign: of MSK, and of RDS. Both are presigned URLs, valid for a
 * quarter of an hour. Pure.
 */
#ifndef WALPOST_LOGIN_AWS_TOKEN_H
#define WALPOST_LOGIN_AWS_TOKEN_H

#include "sigv4.h"

enum { WP_AWS_TOKEN_S = 900 };

/*
 * The token is base64url of https://kafka.<region>.amazonaws.com/?Action=kafka-cluster%3AConnect&..., as
 * https://github.com/aws/aws-msk-iam-sasl-signer-python makes it. Appends. WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_aws_msk_token(const struct wp_sigv4_keys *keys, const char *region, int64_t now_s,
			    struct wp_buffer *into) WP_MUST_CHECK;
/*
 * The token is host:port/?Action=connect&DBUser=..., with the host as RDS names it: it is signed.
 * https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/UsingWithRDS.IAMDBAuth.html
 */
enum wp_rc wp_aws_rds_token(const struct wp_sigv4_keys *keys, const char *region, int64_t now_s,
			    const char *host_and_port, const char *user,
			    struct wp_buffer *into) WP_MUST_CHECK;

#endif

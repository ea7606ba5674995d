/*
 * Signs by AWS Signature Version 4, which shows that a request comes from whoever holds a secret key, in the query
 * of a URL (a presigned one) or in the header Authorization.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 *
 * Owns nothing; what it computes with is overwritten. Pure.
 * Bounded: WP_SIGV4_FIELDS_MAX fields in a query and as many headers.
 */
#ifndef WALPOST_LOGIN_SIGV4_H
#define WALPOST_LOGIN_SIGV4_H

#include "walpost/base/buffer.h"

enum { WP_SIGV4_FIELDS_MAX = 16 };
/* A session token of AWS has some 2 KiB at most, and grows threefold when it is escaped. */
#define WP_SIGV4_SIZE_MAX ((size_t)32 * 1024)

struct wp_sigv4_keys {
	const char *id;
	const char *secret;
	const char *session; /* "" : they are no temporary ones */
};

struct wp_sigv4_field {
	const char *name;
	const char *value;
};

struct wp_sigv4_request {
	const char *region;
	const char *service; /* as the service itself signs: "sts", "kafka-cluster", "rds-db" */
	int64_t now_s;	     /* Unix time */
	const char *method;
	const char *host; /* with the port, where it is not the scheme's own */
	const char *path; /* not yet escaped */
	const struct wp_sigv4_field *query;
	size_t query_count;
	const struct wp_sigv4_field
		*headers; /* those to be signed, besides those that are added here */
	size_t header_count;
	struct wp_span body;
};

/* The text is like 20150830T123600Z. */
struct wp_sigv4_date {
	char text[17];
};

struct wp_sigv4_date wp_sigv4_date_of(int64_t now_s);

/*
 * Appends the query of the presigned URL, all fields of `r` in it, X-Amz-Signature last. Returns WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_sigv4_presign(const struct wp_sigv4_request *r, const struct wp_sigv4_keys *keys,
			    int expires_s, struct wp_buffer *into) WP_MUST_CHECK;
/*
 * Appends the value of the header Authorization. The caller sends besides, and this signs: X-Amz-Date,
 * and X-Amz-Security-Token where there is a session. Returns WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_sigv4_authorize(const struct wp_sigv4_request *r, const struct wp_sigv4_keys *keys,
			      struct wp_buffer *into) WP_MUST_CHECK;

#endif

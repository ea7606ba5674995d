#include "aws_token.h"

#include <stdio.h>

#include "walpost/base/base64.h"
#include "walpost/base/secret_buffer.h"

static struct wp_sigv4_request request_of(const char *region, int64_t now_s, const char *service,
					  const char *host)
{
	return (struct wp_sigv4_request){ .region = region,
					  .service = service,
					  .now_s = now_s,
					  .method = "GET",
					  .host = host,
					  .path = "/",
					  .body = wp_span_of("") };
}

enum wp_rc wp_aws_msk_token(const struct wp_sigv4_keys *keys, const char *region, int64_t now_s,
			    struct wp_buffer *into)
{
	static const struct wp_sigv4_field query[] = { { "Action", "kafka-cluster:Connect" } };
	char host[128];
	struct wp_buffer url;

	(void)snprintf(host, sizeof(host), "kafka.%s.amazonaws.com",
		       region); /* a region is short */
	struct wp_sigv4_request r = request_of(region, now_s, "kafka-cluster", host);
	r.query = query;
	r.query_count = 1;
	enum wp_rc rc = wp_secret_buffer_init(&url, WP_SIGV4_SIZE_MAX, NULL);
	struct wp_writer w = { .into = &url, .rc = rc };
	wp_writer_printf(&w, "https://%s/?", host);
	if (w.rc == WP_OK)
		w.rc = wp_sigv4_presign(&r, keys, WP_AWS_TOKEN_S, &url);
	/* This is not signed; it is for the logs of the other side. */
	wp_writer_put(&w, "&User-Agent=walpost%2F" WALPOST_VERSION);
	if (w.rc == WP_OK)
		w.rc = wp_base64url_write(into, wp_buffer_span(&url));
	wp_secret_buffer_release(&url);
	return w.rc;
}

enum wp_rc wp_aws_rds_token(const struct wp_sigv4_keys *keys, const char *region, int64_t now_s,
			    const char *host_and_port, const char *user, struct wp_buffer *into)
{
	const struct wp_sigv4_field query[] = { { "Action", "connect" }, { "DBUser", user } };
	struct wp_sigv4_request r = request_of(region, now_s, "rds-db", host_and_port);
	struct wp_writer w = { .into = into, .rc = WP_OK };

	r.query = query;
	r.query_count = 2;
	wp_writer_printf(&w, "%s/?", host_and_port);
	if (w.rc == WP_OK)
		w.rc = wp_sigv4_presign(&r, keys, WP_AWS_TOKEN_S, into);
	return w.rc;
}

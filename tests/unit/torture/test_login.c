#include "torture.h"
#include "support/check.h"

#include "../../../src/login/aws_token.h"
#include "../../../src/login/gcp_token.h"
#include "walpost/base/secret_buffer.h"

static const struct wp_sigv4_keys keys = { .id = "AKID", .secret = "secret", .session = "a/b" };

static enum wp_rc write_tokens(struct wp_buffer *into)
{
	enum wp_rc rc = wp_aws_msk_token(&keys, "eu-west-1", 1440938160, into);

	wp_buffer_reset(into);
	if (rc == WP_OK)
		rc = wp_aws_rds_token(&keys, "eu-west-1", 1440938160, "db:5432", "wal", into);
	wp_buffer_reset(into);
	if (rc == WP_OK)
		rc = wp_gcp_kafka_token("a@b", "token", 1000, 4600, into);
	return rc;
}

static enum wp_rc tokens_of_clouds(void)
{
	struct wp_buffer b;

	enum wp_rc rc = wp_secret_buffer_init(&b, 16384, NULL);
	if (rc == WP_OK)
		rc = write_tokens(&b);
	if (rc == WP_OK)
		CHECK_HAS(wp_secret_buffer_text(&b),
			  "eyJ0eXAiOiJKV1QiLCJhbGciOiJHT09HX09BVVRIMl9UT0tFTiJ9.");
	wp_secret_buffer_release(&b);
	return rc;
}

static void no_memory_for_tokens_of_clouds(void **state)
{
	torture(tokens_of_clouds);
}

int main(void)
{
	return RUN(PLAIN(no_memory_for_tokens_of_clouds));
}

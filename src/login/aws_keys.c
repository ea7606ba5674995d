#include "aws_keys.h"

#include <string.h>

#include "walpost/http_client/answer_fields.h"
#include "walpost/http_client/refusal.h"
#include "walpost/login/token.h"

void wp_aws_credentials_release(struct wp_aws_credentials *c)
{
	explicit_bzero(c, sizeof(*c));
}

struct wp_sigv4_keys wp_aws_credentials_keys(const struct wp_aws_credentials *c)
{
	return (struct wp_sigv4_keys){ .id = c->id, .secret = c->secret, .session = c->session };
}

enum wp_rc wp_aws_keys_take(const struct wp_aws_answer *how, struct wp_span answer, const char *url,
			    struct wp_aws_credentials *ret, struct wp_error *error)
{
	struct wp_aws_credentials c = { .id = "" };
	char expires[64];
	enum wp_rc rc = WP_OK;

	if (!how->field(answer, "AccessKeyId", c.id, sizeof(c.id)) ||
	    !how->field(answer, "SecretAccessKey", c.secret, sizeof(c.secret)) ||
	    !how->field(answer, how->session, c.session, sizeof(c.session)) ||
	    !how->field(answer, "Expiration", expires, sizeof(expires)) ||
	    !wp_token_time(expires, &c.expires_at_ms))
		rc = wp_error_set(error, WP_IO, "%s answered without usable credentials",
				  wp_http_place_of(url).text);
	else
		*ret = c;
	wp_aws_credentials_release(&c);
	return rc;
}

/* The answer is {"Code": "Success", "AccessKeyId": ..., "SecretAccessKey": ..., "Token": ...,
 * "Expiration": "2030-01-31T12:00:00Z"}. */
enum wp_rc wp_aws_keys_read(struct wp_span answer, const char *url, struct wp_aws_credentials *ret,
			    struct wp_error *error)
{
	static const struct wp_aws_answer json = { wp_json_text_member, "Token" };
	char code[64];

	/* What has failed holds no keys either. */
	if (wp_json_text_member(answer, "Code", code, sizeof(code)) && strcmp(code, "Success") != 0)
		answer.size = 0;
	return wp_aws_keys_take(&json, answer, url, ret, error);
}

#include "aws_sts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/file_text.h"
#include "walpost/base/percent.h"
#include "walpost/base/secret_buffer.h"
#include "walpost/http_client/answer_fields.h"

#define BODY_SIZE_MAX ((size_t)64 * 1024)
#define CONTENT_TYPE "application/x-www-form-urlencoded; charset=utf-8"
#define HEADER_SIZE_MAX (WP_AWS_SESSION_SIZE + 1024)

static void find_endpoint(const char *region, char *ret, size_t size)
{
	const char *said = wp_provider_env("AWS_ENDPOINT_URL_STS");

	if (said[0] == '\0')
		said = wp_provider_env("AWS_ENDPOINT_URL");
	if (said[0] != '\0')
		(void)snprintf(ret, size, "%s",
			       said); /* a long one is cut, and no URL of anything */
	else
		(void)snprintf(ret, size, "https://sts.%s.%s/", region, wp_aws_domain(region));
}

static void put_role(struct wp_writer *form, const char *action, const struct wp_aws_role *role)
{
	wp_form_put(form, "Action", action);
	wp_form_put(form, "Version", "2011-06-15");
	wp_form_put(form, "RoleArn", role->arn);
	wp_form_put(form, "RoleSessionName",
		    role->session_name[0] == '\0' ? "walpost" : role->session_name);
}

static enum wp_rc send(const struct wp_http_request *r, struct wp_aws_credentials *ret,
		       struct wp_error *error)
{
	/* The keys stand within <Credentials>. */
	static const struct wp_aws_answer xml = { wp_xml_text, "SessionToken" };
	struct wp_http_response answer;

	enum wp_rc rc = wp_http_send(r, &answer, error);
	if (rc == WP_OK)
		rc = wp_aws_keys_take(&xml, wp_buffer_span(&answer.body), r->url, ret, error);
	wp_http_response_release(&answer);
	return rc;
}

static enum wp_rc ask_with_token(const struct wp_fetch *f, const char *region,
				 const struct wp_aws_role *role, const char *token,
				 struct wp_aws_credentials *ret, struct wp_error *error)
{
	char url[512];
	struct wp_buffer body;
	enum wp_rc rc = wp_secret_buffer_init(&body, BODY_SIZE_MAX, error);
	struct wp_writer form = { .into = &body, .rc = rc };

	find_endpoint(region, url, sizeof(url));
	if (rc == WP_OK) {
		put_role(&form, "AssumeRoleWithWebIdentity", role);
		wp_form_put(&form, "WebIdentityToken", token);
		rc = form.rc == WP_OK
			     ? WP_OK
			     : wp_error_set(error, WP_CONFIG, "the web identity token is too long");
	}
	if (rc == WP_OK) {
		struct wp_http_request r = wp_fetch_request(f, "POST", url);
		r.body = wp_buffer_span(&body);
		r.headers[0] = "Content-Type: " CONTENT_TYPE;
		rc = send(&r, ret, error);
	}
	wp_secret_buffer_release(&body);
	return rc;
}

enum wp_rc wp_aws_sts_web_identity(const struct wp_fetch *f, const char *region,
				   const struct wp_aws_role *role, const char *token_file,
				   struct wp_aws_credentials *ret, struct wp_error *error)
{
	char *token = NULL;

	enum wp_rc rc = wp_file_text(token_file, &token, error);
	if (rc != WP_OK)
		return rc;
	token[strcspn(token, "\r\n")] = '\0';
	rc = ask_with_token(f, region, role, token, ret, error);
	wp_secret_text_free(token);
	if (rc == WP_CONFIG)
		return wp_error_set(error, rc,
				    "AWS does not give role %s for the web identity of %s: %s; "
				    "correct the role or its trust policy, or renew the file",
				    role->arn, token_file, error->text);
	return rc;
}

/* ---- AssumeRole, which is signed ---- */

struct signed_headers {
	char date[64];
	char session[HEADER_SIZE_MAX];
	char authorization[1024];
};

/* Splits "https://sts.eu-west-1.amazonaws.com/" into host and path; the port is part of a
 * signature where it is not the scheme's. */
static void split(const char *url, char *host, size_t host_size, char *path, size_t path_size)
{
	const char *begin = strstr(url, "://");

	begin = begin == NULL ? url : begin + 3;
	size_t size = strcspn(begin, "/?#");
	(void)snprintf(host, host_size, "%.*s", (int)(size < host_size ? size : host_size - 1),
		       begin);
	(void)snprintf(path, path_size, "%s", begin[size] == '/' ? begin + size : "/");
}

static enum wp_rc sign(struct signed_headers *h, const struct wp_sigv4_request *r,
		       const struct wp_sigv4_keys *keys)
{
	struct wp_buffer b;

	(void)snprintf(h->date, sizeof(h->date), "X-Amz-Date: %s",
		       wp_sigv4_date_of(r->now_s).text); /* fits, as does the next */
	(void)snprintf(h->session, sizeof(h->session), "X-Amz-Security-Token: %s", keys->session);
	enum wp_rc rc = wp_secret_buffer_init(&b, sizeof(h->authorization) - 1, NULL);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(&b, "Authorization: ");
	if (rc == WP_OK)
		rc = wp_sigv4_authorize(r, keys, &b);
	if (rc == WP_OK)
		memcpy(h->authorization, wp_secret_buffer_text(&b), b.size + 1);
	wp_secret_buffer_release(&b);
	return rc;
}

static enum wp_rc send_signed(const struct wp_fetch *f, const char *region, struct wp_span body,
			      const struct wp_aws_credentials *with, struct wp_aws_credentials *ret,
			      struct wp_error *error)
{
	static const struct wp_sigv4_field content_type = { "Content-Type", CONTENT_TYPE };
	struct wp_sigv4_keys keys = wp_aws_credentials_keys(with);
	struct signed_headers headers;
	char url[512], host[256], path[256];

	find_endpoint(region, url, sizeof(url));
	split(url, host, sizeof(host), path, sizeof(path));
	const struct wp_sigv4_request to_sign = { .region = region,
						  .service = "sts",
						  .now_s = f->now_ms / 1000,
						  .method = "POST",
						  .host = host,
						  .path = path,
						  .headers = &content_type,
						  .header_count = 1,
						  .body = body };
	struct wp_http_request r = wp_fetch_request(f, "POST", url);
	r.body = body;
	r.headers[0] = "Content-Type: " CONTENT_TYPE;
	r.headers[1] = headers.date;
	r.headers[2] = headers.authorization;
	r.headers[3] = keys.session[0] == '\0' ? NULL : headers.session;
	enum wp_rc rc = sign(&headers, &to_sign, &keys);
	if (rc == WP_OK)
		rc = send(&r, ret, error);
	else
		rc = wp_error_set(error, rc == WP_FULL ? WP_CONFIG : rc,
				  "a request to %s cannot be signed", url);
	explicit_bzero(&headers, sizeof(headers));
	return rc;
}

enum wp_rc wp_aws_sts_assume(const struct wp_fetch *f, const char *region,
			     const struct wp_aws_role *role, const struct wp_aws_credentials *with,
			     struct wp_aws_credentials *ret, struct wp_error *error)
{
	struct wp_buffer body;
	enum wp_rc rc = wp_secret_buffer_init(&body, BODY_SIZE_MAX, error);
	struct wp_writer form = { .into = &body, .rc = rc };

	if (rc == WP_OK) {
		put_role(&form, "AssumeRole", role);
		if (role->external_id[0] != '\0')
			wp_form_put(&form, "ExternalId", role->external_id);
		rc = form.rc == WP_OK ? WP_OK
				      : wp_error_set(error, WP_CONFIG, "the role is too long");
	}
	if (rc == WP_OK)
		rc = send_signed(f, region, wp_buffer_span(&body), with, ret, error);
	wp_secret_buffer_release(&body);
	if (rc == WP_CONFIG)
		return wp_error_set(error, rc,
				    "AWS does not let the keys that were found assume role %s: %s; "
				    "allow it in the role's trust policy, or correct the role",
				    role->arn, error->text);
	return rc;
}

/* Asks the endpoint of the container (ECS, EKS Pod Identity) for keys of AWS. */
#include "aws_endpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aws_keys.h"
#include "walpost/base/file_text.h"
#include "walpost/base/secret_buffer.h"

#define HEADER_SIZE_MAX 8192

/*
 * With plain HTTP only addresses of this machine are allowed: loopback, ECS, EKS.
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
 */
bool wp_aws_container_is_allowed(const char *url)
{
	static const char *const hosts[] = { "localhost", "[::1]", "169.254.170.2",
					     "169.254.170.23", "[fd00:ec2::23]" };

	if (strncasecmp(url, "https://", 8) == 0)
		return true;
	if (strncasecmp(url, "http://", 7) != 0)
		return false;
	const char *host = url + 7;
	size_t size = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
	/* A name before @ is no host. */
	if (memchr(host, '@', strcspn(host, "/?#")) != NULL)
		return false;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (size == strlen(hosts[i]) && strncasecmp(host, hosts[i], size) == 0)
			return true;
	return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == size;
}

/* The file counts where both are set: it is rewritten. "" means that neither is. */
static enum wp_rc find_authorization(char **ret, struct wp_error *error)
{
	const char *path = wp_provider_env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");

	if (path[0] != '\0')
		return wp_file_text(path, ret, error);
	*ret = strdup(wp_provider_env("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
	return *ret == NULL ? wp_error_set(error, WP_NOMEM, "out of memory") : WP_OK;
}

static enum wp_rc ask(const struct wp_fetch *f, const char *url, const char *authorization,
		      struct wp_aws_credentials *ret, struct wp_error *error)
{
	char header[HEADER_SIZE_MAX];
	struct wp_http_request r = wp_fetch_request(f, "GET", url);
	struct wp_http_response answer;

	int size = snprintf(header, sizeof(header), "Authorization: %s", authorization);
	if (size < 0 || (size_t)size >= sizeof(header)) {
		explicit_bzero(header, sizeof(header));
		return wp_error_set(error, WP_CONFIG,
				    "the authorization token of the container is too long");
	}
	r.is_local = strncasecmp(url, "http://", 7) == 0;
	r.cure = "correct the container's role, or its authorization token";
	r.headers[0] = authorization[0] == '\0' ? NULL : header;
	enum wp_rc rc = wp_http_send(&r, &answer, error);
	if (rc == WP_OK)
		rc = wp_aws_keys_read(wp_buffer_span(&answer.body), url, ret, error);
	wp_http_response_release(&answer);
	explicit_bzero(header, sizeof(header));
	return rc;
}

enum wp_rc wp_aws_container(const struct wp_fetch *f, struct wp_aws_credentials *ret,
			    struct wp_error *error)
{
	const char *relative = wp_provider_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = wp_provider_env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	char *authorization = NULL;
	char url[512];

	if (relative[0] == '\0' && full[0] == '\0')
		return wp_error_set(error, WP_AGAIN,
				    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and "
				    "AWS_CONTAINER_CREDENTIALS_FULL_URI are not set");
	(void)snprintf(url, sizeof(url), "%s%s", relative[0] != '\0' ? "http://169.254.170.2" : "",
		       relative[0] != '\0' ? relative : full);
	if (!wp_aws_container_is_allowed(url))
		return wp_error_set(error, WP_CONFIG,
				    "AWS_CONTAINER_CREDENTIALS_FULL_URI is %s, which is neither "
				    "HTTPS nor an address of this machine; correct it",
				    wp_http_place_of(url).text);
	enum wp_rc rc = find_authorization(&authorization, error);
	if (rc != WP_OK)
		return rc;
	/* A newline would begin another header. */
	authorization[strcspn(authorization, "\r\n")] = '\0';
	rc = ask(f, url, authorization, ret, error);
	wp_secret_text_free(authorization);
	return rc;
}

#include "aws_environment.h"

#include <stdio.h>
#include <string.h>

#include "provider.h"

static enum wp_rc copy(char *to, size_t size, const char *name, struct wp_error *error)
{
	const char *value = wp_provider_env(name);

	if (strlen(value) >= size)
		return wp_error_set(error, WP_CONFIG, "%s is longer than %zu bytes; correct it",
				    name, size - 1);
	(void)snprintf(to, size, "%s", value); /* fits */
	return WP_OK;
}

enum wp_rc wp_aws_environment(struct wp_aws_credentials *ret, struct wp_error *error)
{
	const char *id = wp_provider_env("AWS_ACCESS_KEY_ID");
	const char *secret = wp_provider_env("AWS_SECRET_ACCESS_KEY");

	if (id[0] == '\0' && secret[0] == '\0')
		return wp_error_set(error, WP_AGAIN, "AWS_ACCESS_KEY_ID is not set");
	if (id[0] == '\0' || secret[0] == '\0')
		return wp_error_set(
			error, WP_CONFIG,
			"AWS_%s is set in the environment without AWS_%s; set both or neither",
			id[0] == '\0' ? "SECRET_ACCESS_KEY" : "ACCESS_KEY_ID",
			id[0] == '\0' ? "ACCESS_KEY_ID" : "SECRET_ACCESS_KEY");
	enum wp_rc rc = copy(ret->id, sizeof(ret->id), "AWS_ACCESS_KEY_ID", error);
	if (rc == WP_OK)
		rc = copy(ret->secret, sizeof(ret->secret), "AWS_SECRET_ACCESS_KEY", error);
	if (rc == WP_OK)
		rc = copy(ret->session, sizeof(ret->session), "AWS_SESSION_TOKEN", error);
	return rc;
}

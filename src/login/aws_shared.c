#include "aws_shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "aws_endpoints.h"
#include "aws_environment.h"
#include "aws_profile.h"
#include "aws_sts.h"
#include "walpost/base/file_text.h"
#include "walpost/base/secret_buffer.h"

#define PATH_SIZE 512
#define NAME_SIZE 128
#define ARN_SIZE 2049
/* So many roles may be assumed with other roles. */
#define DEPTH_MAX 5

struct file {
	char path[PATH_SIZE];
	char *text; /* owned; NULL: there is no such file */
};

struct shared {
	const struct wp_fetch *fetch;
	const char *region;
	struct file files[2]; /* by enum wp_aws_file: that of keys first, which wins */
	const char *profile;
};

static enum wp_rc read_file(struct file *file, const char *variable, const char *name,
			    struct wp_error *error)
{
	const char *said = wp_provider_env(variable);
	int size = said[0] != '\0' ? snprintf(file->path, PATH_SIZE, "%s", said)
				   : snprintf(file->path, PATH_SIZE, "%s/.aws/%s",
					      wp_provider_env("HOME"), name);

	if (size < 0 || size >= PATH_SIZE)
		return wp_error_set(error, WP_CONFIG, "%s is longer than %d bytes; correct it",
				    said[0] != '\0' ? variable : "HOME", PATH_SIZE - 1);
	if (access(file->path, F_OK) != 0)
		return WP_OK;
	return wp_file_text(file->path, &file->text, error);
}

static enum wp_rc init(struct shared *s, struct wp_error *error)
{
	const char *profile = wp_provider_env("AWS_PROFILE");

	s->profile = profile[0] == '\0' ? "default" : profile;
	enum wp_rc rc = read_file(&s->files[WP_AWS_CREDENTIALS_FILE], "AWS_SHARED_CREDENTIALS_FILE",
				  "credentials", error);
	if (rc == WP_OK)
		rc = read_file(&s->files[WP_AWS_CONFIG_FILE], "AWS_CONFIG_FILE", "config", error);
	return rc;
}

static void release(struct shared *s)
{
	for (size_t i = 0; i < 2; i++)
		wp_secret_text_free(s->files[i].text);
}

static bool setting(const struct shared *s, const char *profile, const char *name, char *ret,
		    size_t size)
{
	for (size_t i = 0; i < 2; i++)
		if (s->files[i].text != NULL &&
		    wp_aws_profile_setting(s->files[i].text, (enum wp_aws_file)i, profile, name,
					   ret, size))
			return true;
	ret[0] = '\0';
	return false;
}

static bool is_profile(const struct shared *s, const char *profile)
{
	for (size_t i = 0; i < 2; i++)
		if (s->files[i].text != NULL &&
		    wp_aws_profile_is_in(s->files[i].text, (enum wp_aws_file)i, profile))
			return true;
	return false;
}

/* ---- what a profile may say ---- */

static enum wp_rc none(const struct shared *s, const char *profile, struct wp_error *error)
{
	return wp_error_set(error, WP_AGAIN, "profile \"%s\" has no keys in %s and %s", profile,
			    s->files[0].path, s->files[1].path);
}

static enum wp_rc static_keys(const struct shared *s, const char *profile,
			      struct wp_aws_credentials *ret, struct wp_error *error)
{
	bool has_id = setting(s, profile, "aws_access_key_id", ret->id, sizeof(ret->id));
	bool has_secret =
		setting(s, profile, "aws_secret_access_key", ret->secret, sizeof(ret->secret));

	if (!has_id && !has_secret)
		return none(s, profile, error);
	if (!has_id || !has_secret)
		return wp_error_set(error, WP_CONFIG,
				    "profile \"%s\" of %s has aws_%s without aws_%s; set both",
				    profile, s->files[0].path,
				    has_id ? "access_key_id" : "secret_access_key",
				    has_id ? "secret_access_key" : "access_key_id");
	(void)setting(s, profile, "aws_session_token", ret->session, sizeof(ret->session));
	return WP_OK;
}

/* Refuses what only AWS's own programs do. */
static enum wp_rc refuse(const struct shared *s, const char *profile, const char *name,
			 const char *what, struct wp_error *error)
{
	char value[ARN_SIZE];

	if (!setting(s, profile, name, value, sizeof(value)))
		return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "profile \"%s\" of %s has %s: %s is not supported here; let a program "
			    "fetch the %s, by %s",
			    profile, s->files[1].path, name, what,
			    wp_provider_secret_name(s->fetch->request->purpose),
			    wp_provider_command_option(s->fetch->request->purpose));
}

static enum wp_rc refuse_foreign(const struct shared *s, const char *profile,
				 struct wp_error *error)
{
	static const struct {
		const char *name;
		const char *what;
	} foreign[] = { { "sso_session", "a login by IAM Identity Center (SSO)" },
			{ "sso_start_url", "a login by IAM Identity Center (SSO)" },
			{ "login_session", "a login by the AWS console" },
			{ "credential_process", "a program that gives keys" } };

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		enum wp_rc rc = refuse(s, profile, foreign[i].name, foreign[i].what, error);
		if (rc != WP_OK)
			return rc;
	}
	return WP_OK;
}

static enum wp_rc from_source(const struct shared *s, const char *source,
			      struct wp_aws_credentials *ret, struct wp_error *error)
{
	if (strcasecmp(source, "Environment") == 0)
		return wp_aws_environment(ret, error);
	if (strcasecmp(source, "EcsContainer") == 0)
		return wp_aws_container(s->fetch, ret, error);
	if (strcasecmp(source, "Ec2InstanceMetadata") == 0)
		return wp_aws_instance(s->fetch, ret, error);
	return wp_error_set(error, WP_CONFIG,
			    "credential_source \"%s\" in %s is none of Environment, "
			    "Ec2InstanceMetadata and EcsContainer",
			    source, s->files[1].path);
}

static enum wp_rc resolve(const struct shared *s, const char *profile, int depth,
			  struct wp_aws_credentials *ret, struct wp_error *error);

/* Finds the keys that a role of this profile is assumed with. */
static enum wp_rc base_keys(const struct shared *s, const char *profile, int depth,
			    struct wp_aws_credentials *ret, struct wp_error *error)
{
	char source[NAME_SIZE];
	enum wp_rc rc;

	if (setting(s, profile, "credential_source", source, sizeof(source)))
		rc = from_source(s, source, ret, error);
	else if (!setting(s, profile, "source_profile", source, sizeof(source)))
		rc = wp_error_set(error, WP_CONFIG,
				  "profile \"%s\" of %s has role_arn without source_profile, "
				  "credential_source or web_identity_token_file; add one",
				  profile, s->files[1].path);
	else if (strcmp(source, profile) == 0)
		rc = static_keys(s, profile, ret, error);
	else
		rc = resolve(s, source, depth + 1, ret, error);
	if (rc != WP_AGAIN)
		return rc;
	return wp_error_set(error, WP_CONFIG,
			    "the role of profile \"%s\" cannot be assumed: %s; correct %s", profile,
			    error->text, s->files[1].path);
}

static enum wp_rc role_keys(const struct shared *s, const char *profile, const char *arn, int depth,
			    struct wp_aws_credentials *ret, struct wp_error *error)
{
	struct wp_aws_credentials base = { .id = "" };
	char session[NAME_SIZE], external_id[ARN_SIZE], token_file[PATH_SIZE];
	const struct wp_aws_role role = { .arn = arn,
					  .session_name = session,
					  .external_id = external_id };

	(void)setting(s, profile, "role_session_name", session, sizeof(session));
	(void)setting(s, profile, "external_id", external_id, sizeof(external_id));
	if (setting(s, profile, "web_identity_token_file", token_file, sizeof(token_file)))
		return wp_aws_sts_web_identity(s->fetch, s->region, &role, token_file, ret, error);
	enum wp_rc rc =
		refuse(s, profile, "mfa_serial", "a code from a device for each login", error);
	if (rc == WP_OK)
		rc = base_keys(s, profile, depth, &base, error);
	if (rc == WP_OK)
		rc = wp_aws_sts_assume(s->fetch, s->region, &role, &base, ret, error);
	wp_aws_credentials_release(&base);
	return rc;
}

static enum wp_rc resolve(const struct shared *s, const char *profile, int depth,
			  struct wp_aws_credentials *ret, struct wp_error *error)
{
	char arn[ARN_SIZE];

	if (depth >= DEPTH_MAX)
		return wp_error_set(error, WP_CONFIG,
				    "source_profile in %s leads over more than %d profiles, or in "
				    "a circle; correct it",
				    s->files[1].path, DEPTH_MAX);
	if (!is_profile(s, profile))
		return none(s, profile, error);
	if (setting(s, profile, "role_arn", arn, sizeof(arn)))
		return role_keys(s, profile, arn, depth, ret, error);
	enum wp_rc rc = static_keys(s, profile, ret, error);
	if (rc != WP_AGAIN)
		return rc;
	rc = refuse_foreign(s, profile, error);
	return rc != WP_OK ? rc : WP_AGAIN;
}

enum wp_rc wp_aws_shared(const struct wp_fetch *f, const char *region,
			 struct wp_aws_credentials *ret, struct wp_error *error)
{
	struct shared s = { .fetch = f, .region = region };
	struct wp_aws_credentials found = { .id = "" };

	enum wp_rc rc = init(&s, error);
	if (rc == WP_OK)
		rc = resolve(&s, s.profile, 0, &found, error);
	/* Whoever names a profile does not mean the machine's role. */
	if (rc == WP_AGAIN && wp_provider_env("AWS_PROFILE")[0] != '\0')
		rc = wp_error_set(error, WP_CONFIG, "AWS_PROFILE: %s; correct it", error->text);
	if (rc == WP_OK)
		*ret = found;
	wp_aws_credentials_release(&found);
	release(&s);
	return rc;
}

enum wp_rc wp_aws_shared_region(char ret[WP_AWS_REGION_SIZE], struct wp_error *error)
{
	struct shared s = { .region = "" };

	enum wp_rc rc = init(&s, error);
	if (rc == WP_OK && !setting(&s, s.profile, "region", ret, WP_AWS_REGION_SIZE))
		rc = wp_error_set(error, WP_AGAIN, "profile \"%s\" names no region", s.profile);
	release(&s);
	return rc;
}

/*
 * Reads settings of a profile in the text of a file that AWS's SDKs share: sections, "name = value" in
 * them, comments after # or ;, and indented lines that belong to the setting above.
 * https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
 *
 * Owns nothing. Pure.
 */
#ifndef WALPOST_LOGIN_AWS_PROFILE_H
#define WALPOST_LOGIN_AWS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

enum wp_aws_file {
	WP_AWS_CREDENTIALS_FILE, /* [name] */
	WP_AWS_CONFIG_FILE,	 /* [profile name], but [default] */
};

bool wp_aws_profile_is_in(const char *text, enum wp_aws_file which, const char *profile);
/* The last setting of that name counts. Returns false when there is none, it is empty, or it does not fit. */
bool wp_aws_profile_setting(const char *text, enum wp_aws_file which, const char *profile,
			    const char *name, char *ret, size_t size);

#endif

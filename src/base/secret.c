#include "walpost/base/secret.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

bool wp_text_has(const char *text, const char *part)
{
	for (; *text != '\0'; text++)
		if (strncasecmp(text, part, strlen(part)) == 0)
			return true;
	return false;
}

bool wp_property_is_secret(const char *name)
{
	static const char *const parts[] = { "password",   "passphrase", "secret",
					     "key.pem",	   "ssl_key",	 "private",
					     "credential", "assertion",	 "oauthbearer.config",
					     "jaas" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (wp_text_has(name, parts[i]))
			return true;
	return false;
}

#include "support/check.h"
#include "walpost/base/secret.h"

static void secrets_are_known_by_name(void **state)
{
	static const char *const secret[] = {
		"sasl.password",
		"ssl.key.password",
		"ssl.key.pem",
		"ssl.keystore.password",
		"ssl_key",
		"SASL.Password",
		"sasl.oauthbearer.client.secret",
		"sasl.oauthbearer.config",
		"sasl.jaas.config",
		"sasl.oauthbearer.assertion.private.key.passphrase",
	};
	static const char *const open[] = {
		"bootstrap.servers", "sasl.username",	      "ssl.ca.location",
		"ssl.key.location",  "ssl.keystore.location", "client.id",
	};

	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
		CHECK(wp_property_is_secret(secret[i]));
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		CHECK(!wp_property_is_secret(open[i]));
}

int main(void)
{
	return RUN(PLAIN(secrets_are_known_by_name));
}

/* Translates logins with tokens, of Java's producer: kafka.login and what it needs. */
#include <stdio.h>
#include <string.h>

#include "walpost/base/secret.h"

#include "jaas.h"
#include "translate.h"

#define KAFKA "kafka"
#define OAUTH "sasl.oauthbearer."
#define SECRET_FILE "WALPOST__KAFKA__SASL_OAUTHBEARER_CLIENT_SECRET_FILE"
#define TOKEN_LOCATION "oauth.access.token.location" /* Strimzi's */
#define BY_COMMAND                                                                           \
	"walpost's own logins have no equivalent: remove login, and set token_command to a " \
	"program that prints the token"

enum family { UNKNOWN, AWS, AZURE, GCP, OIDC, STRIMZI };

static const char *const logins[] = { NULL, "aws-msk-iam", "azure", "gcp", "oidc", "oidc" };

/* These classes ask for a token, in Java. */
static const struct {
	const char *class;
	enum family family;
} handlers[] = {
	{ "software.amazon.msk.auth.iam.IAMClientCallbackHandler", AWS },
	{ "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler", AWS },
	{ "com.azure.spring.cloud.service.implementation.kafka."
	  "KafkaOAuth2AuthenticateCallbackHandler",
	  AZURE },
	{ "com.azure.spring.cloud.service.kafka.KafkaOAuth2AuthenticateCallbackHandler", AZURE },
	{ "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler", GCP },
	{ "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler", OIDC },
	{ "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
	  OIDC },
	{ "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler", STRIMZI },
};

#define AWS_SECRET                                                                               \
	"a secret, not copied: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, of a session, " \
	"AWS_SESSION_TOKEN in walpost's environment"
#define OWN_PATIENCE "walpost retries by itself, within login.timeout"
#define CLIENT_SECRET                                                                     \
	"a secret, not copied: write it to a file and set " SECRET_FILE " to the file's " \
	"name"

/*
 * These are options of the login modules. A `name` that ends with * stands for all that begin so;
 * `ours` is NULL if there is none.
 */
static const struct option {
	enum family family;
	const char *name;
	const char *ours;
	enum wp_import_verdict verdict;
	const char *error; /* NULL: the setting says it */
} options[] = {
	{ AWS, "awsRoleArn", "login.role", WP_IMPORT_TRANSLATED, NULL },
	{ AWS, "awsStsRegion", NULL, WP_IMPORT_DROPPED,
	  "walpost asks AWS STS in the region of the brokers, or in login.region" },
	{ AWS, "awsRoleSessionName", NULL, WP_IMPORT_DROPPED,
	  "walpost names its sessions by itself" },
	{ AWS, "awsRoleExternalId", NULL, WP_IMPORT_FILL_IN, BY_COMMAND },
	{ AWS, "awsRoleAccessKeyId", NULL, WP_IMPORT_FILL_IN, AWS_SECRET },
	{ AWS, "awsRoleSecretAccessKey", NULL, WP_IMPORT_FILL_IN, AWS_SECRET },
	{ AWS, "awsRoleSessionToken", NULL, WP_IMPORT_FILL_IN, AWS_SECRET },
	{ AWS, "awsMaxRetries", NULL, WP_IMPORT_DROPPED, OWN_PATIENCE },
	{ AWS, "awsMaxBackOffTimeMs", NULL, WP_IMPORT_DROPPED, OWN_PATIENCE },
	{ AWS, "awsDebugCreds", NULL, WP_IMPORT_DROPPED,
	  "`walpost check` says which login was used" },
	{ AZURE, "*", NULL, WP_IMPORT_FILL_IN,
	  "walpost finds credentials as Azure's own SDKs do: set AZURE_CLIENT_ID, AZURE_TENANT_ID "
	  "and others in its environment where they are needed" },
	{ OIDC, "clientId", OAUTH "client.id", WP_IMPORT_TRANSLATED, NULL },
	{ OIDC, "clientSecret", NULL, WP_IMPORT_FILL_IN, CLIENT_SECRET },
	{ OIDC, "scope", OAUTH "scope", WP_IMPORT_TRANSLATED, NULL },
	{ STRIMZI, "oauth.token.endpoint.uri", OAUTH "token.endpoint.url", WP_IMPORT_TRANSLATED,
	  NULL },
	{ STRIMZI, "oauth.client.id", OAUTH "client.id", WP_IMPORT_TRANSLATED, NULL },
	{ STRIMZI, "oauth.client.secret", NULL, WP_IMPORT_FILL_IN, CLIENT_SECRET },
	{ STRIMZI, "oauth.scope", OAUTH "scope", WP_IMPORT_TRANSLATED, NULL },
	{ STRIMZI, "oauth.audience", NULL, WP_IMPORT_FILL_IN, BY_COMMAND },
	{ STRIMZI, "oauth.access.token", NULL, WP_IMPORT_FILL_IN,
	  "a secret, not copied: write it to a file, and set login = file and token_file" },
	{ STRIMZI, "oauth.refresh.token*", NULL, WP_IMPORT_FILL_IN, BY_COMMAND },
	{ STRIMZI, "oauth.password.grant.*", NULL, WP_IMPORT_FILL_IN, BY_COMMAND },
	{ STRIMZI, "oauth.client.assertion*", NULL, WP_IMPORT_FILL_IN, BY_COMMAND },
	{ STRIMZI, "oauth.ssl.*", NULL, WP_IMPORT_FILL_IN,
	  "export the token endpoint's certificates as PEM and set https.ca.location to the "
	  "file's name, unless the system trusts them" },
	{ STRIMZI, "oauth.connect.timeout.seconds", NULL, WP_IMPORT_DROPPED, OWN_PATIENCE },
	{ STRIMZI, "oauth.read.timeout.seconds", NULL, WP_IMPORT_DROPPED, OWN_PATIENCE },
	{ STRIMZI, "oauth.http.*", NULL, WP_IMPORT_DROPPED, OWN_PATIENCE },
	{ STRIMZI, "oauth.username.claim", NULL, WP_IMPORT_DROPPED,
	  "only the broker decides which claim is the name" },
	{ STRIMZI, "oauth.fallback.username.*", NULL, WP_IMPORT_DROPPED,
	  "only the broker decides which claim is the name" },
	{ STRIMZI, "oauth.access.token.is.jwt", NULL, WP_IMPORT_DROPPED,
	  "walpost reads the lifetime that the token endpoint states" },
	{ STRIMZI, "oauth.max.token.expiry.seconds", NULL, WP_IMPORT_DROPPED,
	  "walpost renews a token at 80 % of its lifetime" },
};

/* Kafka's own handler has these properties, since 4.1 in place of options. */
static const struct option properties[] = {
	{ OIDC, OAUTH "client.credentials.client.id", OAUTH "client.id", WP_IMPORT_TRANSLATED,
	  NULL },
	{ OIDC, OAUTH "client.credentials.client.secret", NULL, WP_IMPORT_FILL_IN, CLIENT_SECRET },
	{ OIDC, OAUTH "scope", OAUTH "scope", WP_IMPORT_TRANSLATED, NULL },
	{ OIDC, OAUTH "header.urlencode", NULL, WP_IMPORT_DROPPED,
	  "walpost encodes the client's id and secret as RFC 6749 requires" },
	{ OIDC, OAUTH "sub.claim.name", NULL, WP_IMPORT_DROPPED,
	  "only the broker decides which claim is the name" },
	{ OIDC, OAUTH "scope.claim.name", NULL, WP_IMPORT_DROPPED,
	  "only the broker reads the scope" },
	{ OIDC, OAUTH "jwt.retriever.class", NULL, WP_IMPORT_DROPPED, "login replaces it" },
	/* RFC 7523 defines the grant of this retriever. */
	{ OIDC, OAUTH "assertion.*", NULL, WP_IMPORT_FILL_IN, BY_COMMAND },
};

static const struct option refreshing[] = {
	{ UNKNOWN, "sasl.login.refresh.*", NULL, WP_IMPORT_DROPPED,
	  "walpost renews a token at 80 % of its lifetime" },
	{ UNKNOWN, "sasl.login.retry.*", NULL, WP_IMPORT_DROPPED, OWN_PATIENCE },
	{ UNKNOWN, "sasl.login.connect.*", NULL, WP_IMPORT_DROPPED, OWN_PATIENCE },
	{ UNKNOWN, "sasl.login.read.*", NULL, WP_IMPORT_DROPPED, OWN_PATIENCE },
};

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))
#define EXTENSIONS_SIZE 1024

struct login {
	struct wp_translation *t;
	enum family family;
	const char *class; /* of the handler; NULL: Java's default */
	struct wp_jaas jaas;
	bool has_jaas;
	bool is_file; /* the token is in a file, and no endpoint is asked */
	char extensions[EXTENSIONS_SIZE];
};

static struct wp_import_item *find(struct wp_translation *t, const char *key)
{
	return wp_import_find(t, WP_IMPORT_PRODUCER, key);
}

static bool matches(const char *pattern, const char *name)
{
	size_t size = strlen(pattern);

	return pattern[size - 1] == '*' ? strncmp(pattern, name, size - 1) == 0
					: strcmp(pattern, name) == 0;
}

static const struct option *find_option(const struct option *table, size_t count,
					enum family family, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].family == family && matches(table[i].name, name))
			return &table[i];
	return NULL;
}

/* -- which it is --------------------------------------------------------------- */

static bool is_event_hubs(struct wp_translation *t)
{
	const struct wp_import_item *brokers = find(t, "bootstrap.servers");

	if (brokers == NULL)
		brokers = wp_import_find(t, WP_IMPORT_CONNECTOR, "bootstrap.servers");
	return brokers != NULL && strstr(brokers->value, ".servicebus.windows.net") != NULL;
}

static enum family family_of(struct login *l)
{
	for (size_t i = 0; l->class != NULL && i < COUNT_OF(handlers); i++)
		if (wp_import_is(l->class, handlers[i].class))
			return handlers[i].family;
	/* Kafka's own handler is the one that has it. */
	if (l->class == NULL && find(l->t, OAUTH "token.endpoint.url") != NULL)
		return OIDC;
	/* Event Hubs takes tokens of Microsoft Entra ID only, whatever asks for them. */
	return is_event_hubs(l->t) ? AZURE : UNKNOWN;
}

static bool is_in_file(const struct login *l)
{
	const struct wp_import_item *endpoint = find(l->t, OAUTH "token.endpoint.url");

	if (l->family == OIDC)
		return endpoint != NULL && wp_import_begins(endpoint->value, "file:");
	for (size_t i = 0; l->family == STRIMZI && l->has_jaas && i < l->jaas.count; i++)
		if (strcmp(l->jaas.options[i].name, TOKEN_LOCATION) == 0)
			return true;
	return false;
}

/* Returns false if it is no login with a token. */
static bool begin(struct login *l)
{
	const struct wp_import_item *mechanism = find(l->t, "sasl.mechanism");
	const struct wp_import_item *handler = find(l->t, "sasl.login.callback.handler.class");
	const struct wp_import_item *jaas = find(l->t, "sasl.jaas.config");

	if (mechanism == NULL || mechanism->elsewhere || (handler != NULL && handler->elsewhere))
		return false;
	l->has_jaas = jaas != NULL && wp_jaas_read(jaas->value, &l->jaas);
	if (strcmp(mechanism->value, "AWS_MSK_IAM") == 0) {
		l->family = AWS;
		return true;
	}
	if (strcmp(mechanism->value, "OAUTHBEARER") != 0)
		return false;
	l->class = handler == NULL ? NULL : handler->value;
	l->family = family_of(l);
	l->is_file = is_in_file(l);
	return true;
}

/* -- saying it ------------------------------------------------------------------ */

static void set(struct login *l, const char *key, const char *value)
{
	if (value[0] != '\0')
		wp_import_set(l->t, KAFKA, key, value);
}

/* The URL may be that of a file instead of an endpoint: "file:///run/token". */
static void set_endpoint(struct login *l, const char *url)
{
	if (!wp_import_begins(url, "file:")) {
		set(l, OAUTH "token.endpoint.url", url);
		return;
	}
	url += strlen("file:");
	set(l, "token_file", wp_import_begins(url, "//") ? url + 2 : url);
}

static void add_extension(struct login *l, const char *name, const char *value)
{
	size_t size = strlen(l->extensions);

	(void)snprintf(l->extensions + size, sizeof(l->extensions) - size, "%s%s=%s",
		       size == 0 ? "" : ",", name, value);
}

/*
 * Returns the NAME of Kafka's "extension_NAME" or of Strimzi's "oauth.sasl.extension.NAME", or NULL
 * for another option.
 */
static const char *extension_of(const struct login *l, const char *name)
{
	const char *start = l->family == STRIMZI ? "oauth.sasl.extension." : "extension_";

	if ((l->family != OIDC && l->family != STRIMZI) || !wp_import_begins(name, start))
		return NULL;
	return name + strlen(start);
}

static void say_option(struct login *l, const struct wp_jaas_option *option)
{
	const struct option *known =
		find_option(options, COUNT_OF(options), l->family, option->name);
	const char *extension = extension_of(l, option->name);
	char about[WP_IMPORT_WORD_SIZE];

	(void)snprintf(about, sizeof(about), "%s in sasl.jaas.config", option->name);
	if (l->family == STRIMZI && strcmp(option->name, TOKEN_LOCATION) == 0) {
		wp_import_note(l->t, KAFKA, about, WP_IMPORT_TRANSLATED, NULL);
		set(l, "token_file", option->value);
		return;
	}
	if (l->family == AWS && strcmp(option->name, "awsProfileName") == 0) {
		wp_import_note(l->t, KAFKA, about, WP_IMPORT_FILL_IN,
			       "set AWS_PROFILE=%s in walpost's environment",
			       wp_import_shown(option->value));
		return;
	}
	if (extension != NULL &&
	    (wp_property_is_secret(extension) || wp_import_may_be_secret(option->value))) {
		wp_import_note(l->t, KAFKA, about, WP_IMPORT_FILL_IN,
			       "the value is not copied, because it may contain a secret: add it "
			       "to sasl.oauthbearer.extensions by hand");
		return;
	}
	if (extension != NULL && strstr(option->value, "${") == NULL) {
		wp_import_note(l->t, KAFKA, about, WP_IMPORT_TRANSLATED,
			       "it is sent with the token");
		add_extension(l, extension, option->value);
		return;
	}
	if (known == NULL && extension == NULL) {
		wp_import_note(l->t, KAFKA, about, WP_IMPORT_FILL_IN,
			       "it is unknown to walpost: if the login needs it, set "
			       "token_command to a program that prints the token");
		return;
	}
	const char *ours = extension != NULL ? OAUTH "extensions" : known->ours;
	if (ours != NULL && wp_import_has_placeholder(ours, option->value)) {
		wp_import_note(l->t, KAFKA, about, WP_IMPORT_FILL_IN,
			       "its value is defined elsewhere: set %s", ours);
		return;
	}
	if (known->error == NULL)
		wp_import_note(l->t, KAFKA, about, known->verdict, NULL);
	else
		wp_import_note(l->t, KAFKA, about, known->verdict, "%s", known->error);
	if (ours != NULL)
		set(l, ours, option->value);
}

static void say_jaas(struct login *l)
{
	struct wp_import_item *item = find(l->t, "sasl.jaas.config");

	if (item == NULL)
		return;
	if (!l->has_jaas) {
		wp_import_say(l->t, KAFKA, item, WP_IMPORT_FILL_IN,
			      "walpost cannot read it: set login and what it needs");
		return;
	}
	/* Each of its options says itself what is to be said. */
	item->elsewhere = false;
	wp_import_say(l->t, KAFKA, item, WP_IMPORT_DROPPED, "%s",
		      l->jaas.count == 0 ? "login replaces it" : "its options follow");
	for (size_t i = 0; i < l->jaas.count; i++)
		say_option(l, &l->jaas.options[i]);
	if (l->extensions[0] != '\0')
		set(l, OAUTH "extensions", l->extensions);
}

static void say_property(struct login *l, struct wp_import_item *item, const struct option *known)
{
	if (known->error == NULL)
		wp_import_say(l->t, KAFKA, item, known->verdict, NULL);
	else
		wp_import_say(l->t, KAFKA, item, known->verdict, "%s", known->error);
	if (known->ours != NULL && !item->elsewhere)
		set(l, known->ours, item->value);
}

static void say_properties(struct login *l)
{
	struct wp_translation *t = l->t;

	for (size_t i = 0; i < t->count; i++) {
		struct wp_import_item *item = &t->items[i];
		const struct option *known = NULL;

		if (item->taken || item->kind != WP_IMPORT_PRODUCER || item->value == NULL)
			continue;
		if (l->family == OIDC)
			known = find_option(properties, COUNT_OF(properties), OIDC, item->key);
		if (known == NULL)
			known = find_option(refreshing, COUNT_OF(refreshing), UNKNOWN, item->key);
		if (known != NULL)
			say_property(l, item, known);
	}
}

static void say_endpoint(struct login *l)
{
	struct wp_import_item *item = find(l->t, OAUTH "token.endpoint.url");

	if (item == NULL)
		return;
	if (l->family != OIDC) {
		wp_import_say(l->t, KAFKA, item, WP_IMPORT_DROPPED, "this login does not use it");
		return;
	}
	wp_import_say(l->t, KAFKA, item, WP_IMPORT_TRANSLATED, NULL);
	if (!item->elsewhere)
		set_endpoint(l, item->value);
}

static void say_handler(struct login *l, const char *key)
{
	struct wp_import_item *item = find(l->t, key);

	if (item == NULL || item->taken)
		return;
	if (l->family == UNKNOWN)
		wp_import_say(l->t, KAFKA, item, WP_IMPORT_FILL_IN,
			      "a Java class that is unknown to walpost: set token_command to a "
			      "program that prints the token, or login to one of aws-msk-iam, "
			      "azure, gcp, oidc and file");
	else if (l->family == AZURE && is_event_hubs(l->t))
		wp_import_say(l->t, KAFKA, item, WP_IMPORT_DROPPED,
			      "login replaces it: Event Hubs takes tokens of Microsoft Entra ID");
	else
		wp_import_say(l->t, KAFKA, item, WP_IMPORT_DROPPED, "login replaces it");
}

static void say_mechanism(struct login *l)
{
	struct wp_import_item *item = find(l->t, "sasl.mechanism");

	if (l->family == UNKNOWN && l->class == NULL)
		wp_import_say(l->t, KAFKA, item, WP_IMPORT_FILL_IN,
			      "without sasl.login.callback.handler.class Java makes unsigned "
			      "tokens: set token_command to a program that prints the token, or "
			      "login to one of aws-msk-iam, azure, gcp, oidc and file");
	else if (l->family == UNKNOWN)
		wp_import_say(l->t, KAFKA, item, WP_IMPORT_DROPPED,
			      "token_command and login imply it");
	else
		wp_import_say(l->t, KAFKA, item, WP_IMPORT_TRANSLATED, NULL);
}

/* Says what the login needs, and no property says. */
static void say_missing(struct login *l)
{
	static const char *const needed[] = { OAUTH "token.endpoint.url", OAUTH "client.id" };

	if (l->family == AWS)
		wp_import_note(l->t, KAFKA, "the region", WP_IMPORT_TRANSLATED,
			       "it is taken from the brokers' names: set login.region if they are "
			       "not those of Amazon MSK");
	if ((l->family != OIDC && l->family != STRIMZI) || l->is_file)
		return;
	for (size_t i = 0; i < COUNT_OF(needed); i++)
		if (!wp_import_is_set(l->t, KAFKA, needed[i]) &&
		    (l->family != OIDC || find(l->t, needed[i]) == NULL))
			wp_import_note(l->t, KAFKA, "the OAuth client", WP_IMPORT_FILL_IN, "set %s",
				       needed[i]);
}

bool wp_import_login(struct wp_translation *t)
{
	struct login l = { .t = t };

	if (!begin(&l))
		return false;
	say_mechanism(&l);
	if (l.family != UNKNOWN)
		set(&l, "login", l.is_file ? "file" : logins[l.family]);
	say_handler(&l, "sasl.login.callback.handler.class");
	if (l.family == AWS)
		say_handler(&l, "sasl.client.callback.handler.class");
	say_endpoint(&l);
	say_jaas(&l);
	say_properties(&l);
	say_missing(&l);
	return true;
}

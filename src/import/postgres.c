/* Translates where the server is, slot and publication: [postgres]. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/postgres/conninfo.h"

#include "translate.h"

#define POSTGRES "postgres"
#define CONNECTOR "io.debezium.connector.postgresql.PostgresConnector"
/* Debezium has it since 3.4. */
#define AWS_FACTORY "io.debezium.connector.postgresql.connection.PostgresAwsIamConnectionFactory"
/* walpost itself refuses what is too long for it. */
#define CONNINFO_SIZE_MAX (4 * WP_IMPORT_SIZE_MAX)

static const struct {
	const char *key;
	const char *keyword;
	bool is_checked;  /* by libpq: a placeholder is none of its values */
	const char *note; /* NULL: none */
} connection[] = {
	{ "database.hostname", "host", false, NULL },
	{ "database.port", "port", true, NULL },
	{ "database.user", "user", false, NULL },
	{ "database.dbname", "dbname", false, NULL },
	{ "database.sslmode", "sslmode", true, NULL },
	{ "database.sslrootcert", "sslrootcert", false, NULL },
	{ "database.sslcert", "sslcert", false, NULL },
	{ "database.sslkey", "sslkey", false,
	  "libpq requires a PEM file, Java's driver PKCS-8 in DER" },
};

static struct wp_import_item *find(struct wp_translation *t, const char *key)
{
	return wp_import_find(t, WP_IMPORT_CONNECTOR, key);
}

/* Drops outer spaces, the brackets around an address, and capital letters in a word of libpq's. */
static void tidy(const char *keyword, const char *value, char ret[WP_IMPORT_WORD_SIZE])
{
	static const char blanks[] = " \t";
	size_t size;

	value += strspn(value, blanks);
	size = strlen(value);
	while (size > 0 && strchr(blanks, value[size - 1]) != NULL)
		size--;
	if (strcmp(keyword, "host") == 0 && size > 2 && value[0] == '[' && value[size - 1] == ']') {
		value++;
		size -= 2;
	}
	size = size < WP_IMPORT_WORD_SIZE ? size : WP_IMPORT_WORD_SIZE - 1;
	memcpy(ret, value, size);
	ret[size] = '\0';
	for (char *at = ret; *at != '\0' && strcmp(keyword, "sslmode") == 0; at++)
		*at = (char)tolower((unsigned char)*at);
}

/* Java's driver takes neither a port, nor an address of JDBC, nor a socket here. */
static bool is_host(const char *value)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-,";
	const char *colon = strchr(value, ':');

	return strspn(value, letters) == strlen(value) ||
	       (colon != NULL && strchr(colon + 1, ':') != NULL &&
		strspn(value, "0123456789abcdefABCDEF:.") == strlen(value));
}

static bool is_port(const char *value)
{
	char *end;
	long port = strtol(value, &end, 10);

	return end != value && *end == '\0' && port > 0 && port <= UINT16_MAX;
}

/* Is it tidied? */
static bool is_named(const char *keyword)
{
	return strcmp(keyword, "host") == 0 || strcmp(keyword, "port") == 0 ||
	       strcmp(keyword, "sslmode") == 0;
}

/* Says why it is no part of conninfo; NULL if it is one. */
static const char *find_fault(const struct wp_import_item *item, const char *keyword,
			      const char *value)
{
	if (wp_import_may_be_secret(item->value))
		return "not copied, because it may contain a secret";
	if (value[0] == '\0')
		return "it is empty";
	if (is_named(keyword) && strlen(item->value) >= WP_IMPORT_WORD_SIZE)
		return "it is too long";
	if (item->elsewhere)
		return NULL;
	if (strcmp(keyword, "host") == 0 && !is_host(value))
		return "it is not a host name or an address";
	if (strcmp(keyword, "port") == 0 && !is_port(value))
		return "it is not a port number";
	return NULL;
}

static enum wp_rc append_connection(struct wp_translation *t, struct wp_buffer *conninfo)
{
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < sizeof(connection) / sizeof(connection[0]) && rc == WP_OK; i++) {
		struct wp_import_item *item = find(t, connection[i].key);
		const char *keyword = connection[i].keyword;
		char tidied[WP_IMPORT_WORD_SIZE];
		const char *fault;

		if (item == NULL)
			continue;
		tidy(keyword, item->value, tidied);
		fault = find_fault(item, keyword, tidied);
		if (fault != NULL)
			wp_import_say(t, POSTGRES, item, WP_IMPORT_FILL_IN,
				      "%s: set %s in conninfo", fault, keyword);
		else if (connection[i].note != NULL)
			wp_import_say(t, POSTGRES, item, WP_IMPORT_FILL_IN, "%s",
				      connection[i].note);
		else
			wp_import_say(t, POSTGRES, item, WP_IMPORT_TRANSLATED, NULL);
		if (fault != NULL || (item->elsewhere && connection[i].is_checked))
			continue;
		rc = wp_conninfo_append(conninfo, keyword,
					is_named(keyword) ? tidied : item->value);
	}
	return rc;
}

static void say_conninfo(struct wp_translation *t, struct wp_buffer *conninfo)
{
	if (find(t, "database.hostname") == NULL)
		wp_import_note(t, POSTGRES, "database.hostname is not set", WP_IMPORT_FILL_IN,
			       "set the server's address in conninfo");
	if (find(t, "database.sslmode") == NULL)
		wp_import_note(t, POSTGRES, "database.sslmode is not set", WP_IMPORT_TRANSLATED,
			       "Debezium then connects without TLS if the server has none; walpost "
			       "requires TLS for a remote host unless sslmode=prefer is set here");
	if (wp_buffer_append_byte(conninfo, '\0') != WP_OK)
		t->report->rc = WP_NOMEM;
	else
		wp_import_set(t, POSTGRES, "conninfo", (const char *)conninfo->data);
}

static void translate_connection(struct wp_translation *t)
{
	struct wp_buffer conninfo;
	enum wp_rc rc;

	wp_buffer_init(&conninfo, CONNINFO_SIZE_MAX);
	rc = append_connection(t, &conninfo);
	if (rc == WP_OK)
		say_conninfo(t, &conninfo);
	else
		t->report->rc = WP_NOMEM;
	wp_buffer_release(&conninfo);
}

/*
 * A factory makes connections, with a password of its own. Returns true if postgres.login provides
 * it.
 */
static bool translate_factory(struct wp_translation *t, const char *key)
{
	struct wp_import_item *item = find(t, key);

	if (item == NULL)
		return false;
	if (!wp_import_is(item->value, AWS_FACTORY)) {
		wp_import_say(t, POSTGRES, item, WP_IMPORT_FILL_IN,
			      "a Java class that is unknown to walpost: if it provides passwords, "
			      "set login, or password_command to a program that prints them");
		return false;
	}
	wp_import_say(t, POSTGRES, item, WP_IMPORT_TRANSLATED, NULL);
	wp_import_set(t, POSTGRES, "login", "aws-rds-iam");
	return true;
}

/* Translates parameters of the AWS Advanced JDBC Wrapper, which that factory uses. */
static void translate_wrapper(struct wp_translation *t)
{
	struct wp_import_item *region = find(t, "driver.iamRegion");
	struct wp_import_item *profile = find(t, "driver.awsProfile");

	if (region != NULL) {
		wp_import_say(t, POSTGRES, region, WP_IMPORT_TRANSLATED, NULL);
		wp_import_set(t, POSTGRES, "login.region", region->value);
	} else {
		wp_import_note(t, POSTGRES, "the region", WP_IMPORT_TRANSLATED,
			       "it is taken from the server's name: set login.region if that is "
			       "not one of Amazon RDS");
	}
	if (profile != NULL)
		wp_import_say(t, POSTGRES, profile, WP_IMPORT_FILL_IN,
			      "set AWS_PROFILE to this name in walpost's environment");
}

static void translate_passwords(struct wp_translation *t)
{
	struct wp_import_item *password = find(t, "database.password");
	struct wp_import_item *key_password = find(t, "database.sslpassword");
	bool has_login = translate_factory(t, "database.connection.factory.class") ||
			 translate_factory(t, "driver.connection.factory.class");

	if (has_login)
		translate_wrapper(t);
	if (has_login && password != NULL)
		wp_import_say(t, POSTGRES, password, WP_IMPORT_DROPPED,
			      "login provides the password");
	else if (password != NULL)
		wp_import_say(t, POSTGRES, password, WP_IMPORT_FILL_IN,
			      "a secret, not copied: write it to a file and set "
			      "WALPOST__POSTGRES__PASSWORD_FILE to the file's name");
	if (key_password != NULL)
		wp_import_say(
			t, POSTGRES, key_password, WP_IMPORT_FILL_IN,
			"a secret, not copied: write the whole conninfo, with sslpassword=..., to "
			"a file and set WALPOST__POSTGRES__CONNINFO_FILE to the file's name");
}

static void translate_name(struct wp_translation *t, const char *theirs, const char *standard,
			   const char *ours)
{
	struct wp_import_item *item = find(t, theirs);
	char about[64];

	(void)snprintf(about, sizeof(about), "%s is not set", theirs);
	if (item == NULL)
		wp_import_note(t, POSTGRES, about, WP_IMPORT_TRANSLATED, "Debezium's default is %s",
			       standard);
	else
		wp_import_say(t, POSTGRES, item, WP_IMPORT_TRANSLATED, NULL);
	/* A slot's name has letters, digits and underscores only. */
	if (item == NULL || !item->elsewhere || strcmp(ours, "slot") != 0)
		wp_import_set(t, POSTGRES, ours, item == NULL ? standard : item->value);
}

#define OTHER_PLUGIN                                                                              \
	"walpost requires pgoutput, and according to this file the slot uses %s: verify with "    \
	"SELECT slot_name, plugin FROM pg_replication_slots. If so, walpost needs a slot of its " \
	"own, created while Debezium still runs: see \"A slot that is not of pgoutput\" in "      \
	"moving.md"

static void translate_plugin(struct wp_translation *t)
{
	struct wp_import_item *item = find(t, "plugin.name");

	if (item == NULL)
		wp_import_note(t, POSTGRES, "plugin.name is not set", WP_IMPORT_UNSUPPORTED,
			       OTHER_PLUGIN, "decoderbufs, Debezium's default");
	else if (wp_import_is(item->value, "pgoutput"))
		wp_import_say(t, POSTGRES, item, WP_IMPORT_DROPPED,
			      "walpost supports no other plugin; the slot is used unchanged");
	else
		wp_import_say(t, POSTGRES, item, WP_IMPORT_UNSUPPORTED, OTHER_PLUGIN,
			      "another plugin");
}

static void check_slot_stays(struct wp_translation *t)
{
	struct wp_import_item *drop = find(t, "slot.drop.on.stop");
	struct wp_import_item *flush = find(t, "flush.lsn.source");
	struct wp_import_item *mode = find(t, "lsn.flush.mode");
	static const char does_not_move[] =
		"Debezium did not advance the slot: walpost starts from the present position of "
		"the slot, and resends events sent since";

	if (wp_import_is_true(drop, false))
		wp_import_say(t, POSTGRES, drop, WP_IMPORT_UNSUPPORTED,
			      "a stopped connector drops its slot, and events written before a new "
			      "slot exists are lost: set it to false and restart the connector "
			      "before you stop it for good");
	else if (drop != NULL && drop->elsewhere)
		wp_import_say(
			t, POSTGRES, drop, WP_IMPORT_CHECK,
			"its value is defined elsewhere. If it is true, a stopped connector drops "
			"its slot, and events written before a new slot exists are lost");
	if (!wp_import_is_true(flush, true))
		wp_import_say(t, POSTGRES, flush, WP_IMPORT_UNSUPPORTED, does_not_move);
	if (mode != NULL && (mode->elsewhere || wp_import_is(mode->value, "manual")))
		wp_import_say(t, POSTGRES, mode, WP_IMPORT_UNSUPPORTED, does_not_move);
}

/* Is it the class in quotes, or with a comment behind it? */
static bool is_decorated(const char *class)
{
	const char *at = strstr(class, CONNECTOR);
	const char *end = at == NULL ? NULL : at + strlen(CONNECTOR);

	return end != NULL && ((at > class && strchr("\"'", at[-1]) != NULL) ||
			       (*end != '\0' && strchr(" \t#\"'", *end) != NULL));
}

static const char *why_other(const char *class)
{
	if (is_decorated(class))
		return "Java takes the quotes or the comment around the class for a part of its "
		       "name: "
		       "remove them, also from other values, so that only " CONNECTOR
		       " remains. A .properties file has neither quotes around a value nor "
		       "comments "
		       "after it";
	if (wp_import_begins(class, "PostgresCdcSource"))
		return "it is Confluent Cloud's connector, whose properties have other names than "
		       "Debezium's: rewrite them as properties of " CONNECTOR;
	return "walpost supports only Postgres";
}

static void check_class(struct wp_translation *t)
{
	struct wp_import_item *item = find(t, "connector.class");

	if (item == NULL) {
		wp_import_note(t, POSTGRES, "connector.class is not set", WP_IMPORT_CHECK,
			       "it was assumed to be " CONNECTOR);
		return;
	}
	if (item->elsewhere)
		wp_import_say(t, POSTGRES, item, WP_IMPORT_TRANSLATED, NULL);
	else if (wp_import_is_class(item->value, CONNECTOR))
		wp_import_say(t, POSTGRES, item, WP_IMPORT_DROPPED,
			      "walpost supports only Postgres");
	else if (wp_import_is_namesake(item->value, CONNECTOR))
		wp_import_say(t, POSTGRES, item, WP_IMPORT_UNSUPPORTED,
			      "it is not " CONNECTOR
			      ", and walpost does not support other classes of that name");
	else {
		wp_import_say(t, POSTGRES, item, WP_IMPORT_UNSUPPORTED, "%s",
			      why_other(item->value));
		wp_import_end(t);
	}
}

void wp_import_postgres(struct wp_translation *t)
{
	check_class(t);
	translate_connection(t);
	translate_passwords(t);
	translate_name(t, "slot.name", "debezium", "slot");
	translate_plugin(t);
	check_slot_stays(t);
	translate_name(t, "publication.name", "dbz_publication", "publication");
}

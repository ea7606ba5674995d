#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "walpost/postgres/conninfo.h"

#define ASTERISKS "********"
#define MASKED_SIZE_MAX ((size_t)256 * 1024)

/* libpq marks what a dialog must hide with '*', but its newest secrets can be told only by name.
 * passfile names a file; only its content is secret. */
static bool is_set_secret(const PQconninfoOption *option)
{
	return option->val != NULL && option->val[0] != '\0' &&
	       (strchr(option->dispchar, '*') != NULL ||
		strstr(option->keyword, "password") != NULL ||
		strstr(option->keyword, "secret") != NULL ||
		strstr(option->keyword, "scram_") != NULL);
}

static bool may_hold_secret(const char *conninfo)
{
	return strstr(conninfo, "passw") != NULL || strstr(conninfo, "secret") != NULL ||
	       strstr(conninfo, "scram_") != NULL || strstr(conninfo, "://") != NULL;
}

/* Only these words of libpq quote a name, which is no secret; others quote what it does not
 * understand. */
static bool may_be_told(const char *message, const char *conninfo)
{
	static const char names_an_option[] = "invalid connection option";

	return !may_hold_secret(conninfo) &&
	       strncmp(message, names_an_option, strlen(names_an_option)) == 0;
}

static enum wp_rc refuse(const char *conninfo, const char *message, struct wp_error *error)
{
	/* libpq has no code for it; its words are not translated unless setlocale() was called. */
	if (message == NULL || strncmp(message, "out of memory", strlen("out of memory")) == 0)
		return wp_error_set(error, WP_NOMEM, "out of memory");
	if (may_be_told(message, conninfo))
		return wp_error_set(error, WP_CONFIG, "libpq cannot parse it: %.*s",
				    (int)strcspn(message, "\n"), message);
	return wp_error_set(error, WP_CONFIG,
			    "libpq cannot parse it (the message is withheld because it may quote a "
			    "password); quote values with spaces in '', escape ' and \\ with \\, "
			    "and percent-encode special characters in a URI as %%XX");
}

/*
 * A URI ends user and password at the first @ or /, so that a password with one of them goes on as
 * host, port or database: conninfo_uri_parse_options() of libpq's fe-connect.c.
 */
static bool has_stray_at(const char *conninfo)
{
	const char *at = strstr(conninfo, "://");

	if (at == NULL || (strncmp(conninfo, "postgres://", strlen("postgres://")) != 0 &&
			   strncmp(conninfo, "postgresql://", strlen("postgresql://")) != 0))
		return false;
	at += strlen("://");
	size_t user_size = strcspn(at, "@/");
	if (at[user_size] == '@')
		at += user_size + 1;
	return at[strcspn(at, "@?")] == '@';
}

/* An abstract socket begins with @, and a folder of sockets may have one in its name. */
static bool is_host_list(const char *hosts)
{
	while (*hosts != '\0') {
		size_t size = strcspn(hosts, ",");
		size_t first = *hosts == '@';
		if (*hosts != '/' && memchr(hosts + first, '@', size - first) != NULL)
			return false;
		hosts += size + (hosts[size] == ',');
	}
	return true;
}

static bool is_port_list(const char *ports)
{
	while (*ports != '\0') {
		size_t size = strcspn(ports, ",");
		char *end = NULL;
		long port = size == 0 ? 1 : strtol(ports, &end, 10);
		if (strspn(ports, "0123456789") != size || port < 1 || port > 65535)
			return false;
		ports += size + (ports[size] == ',');
	}
	return true;
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
	for (const PQconninfoOption *o = options; o->keyword != NULL; o++)
		if (strcmp(o->keyword, keyword) == 0)
			return o->val == NULL ? "" : o->val;
	return "";
}

#define ENCODE                                                                                     \
	"in a URI, percent-encode special characters of the password: @ as %%40, / as %%2F, : as " \
	"%%3A, %% as %%25"

/* What is wrong is not repeated: it may be a part of the password. */
static enum wp_rc judge(const char *conninfo, const PQconninfoOption *options,
			struct wp_error *error)
{
	if (has_stray_at(conninfo) || !is_host_list(value_of(options, "host")))
		return wp_error_set(error, WP_CONFIG,
				    "libpq finds an @ in the host or database (not shown, because "
				    "it may belong to the password); " ENCODE);
	if (!is_port_list(value_of(options, "port")))
		return wp_error_set(error, WP_CONFIG,
				    "libpq finds a port that is not a number from 1 to 65535 (not "
				    "shown, because it may belong to the password); " ENCODE);
	if (strstr(value_of(options, "dbname"), "://") != NULL)
		return wp_error_set(error, WP_CONFIG,
				    "dbname is a URI: write the URI alone, without `dbname=`");
	return WP_OK;
}

enum wp_rc wp_conninfo_check(const char *conninfo, struct wp_error *error)
{
	char *message = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &message);
	enum wp_rc rc = options == NULL ? refuse(conninfo, message, error)
					: judge(conninfo, options, error);

	PQconninfoFree(options);
	PQfreemem(message);
	return rc;
}

bool wp_conninfo_has_secret(const char *conninfo)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	bool found = false;

	if (options == NULL)
		return may_hold_secret(conninfo);
	for (const PQconninfoOption *o = options; o->keyword != NULL && !found; o++)
		found = is_set_secret(o);
	PQconninfoFree(options);
	return found;
}

bool wp_conninfo_has_password(const char *conninfo)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	bool found = options != NULL && value_of(options, "password")[0] != '\0';

	PQconninfoFree(options);
	return found;
}

static enum wp_rc append_quoted(struct wp_buffer *b, const char *value)
{
	bool plain = value[0] != '\0' && strpbrk(value, " \t\n\r\f\v'\\") == NULL;
	enum wp_rc rc;

	if (plain)
		return wp_buffer_append_text(b, value);
	rc = wp_buffer_append_byte(b, '\'');
	for (; *value != '\0' && rc == WP_OK; value++) {
		if (*value == '\'' || *value == '\\')
			rc = wp_buffer_append_byte(b, '\\');
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(b, (uint8_t)*value);
	}
	return rc == WP_OK ? wp_buffer_append_byte(b, '\'') : rc;
}

enum wp_rc wp_conninfo_append(struct wp_buffer *b, const char *keyword, const char *value)
{
	enum wp_rc rc = wp_buffer_printf(b, "%s%s=", b->size > 0 ? " " : "", keyword);

	return rc == WP_OK ? append_quoted(b, value) : rc;
}

char *wp_conninfo_masked(const char *conninfo)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	struct wp_buffer b;
	enum wp_rc rc = WP_OK;
	char *text = NULL;

	if (options == NULL || judge(conninfo, options, NULL) != WP_OK) {
		PQconninfoFree(options);
		return strdup(ASTERISKS);
	}
	wp_buffer_init(&b, MASKED_SIZE_MAX);
	for (const PQconninfoOption *o = options; o->keyword != NULL && rc == WP_OK; o++)
		if (o->val != NULL)
			rc = wp_conninfo_append(&b, o->keyword,
						is_set_secret(o) ? ASTERISKS : o->val);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&b, '\0');
	if (rc == WP_OK)
		text = strdup((const char *)b.data);
	wp_buffer_release(&b);
	PQconninfoFree(options);
	return text;
}

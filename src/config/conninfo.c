#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "walpost/config/conninfo.h"

#define ASTERISKS "********"
#define MASKED_SIZE_MAX ((size_t)256 * 1024)

/* libpq marks what a dialog must hide with '*'; its newest secrets only by name. */
static bool is_secret(const PQconninfoOption *option)
{
	return strchr(option->dispchar, '*') != NULL ||
	       strstr(option->keyword, "password") != NULL ||
	       strstr(option->keyword, "secret") != NULL ||
	       strstr(option->keyword, "scram_") != NULL;
}

/* passfile names a file; only its content is secret. */
static bool is_set_secret(const PQconninfoOption *option)
{
	return option->val != NULL && option->val[0] != '\0' && is_secret(option);
}

static bool may_hold_secret(const char *conninfo)
{
	return strstr(conninfo, "passw") != NULL || strstr(conninfo, "secret") != NULL ||
	       strstr(conninfo, "scram_") != NULL || strstr(conninfo, "://") != NULL;
}

/* libpq has no code for it; its words are not translated unless setlocale() was called. */
static bool is_out_of_memory(const char *error)
{
	return error == NULL || strncmp(error, "out of memory", strlen("out of memory")) == 0;
}

enum wp_rc wp_conninfo_check(const char *conninfo, struct wp_why *why)
{
	char *error = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &error);
	enum wp_rc rc = WP_OK;

	if (options == NULL && is_out_of_memory(error))
		rc = wp_why_set(why, WP_NOMEM, "no memory");
	else if (options == NULL && may_hold_secret(conninfo))
		rc = wp_why_set(
			why, WP_CONFIG,
			"libpq cannot take it apart (its words are withheld, they could quote a "
			"password); quote values with spaces in '', escape ' and \\ with \\, and "
			"in a "
			"URI write special characters as %%XX");
	else if (options == NULL)
		rc = wp_why_set(why, WP_CONFIG, "libpq cannot take it apart: %.*s",
				(int)strcspn(error, "\n"), error);
	PQconninfoFree(options);
	PQfreemem(error);
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

static enum wp_rc append_option(struct wp_buffer *b, const PQconninfoOption *option)
{
	return wp_conninfo_append(b, option->keyword,
				  is_set_secret(option) ? ASTERISKS : option->val);
}

char *wp_conninfo_masked(const char *conninfo)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	struct wp_buffer b;
	enum wp_rc rc = WP_OK;
	char *text = NULL;

	if (options == NULL)
		return strdup(ASTERISKS);
	wp_buffer_init(&b, MASKED_SIZE_MAX);
	for (const PQconninfoOption *o = options; o->keyword != NULL && rc == WP_OK; o++)
		if (o->val != NULL)
			rc = append_option(&b, o);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&b, '\0');
	if (rc == WP_OK)
		text = strdup((const char *)b.data);
	wp_buffer_release(&b);
	PQconninfoFree(options);
	return text;
}

#include "walpost/postgres/sql.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char wp_sql_impatiently[] =
	"SELECT pg_catalog.set_config('statement_timeout', '10000', true);\n";

static void append(struct wp_sql *sql, const char *text, size_t size)
{
	if (sql->rc != WP_OK)
		return;
	sql->rc = wp_buffer_append(sql->into, (struct wp_span){ (const uint8_t *)text, size });
}

static void append_quoted(struct wp_sql *sql, char kind, const char *value)
{
	size_t size = strlen(value);
	char *quoted = kind == 'I' ? PQescapeIdentifier(sql->pg, value, size)
				   : PQescapeLiteral(sql->pg, value, size);
	if (!quoted) {
		if (sql->rc == WP_OK) {
			sql->rc = WP_CONFIG;
			(void)snprintf(sql->problem, sizeof(sql->problem),
				       "\"%.100s\" cannot be quoted: %.100s", value,
				       PQerrorMessage(sql->pg));
		}
		return;
	}
	/* A literal with backslashes comes as " E'...'". */
	const char *text = *quoted == ' ' ? quoted + 1 : quoted;
	append(sql, text, strlen(text));
	PQfreemem(quoted);
}

static void append_comment(struct wp_sql *sql, const char *text)
{
	for (; *text; text++)
		append(sql, (unsigned char)*text < ' ' || *text == 0x7f ? " " : text, 1);
}

void wp_sql_init(struct wp_sql *sql, PGconn *pg, struct wp_buffer *into)
{
	*sql = (struct wp_sql){ .pg = pg, .into = into };
}

void wp_sql_add(struct wp_sql *sql, const char *template, ...)
{
	va_list values;
	va_start(values, template);
	for (const char *at = template; *at;) {
		size_t plain = strcspn(at, "%");
		append(sql, at, plain);
		at += plain;
		if (!*at)
			break;
		switch (at[1]) {
		case 'I':
		case 'L':
			append_quoted(sql, at[1], va_arg(values, const char *));
			break;
		case 's': {
			const char *text = va_arg(values, const char *);
			append(sql, text, strlen(text));
			break;
		}
		case 'C':
			append_comment(sql, va_arg(values, const char *));
			break;
		default:
			assert(at[1] == '%');
			append(sql, "%", 1);
		}
		at += 2;
	}
	va_end(values);
}

enum wp_rc wp_sql_end(struct wp_sql *sql, struct wp_error *error)
{
	append(sql, "", 1);
	switch (sql->rc) {
	case WP_OK:
		return WP_OK;
	case WP_FULL:
		return wp_error_set(error, WP_FULL, "the SQL text is longer than %zu bytes",
				    sql->into->size_max);
	case WP_CONFIG:
		return wp_error_set(error, WP_CONFIG, "%s", sql->problem);
	default:
		return wp_error_set(error, sql->rc, "out of memory for an SQL text");
	}
}

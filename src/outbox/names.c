#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/span.h"
#include "walpost/outbox/names.h"

#define ANY '\0' /* stands for an unquoted * in a pattern: no name can hold a NUL */

#define BEHIND_ITS_END "text follows its end, or it contains a character that requires quotes"
#define TABLE_FORM                                                                          \
	"allowed is table or schema.table, each part plain (letters, digits, _ and $, not " \
	"starting with a digit or $; folded to lower case) or in double quotes"
#define PATTERN_FORM                                                                             \
	"allowed is a comma-separated list of table or schema.table, each part plain (letters, " \
	"digits, _ and $; folded to lower case; * for any run of characters) or in double quotes"

struct part {
	char text[WP_NAME_SIZE]; /* NUL-terminated, but a pattern's may hold ANY */
	size_t size;
};

struct pattern {
	struct part schema;
	struct part name;
};

struct wp_patterns {
	size_t count;
	struct pattern items[];
};

/* Reads names and patterns: a cursor and the first thing that was wrong. */
struct reader {
	const char *at;
	const char *wrong; /* NULL: nothing yet */
	bool with_stars;
};

static void fail(struct reader *r, const char *wrong)
{
	if (r->wrong == NULL)
		r->wrong = wrong;
}

static void skip_spaces(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')
		r->at++;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

static bool is_plain(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '$';
}

/* PostgreSQL folds ASCII only in a multi-byte encoding. */
static char folded(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void put(struct reader *r, struct part *part, char c)
{
	if (part->size == WP_NAME_SIZE - 1) {
		fail(r, "a part is longer than 255 bytes");
		return;
	}
	part->text[part->size++] = c;
	part->text[part->size] = '\0';
}

static void read_quoted(struct reader *r, struct part *part)
{
	for (r->at++; *r->at != '\0'; r->at++) {
		if (*r->at == '"' && *++r->at != '"')
			return;
		put(r, part, *r->at);
	}
	fail(r, "a double quote is not closed");
}

static void read_plain(struct reader *r, struct part *part)
{
	if (!r->with_stars && is_plain(*r->at) && !is_letter(*r->at))
		fail(r, "a plain part starts with a digit or $");
	for (; is_plain(*r->at) || (r->with_stars && *r->at == '*'); r->at++)
		put(r, part, *r->at == '*' ? ANY : folded(*r->at));
}

static void read_part(struct reader *r, struct part *part)
{
	*part = (struct part){ .size = 0 };
	skip_spaces(r);
	do {
		if (*r->at == '"')
			read_quoted(r, part);
		else
			read_plain(r, part);
	} while (r->with_stars && r->wrong == NULL &&
		 (*r->at == '"' || is_plain(*r->at) || *r->at == '*'));
	if (part->size == 0)
		fail(r, "a part is empty, or begins with a character that requires quotes");
	skip_spaces(r);
}

/* Reads one or two parts; a schema of size 0 means that none was given. */
static void read_name(struct reader *r, struct pattern *ret)
{
	ret->schema = (struct part){ .size = 0 };
	read_part(r, &ret->name);
	if (r->wrong != NULL || *r->at != '.')
		return;
	r->at++;
	ret->schema = ret->name;
	read_part(r, &ret->name);
	if (*r->at == '.')
		fail(r, "it has more than two parts");
}

static void set_public(struct part *part)
{
	*part = (struct part){ .text = "public", .size = 6 };
}

enum wp_rc wp_table_name_parse(const char *text, struct wp_table_name *ret, struct wp_error *error)
{
	struct reader r = { .at = text };
	struct pattern name;

	read_name(&r, &name);
	if (*r.at != '\0')
		fail(&r, BEHIND_ITS_END);
	if (r.wrong != NULL)
		return wp_error_set(error, WP_CONFIG,
				    "\"%.200s\" is not a table name: %s; " TABLE_FORM, text,
				    r.wrong);
	if (name.schema.size == 0)
		set_public(&name.schema);
	memcpy(ret->schema, name.schema.text, sizeof(ret->schema));
	memcpy(ret->name, name.name.text, sizeof(ret->name));
	return WP_OK;
}

/*
 * These keywords cannot stand unquoted as a schema (pg_get_keywords() of PostgreSQL 15 to 18,
 * catcode R and T). Behind a dot SQL takes every keyword.
 */
static bool is_keyword(const char *text)
{
	static const char *const keywords =
		" all analyse analyze and any array as asc asymmetric authorization binary both "
		"case cast check collate collation column concurrently constraint create cross "
		"current_catalog current_date current_role current_schema current_time "
		"current_timestamp current_user default deferrable desc distinct do else end "
		"except false fetch for foreign freeze from full grant group having ilike in "
		"initially inner intersect into is isnull join lateral leading left like limit "
		"localtime localtimestamp natural not notnull null offset on only or order outer "
		"overlaps placing primary references returning right select session_user similar "
		"some symmetric system_user table tablesample then to trailing true union unique "
		"user using variadic verbose when where window with ";
	char padded[32];

	int size = snprintf(padded, sizeof(padded), " %s ", text);
	return size > 0 && (size_t)size < sizeof(padded) && strstr(keywords, padded) != NULL;
}

static bool needs_quotes(const char *part)
{
	if (!is_letter(part[0]))
		return true;
	for (const char *at = part; *at != '\0'; at++) {
		if (!is_plain(*at) || *at != folded(*at))
			return true;
	}
	return false;
}

/* Room for the NUL is kept. */
static size_t append(char *text, size_t size, size_t at, char c)
{
	if (at + 1 < size)
		text[at++] = c;
	return at;
}

static size_t append_part(char *text, size_t size, size_t at, const char *part, bool quoted)
{
	if (quoted)
		at = append(text, size, at, '"');
	for (; *part != '\0'; part++) {
		if (quoted && *part == '"')
			at = append(text, size, at, '"');
		at = append(text, size, at, *part);
	}
	return quoted ? append(text, size, at, '"') : at;
}

char *wp_table_name_text(const struct wp_table_name *name, char *text, size_t size)
{
	assert(size > 0);
	size_t at = append_part(text, size, 0, name->schema,
				needs_quotes(name->schema) || is_keyword(name->schema));
	at = append(text, size, at, '.');
	at = append_part(text, size, at, name->name, needs_quotes(name->name));
	text[at] = '\0';
	return text;
}

/* This is an upper bound of the items: quoted commas count too. */
static size_t count_commas(const char *list)
{
	size_t count = 0;

	for (; *list != '\0'; list++)
		count += *list == ',';
	return count;
}

static void read_patterns(struct reader *r, struct wp_patterns *p)
{
	for (;;) {
		if (p->count == WP_PATTERNS_MAX) {
			fail(r, "it has more than 256 patterns");
			return;
		}
		struct pattern *item = &p->items[p->count];
		read_name(r, item);
		if (r->wrong != NULL)
			return;
		p->count++;
		bool is_star = item->name.size == 1 && item->name.text[0] == ANY;
		if (item->schema.size == 0 && is_star)
			item->schema = item->name;
		else if (item->schema.size == 0)
			set_public(&item->schema);
		if (*r->at != ',')
			break;
		r->at++;
	}
	if (*r->at != '\0')
		fail(r, BEHIND_ITS_END);
}

enum wp_rc wp_patterns_new(const char *list, struct wp_patterns **ret, struct wp_error *error)
{
	struct reader r = { .at = list, .with_stars = true };
	size_t items_max = count_commas(list) + 1;

	if (items_max > WP_PATTERNS_MAX)
		items_max = WP_PATTERNS_MAX;
	struct wp_patterns *p = calloc(1, sizeof(*p) + items_max * sizeof(p->items[0]));
	if (p == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a list of table patterns");

	skip_spaces(&r);
	if (*r.at != '\0')
		read_patterns(&r, p);
	if (r.wrong != NULL) {
		free(p);
		return wp_error_set(error, WP_CONFIG,
				    "\"%.200s\" is not a list of table patterns: %s; " PATTERN_FORM,
				    list, r.wrong);
	}
	*ret = p;
	return WP_OK;
}

void wp_patterns_free(struct wp_patterns *p)
{
	free(p);
}

bool wp_table_is_pattern(const char *text)
{
	bool is_quoted = false;

	for (; *text != '\0'; text++) {
		is_quoted ^= *text == '"';
		if (*text == '*' && !is_quoted)
			return true;
	}
	return false;
}

static bool write_like(const struct part *part, char like[WP_NAME_SIZE])
{
	size_t at = 0;

	for (size_t i = 0; i < part->size; i++) {
		char c = part->text[i];
		if (at + 3 > WP_NAME_SIZE)
			return false;
		if (c == '%' || c == '_' || c == '\\')
			like[at++] = '\\';
		like[at++] = c == ANY ? '%' : c;
	}
	like[at] = '\0';
	return true;
}

enum wp_rc wp_table_pattern_parse(const char *text, struct wp_table_name *ret_like,
				  struct wp_error *error)
{
	struct wp_patterns *p;
	enum wp_rc rc = wp_patterns_new(text, &p, error);

	if (rc != WP_OK)
		return rc;
	if (p->count != 1)
		rc = wp_error_set(
			error, WP_CONFIG,
			"\"%.200s\" is not one pattern of tables: write an outbox for each", text);
	else if (!write_like(&p->items[0].schema, ret_like->schema) ||
		 !write_like(&p->items[0].name, ret_like->name))
		rc = wp_error_set(error, WP_CONFIG,
				  "\"%.200s\" is not a pattern of tables: it is too long", text);
	wp_patterns_free(p);
	return rc;
}

static bool part_matches(const struct part *pattern, struct wp_span text)
{
	struct wp_span bytes = { (const uint8_t *)pattern->text, pattern->size };

	return wp_wildcard_matches(bytes, ANY, text);
}

static bool matches(const struct pattern *pattern, struct wp_span schema, struct wp_span name)
{
	return part_matches(&pattern->schema, schema) && part_matches(&pattern->name, name);
}

bool wp_patterns_match(const struct wp_patterns *p, struct wp_span schema, struct wp_span name)
{
	for (size_t i = 0; i < p->count; i++) {
		if (matches(&p->items[i], schema, name))
			return true;
	}
	return false;
}

static bool has_star(const struct part *part)
{
	return memchr(part->text, ANY, part->size) != NULL;
}

static bool is_exact(const struct pattern *pattern)
{
	return !has_star(&pattern->schema) && !has_star(&pattern->name);
}

bool wp_patterns_name(const struct wp_patterns *p, struct wp_span schema, struct wp_span name)
{
	for (size_t i = 0; i < p->count; i++) {
		if (is_exact(&p->items[i]) && matches(&p->items[i], schema, name))
			return true;
	}
	return false;
}

size_t wp_patterns_count(const struct wp_patterns *p)
{
	return p->count;
}

bool wp_patterns_like(const struct wp_patterns *p, size_t index, struct wp_pattern_like *ret)
{
	assert(index < p->count);
	const struct pattern *pattern = &p->items[index];

	ret->is_exact = is_exact(pattern);
	return write_like(&pattern->schema, ret->like.schema) &&
	       write_like(&pattern->name, ret->like.name);
}

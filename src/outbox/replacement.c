#include <stdlib.h>
#include <string.h>

#include "replacement.h"
#include "walpost/base/ascii.h"

#define NOT_A_GROUP UINT32_MAX
#define SCHEMA (UINT32_MAX - 1)
#define TABLE (UINT32_MAX - 2)
#define GROUP_NAME_SIZE 129 /* PCRE2 takes at most 128 bytes, most versions 32 */
#define GROUP_NUMBER_MAX 65535

/* A piece is a run of literal bytes, a group, or a part of the origin. */
struct piece {
	uint32_t group; /* or NOT_A_GROUP, SCHEMA, TABLE */
	const char *text;
	size_t size;
};

/* It is one allocation: the struct, the pieces, the literal bytes. */
struct wp_replacement {
	size_t count;
	struct piece pieces[];
};

struct reader {
	const char *at;
	const pcre2_code *code;
	uint32_t group_count;
	struct wp_replacement *to;
	char *room; /* for literal bytes */
	const char *wrong;
};

static void put_literal(struct reader *r, char c)
{
	struct wp_replacement *to = r->to;

	if (to->count == 0 || to->pieces[to->count - 1].group != NOT_A_GROUP)
		to->pieces[to->count++] = (struct piece){ .group = NOT_A_GROUP, .text = r->room };
	*r->room++ = c;
	to->pieces[to->count - 1].size++;
}

static void put_group(struct reader *r, uint32_t group)
{
	if (group > r->group_count) {
		r->wrong = "it refers to a group that the expression does not have";
		return;
	}
	r->to->pieces[r->to->count++] = (struct piece){ .group = group };
}

/* Reads behind a $ the longest number that is a group, but at least one digit. */
static void read_group_number(struct reader *r)
{
	uint32_t group = (uint32_t)(*r->at++ - '0');

	while (wp_is_digit(*r->at)) {
		uint32_t longer = group * 10 + (uint32_t)(*r->at - '0');
		if (longer > r->group_count)
			break;
		group = longer;
		r->at++;
	}
	put_group(r, group);
}

static uint32_t group_number_of(const char *digits)
{
	uint32_t number = 0;

	for (; wp_is_digit(*digits) && number <= GROUP_NUMBER_MAX; digits++)
		number = number * 10 + (uint32_t)(*digits - '0');
	return *digits == '\0' ? number : NOT_A_GROUP;
}

static void read_braces(struct reader *r)
{
	const char *start = ++r->at;
	const char *end = strchr(start, '}');
	char name[GROUP_NAME_SIZE];

	if (end == NULL || end == start || (size_t)(end - start) >= sizeof(name)) {
		r->wrong = "${ must be followed by the name of a group and }";
		return;
	}
	memcpy(name, start, (size_t)(end - start));
	name[end - start] = '\0';
	r->at = end + 1;
	if (wp_is_digit(name[0])) {
		put_group(r, group_number_of(name));
		return;
	}
	int group = pcre2_substring_number_from_name(r->code, (PCRE2_SPTR)name);
	if (group < 0 && (strcmp(name, "schema") == 0 || strcmp(name, "table") == 0)) {
		r->to->pieces[r->to->count++] =
			(struct piece){ .group = name[0] == 's' ? SCHEMA : TABLE };
		return;
	}
	put_group(r, group < 0 ? NOT_A_GROUP : (uint32_t)group);
}

static void read_one(struct reader *r)
{
	if (*r->at == '\\') {
		if (*++r->at == '\0')
			r->wrong = "it ends with a backslash that escapes nothing";
		else
			put_literal(r, *r->at++);
	} else if (*r->at != '$') {
		put_literal(r, *r->at++);
	} else if (*++r->at == '{') {
		read_braces(r);
	} else if (wp_is_digit(*r->at)) {
		read_group_number(r);
	} else {
		r->wrong = "$ must be followed by a number or {name}; a literal dollar is \\$";
	}
}

/* Writes "routedByValue, other" or "none". */
static const char *list_groups(const pcre2_code *code, char *text, size_t size)
{
	uint32_t count = 0;
	uint32_t entry_size = 0;
	PCRE2_SPTR entry = NULL;
	size_t at = 0;

	(void)pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &count);
	(void)pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &entry_size);
	(void)pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, &entry);
	for (uint32_t i = 0; i < count; i++, entry += entry_size) {
		const char *name = (const char *)entry + 2; /* behind the group's number */
		size_t name_size = strlen(name);
		if (at + name_size + 3 > size)
			break;
		if (i > 0) {
			text[at++] = ',';
			text[at++] = ' ';
		}
		memcpy(text + at, name, name_size);
		at += name_size;
	}
	text[at] = '\0';
	return at == 0 ? "none" : text;
}

static enum wp_rc say_wrong(const struct reader *r, const char *text, struct wp_error *error)
{
	char names[256];

	return wp_error_set(
		error, WP_CONFIG,
		"outbox.topic.replacement = \"%.200s\": %s; allowed are $1, ${1} and ${name} for "
		"groups of outbox.topic.regex, which has %u, named: %s; and ${schema} and ${table}",
		text, r->wrong, r->group_count, list_groups(r->code, names, sizeof(names)));
}

enum wp_rc wp_replacement_new(const char *text, const pcre2_code *code, struct wp_replacement **ret,
			      struct wp_error *error)
{
	size_t size = strlen(text); /* no fewer than the pieces, nor than the literal bytes */
	struct reader r = { .at = text, .code = code };

	(void)pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &r.group_count);
	r.to = calloc(1, sizeof(*r.to) + size * sizeof(struct piece) + size);
	if (r.to == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for outbox.topic.replacement");
	r.room = (char *)(r.to->pieces + size);
	while (*r.at != '\0' && r.wrong == NULL)
		read_one(&r);
	if (r.wrong != NULL) {
		free(r.to);
		return say_wrong(&r, text, error);
	}
	*ret = r.to;
	return WP_OK;
}

void wp_replacement_free(struct wp_replacement *r)
{
	free(r);
}

bool wp_replacement_has_origin(const struct wp_replacement *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->pieces[i].group == SCHEMA || r->pieces[i].group == TABLE)
			return true;
	return false;
}

enum wp_rc wp_replacement_expand(const struct wp_replacement *r, struct wp_span subject,
				 const size_t *ovector, const struct wp_origin *origin, char *to,
				 size_t size, size_t *ret_size)
{
	size_t at = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct piece *piece = &r->pieces[i];
		const void *bytes = piece->text;
		size_t bytes_size = piece->size;
		if (piece->group == SCHEMA || piece->group == TABLE) {
			struct wp_span part =
				piece->group == SCHEMA ? origin->schema : origin->table;
			bytes = part.data;
			bytes_size = part.size;
		} else if (piece->group != NOT_A_GROUP) {
			size_t start = ovector[2 * piece->group];
			size_t end = ovector[2 * piece->group + 1];
			if (start == PCRE2_UNSET || start > end) /* took no part in the match */
				continue;
			bytes = subject.data + start;
			bytes_size = end - start;
		}
		size_t taken = bytes_size < size - at ? bytes_size : size - at;
		if (taken > 0)
			memcpy(to + at, bytes, taken);
		*ret_size = at += taken;
		if (taken < bytes_size)
			return WP_FULL;
	}
	*ret_size = at;
	return WP_OK;
}

/* Finds which tables a query writes: heartbeat.action.query, whose rows are no events. */
#include <ctype.h>
#include <string.h>

#include "translate.h"

/* A token is a piece of SQL. A name in double quotes is no keyword. */
struct token {
	enum { END, WORD, QUOTED, OTHER } kind;
	char text[WP_NAME_SIZE]; /* of a word in lower case; of anything else its first character */
};

/* Returns what is behind the literal: 'it''s', or E'it\'s'. */
static const char *behind_literal(const char *at, bool escapes)
{
	for (at++; *at != '\0'; at++) {
		if (escapes && at[0] == '\\' && at[1] != '\0')
			at++;
		else if (at[0] == '\'' && at[1] == '\'')
			at++;
		else if (at[0] == '\'')
			return at + 1;
	}
	return at;
}

static const char *behind_comment(const char *at)
{
	const char *end;

	if (at[0] == '-')
		return at + strcspn(at, "\n");
	end = strstr(at + 2, "*/");
	return end == NULL ? at + strlen(at) : end + 2;
}

/* Returns what is behind blanks, comments and literals, which are no tokens. */
static const char *behind_nothing(const char *at)
{
	for (;;) {
		if (*at != '\0' && strchr(" \t\r\n\f\v", *at) != NULL)
			at++;
		else if (wp_import_begins(at, "--") || wp_import_begins(at, "/*"))
			at = behind_comment(at);
		else if ((*at == 'e' || *at == 'E') && at[1] == '\'')
			at = behind_literal(at + 1, true);
		else if (*at == '\'')
			at = behind_literal(at, false);
		else
			return at;
	}
}

/* A byte beyond ASCII is a letter to PostgreSQL. */
static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static const char *read_quoted(const char *at, struct token *ret)
{
	size_t size = 0;

	ret->kind = QUOTED;
	for (at++; *at != '\0' && (*at != '"' || at[1] == '"'); at++) {
		if (size == sizeof(ret->text) - 1)
			ret->kind = OTHER;
		else
			ret->text[size++] = *at;
		at += *at == '"';
	}
	ret->text[size] = '\0';
	if (*at == '\0' || size == 0)
		ret->kind = OTHER;
	return *at == '\0' ? at : at + 1;
}

static const char *read_word(const char *at, struct token *ret)
{
	size_t size = 0;

	ret->kind = WORD;
	for (; is_letter(*at) || isdigit((unsigned char)*at) || *at == '$'; at++) {
		bool capital = *at >= 'A' && *at <= 'Z';

		if (size == sizeof(ret->text) - 1)
			ret->kind = OTHER;
		else
			ret->text[size++] = (char)(capital ? *at - 'A' + 'a' : *at);
	}
	ret->text[size] = '\0';
	return at;
}

static void next(const char **at, struct token *ret)
{
	*at = behind_nothing(*at);
	if (**at == '"') {
		*at = read_quoted(*at, ret);
	} else if (is_letter(**at)) {
		*at = read_word(*at, ret);
	} else {
		*ret = (struct token){ .kind = **at == '\0' ? END : OTHER, .text = { **at } };
		*at += **at != '\0';
	}
}

/* Skips the next token, if it is this. */
static bool skip(const char **at, int kind, const char *text)
{
	const char *behind = *at;
	struct token token;

	next(&behind, &token);
	if ((int)token.kind != kind || strcmp(token.text, text) != 0)
		return false;
	*at = behind;
	return true;
}

/* Reads name, schema.name or database.schema.name. Returns false if it is none of them. */
static bool read_name(const char **at, struct wp_table_name *ret)
{
	struct token token;

	*ret = (struct wp_table_name){ .schema = "" };
	do {
		next(at, &token);
		if (token.kind != WORD && token.kind != QUOTED)
			return false;
		memcpy(ret->schema, ret->name, sizeof(ret->schema));
		memcpy(ret->name, token.text, sizeof(ret->name));
	} while (skip(at, OTHER, "."));
	return true;
}

/* Reads the list of columns, if one begins here. */
static void read_list(const char *at, const char *const *columns, struct wp_import_written *ret)
{
	struct token token;

	ret->names_column = false;
	ret->has_list = skip(&at, OTHER, "(");
	if (!ret->has_list)
		return;
	do {
		next(&at, &token);
		for (size_t i = 0; i < WP_IMPORT_COLUMNS; i++)
			if ((token.kind == WORD || token.kind == QUOTED) &&
			    strcmp(token.text, columns[i]) == 0)
				ret->names_column = true;
	} while (token.kind != END && strcmp(token.text, ")") != 0);
}

/* Does ON CONFLICT follow before the statement ends? */
static bool expects_conflict(const char *at)
{
	struct token token;

	do {
		next(&at, &token);
		if (token.kind == WORD && strcmp(token.text, "conflict") == 0)
			return true;
	} while (token.kind != END && strcmp(token.text, ";") != 0);
	return false;
}

/* Is it the keyword before the name of a table, and not that of FOR UPDATE or DO UPDATE SET? */
static bool writes(const char **at, const struct token *before, const struct token *token)
{
	static const char *const others[] = { "for", "key", "do", "then" };

	if (token->kind != WORD)
		return false;
	if (strcmp(token->text, "insert") == 0 || strcmp(token->text, "merge") == 0)
		return skip(at, WORD, "into");
	if (strcmp(token->text, "update") != 0)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (before->kind == WORD && strcmp(before->text, others[i]) == 0)
			return false;
	return true;
}

bool wp_import_next_written(const char **at, const char *const columns[WP_IMPORT_COLUMNS],
			    struct wp_import_written *ret)
{
	struct token before = { .kind = END };
	struct token token;

	for (next(at, &token); token.kind != END; next(at, &token)) {
		if (writes(at, &before, &token)) {
			(void)skip(at, WORD, "only");
			(void)skip(at, OTHER, "(");
			ret->unclear = !read_name(at, &ret->name);
			ret->inserts = strcmp(token.text, "insert") == 0 && !expects_conflict(*at);
			read_list(*at, columns, ret);
			return true;
		}
		before = token;
	}
	return false;
}

/* Reads a part of a name, in quotes or plain. */
static const char *read_part(const char *at, struct token *ret)
{
	size_t size = strcspn(at, ".,\"");
	bool is_name = size > 0 && size < sizeof(ret->text) && at[0] != ' ' && at[size - 1] != ' ';

	if (*at == '"')
		return read_quoted(at, ret);
	ret->kind = is_name ? WORD : OTHER;
	memcpy(ret->text, at, is_name ? size : 0);
	ret->text[is_name ? size : 0] = '\0';
	return at + size;
}

bool wp_import_read_name(const char *text, struct wp_table_name *ret)
{
	struct token token;

	*ret = (struct wp_table_name){ .schema = "" };
	for (;;) {
		text = read_part(text, &token);
		if (token.kind == OTHER)
			return false;
		memcpy(ret->schema, ret->name, sizeof(ret->schema));
		memcpy(ret->name, token.text, sizeof(ret->name));
		if (*text != '.')
			break;
		text++;
	}
	return *text == '\0';
}

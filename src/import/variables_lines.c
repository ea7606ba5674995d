/*
 * Variables of Debezium Server in lines: .env, a shell script, a Dockerfile, `docker run`. What a
 * command is given stands in one block.
 */
#include <string.h>

#include "variables.h"

#define JOINED "--env="

static bool begins(struct wp_span text, const char *start)
{
	size_t size = strlen(start);

	return text.size >= size && memcmp(text.data, start, size) == 0;
}

static struct wp_span behind(struct wp_span text, size_t size)
{
	return (struct wp_span){ text.data + size, text.size - size };
}

struct lines {
	struct wp_import_taker *taker;
	struct wp_span rest;
	unsigned line;	/* of `rest` */
	unsigned block; /* the line in which the command begins */
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct wp_span trimmed(struct wp_span text)
{
	while (text.size > 0 && is_blank(text.data[0]))
		text = behind(text, 1);
	while (text.size > 0 && is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

static void advance(struct lines *l, size_t size)
{
	for (size_t i = 0; i < size; i++)
		l->line += l->rest.data[i] == '\n';
	l->rest = behind(l->rest, size);
}

static struct wp_span this_line(const struct lines *l)
{
	const uint8_t *end = memchr(l->rest.data, '\n', l->rest.size);

	return (struct wp_span){ l->rest.data,
				 end == NULL ? l->rest.size : (size_t)(end - l->rest.data) };
}

/* A backslash before a line's end joins the next line; 0: there is none here. */
static size_t joint_size(struct wp_span text)
{
	size_t size = 1;

	if (text.size == 0 || text.data[0] != '\\')
		return 0;
	while (size < text.size && text.data[size] == '\r')
		size++;
	return size < text.size && text.data[size] == '\n' ? size + 1 : 0;
}

static void skip_blanks(struct lines *l)
{
	while (l->rest.size > 0) {
		size_t size = is_blank(l->rest.data[0]) ? 1 : joint_size(l->rest);

		if (size == 0)
			return;
		advance(l, size);
	}
}

/* In double quotes a backslash is one of the text, unless what follows is special there. */
static bool is_escape(struct wp_span text, uint8_t quote)
{
	if (text.size < 2 || text.data[0] != '\\' || quote == '\'')
		return false;
	return quote == '\0' || (text.data[1] != '\0' && strchr("\\\"$`", text.data[1]) != NULL);
}

/*
 * The next word of a command, as a shell reads it, without its quotes. NULL: the command has no more;
 * what ended it is taken, but for a line's end.
 */
static enum wp_rc next_word(struct lines *l, char **ret)
{
	struct wp_import_properties *p = l->taker->into;
	size_t start = p->texts.size;
	unsigned line;
	uint8_t quote = '\0';
	enum wp_rc rc = WP_OK;

	skip_blanks(l);
	line = l->line;
	*ret = NULL;
	if (l->rest.size == 0 || l->rest.data[0] == '\n')
		return WP_OK;
	if (l->rest.data[0] == '#') {
		advance(l, this_line(l).size);
		return WP_OK;
	}
	if (strchr(";&|", l->rest.data[0]) != NULL) {
		advance(l, 1);
		return WP_OK;
	}
	for (; l->rest.size > 0 && rc == WP_OK; advance(l, 1)) {
		uint8_t c = l->rest.data[0];

		if (quote == '\0' && (is_blank(c) || (c != '\0' && strchr("\n;&|", c) != NULL)))
			break;
		if (c == quote || (quote == '\0' && (c == '"' || c == '\''))) {
			quote = c == quote ? '\0' : c;
			continue;
		}
		if (quote != '\'' && joint_size(l->rest) > 0) {
			advance(l, joint_size(l->rest) - 1);
			continue;
		}
		if (is_escape(l->rest, quote))
			advance(l, 1);
		rc = wp_import_append_byte(p, l->rest.data[0], line, l->taker->error);
	}
	if (rc == WP_OK && quote != '\0')
		return wp_error_set(l->taker->error, WP_CONFIG,
				    "line %u: a quotation mark is not closed", line);
	return rc == WP_OK ? wp_import_end_text(p, start, line, ret, l->taker->error) : rc;
}

/* export NAME=value NAME=value, as in a Dockerfile: ENV */
static enum wp_rc take_assignments(struct lines *l)
{
	unsigned line = l->line;
	char *word;
	enum wp_rc rc = next_word(l, &word);

	for (; rc == WP_OK && word != NULL; rc = next_word(l, &word)) {
		struct wp_span name;
		struct wp_span value;

		if (wp_import_split_variable(l->taker, wp_span_of(word), &name, &value))
			rc = wp_import_take_variable(l->taker, name, value, line, 0);
		if (rc != WP_OK)
			return rc;
		line = l->line;
	}
	return rc;
}

static enum wp_rc take_given(struct lines *l, const char *text, unsigned line)
{
	struct wp_span name;
	struct wp_span value;

	if (wp_import_is_dotted(wp_span_of(text)) && strchr(text, '=') != NULL)
		return wp_import_take_variable(
			l->taker, (struct wp_span){ (const uint8_t *)text, strcspn(text, "=") },
			wp_span_of(strchr(text, '=') + 1), line, l->block);
	if (wp_import_split_variable(l->taker, wp_span_of(text), &name, &value))
		return wp_import_take_variable(l->taker, name, value, line, l->block);
	if (wp_import_is_variable(l->taker, wp_span_of(text)))
		return wp_import_take_variable(l->taker, wp_span_of(text), (struct wp_span){ 0 },
					       line, l->block);
	return WP_OK;
}

/* docker run -e NAME=value, -e NAME, -eNAME=value, --env NAME=value, --env=NAME=value */
static enum wp_rc take_options(struct lines *l)
{
	bool is_next = false;
	char *word;
	enum wp_rc rc = next_word(l, &word);

	for (; rc == WP_OK && word != NULL; rc = next_word(l, &word)) {
		unsigned line = l->line;
		const char *given = NULL;

		if (is_next)
			given = word;
		else if (strncmp(word, JOINED, strlen(JOINED)) == 0)
			given = word + strlen(JOINED);
		else if (strncmp(word, "-e", 2) == 0 && word[2] != '\0')
			given = word + 2 + (word[2] == '=');
		is_next = !is_next && (strcmp(word, "-e") == 0 || strcmp(word, "--env") == 0);
		if (given != NULL)
			rc = take_given(l, given, line);
		if (rc != WP_OK)
			return rc;
	}
	return rc;
}

/* Up to a comment. */
static struct wp_span without_comment(struct wp_span value)
{
	for (size_t i = 1; i < value.size; i++)
		if (value.data[i] == '#' && is_blank(value.data[i - 1]))
			value.size = i;
	return trimmed(value);
}

static bool ends_in_backslash(struct wp_span line)
{
	line = trimmed(line);
	return line.size > 0 && line.data[line.size - 1] == '\\';
}

/* NAME=value on a line of its own, as in .env: all of the line is the value, unless it is quoted. */
static enum wp_rc take_line(struct lines *l, struct wp_span name, struct wp_span value)
{
	unsigned line = l->line;

	value = trimmed(value);
	if ((value.size > 0 && (value.data[0] == '"' || value.data[0] == '\'')) ||
	    ends_in_backslash(value))
		return take_assignments(l);
	advance(l, this_line(l).size);
	return wp_import_take_variable(l->taker, name, without_comment(value), line, 0);
}

static bool has(struct wp_span text, const char *word)
{
	for (; text.size > 0; text = behind(text, 1))
		if (begins(text, word))
			return true;
	return false;
}

static enum wp_rc take_command(struct lines *l)
{
	struct wp_span line = trimmed(this_line(l));
	struct wp_span name;
	struct wp_span value;

	l->block = l->line;
	if (wp_import_split_variable(l->taker, line, &name, &value))
		return take_line(l, name, value);
	if (begins(line, "export ") || begins(line, "ENV "))
		return take_assignments(l);
	/* What is no command for certain is no words to be read, as a text with an apostrophe. */
	if (begins(line, "#") || begins(line, "- ") || (!has(line, "-e") && !has(line, "--env")) ||
	    (!has(line, "DEBEZIUM_") && !has(line, "debezium."))) {
		advance(l, this_line(l).size);
		return WP_OK;
	}
	return take_options(l);
}

static enum wp_rc take_commands(struct wp_import_taker *t, struct wp_span text)
{
	struct lines l = { .taker = t, .rest = text, .line = 1 };
	enum wp_rc rc = WP_OK;

	while (l.rest.size > 0 && rc == WP_OK) {
		rc = take_command(&l);
		if (l.rest.size > 0 && l.rest.data[0] == '\n')
			advance(&l, 1);
	}
	return rc;
}

/* Lines with dots in their names are those of application.properties, unless others tell it is none. */
enum wp_rc wp_import_read_variables(struct wp_span text, struct wp_import_properties *p,
				    struct wp_error *error)
{
	struct wp_error why;
	struct wp_import_taker t = { .into = p, .error = &why };
	enum wp_rc rc = take_commands(&t, text);

	/* What is wrong with the words of another form is nothing. */
	if (rc == WP_CONFIG && !wp_import_has_server(&t)) {
		p->count = 0;
		return WP_OK;
	}
	if (rc == WP_OK && wp_import_has_server(&t)) {
		p->count = 0;
		t.has_dots = true;
		rc = take_commands(&t, text);
	}
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", why.text);
	wp_import_settle(&t);
	return WP_OK;
}

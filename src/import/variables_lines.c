/*
 * Reads variables of Debezium Server in lines: .env, a shell script, a Dockerfile, `docker run`.
 * Those that a command is given stand in one block.
 */
#include <string.h>

#include "variables.h"

#define JOINED "--env="
#define FILE_OF_VARIABLES "--env-file"

struct lines {
	struct wp_import_taker *taker;
	struct wp_span rest;
	unsigned line;	  /* of `rest` */
	unsigned command; /* its number, from 1 */
	bool is_server;	  /* the command sets variables, or names the image */
};

static struct wp_span trimmed(struct wp_span text)
{
	while (text.size > 0 && wp_import_is_blank(text.data[0]))
		text = wp_span_after(text, 1);
	while (text.size > 0 && wp_import_is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

static void advance(struct lines *l, size_t size)
{
	for (size_t i = 0; i < size; i++)
		l->line += l->rest.data[i] == '\n';
	l->rest = wp_span_after(l->rest, size);
}

static struct wp_span this_line(const struct lines *l)
{
	const uint8_t *end = memchr(l->rest.data, '\n', l->rest.size);

	return (struct wp_span){ l->rest.data,
				 end == NULL ? l->rest.size : (size_t)(end - l->rest.data) };
}

/* A backslash before a line's end joins the next line; returns 0 if there is none here. */
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
		size_t size = wp_import_is_blank(l->rest.data[0]) ? 1 : joint_size(l->rest);

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
 * Reads the next word of a command as a shell does, without its quotes. `ret` is NULL if the
 * command has no more; what ended it is taken, but for a line's end.
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

		if (quote == '\0' &&
		    (wp_import_is_blank(c) || (c != '\0' && strchr("\n;&|", c) != NULL)))
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

static enum wp_rc take_given(struct lines *l, const char *text, unsigned line)
{
	struct wp_span name;
	struct wp_span value;

	l->is_server = l->is_server || wp_import_is_server_variable(wp_span_of(text));
	if (wp_import_is_dotted(wp_span_of(text)) && strchr(text, '=') != NULL)
		return wp_import_take_variable(
			l->taker, (struct wp_span){ (const uint8_t *)text, strcspn(text, "=") },
			wp_span_of(strchr(text, '=') + 1), line, l->command);
	if (wp_import_split_variable(l->taker, wp_span_of(text), &name, &value))
		return wp_import_take_variable(l->taker, name, value, line, l->command);
	if (wp_import_is_variable(l->taker, wp_span_of(text)))
		return wp_import_take_variable(l->taker, wp_span_of(text), (struct wp_span){ 0 },
					       line, l->command);
	return WP_OK;
}

/* Takes the value of ENV NAME value. */
static enum wp_rc take_rest(struct lines *l, const char *name)
{
	struct wp_span value = trimmed(this_line(l));
	unsigned line = l->line;

	advance(l, this_line(l).size);
	return wp_import_take_variable(l->taker, wp_span_of(name), value, line, 0);
}

enum way {
	BEGINS,	 /* NAME=value before a command, or the command itself */
	EXPORTS, /* export NAME=value NAME=value */
	ENV,	 /* the same in a Dockerfile, or ENV NAME value */
	OPTIONS, /* docker run -e NAME=value, -e NAME, -eNAME=value, --env NAME=value, --env=NAME=value */
	GIVEN,	 /* behind -e */
	MOUNTED, /* behind -v */
};

static void take_mount(struct lines *l, const char *word, unsigned line)
{
	if (wp_import_is_mount(word))
		wp_import_take_further(l->taker, "the volume", line);
}

static enum wp_rc take_option(struct lines *l, const char *word, unsigned line, enum way *way)
{
	const char *option = wp_import_java_option(wp_span_of(word));

	*way = OPTIONS;
	if (option != NULL && strncmp(word, "-D", 2) == 0)
		wp_import_take_further(l->taker, option, line);
	else if (strncmp(word, FILE_OF_VARIABLES, strlen(FILE_OF_VARIABLES)) == 0)
		wp_import_take_further(l->taker, FILE_OF_VARIABLES, line);
	else if (strcmp(word, "-e") == 0 || strcmp(word, "--env") == 0)
		*way = GIVEN;
	else if (strcmp(word, "-v") == 0 || strcmp(word, "--volume") == 0 ||
		 strcmp(word, "--mount") == 0)
		*way = MOUNTED;
	else if (strncmp(word, JOINED, strlen(JOINED)) == 0)
		return take_given(l, word + strlen(JOINED), line);
	else if (strncmp(word, "-e", 2) == 0)
		return take_given(l, word + 2 + (word[2] == '='), line);
	else if (strncmp(word, "-v", 2) == 0)
		take_mount(l, word + 2, line);
	else if (strncmp(word, "--volume=", strlen("--volume=")) == 0 ||
		 strncmp(word, "--mount=", strlen("--mount=")) == 0)
		take_mount(l, strchr(word, '=') + 1, line);
	return WP_OK;
}

static enum wp_rc take_word(struct lines *l, const char *word, unsigned line, enum way *way)
{
	struct wp_span name;
	struct wp_span value;

	if (*way == GIVEN) {
		*way = OPTIONS;
		return take_given(l, word, line);
	}
	if (*way == MOUNTED) {
		*way = OPTIONS;
		take_mount(l, word, line);
		return WP_OK;
	}
	l->is_server = l->is_server || strstr(word, "debezium/server") != NULL;
	if (*way == OPTIONS || word[0] == '-')
		return take_option(l, word, line, way);
	if (wp_import_split_variable(l->taker, wp_span_of(word), &name, &value))
		return wp_import_take_variable(l->taker, name, value, line, 0);
	if (*way == ENV && strchr(word, '=') == NULL &&
	    wp_import_is_variable(l->taker, wp_span_of(word)))
		return take_rest(l, word);
	if (*way == BEGINS && strcmp(word, "export") == 0)
		*way = EXPORTS;
	else if (*way == BEGINS && strcmp(word, "ENV") == 0)
		*way = ENV;
	else if (*way == BEGINS && strchr(word, '=') == NULL)
		return take_option(l, word, line, way);
	return WP_OK;
}

/* Takes all commands of a line, and of those that are joined to it. */
static enum wp_rc take_words(struct lines *l)
{
	enum wp_rc rc = WP_OK;

	while (rc == WP_OK && l->rest.size > 0 && l->rest.data[0] != '\n') {
		enum way way = BEGINS;
		size_t further_count = l->taker->into->further_count;
		char *word;

		l->command++;
		l->is_server = false;
		do {
			skip_blanks(l);
			unsigned line = l->line;

			rc = next_word(l, &word);
			if (rc == WP_OK && word != NULL)
				rc = take_word(l, word, line, &way);
		} while (rc == WP_OK && word != NULL);
		/* Another command's files are nobody's here. */
		if (!l->is_server)
			l->taker->into->further_count = further_count;
	}
	return rc;
}

/* Cuts a value off at a comment. */
static struct wp_span without_comment(struct wp_span value)
{
	for (size_t i = 1; i < value.size; i++)
		if (value.data[i] == '#' && wp_import_is_blank(value.data[i - 1]))
			value.size = i;
	return trimmed(value);
}

/* A backslash behind a blank joins the next line; behind anything else it is one of the value. */
static bool is_joined(struct wp_span value)
{
	return value.size > 1 && value.data[value.size - 1] == '\\' &&
	       wp_import_is_blank(value.data[value.size - 2]);
}

/*
 * Takes NAME=value on a line of its own, as in .env: all of the line is the value, unless it is
 * quoted.
 */
static enum wp_rc take_line(struct lines *l, struct wp_span name, struct wp_span value)
{
	unsigned line = l->line;

	value = trimmed(value);
	if ((value.size > 0 && (value.data[0] == '"' || value.data[0] == '\'')) || is_joined(value))
		return take_words(l);
	advance(l, this_line(l).size);
	return wp_import_take_variable(l->taker, name, without_comment(value), line, 0);
}

/* A line that is no command for certain has no words to be read, as a text with an apostrophe. */
static bool has_variables(struct wp_span line)
{
	if (wp_span_begins(line, "#") || wp_span_begins(line, "- "))
		return false;
	if (wp_span_has(line, "--env-file") || wp_span_has(line, ":/debezium") ||
	    wp_span_has(line, "=/debezium") || wp_span_has(line, "debezium/server"))
		return true;
	return wp_span_begins(line, "export ") || wp_span_begins(line, "ENV ") ||
	       ((wp_span_has(line, "-e") || wp_span_has(line, "--env")) &&
		(wp_span_has(line, "DEBEZIUM_") || wp_span_has(line, "debezium.")));
}

static enum wp_rc take_first_line(struct lines *l)
{
	struct wp_span line = trimmed(this_line(l));
	struct wp_span name;
	struct wp_span value;

	/* A Dockerfile adds files to the image. */
	if ((wp_span_begins(line, "COPY ") || wp_span_begins(line, "ADD ")) &&
	    wp_span_has(line, " /debezium/conf")) {
		wp_import_take_further(l->taker, "COPY or ADD", l->line);
		advance(l, this_line(l).size);
		return WP_OK;
	}
	if (wp_import_split_variable(l->taker, line, &name, &value))
		return take_line(l, name, value);
	if (has_variables(line))
		return take_words(l);
	advance(l, this_line(l).size);
	return WP_OK;
}

static enum wp_rc take_commands(struct wp_import_taker *t, struct wp_span text)
{
	struct lines l = { .taker = t, .rest = text, .line = 1 };
	enum wp_rc rc = WP_OK;

	while (l.rest.size > 0 && rc == WP_OK) {
		rc = take_first_line(&l);
		if (l.rest.size > 0 && l.rest.data[0] == '\n')
			advance(&l, 1);
	}
	return rc;
}

/*
 * Lines with dots in their names are those of application.properties, unless others tell that it
 * is none.
 */
enum wp_rc wp_import_read_variables(struct wp_span text, struct wp_import_properties *p,
				    struct wp_error *error)
{
	struct wp_error why;
	struct wp_import_taker t = { .into = p, .error = &why };
	enum wp_rc rc = take_commands(&t, text);

	/* It does not matter what is wrong with the words of another form. */
	if (rc == WP_CONFIG && !wp_import_has_server(&t)) {
		p->count = p->further_count = 0;
		return WP_OK;
	}
	if (rc == WP_OK && wp_import_has_server(&t)) {
		p->count = p->further_count = 0;
		t.has_dots = true;
		rc = take_commands(&t, text);
	}
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", why.text);
	wp_import_settle(&t);
	return WP_OK;
}

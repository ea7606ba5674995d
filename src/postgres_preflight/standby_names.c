/* Reads synchronous_standby_names, and writes it anew without one of its names. */
#include "preflight_judge.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum token { END, WORD, SIGN };

struct reader {
	const char *at;
	char text[WP_STANDBY_NAME_SIZE]; /* of a WORD: without its quotes */
	char sign;
};

static void put(struct reader *r, size_t *size, char c)
{
	if (*size + 1 < sizeof(r->text))
		r->text[(*size)++] = c;
}

static enum token next(struct reader *r)
{
	size_t size = 0;
	r->at += strspn(r->at, " \t\n\r\f\v");
	if (!*r->at)
		return END;
	if (*r->at == '"') {
		for (r->at++; *r->at && (*r->at != '"' || r->at[1] == '"'); r->at++) {
			put(r, &size, *r->at);
			if (*r->at == '"')
				r->at++;
		}
		if (*r->at)
			r->at++;
	} else if (strchr(",()", *r->at)) {
		r->sign = *r->at++;
		return SIGN;
	} else {
		while (*r->at && !strchr(" \t\n\r\f\v,()\"", *r->at))
			put(r, &size, *r->at++);
	}
	r->text[size] = '\0';
	return WORD;
}

/* The names begin behind the first parenthesis, if there is one outside quotes. */
static const char *names_of(const char *setting)
{
	struct reader r = { .at = setting };
	for (enum token t = next(&r); t != END; t = next(&r))
		if (t == SIGN && r.sign == '(')
			return r.at;
	return setting;
}

static bool is(const char *name, const char *application)
{
	return !strcmp(name, "*") || !strcasecmp(name, application);
}

bool wp_standby_names_count(const char *setting, const char *application)
{
	struct reader r = { .at = names_of(setting) };
	for (enum token t = next(&r); t != END; t = next(&r))
		if (t == WORD && is(r.text, application))
			return true;
	return false;
}

static enum wp_rc append_name(struct wp_buffer *into, const char *name, unsigned *count)
{
	enum wp_rc rc = wp_buffer_append_text(into, *count ? ", \"" : "\"");
	for (const char *c = name; rc == WP_OK && *c; c++) {
		if (*c == '"')
			rc = wp_buffer_append_byte(into, '"');
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(into, (uint8_t)*c);
	}
	++*count;
	return rc == WP_OK ? wp_buffer_append_byte(into, '"') : rc;
}

/* Appends the names of `list` that may stay. */
static enum wp_rc append_names(struct wp_buffer *into, const char *list, const char *application,
			       const char *others, unsigned *count)
{
	enum wp_rc rc = WP_OK;
	bool star = false;
	struct reader r = { .at = list };
	for (enum token t = next(&r); rc == WP_OK && t != END; t = next(&r)) {
		if (t != WORD)
			continue;
		star = star || !strcmp(r.text, "*");
		if (!is(r.text, application))
			rc = append_name(into, r.text, count);
	}
	if (rc == WP_OK && star && *others)
		rc = append_names(into, others, application, "", count);
	return rc;
}

/* Returns the word, "ANY" or "FIRST", and how many it asks for; 0 for a plain list. */
static void method_of(const char *setting, const char **ret_word, unsigned long *ret_wanted)
{
	struct reader r = { .at = setting };
	*ret_word = "FIRST";
	*ret_wanted = 0;
	if (names_of(setting) == setting)
		return;
	for (enum token t = next(&r); t == WORD; t = next(&r)) {
		if (!strcasecmp(r.text, "ANY"))
			*ret_word = "ANY";
		else if (strcasecmp(r.text, "FIRST") != 0)
			*ret_wanted = strtoul(r.text, NULL, 10);
	}
}

enum wp_rc wp_standby_names_without(const char *setting, const char *application,
				    const char *others, struct wp_buffer *into)
{
	struct wp_buffer names;
	unsigned count = 0;
	unsigned long wanted;
	const char *word;
	wp_buffer_init(&names, into->size_max);
	enum wp_rc rc = append_names(&names, names_of(setting), application, others, &count);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&names, '\0');
	if (rc != WP_OK)
		goto out;
	method_of(setting, &word, &wanted);
	if (wanted > count)
		wanted = count;
	if (wanted == 0)
		rc = wp_buffer_printf(into, "%s", (const char *)names.data);
	else
		rc = wp_buffer_printf(into, "%s %lu (%s)", word, wanted, (const char *)names.data);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(into, '\0');
out:
	wp_buffer_release(&names);
	return rc;
}

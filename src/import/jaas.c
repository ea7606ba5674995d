#include <string.h>

#include "jaas.h"

static const char space[] = " \t\r\n\f";

static void skip_space(const char **at)
{
	*at += strspn(*at, space);
}

static bool put(struct wp_jaas *j, char byte)
{
	if (j->size == sizeof(j->text))
		return false;
	j->text[j->size++] = byte;
	return true;
}

/* Takes what is behind a quote up to the next; a backslash takes what follows for itself. */
static bool take_quoted(struct wp_jaas *j, const char **at)
{
	char quote = *(*at)++;

	while (**at != quote) {
		if (**at == '\\' && (*at)[1] != '\0')
			(*at)++;
		if (**at == '\0' || !put(j, **at))
			return false;
		(*at)++;
	}
	(*at)++;
	return true;
}

/* Takes a word, quoted or up to one of `ends`; `ret` is a copy in j->text. */
static bool take_word(struct wp_jaas *j, const char **at, const char *ends, const char **ret)
{
	const char *begin = j->text + j->size;

	skip_space(at);
	if (**at == '"' || **at == '\'') {
		if (!take_quoted(j, at))
			return false;
	} else {
		while (**at != '\0' && strchr(space, **at) == NULL && strchr(ends, **at) == NULL)
			if (!put(j, *(*at)++))
				return false;
		if (j->text + j->size == begin)
			return false;
	}
	if (!put(j, '\0'))
		return false;
	*ret = begin;
	return true;
}

static bool take_option(struct wp_jaas *j, const char **at)
{
	struct wp_jaas_option *option = &j->options[j->count];

	if (j->count == WP_JAAS_OPTIONS_MAX || !take_word(j, at, "=;", &option->name))
		return false;
	skip_space(at);
	if (**at != '=')
		return false;
	(*at)++;
	j->count++;
	return take_word(j, at, ";", &option->value);
}

bool wp_jaas_read(const char *text, struct wp_jaas *ret)
{
	const char *flag;

	ret->count = 0;
	ret->size = 0;
	if (!take_word(ret, &text, ";", &ret->module) || !take_word(ret, &text, ";", &flag))
		return false;
	for (skip_space(&text); *text != ';'; skip_space(&text))
		if (*text == '\0' || !take_option(ret, &text))
			return false;
	return text[1 + strspn(text + 1, space)] == '\0';
}

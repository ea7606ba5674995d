/*
 * Finds placeholders that a file holds before somebody fills it in: of envsubst, Helm, Terraform,
 * Jinja, ERB, Ansible, pipelines. A placeholder can never be a part of the property's value.
 */
#include <ctype.h>
#include <string.h>

#include "translate.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool starts_word(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

/* Does one of the marks stand in it? */
static bool has_any(const char *value, const char *const *marks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(value, marks[i]) != NULL)
			return true;
	return false;
}

/* Looks for {NAME}: a repetition has a number in braces, and \p{Alpha} a letter before them. */
static bool has_named_braces(const char *regex)
{
	for (const char *at = strchr(regex, '{'); at != NULL; at = strchr(at + 1, '{'))
		if (starts_word(at[1]) &&
		    (at == regex || (!is_word(at[-1]) && strchr("\\[^", at[-1]) == NULL)))
			return true;
	return false;
}

/* $NAME, %NAME%, @NAME@, and <NAME> but not (?<name>, mean nothing in an expression. */
static bool has_named_marks(const char *regex)
{
	for (const char *at = regex; *at != '\0'; at++) {
		size_t name = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					     "0123456789_");

		if (name == 0 || !starts_word(at[1]) || (at > regex && at[-1] == '\\'))
			continue;
		if (*at == '$' || (strchr("%@", *at) != NULL && at[1 + name] == *at) ||
		    (*at == '<' && at[1 + name] == '>' &&
		     (at == regex || strchr("?Pk", at[-1]) == NULL)))
			return true;
	}
	return false;
}

/* Looks for __NAME__, between the dots of a table's name. */
static bool has_underscores(const char *list)
{
	for (const char *at = strstr(list, "__"); at != NULL; at = strstr(at + 2, "__")) {
		size_t size = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

		if (size > 4 && memcmp(at + size - 2, "__", 2) == 0 &&
		    (at == list || !is_word(at[-1])) && !is_word(at[size]))
			return true;
	}
	return false;
}

static bool is_in_expression(const char *regex)
{
	static const char *const marks[] = { "${", "{{", "}}", "{%", "%}", "<%", "%>" };

	return has_any(regex, marks, sizeof(marks) / sizeof(marks[0])) || has_named_braces(regex) ||
	       has_named_marks(regex) || has_underscores(regex);
}

/*
 * Returns what is behind ${name}, or ${1}, which walpost's own route judges; NULL if no group can
 * have this name.
 */
static const char *behind_group(const char *at)
{
	const char *name = at + strlen("${");
	size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789");

	return isalnum((unsigned char)name[0]) && name[size] == '}' ? name + size + 1 : NULL;
}

/* A replacement is a part of a topic's name, besides groups, ${name} and $1. */
static bool is_in_replacement(const char *at)
{
	while (*at != '\0') {
		if (wp_import_begins(at, "${")) {
			at = behind_group(at);
			if (at == NULL)
				return true;
		} else if (at[0] == '$' && isdigit((unsigned char)at[1])) {
			at += 2;
		} else if (is_word(*at) || strchr(".-\\ ", *at) != NULL) {
			at++;
		} else {
			return true;
		}
	}
	return false;
}

/* Is it $NAME, $(NAME), %NAME% or @NAME@, but not within a name: a$b, user@tenant@server? */
static bool is_variable(const char *value, const char *at)
{
	size_t size = 1;

	if (strchr("$%@", *at) == NULL || (at != value && is_word(at[-1])))
		return false;
	if (*at == '$')
		return starts_word(at[1]) || at[1] == '(';
	while (is_word(at[size]) ||
	       (size > 1 && strchr(".-", at[size]) != NULL && at[size] != '\0'))
		size++;
	return starts_word(at[1]) && at[size] == *at;
}

/* Is it <NAME>? */
static bool is_in_angles(const char *at)
{
	return *at == '<' && (starts_word(at[1]) || strchr("%<", at[1]) != NULL) &&
	       strchr(at, '>') != NULL;
}

static bool is_in_text(const char *value)
{
	static const char *const marks[] = { "{", "}", "[[", "((" };

	for (const char *at = value; *at != '\0'; at++)
		if (is_variable(value, at) || is_in_angles(at))
			return true;
	return has_any(value, marks, sizeof(marks) / sizeof(marks[0]));
}

bool wp_import_has_placeholder(const char *key, const char *value)
{
	if (wp_import_ends(key, ".replacement"))
		return is_in_replacement(value);
	if (wp_import_ends(key, ".regex") || wp_import_ends(key, ".pattern") ||
	    wp_import_ends(key, ".list"))
		return is_in_expression(value);
	return is_in_text(value);
}

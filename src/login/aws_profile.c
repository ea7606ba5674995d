#include "aws_profile.h"

#include <string.h>
#include <strings.h>

struct piece {
	const char *text;
	size_t size;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct piece trimmed(struct piece p)
{
	while (p.size > 0 && is_blank(p.text[0])) {
		p.text++;
		p.size--;
	}
	while (p.size > 0 && is_blank(p.text[p.size - 1]))
		p.size--;
	return p;
}

static bool is(struct piece p, const char *text)
{
	return p.size == strlen(text) && memcmp(p.text, text, p.size) == 0;
}

static struct piece next_line(const char **at)
{
	struct piece line = { .text = *at, .size = strcspn(*at, "\n") };

	*at += line.size + ((*at)[line.size] == '\n');
	return line;
}

static struct piece without_comment(struct piece p)
{
	for (size_t i = 1; i < p.size; i++)
		if (is_blank(p.text[i - 1]) && (p.text[i] == '#' || p.text[i] == ';'))
			p.size = i - 1;
	return trimmed(p);
}

/* Finds "profile demo" in "[profile demo]". */
static bool read_section(struct piece line, struct piece *ret)
{
	const char *end =
		line.size > 1 && line.text[0] == '[' ? memchr(line.text, ']', line.size) : NULL;

	if (end == NULL)
		return false;
	*ret = trimmed((struct piece){ line.text + 1, (size_t)(end - line.text - 1) });
	return true;
}

static bool is_quoted(struct piece p)
{
	return p.size >= 2 && (p.text[0] == '"' || p.text[0] == '\'') &&
	       p.text[p.size - 1] == p.text[0];
}

static bool names_profile(struct piece section, enum wp_aws_file which, const char *profile)
{
	static const char word[] = "profile";
	const size_t size = sizeof(word) - 1;
	bool has_word = section.size > size && memcmp(section.text, word, size) == 0 &&
			is_blank(section.text[size]);

	if (which == WP_AWS_CREDENTIALS_FILE)
		return is(section, profile);
	if (!has_word)
		return is(section, "default") && strcmp(profile, "default") == 0;
	section = trimmed((struct piece){ section.text + size, section.size - size });
	if (is_quoted(section))
		section = (struct piece){ section.text + 1, section.size - 2 };
	return is(section, profile);
}

bool wp_aws_profile_is_in(const char *text, enum wp_aws_file which, const char *profile)
{
	struct piece section;

	while (*text != '\0')
		if (read_section(next_line(&text), &section) &&
		    names_profile(section, which, profile))
			return true;
	return false;
}

static bool read_setting(struct piece line, const char *name, struct piece *ret)
{
	const char *equals =
		line.size > 0 && !is_blank(line.text[0]) ? memchr(line.text, '=', line.size) : NULL;

	if (equals == NULL || line.text[0] == '#' || line.text[0] == ';')
		return false;
	struct piece key = trimmed((struct piece){ line.text, (size_t)(equals - line.text) });
	if (key.size != strlen(name) || strncasecmp(key.text, name, key.size) != 0)
		return false;
	*ret = without_comment(
		(struct piece){ equals + 1, line.size - (size_t)(equals - line.text) - 1 });
	return true;
}

bool wp_aws_profile_setting(const char *text, enum wp_aws_file which, const char *profile,
			    const char *name, char *ret, size_t size)
{
	struct piece section, value = { .text = "", .size = 0 };
	bool is_ours = false;

	while (*text != '\0') {
		struct piece line = next_line(&text);
		if (read_section(line, &section))
			is_ours = names_profile(section, which, profile);
		else if (is_ours)
			(void)read_setting(line, name, &value); /* most lines say something else */
	}
	if (value.size == 0 || value.size >= size)
		return false;
	memcpy(ret, value.text, value.size);
	ret[value.size] = '\0';
	return true;
}

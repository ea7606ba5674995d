#include <stddef.h>
#include <string.h>

#include "walpost/outbox/topic_glob.h"

#define ANY '*'

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Behind a $: what comes behind the group. */
static const char *skip_group(const char *at)
{
	if (*at == '{') {
		const char *end = strchr(at, '}');
		return end != NULL ? end + 1 : at + strlen(at);
	}
	while (is_digit(*at))
		at++;
	return at;
}

void wp_topic_glob_init(struct wp_topic_glob *g, const char *replacement)
{
	size_t size = 0;
	size_t literals = 0;

	*g = (struct wp_topic_glob){ .anything = true };
	for (const char *at = replacement; *at != '\0';) {
		if (*at == '$') {
			at = skip_group(at + 1);
			if (size == 0 || g->pattern[size - 1] != ANY)
				g->pattern[size++] = ANY;
			continue;
		}
		if (*at == '\\' && at[1] != '\0')
			at++;
		if (++literals >= WP_TOPIC_SIZE) {
			*g = (struct wp_topic_glob){ .never = true };
			return;
		}
		g->anything = false;
		g->pattern[size++] = *at++;
	}
	g->anything = g->anything && size > 0;
}

/* Each star takes as little as it can; only the last one seen is ever asked to take more. */
bool wp_topic_glob_fits(const struct wp_topic_glob *g, const char *topic)
{
	const char *at = g->pattern;
	const char *behind_star = NULL;
	const char *retry = NULL;

	if (g->never)
		return false;
	while (*topic != '\0') {
		if (*at == ANY) {
			behind_star = ++at;
			retry = topic;
		} else if (*at == *topic) {
			at++;
			topic++;
		} else if (behind_star != NULL) {
			at = behind_star;
			topic = ++retry;
		} else {
			return false;
		}
	}
	while (*at == ANY)
		at++;
	return *at == '\0';
}

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "walpost/config/config.h"
#include "walpost/config/option.h"

#define KIB 1024
#define GIB (1024 * 1024 * 1024)

#define OUTBOX "outbox."

static bool is_of_outbox(const struct wp_option *option)
{
	return strncmp(option->key, OUTBOX, strlen(OUTBOX)) == 0;
}

bool wp_option_is_live(const struct wp_option *option)
{
	return is_of_outbox(option) || (option->flags & WP_OPTION_LIVE) != 0;
}

static const char *const sections[] = { "postgres", "outbox",  "kafka", "relay",
					"park",	    "cleanup", "http",	"log" };

const struct wp_option *wp_option_find(const char *key)
{
	for (size_t i = 0; i < wp_option_count; i++)
		if (strcmp(wp_options[i].key, key) == 0)
			return &wp_options[i];
	return NULL;
}

bool wp_outbox_name_is_valid(const char *name, size_t size)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

	if (size == 0 || size >= WP_OUTBOX_NAME_SIZE || strchr(letters, name[0]) == NULL)
		return false;
	for (size_t i = 0; i < size; i++) {
		bool is_known = name[i] == '_' || (name[i] >= 'a' && name[i] <= 'z') ||
				(name[i] >= '0' && name[i] <= '9');
		/* Two underscores end a name in the environment. */
		if (!is_known || (name[i] == '_' && name[i - 1] == '_'))
			return false;
	}
	for (size_t i = 0; i < wp_option_count; i++) {
		const char *key = wp_options[i].key + strlen(OUTBOX);
		if (is_of_outbox(&wp_options[i]) && strncmp(key, name, size) == 0 &&
		    (key[size] == '\0' || key[size] == '.' || key[size] == '_'))
			return false;
	}
	return name[size - 1] != '_';
}

struct wp_key wp_key_of(const char *key)
{
	struct wp_key ret = { .option = wp_option_find(key) };
	char plain[WP_OPTION_TEXT_SIZE];

	if (ret.option != NULL || strncmp(key, OUTBOX, strlen(OUTBOX)) != 0)
		return ret;
	const char *name = key + strlen(OUTBOX);
	size_t size = strcspn(name, ".");
	if (name[size] == '\0' || !wp_outbox_name_is_valid(name, size))
		return ret;
	int written = snprintf(plain, sizeof(plain), OUTBOX "%s", name + size + 1);
	if (written > 0 && (size_t)written < sizeof(plain))
		ret.option = wp_option_find(plain);
	if (ret.option != NULL)
		(void)snprintf(ret.name, sizeof(ret.name), "%.*s", (int)size, name);
	return ret;
}

const struct wp_option *wp_option_like(const char *key)
{
	struct wp_suggestion s;

	wp_suggestion_init(&s, key);
	for (size_t i = 0; i < wp_option_count; i++)
		wp_suggestion_offer(&s, wp_options[i].key);
	if (s.best != NULL)
		return wp_option_find(s.best);
	/* It may be the right key in the wrong section. */
	for (size_t i = 0; i < wp_option_count; i++) {
		const char *whole = wp_options[i].key;

		if (strcmp(whole + wp_option_section_size(whole),
			   key + wp_option_section_size(key)) == 0)
			return &wp_options[i];
	}
	return NULL;
}

const char *wp_option_section(size_t index)
{
	return index < sizeof(sections) / sizeof(sections[0]) ? sections[index] : NULL;
}

size_t wp_option_section_size(const char *key)
{
	return strcspn(key, ".");
}

char *wp_option_variable(const struct wp_option *option, char *text)
{
	size_t section_size = wp_option_section_size(option->key);
	size_t size;

	(void)snprintf(text, WP_OPTION_TEXT_SIZE, "WALPOST__%.*s__%s", (int)section_size,
		       option->key, option->key + section_size + 1);
	size = strlen(text);
	for (size_t i = 0; i < size; i++)
		text[i] = text[i] == '.' ? '_' : (char)toupper((unsigned char)text[i]);
	return text;
}

/* Writes it in the largest unit that loses nothing. */
static void in_unit(int64_t number, enum wp_option_kind kind, char *text, size_t size)
{
	static const struct {
		enum wp_option_kind kind;
		int64_t factor;
		const char *name;
	} units[] = {
		{ WP_OPTION_SIZE, GIB, "GiB" },	      { WP_OPTION_SIZE, 1024 * KIB, "MiB" },
		{ WP_OPTION_SIZE, KIB, "KiB" },	      { WP_OPTION_DURATION, 3600000, "h" },
		{ WP_OPTION_DURATION, 60000, "min" }, { WP_OPTION_DURATION, 1000, "s" },
		{ WP_OPTION_DURATION, 1, "ms" },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].kind != kind || number % units[i].factor != 0)
			continue;
		if (number == 0 && units[i].factor != 1 && kind == WP_OPTION_DURATION)
			continue;
		(void)snprintf(text, size, "%" PRId64 "%s", number / units[i].factor,
			       units[i].name);
		return;
	}
	(void)snprintf(text, size, "%" PRId64, number);
}

static void one_of(const char *const *names, char *text)
{
	size_t used = 0;

	for (size_t i = 0; names[i] != NULL && used < WP_OPTION_TEXT_SIZE; i++) {
		const char *before = i == 0 ? "" : names[i + 1] == NULL ? " or " : ", ";

		used += (size_t)snprintf(text + used, WP_OPTION_TEXT_SIZE - used, "%s%s", before,
					 names[i]);
	}
}

char *wp_option_allowed(const struct wp_option *option, char *text)
{
	char min[32];
	char max[32];

	in_unit(option->min, option->kind, min, sizeof(min));
	in_unit(option->max, option->kind, max, sizeof(max));
	switch (option->kind) {
	case WP_OPTION_TEXT:
		if (option->min == 0)
			(void)snprintf(text, WP_OPTION_TEXT_SIZE, "a text of at most %s bytes",
				       max);
		else
			(void)snprintf(text, WP_OPTION_TEXT_SIZE, "a text of %s to %s bytes", min,
				       max);
		break;
	case WP_OPTION_COUNT:
		(void)snprintf(text, WP_OPTION_TEXT_SIZE, "a number from %s to %s", min, max);
		break;
	case WP_OPTION_SIZE:
		(void)snprintf(
			text, WP_OPTION_TEXT_SIZE,
			"a size from %s to %s: a number of bytes, or with a unit of KiB, MiB, GiB",
			min, max);
		break;
	case WP_OPTION_DURATION:
		(void)snprintf(text, WP_OPTION_TEXT_SIZE,
			       "a duration from %s to %s: a number with a unit of ms, s, min, h",
			       min, max);
		break;
	case WP_OPTION_ENUM:
		one_of(option->names, text);
		break;
	case WP_OPTION_BOOL:
		(void)snprintf(text, WP_OPTION_TEXT_SIZE, "yes or no");
		break;
	}
	return text;
}

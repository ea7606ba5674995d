/* Turns the text of an option into its value. */
#include <assert.h>
#include <string.h>

#include "walpost/config/option.h"

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit size_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "KiB", 1024 },
	{ "MiB", 1024 * 1024 },
	{ "GiB", 1024 * 1024 * 1024 },
	{ NULL, 0 },
};
/* A bare number is not taken: seconds to one reader are milliseconds to another. */
static const struct unit duration_units[] = {
	{ "ms", 1 }, { "s", 1000 }, { "min", 60 * 1000 }, { "h", 60 * 60 * 1000 }, { NULL, 0 },
};

bool wp_value_number(const char *text, size_t size, int64_t max, int64_t *ret)
{
	int64_t number = 0;

	if (size == 0)
		return false;
	for (size_t i = 0; i < size; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9)
			return false;
		if (number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret = number;
	return true;
}

static enum wp_rc number_with_unit(const struct unit *units, const char *text, int64_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	const char *unit = text + digits + strspn(text + digits, " ");
	int64_t number = 0;

	while (units->name != NULL && strcmp(units->name, unit) != 0)
		units++;
	if (units->name == NULL)
		return WP_CONFIG;
	if (!wp_value_number(text, digits, INT64_MAX / units->factor, &number))
		return WP_CONFIG;
	*ret = number * units->factor;
	return WP_OK;
}

enum wp_rc wp_value_duration(const char *text, int64_t *ret_ms)
{
	return number_with_unit(duration_units, text, ret_ms);
}

static enum wp_rc number_of(const struct wp_option *option, const struct unit *units,
			    const char *text, int64_t *ret)
{
	int64_t number = 0;

	if (number_with_unit(units, text, &number) != WP_OK)
		return WP_CONFIG;
	if (number < option->min || number > option->max)
		return WP_CONFIG;
	*ret = number;
	return WP_OK;
}

static enum wp_rc name_of(const struct wp_option *option, const char *text, int64_t *ret)
{
	for (int i = 0; option->names[i] != NULL; i++) {
		if (strcmp(option->names[i], text) == 0) {
			*ret = i;
			return WP_OK;
		}
	}
	return WP_CONFIG;
}

static enum wp_rc truth_of(const char *text, int64_t *ret)
{
	static const char *const words[2][3] = { { "no", "off", "false" },
						 { "yes", "on", "true" } };

	for (int truth = 0; truth < 2; truth++) {
		for (size_t i = 0; i < 3; i++) {
			if (strcmp(words[truth][i], text) == 0) {
				*ret = truth;
				return WP_OK;
			}
		}
	}
	return WP_CONFIG;
}

/* The member has a width of its own: the rooms say how wide their numbers are. */
static void store_number(const struct wp_option *option, int64_t number, struct wp_config *config)
{
	unsigned char *member = (unsigned char *)config + option->offset;

	if (option->kind == WP_OPTION_BOOL) {
		bool truth = number != 0;

		assert(option->size == sizeof(truth));
		memcpy(member, &truth, sizeof(truth));
	} else if (option->size == sizeof(uint16_t)) {
		uint16_t narrow = (uint16_t)number;

		memcpy(member, &narrow, sizeof(narrow));
	} else if (option->size == sizeof(uint32_t)) {
		uint32_t middle = (uint32_t)number;

		memcpy(member, &middle, sizeof(middle));
	} else {
		assert(option->size == sizeof(number));
		memcpy(member, &number, sizeof(number));
	}
}

enum wp_rc wp_value_store(const struct wp_option *option, const char *text,
			  struct wp_config *config)
{
	int64_t number = 0;
	enum wp_rc rc = WP_CONFIG;

	switch (option->kind) {
	case WP_OPTION_TEXT:
		if (strlen(text) < (size_t)option->min || strlen(text) > (size_t)option->max)
			return WP_CONFIG;
		assert(option->size == sizeof(text));
		memcpy((unsigned char *)config + option->offset, &text, sizeof(text));
		return WP_OK;
	case WP_OPTION_COUNT:
		rc = number_of(option, no_units, text, &number);
		break;
	case WP_OPTION_SIZE:
		rc = number_of(option, size_units, text, &number);
		break;
	case WP_OPTION_DURATION:
		rc = number_of(option, duration_units, text, &number);
		break;
	case WP_OPTION_ENUM:
		rc = name_of(option, text, &number);
		break;
	case WP_OPTION_BOOL:
		rc = truth_of(text, &number);
		break;
	}
	if (rc == WP_OK)
		store_number(option, number, config);
	return rc;
}

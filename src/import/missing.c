/*
 * Translates what the EventRouter does about a column that a placement names and the table does not
 * have. Debezium 2.5 to 3.5 have one option for it, and 3.6 another; a version passes over what it
 * does not have.
 */
#include "translate.h"

#define MISSING "table.field.additional.missing"
#define ERROR_ON_MISSING "table.fields.additional.error.on.missing"

/* Returns the one of the two that counts, or NULL if none is there. */
static struct wp_import_item *find(struct wp_translation *t, const char *alias, bool *ret_is_old)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, MISSING);
	struct wp_import_item *old = wp_import_router_option(t, alias, ERROR_ON_MISSING);
	bool before = wp_import_age(t, WP_IMPORT_VERSION(3, 6)) == WP_IMPORT_BEFORE;

	*ret_is_old = old != NULL && (item == NULL || before);
	return *ret_is_old ? old : item;
}

/* Does the version have it? */
static bool is_known(const struct wp_translation *t, bool is_old)
{
	enum wp_import_age since_3_6 = wp_import_age(t, WP_IMPORT_VERSION(3, 6));

	if (!is_old)
		return since_3_6 != WP_IMPORT_BEFORE;
	return since_3_6 != WP_IMPORT_SINCE &&
	       wp_import_age(t, WP_IMPORT_VERSION(2, 5)) != WP_IMPORT_BEFORE;
}

static bool ignores(const struct wp_import_item *item, bool is_old)
{
	return wp_import_is(item->value, is_old ? "false" : "ignore");
}

bool wp_import_ignores_missing(struct wp_translation *t, const char *alias)
{
	bool is_old;
	const struct wp_import_item *item = find(t, alias, &is_old);

	return item != NULL && is_known(t, is_old) && ignores(item, is_old);
}

/* `ignored` tells whether the option that counts ignores the column. */
static void say_other(struct wp_translation *t, const char *alias, const char *section, bool is_old,
		      bool ignored)
{
	const char *option = is_old ? MISSING : ERROR_ON_MISSING;
	struct wp_import_item *other = wp_import_router_option(t, alias, option);

	if (other == NULL || other->taken)
		return;
	if (wp_import_age(t, WP_IMPORT_VERSION(3, 6)) == WP_IMPORT_EITHER &&
	    ignores(other, !is_old) != ignored)
		wp_import_say(t, section, other, WP_IMPORT_CHECK,
			      "Debezium 2.5 to 3.5 use this option, and 3.6 the other one: for an "
			      "earlier version set columns.missing = %s",
			      ignored ? "error" : "ignore");
	else
		wp_import_say(t, WP_IMPORT_REST, other, WP_IMPORT_DROPPED, "%s takes precedence",
			      is_old ? ERROR_ON_MISSING : MISSING);
}

void wp_import_missing(struct wp_translation *t, const char *alias, const char *section)
{
	bool is_old;
	struct wp_import_item *item = find(t, alias, &is_old);

	if (item == NULL)
		return;
	say_other(t, alias, section, is_old, ignores(item, is_old));
	if (!is_known(t, is_old)) {
		wp_import_say(t, section, item, WP_IMPORT_DROPPED,
			      "this version of Debezium has no such option, and ignores it");
		return;
	}
	if (!is_old && !ignores(item, is_old) && !wp_import_is(item->value, "error")) {
		wp_import_say(t, section, item, WP_IMPORT_UNSUPPORTED,
			      "the EventRouter has no such value");
		return;
	}
	if (is_old && ignores(item, is_old) &&
	    wp_import_age(t, WP_IMPORT_VERSION(3, 6)) == WP_IMPORT_EITHER)
		wp_import_say(t, section, item, WP_IMPORT_CHECK,
			      "Debezium 2.5 to 3.5 leave the column out. Debezium 3.6 ignores this "
			      "option and stops: for that version set columns.missing = error");
	else
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
	wp_import_set(t, section, "columns.missing", ignores(item, is_old) ? "ignore" : "error");
}

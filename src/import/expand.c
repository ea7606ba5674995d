/* Translates the EventRouter's expansion of a payload that is JSON. */
#include "translate.h"

#define NULLS "table.json.payload.null.behavior"
#define EMPTY_ARRAYS "table.json.payload.empty.array.behavior"
/* Since then JsonSchemaData expands payloads, in place of SchemaBuilderUtil. */
#define EXPANDED_ANEW WP_IMPORT_VERSION(2, 1)
static const char no_option[] = "Debezium before 2.1 has no such option";

bool wp_import_is_structured(const struct wp_translation *t)
{
	return t->forms.value == WP_IMPORT_JSON || t->forms.value == WP_IMPORT_JSON_SCHEMA;
}

/* Debezium 3.6, with whose records walpost is compared, passes it over; 3.7 is to have it. */
static void translate_empty_arrays(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, EMPTY_ARRAYS);
	enum wp_import_age age = wp_import_age(t, WP_IMPORT_VERSION(3, 7));
	bool drops = item == NULL || wp_import_is(item->value, "ignore");

	if (wp_import_age(t, EXPANDED_ANEW) == WP_IMPORT_BEFORE) {
		if (item != NULL)
			wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, "%s", no_option);
		wp_import_set(t, section, "expand.empty_arrays", "keep");
		return;
	}
	if (item == NULL)
		return;
	if (drops || age == WP_IMPORT_SINCE)
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
	else if (age == WP_IMPORT_BEFORE)
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED,
			      "Debezium before 3.7 has no such option");
	else
		wp_import_say(t, section, item, WP_IMPORT_CHECK,
			      "Debezium 3.6 has no such option and leaves empty arrays out. For a "
			      "later version that has it: set expand.empty_arrays = keep");
	wp_import_set(t, section, "expand.empty_arrays",
		      drops || age != WP_IMPORT_SINCE ? "drop" : "keep");
}

static void translate_nulls(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, NULLS);
	bool keeps = item != NULL && wp_import_is(item->value, "optional_bytes");

	if (item == NULL)
		return;
	if (wp_import_age(t, EXPANDED_ANEW) == WP_IMPORT_BEFORE) {
		keeps = false;
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, "%s", no_option);
	} else if (keeps || wp_import_is(item->value, "ignore")) {
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
	} else {
		wp_import_say(t, section, item, WP_IMPORT_UNSUPPORTED,
			      "the EventRouter has no such value");
		return;
	}
	wp_import_set(t, section, "expand.nulls", keeps ? "keep" : "drop");
}

static void say_expanded(struct wp_translation *t, const char *section, struct wp_import_item *item)
{
	static const char before[] = "send a payload that they cannot convert as a string, and "
				     "leave the schema without a name";

	switch (wp_import_age(t, EXPANDED_ANEW)) {
	case WP_IMPORT_BEFORE:
		wp_import_say(t, section, item, WP_IMPORT_CHECK,
			      "expanded as Debezium 2.1 and later do, but with empty arrays. "
			      "Earlier versions also %s: compare with `walpost diff`",
			      before);
		break;
	case WP_IMPORT_EITHER:
		wp_import_say(t, section, item, WP_IMPORT_CHECK,
			      "expanded as Debezium 2.1 and later do. Earlier versions keep empty "
			      "arrays, %s: for one of them pass it as --debezium",
			      before);
		break;
	case WP_IMPORT_SINCE:
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
		break;
	}
}

void wp_import_expand(struct wp_translation *t, const char *alias, const char *section)
{
	static const char *const options[] = { NULLS, EMPTY_ARRAYS };
	struct wp_import_item *item =
		wp_import_router_option(t, alias, "table.expand.json.payload");
	bool expands = wp_import_is_true(item, false) && wp_import_is_structured(t);

	if (item != NULL && wp_import_is_true(item, false) && !wp_import_is_structured(t))
		wp_import_say(t, section, item, WP_IMPORT_UNSUPPORTED,
			      "an expanded payload requires JsonConverter for the value; walpost "
			      "does not support this converter's form of it");
	else if (expands)
		say_expanded(t, section, item);
	else if (item != NULL)
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
	if (item != NULL && (expands || !wp_import_is_true(item, false)))
		wp_import_set(t, section, "payload.json", expands ? "expand" : "any");
	if (expands) {
		translate_nulls(t, alias, section);
		translate_empty_arrays(t, alias, section);
		return;
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct wp_import_item *option = wp_import_router_option(t, alias, options[i]);

		if (option != NULL)
			wp_import_say(t, section, option, WP_IMPORT_DROPPED,
				      "no payload is expanded");
	}
}

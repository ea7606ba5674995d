/* Converters: how keys, values and headers are written. */
#include <stdio.h>
#include <string.h>

#include "translate.h"

#define OUTBOX "outbox"

static const struct converter {
	const char *name; /* the class's last part; Debezium Server's word */
	enum wp_import_form form;
} converters[] = {
	{ "StringConverter", WP_IMPORT_RAW },	    { "simplestring", WP_IMPORT_RAW },
	{ "ByteArrayConverter", WP_IMPORT_RAW },    { "BinaryDataConverter", WP_IMPORT_RAW },
	{ "ByteBufferConverter", WP_IMPORT_RAW },   { "binary", WP_IMPORT_RAW },
	{ "JsonConverter", WP_IMPORT_JSON_SCHEMA }, { "json", WP_IMPORT_JSON_SCHEMA },
	{ "jsonbytearray", WP_IMPORT_JSON_SCHEMA },
};

/* What is written, by its three names. */
struct part {
	const char *theirs;	/* key.converter */
	const char *short_name; /* debezium.format.key */
	const char *ours;
	const char *standard; /* Debezium Server's */
};

static const struct part key_part = { "key.converter", "key", "key.format", "json" };
static const struct part value_part = { "value.converter", "value", "value.format", "json" };
static const struct part header_part = { "header.converter", "header", "headers.format", "json" };

static struct wp_import_item *find_converter(struct wp_translation *t, const struct part *part)
{
	return t->is_server ? wp_import_find(t, WP_IMPORT_FORMAT, part->short_name)
			    : wp_import_find(t, WP_IMPORT_CONNECTOR, part->theirs);
}

static struct wp_import_item *find_option(struct wp_translation *t, const struct part *part,
					  const char *option)
{
	char key[128];

	(void)snprintf(key, sizeof(key), "%s.%s", t->is_server ? part->short_name : part->theirs,
		       option);
	return wp_import_find(t, t->is_server ? WP_IMPORT_FORMAT : WP_IMPORT_CONNECTOR, key);
}

/* Of this part, or Debezium Server's for all three. */
static struct wp_import_item *find_schemas(struct wp_translation *t, const struct part *part)
{
	struct wp_import_item *own = find_option(t, part, "schemas.enable");

	return own != NULL || !t->is_server ? own
					    : wp_import_find(t, WP_IMPORT_FORMAT, "schemas.enable");
}

static enum wp_import_form form_of(const char *converter)
{
	for (size_t i = 0; i < sizeof(converters) / sizeof(converters[0]); i++)
		if (wp_import_is(wp_import_class(converter), converters[i].name))
			return converters[i].form;
	return WP_IMPORT_OTHER;
}

static enum wp_import_form find_form(struct wp_translation *t, const struct part *part)
{
	const struct wp_import_item *item = find_converter(t, part);
	enum wp_import_form form;

	/* Connect's headers, when nothing is said: SimpleHeaderConverter, the text. */
	if (part == &header_part && !t->is_server &&
	    (item == NULL || wp_import_is(wp_import_class(item->value), "SimpleHeaderConverter")))
		return WP_IMPORT_RAW;
	if (item == NULL && !t->is_server)
		return WP_IMPORT_JSON_SCHEMA;
	form = form_of(item == NULL ? part->standard : item->value);
	if (form == WP_IMPORT_JSON_SCHEMA && !wp_import_is_true(find_schemas(t, part), true))
		return WP_IMPORT_JSON;
	return form;
}

void wp_import_find_forms(struct wp_translation *t)
{
	t->forms = (struct wp_import_forms){
		.key = find_form(t, &key_part),
		.value = find_form(t, &value_part),
		.header = find_form(t, &header_part),
	};
	t->has_schema = t->forms.key == WP_IMPORT_JSON_SCHEMA ||
			t->forms.value == WP_IMPORT_JSON_SCHEMA ||
			t->forms.header == WP_IMPORT_JSON_SCHEMA;
}

static void say_converter(struct wp_translation *t, const struct part *part,
			  enum wp_import_form form)
{
	struct wp_import_item *item = find_converter(t, part);
	char about[64];

	(void)snprintf(about, sizeof(about), "%s%s is not set",
		       t->is_server ? "debezium.format." : "",
		       t->is_server ? part->short_name : part->theirs);
	if (item != NULL && form == WP_IMPORT_OTHER)
		wp_import_say(
			t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			"walpost has no such converter: consumers would get the bare text, or a "
			"bytea's bytes. For payloads that the application encodes itself "
			"outbox.confluent.schemas writes the header of a schema registry");
	else if (item != NULL)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED, NULL);
	else if (t->is_server || part == &header_part)
		wp_import_note(t, OUTBOX, about, WP_IMPORT_TRANSLATED, "Debezium's default is %s",
			       t->is_server ? "json" : "SimpleHeaderConverter: the text");
	else
		wp_import_note(
			t, OUTBOX, about, WP_IMPORT_CHECK,
			"so the Connect worker's counts, which is not in this file. Taken for "
			"JsonConverter with schemas, the usual one; it decides what consumers "
			"get%s",
			part == &key_part ? ", and the partition of a key" : "");
}

static void say_schemas(struct wp_translation *t, const struct part *part, enum wp_import_form form)
{
	struct wp_import_item *item = find_schemas(t, part);
	bool is_json = form == WP_IMPORT_JSON || form == WP_IMPORT_JSON_SCHEMA;

	if (item == NULL)
		return;
	if (is_json && find_converter(t, part) == NULL && !t->is_server)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_DROPPED,
			      "Kafka Connect does not look at it where no converter is named");
	else if (is_json)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED, NULL);
	else
		wp_import_say(t, OUTBOX, item, WP_IMPORT_DROPPED, "this converter has no schemas");
}

/* Options of JsonConverter and others that may change bytes. */
static void say_options(struct wp_translation *t, const struct part *part)
{
	struct wp_import_item *decimals = find_option(t, part, "decimal.format");
	struct wp_import_item *encoding = find_option(t, part, "encoding");

	if (decimals != NULL)
		wp_import_say(
			t, OUTBOX, decimals,
			wp_import_is(decimals->value, "base64") ? WP_IMPORT_DROPPED
								: WP_IMPORT_UNSUPPORTED,
			"a numeric in it is written as JsonConverter does by default, in base64");
	if (encoding != NULL)
		wp_import_say(t, OUTBOX, encoding,
			      wp_import_is(encoding->value, "utf-8") ||
					      wp_import_is(encoding->value, "utf8")
				      ? WP_IMPORT_DROPPED
				      : WP_IMPORT_UNSUPPORTED,
			      "walpost writes UTF-8");
}

static void say_part(struct wp_translation *t, const struct part *part, enum wp_import_form form)
{
	static const char *const names[] = { "raw", "json", "json-schema", "raw" };

	say_converter(t, part, form);
	say_schemas(t, part, form);
	wp_import_set(t, OUTBOX, part->ours, names[form]);
	say_options(t, part);
}

void wp_import_say_forms(struct wp_translation *t)
{
	say_part(t, &key_part, t->forms.key);
	say_part(t, &value_part, t->forms.value);
	say_part(t, &header_part, t->forms.header);
}

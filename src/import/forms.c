/* Translates converters: how keys, values and headers are written. */
#include <stdio.h>
#include <string.h>

#include "translate.h"

#define OUTBOX "outbox"
#define STRINGS "org.apache.kafka.connect.storage.StringConverter"
#define JSON "org.apache.kafka.connect.json.JsonConverter"
#define SIMPLE_HEADERS "org.apache.kafka.connect.storage.SimpleHeaderConverter"
#define DELEGATE "delegate.converter.type"

/* Says how a converter's bytes come about. */
enum way {
	TEXT,	   /* the text of anything */
	STRUCTURE, /* JSON of anything */
	BYTES,	   /* the bytes of a bytea; it fails with anything else */
	DELEGATES, /* the bytes of a bytea; with anything else its delegate's, or it fails */
	HANDS_ON,  /* its delegate's: a bytea of Postgres does not come as the byte[] it wants */
	OTHER,
};

static const struct converter {
	const char *class; /* Kafka Connect's */
	const char *word;  /* Debezium Server's; NULL: it has none */
	enum way way;
} converters[] = {
	{ STRINGS, "simplestring", TEXT },
	{ JSON, "json", STRUCTURE },
	{ JSON, "jsonbytearray", STRUCTURE },
	{ "org.apache.kafka.connect.converters.ByteArrayConverter", NULL, BYTES },
	{ "io.debezium.converters.BinaryDataConverter", "binary", DELEGATES },
	{ "io.debezium.converters.ByteBufferConverter", NULL, DELEGATES }, /* before Debezium 2 */
	{ "io.debezium.converters.ByteArrayConverter", NULL, HANDS_ON },
};

/* This is what is written, by its names. */
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

/* Debezium Server has an option of this part, or of all three. */
static struct wp_import_item *find_any(struct wp_translation *t, const struct part *part,
				       const char *option)
{
	struct wp_import_item *own;
	char key[128];

	(void)snprintf(key, sizeof(key), "%s.%s", t->is_server ? part->short_name : part->theirs,
		       option);
	own = wp_import_find(t, t->is_server ? WP_IMPORT_FORMAT : WP_IMPORT_CONNECTOR, key);
	return own != NULL || !t->is_server ? own : wp_import_find(t, WP_IMPORT_FORMAT, option);
}

static enum way way_of(const struct wp_translation *t, const char *name)
{
	for (size_t i = 0; i < sizeof(converters) / sizeof(converters[0]); i++) {
		const struct converter *c = &converters[i];

		if (t->is_server ? c->word != NULL && wp_import_is(name, c->word)
				 : wp_import_is_class(name, c->class))
			return c->way;
	}
	return OTHER;
}

/* Returns the class that it may be taken for by its name alone, or NULL if there is none. */
static const char *namesake_of(const struct wp_translation *t, const char *name)
{
	for (size_t i = 0; i < sizeof(converters) / sizeof(converters[0]) && !t->is_server; i++)
		if (wp_import_is_namesake(name, converters[i].class))
			return converters[i].class;
	return NULL;
}

static enum wp_import_form json_form(struct wp_translation *t, const struct part *part,
				     const char *schemas)
{
	return wp_import_is_true(find_any(t, part, schemas), true) ? WP_IMPORT_JSON_SCHEMA
								   : WP_IMPORT_JSON;
}

/* Tells what a delegate writes; it gets the options behind its own name. */
static enum wp_import_form delegate_form(struct wp_translation *t, const struct part *part)
{
	const struct wp_import_item *item = find_any(t, part, DELEGATE);

	if (item == NULL || wp_import_is_class(item->value, STRINGS))
		return WP_IMPORT_RAW;
	if (wp_import_is_class(item->value, JSON))
		return json_form(t, part, DELEGATE ".schemas.enable");
	return WP_IMPORT_OTHER;
}

static enum way find_way(struct wp_translation *t, const struct part *part)
{
	const struct wp_import_item *item = find_converter(t, part);

	/* When nothing is said, Connect's headers are SimpleHeaderConverter's: the text. */
	if (part == &header_part && !t->is_server &&
	    (item == NULL || wp_import_is_class(item->value, SIMPLE_HEADERS)))
		return TEXT;
	if (item == NULL)
		return STRUCTURE;
	return way_of(t, item->value);
}

/* An expanded payload is no bytea, so it goes to the delegate of the value's converter. */
static bool expands(struct wp_translation *t)
{
	const char *at = wp_import_value(t, "transforms", "");
	char alias[WP_IMPORT_WORD_SIZE];

	while (wp_import_next(&at, alias))
		if (wp_import_is_true(
			    wp_import_router_option(t, alias, "table.expand.json.payload"), false))
			return true;
	return false;
}

static enum wp_import_form find_form(struct wp_translation *t, const struct part *part)
{
	switch (find_way(t, part)) {
	case TEXT:
	case BYTES:
		return WP_IMPORT_RAW;
	case STRUCTURE:
		/* The worker's converter, when none is named, is not told of these options. */
		if (find_converter(t, part) == NULL && !t->is_server)
			return WP_IMPORT_JSON_SCHEMA;
		return json_form(t, part, "schemas.enable");
	case DELEGATES:
		/* A user of this converter for the value has payloads of bytes, or expands them. */
		return part == &value_part && !expands(t) ? WP_IMPORT_RAW : delegate_form(t, part);
	case HANDS_ON:
		return delegate_form(t, part);
	case OTHER:
		break;
	}
	return WP_IMPORT_OTHER;
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

/* The converter of a value passes bytes of a bytea on, and the rest is the delegate's. */
static void say_delegating_value(struct wp_translation *t, struct wp_import_item *item,
				 const struct wp_import_item *delegate, enum wp_import_form form)
{
	static const char *const names[] = { "raw", "json", "json-schema", "" };

	if (delegate == NULL)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED,
			      "payloads of type bytea; without a delegate Debezium rejects others");
	else if (form == WP_IMPORT_RAW)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED,
			      "the bytes of a bytea payload, the text of any other");
	else if (form == WP_IMPORT_OTHER)
		wp_import_say(
			t, OUTBOX, item, WP_IMPORT_CHECK,
			"correct for payloads of type bytea, whose bytes are the value. The "
			"converter's delegate writes other types, in a form unknown to walpost");
	else if (expands(t))
		wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
			      "correct for payloads of type text, json or jsonb, which are "
			      "expanded. A bytea is not, and its bytes are the value: for these "
			      "set value.format = raw and payload.json = any");
	else
		wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
			      "correct for payloads of type bytea, whose bytes are the value. The "
			      "converter's delegate writes other types (text, json, jsonb): for "
			      "these set value.format = %s",
			      names[form]);
}

/* Says the same of a key, or of headers. */
static void say_delegating(struct wp_translation *t, const struct part *part,
			   struct wp_import_item *item, const struct wp_import_item *delegate,
			   enum wp_import_form form)
{
	const char *what = part == &key_part ? "a key" : "a header";
	const char *partition = part == &key_part ? ", and it determines the partition" : "";

	if (delegate == NULL)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			      "it writes the bytes of a bytea and rejects other types; walpost "
			      "writes a bytea as %s in base64%s",
			      what, partition);
	else if (form == WP_IMPORT_OTHER)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			      "walpost does not support its delegate: consumers would get the bare "
			      "text%s",
			      partition);
	else
		wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
			      "correct unless it is a bytea: Debezium writes its bytes, and "
			      "walpost writes base64 in %s%s",
			      what, partition);
}

static void say_handing_on(struct wp_translation *t, struct wp_import_item *item,
			   const struct wp_import_item *delegate, enum wp_import_form form)
{
	if (delegate == NULL)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
			      "without a delegate it rejects all values of the Postgres connector: "
			      "even a bytea is not a byte[] there");
	else if (form == WP_IMPORT_OTHER)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			      "walpost does not support its delegate: consumers would get the bare "
			      "text, or a bytea's bytes");
	else
		wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
			      "assumed as its delegate, which writes all values of the Postgres "
			      "connector except that a NULL in a bytea column becomes null");
}

static void say_unknown(struct wp_translation *t, struct wp_import_item *item)
{
	const char *namesake = namesake_of(t, item->value);

	if (namesake != NULL)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			      "it is not %s, and walpost does not support other classes of that "
			      "name: consumers would get the bare text, or a bytea's bytes",
			      namesake);
	else if (t->is_server && wp_import_is(item->value, "string"))
		wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			      "Debezium Server has no such format, and does not start: its word "
			      "for the text is simplestring");
	else
		wp_import_say(
			t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			"walpost has no such converter: consumers would get the bare text, or a "
			"bytea's bytes. For payloads that the application encodes itself, "
			"outbox.confluent.schemas writes the header of a schema registry");
}

/* A user with payloads of bytes has another converter, unless nobody reads them. */
static void say_string_value(struct wp_translation *t, struct wp_import_item *item)
{
	const struct wp_import_item *mode =
		wp_import_find(t, WP_IMPORT_CONNECTOR, "binary.handling.mode");
	bool has_bytes = mode != NULL && wp_import_is(mode->value, "bytes");

	wp_import_say(t, OUTBOX, item, has_bytes ? WP_IMPORT_CHECK : WP_IMPORT_TRANSLATED,
		      "for a bytea payload it writes the name of a Java object "
		      "(java.nio.HeapByteBuffer[pos=0 lim=5 cap=5]); walpost writes the bytes");
}

static void say_named(struct wp_translation *t, const struct part *part,
		      struct wp_import_item *item)
{
	const struct wp_import_item *delegate = find_any(t, part, DELEGATE);
	enum way way = find_way(t, part);

	if (way == OTHER && item->elsewhere)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED, NULL);
	else if (way == OTHER)
		say_unknown(t, item);
	else if (way == HANDS_ON)
		say_handing_on(t, item, delegate, delegate_form(t, part));
	else if (part == &value_part && way == DELEGATES)
		say_delegating_value(t, item, delegate, delegate_form(t, part));
	else if (part != &value_part && (way == DELEGATES || way == BYTES))
		say_delegating(t, part, item, way == BYTES ? NULL : delegate,
			       delegate_form(t, part));
	else if (part == &value_part && way == TEXT)
		say_string_value(t, item);
	else
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED, NULL);
}

static void say_converter(struct wp_translation *t, const struct part *part)
{
	struct wp_import_item *item = find_converter(t, part);
	char about[64];

	(void)snprintf(about, sizeof(about), "%s%s is not set",
		       t->is_server ? "debezium.format." : "",
		       t->is_server ? part->short_name : part->theirs);
	if (item != NULL)
		say_named(t, part, item);
	else if (t->is_server || part == &header_part)
		wp_import_note(t, OUTBOX, about, WP_IMPORT_TRANSLATED, "Debezium's default is %s",
			       t->is_server ? "json" : "SimpleHeaderConverter: the text");
	else
		wp_import_note(t, OUTBOX, about, WP_IMPORT_CHECK,
			       "so the Connect worker's converter applies, which is not in this "
			       "file. Assumed to be JsonConverter with schemas, the usual one; it "
			       "determines what consumers get%s",
			       part == &key_part ? ", and the partition of a key" : "");
}

static void say_schemas(struct wp_translation *t, const struct part *part)
{
	struct wp_import_item *item = find_any(t, part, "schemas.enable");
	bool is_json = find_way(t, part) == STRUCTURE;

	if (item == NULL)
		return;
	if (is_json && find_converter(t, part) == NULL && !t->is_server)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_DROPPED,
			      "Kafka Connect ignores it if no converter is named");
	else if (is_json)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED, NULL);
	else
		wp_import_say(t, OUTBOX, item, WP_IMPORT_DROPPED, "this converter has no schemas");
}

static void say_delegate(struct wp_translation *t, const struct part *part)
{
	static const char *const options[] = { DELEGATE, DELEGATE ".schemas.enable" };
	enum way way = find_way(t, part);
	bool counts = way == DELEGATES || way == HANDS_ON;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct wp_import_item *item = find_any(t, part, options[i]);

		if (item != NULL && counts)
			wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED, NULL);
		else if (item != NULL && !item->taken)
			wp_import_say(t, OUTBOX, item, WP_IMPORT_DROPPED,
				      "this converter has no delegate");
	}
}

/* Translates options of JsonConverter and others that may change bytes. */
static void say_options(struct wp_translation *t, const struct part *part, const char *prefix)
{
	char key[128];
	struct wp_import_item *decimals;
	struct wp_import_item *encoding;

	(void)snprintf(key, sizeof(key), "%sdecimal.format", prefix);
	decimals = find_any(t, part, key);
	(void)snprintf(key, sizeof(key), "%sencoding", prefix);
	encoding = find_any(t, part, key);
	if (decimals != NULL)
		wp_import_say(t, OUTBOX, decimals,
			      wp_import_is(decimals->value, "base64") ? WP_IMPORT_DROPPED
								      : WP_IMPORT_UNSUPPORTED,
			      "numerics in it are written in base64, JsonConverter's default");
	if (encoding != NULL)
		wp_import_say(t, OUTBOX, encoding,
			      wp_import_is(encoding->value, "utf-8") ||
					      wp_import_is(encoding->value, "utf8")
				      ? WP_IMPORT_DROPPED
				      : WP_IMPORT_UNSUPPORTED,
			      "walpost writes UTF-8");
}

/* Debezium Server has classes behind its words, which another one can stand in for. */
static void say_class(struct wp_translation *t, const struct part *part)
{
	struct wp_import_item *item = t->is_server ? find_any(t, part, "class") : NULL;

	if (item != NULL && !item->taken)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			      "it replaces Debezium Server's converter for json and others, and "
			      "walpost does not support its output");
}

static void say_part(struct wp_translation *t, const struct part *part, enum wp_import_form form)
{
	static const char *const names[] = { "raw", "json", "json-schema", "raw" };
	const struct wp_import_item *item = find_converter(t, part);
	bool is_string = part == &header_part && item != NULL && way_of(t, item->value) == TEXT;

	say_converter(t, part);
	say_schemas(t, part);
	say_delegate(t, part);
	wp_import_set(t, OUTBOX, part->ours, is_string ? "string" : names[form]);
	say_options(t, part, "");
	say_options(t, part, DELEGATE ".");
	say_class(t, part);
}

void wp_import_say_forms(struct wp_translation *t)
{
	say_part(t, &key_part, t->forms.key);
	say_part(t, &value_part, t->forms.value);
	say_part(t, &header_part, t->forms.header);
}

/* Translates logical messages that are events: message.prefix. */
#include <string.h>

#include "translate.h"

#define OUTBOX "outbox"

static struct wp_import_item *find(struct wp_translation *t, const char *key)
{
	return wp_import_find(t, WP_IMPORT_CONNECTOR, key);
}

/* Is it a prefix that means nothing else as an expression? */
static bool is_word(const char *text)
{
	return text[0] != '\0' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       strlen(text);
}

static void say_prefixes(struct wp_translation *t)
{
	struct wp_import_item *include = find(t, "message.prefix.include.list");
	struct wp_import_item *exclude = find(t, "message.prefix.exclude.list");

	if (exclude != NULL)
		wp_import_say(t, OUTBOX, exclude,
			      t->decodes_messages ? WP_IMPORT_UNSUPPORTED : WP_IMPORT_DROPPED,
			      t->decodes_messages ? "walpost supports one prefix for messages that "
						    "are events: set message.prefix"
						  : "walpost sends no messages");
	if (include != NULL && !t->decodes_messages && t->has_decoder) {
		wp_import_say(t, OUTBOX, include, WP_IMPORT_DROPPED,
			      "walpost sends none of these messages, because they do not reach an "
			      "EventRouter");
	} else if (include != NULL && !t->decodes_messages) {
		wp_import_say(t, OUTBOX, include, WP_IMPORT_UNSUPPORTED,
			      "without DecodeLogicalDecodingMessageContent these messages are sent "
			      "unchanged to a separate topic; walpost does not send them");
	} else if (include != NULL && is_word(include->value)) {
		wp_import_say(t, OUTBOX, include, WP_IMPORT_TRANSLATED, NULL);
		wp_import_set(t, OUTBOX, "message.prefix", include->value);
		if (t->has_sections)
			wp_import_set(t, OUTBOX, "table", "");
	} else if (include != NULL) {
		wp_import_say(t, OUTBOX, include, WP_IMPORT_CHECK,
			      "not a single plain word: set message.prefix, in one [outbox.NAME] "
			      "per prefix");
	} else if (t->decodes_messages && exclude == NULL) {
		wp_import_note(t, OUTBOX, "message.prefix.include.list is not set", WP_IMPORT_CHECK,
			       "messages of all prefixes are decoded; set message.prefix to the "
			       "prefix of the events");
	}
}

static void say_decoding(struct wp_translation *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct wp_import_item *item = &t->items[i];
		const char *end = strstr(item->key, ".fields.null.include");

		if (item->taken || item->kind != WP_IMPORT_CONNECTOR || end == NULL ||
		    !wp_import_begins(item->key, "transforms."))
			continue;
		if (wp_import_is(item->value, "false"))
			wp_import_say(t, OUTBOX, item, WP_IMPORT_DROPPED,
				      "it is Debezium's default");
		else
			wp_import_say(
				t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
				"null members of a message's payload may be written differently");
	}
}

void wp_import_messages(struct wp_translation *t)
{
	say_prefixes(t);
	say_decoding(t);
}

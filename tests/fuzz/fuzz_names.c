/*
 * The small languages of the options: Byte1 which, then its text, and where there is
 * more than one text, Byte1 0x1E between them.
 *
 *   0 table name   1 patterns, schema, name   2 list of columns
 *   3 expression, replacement, raw topics
 */
#include <string.h>

#include "fuzz.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/route.h"

#define SEPARATOR 0x1e

struct input {
	const uint8_t *at;
	size_t left;
};

static size_t sum;

static struct wp_span next_span(struct input *in)
{
	const uint8_t *end = in->left > 0 ? memchr(in->at, SEPARATOR, in->left) : NULL;
	size_t size = end == NULL ? in->left : (size_t)(end - in->at);
	struct wp_span part = { .data = in->at, .size = size };

	in->at += size + (end != NULL);
	in->left -= size + (end != NULL);
	return part;
}

/* Heap; it ends at its first NUL, as everything from a configuration does. */
static char *next_text(struct input *in)
{
	struct wp_span part = next_span(in);
	char *text = malloc(part.size + 1);

	NEED(text != NULL);
	if (part.size > 0)
		memcpy(text, part.data, part.size);
	text[part.size] = '\0';
	return text;
}

static void need_reason(enum wp_rc rc, const struct wp_error *error)
{
	NEED(rc == WP_CONFIG || rc == WP_DATA);
	NEED(error->text[0] != '\0');
}

/* What is printed reads as the same name again. */
static void try_table(struct input *in)
{
	struct wp_table_name name;
	struct wp_table_name again;
	struct wp_error error = { "" };
	char printed[WP_TABLE_NAME_TEXT_SIZE];
	char *text = next_text(in);

	enum wp_rc rc = wp_table_name_parse(text, &name, &error);
	if (rc == WP_OK) {
		(void)wp_table_name_text(&name, printed, sizeof(printed));
		NEED(wp_table_name_parse(printed, &again, &error) == WP_OK);
		NEED(strcmp(name.schema, again.schema) == 0);
		NEED(strcmp(name.name, again.name) == 0);
	} else {
		need_reason(rc, &error);
	}
	free(text);
}

static void try_patterns(struct input *in)
{
	struct wp_patterns *patterns = NULL;
	struct wp_error error = { "" };
	char *list = next_text(in);

	enum wp_rc rc = wp_patterns_new(list, &patterns, &error);
	if (rc == WP_OK) {
		struct wp_span schema = next_span(in);
		sum += wp_patterns_match(patterns, schema, next_span(in));
		sum += wp_patterns_match(patterns, wp_span_of("public"), wp_span_of("outbox"));
	} else {
		need_reason(rc, &error);
	}
	wp_patterns_free(patterns);
	free(list);
}

static void try_columns(struct input *in)
{
	static struct wp_column_list columns;
	struct wp_error error = { "" };
	char *list = next_text(in);

	enum wp_rc rc = wp_column_list_parse(list, "outbox.headers", &columns, &error);
	if (rc != WP_OK)
		need_reason(rc, &error);
	for (size_t i = 0; rc == WP_OK && i < columns.count; i++) {
		NEED(strlen(columns.items[i].column) > 0);
		sum += strlen(columns.items[i].name);
	}
	free(list);
}

static void try_route(struct input *in)
{
	struct wp_route *route = NULL;
	struct wp_error error = { "" };
	char *regex = next_text(in);
	char *replacement = next_text(in);

	enum wp_rc rc = wp_route_new(regex, replacement, &route, &error);
	if (rc != WP_OK)
		need_reason(rc, &error);
	for (size_t i = 0; rc == WP_OK && i < 20 && in->left > 0; i++) {
		struct wp_span topic;
		struct wp_span raw = next_span(in);
		enum wp_rc answer = wp_route_topic(route, raw, NULL, &topic, &error);
		if (answer != WP_OK) {
			need_reason(answer, &error);
			continue;
		}
		NEED(topic.size > 0 && topic.size < WP_TOPIC_SIZE);
		NEED(strlen((const char *)topic.data) == topic.size);
	}
	wp_route_free(route);
	free(regex);
	free(replacement);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const ways[])(struct input *) = { try_table, try_patterns, try_columns,
							try_route };
	struct input in = { .at = data + (size > 0), .left = size - (size > 0) };

	if (size > 0)
		ways[data[0] % 4](&in);
	return 0;
}

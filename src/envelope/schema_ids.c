#include <stdlib.h>
#include <string.h>

#include "walpost/base/span.h"
#include "walpost/envelope/schema_ids.h"

#define OPTION "outbox.confluent.schemas"
#define VERSIONS "outbox.schema.versions"
#define TOPIC_MAX 249
#define SUBJECT_MAX 512
#define ID_SIZE 5 /* with the byte before it */
#define ITEMS_MAX 1024
#define INDEXES_MAX 8
#define PREFIX_SIZE_MAX (5 + 5 * (INDEXES_MAX + 1))

#define LIST_FORM                                                                            \
	"allowed is a comma-separated list of topic:id for Avro or topic:id:index for "      \
	"Protobuf, such as orders.events:12, *-events:7:0 or bills:9:1/0; * stands for any " \
	"run of characters, id and index are numbers up to 2147483647"

#define VERSIONS_FORM                                                                    \
	"allowed is a comma-separated list of subject:version or, for Protobuf, "        \
	"subject:version:index, such as orders-value:3, *-value:latest or "              \
	"bills-value:2:1/0; * stands for any run of characters, version is latest or a " \
	"number from 1 to 2147483647"

struct item {
	char topic[SUBJECT_MAX + 1]; /* or subject; with * */
	uint8_t prefix[PREFIX_SIZE_MAX];
	size_t size;
};

struct wp_schema_ids {
	size_t count;
	struct item items[];
};

/* The two lists do not have this alike. */
struct list_kind {
	const char *letters; /* of what is before the first colon */
	size_t size_max;     /* of that */
	const char *wrong;   /* when it is not so */
	const char *no_number;
	bool has_latest;
	const char *option;
	const char *form;
};

static const struct list_kind IDS = {
	.letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*",
	.size_max = TOPIC_MAX,
	.wrong = "a topic is missing, too long, or has a character that topics cannot have",
	.no_number = "a topic has no id",
	.option = OPTION,
	.form = LIST_FORM,
};
static const struct list_kind VERSIONS_OF_SUBJECTS = {
	.letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*/$+@~",
	.size_max = SUBJECT_MAX,
	.wrong = "a subject is missing, too long, or has a character that subjects do not have",
	.no_number = "a subject has no version",
	.has_latest = true,
	.option = VERSIONS,
	.form = VERSIONS_FORM,
};

struct reader {
	const struct list_kind *kind;
	const char *at;
	const char *wrong; /* NULL: nothing yet */
};

static void note_wrong(struct reader *r, const char *wrong)
{
	if (r->wrong == NULL)
		r->wrong = wrong;
}

static void skip_list_spaces(struct reader *r)
{
	r->at += strspn(r->at, " \t");
}

static uint32_t read_decimal(struct reader *r)
{
	uint64_t number = 0;
	size_t digits = strspn(r->at, "0123456789");

	if (digits == 0 || digits > 10)
		note_wrong(r, "a number is missing or too large");
	for (size_t i = 0; i < digits && digits <= 10; i++)
		number = number * 10 + (uint64_t)(r->at[i] - '0');
	if (number > INT32_MAX)
		note_wrong(r, "a number is too large");
	r->at += digits;
	return (uint32_t)number;
}

static void read_name_pattern(struct reader *r, struct item *item)
{
	size_t size = strspn(r->at, r->kind->letters);

	if (size == 0 || size > r->kind->size_max)
		note_wrong(r, r->kind->wrong);
	else
		memcpy(item->topic, r->at, size);
	r->at += size;
}

static void put_prefix_byte(struct item *item, uint8_t byte)
{
	item->prefix[item->size++] = byte;
}

/* Puts the zigzag of what is never negative: twice the number. */
static void put_varint(struct item *item, uint32_t number)
{
	uint64_t left = (uint64_t)number << 1;

	for (; left >= 0x80; left >>= 7)
		put_prefix_byte(item, (uint8_t)(left | 0x80));
	put_prefix_byte(item, (uint8_t)left);
}

static void read_indexes(struct reader *r, struct item *item)
{
	uint32_t indexes[INDEXES_MAX];
	size_t count = 0;

	do {
		r->at++; /* the : or / */
		if (count == INDEXES_MAX) {
			note_wrong(r, "a message is nested more than 8 levels deep");
			return;
		}
		indexes[count++] = read_decimal(r);
	} while (r->wrong == NULL && *r->at == '/');
	if (count == 1 && indexes[0] == 0) {
		put_prefix_byte(item, 0);
		return;
	}
	put_varint(item, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		put_varint(item, indexes[i]);
}

/* A version of 0 is the latest, and no number. */
static uint32_t read_id_or_version(struct reader *r)
{
	static const char latest[] = "latest";

	if (r->kind->has_latest && strncmp(r->at, latest, strlen(latest)) == 0) {
		r->at += strlen(latest);
		return 0;
	}
	uint32_t id = read_decimal(r);
	if (r->kind->has_latest && id == 0)
		note_wrong(r, "a version is 0");
	return id;
}

static void read_schema_id(struct reader *r, struct item *item)
{
	skip_list_spaces(r);
	read_name_pattern(r, item);
	if (*r->at != ':') {
		note_wrong(r, r->kind->no_number);
		return;
	}
	r->at++;
	uint32_t id = read_id_or_version(r);
	put_prefix_byte(item, 0);
	for (int shift = 24; shift >= 0; shift -= 8)
		put_prefix_byte(item, (uint8_t)(id >> shift));
	if (*r->at == ':')
		read_indexes(r, item);
	skip_list_spaces(r);
	if (*r->at != ',' && *r->at != '\0')
		note_wrong(r, "text follows the end of an item");
}

static enum wp_rc read_schema_ids(const struct list_kind *kind, const char *list,
				  struct wp_schema_ids **ret, struct wp_error *error)
{
	struct reader r = { .kind = kind, .at = list };
	struct wp_schema_ids *ids = NULL;
	size_t items = 1;

	for (const char *at = list; *at != '\0'; at++)
		items += *at == ',' ? 1 : 0;
	if (items > ITEMS_MAX)
		note_wrong(&r, "it has more than 1,024 items");
	else
		ids = calloc(1, sizeof(*ids) + items * sizeof(ids->items[0]));
	if (ids == NULL && r.wrong == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a list of schemas");
	while (r.wrong == NULL) {
		read_schema_id(&r, &ids->items[ids->count++]);
		if (*r.at != ',')
			break;
		r.at++;
	}
	if (r.wrong != NULL) {
		free(ids);
		return wp_error_set(error, WP_CONFIG, "%s = \"%.200s\": %s; %s", kind->option, list,
				    r.wrong, kind->form);
	}
	*ret = ids;
	return WP_OK;
}

enum wp_rc wp_schema_ids_new(const char *list, struct wp_schema_ids **ret, struct wp_error *error)
{
	return read_schema_ids(&IDS, list, ret, error);
}

enum wp_rc wp_schema_versions_new(const char *list, struct wp_schema_ids **ret,
				  struct wp_error *error)
{
	if (list[0] != '\0')
		return read_schema_ids(&VERSIONS_OF_SUBJECTS, list, ret, error);
	*ret = calloc(1, sizeof(**ret));
	return *ret != NULL ? WP_OK
			    : wp_error_set(error, WP_NOMEM, "out of memory for a list of schemas");
}

void wp_schema_ids_free(struct wp_schema_ids *ids)
{
	free(ids);
}

static const struct item *find_item(const struct wp_schema_ids *ids, struct wp_span name)
{
	for (size_t i = 0; i < ids->count; i++)
		if (wp_wildcard_matches(wp_span_of(ids->items[i].topic), '*', name))
			return &ids->items[i];
	return NULL;
}

struct wp_span wp_schema_ids_prefix(const struct wp_schema_ids *ids, struct wp_span topic)
{
	const struct item *item = find_item(ids, topic);

	if (item == NULL)
		return (struct wp_span){ 0 };
	return (struct wp_span){ item->prefix, item->size };
}

struct wp_schema_version wp_schema_version_find(const struct wp_schema_ids *versions,
						struct wp_span subject)
{
	const struct item *item = find_item(versions, subject);
	struct wp_schema_version found = { 0 };

	if (item == NULL)
		return found;
	for (size_t i = 1; i < ID_SIZE; i++)
		found.number = found.number << 8 | item->prefix[i];
	if (item->size > ID_SIZE)
		found.index = (struct wp_span){ item->prefix + ID_SIZE, item->size - ID_SIZE };
	return found;
}

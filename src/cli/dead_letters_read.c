/*
 * Reads the dead-letter topic: which letters it holds, what the chosen ones contain, and which of
 * them were sent again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/dead_letters.h"
#include "walpost/kafka_inspect/preflight.h"
#include "walpost/kafka_inspect/topic_reader.h"
#include "walpost/outbox/names.h"

#define KAFKA_TIMEOUT_MS 10000
#define OURS "walpost-dead-letter-"
#define MESSAGES "messages of prefix "

enum {
	BARE_ID_SIZE = 1024, /* a bare letter has no more of an id (outbox/dead_letter.h) */
	TEXT_MAX = 4096,     /* of each of the other texts */
	MARKS_ASKED = 500,
};

/* -- from a record to a letter ------------------------------------------------ */

/* These are the texts that are looked for by name, in the order of those of wp_found_letter. */
enum text {
	TEXT_TABLE,
	TEXT_POSITION,
	TEXT_REASON,
	TEXT_SIZE,
	TEXT_ID,
	TEXT_TOPIC,
	TEXT_OMITTED,
	TEXT_SOURCE,
	TEXT_KEY, /* no header */
	TEXT_COUNT,
};

static const char *const names[TEXT_COUNT] = {
	[TEXT_TABLE] = OURS "table",
	[TEXT_POSITION] = OURS "position",
	[TEXT_REASON] = OURS "reason",
	[TEXT_SIZE] = OURS "size",
	[TEXT_ID] = OURS "id",
	[TEXT_TOPIC] = OURS "topic",
	[TEXT_OMITTED] = OURS "omitted",
	[TEXT_SOURCE] = "walpost-source",
	[TEXT_KEY] = "",
};

/* Data cannot name a header of ours, so the last of a name is as good as the first. */
static void find_texts(const struct wp_record *record, struct wp_span ret[TEXT_COUNT])
{
	memset(ret, 0, TEXT_COUNT * sizeof(ret[0]));
	for (size_t i = 0; i < record->header_count; i++) {
		for (enum text text = 0; text < TEXT_KEY; text++) {
			if (wp_span_is(record->headers[i].name, names[text]))
				ret[text] = record->headers[i].value;
		}
	}
	ret[TEXT_KEY] = record->key;
}

static bool is_letter(const struct wp_span texts[TEXT_COUNT])
{
	struct wp_position position;

	return !wp_span_is_null(texts[TEXT_TABLE]) && !wp_span_is_null(texts[TEXT_REASON]) &&
	       !wp_span_is_null(texts[TEXT_SIZE]) &&
	       wp_position_parse(texts[TEXT_POSITION], &position) == WP_OK;
}

/* Postgres has no NUL in a text. */
static size_t kept_size(struct wp_span text, size_t max)
{
	const uint8_t *end = memchr(text.data, '\0', text.size);
	size_t size = end != NULL ? (size_t)(end - text.data) : text.size;

	return size < max ? size : max;
}

/* Fails with WP_NOMEM. */
static enum wp_rc copy_texts(struct wp_found_letter *letter, const struct wp_span texts[TEXT_COUNT])
{
	const char *copies[TEXT_COUNT] = { NULL };
	size_t sizes[TEXT_COUNT] = { 0 };
	size_t room = 0;

	for (enum text text = 0; text < TEXT_COUNT; text++) {
		size_t max = text == TEXT_ID ? WP_LETTER_ID_MAX : TEXT_MAX;
		if (!wp_span_is_null(texts[text]))
			sizes[text] = kept_size(texts[text], max) + 1;
		room += sizes[text];
	}
	char *at = malloc(room);
	if (at == NULL)
		return WP_NOMEM;
	for (enum text text = 0; text < TEXT_COUNT; text++) {
		if (sizes[text] == 0)
			continue;
		memcpy(at, texts[text].data, sizes[text] - 1);
		at[sizes[text] - 1] = '\0';
		copies[text] = at;
		at += sizes[text];
	}
	letter->table = at - room;
	letter->position = copies[TEXT_POSITION];
	letter->reason = copies[TEXT_REASON];
	letter->size = copies[TEXT_SIZE];
	letter->id = copies[TEXT_ID];
	letter->key = copies[TEXT_KEY];
	letter->topic = copies[TEXT_TOPIC];
	letter->omitted = copies[TEXT_OMITTED];
	letter->source = copies[TEXT_SOURCE];
	return WP_OK;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Fails with WP_NOMEM. */
static enum wp_rc make_letter(const struct wp_record *record, int64_t offset,
			      const struct wp_span texts[TEXT_COUNT], struct wp_found_letter *ret)
{
	*ret = (struct wp_found_letter){
		.partition = record->partition,
		.offset = offset,
		.time_ms = record->timestamp_ms,
	};
	enum wp_rc rc = copy_texts(ret, texts);
	if (rc != WP_OK)
		return rc;
	ret->is_bare = ret->omitted != NULL && begins(ret->omitted, "key, headers, ");
	ret->id_is_cut = ret->id != NULL && (strlen(ret->id) < texts[TEXT_ID].size ||
					     (ret->is_bare && texts[TEXT_ID].size >= BARE_ID_SIZE));
	ret->key_is_cut = ret->key != NULL && strlen(ret->key) < texts[TEXT_KEY].size;
	return WP_OK;
}

const char *wp_letter_prefix(const struct wp_found_letter *letter)
{
	return begins(letter->table, MESSAGES) ? letter->table + strlen(MESSAGES) : NULL;
}

/* -- which are asked for ------------------------------------------------------- */

/* `table` is a table as in outbox.table, or a prefix of messages. */
static bool is_of_table(const struct wp_found_letter *letter, const char *table)
{
	const char *prefix = wp_letter_prefix(letter);
	char text[WP_TABLE_NAME_TEXT_SIZE];
	struct wp_table_name name;

	if (prefix != NULL)
		return strcmp(prefix, table) == 0;
	if (wp_table_name_parse(table, &name, NULL) != WP_OK)
		return false;
	return strcmp(letter->table, wp_table_name_text(&name, text, sizeof(text))) == 0;
}

static bool is_asked_for(const struct wp_letters_options *o, const struct wp_found_letter *letter)
{
	return (o->reason == NULL || strstr(letter->reason, o->reason) != NULL) &&
	       (o->table == NULL || is_of_table(letter, o->table)) &&
	       (o->id == NULL || (letter->id != NULL && strcmp(letter->id, o->id) == 0)) &&
	       (o->since_ms == 0 || letter->time_ms >= o->since_ms) &&
	       (o->until_ms == 0 || letter->time_ms < o->until_ms);
}

static enum wp_rc make_room(struct wp_letters *l)
{
	size_t capacity = l->capacity == 0 ? 256 : l->capacity * 2;
	struct wp_found_letter *items = l->items;

	if (l->count < l->capacity)
		return WP_OK;
	items = realloc(items, capacity * sizeof(*items));
	if (items == NULL)
		return WP_NOMEM;
	l->items = items;
	l->capacity = capacity;
	return WP_OK;
}

static enum wp_rc take_record(void *arg, const struct wp_record *record, int64_t offset)
{
	struct wp_letters *l = arg;
	struct wp_span texts[TEXT_COUNT];
	struct wp_found_letter letter;

	l->records++;
	find_texts(record, texts);
	if (!is_letter(texts)) {
		l->others++;
		return WP_OK;
	}
	enum wp_rc rc = make_letter(record, offset, texts, &letter);
	if (rc != WP_OK)
		return rc;
	bool is_wanted = is_asked_for(&l->options, &letter);
	l->matched += is_wanted ? 1 : 0;
	if (!is_wanted || l->count == WP_LETTERS_MAX) {
		free(letter.table);
		return WP_OK;
	}
	rc = make_room(l);
	if (rc == WP_OK)
		l->items[l->count++] = letter;
	else
		free(letter.table);
	return rc;
}

/* -- the topic ----------------------------------------------------------------- */

static bool go_on(void *arg, uint64_t done, uint64_t all)
{
	struct wp_letters *l = arg;

	(void)ev_run(l->console.loop, EVRUN_NOWAIT); /* says whether watchers are left; they are */
	wp_cli_say_progress("%s: %llu of %llu offsets read", l->topic, (unsigned long long)done,
			    (unsigned long long)all);
	return !l->console.interrupted;
}

static enum wp_rc add_topic(struct wp_letters *l, struct wp_topic_reader *reader,
			    struct wp_error *error)
{
	int32_t partitions;
	enum wp_rc rc = wp_topic_reader_add(reader, wp_span_of(l->topic), &partitions, error);

	if (rc != WP_OK || partitions > 0)
		return rc;
	return wp_error_set(error, WP_CONFIG,
			    "topic %s (%s) does not exist: correct the name, or create the topic: "
			    "kafka-topics.sh --create --topic %s",
			    l->topic,
			    l->options.topic != NULL ? "--topic" : "relay.dead_letter.topic",
			    l->topic);
}

/* Orders letters by position, which is by commit, and those of one position as they came. */
static int compare(const void *a, const void *b)
{
	const struct wp_found_letter *one = a, *other = b;
	int order = strcmp(one->position, other->position);

	if (order != 0)
		return order;
	if (one->partition != other->partition)
		return one->partition < other->partition ? -1 : 1;
	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

static enum wp_rc read_topic(struct wp_letters *l, const struct wp_topic_reading *reading,
			     struct wp_error *error)
{
	struct wp_topic_reader *reader = NULL;

	enum wp_rc rc = wp_topic_reader_new(&l->config.kafka, WP_READ_COMMITTED, &reader, error);
	if (rc != WP_OK)
		return rc;
	rc = add_topic(l, reader, error);
	if (rc == WP_OK)
		rc = wp_topic_reader_read(reader, reading, error);
	wp_topic_reader_free(reader);
	wp_cli_say_progress("%s", "");
	return rc;
}

enum wp_rc wp_letters_read(struct wp_letters *l, struct wp_error *error)
{
	const struct wp_topic_reading reading = {
		.since_ms = l->options.since_ms,
		.times = WP_TIMES_OF_ANYBODY,
		.take = take_record,
		.go_on = go_on,
		.arg = l,
	};
	struct wp_error sentence;
	/* wp_kafka_reach() says best whether the brokers let us in. */
	enum wp_rc rc = wp_kafka_reach(&l->config.kafka, KAFKA_TIMEOUT_MS, &sentence, error);

	if (rc == WP_OK)
		rc = read_topic(l, &reading, error);
	if (rc == WP_OK && l->count > 0)
		qsort(l->items, l->count, sizeof(l->items[0]), compare);
	return rc;
}

/* -- once more, for what the letters hold ----------------------------------------- */

struct place {
	int32_t partition;
	int64_t offset;
	size_t index; /* of the letter */
};

struct contents {
	struct wp_letters *letters;
	struct place *places; /* owned; of those that are wanted, in order */
	size_t count;
	struct wp_letter_content *items;
	size_t size; /* of all */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	if (one->partition != other->partition)
		return one->partition < other->partition ? -1 : 1;
	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

/* Fails with WP_NOMEM. */
static enum wp_rc find_places(struct contents *c, const bool *wanted)
{
	const struct wp_letters *l = c->letters;

	c->places = malloc((l->count + 1) * sizeof(*c->places));
	if (c->places == NULL)
		return WP_NOMEM;
	for (size_t i = 0; i < l->count; i++) {
		if (!wanted[i])
			continue;
		c->places[c->count++] = (struct place){
			.partition = l->items[i].partition,
			.offset = l->items[i].offset,
			.index = i,
		};
	}
	qsort(c->places, c->count, sizeof(c->places[0]), compare_places);
	return WP_OK;
}

static struct wp_span put(uint8_t **at, struct wp_span bytes)
{
	struct wp_span copy = { .data = *at, .size = bytes.size };

	if (wp_span_is_null(bytes))
		return bytes;
	memcpy(*at, bytes.data, bytes.size);
	(*at)[bytes.size] = '\0';
	*at += bytes.size + 1;
	return copy;
}

/* Fails with WP_NOMEM. */
static enum wp_rc copy_content(const struct wp_record *record, size_t room,
			       struct wp_letter_content *ret)
{
	const size_t count = record->header_count;
	struct wp_header *headers = malloc(room);
	uint8_t *at = (uint8_t *)(headers + count);

	if (headers == NULL)
		return WP_NOMEM;
	for (size_t i = 0; i < count; i++)
		headers[i] = (struct wp_header){
			.name = put(&at, record->headers[i].name),
			.value = put(&at, record->headers[i].value),
		};
	*ret = (struct wp_letter_content){
		.key = put(&at, record->key),
		.value = put(&at, record->value),
		.headers = headers,
		.header_count = count,
	};
	return WP_OK;
}

static enum wp_rc take_content(void *arg, const struct wp_record *record, int64_t offset)
{
	struct contents *c = arg;
	const struct place key = { .partition = record->partition, .offset = offset };
	const struct place *place =
		bsearch(&key, c->places, c->count, sizeof(c->places[0]), compare_places);
	size_t room =
		wp_record_size(record) + 2 + record->header_count * (sizeof(struct wp_header) + 2);

	if (place == NULL || room > WP_LETTERS_CONTENT_MAX - c->size)
		return WP_OK;
	c->size += room;
	return copy_content(record, room, &c->items[place->index]);
}

static bool go_on_with_contents(void *arg, uint64_t done, uint64_t all)
{
	return go_on(((struct contents *)arg)->letters, done, all);
}

enum wp_rc wp_letters_read_content(struct wp_letters *l, const bool *wanted,
				   struct wp_letter_content *ret, struct wp_error *error)
{
	struct contents contents = { .letters = l, .items = ret };
	const struct wp_topic_reading reading = {
		.since_ms = l->options.since_ms,
		.take = take_content,
		.go_on = go_on_with_contents,
		.arg = &contents,
	};

	if (find_places(&contents, wanted) != WP_OK)
		return wp_error_set(error, WP_NOMEM, "out of memory for the dead letters");
	enum wp_rc rc = read_topic(l, &reading, error);
	free(contents.places);
	return rc;
}

void wp_letter_content_release(struct wp_letter_content *content)
{
	free(content->headers);
	*content = (struct wp_letter_content){ .headers = NULL };
}

void wp_letters_release(struct wp_letters *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->items[i].table);
		free(l->items[i].mark);
	}
	free(l->items);
	l->items = NULL;
	l->count = l->capacity = 0;
}

/* -- what went back ------------------------------------------------------------- */

static enum wp_rc take_mark(struct wp_found_letter *letter, const PGresult *marks, int row)
{
	letter->mark = calloc(1, sizeof(*letter->mark));
	if (letter->mark == NULL)
		return WP_NOMEM;
	(void)snprintf(letter->mark->at, sizeof(letter->mark->at), "%s", PQgetvalue(marks, row, 1));
	(void)snprintf(letter->mark->by_role, sizeof(letter->mark->by_role), "%s",
		       PQgetvalue(marks, row, 2));
	(void)snprintf(letter->mark->by_client, sizeof(letter->mark->by_client), "%s",
		       PQgetvalue(marks, row, 3));
	(void)snprintf(letter->mark->times, sizeof(letter->mark->times), "%s",
		       PQgetvalue(marks, row, 4));
	return WP_OK;
}

/* Letters and marks are both in the order of positions. */
static enum wp_rc take_marks(struct wp_found_letter *letters, size_t count, const PGresult *marks)
{
	enum wp_rc rc = WP_OK;
	int row = 0;

	for (size_t i = 0; i < count && row < PQntuples(marks) && rc == WP_OK;) {
		int order = strcmp(letters[i].position, PQgetvalue(marks, row, 0));
		if (order == 0)
			rc = take_mark(&letters[i], marks, row);
		if (order <= 0)
			i++;
		else
			row++;
	}
	return rc;
}

static enum wp_rc ask_marks(const struct wp_letters *l, struct wp_session *session,
			    const struct wp_found_letter *letters, size_t count, PGresult **ret,
			    struct wp_error *error)
{
	struct wp_statement statement;

	wp_statement_begin(&statement, session);
	wp_sql_add(&statement.sql,
		   "SELECT position, pg_catalog.to_char(at AT TIME ZONE 'UTC', "
		   "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), by_role, by_client, times "
		   "FROM walpost.dead_letters_retried WHERE slot = %L AND topic = %L "
		   "AND position IN (",
		   l->config.postgres.slot, l->topic);
	for (size_t i = 0; i < count; i++)
		wp_sql_add(&statement.sql, "%s%L", i > 0 ? ", " : "", letters[i].position);
	wp_sql_add(&statement.sql, ") ORDER BY position COLLATE \"C\"");
	return wp_statement_ask(&statement, ret, error);
}

static enum wp_rc has_marks(struct wp_session *session, bool *ret, struct wp_error *error)
{
	PGresult *found;
	enum wp_rc rc = wp_session_query(
		session,
		"SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
		"ON n.oid = c.relnamespace WHERE n.nspname = 'walpost' AND c.relname = "
		"'dead_letters_retried')",
		&found, error);

	if (rc != WP_OK)
		return rc;
	*ret = *PQgetvalue(found, 0, 0) == 't';
	PQclear(found);
	return WP_OK;
}

enum wp_rc wp_letters_read_marks(struct wp_letters *l, struct wp_session *session,
				 struct wp_error *error)
{
	bool exist = false;
	enum wp_rc rc = has_marks(session, &exist, error);

	for (size_t i = 0; exist && rc == WP_OK && i < l->count; i += MARKS_ASKED) {
		size_t count = l->count - i < MARKS_ASKED ? l->count - i : MARKS_ASKED;
		PGresult *marks;
		rc = ask_marks(l, session, l->items + i, count, &marks, error);
		if (rc != WP_OK)
			return rc;
		rc = take_marks(l->items + i, count, marks);
		PQclear(marks);
		if (rc != WP_OK)
			return wp_error_set(error, rc, "out of memory for what was sent again");
	}
	l->marks_known = rc == WP_OK;
	return rc;
}

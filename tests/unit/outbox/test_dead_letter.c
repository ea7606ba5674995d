#include "support/check.h"
#include "walpost/outbox/dead_letter.h"

static struct wp_header HEADERS[] = { { { (const uint8_t *)"id", 2 },
					{ (const uint8_t *)"7", 1 } } };
static struct wp_dead_letter letter;
static struct wp_record made;

static struct wp_record event(void)
{
	return (struct wp_record){
		.topic = wp_span_of("orders"),
		.key = wp_span_of("k"),
		.value = wp_span_of("four"),
		.headers = HEADERS,
		.header_count = 1,
		.timestamp_ms = 1234,
		.partition = 5,
		.position = { .timeline = 1, .commit_lsn = 0xAB, .ordinal = 2 },
		.table = "public.outbox",
		.id = wp_span_of("7"),
	};
}

static void make(const struct wp_record *record, enum wp_letter size)
{
	static const struct wp_error reason = { .text = "too large" };

	wp_dead_letter_record(&letter, record, "dead", "payload", &reason, size, NULL, &made);
}

static void make_of_parked(const struct wp_record *record, enum wp_letter size)
{
	static const struct wp_error reason = { .text = "too large" };
	const struct wp_letter_attempts attempts = {
		.failed = 3,
		.first_reason = wp_span_of("no topic"),
	};

	wp_dead_letter_record(&letter, record, "dead", "payload", &reason, size, &attempts, &made);
}

/* NULL: there is none of that name. */
static const struct wp_span *header(const char *name)
{
	for (size_t i = 0; i < made.header_count; i++) {
		if (wp_span_is(made.headers[i].name, name))
			return &made.headers[i].value;
	}
	return NULL;
}

static bool says(const char *name, const char *value)
{
	const struct wp_span *found = header(name);

	return found != NULL && wp_span_is(*found, value);
}

static void it_has_the_events_key_value_and_headers_and_says_what_it_was(void **state)
{
	struct wp_record record = event();

	make(&record, WP_LETTER_WHOLE);
	CHECK(wp_span_is(made.topic, "dead"));
	CHECK(wp_span_is(made.key, "k"));
	CHECK(wp_span_is(made.value, "four"));
	CHECK_EQ(made.partition, WP_PARTITION_BY_KEY);
	CHECK_EQ(made.timestamp_ms, WP_TIMESTAMP_NOW);
	CHECK(wp_span_is(made.headers[0].name, "id") && wp_span_is(made.headers[0].value, "7"));
	CHECK(says("walpost-dead-letter-reason", "too large"));
	CHECK(says("walpost-dead-letter-table", "public.outbox"));
	CHECK(says("walpost-dead-letter-id", "7"));
	CHECK(says("walpost-dead-letter-topic", "orders"));
	CHECK(says("walpost-dead-letter-size", "8"));
	CHECK(says("walpost-dead-letter-position", "0000-00000001-00000000000000AB-00000002"));
	CHECK(says("walpost-dead-letter-timestamp", "1234"));
	CHECK(header("walpost-dead-letter-omitted") == NULL);
}

static void without_its_value_it_says_where_that_is(void **state)
{
	struct wp_record record = event();

	make(&record, WP_LETTER_WITHOUT_VALUE);
	CHECK(wp_span_is(made.key, "k"));
	CHECK(wp_span_is_null(made.value));
	CHECK(says(
		"walpost-dead-letter-omitted",
		"the value of 4 bytes: column \"payload\" of table public.outbox, row with id 7"));
	CHECK(says("walpost-dead-letter-size", "8"));
	CHECK(says("id", "7"));
}

static void bare_it_has_neither_key_nor_the_events_headers(void **state)
{
	struct wp_record record = event();

	make(&record, WP_LETTER_BARE);
	CHECK(wp_span_is_null(made.key) && wp_span_is_null(made.value));
	CHECK(header("id") == NULL);
	CHECK(says("walpost-dead-letter-id", "7"));
	CHECK(says("walpost-dead-letter-omitted",
		   "key, headers, and the value of 4 bytes: column \"payload\" of table "
		   "public.outbox, row with id 7"));
}

static void columns_that_are_nowhere_else_are_headers(void **state)
{
	static const struct wp_header columns[] = {
		{ { (const uint8_t *)"aggregatetype", 13 }, { (const uint8_t *)"q", 1 } },
		{ { (const uint8_t *)"amount", 6 }, { 0 } },
	};
	struct wp_record record = event();

	record.columns = columns;
	record.column_count = 2;
	record.beside_value = 1;
	make(&record, WP_LETTER_WHOLE);
	CHECK(says("walpost-dead-letter-column-aggregatetype", "q"));
	CHECK(header("walpost-dead-letter-column-amount") == NULL); /* the value has it */
	make(&record, WP_LETTER_WITHOUT_VALUE);
	CHECK(says("walpost-dead-letter-column-aggregatetype", "q"));
	CHECK(wp_span_is_null(*header("walpost-dead-letter-column-amount")));
	make(&record, WP_LETTER_BARE);
	CHECK(header("walpost-dead-letter-column-aggregatetype") == NULL);
	CHECK(says("walpost-dead-letter-omitted",
		   "key, headers, other columns, and the value of 4 bytes: column \"payload\" of "
		   "table public.outbox, row with id 7"));
}

static void bare_it_has_the_beginning_of_a_huge_id(void **state)
{
	static uint8_t huge[5000] = { 'x' };
	struct wp_record record = event();

	record.id = (struct wp_span){ huge, sizeof(huge) };
	make(&record, WP_LETTER_WITHOUT_VALUE);
	CHECK_EQ(header("walpost-dead-letter-id")->size, sizeof(huge));
	make(&record, WP_LETTER_BARE);
	CHECK_EQ(header("walpost-dead-letter-id")->size, 1024);
}

static void what_is_not_known_is_null(void **state)
{
	struct wp_record record = event();

	record.topic = record.id = record.key = record.value = (struct wp_span){ 0 };
	make(&record, WP_LETTER_WITHOUT_VALUE);
	CHECK(wp_span_is_null(*header("walpost-dead-letter-topic")));
	CHECK(wp_span_is_null(*header("walpost-dead-letter-id")));
	CHECK(says("walpost-dead-letter-omitted", "the value of 0 bytes: column \"payload\" of "
						  "table public.outbox, row with id NULL"));
}

static void an_event_that_was_parked_tells_of_its_attempts(void **state)
{
	struct wp_record record = event();

	make_of_parked(&record, WP_LETTER_BARE);
	CHECK(says("walpost-dead-letter-attempts", "3"));
	CHECK(says("walpost-dead-letter-first-reason", "no topic"));
	CHECK(says("walpost-dead-letter-reason", "too large"));
	make(&record, WP_LETTER_BARE);
	CHECK(header("walpost-dead-letter-attempts") == NULL);
}

static void an_event_with_all_the_headers_there_may_be_has_room(void **state)
{
	static struct wp_header many[WP_RECORD_HEADERS_KEPT_MAX];
	struct wp_record record = event();

	for (size_t i = 0; i < WP_RECORD_HEADERS_KEPT_MAX; i++)
		many[i] = HEADERS[0];
	record.headers = record.columns = many;
	record.header_count = WP_RECORD_HEADERS_KEPT_MAX;
	record.column_count = WP_RECORD_COLUMNS_MAX;
	make_of_parked(&record, WP_LETTER_WITHOUT_VALUE);
	CHECK_EQ(made.header_count, WP_LETTER_HEADERS_MAX);
}

int main(void)
{
	return RUN(PLAIN(it_has_the_events_key_value_and_headers_and_says_what_it_was),
		   PLAIN(without_its_value_it_says_where_that_is),
		   PLAIN(bare_it_has_neither_key_nor_the_events_headers),
		   PLAIN(columns_that_are_nowhere_else_are_headers),
		   PLAIN(bare_it_has_the_beginning_of_a_huge_id), PLAIN(what_is_not_known_is_null),
		   PLAIN(an_event_that_was_parked_tells_of_its_attempts),
		   PLAIN(an_event_with_all_the_headers_there_may_be_has_room));
}

/* Reads the rows of `walpost backfill`: counts those to be sent, judges their order, sends them. */
#include "backfill.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/cli/cli.h"

enum { BAR_WIDTH = 30, VALUE_MAX = 1 << 30 /* Postgres's own limit */ };

/* -- reading them --------------------------------------------------------------------------- */

/* Rows of which no record can be made were not compared; they are always chosen. */
static bool is_chosen(struct wp_backfill *b, enum wp_rc made)
{
	struct wp_matching_row row;

	if (!b->missing || made != WP_OK)
		return true;
	wp_matching_row(b->diff.matching, b->expected++, &row);
	return row.verdict == WP_VERDICT_MISSING;
}

static enum wp_rc read_rows(struct wp_backfill *b, wp_diff_take take, struct wp_error *error)
{
	struct wp_diff_reading *reading = &b->diff.reading;
	wp_lsn lsn;

	enum wp_rc rc = wp_lsn_parse(wp_span_of(b->lsn), &lsn);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "unexpected LSN %s of the temporary slot", b->lsn);
	reading->take = take;
	reading->arg = b;
	reading->position = (struct wp_position){
		.epoch = b->diff.config.relay.epoch,
		.timeline = b->facts.timelines.current,
		.commit_lsn = lsn - 1,
	};
	b->expected = 0;
	b->row = 0; /* the first is 1 */
	return wp_diff_read_rows(&b->diff, error);
}

static enum wp_rc refuse(const struct wp_backfill *b, const struct wp_event *event,
			 const struct wp_error *reason, struct wp_error *error)
{
	struct wp_excerpt id;
	const char *text = wp_excerpt(&id, event->id);

	(void)b;
	return wp_error_set(error, WP_DATA,
			    "the row of table %s with id %s can never be delivered: %s. Correct or "
			    "delete it, or leave it out with --where",
			    event->table, text != NULL ? text : "NULL", reason->text);
}

/* Does librdkafka certainly refuse the record? What surrounds it only adds to its size. */
static bool is_too_large(const struct wp_backfill *b, const struct wp_record *record,
			 struct wp_error *reason)
{
	size_t most = b->record_max;

	if (most == 0 || wp_record_size(record) <= most)
		return false;
	(void)wp_error_set(reason, WP_DATA,
			   "an event of %zu bytes for topic %.*s exceeds message.max.bytes = %zu; "
			   "raise message.max.bytes in [kafka], and max.message.bytes of the topic",
			   wp_record_size(record), (int)record->topic.size,
			   (const char *)record->topic.data, most);
	return true;
}

static bool has_dead_letters(const struct wp_backfill *b)
{
	return b->diff.config.relay.poison == WP_POISON_DEAD_LETTER;
}

static enum wp_rc count_topic(struct wp_backfill *b, struct wp_span name, struct wp_error *error)
{
	size_t i = b->topic; /* rows of one topic mostly follow one another */

	if (i >= b->topic_count || !wp_span_is(name, b->topics[i].name))
		for (i = 0; i < b->topic_count && !wp_span_is(name, b->topics[i].name);)
			i++;
	if (i == WP_BACKFILL_TOPICS_MAX)
		return wp_error_set(error, WP_FULL,
				    "the rows go to more than %d topics: send fewer at a time, "
				    "with --outbox or --where",
				    WP_BACKFILL_TOPICS_MAX);
	if (i == b->topic_count) {
		(void)snprintf(b->topics[i].name, sizeof(b->topics[i].name), "%.*s", (int)name.size,
			       (const char *)name.data);
		b->topic_count++;
	}
	b->topics[i].rows++;
	b->topic = i;
	return WP_OK;
}

/* -- their order ----------------------------------------------------------------------------- */

/* Does the row have the key and the value of the order of the last one? */
static bool follows_last(const struct wp_backfill *b, const struct wp_event *event)
{
	const struct wp_diff_reading *reading = &b->diff.reading;
	const struct wp_outbox_options *o = &b->diff.outboxes.items[reading->outbox];
	const struct wp_backfill_last *last = &b->last;

	return last->is_set && last->table == reading->table &&
	       wp_span_is(wp_buffer_span(&last->value), reading->place.value) &&
	       (!wp_row_order_knows_key(o) ||
		wp_span_equal(wp_buffer_span(&last->key), event->key));
}

/* Statements of one transaction are numbered in their order. */
static bool is_known_by_statement(const struct wp_backfill *b)
{
	const struct wp_diff_place *place = &b->diff.reading.place;

	return b->last.statement[0] != '\0' && place->statement[0] != '\0' &&
	       strcmp(b->last.transaction, place->transaction) == 0 &&
	       strcmp(b->last.statement, place->statement) != 0;
}

static enum wp_rc keep_last(struct wp_backfill *b, const struct wp_event *event,
			    struct wp_error *error)
{
	const struct wp_diff_place *place = &b->diff.reading.place;
	struct wp_backfill_last *last = &b->last;

	wp_buffer_reset(&last->value);
	wp_buffer_reset(&last->key);
	enum wp_rc rc = wp_buffer_append_text(&last->value, place->value);
	if (rc == WP_OK)
		rc = wp_buffer_append(&last->key, event->key);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for the order of the rows");
	(void)snprintf(last->transaction, sizeof(last->transaction), "%s", place->transaction);
	(void)snprintf(last->statement, sizeof(last->statement), "%s", place->statement);
	last->table = b->diff.reading.table;
	last->is_set = true;
	return WP_OK;
}

static enum wp_rc judge_place(struct wp_backfill *b, const struct wp_event *event,
			      struct wp_error *error)
{
	struct wp_diff_table *table = &b->diff.tables[b->diff.reading.table];
	bool knows_key = wp_row_order_knows_key(&b->diff.outboxes.items[table->outbox]);
	struct wp_excerpt key;

	if (table->order.is_given_up || wp_span_is_null(event->key))
		return WP_OK;
	if (b->diff.reading.place.value == NULL)
		return wp_error_set(error, WP_CONFIG,
				    "table %s: column %s, which is to give the order of its rows, "
				    "is NULL in a row of key %s; name another with --order-by, or "
				    "give the order up: --order-by " WP_ROW_ORDER_NONE,
				    table->name, table->order.column, wp_excerpt(&key, event->key));
	if (follows_last(b, event) && table->order.column[0] == '\0')
		return wp_row_order_refuse(&table->order, table->name,
					   knows_key ? wp_excerpt(&key, event->key) : NULL, error);
	table->ties += follows_last(b, event) && !is_known_by_statement(b);
	return keep_last(b, event, error);
}

/* -- counting them --------------------------------------------------------------------------- */

static enum wp_rc count_row(void *arg, const struct wp_event *event, struct wp_record *record,
			    enum wp_rc made, const struct wp_error *reason, struct wp_error *error)
{
	struct wp_backfill *b = arg;
	struct wp_excerpt key;
	struct wp_error large;

	b->rows_read++;
	if (!is_chosen(b, made))
		return WP_OK;
	if (wp_backfill_is_parked(b, event))
		return wp_error_set(
			error, WP_DATA,
			"an event with key %s is parked, and a later one of that key is to be "
			"sent: it would overtake it. Discard what is parked of it with walpost "
			"parked skip --key; its rows are then sent in their order",
			wp_excerpt(&key, event->key));
	enum wp_rc rc = judge_place(b, event, error);
	if (rc != WP_OK)
		return rc;
	b->rows++;
	wp_backfill_judge_discarded(b, event);
	if (made == WP_OK && is_too_large(b, record, &large))
		reason = &large;
	else if (made == WP_OK)
		return count_topic(b, record->topic, error);
	b->unmade++;
	return has_dead_letters(b) ? WP_OK : refuse(b, event, reason, error);
}

enum wp_rc wp_backfill_count(struct wp_backfill *b, struct wp_error *error)
{
	wp_buffer_init(&b->last.value, VALUE_MAX);
	wp_buffer_init(&b->last.key, VALUE_MAX);
	b->record_max = wp_cli_record_max(&b->diff.config);
	enum wp_rc rc = read_rows(b, count_row, error);
	wp_buffer_release(&b->last.value);
	wp_buffer_release(&b->last.key);
	wp_cli_say_progress("%s", "");
	return rc;
}

/* -- sending them ---------------------------------------------------------------------------- */

static enum wp_rc send_letter(struct wp_backfill *b, const struct wp_event *event,
			      const struct wp_record *record, const struct wp_error *reason,
			      struct wp_error *error)
{
	const unsigned least = wp_dead_letter_least(false);
	enum wp_rc rc = WP_DATA;
	struct wp_record letter;
	struct wp_error said = *reason;

	for (unsigned i = WP_LETTER_WHOLE; i <= least && rc == WP_DATA && !b->kafka.refused; i++) {
		if (b->kafka.alone)
			wp_backfill_renew(b);
		wp_dead_letter_record(&b->kafka.letter, record,
				      b->diff.config.relay.dead_letter_topic,
				      b->diff.outboxes.items[b->diff.reading.outbox].column_payload,
				      reason, (enum wp_letter)i, NULL, &letter);
		rc = wp_backfill_send_record(b, &letter, event->id, true, &said);
	}
	if (rc == WP_DATA && !b->kafka.refused)
		return refuse(b, event, &said, error);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", said.text);
	wp_backfill_end_isolation(b);
	return rc;
}

static void say_progress(const struct wp_backfill *b)
{
	static const char full[] = "##############################";
	uint64_t done = b->kafka.confirmed;
	int width = b->rows > 0 ? (int)(done * BAR_WIDTH / b->rows) : BAR_WIDTH;
	double seconds = (double)(wp_clock_us() / 1000 - b->kafka.began_ms + 1) / 1000.;

	wp_cli_say_progress("[%-*.*s] %" PRIu64 " of %" PRIu64 " rows, %.0f a second", BAR_WIDTH,
			    width < BAR_WIDTH ? width : BAR_WIDTH, full, done, b->rows,
			    (double)done / seconds);
}

static enum wp_rc send_row(void *arg, const struct wp_event *event, struct wp_record *record,
			   enum wp_rc made, const struct wp_error *reason, struct wp_error *error)
{
	struct wp_backfill *b = arg;
	struct wp_error said = *reason;
	enum wp_rc rc = made;

	b->row++;
	if (!is_chosen(b, made) || wp_backfill_is_confirmed(b, b->row))
		return WP_OK;
	if (rc == WP_OK)
		rc = wp_backfill_send_record(b, record, event->id, false, &said);
	if (b->kafka.last % 100 == 0)
		say_progress(b);
	if (rc == WP_OK)
		return rc;
	if (rc != WP_DATA || b->kafka.refused)
		return wp_error_set(error, rc, "%s", said.text);
	return has_dead_letters(b) ? send_letter(b, event, record, &said, error)
				   : refuse(b, event, &said, error);
}

enum wp_rc wp_backfill_send(struct wp_backfill *b, struct wp_error *error)
{
	enum wp_rc rc = wp_backfill_begin_sending(b, error);

	if (rc != WP_OK)
		return rc;
	do { /* This ends, because each round confirms at least one dead letter. */
		rc = read_rows(b, send_row, error);
		if (rc == WP_OK)
			rc = wp_backfill_flush(b, error);
		if (!b->kafka.refused)
			break;
		rc = wp_backfill_isolate(b, error);
	} while (rc == WP_OK);
	wp_cli_say_progress("%s", "");
	return rc;
}

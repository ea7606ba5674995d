#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parking.h"
#include "support/check.h"

/*
 * A store whose table is here, and that answers when it is told to. Keys and outboxes are constant
 * texts, positions are ordinals.
 */
struct row {
	uint32_t at;
	const char *key; /* NULL: none */
	bool alone;
	bool skipped;
	uint32_t attempts;
	char reason[100];
	bool durable;
	wp_ticket ticket;
};

static struct {
	struct wp_parked_store store;
	struct wp_parked_view view;
	struct row rows[1000];
	size_t count;
	struct wp_parked_choice choices[64];
	size_t choice_count;
	bool loading, looking;
	size_t size_max;
	struct wp_parked_row loaded[300];
	struct wp_parked_change changes[1000];
	size_t change_count; /* not done yet */
	struct wp_parked_asked asked[WP_PARKED_LOOK_MAX];
	struct wp_parked_aggregate set[40];
	struct wp_position positions[10];
	bool full;
} store;

static struct wp_parking *p;
static struct {
	const char *key;
	uint32_t at;
	bool alone;
} next_put;

static struct wp_position position(uint32_t at)
{
	return (struct wp_position){ .timeline = 1, .commit_lsn = 1000 + at, .ordinal = at };
}

static struct wp_span text(const char *s)
{
	return s != NULL ? wp_span_of(s) : (struct wp_span){ 0 };
}

static void store_open(struct wp_parked_store *s, wp_lsn from, size_t max)
{
	store.loading = store.looking = false;
	store.view.state = WP_PARKED_OPENING;
}

static void store_set_taken(struct wp_parked_store *s)
{
	store.view.set = (struct wp_parked_set){ 0 };
}

static void store_close(struct wp_parked_store *s)
{
	store.view.state = WP_PARKED_CLOSED;
	store.loading = store.looking = false;
}

static enum wp_rc store_put(struct wp_parked_store *s, uint64_t ticket, struct wp_span row)
{
	if (store.full)
		return WP_FULL;
	store.rows[store.count++] = (struct row){
		.at = next_put.at, .key = next_put.key, .alone = next_put.alone, .ticket = ticket
	};
	return WP_OK;
}

static size_t store_collect(struct wp_parked_store *s, uint64_t *tickets, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < store.count && count < max; i++) {
		if (store.rows[i].ticket != 0 && store.rows[i].durable) {
			tickets[count++] = store.rows[i].ticket;
			store.rows[i].ticket = 0;
		}
	}
	return count;
}

static enum wp_rc store_change(struct wp_parked_store *s, const struct wp_parked_change *changes,
			       size_t count)
{
	memcpy(&store.changes[store.change_count], changes, count * sizeof(*changes));
	store.change_count += count;
	return WP_OK;
}

static void store_load(struct wp_parked_store *s, const struct wp_parked_choice *choices,
		       size_t count, size_t size_max)
{
	CHECK(!store.loading);
	memcpy(store.choices, choices, count * sizeof(*choices));
	store.choice_count = count;
	store.loading = true;
}

static void store_look(struct wp_parked_store *s)
{
	CHECK(!store.looking);
	store.looking = true;
}

static const struct wp_parked_view *store_view(struct wp_parked_store *s)
{
	return &store.view;
}

static const struct wp_parked_store_ops OPS = {
	.open = store_open,
	.set_taken = store_set_taken,
	.close = store_close,
	.put = store_put,
	.collect = store_collect,
	.change = store_change,
	.load = store_load,
	.look = store_look,
	.view = store_view,
};

/* -- its answers --------------------------------------------------------------- */

static void answer_load(size_t cut_after)
{
	size_t count = 0;

	CHECK(store.loading);
	store.loading = false;
	for (size_t c = 0; c < store.choice_count; c++) {
		uint32_t left = store.choices[c].rows_max;
		for (size_t i = 0; i < store.count && left > 0 && count < cut_after; i++) {
			struct row *row = &store.rows[i];
			if (row->skipped || !wp_span_equal(text(row->key), store.choices[c].key))
				continue;
			if (row->key == NULL && row->at != store.choices[c].position.ordinal)
				continue;
			store.loaded[count++] = (struct wp_parked_row){
				.position = position(row->at),
				.outbox = wp_span_of("o"),
				.key = text(row->key),
				.row = wp_span_of("[]"),
				.alone = row->alone,
				.attempts = row->attempts,
				.reason = wp_span_of(row->reason),
			};
			left--;
		}
	}
	store.view.rows = store.loaded;
	store.view.row_count = count;
	store.view.rows_cut = count == cut_after;
	store.view.loads++;
}

static struct row *row_at(uint32_t at)
{
	for (size_t i = 0; i < store.count; i++) {
		if (store.rows[i].at == at)
			return &store.rows[i];
	}
	return NULL;
}

static void answer_changes(void)
{
	for (size_t i = 0; i < store.change_count; i++) {
		const struct wp_parked_change *c = &store.changes[i];
		struct row *row = row_at(c->position.ordinal);
		if (row == NULL)
			continue;
		if (c->kind == WP_PARKED_DELETE)
			*row = store.rows[--store.count];
		else if (c->kind == WP_PARKED_FAILED) {
			row->attempts = c->attempts;
			snprintf(row->reason, sizeof(row->reason), "%s", c->reason);
		} else if (c->kind == WP_PARKED_ALONE)
			row->alone = true;
		else
			row->attempts = 0;
	}
	/* In order again, as a table that is read by position. */
	for (size_t i = 1; i < store.count; i++) {
		for (size_t j = i; j > 0 && store.rows[j - 1].at > store.rows[j].at; j--) {
			struct row swap = store.rows[j];
			store.rows[j] = store.rows[j - 1];
			store.rows[j - 1] = swap;
		}
	}
	store.view.changed += store.change_count;
	store.change_count = 0;
}

static void answer_look(size_t count)
{
	CHECK(store.looking);
	store.looking = false;
	store.view.asked = store.asked;
	store.view.asked_count = count;
	store.view.looks++;
}

/* -- set up ------------------------------------------------------------------------ */

static struct wp_park_options options;
static uint16_t epoch;
static int64_t now;
static wp_lsn told;
static wp_lsn confirmed; /* above all positions, unless a test says otherwise */

static void step(int64_t now_ms)
{
	now = now_ms;
	wp_parking_tick(p, now);
	CHECK_EQ(wp_parking_step(p, true, confirmed, told), WP_OK);
}

static void load_set(size_t count)
{
	const struct wp_parked_aggregate *a;
	struct wp_error error;

	store.view.state = WP_PARKED_READY;
	store.view.set.aggregates = store.set;
	store.view.set.count = count;
	while ((a = wp_parking_next_loaded(p)) != NULL)
		CHECK_EQ(wp_parking_load(p, a, &error), WP_OK);
	CHECK(wp_parking_is_ready(p));
}

static int set_up(void **state)
{
	memset(&store, 0, sizeof(store));
	confirmed = 1000000;
	told = UINT64_MAX;
	epoch = 0;
	store.store.ops = &OPS;
	options = (struct wp_park_options){
		.aggregates_max = 10, .events_max = 500, .retry_first_ms = 100, .retry_max_ms = 1000
	};
	return 0;
}

static void begin_as(bool has_dead_letters)
{
	CHECK_EQ(wp_parking_new(&options, epoch, has_dead_letters, &store.store, &p), WP_OK);
	wp_parking_tick(p, 0);
	wp_parking_begin(p, 0);
	CHECK(!wp_parking_is_ready(p));
	CHECK(wp_parking_next_loaded(p) == NULL);
	load_set(0);
	step(0);
	answer_look(0);
	step(0);
}

static void begin(void)
{
	begin_as(false);
}

static int tear_down(void **state)
{
	wp_parking_free(p);
	p = NULL;
	return 0;
}

static enum wp_parking_answer find(const char *key, uint32_t at)
{
	struct wp_position where = position(at);

	return wp_parking_find(p, wp_span_of("o"), text(key), &where);
}

static enum wp_rc put_as(const char *key, uint32_t at, const char *code, bool alone)
{
	struct wp_error error;
	struct wp_position where = position(at);
	const struct wp_parking_event event = {
		.outbox = wp_span_of("o"),
		.key = text(key),
		.position = &where,
		.code = code,
		.alone = alone,
	};

	next_put.key = key;
	next_put.at = at;
	next_put.alone = alone;
	return wp_parking_put(p, at, &event, wp_span_of("{}"), &error);
}

static void put(const char *key, uint32_t at, const char *code)
{
	CHECK_EQ(put_as(key, at, code, false), WP_OK);
}

/* The ticket of the next row, which is to be that one. */
static wp_ticket send(uint32_t at, bool quiet)
{
	struct wp_parking_row row;

	if (!wp_parking_next(p, quiet, &row))
		return 0;
	CHECK_EQ(row.row->position.ordinal, at);
	CHECK(row.ticket & WP_PARKED_TICKETS);
	wp_parking_sent(p, WP_OK, NULL);
	return row.ticket;
}

static bool has_next(bool quiet)
{
	struct wp_parking_row row;

	return wp_parking_next(p, quiet, &row);
}

static void confirm(wp_ticket ticket)
{
	const struct wp_report report = { .ticket = ticket, .outcome = WP_CONFIRMED };

	CHECK(ticket != 0);
	wp_parking_report(p, &report, NULL);
}

static struct wp_parking_figures figures(void)
{
	struct wp_parking_figures f;

	wp_parking_figures(p, &f);
	return f;
}

static bool news(struct wp_parking_news *ret)
{
	return wp_parking_take_news(p, ret);
}

/* A round of one row of `key`, which is confirmed. */
static void deliver(uint32_t at)
{
	step(now);
	answer_load(300);
	step(now);
	confirm(send(at, true));
	step(now);
	answer_changes();
	step(now);
}

/* -- tests ----------------------------------------------------------------------- */

static void later_events_of_the_aggregate_follow_and_no_others(void **state)
{
	begin();
	CHECK_EQ(find("a", 1), WP_PARKING_FLOWS);
	put("a", 1, "BAD");
	CHECK_EQ(find("a", 2), WP_PARKING_FOLLOWS);
	CHECK_EQ(find("b", 2), WP_PARKING_FLOWS);
	CHECK_EQ(find(NULL, 2), WP_PARKING_FLOWS);
	put("a", 2, NULL);
	CHECK_EQ(figures().aggregates, 1);
	CHECK_EQ(figures().events, 2);
	CHECK(strcmp(figures().codes[0].code, "BAD") == 0);
	CHECK_EQ(figures().codes[0].aggregates, 1);
}

static void figures_outlive_a_stream_for_a_minute(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	step(10);
	wp_parking_forget(p);
	wp_parking_begin(p, 0); /* the set is not read yet */
	CHECK(figures().known && !figures().ready);
	CHECK_EQ(figures().aggregates, 1);
	CHECK_EQ(figures().events, 2);
	CHECK_EQ(figures().since_ms, 0);
	CHECK(strcmp(figures().codes[0].code, "BAD") == 0);
	step(10 + 60 * 1000 - 1);
	CHECK(figures().known);
	step(10 + 60 * 1000);
	CHECK(!figures().known);
	CHECK_EQ(figures().parked, 2);
	load_set(0);
	CHECK(figures().known && figures().ready);
	CHECK_EQ(figures().aggregates, 0);
}

static void one_that_nobody_wants_any_more_is_deleted_and_the_rest_follows(void **state)
{
	struct wp_parking_row row;

	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	step(100);
	answer_load(300);
	step(100);
	CHECK(wp_parking_next(p, false, &row));
	wp_parking_dropped(p);
	step(100);
	CHECK_EQ(store.change_count, 1);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_DELETE);
	answer_changes();
	step(100);
	step(100);
	answer_load(300);
	step(100);
	confirm(send(2, false));
	step(100);
	answer_changes();
	step(100);
	CHECK_EQ(figures().aggregates, 0);
	CHECK_EQ(figures().delivered, 1);
}

static void an_event_without_a_key_is_alone(void **state)
{
	begin();
	put(NULL, 1, "BAD");
	put(NULL, 2, "BAD");
	CHECK_EQ(find(NULL, 3), WP_PARKING_FLOWS);
	CHECK_EQ(figures().aggregates, 2);
	now = 100;
	step(100);
	answer_load(300);
	CHECK_EQ(store.view.row_count, 2);
}

static void the_first_goes_alone_ahead_then_the_rest(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	put("a", 3, NULL);
	step(99);
	CHECK(!store.loading);
	CHECK_EQ(wp_parking_due(p, true), 100);
	step(100);
	CHECK_EQ(store.choices[0].rows_max, 1);
	answer_load(300);
	step(100);
	wp_ticket first = send(1, false);
	CHECK(!has_next(false));
	step(100);
	CHECK_EQ(store.change_count, 0); /* nothing is deleted before it is confirmed */
	confirm(first);
	step(100);
	CHECK_EQ(store.change_count, 1);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_DELETE);
	CHECK(!store.loading);
	answer_changes();
	step(100);
	step(100);
	CHECK(store.choices[0].rows_max > 1);
	answer_load(300);
	step(100);
	wp_ticket second = send(2, false), third = send(3, false);
	confirm(third);
	step(100);
	CHECK_EQ(store.change_count, 0);
	confirm(second);
	step(100);
	CHECK_EQ(store.change_count, 2);
	CHECK_EQ(find("a", 4), WP_PARKING_WAITS);
	answer_changes();
	step(100);
	CHECK_EQ(find("a", 4), WP_PARKING_FLOWS);
	CHECK_EQ(figures().aggregates, 0);
	CHECK_EQ(figures().events, 0);
	CHECK_EQ(figures().delivered, 3);
	struct wp_parking_news n;
	CHECK(news(&n) && n.released && n.events == 3);
	CHECK(!news(&n));
}

static void what_is_put_meanwhile_keeps_it_parked(void **state)
{
	begin();
	put("a", 1, "BAD");
	step(100);
	answer_load(300);
	put("a", 2, NULL); /* the table had one row when it was asked */
	step(100);
	confirm(send(1, false));
	step(100);
	answer_changes();
	step(100);
	CHECK_EQ(figures().events, 1);
	CHECK(find("a", 3) != WP_PARKING_FLOWS);
}

static void two_that_are_gone_let_one_in(void **state)
{
	begin();
	put("a", 1, "BAD");
	for (uint32_t at = 2; at <= 6; at++)
		put("a", at, NULL);
	now = 100;
	deliver(1);
	CHECK_EQ(find("a", 7), WP_PARKING_WAITS);
	step(100);
	answer_load(300);
	step(100);
	wp_ticket tickets[5];
	for (uint32_t i = 0; i < 5; i++)
		tickets[i] = send(i + 2, false);
	for (uint32_t i = 0; i < 5; i++)
		confirm(tickets[i]);
	step(100);
	/* In the meantime nothing is let in, so that it is over. */
	CHECK_EQ(find("a", 7), WP_PARKING_WAITS);
	answer_changes();
	step(100);
	CHECK_EQ(find("a", 7), WP_PARKING_FLOWS);
}

/* The relay stops, and has the end of a transaction still to reach. */
static void nothing_waits_for_what_is_not_sent_any_more(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	now = 100;
	deliver(1);
	CHECK_EQ(find("a", 4), WP_PARKING_WAITS);
	CHECK_EQ(wp_parking_step(p, false, confirmed, confirmed), WP_OK);
	CHECK_EQ(find("a", 4), WP_PARKING_FOLLOWS);
}

static void nothing_waits_for_quiet_that_is_not_used_any_more(void **state)
{
	begin();
	CHECK_EQ(put_as("a", 1, "BIG", true), WP_OK);
	step(100);
	answer_load(300);
	step(100);
	CHECK(wp_parking_wants_quiet(p));
	CHECK_EQ(wp_parking_step(p, false, confirmed, confirmed), WP_OK);
	CHECK(!wp_parking_wants_quiet(p));
}

static void the_oldest_of_those_left_is_told(void **state)
{
	begin();
	CHECK_EQ(figures().since_ms, INT64_MAX);
	put("a", 1, "BAD");
	step(50);
	put("b", 2, "BAD");
	now = 100;
	CHECK_EQ(figures().since_ms, 0);
	deliver(1);
	step(2000);
	answer_look(0);
	step(2000);
	CHECK_EQ(figures().since_ms, 50);
	answer_load(300);
	step(2000);
	confirm(send(2, true));
	step(2000);
	answer_changes();
	step(2000);
	CHECK_EQ(figures().since_ms, INT64_MAX);
}

static void credit_is_used_up(void **state)
{
	begin();
	put("a", 1, "BAD");
	for (uint32_t at = 2; at <= 400; at++)
		put("a", at, NULL);
	now = 100;
	deliver(1);
	step(100);
	answer_load(300);
	step(100);
	for (uint32_t at = 2; at <= 257; at++)
		confirm(send(at, false));
	step(100);
	answer_changes();
	step(100);
	uint32_t let_in = 0;
	while (find("a", 500 + let_in) == WP_PARKING_FOLLOWS)
		put("a", 500 + let_in++, NULL);
	CHECK_EQ(let_in, 257 / 2);
}

/* Another one's partition has no leader, say, or the table cannot be read. */
static void for_an_aggregate_of_which_none_goes_nothing_waits_for_long(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	now = 100;
	deliver(1);
	step(5000);
	answer_look(0);
	step(5000);
	CHECK_EQ(find("a", 3), WP_PARKING_WAITS);
	CHECK_EQ(wp_parking_due(p, false), 5100);
	step(5100);
	CHECK_EQ(find("a", 3), WP_PARKING_FOLLOWS);
	put("a", 3, NULL);
	CHECK_EQ(find("a", 4), WP_PARKING_FOLLOWS);
	answer_load(300);
	step(5100);
	confirm(send(2, false));
	confirm(send(3, false));
	step(5100);
	answer_changes();
	step(5100);
	put("a", 4, NULL);
	CHECK_EQ(find("a", 5), WP_PARKING_WAITS); /* it moves again */
}

static void nothing_waits_in_the_middle_of_a_transaction(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	struct wp_position same = position(2), other = position(3);
	same.ordinal = 7;
	now = 100;
	deliver(1);
	CHECK_EQ(wp_parking_find(p, wp_span_of("o"), wp_span_of("a"), &other), WP_PARKING_WAITS);
	CHECK_EQ(wp_parking_find(p, wp_span_of("o"), wp_span_of("a"), &same), WP_PARKING_FOLLOWS);
}

static void one_that_fails_keeps_its_place_and_waits_twice_as_long(void **state)
{
	const struct wp_error why = { .text = "too large" };
	struct wp_parking_row row;
	struct wp_parking_news n;

	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	step(100);
	answer_load(300);
	step(100);
	CHECK(wp_parking_next(p, false, &row));
	wp_parking_sent(p, WP_DATA, &why);
	step(100);
	CHECK_EQ(store.change_count, 1);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_FAILED);
	CHECK_EQ(store.changes[0].attempts, 1);
	CHECK_EQ(store.changes[0].due_in_ms, 200);
	CHECK(strcmp(store.changes[0].reason, "too large") == 0);
	answer_changes();
	step(100);
	CHECK(news(&n) && n.failed && !n.exhausted);
	CHECK_EQ(figures().failed, 1);
	CHECK(strcmp(figures().codes[1].code, "NOT_SENDABLE") == 0);
	CHECK_EQ(figures().codes[0].aggregates, 0);
	CHECK_EQ(figures().codes[1].aggregates, 1);
	CHECK_EQ(find("a", 3), WP_PARKING_FOLLOWS);
	step(299);
	CHECK(!store.loading);
	step(300);
	answer_load(300);
	CHECK_EQ(store.loaded[0].position.ordinal, 1);
}

static void nothing_of_an_aggregate_goes_past_one_that_fails(void **state)
{
	const struct wp_error why = { .text = "no" };
	struct wp_parking_row row;

	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	put("a", 3, NULL);
	put("a", 4, NULL);
	now = 100;
	deliver(1);
	step(100);
	answer_load(300);
	step(100);
	wp_ticket second = send(2, false);
	CHECK(wp_parking_next(p, false, &row));
	wp_parking_sent(p, WP_DATA, &why);
	CHECK(!has_next(false));
	confirm(second);
	step(100);
	CHECK_EQ(store.change_count, 2);
	answer_changes();
	step(100);
	CHECK_EQ(figures().events, 2);
	CHECK_EQ(find("a", 5), WP_PARKING_FOLLOWS); /* no longer being sent: the stream goes on */
}

static void attempts_end_in_a_dead_letter_of_ever_less(void **state)
{
	const struct wp_error why = { .text = "no" };
	struct wp_parking_row row;
	struct wp_parking_news n;

	options.retry_attempts = 2;
	begin_as(true);
	put("a", 1, "BAD");
	for (int letter = -2; letter <= 2; letter++) {
		step(now + 10000);
		answer_load(300);
		step(now);
		CHECK(wp_parking_next(p, false, &row));
		CHECK_EQ(row.letter, letter < 0 ? -1 : letter);
		wp_parking_sent(p, WP_DATA, &why);
		step(now);
		CHECK_EQ(store.changes[0].due_in_ms, letter == -2  ? 200
						     : letter == 2 ? INT64_MAX
								   : 0);
		answer_changes();
		step(now);
		CHECK(news(&n) && n.failed);
		CHECK_EQ(n.exhausted, letter == 2);
	}
	step(now + 1000000);
	CHECK(!store.loading); /* never by itself */
}

/* It failed many times when that was no limit: nothing of it is to be left out for that. */
static void attempts_before_a_lower_limit_leave_the_dead_letter_whole(void **state)
{
	const struct wp_error why = { .text = "no" };
	struct wp_parking_row row;

	options.retry_attempts = 3;
	begin_as(true);
	put("a", 1, "BAD");
	row_at(1)->attempts = INT32_MAX;
	for (int letter = 0; letter <= 2; letter++) {
		step(now + 10000);
		answer_load(300);
		step(now);
		CHECK(wp_parking_next(p, false, &row));
		CHECK_EQ(row.letter, letter);
		wp_parking_sent(p, WP_DATA, &why);
		step(now);
		CHECK_EQ(store.changes[0].attempts, INT32_MAX); /* no more fit the column */
		CHECK(strstr(store.changes[0].reason, "dead letter") != NULL);
		CHECK_EQ(store.changes[0].due_in_ms, letter == 2 ? INT64_MAX : 0);
		answer_changes();
		step(now);
	}
}

static void a_dead_letter_takes_the_place_of_the_event(void **state)
{
	struct wp_parking_news n;

	options.retry_attempts = 1;
	begin_as(true);
	put("a", 1, "BAD");
	put("a", 2, NULL);
	row_at(1)->attempts = 1;
	now = 100;
	deliver(1);
	CHECK_EQ(figures().dead_letters, 1);
	CHECK_EQ(figures().delivered, 0);
	CHECK(news(&n) && n.letter);
	deliver(2);
	CHECK_EQ(figures().aggregates, 0);
}

static void without_a_dead_letter_topic_it_waits_for_a_person(void **state)
{
	const struct wp_error why = { .text = "no" };
	struct wp_parking_row row;

	options.retry_attempts = 1;
	begin();
	put("a", 1, "BAD");
	step(100);
	answer_load(300);
	step(100);
	CHECK(wp_parking_next(p, false, &row));
	wp_parking_sent(p, WP_DATA, &why);
	step(100);
	CHECK_EQ(store.changes[0].due_in_ms, INT64_MAX);
	answer_changes();
	step(100);
	step(INT64_C(1) << 40);
	CHECK(!store.loading);
	store.asked[0] = (struct wp_parked_asked){
		.act = WP_PARKED_ACT_RETRY,
		.position = position(1),
		.outbox = wp_span_of("o"),
		.key = wp_span_of("a"),
	};
	answer_look(1);
	step(now);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_HEARD);
	CHECK(!store.loading); /* before that is done it would come as it was */
	answer_changes();
	step(now);
	CHECK(store.loading);
}

/* Else that attempt would have the last word: never by itself. */
static void what_is_asked_for_during_an_attempt_is_done_after_it(void **state)
{
	const struct wp_error why = { .text = "no" };
	struct wp_parking_row row;

	options.retry_attempts = 1;
	begin();
	put("a", 1, "BAD");
	step(1000);
	answer_load(300);
	step(1000);
	CHECK(wp_parking_next(p, false, &row));
	store.asked[0] = (struct wp_parked_asked){
		.act = WP_PARKED_ACT_RETRY,
		.position = position(1),
		.outbox = wp_span_of("o"),
		.key = wp_span_of("a"),
	};
	answer_look(1);
	step(1000);
	CHECK_EQ(store.change_count, 0);
	wp_parking_sent(p, WP_DATA, &why);
	step(1000);
	CHECK_EQ(store.change_count, 1);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_FAILED);
	answer_changes();
	step(1000);
	CHECK(wp_parking_due(p, true) <= 1000);
	step(1000);
	CHECK_EQ(store.change_count, 1);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_HEARD);
	answer_changes();
	step(1000);
	CHECK(store.loading);
}

static void what_kafka_refused_goes_while_nothing_else_is_in_flight(void **state)
{
	begin();
	CHECK_EQ(put_as("a", 1, "BIG", true), WP_OK);
	put("b", 2, "BAD");
	for (int i = 0; i < 2; i++) { /* by turns */
		step(100 + i);
		answer_load(300);
		step(now);
		if (wp_parking_wants_quiet(p)) {
			CHECK(!has_next(false));
			wp_ticket ticket = send(1, true);
			CHECK(wp_parking_went_alone(p, ticket));
			confirm(ticket);
		} else {
			wp_ticket ticket = send(2, false);
			CHECK(!wp_parking_went_alone(p, ticket));
			confirm(ticket);
		}
		step(now);
		answer_changes();
		step(now);
	}
	CHECK_EQ(figures().aggregates, 0);
}

static void refused_alone_it_waits_and_so_do_all_that_go_alone(void **state)
{
	struct wp_report report = { .outcome = WP_REFUSED, .code = "BIG", .event_level = true };

	options.retry_first_ms = 20000;
	options.retry_max_ms = 40000;
	begin();
	CHECK_EQ(put_as("a", 1, "BIG", true), WP_OK);
	CHECK_EQ(put_as("b", 2, "BIG", true), WP_OK);
	step(20000);
	CHECK_EQ(store.choice_count, 1);
	answer_load(300);
	step(20000);
	report.ticket = send(store.loaded[0].position.ordinal, true);
	wp_parking_report(p, &report, "refused");
	wp_parking_forget(p); /* the sink begins anew */
	CHECK_EQ(store.change_count, 1);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_FAILED);
	CHECK(store.changes[0].alone);
	CHECK_EQ(store.changes[0].due_in_ms, 40000);
	store.set[0] = (struct wp_parked_aggregate){ .outbox = wp_span_of("o"),
						     .key = wp_span_of("b"),
						     .position = position(2),
						     .code = wp_span_of("BIG"),
						     .alone = true,
						     .events = 1 };
	wp_parking_begin(p, 0);
	answer_changes();
	load_set(1);
	step(20001);
	answer_look(0);
	step(20001);
	CHECK(!store.loading);
	CHECK_EQ(wp_parking_due(p, true), 21001); /* to look, before the pause is over */
	step(30000);
	CHECK(store.loading);
}

/* What is replayed to another topic has the outbox's name with that topic (outbox/reissue.h). */
static void another_name_is_another_order_of_the_same_key(void **state)
{
	const struct wp_position at = position(2);

	(void)state;
	begin();
	CHECK_EQ(put_as("a", 1, "BIG", false), WP_OK);
	CHECK_EQ(wp_parking_find(p, wp_span_of("o"), wp_span_of("a"), &at), WP_PARKING_FOLLOWS);
	CHECK_EQ(wp_parking_find(p, wp_span_of("o -> t"), wp_span_of("a"), &at), WP_PARKING_FLOWS);
}

static void the_more_a_refusal_costs_the_rarer_it_is(void **state)
{
	struct wp_report report = { .outcome = WP_REFUSED, .code = "BIG", .event_level = true };

	begin(); /* a second attempt is due after 100 ms */
	CHECK_EQ(put_as("a", 1, "BIG", true), WP_OK);
	step(100);
	answer_load(300);
	step(100);
	report.ticket = send(1, true);
	wp_parking_report(p, &report, "refused");
	wp_parking_forget(p);
	wp_parking_begin(p, 0);
	answer_changes();
	store.set[0] = (struct wp_parked_aggregate){ .outbox = wp_span_of("o"),
						     .key = wp_span_of("a"),
						     .position = position(1),
						     .code = wp_span_of("BIG"),
						     .alone = true,
						     .events = 1 };
	wp_parking_tick(p, 3100); /* so long the table was read */
	load_set(1);
	step(3100);
	answer_look(0);
	step(3100 + 2 * 3500 - 1);
	CHECK(!store.loading);
	step(3100 + 2 * 3500);
	CHECK(store.loading);
}

static void those_in_flight_beside_a_refused_event_go_alone(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("b", 2, "BAD");
	step(100);
	answer_load(300);
	step(100);
	wp_ticket first = send(store.loaded[0].position.ordinal, false);
	CHECK(send(store.loaded[1].position.ordinal, false) != 0);
	confirm(first);
	CHECK_EQ(wp_parking_suspect(p), WP_OK);
	CHECK_EQ(store.change_count, 1);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_ALONE);
	CHECK_EQ(store.changes[0].position.ordinal, store.loaded[1].position.ordinal);
	wp_parking_forget(p);
	/* What was confirmed is deleted all the same. */
	CHECK_EQ(store.change_count, 2);
	CHECK_EQ(store.changes[1].kind, WP_PARKED_DELETE);
}

static void a_row_that_is_to_go_alone_ends_a_round(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	put("a", 3, NULL);
	put("a", 4, NULL);
	row_at(3)->alone = true;
	now = 100;
	deliver(1);
	step(100);
	answer_load(300);
	step(100);
	confirm(send(2, false));
	CHECK(!has_next(true));
	step(100);
	answer_changes();
	step(100);
	CHECK_EQ(figures().events, 2);
	step(100);
	CHECK_EQ(store.choices[0].rows_max, 1);
	answer_load(300);
	step(100);
	CHECK(wp_parking_wants_quiet(p));
	confirm(send(3, true));
	step(100);
	answer_changes();
	step(100);
	deliver(4);
	CHECK_EQ(figures().aggregates, 0);
}

static void quiet_that_does_not_come_is_given_up(void **state)
{
	begin();
	CHECK_EQ(put_as("a", 1, "BIG", true), WP_OK);
	step(100);
	answer_load(300);
	step(100);
	CHECK(wp_parking_wants_quiet(p));
	CHECK_EQ(wp_parking_due(p, true) > 100, true);
	step(5099);
	CHECK(wp_parking_wants_quiet(p));
	answer_look(0);
	step(5100);
	CHECK(!wp_parking_wants_quiet(p));
	CHECK_EQ(figures().events, 1);
}

static void a_slow_table_is_no_lack_of_quiet(void **state)
{
	begin();
	CHECK_EQ(put_as("a", 1, "BIG", true), WP_OK);
	step(100);
	step(9000);
	answer_look(0);
	answer_load(300);
	step(9000);
	CHECK(wp_parking_wants_quiet(p));
	CHECK(send(1, true) != 0);
}

static void none_that_goes_alone_is_before_the_others_for_ever(void **state)
{
	uint32_t delivered[2] = { 0 };

	begin();
	for (uint32_t at = 1; at <= 20; at++)
		CHECK_EQ(put_as("a", at, at == 1 ? "BIG" : NULL, true), WP_OK);
	for (uint32_t at = 21; at <= 40; at++)
		CHECK_EQ(put_as("b", at, at == 21 ? "BIG" : NULL, true), WP_OK);
	now = 100;
	while (delivered[0] < 10 && delivered[1] < 10) {
		step(now);
		answer_load(300);
		step(now);
		if (wp_parking_wants_quiet(p)) {
			uint32_t at = store.loaded[0].position.ordinal;
			delivered[at > 20]++;
			confirm(send(at, true));
			step(now);
			answer_changes();
		}
		step(now);
	}
	CHECK(delivered[0] > 5 && delivered[1] > 5);
}

/* Kafka refuses each of them, and an attempt at all takes longer than one of them waits. */
static void all_that_are_refused_again_and_again_have_their_turn(void **state)
{
	enum { KEYS = 40 };
	struct wp_report report = { .outcome = WP_REFUSED, .code = "BIG", .event_level = true };
	static char keys[KEYS][4];
	int64_t due_ms[KEYS] = { 0 };
	unsigned tried[KEYS] = { 0 };

	options.aggregates_max = KEYS;
	begin();
	for (uint32_t i = 0; i < KEYS; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%u", (unsigned)i);
		store.rows[store.count++] = (struct row){ .at = i, .key = keys[i], .alone = true };
		store.set[i] = (struct wp_parked_aggregate){ .outbox = wp_span_of("o"),
							     .key = text(keys[i]),
							     .position = position(i),
							     .code = wp_span_of("BIG"),
							     .alone = true,
							     .events = 1 };
	}
	for (int attempt = 0; attempt < 3 * KEYS; attempt++) {
		wp_parking_begin(p, 0);
		wp_parking_tick(p, now);
		for (size_t i = 0; i < KEYS; i++)
			store.set[i].due_in_ms = due_ms[i] - now;
		load_set(KEYS);
		step(now + 20000);
		if (store.looking)
			answer_look(0);
		step(now);
		answer_load(300);
		step(now);
		uint32_t at = store.loaded[0].position.ordinal;
		report.ticket = send(at, true);
		wp_parking_report(p, &report, "refused");
		tried[at]++;
		wp_parking_forget(p); /* the sink begins anew */
		due_ms[at] = now + store.changes[0].due_in_ms;
		answer_changes();
	}
	for (size_t i = 0; i < KEYS; i++)
		CHECK_EQ(tried[i], 3);
}

static void rows_that_were_cut_are_not_taken_for_all(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	put("a", 3, NULL);
	now = 100;
	deliver(1);
	step(100);
	answer_load(1); /* as if they were large */
	step(100);
	confirm(send(2, false));
	step(100);
	answer_changes();
	step(100);
	CHECK_EQ(figures().events, 1);
	CHECK(find("a", 4) != WP_PARKING_FLOWS);
	deliver(3);
	CHECK_EQ(find("a", 4), WP_PARKING_FLOWS);
}

static void rows_that_somebody_deleted_are_not_waited_for(void **state)
{
	begin();
	put("a", 1, "BAD");
	put("a", 2, NULL);
	store.count = 0;
	step(100);
	answer_load(300);
	step(100);
	step(100);
	CHECK_EQ(figures().aggregates, 0);
	CHECK_EQ(find("a", 3), WP_PARKING_FLOWS);
}

static void skipped_it_stays_known_until_the_log_is_past_it(void **state)
{
	begin();
	confirmed = position(1).commit_lsn;
	put("a", 1, "BAD");
	put("a", 2, NULL);
	row_at(1)->skipped = true;
	store.asked[0] = (struct wp_parked_asked){
		.act = WP_PARKED_ACT_SKIP,
		.position = position(1),
		.outbox = wp_span_of("o"),
		.key = wp_span_of("a"),
	};
	step(1000);
	answer_look(1);
	step(1000);
	CHECK_EQ(store.change_count, 0);
	CHECK_EQ(figures().skipped, 0);
	CHECK(!store.loading);
	confirmed = position(3).commit_lsn;
	told = position(1).commit_lsn; /* of what it does not know the next stream begins with it */
	step(2000);
	answer_look(1);
	answer_load(300);
	step(2000);
	confirm(send(2, false));
	step(2000);
	answer_changes();
	step(2000);
	CHECK_EQ(find("a", 3), WP_PARKING_WAITS); /* until it is known that nothing is left */
	step(2000);
	CHECK_EQ(store.change_count, 0);
	answer_load(300);
	step(2000);
	CHECK_EQ(find("a", 3), WP_PARKING_FLOWS);
	told = position(3).commit_lsn;
	step(3000);
	answer_look(1);
	step(3000);
	CHECK_EQ(store.change_count, 1);
	CHECK_EQ(store.changes[0].kind, WP_PARKED_DELETE);
	CHECK_EQ(store.changes[0].position.ordinal, 1);
	CHECK_EQ(figures().skipped, 1);
}

static void very_many_are_skipped_without_a_pause(void **state)
{
	options.retry_first_ms = options.retry_max_ms = 1 << 20;
	begin();
	put("a", 1, "BAD");
	for (size_t i = 0; i < WP_PARKED_LOOK_MAX; i++)
		store.asked[i] = (struct wp_parked_asked){
			.act = WP_PARKED_ACT_SKIP,
			.position = position((uint32_t)i + 1),
			.outbox = wp_span_of("o"),
			.key = wp_span_of("b"),
		};
	step(1000);
	answer_look(WP_PARKED_LOOK_MAX);
	step(1000);
	CHECK_EQ(store.change_count, WP_PARKED_LOOK_MAX);
	answer_changes();
	step(1000);
	CHECK(store.looking);
	/* Those that the log may bring again stay: they are not to be looked for again and again. */
	confirmed = 1;
	answer_look(WP_PARKED_LOOK_MAX);
	step(1000);
	CHECK_EQ(store.change_count, 0);
	step(1999);
	CHECK(!store.looking);
	step(2000);
	CHECK(store.looking);
}

/* After a rewind the log brings again what went before the first that was parked. */
static void what_went_before_flows_and_is_not_overtaken(void **state)
{
	begin();
	confirmed = position(2).commit_lsn;
	put("a", 5, "BAD");
	CHECK_EQ(find("a", 4), WP_PARKING_FLOWS);
	CHECK_EQ(find("a", 6), WP_PARKING_FOLLOWS);
	step(100);
	CHECK(!store.loading);
	CHECK(wp_parking_due(p, true) > 100); /* it is told when more is confirmed */
	confirmed = position(5).commit_lsn + 1;
	step(100);
	CHECK(store.loading);
}

static void a_row_waits_for_what_may_come_from_before_it(void **state)
{
	begin();
	confirmed = position(2).commit_lsn;
	put("a", 1, "BAD");
	put("a", 5, NULL);
	now = 100;
	deliver(1);
	step(100);
	answer_load(300);
	step(100);
	CHECK(!has_next(true));
	step(100);
	CHECK(!store.loading);
	CHECK_EQ(find("a", 3), WP_PARKING_FLOWS); /* and is confirmed before the other is sent */
	CHECK(find("a", 6) != WP_PARKING_FLOWS);
	confirmed = position(5).commit_lsn + 1;
	deliver(5);
	CHECK_EQ(figures().aggregates, 0);
}

/* Restored from a dump, say: the new server's log is shorter than the old one's was. */
static void what_is_of_an_earlier_epoch_waits_for_nothing(void **state)
{
	epoch = 1;
	begin();
	wp_parking_begin(p, 10);
	confirmed = 20;
	store.rows[0] = (struct row){ .at = 1, .key = "a" };
	store.count = 1;
	store.set[0] = (struct wp_parked_aggregate){ .outbox = wp_span_of("o"),
						     .key = wp_span_of("a"),
						     .position = position(1),
						     .code = wp_span_of("BAD"),
						     .due_in_ms = 500,
						     .events = 1 };
	load_set(1);
	step(100);
	store.asked[0] = (struct wp_parked_asked){
		.act = WP_PARKED_ACT_SKIP,
		.position = position(7),
		.outbox = wp_span_of("o"),
		.key = wp_span_of("a"),
	};
	answer_look(1);
	step(100);
	CHECK_EQ(store.change_count, 1); /* the skip */
	answer_changes();
	step(500);
	CHECK(store.loading);
	deliver(1);
	CHECK_EQ(figures().aggregates, 0);
}

static void what_went_before_and_cannot_any_more_is_the_first(void **state)
{
	begin();
	put("a", 5, "BAD");
	put("a", 6, NULL);
	CHECK_EQ(put_as("a", 4, "WORSE", true), WP_OK);
	CHECK_EQ(find("a", 3), WP_PARKING_FLOWS);
	CHECK_EQ(find("a", 4), WP_PARKING_FOLLOWS);
	CHECK_EQ(figures().aggregates, 1);
	CHECK_EQ(figures().codes[1].aggregates, 1);
	CHECK_EQ(figures().codes[0].aggregates, 0);
	step(100);
	CHECK_EQ(store.choices[0].rows_max, 1);
	row_at(4)->at = 4;
	answer_changes(); /* which sorts the table */
	answer_load(300);
	step(100);
	CHECK(wp_parking_wants_quiet(p));
	CHECK(send(4, true) != 0);
}

/* Its row is not loaded, so that nothing seems to be left. */
static void what_is_skipped_after_the_last_look_is_looked_for(void **state)
{
	begin();
	put("a", 1, "BAD");
	row_at(1)->skipped = true;
	step(100);
	answer_load(300);
	step(100);
	CHECK_EQ(find("a", 2), WP_PARKING_FLOWS);
	step(1000);
	CHECK(store.looking);
	answer_look(0);
	step(1000);
	step(2000);
	CHECK(!store.looking);
}

/* The look was asked for before, and answered after what was loaded. */
static void what_is_skipped_during_a_look_is_looked_for_again(void **state)
{
	begin();
	put("a", 1, "BAD");
	step(1000);
	CHECK(store.looking && store.loading);
	row_at(1)->skipped = true;
	answer_load(300);
	step(1000);
	answer_look(0);
	step(1000);
	step(2000);
	CHECK(store.looking);
	answer_look(0);
	step(2000);
	step(3000);
	CHECK(!store.looking);
}

static void what_the_table_has_is_passed_over(void **state)
{
	begin();
	wp_parking_begin(p, 0);
	store.set[0] = (struct wp_parked_aggregate){ .outbox = wp_span_of("o"),
						     .key = wp_span_of("a"),
						     .position = position(3),
						     .code = wp_span_of("BAD"),
						     .due_in_ms = 500,
						     .age_ms = 7000,
						     .events = 2 };
	store.positions[0] = position(3);
	store.positions[1] = position(5);
	store.view.set.positions = store.positions;
	store.view.set.position_count = 2;
	wp_parking_tick(p, 10000);
	load_set(1);
	CHECK_EQ(find("a", 3), WP_PARKING_KNOWN);
	CHECK_EQ(find("a", 4), WP_PARKING_FOLLOWS);
	CHECK_EQ(find("x", 5), WP_PARKING_KNOWN); /* given up, perhaps */
	CHECK_EQ(find("x", 6), WP_PARKING_FLOWS);
	CHECK_EQ(figures().since_ms, 3000);
	CHECK_EQ(put_as("b", 7, "BAD", false), WP_OK);
	CHECK_EQ(figures().since_ms, 3000);
	/* Past them the log brings them no more. */
	CHECK_EQ(wp_parking_step(p, false, position(5).commit_lsn + 1, 0), WP_OK);
	CHECK_EQ(find("x", 5), WP_PARKING_FLOWS);
}

static void above_the_bounds_nothing_more_is_parked(void **state)
{
	struct wp_error error;
	struct wp_position where = position(50);
	struct wp_parking_event event = {
		.outbox = wp_span_of("o"), .key = wp_span_of("z"), .position = &where, .code = "BAD"
	};

	options.aggregates_max = 2;
	options.events_max = 3;
	begin();
	put("a", 1, "BAD");
	put("b", 2, "BAD");
	CHECK_EQ(wp_parking_put(p, 50, &event, wp_span_of("{}"), &error), WP_DATA);
	CHECK(strstr(error.text, "park.aggregates.max") != NULL);
	put("a", 3, NULL);
	event.key = wp_span_of("a");
	event.code = NULL;
	CHECK_EQ(wp_parking_put(p, 50, &event, wp_span_of("{}"), &error), WP_DATA);
	CHECK(strstr(error.text, "park.events.max") != NULL);
	CHECK_EQ(figures().events, 3);
}

static void what_the_store_does_not_take_is_not_parked(void **state)
{
	begin();
	store.full = true;
	CHECK_EQ(put_as("a", 1, "BAD", false), WP_FULL);
	CHECK_EQ(find("a", 2), WP_PARKING_FLOWS);
	CHECK_EQ(figures().aggregates, 0);
}

static void a_stop_waits_for_what_is_under_way(void **state)
{
	begin();
	CHECK(!wp_parking_end(p, false));
	put("a", 1, "BAD");
	CHECK(wp_parking_end(p, false));
	row_at(1)->durable = true;
	wp_ticket ticket;
	CHECK_EQ(wp_parking_collect(p, &ticket, 1), 1);
	CHECK_EQ(ticket, 1);
	CHECK(!wp_parking_end(p, false));
	step(100);
	answer_load(300);
	step(100);
	ticket = send(1, false);
	CHECK(wp_parking_end(p, false));
	confirm(ticket);
	CHECK(wp_parking_end(p, false));
	CHECK_EQ(store.change_count, 1);
	answer_changes();
	CHECK(!wp_parking_end(p, false));
}

/* Another process has the slot: of what is under way nothing is done any more. */
static void a_stop_does_not_wait_for_a_store_that_is_fenced(void **state)
{
	begin();
	put("a", 1, "BAD");
	CHECK(wp_parking_end(p, false));
	store.view.state = WP_PARKED_FENCED;
	CHECK(!wp_parking_end(p, false));
}

static void a_stop_does_not_wait_for_a_topic(void **state)
{
	begin();
	put("a", 1, "BAD");
	row_at(1)->durable = true;
	wp_ticket ticket;
	CHECK_EQ(wp_parking_collect(p, &ticket, 1), 1);
	step(100);
	answer_load(300);
	step(100);
	CHECK(send(1, false) != 0);
	CHECK(wp_parking_end(p, false));
	CHECK(!wp_parking_end(p, true));
	CHECK_EQ(store.change_count, 0);
}

static void reports_of_an_earlier_round_are_nobodys(void **state)
{
	begin();
	put("a", 1, "BAD");
	step(100);
	answer_load(300);
	step(100);
	wp_ticket old = send(1, false);
	wp_parking_begin(p, 0);
	store.set[0] = (struct wp_parked_aggregate){ .outbox = wp_span_of("o"),
						     .key = wp_span_of("a"),
						     .position = position(1),
						     .code = wp_span_of("BAD"),
						     .events = 1 };
	load_set(1);
	step(100);
	answer_load(300);
	step(100);
	CHECK(send(1, false) != old);
	confirm(old);
	step(100);
	CHECK_EQ(store.change_count, 0);
}

int main(void)
{
	return RUN(
		TEST(later_events_of_the_aggregate_follow_and_no_others),
		TEST(figures_outlive_a_stream_for_a_minute),
		TEST(one_that_nobody_wants_any_more_is_deleted_and_the_rest_follows),
		TEST(figures_outlive_a_stream_for_a_minute), TEST(an_event_without_a_key_is_alone),
		TEST(the_first_goes_alone_ahead_then_the_rest),
		TEST(what_is_put_meanwhile_keeps_it_parked), TEST(two_that_are_gone_let_one_in),
		TEST(nothing_waits_for_what_is_not_sent_any_more),
		TEST(nothing_waits_for_quiet_that_is_not_used_any_more), TEST(credit_is_used_up),
		TEST(the_oldest_of_those_left_is_told),
		TEST(for_an_aggregate_of_which_none_goes_nothing_waits_for_long),
		TEST(nothing_waits_in_the_middle_of_a_transaction),
		TEST(one_that_fails_keeps_its_place_and_waits_twice_as_long),
		TEST(nothing_of_an_aggregate_goes_past_one_that_fails),
		TEST(attempts_end_in_a_dead_letter_of_ever_less),
		TEST(attempts_before_a_lower_limit_leave_the_dead_letter_whole),
		TEST(a_dead_letter_takes_the_place_of_the_event),
		TEST(without_a_dead_letter_topic_it_waits_for_a_person),
		TEST(what_is_asked_for_during_an_attempt_is_done_after_it),
		TEST(what_kafka_refused_goes_while_nothing_else_is_in_flight),
		TEST(refused_alone_it_waits_and_so_do_all_that_go_alone),
		TEST(another_name_is_another_order_of_the_same_key),
		TEST(the_more_a_refusal_costs_the_rarer_it_is),
		TEST(those_in_flight_beside_a_refused_event_go_alone),
		TEST(a_row_that_is_to_go_alone_ends_a_round),
		TEST(quiet_that_does_not_come_is_given_up), TEST(a_slow_table_is_no_lack_of_quiet),
		TEST(none_that_goes_alone_is_before_the_others_for_ever),
		TEST(all_that_are_refused_again_and_again_have_their_turn),
		TEST(rows_that_were_cut_are_not_taken_for_all),
		TEST(rows_that_somebody_deleted_are_not_waited_for),
		TEST(skipped_it_stays_known_until_the_log_is_past_it),
		TEST(what_is_skipped_after_the_last_look_is_looked_for),
		TEST(what_is_skipped_during_a_look_is_looked_for_again),
		TEST(very_many_are_skipped_without_a_pause),
		TEST(what_went_before_flows_and_is_not_overtaken),
		TEST(a_row_waits_for_what_may_come_from_before_it),
		TEST(what_is_of_an_earlier_epoch_waits_for_nothing),
		TEST(what_went_before_and_cannot_any_more_is_the_first),
		TEST(what_the_table_has_is_passed_over),
		TEST(above_the_bounds_nothing_more_is_parked),
		TEST(what_the_store_does_not_take_is_not_parked),
		TEST(a_stop_waits_for_what_is_under_way), TEST(a_stop_does_not_wait_for_a_topic),
		TEST(a_stop_does_not_wait_for_a_store_that_is_fenced),
		TEST(reports_of_an_earlier_round_are_nobodys));
}

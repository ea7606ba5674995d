/* Parked events on a real server: what is written, what is read, and all that may come between. */
#include "harness.h"

#include <stdlib.h>
#include <unistd.h>

#include "walpost/postgres_stream/parked_store.h"
#include "walpost/postgres_preflight/publication.h"

static struct harness harness;
static struct wp_parked_store *store;
static unsigned long wakes;
static PGconn *third; /* a session of somebody's */

static void on_wake(void *arg)
{
	(void)arg; /* one counter for all */
	wakes++;
}

static struct wp_parked_store *new_store(const char *owner, struct wp_source *stream)
{
	struct wp_parked_store_setup setup = {
		.options = &harness.options,
		.owner = owner,
		.stream = stream,
		.wake = { on_wake, NULL },
	};
	struct wp_parked_store *s = wp_parked_store_new(harness.loop, &setup);
	CHECK(s != NULL);
	return s;
}

static PGconn *connect_third(void)
{
	PGconn *pg = PQconnectdb(harness.conninfo);
	CHECK_EQ(PQstatus(pg), CONNECTION_OK);
	return pg;
}

static void third_does(const char *sql)
{
	if (!third)
		third = connect_third();
	PGresult *result = PQexec(third, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(third));
	PQclear(result);
}

static int set_up(void **state)
{
	(void)state; /* one harness for all */
	harness_init(&harness);
	harness_sql(&harness, "%s", wp_parked_sql);
	store = new_store("one", NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state; /* one harness for all */
	wp_parked_store_free(store);
	store = NULL;
	PQfinish(third);
	third = NULL;
	harness_release(&harness);
	return 0;
}

static int server_version(void)
{
	return PQserverVersion(harness.admin) / 10000;
}

/* ---- the store ---- */

static const struct wp_parked_view *view_of(struct wp_parked_store *s)
{
	return s->ops->view(s);
}

static const struct wp_parked_view *view(void)
{
	return view_of(store);
}

static bool is_in(struct wp_parked_store *s, enum wp_parked_state state)
{
	enum wp_parked_state now = view_of(s)->state;
	if (now == WP_PARKED_REFUSED && state != now)
		fail_msg("refused: %s", view_of(s)->error.text);
	return now == state;
}

static void open_from(wp_lsn from, size_t aggregates_max)
{
	store->ops->open(store, from, aggregates_max);
	AWAIT(&harness, is_in(store, WP_PARKED_READY));
}

static void open_it(void)
{
	open_from(0, 100);
	store->ops->set_taken(store);
}

static struct wp_position place(wp_lsn lsn)
{
	return (struct wp_position){ .timeline = 1, .commit_lsn = lsn };
}

static const char *text_of(wp_lsn lsn)
{
	static char text[WP_POSITION_TEXT_SIZE];
	struct wp_position p = place(lsn);
	return wp_position_text(&p, text);
}

/* The ticket is the LSN. `more`: members beside these, with a comma before them. */
static enum wp_rc put_to(struct wp_parked_store *s, wp_lsn lsn, const char *key, const char *more)
{
	char row[4096];
	int size = snprintf(row, sizeof(row),
			    "{\"position\":\"%s\",\"outbox\":\"public.outbox\",\"key\":%s,"
			    "\"settings\":\"as ever\",\"committed_at_us\":0,\"code\":\"LARGE\","
			    "\"reason\":\"too large\",\"first_reason\":\"too large\"%s}",
			    text_of(lsn), key, more);
	CHECK(size > 0 && (size_t)size < sizeof(row));
	return s->ops->put(s, lsn, (struct wp_span){ (uint8_t *)row, (size_t)size });
}

static void put(wp_lsn lsn, const char *key, const char *more)
{
	CHECK_EQ(put_to(store, lsn, key, more), WP_OK);
}

static size_t collected;
static uint64_t last_ticket;

static size_t collect_from(struct wp_parked_store *s)
{
	uint64_t tickets[64];
	size_t count = s->ops->collect(s, tickets, 64);
	if (count > 0)
		last_ticket = tickets[count - 1];
	collected += count;
	return collected;
}

static void await_tickets(size_t count)
{
	collected = 0;
	AWAIT(&harness, collect_from(store) == count);
}

static bool nothing_is_durable(void)
{
	collected = 0;
	return collect_from(store) == 0;
}

static void await_error(const char *part)
{
	AWAIT(&harness, strstr(view()->error.text, part) != NULL);
}

static void change(struct wp_parked_change c)
{
	CHECK_EQ(store->ops->change(store, &c, 1), WP_OK);
}

static void await_changes(uint64_t count)
{
	AWAIT(&harness, view()->changed == count);
}

static void load(const struct wp_parked_choice *choices, size_t count, size_t size_max)
{
	uint64_t before = view()->loads;
	store->ops->load(store, choices, count, size_max);
	AWAIT(&harness, view()->loads > before);
}

static void look(void)
{
	uint64_t before = view()->looks;
	store->ops->look(store);
	AWAIT(&harness, view()->looks > before);
}

static const char *parked(void)
{
	return harness_value(&harness,
			     "SELECT coalesce(string_agg(ltrim(substr(position, 15, 16), '0'), ' ' "
			     "ORDER BY position), '') FROM walpost.parked WHERE slot = 's'");
}

/* A session of ours that waits for somebody's lock; NULL before. */
static const char *waiting(void)
{
	return harness_value(
		&harness,
		"SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
		"AND query LIKE 'WITH g%%'");
}

static bool is_waiting(void)
{
	return strcmp(waiting(), "0") != 0;
}

/* ---- what is written and read ---- */

static void what_is_put_is_written_as_it_is(void **state)
{
	open_it();
	put(0xA0, "\"k\"",
	    ",\"id\":\"7\",\"type\":\"made\",\"topic\":\"orders\",\"relation\":\"public.outbox_1\","
	    "\"row\":{\"b\": 1.00,  \"a\":\"\\u00e9\"},\"reissued\":\"again\",\"alone\":true,"
	    "\"due_in_ms\":60000");
	put(0xA1, "null", ",\"content\":\"\\\\x00ff\",\"committed_at_us\":1000001");
	await_tickets(2);
	CHECK_TEXT(harness_value(&harness,
				 "SELECT concat_ws('|', slot, outbox, key, id, type, topic, "
				 "relation, \"row\", reissued, settings, code, reason, "
				 "first_reason, attempts, alone, committed_at = '2000-01-01 "
				 "00:00:00+00', next_attempt_at - now() BETWEEN '50 s' AND '60 s') "
				 "FROM walpost.parked WHERE position = '%s'",
				 text_of(0xA0)),
		   "s|public.outbox|k|7|made|orders|public.outbox_1|{\"b\": 1.00,  "
		   "\"a\":\"\\u00e9\"}|again|as ever|LARGE|too large|too large|0|t|t|t");
	CHECK_TEXT(harness_value(&harness,
				 "SELECT concat_ws('|', key IS NULL, \"row\" IS NULL, content, "
				 "alone, next_attempt_at IS NULL, act IS NULL, now() - parked_at < "
				 "'1 minute') FROM walpost.parked WHERE position = '%s'",
				 text_of(0xA1)),
		   "t|t|\\x00ff|f|t|t|t");
	CHECK_TEXT(view()->error.text, "");
}

static void a_row_that_is_there_stays_as_it_is(void **state)
{
	open_it();
	put(0xA0, "\"k\"", ",\"id\":\"first\"");
	await_tickets(1);
	put(0xA0, "\"k\"", ",\"id\":\"second\"");
	put(0xA1, "\"k\"", "");
	await_tickets(2);
	CHECK_TEXT(parked(), "A0 A1");
	CHECK_TEXT(harness_value(&harness, "SELECT string_agg(id, ' ') FROM walpost.parked"),
		   "first");
}

static void the_set_tells_of_aggregates_by_their_first_events(void **state)
{
	open_it();
	put(0xA0, "\"late\"", ",\"due_in_ms\":9223372036854775807,\"alone\":true");
	put(0xA1, "\"k\"", ",\"due_in_ms\":60000");
	put(0xA2, "null", ",\"due_in_ms\":0");
	put(0xA3, "\"k\"", ",\"code\":\"FOLLOWS\"");
	put(0xA4, "null", "");
	put(0xA5, "\"skipped\"", "");
	await_tickets(6);
	harness_sql(&harness, "UPDATE walpost.parked SET act = 'skip' WHERE key = 'skipped'");
	harness_sql(&harness,
		    "UPDATE walpost.parked SET parked_at = now() - interval '1 h' WHERE key = 'k'");
	harness_sql(&harness, "INSERT INTO walpost.parked SELECT (jsonb_populate_record(p, "
			      "'{\"slot\": \"another\"}')).* FROM walpost.parked p");

	open_from(0xA2, 100);
	const struct wp_parked_set *set = &view()->set;
	CHECK_EQ(set->count, 4);
	const struct wp_parked_aggregate *a = set->aggregates;
	CHECK_SPAN(a[0].key, "late");
	CHECK(a[0].due_in_ms == INT64_MAX && a[0].alone);
	CHECK_SPAN(a[1].key, "k");
	CHECK_SPAN(a[1].outbox, "public.outbox");
	CHECK_SPAN(a[1].code, "LARGE");
	CHECK_SPAN(a[1].settings, "as ever");
	CHECK_EQ(a[1].position.commit_lsn, 0xA1);
	CHECK_EQ(a[1].events, 2);
	CHECK(a[1].due_in_ms > 40000 && a[1].due_in_ms <= 60000 && !a[1].alone);
	CHECK(a[1].age_ms >= 3600 * 1000 && a[1].age_ms < 3700 * 1000);
	CHECK(wp_span_is_null(a[2].key) && a[2].events == 1 && a[2].due_in_ms <= 0);
	CHECK(wp_span_is_null(a[3].key) && a[3].position.commit_lsn == 0xA4);
	CHECK(a[3].due_in_ms <= 0 && a[3].due_in_ms > -600000); /* since it was parked */
	CHECK_EQ(set->position_count, 4);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(set->positions[i].commit_lsn, 0xA2 + i);
	store->ops->set_taken(store);
	CHECK_EQ(view()->set.count, 0);

	open_from(0xFF, 1);
	CHECK_EQ(view()->set.count, 2);
	CHECK_EQ(view()->set.position_count, 0);
}

static struct wp_parked_choice choice_of(struct wp_span key, struct wp_position position,
					 uint32_t rows_max)
{
	return (struct wp_parked_choice){
		.outbox = wp_span_of("public.outbox"),
		.key = key,
		.position = position,
		.rows_max = rows_max,
	};
}

static void positions_of_all_epochs_and_timelines_are_told_of(void **state)
{
	static const char *const places[] = { "0001-00000001-00000000000000A0-00000000",
					      "0001-00000001-00000000000000A1-00000000",
					      "0001-00000001-00000000000000F0-FFFFFFFF",
					      "0001-00000002-00000000000000A0-00000000",
					      "0001-00000003-00000000000000A1-00000001",
					      "0002-00000001-000000000000009F-00000000",
					      "FFFF-FFFFFFFF-FFFFFFFFFFFFFFFF-00000000" };
	static const size_t behind[] = { 1, 2, 4, 6 };
	char text[WP_POSITION_TEXT_SIZE];

	open_it();
	for (size_t i = 0; i < 7; i++)
		harness_sql(&harness,
			    "INSERT INTO walpost.parked (slot, position, outbox, settings, "
			    "committed_at, code, reason, first_reason) VALUES ('s', '%s', "
			    "'public.outbox', '', now(), '', '', ''), ('r', '%s', 'public.outbox', "
			    "'', now(), '', '', '')",
			    places[i], places[i]);
	open_from(0xA1, 100);
	CHECK_EQ(view()->set.position_count, 4);
	for (size_t i = 0; i < 4; i++)
		CHECK_TEXT(wp_position_text(&view()->set.positions[i], text), places[behind[i]]);
	open_from(0, 100);
	CHECK_EQ(view()->set.position_count, 7);
}

/* As no walpost writes it. */
static void times_without_end_are_read(void **state)
{
	open_it();
	put(0xA0, "\"k\"", "");
	await_tickets(1);
	for (unsigned i = 0; i < 2; i++) {
		const char *time = i == 0 ? "infinity" : "-infinity";
		harness_sql(&harness,
			    "UPDATE walpost.parked SET parked_at = '%s', committed_at = '%s', "
			    "next_attempt_at = '%s'",
			    time, time, time);
		open_from(0, 100);
		CHECK_EQ(view()->set.count, 1);
		CHECK_EQ(view()->set.aggregates[0].age_ms, 0);
		struct wp_parked_choice choice = choice_of(wp_span_of("k"), place(0xA0), 10);
		load(&choice, 1, 1000000);
		CHECK_EQ(view()->row_count, 1);
	}
}

/* Else the rows of those behind it would be taken for none. */
static void a_row_that_was_given_to_another_aggregate_is_not_loaded(void **state)
{
	open_it();
	put(0xA0, "null", "");
	put(0xA1, "null", "");
	put(0xA2, "\"k\"", "");
	await_tickets(3);
	harness_sql(&harness,
		    "UPDATE walpost.parked SET outbox = 'public.other' WHERE position = '%s'",
		    text_of(0xA0));
	harness_sql(&harness, "UPDATE walpost.parked SET key = 'k' WHERE position = '%s'",
		    text_of(0xA1));
	const struct wp_parked_choice choices[] = {
		choice_of((struct wp_span){ 0 }, place(0xA0), 1),
		choice_of((struct wp_span){ 0 }, place(0xA1), 1),
		choice_of(wp_span_of("k"), place(0xA1), 10),
	};
	load(choices, 3, 1000000);
	CHECK_EQ(view()->row_count, 2);
	CHECK_EQ(view()->rows[0].position.commit_lsn, 0xA1);
	CHECK_EQ(view()->rows[1].position.commit_lsn, 0xA2);
}

/*
 * The server's statistics know of no row of this slot, as they do when many came since the last ANALYZE. No
 * plan may read all of the slot's rows for each row then.
 */
static void a_set_of_ten_thousand_aggregates_is_read(void **state)
{
	static struct wp_parked_change changes[256];

	harness_sql(&harness,
		    "INSERT INTO walpost.parked (slot, position, outbox, key, settings, "
		    "committed_at, code, reason, first_reason) SELECT 'other', 'p', 'o', 'k', '', "
		    "now(), 'C', 'r', 'r'; ANALYZE walpost.parked;"
		    "INSERT INTO walpost.parked (slot, position, outbox, key, settings, "
		    "committed_at, code, reason, first_reason) SELECT 's', '0000-00000001-' || "
		    "lpad(upper(to_hex(i)), 16, '0') || '-00000000', 'o', 'k' || i %% 10000, '', "
		    "now(), 'C', 'r', 'r' FROM generate_series(1, 100000) i");
	open_from(99001, 10000);
	CHECK_EQ(view()->set.count, 10000);
	CHECK_EQ(view()->set.aggregates[9999].events, 10);
	CHECK_EQ(view()->set.position_count, 1000);
	store->ops->set_taken(store);
	for (size_t i = 0; i < 256; i++)
		changes[i] = (struct wp_parked_change){ .kind = WP_PARKED_DELETE,
							.position = place(i + 1) };
	CHECK_EQ(store->ops->change(store, changes, 256), WP_OK);
	await_changes(256);
	CHECK_TEXT(harness_value(&harness, "SELECT count(*) FROM walpost.parked WHERE slot = 's'"),
		   "99744");
}

static void a_load_brings_rows_in_the_order_of_the_choices(void **state)
{
	open_it();
	put(0xA0, "\"k\"", ",\"row\":{\"a\":\"1\"},\"relation\":\"public.outbox\",\"alone\":true");
	put(0xA1, "\"other\"", ",\"content\":\"\\\\x00ff\",\"reissued\":\"r\"");
	put(0xA2, "\"k\"", ",\"committed_at_us\":1000001");
	put(0xA3, "null", "");
	put(0xA4, "\"k\"", "");
	put(0xA5, "\"k\"", "");
	await_tickets(6);
	harness_sql(&harness, "UPDATE walpost.parked SET act = 'skip' WHERE position = '%s'",
		    text_of(0xA4));
	const struct wp_parked_choice choices[] = {
		{ .outbox = wp_span_of("public.outbox"), .position = place(0xA3) },
		{ .outbox = wp_span_of("public.outbox"), .key = wp_span_of("k"), .rows_max = 2 },
		{ .outbox = wp_span_of("public.outbox"), .key = wp_span_of("gone"), .rows_max = 9 },
		{ .outbox = wp_span_of("public.outbox"),
		  .key = wp_span_of("other"),
		  .rows_max = 9 },
	};
	load(choices, 4, 1 << 20);
	const struct wp_parked_row *r = view()->rows;
	CHECK_EQ(view()->row_count, 4);
	CHECK(!view()->rows_cut);
	CHECK(r[0].position.commit_lsn == 0xA3 && wp_span_is_null(r[0].key));
	CHECK(wp_span_is_null(r[0].row) && wp_span_is_null(r[0].content));
	CHECK_EQ(r[1].position.commit_lsn, 0xA0);
	CHECK_SPAN(r[1].outbox, "public.outbox");
	CHECK_SPAN(r[1].key, "k");
	CHECK_SPAN(r[1].relation, "public.outbox");
	CHECK_SPAN(r[1].row, "{\"a\":\"1\"}");
	CHECK(r[1].alone && r[1].commit_time_us == 0 && r[1].attempts == 0);
	CHECK_SPAN(r[1].reason, "too large");
	CHECK_SPAN(r[1].first_reason, "too large");
	CHECK(r[2].position.commit_lsn == 0xA2 && r[2].commit_time_us == 1000001);
	CHECK_EQ(r[3].position.commit_lsn, 0xA1);
	CHECK_SPAN(r[3].content, "\\x00ff");
	CHECK_SPAN(r[3].reissued, "r");

	const struct wp_parked_choice all = { .outbox = wp_span_of("public.outbox"),
					      .key = wp_span_of("k"),
					      .rows_max = 9 };
	load(&all, 1, 1 << 20);
	CHECK_EQ(view()->row_count, 3); /* that which is to be skipped is left out */
	CHECK_EQ(view()->rows[2].position.commit_lsn, 0xA5);
	load(&choices[2], 1, 1 << 20);
	CHECK_EQ(view()->row_count, 0);
}

static void a_load_ends_when_its_bytes_exceed_the_limit(void **state)
{
	const struct wp_parked_choice all = { .outbox = wp_span_of("public.outbox"),
					      .key = wp_span_of("k"),
					      .rows_max = 9 };
	open_it();
	for (wp_lsn i = 0; i < 3; i++)
		put(0xA0 + i, "\"k\"", ",\"row\":{\"a\":\"12345678\"}"); /* 16 bytes */
	await_tickets(3);
	load(&all, 1, 0);
	CHECK(view()->row_count == 1 && view()->rows_cut);
	load(&all, 1, 15);
	CHECK(view()->row_count == 1 && view()->rows_cut);
	load(&all, 1, 16);
	CHECK(view()->row_count == 2 && view()->rows_cut);
	load(&all, 1, 32);
	CHECK(view()->row_count == 3 && !view()->rows_cut);
}

static void rows_are_changed_and_deleted(void **state)
{
	open_it();
	for (wp_lsn i = 0; i < 4; i++)
		put(0xA0 + i, "\"k\"", ",\"due_in_ms\":0");
	await_tickets(4);
	harness_sql(&harness, "UPDATE walpost.parked SET act = 'retry', attempts = 7");
	change((struct wp_parked_change){ .kind = WP_PARKED_DELETE, .position = place(0xA0) });
	change((struct wp_parked_change){ .kind = WP_PARKED_FAILED,
					  .position = place(0xA1),
					  .reason = "still \"too\" large, caf\xc3\xa9 \xff",
					  .code = "LARGER",
					  .attempts = 8,
					  .alone = true,
					  .due_in_ms = 60000 });
	change((struct wp_parked_change){ .kind = WP_PARKED_ALONE, .position = place(0xA2) });
	change((struct wp_parked_change){ .kind = WP_PARKED_FAILED, /* of an earlier stream */
					  .position = place(0xA2),
					  .reason = "old",
					  .code = "OLD",
					  .attempts = 3,
					  .due_in_ms = 60000 });
	change((struct wp_parked_change){ .kind = WP_PARKED_HEARD, .position = place(0xA3) });
	change((struct wp_parked_change){ .kind = WP_PARKED_DELETE, .position = place(0xB0) });
	await_changes(6);
	CHECK_TEXT(parked(), "A1 A2 A3");
	CHECK_TEXT(harness_value(&harness,
				 "SELECT string_agg(concat_ws('|', code, reason, first_reason, "
				 "attempts, alone, act, last_attempt_at IS NOT NULL, "
				 "round(extract(epoch FROM next_attempt_at - now()) / 30)), E'\\n' "
				 "ORDER BY position) FROM walpost.parked"),
		   "LARGER|still \"too\" large, caf?? ?|too large|8|t|retry|t|2\n"
		   "LARGE|too large|too large|7|t|retry|f|0\n"
		   "LARGE|too large|too large|0|f|f|0");
}

static void changes_of_one_row_come_in_their_order(void **state)
{
	open_it();
	put(0xA0, "\"k\"", "");
	await_tickets(1);
	for (uint32_t i = 1; i <= 3; i++)
		change((struct wp_parked_change){ .kind = WP_PARKED_FAILED,
						  .position = place(0xA0),
						  .reason = "r",
						  .code = "C",
						  .attempts = i,
						  .due_in_ms = INT64_MAX });
	await_changes(3);
	CHECK_TEXT(harness_value(&harness, "SELECT attempts || ' ' || next_attempt_at FROM "
					   "walpost.parked"),
		   "3 infinity");
}

/* The act that the relay has seen is not that of now. */
static void a_skip_asked_for_meanwhile_stays(void **state)
{
	open_it();
	put(0xA0, "\"k\"", "");
	await_tickets(1);
	harness_sql(&harness, "UPDATE walpost.parked SET act = 'skip'");
	change((struct wp_parked_change){ .kind = WP_PARKED_HEARD, .position = place(0xA0) });
	await_changes(1);
	CHECK_TEXT(harness_value(&harness, "SELECT act FROM walpost.parked"), "skip");
}

static void a_look_tells_what_was_asked_for(void **state)
{
	open_it();
	look();
	CHECK_EQ(view()->asked_count, 0);
	put(0xA0, "\"k\"", "");
	put(0xA1, "null", "");
	put(0xA2, "\"k\"", "");
	await_tickets(3);
	harness_sql(&harness,
		    "UPDATE walpost.parked SET act = CASE WHEN key IS NULL THEN 'skip' "
		    "ELSE 'retry' END WHERE position < '%s'",
		    text_of(0xA2));
	look();
	CHECK_EQ(view()->asked_count, 2);
	CHECK_EQ(view()->asked[0].act, WP_PARKED_ACT_RETRY);
	CHECK_EQ(view()->asked[0].position.commit_lsn, 0xA0);
	CHECK_SPAN(view()->asked[0].outbox, "public.outbox");
	CHECK_SPAN(view()->asked[0].key, "k");
	CHECK_EQ(view()->asked[1].act, WP_PARKED_ACT_SKIP);
	CHECK(wp_span_is_null(view()->asked[1].key));
}

static void very_many_rows_and_a_large_one_are_written(void **state)
{
	size_t size = 20 * 1024 * 1024;
	char *row = malloc(size + 512);
	int before = snprintf(row, 512,
			      "{\"position\":\"%s\",\"outbox\":\"public.outbox\",\"settings\":\"\","
			      "\"committed_at_us\":0,\"code\":\"C\",\"reason\":\"r\","
			      "\"first_reason\":\"r\",\"row\":{\"payload\":\"",
			      text_of(0xFFFF));
	memset(row + before, 'x', size);
	memcpy(row + before + size, "\"}}", 3);
	struct wp_span large = { (uint8_t *)row, (size_t)before + size + 3 };

	open_it();
	for (wp_lsn i = 1; i <= WP_PARKED_PUT_MAX; i++)
		put(i, "\"k\"", "");
	CHECK_EQ(put_to(store, 0xFFFE, "\"k\"", ""), WP_FULL);
	await_tickets(WP_PARKED_PUT_MAX);
	CHECK_EQ(last_ticket, WP_PARKED_PUT_MAX);
	CHECK_EQ(store->ops->put(store, 0xFFFF, large), WP_OK); /* larger than the limit, alone */
	CHECK_EQ(put_to(store, 0xFFFE, "\"k\"", ""), WP_FULL);
	await_tickets(1);
	put(0xFFFE, "\"k\"", "");
	await_tickets(1);
	CHECK_TEXT(harness_value(&harness, "SELECT count(*) FROM walpost.parked"), "4098");
	const struct wp_parked_choice choice = choice_of((struct wp_span){ 0 }, place(0xFFFF), 1);
	load(&choice, 1, 1);
	CHECK_EQ(view()->row_count, 1);
	CHECK_EQ(view()->rows[0].row.size, size + strlen("{\"payload\":\"\"}"));
	free(row);
}

static void begin_in(const char *encoding)
{
	harness_sql(&harness, "SELECT pg_drop_replication_slot('s')");
	harness_sql(&harness,
		    "CREATE DATABASE other ENCODING '%s' TEMPLATE template0 LC_COLLATE 'C' "
		    "LC_CTYPE 'C'",
		    encoding);
	harness_prepare(&harness, "other");
	harness_sql(&harness, "%s", wp_parked_sql);
}

/* A reason may be told in letters that the database has not got. */
static void other_encodings_keep_what_is_theirs(void **state)
{
	const struct wp_parked_choice choice = { .outbox = wp_span_of("public.outbox"),
						 .key = wp_span_of("caf\xc3\xa9"),
						 .rows_max = 1 };
	begin_in("LATIN1");
	open_it();
	put(0xA0, "\"caf\xc3\xa9\"", ",\"row\":{\"a\":\"\xc3\xa9\"}");
	await_tickets(1);
	change((struct wp_parked_change){ .kind = WP_PARKED_FAILED,
					  .position = place(0xA0),
					  .reason = "\xe2\x86\x92 gone",
					  .code = "C",
					  .attempts = 1 });
	await_changes(1);
	load(&choice, 1, 100);
	CHECK_EQ(view()->row_count, 1);
	CHECK_SPAN(view()->rows[0].row, "{\"a\":\"\xc3\xa9\"}");
	CHECK_SPAN(view()->rows[0].reason, "??? gone");
}

static void bytes_that_are_not_utf8_stay_as_they_are(void **state)
{
	begin_in("SQL_ASCII");
	open_it();
	put(0xA0, "\"caf\xe9\"", ",\"row\":{\"a\":\"\xe9\"}");
	await_tickets(1);
	open_from(0, 10);
	CHECK_EQ(view()->set.count, 1);
	CHECK_SPAN(view()->set.aggregates[0].key, "caf\xe9");
	struct wp_parked_choice choice = { .outbox = view()->set.aggregates[0].outbox,
					   .key = view()->set.aggregates[0].key,
					   .rows_max = 1 };
	load(&choice, 1, 100);
	CHECK_EQ(view()->row_count, 1);
	CHECK_SPAN(view()->rows[0].row, "{\"a\":\"\xe9\"}");
}

/* ---- generations ---- */

static void one_that_was_raised_by_another_writes_nothing(void **state)
{
	struct wp_parked_store *other = new_store("two", NULL);
	open_it();
	put(0xA0, "\"k\"", "");
	await_tickets(1);
	other->ops->open(other, 0, 100);
	AWAIT(&harness, is_in(other, WP_PARKED_READY));
	CHECK_EQ(view_of(other)->set.count, 1);
	put(0xA1, "\"k\"", "");
	AWAIT(&harness, is_in(store, WP_PARKED_FENCED));
	CHECK_HAS(view()->error.text, "another process uses slot s");
	CHECK_TEXT(parked(), "A0");
	CHECK_TEXT(harness_value(&harness, "SELECT generation || owner FROM walpost.parking"),
		   "2two");
	wp_parked_store_free(other);
}

/* On a standby that was promoted before it had got the generation that we raised. */
static void one_whose_generation_was_raised_to_the_same_by_another_writes_nothing(void **state)
{
	open_it();
	harness_sql(&harness, "UPDATE walpost.parking SET owner = 'two'");
	put(0xA0, "\"k\"", "");
	AWAIT(&harness, is_in(store, WP_PARKED_FENCED));
	CHECK_TEXT(parked(), "");
}

static void a_change_a_load_and_a_look_notice_it_too(void **state)
{
	const struct wp_parked_choice choice = { .position = place(0xA0) };
	open_it();
	put(0xA0, "\"k\"", "");
	await_tickets(1);
	for (int i = 0; i < 3; i++) {
		harness_sql(&harness, "UPDATE walpost.parking SET generation = generation + 1");
		if (i == 0)
			store->ops->look(store);
		else if (i == 1)
			store->ops->load(store, &choice, 1, 100);
		else
			change((struct wp_parked_change){ .kind = WP_PARKED_DELETE,
							  .position = place(0xA0) });
		AWAIT(&harness, is_in(store, WP_PARKED_FENCED));
		CHECK_TEXT(parked(), "A0");
		store->ops->close(store);
		open_it();
	}
	AWAIT(&harness, view()->changed == 1); /* kept over the close, and done now */
	CHECK_TEXT(parked(), "");
}

static void one_that_waits_while_the_generation_is_raised_writes_nothing(void **state)
{
	open_it();
	third_does("BEGIN; UPDATE walpost.parking SET generation = generation + 1");
	put(0xA0, "\"k\"", "");
	AWAIT(&harness, is_waiting());
	third_does("COMMIT");
	AWAIT(&harness, is_in(store, WP_PARKED_FENCED));
	CHECK_TEXT(parked(), "");
	CHECK(nothing_is_durable());
}

/* It has locked the generation, and waits for a row: who raises waits for it, and sees the row. */
static void one_that_is_under_way_is_in_the_set_of_who_raises_then(void **state)
{
	struct wp_parked_store *other = new_store("two", NULL);
	open_it();
	third_does("BEGIN; INSERT INTO walpost.parked (slot, position, outbox, settings, "
		   "committed_at, code, reason, first_reason) VALUES ('s', "
		   "'0000-00000001-00000000000000A0-00000000', 'o', '', now(), 'C', 'r', 'r')");
	put(0xA0, "\"k\"", "");
	AWAIT(&harness, is_waiting());
	other->ops->open(other, 0, 100);
	AWAIT(&harness, !strcmp(harness_value(&harness, "SELECT count(*) FROM pg_stat_activity "
							"WHERE wait_event_type = 'Lock'"),
				"2"));
	CHECK_EQ(view_of(other)->state, WP_PARKED_OPENING);
	third_does("ROLLBACK");
	AWAIT(&harness, is_in(other, WP_PARKED_READY));
	CHECK_EQ(view_of(other)->set.count, 1);
	CHECK_SPAN(view_of(other)->set.aggregates[0].key, "k");
	await_tickets(1);
	wp_parked_store_free(other);
}

static void the_generation_is_raised_while_our_walsender_has_the_slot(void **state)
{
	harness_ready(&harness);
	wp_parked_store_free(store);
	store = new_store("one", harness.source);
	store->ops->open(store, 0, 100);
	await_error("slot s is not in use by this relay");
	CHECK_EQ(view()->state, WP_PARKED_FENCED);
	CHECK_TEXT(harness_value(&harness, "SELECT count(*) FROM walpost.parking"), "0");
	harness.source->ops->start(harness.source, harness_view(&harness)->facts.slot_confirmed,
				   harness_view(&harness)->facts.transfer, WP_SLOT_CHECKPOINT_KEEP);
	AWAIT(&harness, harness_view(&harness)->state == WP_SOURCE_STREAMING);
	store->ops->open(store, 0, 100);
	AWAIT(&harness, is_in(store, WP_PARKED_READY));
	CHECK_TEXT(view()->error.text, "");
	CHECK_TEXT(harness_value(&harness, "SELECT generation FROM walpost.parking"), "1");
}

/* ---- opening and closing ---- */

static void close_forgets_what_was_put(void **state)
{
	open_it();
	put(0xA0, "\"k\"", "");
	store->ops->close(store);
	CHECK_EQ(view()->state, WP_PARKED_CLOSED);
	CHECK(nothing_is_durable());
	open_it();
	put(0xA1, "\"k\"", "");
	await_tickets(1);
	CHECK_EQ(last_ticket, 0xA1);
}

static void a_new_stream_keeps_what_was_put(void **state)
{
	const struct wp_parked_choice choice = { .position = place(0xA0) };
	open_it();
	third_does("BEGIN; LOCK walpost.parked");
	put(0xA0, "\"k\"", "");
	AWAIT(&harness, is_waiting());
	uint64_t loads = view()->loads;
	store->ops->load(store, &choice, 1, 100);
	store->ops->look(store);
	store->ops->open(store, 0, 100);
	third_does("COMMIT");
	AWAIT(&harness, is_in(store, WP_PARKED_READY));
	CHECK_EQ(view()->set.count, 1);
	await_tickets(1);
	load(&choice, 1, 100);
	CHECK_EQ(view()->loads, loads + 1); /* that before was forgotten */
}

static void one_that_is_opening_is_opened_anew(void **state)
{
	open_it();
	put(0xA0, "\"k\"", "");
	put(0xA1, "\"k\"", "");
	await_tickets(2);
	third_does("BEGIN; LOCK walpost.parked");
	store->ops->open(store, 0, 100);
	AWAIT(&harness, !strcmp(harness_value(&harness, "SELECT count(*) FROM pg_stat_activity "
							"WHERE wait_event_type = 'Lock'"),
				"1"));
	store->ops->open(store, 0xA1, 100);
	/* Not by what was asked before the generation was raised again. */
	AWAIT(&harness, !strcmp(harness_value(&harness, "SELECT count(*) FROM pg_stat_activity "
							"WHERE wait_event_type = 'Lock'"),
				"2"));
	third_does("COMMIT");
	AWAIT(&harness, is_in(store, WP_PARKED_READY));
	CHECK_EQ(view()->set.position_count, 1);
	CHECK_EQ(view()->set.aggregates[0].events, 2);
	CHECK_TEXT(harness_value(&harness, "SELECT generation FROM walpost.parking"), "3");
}

/* ---- trouble ---- */

static void without_the_table_it_waits_and_says_so(void **state)
{
	harness_sql(&harness, "DROP SCHEMA walpost CASCADE");
	store->ops->open(store, 0, 100);
	await_error("walpost.parking");
	await_error("create walpost.parked by walpost init or sql/parked.sql");
	harness_sql(&harness, "%s", wp_parked_sql);
	AWAIT(&harness, is_in(store, WP_PARKED_READY));
	CHECK_TEXT(view()->error.text, "");
}

static void without_the_right_it_waits_and_says_so(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS parker");
	harness_sql(&harness, "CREATE ROLE parker LOGIN");
	harness_sql(&harness, "GRANT USAGE ON SCHEMA walpost TO parker");
	harness_sql(&harness, "GRANT SELECT, INSERT, UPDATE, DELETE ON walpost.parked, "
			      "walpost.parking TO parker");
	harness_connect_by(&harness, NULL, "dbname=relay user=parker");
	open_it();
	harness_sql(&harness, "REVOKE INSERT ON walpost.parked FROM parker");
	put(0xA0, "\"k\"", "");
	await_error("SELECT, INSERT, UPDATE, DELETE ON walpost.parked, walpost.parking");
	look(); /* what works does not hide what does not */
	CHECK_HAS(view()->error.text, "permission denied");
	CHECK_TEXT(parked(), "");
	harness_sql(&harness, "GRANT INSERT ON walpost.parked TO parker");
	await_tickets(1);
	CHECK_TEXT(parked(), "A0");
}

static void a_locked_table_is_told_and_waited_for(void **state)
{
	open_it();
	third_does("BEGIN; LOCK walpost.parked");
	put(0xA0, "\"k\"", "");
	await_error("end the session that locks walpost.parked");
	third_does("COMMIT");
	await_tickets(1);
	CHECK_TEXT(view()->error.text, "");
}

static void a_statement_that_takes_long_is_given_longer(void **state)
{
	open_it();
	harness_sql(&harness,
		    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
		    "IF current_setting('statement_timeout')::interval < '40 s' THEN "
		    "RAISE 'canceling statement due to statement timeout' USING ERRCODE = '57014'; "
		    "END IF; RETURN NEW; END $$");
	harness_sql(&harness, "CREATE TRIGGER slow BEFORE INSERT ON walpost.parked FOR EACH ROW "
			      "EXECUTE FUNCTION slow()");
	put(0xA0, "\"k\"", "");
	await_error("pg_stat_activity");
	await_tickets(1);
	CHECK_TEXT(view()->error.text, "");
}

static void a_full_disk_is_waited_for(void **state)
{
	harness_sql(&harness, "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ "
			      "BEGIN RAISE 'no space left' USING ERRCODE = '53100'; END $$");
	harness_sql(&harness, "CREATE TRIGGER full_disk BEFORE INSERT ON walpost.parked FOR EACH "
			      "ROW EXECUTE FUNCTION full_disk()");
	open_it();
	put(0xA0, "\"k\"", "");
	await_error("no space left");
	await_error("free disk space");
	harness_sql(&harness, "DROP TRIGGER full_disk ON walpost.parked");
	await_tickets(1);
	CHECK_TEXT(parked(), "A0");
}

static void what_is_told_of_a_row_is_not_its_payload(void **state)
{
	open_it();
	harness_sql(&harness, "ALTER TABLE walpost.parked ADD CONSTRAINT no CHECK (topic <> 't')");
	put(0xA0, "\"k\"", ",\"topic\":\"t\",\"row\":{\"payload\":\"secret\"}");
	await_error("violates check constraint");
	assert_null(strstr(view()->error.text, "secret"));
	harness_sql(&harness, "ALTER TABLE walpost.parked DROP CONSTRAINT no");
	await_tickets(1);
	put(0xA1, "\"k\"", ",\"row\":{\"payload\":\"secret\"},\"content\":\"\\\\xZZ\"");
	AWAIT(&harness, is_in(store, WP_PARKED_REFUSED));
	CHECK_HAS(view()->error.text, "invalid hexadecimal digit");
	assert_null(strstr(view()->error.text, "secret"));
}

static void a_row_that_postgres_never_takes_is_named(void **state)
{
	open_it();
	third_does("BEGIN; LOCK walpost.parked"); /* so that all go at once */
	put(0xA0, "\"k\"", "");
	AWAIT(&harness, is_waiting());
	put(0xA1, "\"k\"", "");
	put(0xA2, "\"k\"", ",\"content\":\"\\\\xZZ\"");
	put(0xA3, "\"k\"", "");
	third_does("COMMIT");
	collected = 0;
	AWAIT(&harness, is_in(store, WP_PARKED_REFUSED));
	CHECK_EQ(collect_from(store), 2);
	CHECK_HAS(view()->error.text, text_of(0xA2));
	CHECK_HAS(view()->error.text, "invalid hexadecimal digit");
	CHECK_TEXT(parked(), "A0 A1");
	store->ops->close(store);
	open_it();
}

static void a_row_beyond_the_servers_limits_is_named(void **state)
{
	size_t depth = 100000;
	char *row = malloc(2 * depth + 512);
	int before = snprintf(row, 512, "{\"position\":\"%s\",\"row\":", text_of(0xA0));
	memset(row + before, '[', depth);
	memset(row + (size_t)before + depth, ']', depth);
	row[(size_t)before + 2 * depth] = '}';
	struct wp_span deep = { (uint8_t *)row, (size_t)before + 2 * depth + 1 };
	open_it();
	CHECK_EQ(store->ops->put(store, 0xA0, deep), WP_OK);
	AWAIT(&harness, is_in(store, WP_PARKED_REFUSED));
	CHECK_HAS(view()->error.text, text_of(0xA0));
	CHECK_HAS(view()->error.text, "stack depth limit exceeded");
	free(row);
}

static void a_killed_session_is_no_loss(void **state)
{
	open_it();
	third_does("BEGIN; LOCK walpost.parked");
	put(0xA0, "\"k\"", "");
	AWAIT(&harness, is_waiting());
	harness_sql(&harness, "SELECT pg_terminate_backend(%s)", waiting());
	await_error("terminating connection");
	third_does("COMMIT");
	await_tickets(1);
	CHECK_TEXT(parked(), "A0");
}

/* It is committed, but the answer does not come: the commit waits for a standby that is not there. */
/* The setting is in effect some time after it is shown: tried by commits of a session of somebody's. */
static bool commits_wait(void)
{
	if (!third)
		third = connect_third();
	CHECK_EQ(PQconsumeInput(third), 1);
	if (PQtransactionStatus(third) != PQTRANS_ACTIVE)
		CHECK_EQ(PQsendQuery(third, "SELECT pg_logical_emit_message(true, 'probe', '')"),
			 1);
	bool so = !strcmp(harness_value(&harness,
					"SELECT coalesce(max(wait_event), '') FROM pg_stat_activity"
					" WHERE pid = %d",
					PQbackendPID(third)),
			  "SyncRep");
	if (so)
		harness_sql(&harness, "SELECT pg_cancel_backend(%d)", PQbackendPID(third));
	while (so || !PQisBusy(third)) {
		PGresult *result = PQgetResult(third);
		if (!result)
			break;
		PQclear(result);
	}
	return so;
}

static void a_commit_whose_answer_is_lost_is_repeated(void **state)
{
	char first[16];
	open_it();
	harness_sql(&harness, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	harness_sql(&harness, "SELECT pg_reload_conf()");
	AWAIT(&harness, commits_wait());
	put(0xA0, "\"k\"", "");
	change((struct wp_parked_change){ .kind = WP_PARKED_ALONE, .position = place(0xA0) });
	static const char waits[] = "SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE "
				    "wait_event = 'SyncRep'";
	AWAIT(&harness, strcmp(harness_value(&harness, "%s", waits), "0") != 0);
	CHECK(nothing_is_durable());
	(void)snprintf(first, sizeof(first), "%s", harness_value(&harness, "%s", waits));
	harness_sql(&harness, "SELECT pg_terminate_backend(%s)", first);
	await_error("connection");
	AWAIT(&harness, strcmp(harness_value(&harness, "%s", waits), "0") != 0 &&
				strcmp(harness_value(&harness, "%s", waits), first) != 0);
	CHECK_HAS(view()->error.text, "connection"); /* until something has succeeded */
	CHECK_TEXT(parked(), "A0");
	harness_sql(&harness, "ALTER SYSTEM RESET synchronous_standby_names");
	harness_sql(&harness, "SELECT pg_reload_conf()");
	await_tickets(1);
	await_changes(1);
	CHECK_TEXT(parked(), "A0");
}

static void a_server_that_restarts_is_waited_for(void **state)
{
	open_it();
	harness_kill_server(&harness);
	put(0xA0, "\"k\"", "");
	await_error("cannot connect");
	harness_start_server(&harness);
	await_tickets(1);
	CHECK_TEXT(parked(), "A0");
}

/* A server that stops "smart" waits for it. */
static void an_idle_connection_is_given_back(void **state)
{
	static const char ours[] = "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
				   "'walpost'";
	open_it();
	CHECK_TEXT(harness_value(&harness, "%s", ours), "1");
	AWAIT(&harness, !strcmp(harness_value(&harness, "%s", ours), "0"));
	put(0xA0, "\"k\"", "");
	await_tickets(1);
}

static void a_busy_connection_is_given_back_too(void **state)
{
	open_it();
	char *before = strdup(harness_value(&harness, "SELECT pid FROM pg_stat_activity WHERE "
						      "application_name = 'walpost'"));
	wp_lsn i = 0;
	AWAIT(&harness,
	      (put(++i, "\"k\"", ""), (void)collect_from(store),
	       !strcmp(harness_value(&harness,
				     "SELECT count(*) FROM pg_stat_activity WHERE pid = %s",
				     before),
		       "0")));
	free(before);
}

/* ---- durability ---- */

static void a_commit_does_not_wait_for_us_as_a_synchronous_standby(void **state)
{
	harness.options.allow_synchronous = true;
	harness_set(&harness, "synchronous_standby_names = '*'");
	open_it();
	put(0xA0, "\"k\"", "");
	await_tickets(1);
}

static void what_is_not_flushed_is_not_durable(void **state)
{
	harness_sql(&harness, "ALTER DATABASE relay SET synchronous_commit = off");
	harness_sql(&harness,
		    "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
		    "new.id := current_setting('synchronous_commit'); RETURN new; END $$");
	harness_sql(&harness, "CREATE TRIGGER noted BEFORE INSERT ON walpost.parked FOR EACH ROW "
			      "EXECUTE FUNCTION noted()");
	open_it();
	put(0xA0, "\"k\"", "");
	await_tickets(1);
	CHECK_TEXT(harness_value(&harness, "SELECT id FROM walpost.parked"), "on");
}

static void protect_slot(void)
{
	harness_sql(&harness, "SELECT pg_drop_replication_slot('s')");
	harness_sql(&harness, "SELECT pg_create_logical_replication_slot('s', 'pgoutput', false, "
			      "false, true)");
	harness_sql(&harness, "SELECT pg_create_physical_replication_slot('standby', true)");
	harness_set(&harness, "synchronized_standby_slots = 'standby'");
}

/* As if the standby had flushed all there is. */
static void advance_standby(void)
{
	harness_sql(&harness, "SELECT pg_replication_slot_advance('standby', "
			      "pg_current_wal_flush_lsn())");
}

static void what_is_not_on_the_standbys_is_not_durable(void **state)
{
	if (server_version() < 17)
		return;
	protect_slot();
	store->ops->open(store, 0, 100);
	await_error("slot standby is not in use");
	CHECK_EQ(view()->state, WP_PARKED_OPENING);
	advance_standby();
	AWAIT(&harness, is_in(store, WP_PARKED_READY));
	CHECK_TEXT(view()->error.text, "");
	put(0xA0, "\"k\"", "");
	await_error("slot standby is not in use");
	CHECK_TEXT(parked(), "A0");
	put(0xA1, "\"k\"", "");
	AWAIT(&harness, !strcmp(parked(), "A0 A1"));
	CHECK(nothing_is_durable());
	advance_standby();
	AWAIT(&harness, collect_from(store) == 2);
	CHECK_TEXT(view()->error.text, "");
}

static void a_standby_slot_that_is_gone_is_named(void **state)
{
	if (server_version() < 17)
		return;
	protect_slot();
	advance_standby();
	harness_sql(&harness, "SELECT pg_drop_replication_slot('standby')");
	store->ops->open(store, 0, 100);
	await_error("slot standby does not exist");
	harness_sql(&harness, "ALTER SYSTEM RESET synchronized_standby_slots");
	harness_sql(&harness, "SELECT pg_reload_conf()");
	AWAIT(&harness, is_in(store, WP_PARKED_READY));
	put(0xA0, "\"k\"", "");
	await_tickets(1);
}

/* It was committed on a primary that died before its standby had it. */
static void what_the_standby_has_not_got_is_repeated_there(void **state)
{
	if (server_version() < 17)
		return;
	protect_slot();
	store->ops->open(store, 0, 100);
	AWAIT(&harness, (advance_standby(), is_in(store, WP_PARKED_READY)));
	put(0xA0, "\"k\"", "");
	AWAIT(&harness, !strcmp(parked(), "A0"));
	await_error("slot standby");
	harness_sql(&harness, "DELETE FROM walpost.parked");
	store->ops->open(store, 0, 100);
	AWAIT(&harness, (advance_standby(), is_in(store, WP_PARKED_READY)));
	await_tickets(1);
	CHECK_TEXT(parked(), "A0");
}

int main(void)
{
	return RUN(
		TEST(what_is_put_is_written_as_it_is), TEST(a_row_that_is_there_stays_as_it_is),
		TEST(the_set_tells_of_aggregates_by_their_first_events),
		TEST(positions_of_all_epochs_and_timelines_are_told_of),
		TEST(times_without_end_are_read),
		TEST(a_row_that_was_given_to_another_aggregate_is_not_loaded),
		TEST(a_set_of_ten_thousand_aggregates_is_read),
		TEST(a_load_brings_rows_in_the_order_of_the_choices),
		TEST(a_load_ends_when_its_bytes_exceed_the_limit),
		TEST(rows_are_changed_and_deleted), TEST(changes_of_one_row_come_in_their_order),
		TEST(a_skip_asked_for_meanwhile_stays), TEST(a_look_tells_what_was_asked_for),
		TEST(very_many_rows_and_a_large_one_are_written),
		TEST(other_encodings_keep_what_is_theirs),
		TEST(bytes_that_are_not_utf8_stay_as_they_are),
		TEST(one_that_was_raised_by_another_writes_nothing),
		TEST(one_whose_generation_was_raised_to_the_same_by_another_writes_nothing),
		TEST(a_change_a_load_and_a_look_notice_it_too),
		TEST(one_that_waits_while_the_generation_is_raised_writes_nothing),
		TEST(one_that_is_under_way_is_in_the_set_of_who_raises_then),
		TEST(the_generation_is_raised_while_our_walsender_has_the_slot),
		TEST(close_forgets_what_was_put), TEST(a_new_stream_keeps_what_was_put),
		TEST(one_that_is_opening_is_opened_anew),
		TEST(without_the_table_it_waits_and_says_so),
		TEST(without_the_right_it_waits_and_says_so),
		TEST(a_locked_table_is_told_and_waited_for),
		TEST(a_statement_that_takes_long_is_given_longer), TEST(a_full_disk_is_waited_for),
		TEST(what_is_told_of_a_row_is_not_its_payload),
		TEST(a_row_that_postgres_never_takes_is_named),
		TEST(a_row_beyond_the_servers_limits_is_named), TEST(a_killed_session_is_no_loss),
		TEST(a_commit_whose_answer_is_lost_is_repeated),
		TEST(a_server_that_restarts_is_waited_for), TEST(an_idle_connection_is_given_back),
		TEST(a_busy_connection_is_given_back_too),
		TEST(a_commit_does_not_wait_for_us_as_a_synchronous_standby),
		TEST(what_is_not_flushed_is_not_durable),
		TEST(what_is_not_on_the_standbys_is_not_durable),
		TEST(a_standby_slot_that_is_gone_is_named),
		TEST(what_the_standby_has_not_got_is_repeated_there));
}

/*
 * The pipeline against a naive model: random transactions of all kinds of changes, a sink
 * that often takes nothing, streams that are lost and begin again. Each frame gives the
 * record it should, none, and never two; the positions are those of the naive ledger.
 */
#include <stdio.h>

#include "naive_ledger.h"
#include "seeds.h"
#include "support/check.h"
#include "support/partitions.h"
#include "support/wire_writer.h"
#include "support/rows.h"
#include "walpost/relay/pipeline.h"

enum {
	OUTBOX = 16400,
	LEAF,
	IGNORED,
	SLOT_CHECKPOINT,
	TABLES = 4,
	COLUMNS = 5,
	TRANSACTIONS = 20,
	CHANGES_MAX = 8,
	EVENTS = TRANSACTIONS * CHANGES_MAX,
	LSN_STEP = 1000,
	COMMIT_SIZE = 8,
};

enum change {
	ROW_OUTBOX,
	ROW_LEAF,
	ROW_IGNORED,
	ROW_SLOT_CHECKPOINT,
	MESSAGE_WITHIN,
	MESSAGE_ASIDE,
	UPDATE,
	DELETE,
	TRUNCATE,
	ORIGIN,
	CHANGE_KINDS,
};

/* They come round. */
static const uint32_t first_xid = UINT32_MAX - 3;

static struct seeds seeds = { .first = 1, .count = 3000 };

static const char *const NAMES[COLUMNS] = { "id", "aggregatetype", "aggregateid", "type",
					    "payload" };

struct sink {
	struct wp_sink base;
	struct run *run;
	unsigned refuses; /* of ten offers */
	size_t taken;
	/* The last. */
	wp_ticket ticket;
	char id[32];
	char text[256]; /* all else of it */
};

struct run {
	uint64_t seed;
	uint64_t random;
	size_t frames;
	struct wp_outbox_options options;
	struct wp_outboxes outboxes;
	struct wp_ledger ledger;
	struct naive_ledger naive;
	struct sink sink;
	struct wp_pipeline *pipeline;
	struct wp_partitions partitions;
	/* The log: what was committed. */
	enum change changes[TRANSACTIONS][CHANGES_MAX];
	size_t change_count[TRANSACTIONS];
	size_t tx; /* that is being sent */
	/* The stream. */
	bool told[TABLES];
	size_t order[TABLES][COLUMNS]; /* of the columns, as last told */
	uint8_t room[1024];
	struct wire_writer wire;
	/* What came of it. */
	unsigned sent[EVENTS];
	int newest; /* first occurrences so far */
	bool repeats;
	struct wp_pipeline_counts counts;
};

static uint64_t any(struct run *r, uint64_t below)
{
	return wp_random_next(&r->random) % below;
}

static bool chance(struct run *r, unsigned per_hundred)
{
	return any(r, 100) < per_hundred;
}

static void same(const struct run *r, const char *what, uint64_t got, uint64_t wanted)
{
	if (got != wanted)
		fail_msg("seed %" PRIu64 ", frame %zu: %s is %" PRIu64 ", should be %" PRIu64,
			 r->seed, r->frames, what, got, wanted);
}

static void same_text(const struct run *r, const char *what, const char *got, const char *wanted)
{
	if (strcmp(got, wanted) != 0)
		fail_msg("seed %" PRIu64 ", frame %zu: %s is \"%s\", should be \"%s\"", r->seed,
			 r->frames, what, got, wanted);
}

/* -- the sink ------------------------------------------------------------- */

static void describe(const struct wp_record *record, char *text, size_t size)
{
	char position[WP_POSITION_TEXT_SIZE];

	(void)snprintf(text, size, "%.*s key %.*s value %.*s at %s", (int)record->topic.size,
		       (const char *)record->topic.data, (int)record->key.size,
		       (const char *)record->key.data, (int)record->value.size,
		       (const char *)record->value.data,
		       wp_position_text(&record->position, position));
}

static enum wp_rc op_send(struct wp_sink *base, wp_ticket ticket, const struct wp_record *record,
			  struct wp_error *error)
{
	struct sink *s = (struct sink *)base;

	if (any(s->run, 10) < s->refuses)
		return chance(s->run, 50) ? WP_AGAIN : WP_FULL;
	s->taken++;
	s->ticket = ticket;
	(void)snprintf(s->id, sizeof(s->id), "%.*s", (int)record->id.size,
		       (const char *)record->id.data);
	describe(record, s->text, sizeof(s->text));
	return WP_OK;
}

static const struct wp_sink_ops OPS = { .send = op_send };

static void settle(struct run *r)
{
	wp_ticket ticket = naive_pick(&r->naive, wp_random_next(&r->random));

	same(r, "settled", wp_ledger_settle(&r->ledger, ticket), naive_settle(&r->naive, ticket));
}

/* -- one frame ------------------------------------------------------------ */

static void compare(struct run *r)
{
	same(r, "confirmed_lsn", wp_ledger_confirmed_lsn(&r->ledger), naive_safe(&r->naive));
	same(r, "read", wp_ledger_received_lsn(&r->ledger), r->naive.read);
	same(r, "next", wp_ledger_next(&r->ledger), r->naive.next);
	same(r, "in flight", r->ledger.in_flight, naive_in_flight(&r->naive));
}

/* An answer that is sometimes long in coming. */
static void answer(struct run *r)
{
	uint32_t xid = wp_pipeline_question(r->pipeline);
	char leaf[32];

	same(r, "a question about a transaction", xid, first_xid + (uint32_t)r->tx);
	/* Too early, it does not know the partition yet. */
	bool early = chance(r, 30);
	(void)snprintf(leaf, sizeof(leaf), "%d 0", LEAF);
	know_partitions(&r->partitions, early ? "" : leaf, early ? xid : xid + 1);
}

/* Offers the frame that was written until it is taken; meanwhile nothing changes. */
static void offer(struct run *r)
{
	size_t taken = r->sink.taken;
	struct wp_taken how;
	struct wp_error error = { .text = "" };

	r->frames++;
	for (;;) {
		struct wp_pipeline_counts before = *wp_pipeline_counts(r->pipeline);
		enum wp_rc rc = wp_pipeline_take(r->pipeline, wire_span(&r->wire), &how, &error);
		if (rc == WP_OK)
			return;
		same(r, "records of a frame that was not taken", r->sink.taken, taken);
		if (memcmp(&before, wp_pipeline_counts(r->pipeline), sizeof(before)) != 0)
			fail_msg("seed %" PRIu64 ", frame %zu: counts changed", r->seed, r->frames);
		compare(r);
		if (rc == WP_PAUSE)
			answer(r);
		else if (rc == WP_FULL || rc == WP_AGAIN)
			settle(r);
		else
			fail_msg("seed %" PRIu64 ", frame %zu: answer %d, %s", r->seed, r->frames,
				 (int)rc, error.text);
	}
}

static struct wire_writer *frame(struct run *r)
{
	wire_init(&r->wire, r->room, sizeof(r->room));
	return &r->wire;
}

static struct wire_writer *data(struct run *r)
{
	wire_data(frame(r), chance(r, 50) ? 0 : any(r, 100000));
	return &r->wire;
}

static void offer_without_record(struct run *r)
{
	size_t taken = r->sink.taken;

	offer(r);
	same(r, "records", r->sink.taken, taken);
	compare(r);
}

/* -- what the server says ------------------------------------------------- */

static wp_lsn commit_lsn(size_t tx)
{
	return (tx + 1) * LSN_STEP;
}

/* Above what was committed before, below the commit that is being sent. */
static void keepalive(struct run *r, size_t tx)
{
	wp_lsn wal_end = commit_lsn(tx) - 1 - any(r, LSN_STEP - COMMIT_SIZE - 1);

	wire_keepalive(frame(r), wal_end, chance(r, 50));
	naive_keepalive(&r->naive, wal_end);
	size_t taken = r->sink.taken;
	offer(r);
	same(r, "records", r->sink.taken, taken);
	compare(r);
}

static void tell(struct run *r, uint32_t oid)
{
	static const char *const TABLE[TABLES][2] = { { "public", "outbox" },
						      { "public", "outbox_p1" },
						      { "audit", "log" },
						      { "walpost", "slot_checkpoint" } };
	struct wire_column columns[COLUMNS];
	size_t table = oid - OUTBOX;

	if (r->told[table] && !chance(r, 10))
		return;
	for (size_t i = 0; i < COLUMNS; i++)
		r->order[table][i] = i;
	for (size_t i = COLUMNS - 1; i > 0; i--) {
		size_t other = any(r, i + 1);
		size_t kept = r->order[table][i];
		r->order[table][i] = r->order[table][other];
		r->order[table][other] = kept;
	}
	for (size_t i = 0; i < COLUMNS; i++)
		columns[i] = (struct wire_column){ NAMES[r->order[table][i]], TEXT_OID };
	wire_relation(data(r), oid, TABLE[table][0], TABLE[table][1], columns, COLUMNS);
	offer_without_record(r);
	r->told[table] = true;
}

static void write_row(struct run *r, uint32_t oid, int event)
{
	char id[16];
	char key[16];
	char payload[32];
	const char *const by_name[COLUMNS] = { id, "t", key, "made", payload };
	const char *values[COLUMNS];

	(void)snprintf(id, sizeof(id), "%d", event);
	(void)snprintf(key, sizeof(key), "k%d", event % 7);
	(void)snprintf(payload, sizeof(payload), "{\"n\": %d}", event);
	for (size_t i = 0; i < COLUMNS; i++)
		values[i] = by_name[r->order[oid - OUTBOX][i]];
	wire_insert(data(r), oid, values, COLUMNS);
}

static void note_sent(struct run *r, int event)
{
	if (r->sent[event]++ > 0) {
		same(r, "a repetition without a loss", r->repeats, true);
		return;
	}
	same(r, "the order of first occurrences", event > r->newest, true);
	r->newest = event;
}

static void event_row(struct run *r, uint32_t oid, size_t tx, uint32_t ordinal, int event)
{
	char wanted[256];
	char id[16];
	size_t taken = r->sink.taken;
	wp_ticket ticket = r->naive.next;

	tell(r, oid);
	write_row(r, oid, event);
	offer(r);
	naive_add(&r->naive, 0);
	same(r, "records", r->sink.taken, taken + 1);
	same(r, "ticket", r->sink.ticket, ticket);
	(void)snprintf(id, sizeof(id), "%d", event);
	same_text(r, "id", r->sink.id, id);
	(void)snprintf(wanted, sizeof(wanted),
		       "outbox.event.t key k%d value {\"n\": %d} at 0002-00000001-%016llX-%08X",
		       event % 7, event, (unsigned long long)commit_lsn(tx), (unsigned)ordinal);
	same_text(r, "record", r->sink.text, wanted);
	note_sent(r, event);
	compare(r);
	r->counts.events++;
}

static void other_row(struct run *r, uint32_t oid)
{
	tell(r, oid);
	write_row(r, oid, 0);
	offer_without_record(r);
	r->counts.ignored += oid != SLOT_CHECKPOINT; /* walpost's own */
}

static void change_of_old_row(struct run *r, enum change change)
{
	static const char *const VALUES[COLUMNS] = { "1", "t", "k", "made", "{}" };

	tell(r, OUTBOX);
	if (change == UPDATE)
		wire_update(data(r), OUTBOX, VALUES, COLUMNS);
	else if (change == DELETE)
		wire_delete(data(r), OUTBOX, VALUES, COLUMNS);
	else
		wire_truncate(data(r), OUTBOX);
	offer_without_record(r);
	r->counts.updates += change == UPDATE;
	r->counts.deletes += change == DELETE;
	r->counts.truncates += change == TRUNCATE;
}

/* Whether it counts in the ordinal. */
static bool one_change(struct run *r, size_t tx, size_t at, uint32_t ordinal)
{
	enum change change = r->changes[tx][at];
	int event = (int)(tx * CHANGES_MAX + at);

	switch (change) {
	case ROW_OUTBOX:
		event_row(r, OUTBOX, tx, ordinal, event);
		return true;
	case ROW_LEAF:
		event_row(r, LEAF, tx, ordinal, event);
		return true;
	case ROW_IGNORED:
		other_row(r, IGNORED);
		return true;
	case ROW_SLOT_CHECKPOINT:
		other_row(r, SLOT_CHECKPOINT);
		return true;
	case MESSAGE_WITHIN:
	case MESSAGE_ASIDE:
		wire_message(data(r), change == MESSAGE_WITHIN, 5, "prefix", "content");
		offer_without_record(r);
		r->counts.messages++;
		return change == MESSAGE_WITHIN;
	case ORIGIN:
		wire_origin(data(r), 5, "elsewhere");
		offer_without_record(r);
		return false;
	default:
		change_of_old_row(r, change);
		return false;
	}
}

static void random_settles(struct run *r)
{
	while (chance(r, 40))
		settle(r);
	compare(r);
}

/* -- the stream ----------------------------------------------------------- */

static void begin_stream(struct run *r)
{
	wp_pipeline_begin(r->pipeline, &(struct wp_timelines){ .current = 1 }, "UTF8");
	memset(r->told, 0, sizeof(r->told));
}

/* The connection is lost, and sometimes the sink too; the next transaction to send. */
static size_t lose(struct run *r)
{
	wp_ledger_drop_open(&r->ledger);
	naive_drop_open(&r->naive);
	if (chance(r, 30)) {
		wp_lsn confirmed_lsn = naive_safe(&r->naive);
		wp_ledger_forget(&r->ledger, confirmed_lsn);
		naive_forget(&r->naive, confirmed_lsn);
	}
	compare(r);
	begin_stream(r);
	r->repeats = true;
	size_t tx = 0;
	while (tx < TRANSACTIONS && commit_lsn(tx) < wp_ledger_received_lsn(&r->ledger))
		tx++;
	return tx;
}

/* False when the stream was lost in the middle. */
static bool transaction(struct run *r, size_t tx, unsigned losses)
{
	uint32_t ordinal = 0;
	uint64_t events = r->counts.events;

	r->tx = tx;
	wire_begin_as(data(r), commit_lsn(tx), 0, first_xid + (uint32_t)tx);
	offer_without_record(r);
	for (size_t i = 0; i < r->change_count[tx]; i++) {
		ordinal += one_change(r, tx, i, ordinal);
		random_settles(r);
		if (chance(r, 10))
			keepalive(r, tx);
		if (chance(r, losses))
			return false;
	}
	wire_commit(data(r), commit_lsn(tx), commit_lsn(tx) + COMMIT_SIZE, 0);
	size_t taken = r->sink.taken;
	offer(r);
	same(r, "records", r->sink.taken, taken);
	naive_commit(&r->naive, commit_lsn(tx) + COMMIT_SIZE);
	compare(r);
	r->counts.transactions += r->counts.events > events;
	return true;
}

static void set_up(struct run *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r)); /* large: no literal of it on the stack */
	r->seed = seed;
	r->random = seeds_start(seed);
	r->newest = -1;
	r->options = default_options();
	r->outboxes = only(&r->options, "audit.*, audit.log");
	r->sink = (struct sink){ .base = { &OPS }, .run = r, .refuses = (unsigned)any(r, 8) };
	size_t capacity = 1 + any(r, 30);
	CHECK_EQ(wp_ledger_init(&r->ledger, capacity, chance(r, 50) ? 3000 : SIZE_MAX), WP_OK);
	naive_init(&r->naive, capacity, SIZE_MAX / 2);
	for (size_t tx = 0; tx < TRANSACTIONS; tx++) {
		r->change_count[tx] = any(r, CHANGES_MAX + 1);
		for (size_t i = 0; i < r->change_count[tx]; i++)
			r->changes[tx][i] = (enum change)any(r, CHANGE_KINDS);
	}
	struct wp_pipeline_setup setup = {
		.outboxes = &r->outboxes,
		.epoch = 2,
		.value_size_max = 1000,
		.partitions = &r->partitions,
		.ledger = &r->ledger,
		.sink = &r->sink.base,
	};
	CHECK_EQ(wp_pipeline_new(&setup, &r->pipeline, NULL), WP_OK);
	begin_stream(r);
}

static bool is_event(enum change change)
{
	return change == ROW_OUTBOX || change == ROW_LEAF;
}

static void check_end(struct run *r)
{
	const struct wp_pipeline_counts *counts = wp_pipeline_counts(r->pipeline);

	while (naive_in_flight(&r->naive) > 0)
		settle(r);
	compare(r);
	same(r, "confirmed in the end", wp_ledger_confirmed_lsn(&r->ledger),
	     commit_lsn(TRANSACTIONS - 1) + COMMIT_SIZE);
	for (size_t tx = 0; tx < TRANSACTIONS; tx++) {
		for (size_t i = 0; i < r->change_count[tx]; i++) {
			unsigned sent = r->sent[tx * CHANGES_MAX + i];
			same(r, "an event sent", sent > 0, is_event(r->changes[tx][i]));
		}
	}
	same(r, "events", counts->events, r->counts.events);
	same(r, "transactions", counts->transactions, r->counts.transactions);
	same(r, "updates", counts->updates, r->counts.updates);
	same(r, "deletes", counts->deletes, r->counts.deletes);
	same(r, "truncates", counts->truncates, r->counts.truncates);
	same(r, "messages", counts->messages, r->counts.messages);
	same(r, "ignored", counts->ignored, r->counts.ignored);
}

static void run(struct run *r, uint64_t seed)
{
	set_up(r, seed);
	unsigned losses = chance(r, 50) ? (unsigned)any(r, 4) : 0;
	for (size_t tx = 0; tx < TRANSACTIONS;) {
		if (chance(r, 20))
			keepalive(r, tx);
		bool whole = transaction(r, tx, losses);
		tx = whole && !chance(r, losses) ? tx + 1 : lose(r);
	}
	check_end(r);
	wp_pipeline_free(r->pipeline);
	wp_partitions_release(&r->partitions);
	wp_ledger_release(&r->ledger);
}

static void every_event_goes_once_and_in_order_to_the_sink(void **state)
{
	static struct run r;

	for (uint64_t i = 0; i < seeds.count; i++)
		run(&r, seeds.first + i);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		PLAIN(every_event_goes_once_and_in_order_to_the_sink),
	};

	if (!seeds_read(&seeds, argc, argv)) {
		(void)fprintf(stderr, "usage: %s [--seed N]\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}

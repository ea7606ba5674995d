#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "support/wire_writer.h"
#include "world.h"

enum { RELATION_OID = 16400, REISSUE_OID = 16500, TEXT_OID = 25, KEEPALIVE_MS = 500 };

/* -- frames --------------------------------------------------------------- */

/* What it has sent, by all that it is: the walsender's sentPtr. */
static void sent_up_to(struct world *w, struct link *l, wp_lsn lsn)
{
	l->sent = wp_lsn_max(l->sent, lsn);
	w->server.sent_most = wp_lsn_max(w->server.sent_most, l->sent);
}

/* In order: none overtakes the one before. */
static struct frame *new_frame(struct world *w, struct link *l, struct wire_writer *wire)
{
	struct frame *f = &l->frames[(l->frame_first + l->frame_count++) % PIPE_FRAMES];

	*f = (struct frame){ .arrives_ms = w->now_ms + 1 + (int64_t)any(w, 4) };
	if (l->frame_count > 1) {
		struct frame *before =
			&l->frames[(l->frame_first + l->frame_count - 2) % PIPE_FRAMES];
		if (f->arrives_ms < before->arrives_ms)
			f->arrives_ms = before->arrives_ms;
	}
	wire_init(wire, f->bytes, FRAME_BYTES);
	return f;
}

static int64_t commit_time(const struct transaction *tx)
{
	return 1000000 + (int64_t)tx->commit_lsn;
}

static void send_begin(struct world *w, struct link *l, const struct transaction *tx)
{
	struct wire_writer wire;
	struct frame *f = new_frame(w, l, &wire);

	wire_data(&wire, tx->commit_lsn);
	wire_begin(&wire, tx->commit_lsn, commit_time(tx));
	f->size = wire.size;
}

static void send_relation(struct world *w, struct link *l)
{
	struct wire_writer wire;
	struct frame *f = new_frame(w, l, &wire);

	wire_data(&wire, 0);
	wire_relation(&wire, RELATION_OID, "public", "outbox", wire_outbox_columns, 5);
	f->size = wire.size;
}

static void send_row(struct world *w, struct link *l, const struct transaction *tx, uint32_t event)
{
	char id[16];
	char aggregate[16];
	const char *values[] = { id, "t", aggregate, "happened", "{}" };
	struct wire_writer wire;
	struct frame *f = new_frame(w, l, &wire);

	snprintf(id, sizeof(id), "%u", (unsigned)event);
	snprintf(aggregate, sizeof(aggregate), "a%u", (unsigned)w->server.aggregate_of[event]);
	if (w->park != NULL && w->park->keyless[event])
		values[2] = NULL;
	if (park_is_refused(w, event, BY_SHAPE))
		values[1] = "no/topic";
	wire_data(&wire, tx->commit_lsn - 8);
	wire_insert(&wire, RELATION_OID, values, 5);
	f->size = wire.size;
}

static void send_mark_relation(struct world *w, struct link *l)
{
	static const struct wire_column columns[] = {
		{ "slot", TEXT_OID },	 { "outbox", TEXT_OID }, { "row", TEXT_OID },
		{ "content", TEXT_OID }, { "reason", TEXT_OID }, { "position", TEXT_OID },
		{ "kind", TEXT_OID },
	};
	struct wire_writer wire;
	struct frame *f = new_frame(w, l, &wire);

	wire_data(&wire, 0);
	wire_relation(&wire, REISSUE_OID, "walpost", "reissue", columns, 7);
	f->size = wire.size;
}

static void send_mark(struct world *w, struct link *l, const struct transaction *tx)
{
	char number[16];
	const char *values[] = { "walpost", "", NULL, NULL, "drain", number, "mark" };
	struct wire_writer wire;
	struct frame *f = new_frame(w, l, &wire);

	snprintf(number, sizeof(number), "%u", (unsigned)tx->drain);
	wire_data(&wire, tx->commit_lsn - 8);
	wire_insert(&wire, REISSUE_OID, values, 7);
	f->size = wire.size;
}

static void send_commit(struct world *w, struct link *l, const struct transaction *tx)
{
	struct wire_writer wire;
	struct frame *f = new_frame(w, l, &wire);

	wire_data(&wire, tx->end_lsn);
	wire_commit(&wire, tx->commit_lsn, tx->end_lsn, commit_time(tx));
	f->size = wire.size;
}

static void send_keepalive(struct world *w, struct link *l, bool reply)
{
	struct wire_writer wire;
	struct frame *f = new_frame(w, l, &wire);

	wire_keepalive(&wire, l->sent, reply);
	f->size = wire.size;
	l->keepalive_ms = w->now_ms;
}

/* -- the walsender -------------------------------------------------------- */

bool link_holds_slot(const struct world *w, int link)
{
	return link >= 0 && w->server.holder == link;
}

static void end_walsender(struct world *w, int link)
{
	struct link *l = &w->server.links[link];

	l->streaming = false;
	if (w->server.holder == link)
		w->server.holder = -1;
}

void link_break(struct world *w, int link)
{
	struct link *l = &w->server.links[link];

	end_walsender(w, link);
	l->broken = true;
	w->wake[l->relay] = true;
}

int link_open(struct world *w, int relay)
{
	for (int i = 0; i < LINKS_MAX; i++) {
		struct link *l = &w->server.links[i];
		if (l->used)
			continue;
		*l = (struct link){ .used = true, .serial = ++w->server.serials, .relay = relay };
		return i;
	}
	return -1;
}

void server_start_stream(struct world *w, int link, wp_lsn at)
{
	struct server *s = &w->server;
	struct link *l = &s->links[link];
	wp_lsn from = wp_lsn_max(at, s->confirmed);

	assert(s->holder == -1);
	s->holder = link;
	l->streaming = true;
	l->heard_ms = w->now_ms;
	l->keepalive_ms = w->now_ms;
	sent_up_to(w, l, s->confirmed);
	l->next_tx = 0;
	while (l->next_tx < s->transaction_count && s->transactions[l->next_tx].commit_lsn < from)
		l->next_tx++;
	l->at = AT_BEGIN;
}

/* One frame of the next transaction; false: all is sent, or the pipe is full. */
static bool send_next(struct world *w, struct link *l)
{
	struct server *s = &w->server;

	if (l->frame_count >= PIPE_FRAMES - 2 || l->next_tx >= s->transaction_count)
		return false;
	const struct transaction *tx = &s->transactions[l->next_tx];
	if (tx->unpublished) {
		sent_up_to(w, l, tx->end_lsn);
		l->next_tx++;
		return true;
	}
	switch (l->at) {
	case AT_BEGIN:
		send_begin(w, l, tx);
		l->next_row = 0;
		if (tx->drain != 0) {
			l->at = AT_MARK;
			break;
		}
		l->at = l->relation_sent ? AT_ROWS : AT_RELATION;
		break;
	case AT_RELATION:
		send_relation(w, l);
		l->relation_sent = !chance(w, 50); /* they come again now and then */
		l->at = AT_ROWS;
		break;
	case AT_ROWS:
		if (l->next_row < tx->event_count)
			send_row(w, l, tx, tx->first_event + l->next_row++);
		else
			l->at = AT_COMMIT;
		break;
	case AT_MARK:
		send_mark_relation(w, l);
		send_mark(w, l, tx);
		l->at = AT_COMMIT;
		break;
	case AT_COMMIT:
		send_commit(w, l, tx);
		sent_up_to(w, l, tx->end_lsn);
		s->decoded++;
		l->next_tx++;
		l->at = AT_BEGIN;
		break;
	}
	return true;
}

static bool may_ping(const struct link *l)
{
	return l->frame_count < PIPE_FRAMES - 1;
}

static void check_confirmed(struct world *w, wp_lsn flush)
{
	const struct server *s = &w->server;

	for (size_t i = 0; i < s->transaction_count && s->transactions[i].end_lsn <= flush; i++) {
		const struct transaction *tx = &s->transactions[i];
		if (tx->end_lsn <= s->confirmed)
			continue;
		for (uint32_t e = tx->first_event; e < tx->first_event + tx->event_count; e++) {
			if (!park_is_safe(w, e))
				violate(w,
					w->park != NULL
						? "confirmed an event that is nowhere"
						: "confirmed an event that Kafka does not hold",
					"event %u, flush %llX", e, (unsigned long long)flush);
		}
	}
}

void server_take_status(struct world *w, int link, wp_lsn flush)
{
	struct server *s = &w->server;
	struct link *l = &s->links[link];

	l->heard_ms = w->now_ms;
	l->asked = false;
	/* By an earlier walsender too: a resumed stream confirms what came over the last one. */
	if (flush > s->sent_most)
		violate(w, "confirmed what was never sent", "flush %llX, sent %llX",
			(unsigned long long)flush, (unsigned long long)s->sent_most);
	check_confirmed(w, flush);
	if (s->found_by == l->relay && flush > s->found_at)
		violate(w, "confirmed on after it found the publication broken", "flush %llX, %llX",
			(unsigned long long)flush, (unsigned long long)s->found_at);
	if (flush > s->confirmed)
		s->confirmed = flush;
}

static void walsender_idle(struct world *w, struct link *l)
{
	struct server *s = &w->server;
	bool moved = l->sent < s->wal;

	sent_up_to(w, l, s->wal); /* nothing for us in the rest */
	if (s->state == SERVER_STOPPING) {
		/* WalSndDone: all is sent; it waits for the flush, asking again and again. */
		if (s->confirmed >= l->sent)
			l->ended = true;
		else if (!l->asked && may_ping(l)) {
			send_keepalive(w, l, true);
			l->asked = true;
		}
	} else if (may_ping(l) && (moved || w->now_ms - l->keepalive_ms >= KEEPALIVE_MS)) {
		send_keepalive(w, l, false);
	}
}

static void walsender_clock(struct world *w, int link)
{
	struct server *s = &w->server;
	struct link *l = &s->links[link];
	int64_t silence = w->now_ms - l->heard_ms;

	if (silence > s->wal_sender_timeout_ms) {
		if (!l->cut && !w->frozen[l->relay])
			s->timeouts++;
		trace(w, "walsender of relay %d times out", l->relay);
		if (l->cut)
			end_walsender(w, link);
		else
			link_break(w, link);
	} else if (silence > s->wal_sender_timeout_ms / 2 && !l->asked && may_ping(l)) {
		send_keepalive(w, l, true);
		l->asked = true;
	}
}

static void walsender_tick(struct world *w, int link)
{
	struct link *l = &w->server.links[link];

	if (l->status_waits && l->status_arrives_ms <= w->now_ms && !l->cut) {
		l->status_waits = false;
		server_take_status(w, link, l->status_flush);
	}
	if (l->done_by_client) {
		l->ended = true;
	} else if (!l->cut) {
		unsigned sent = 0;
		while (sent < 16 && send_next(w, l))
			sent++;
		if (l->next_tx >= w->server.transaction_count)
			walsender_idle(w, l);
	}
	if (l->ended) {
		end_walsender(w, link);
		w->wake[l->relay] = true;
		return;
	}
	walsender_clock(w, link);
}

/* -- the server ----------------------------------------------------------- */

void server_init(struct world *w)
{
	w->server = (struct server){
		.wal = 0x1000,
		.confirmed = 0x1000,
		.persisted = 0x1000,
		.holder = -1,
		.found_by = -1,
		.timelines = { .current = 1 },
		.wal_sender_timeout_ms = 6000,
	};
}

void server_commit(struct world *w, uint32_t events)
{
	struct server *s = &w->server;

	if (s->state != SERVER_UP || s->transaction_count == TRANSACTIONS_MAX ||
	    s->event_count + events > EVENTS_MAX)
		return;
	s->wal += 16 * (uint64_t)events + any(w, 3) * 64;
	struct transaction *tx = &s->transactions[s->transaction_count++];
	*tx = (struct transaction){
		.commit_lsn = s->wal,
		.end_lsn = s->wal + 48,
		.first_event = s->event_count,
		.event_count = events,
		.unpublished = s->broken,
	};
	s->wal = tx->end_lsn;
	/* What is lost by a human's hand is not ours to deliver. */
	for (uint32_t i = 0; i < events && s->broken; i++)
		w->broker.kept[s->event_count + i] = true;
	for (uint32_t i = 0; i < events; i++) {
		s->aggregate_of[s->event_count] = (uint8_t)any(w, AGGREGATES);
		if (w->park != NULL)
			park_commit(w, s->event_count);
		if (w->table != NULL)
			table_insert(w, s->event_count);
		s->event_count++;
	}
}

void server_drain(struct world *w, int64_t patience_ms)
{
	struct server *s = &w->server;

	if (s->state != SERVER_UP || s->transaction_count == TRANSACTIONS_MAX || s->broken)
		return;
	server_commit(w, 0);
	s->transactions[s->transaction_count - 1].drain = s->drain = ++s->drains;
	s->drain_ends_ms = w->now_ms + patience_ms;
	trace(w, "drain %u begins", (unsigned)s->drain);
}

void server_other_wal(struct world *w)
{
	if (w->server.state == SERVER_UP)
		w->server.wal += 128;
}

static void break_all(struct world *w)
{
	for (int i = 0; i < LINKS_MAX; i++) {
		if (w->server.links[i].used)
			link_break(w, i);
	}
	if (w->park != NULL)
		park_break_connections(w);
}

void server_crash(struct world *w, int64_t down_ms)
{
	struct server *s = &w->server;

	if (s->state == SERVER_DOWN)
		return;
	trace(w, "server crashes");
	break_all(w);
	s->state = SERVER_DOWN;
	s->up_at_ms = w->now_ms + down_ms;
	s->confirmed = s->persisted;
	s->moved_from = 0; /* it was not on disk yet */
	s->thief_until_ms = 0;
	s->decoded = 0;
	s->life++;
	/* Of a failover slot a standby takes over. */
	if (w->park != NULL && w->park->has_standby && chance(w, 500)) {
		park_failover(w);
		s->timelines.past[s->timelines.count].timeline = s->timelines.current++;
		s->timelines.past[s->timelines.count++].ends_at = s->wal;
	}
}

void server_move_slot(struct world *w)
{
	struct server *s = &w->server;
	bool told = s->slot_checkpoint_stopped ||
		    (s->slot_checkpoint_life == s->life && s->slot_checkpoint_decoded > 0);

	if (s->state != SERVER_UP || s->holder != -1 || s->thief_until_ms != 0 ||
	    s->moved_from != 0 || !told || s->wal <= s->confirmed ||
	    s->wal <= s->slot_checkpoint_confirmed)
		return;
	trace(w, "the slot is made anew");
	s->moved_from = s->confirmed;
	s->stolen = false;
	s->moved_decoded = s->decoded;
	s->confirmed = s->wal;
	s->decoded = 0;
}

void server_steal_slot(struct world *w, int64_t for_ms, bool is_walpost)
{
	struct server *s = &w->server;

	if (s->state != SERVER_UP || s->holder != -1 || s->thief_until_ms != 0 ||
	    s->moved_from != 0 || s->slot_checkpoint_owner[0] == '\0')
		return;
	trace(w, "%s takes the slot", is_walpost ? "an older relay" : "a thief");
	s->thief_until_ms = w->now_ms + for_ms;
	s->thief_is_walpost = is_walpost;
}

static void thief_tick(struct world *w)
{
	struct server *s = &w->server;

	if (s->thief_until_ms == 0 || w->now_ms < s->thief_until_ms)
		return;
	s->thief_until_ms = 0;
	if (s->state != SERVER_UP || s->wal <= s->confirmed)
		return;
	trace(w, "the thief lets go of the slot at %llX, had it at %llX",
	      (unsigned long long)s->wal, (unsigned long long)s->confirmed);
	s->moved_from = s->confirmed;
	s->stolen = true;
	s->told_by[0] = '\0';
	s->moved_decoded = s->decoded;
	s->confirmed = s->stolen_to = s->wal;
	s->decoded++;
}

/* People have dealt with what was stolen: it is not to be delivered any more. */
static void write_off(struct world *w)
{
	struct server *s = &w->server;

	for (size_t i = 0; i < s->transaction_count; i++) {
		const struct transaction *tx = &s->transactions[i];
		if (tx->end_lsn <= s->moved_from || tx->end_lsn > s->stolen_to)
			continue;
		for (uint32_t e = 0; e < tx->event_count; e++)
			w->broker.kept[tx->first_event + e] = s->written_off[tx->first_event + e] =
				true;
	}
	s->moved_from = 0;
	s->written_off_ms = w->now_ms;
}

/* walpost backfill, or walpost slot accept: what is missing is not the relays' any more. */
void server_accept_slot(struct world *w)
{
	struct server *s = &w->server;

	if (w->table != NULL)
		table_accept_slot(w);
	write_off(w);
	s->slot_checkpoint_version++;
	s->slot_checkpoint_confirmed = s->slot_checkpoint_at = s->confirmed;
	s->slot_checkpoint_stopped = false;
	s->slot_checkpoint_decoded = s->decoded;
	s->slot_checkpoint_life = s->life;
}

void server_unmove_slot(struct world *w)
{
	struct server *s = &w->server;

	if (s->moved_from == 0)
		return;
	s->confirmed = s->moved_from;
	if (!s->stolen)
		s->decoded = s->moved_decoded;
	s->moved_from = 0;
	s->unmoved_ms = w->now_ms;
}

static bool is_delivered(const struct world *w, wp_lsn from, wp_lsn to)
{
	const struct server *s = &w->server;

	for (size_t i = 0; i < s->transaction_count && s->transactions[i].end_lsn <= to; i++) {
		const struct transaction *tx = &s->transactions[i];
		for (uint32_t e = 0; tx->end_lsn > from && e < tx->event_count; e++)
			if (!park_is_safe(w, tx->first_event + e))
				return false;
	}
	return true;
}

/*
 * Whom the row names knows that no relay moved the slot: it may begin only if that happened after it
 * had looked, and then says so soon. Another cannot know, but tells how far the slot is beyond what
 * it knows.
 */
static void accept_theft(struct world *w, const char *owner, const struct wp_source_facts *seen)
{
	struct server *s = &w->server;

	bool is_lost = !is_delivered(w, s->moved_from, s->confirmed);

	if (seen->slot_confirmed < s->confirmed) {
		if (s->told_by[0] == '\0') /* else a human knows */
			snprintf(s->unnoticed_by, sizeof(s->unnoticed_by), "%s", owner);
	} else if (is_lost && strcmp(seen->slot_checkpoint_owner, owner) == 0 &&
		   strcmp(s->told_by, owner) != 0)
		violate(w, "went on from a slot that was stolen", "at %llX",
			(unsigned long long)s->confirmed);
	else if (is_lost && s->told_by[0] == '\0')
		violate(w, "went on from a slot that was stolen without a word", "at %llX",
			(unsigned long long)s->confirmed);
	write_off(w);
}

/* To where all is delivered anyway: the relay knows, and may go on. */
void server_accept_move(struct world *w, const char *owner, const struct wp_source_facts *seen)
{
	struct server *s = &w->server;

	if (strcmp(s->unnoticed_by, owner) != 0)
		s->unnoticed_by[0] = '\0'; /* nothing tells this one */
	if (s->moved_from == 0)
		return;
	if (s->stolen) {
		accept_theft(w, owner, seen);
		return;
	}
	if (!is_delivered(w, s->moved_from, s->confirmed))
		violate(w, "went on from a slot that was moved behind its back", "at %llX",
			(unsigned long long)s->confirmed);
	s->decoded = s->moved_decoded;
	s->moved_from = 0;
}

void server_break_publication(struct world *w)
{
	struct server *s = &w->server;

	if (s->state != SERVER_UP || s->broken)
		return;
	trace(w, "the publication is broken");
	s->broken = true;
	s->breaks++;
	s->broken_ms = w->now_ms;
}

void server_stop(struct world *w)
{
	struct server *s = &w->server;

	if (s->state != SERVER_UP)
		return;
	trace(w, "server stops");
	s->state = SERVER_STOPPING;
	s->stopping_since_ms = w->now_ms;
}

static void server_end_stop(struct world *w)
{
	struct server *s = &w->server;
	int64_t took = w->now_ms - s->stopping_since_ms;

	trace(w, "server is down after %lld ms", (long long)took);
	if (took > s->stop_took_ms)
		s->stop_took_ms = took;
	break_all(w);
	server_unmove_slot(w);
	s->state = SERVER_DOWN;
	s->life++;
	s->persisted = s->confirmed;
	s->up_at_ms = w->now_ms + 500 + (int64_t)any(w, 5000);
}

void server_tick(struct world *w)
{
	struct server *s = &w->server;

	if (s->state == SERVER_DOWN) {
		if (w->now_ms < s->up_at_ms)
			return;
		s->state = SERVER_UP;
		trace(w, "server is up");
	}
	if (s->drain != 0 && w->now_ms >= s->drain_ends_ms) {
		trace(w, "drain %u gives up", (unsigned)s->drain);
		s->drain = 0;
	}
	thief_tick(w);
	if (chance(w, 2) && s->moved_from == 0)
		s->persisted = s->confirmed;
	for (int i = 0; i < LINKS_MAX; i++) {
		if (s->links[i].used && s->links[i].streaming)
			walsender_tick(w, i);
	}
	if (s->state == SERVER_STOPPING && s->holder == -1 && s->thief_until_ms == 0)
		server_end_stop(w);
}

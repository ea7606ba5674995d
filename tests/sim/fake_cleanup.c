/*
 * The outbox as a table of the simulated server, with places that are used again, and one that removes its rows
 * (source/cleanup.h) as sql/cleanup.sql does: looked at, and removed if they are the same still. Draws from its own numbers.
 */
#include <assert.h>
#include <stdlib.h>

#include "walpost/base/backoff.h"
#include "walpost/relay/faults.h"
#include "world.h"

enum { ANSWER_MS = 60, EVERY_MS = 40, NONE = UINT32_MAX };

static uint64_t draw(struct outbox_table *t, uint64_t below)
{
	return wp_random_next(&t->random) % below;
}

/* -- the table --------------------------------------------------------------------- */

void table_init(struct world *w, uint64_t random)
{
	w->table = calloc(1, sizeof(*w->table));
	assert(w->table != NULL);
	w->table->random = random;
	w->table->floor_of = NONE;
}

void table_release(struct world *w)
{
	free(w->table);
	w->table = NULL;
}

void table_insert(struct world *w, uint32_t event)
{
	struct outbox_table *t = w->table;
	uint32_t place = t->free_count > 0 ? t->free[--t->free_count] : t->place_count++;

	t->places[place] = event;
	t->never_streamed[event] = w->server.broken;
}

static void free_place(struct outbox_table *t, uint32_t place)
{
	t->places[place] = NONE;
	t->free[t->free_count++] = place;
}

/* The application deletes rows of its own, too. */
void table_tick(struct world *w)
{
	struct outbox_table *t = w->table;

	if (w->server.state != SERVER_UP || t->place_count == 0 || draw(t, 10) != 0)
		return;
	uint32_t place = (uint32_t)draw(t, t->place_count);
	if (t->places[place] != NONE)
		free_place(t, place);
}

/* People say where the slot stands now: what it has passed, and nothing delivered, no relay will bring. */
void table_accept_slot(struct world *w)
{
	const struct server *s = &w->server;

	for (size_t i = 0; i < s->transaction_count; i++) {
		const struct transaction *tx = &s->transactions[i];
		for (uint32_t e = 0; tx->end_lsn <= s->confirmed && e < tx->event_count; e++)
			if (!park_is_safe(w, tx->first_event + e))
				w->table->never_streamed[tx->first_event + e] = true;
	}
	w->table->floor_of = NONE;
}

static bool is_parked(const struct world *w, uint32_t event)
{
	return w->park != NULL && w->park->rows[event].there;
}

static bool is_above_floor(const struct world *w, uint32_t event)
{
	const struct outbox_table *t = w->table;

	return wp_fault(WP_FAULT_CLEANUP_NO_FLOOR) || (t->floor_of != NONE && event >= t->floor);
}

static bool is_free(const struct world *w, uint32_t event)
{
	return wp_fault(WP_FAULT_CLEANUP_PARKED) || !is_parked(w, event);
}

static void check_removed(struct world *w, uint32_t event)
{
	const struct broker *b = &w->broker;

	if (w->table->never_streamed[event])
		violate(w, "removed a row that was never streamed", "event %u", (unsigned)event);
	else if (is_parked(w, event))
		violate(w, "removed the row of a parked event", "event %u", (unsigned)event);
	else if (!b->kept[event] && !b->dead[event] &&
		 !(w->park != NULL && w->park->given_up[event]))
		violate(w, "removed a row whose event is nowhere", "event %u", (unsigned)event);
}

/* -- one that removes ---------------------------------------------------------------- */

static struct fake_cleanup *self(struct wp_cleanup_store *s)
{
	return (struct fake_cleanup *)s;
}

static void wait_for(struct fake_cleanup *c, enum wp_cleanup_state state, int64_t ms)
{
	c->view.state = state;
	c->due_ms = c->world->now_ms + ms;
	c->asked_at = c->world->server.wal;
}

/* While the publication is broken nothing may be removed; then all that is there is not known to have been streamed. */
static bool finds_floor(struct world *w)
{
	struct outbox_table *t = w->table;

	if (w->server.broken)
		return false;
	if (t->floor_of != w->server.breaks) {
		t->floor_of = w->server.breaks;
		t->floor = w->server.event_count;
	}
	return true;
}

static void look(struct fake_cleanup *c)
{
	struct world *w = c->world;
	struct outbox_table *t = w->table;

	c->count = 0;
	for (size_t i = 0; finds_floor(w) && i < 64 && c->count < CLEANUP_ROWS; i++) {
		uint32_t place = (uint32_t)draw(t, t->place_count + 1);
		if (place == t->place_count || t->places[place] == NONE ||
		    !is_above_floor(w, t->places[place]) || !is_free(w, t->places[place]))
			continue;
		c->places[c->count] = place;
		c->events[c->count++] = t->places[place];
	}
	c->view.lsn = wp_fault(WP_FAULT_CLEANUP_LSN_FIRST) ? c->asked_at : w->server.wal;
	if (c->count == 0)
		wait_for(c, WP_CLEANUP_LOOKING, EVERY_MS);
	else
		c->view.state = WP_CLEANUP_LOOKED;
	w->wake[c->relay] = true;
}

static void remove_looked(struct fake_cleanup *c)
{
	struct world *w = c->world;
	struct outbox_table *t = w->table;

	for (size_t i = 0; i < c->count; i++) {
		uint32_t event = t->places[c->places[i]];
		bool is_same = event == c->events[i] || wp_fault(WP_FAULT_CLEANUP_ANY_ROW);
		bool is_above = is_above_floor(w, event) || wp_fault(WP_FAULT_CLEANUP_KEPT_BATCH);
		if (event == NONE || !is_same || !is_above || !is_free(w, event))
			continue;
		check_removed(w, event);
		free_place(t, c->places[i]);
		t->removed++;
	}
	c->count = 0;
}

/* Beside the stream: to the same server, while that has it. */
static bool is_connected(const struct fake_cleanup *c)
{
	return c->world->server.state == SERVER_UP && c->source->link >= 0;
}

void fake_cleanup_tick(struct fake_cleanup *c)
{
	enum wp_cleanup_state state = c->view.state;

	if (c->world->now_ms < c->due_ms || !is_connected(c))
		return;
	if (state == WP_CLEANUP_LOOKING)
		look(c);
	else if (state == WP_CLEANUP_REMOVING || c->leaves) {
		remove_looked(c);
		c->leaves = false;
		if (state == WP_CLEANUP_REMOVING)
			wait_for(c, WP_CLEANUP_LOOKING, EVERY_MS);
	}
}

static void open(struct wp_cleanup_store *s)
{
	struct fake_cleanup *c = self(s);

	c->leaves = false;
	wait_for(c, WP_CLEANUP_LOOKING, (int64_t)draw(c->world->table, ANSWER_MS));
}

/* A removal that is on its way arrives all the same. */
static void close(struct wp_cleanup_store *s)
{
	struct fake_cleanup *c = self(s);

	c->leaves = c->view.state == WP_CLEANUP_REMOVING;
	c->view.state = WP_CLEANUP_CLOSED;
}

static void remove_rows(struct wp_cleanup_store *s)
{
	struct fake_cleanup *c = self(s);

	assert(c->view.state == WP_CLEANUP_LOOKED);
	wait_for(c, WP_CLEANUP_REMOVING, (int64_t)draw(c->world->table, ANSWER_MS));
}

static const struct wp_cleanup_view *view(struct wp_cleanup_store *s)
{
	return &self(s)->view;
}

void fake_cleanup_init(struct fake_cleanup *c, struct world *w, int relay,
		       const struct fake_source *source)
{
	static const struct wp_cleanup_store_ops ops = {
		.open = open,
		.close = close,
		.remove = remove_rows,
		.view = view,
	};

	*c = (struct fake_cleanup){
		.base = { &ops },
		.world = w,
		.relay = relay,
		.source = source,
	};
}

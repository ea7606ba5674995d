#include "walpost/relay/wal_guard.h"

enum {
	FLOOD_SPAN_MS = 60 * 1000,
	FLOOD_SPACING_MS = 1000,
	SEEP_SPAN_MS = 10 * 60 * 1000,
	SEEP_SPACING_MS = 10 * 1000,
	SPAN_MIN_MS = 5 * 1000,
	SAMPLES_MIN = 4,
	URGENT_BELOW_S = 5 * 60,
	TELL_EVERY_MS = 60 * 1000,
};

/* These are two segments, of 16 MiB unless initdb was told otherwise. */
#define SAW_BYTES (INT64_C(32) << 20)

static void clear(struct wp_wal_guard_window *w)
{
	w->first = w->count = 0;
}

void wp_wal_guard_forget(struct wp_wal_guard *g)
{
	g->lost_at = 0;
	clear(&g->flood);
	clear(&g->seep);
}

void wp_wal_guard_init(struct wp_wal_guard *g)
{
	*g = (struct wp_wal_guard){
		.flood = { .span_ms = FLOOD_SPAN_MS, .spacing_ms = FLOOD_SPACING_MS },
		.seep = { .span_ms = SEEP_SPAN_MS, .spacing_ms = SEEP_SPACING_MS },
		.told_ms = INT64_MIN,
	};
}

static size_t place(const struct wp_wal_guard_window *w, size_t index)
{
	return (w->first + index) % WP_WAL_GUARD_SAMPLES;
}

static void drop_oldest(struct wp_wal_guard_window *w)
{
	w->first = place(w, 1);
	w->count--;
}

static void add(struct wp_wal_guard_window *w, int64_t now_ms, int64_t size)
{
	while (w->count > 0 && now_ms - w->samples[w->first].at_ms > w->span_ms)
		drop_oldest(w);
	if (w->count > 0 && now_ms - w->samples[place(w, w->count - 1)].at_ms < w->spacing_ms)
		return;
	if (w->count == WP_WAL_GUARD_SAMPLES)
		drop_oldest(w);
	size_t at = place(w, w->count++);
	w->samples[at].at_ms = now_ms;
	w->samples[at].size = size;
}

/* Returns the place of the highest from `from` up to but not including `to`. */
static size_t highest(const struct wp_wal_guard_window *w, size_t from, size_t to)
{
	size_t best = place(w, from);

	for (size_t i = from + 1; i < to; i++) {
		if (w->samples[place(w, i)].size > w->samples[best].size)
			best = place(w, i);
	}
	return best;
}

/* Returns bytes a second; 0 when they do not become fewer, or not for sure. */
static int64_t rate_of(const struct wp_wal_guard_window *w, int64_t left)
{
	if (w->count < SAMPLES_MIN)
		return 0;
	size_t then = highest(w, 0, w->count / 2);
	size_t now = highest(w, w->count / 2, w->count);
	size_t last = place(w, w->count - 1);
	int64_t fallen = w->samples[then].size - w->samples[now].size;
	int64_t ms = w->samples[now].at_ms - w->samples[then].at_ms;
	bool sure = left < SAW_BYTES || w->samples[then].size - w->samples[last].size >= SAW_BYTES;

	if (w->samples[last].at_ms - w->samples[w->first].at_ms < SPAN_MIN_MS)
		return 0;
	if (!sure || fallen <= 0 || ms <= 0)
		return 0;
	return fallen * 1000 / ms;
}

/* What is written brings the position at which the slot is lost no nearer: a lower limit does. */
static void look_at_the_limit(struct wp_wal_guard *g, int64_t safe_size, uint64_t server)
{
	if (server == 0)
		return;
	uint64_t lost_at = server + (uint64_t)safe_size; /* below 0: before it, modulo 2^64 */
	if (g->lost_at != 0 && (int64_t)(g->lost_at - lost_at) > SAW_BYTES)
		wp_wal_guard_forget(g);
	g->lost_at = lost_at;
}

struct wp_wal_guard_estimate wp_wal_guard_sample(struct wp_wal_guard *g, int64_t now_ms,
						 int64_t safe_size, uint64_t server)
{
	struct wp_wal_guard_estimate e = { .left = safe_size > 0 ? safe_size : 0 };

	look_at_the_limit(g, safe_size, server);
	add(&g->flood, now_ms, safe_size);
	add(&g->seep, now_ms, safe_size);
	int64_t flood = rate_of(&g->flood, e.left);
	int64_t seep = rate_of(&g->seep, e.left);
	e.rate = flood > seep ? flood : seep;
	e.seconds = e.rate > 0 ? e.left / e.rate : INT64_MAX;
	if (safe_size <= 0)
		e.seconds = 0; /* the next checkpoint takes it */
	e.level = e.seconds >= WP_WAL_GUARD_WARN_BELOW_S ? WP_WAL_GUARD_FINE
		  : e.seconds < URGENT_BELOW_S		 ? WP_WAL_GUARD_URGENT
							 : WP_WAL_GUARD_WARN;
	return e;
}

bool wp_wal_guard_tells(struct wp_wal_guard *g, int64_t now_ms,
			const struct wp_wal_guard_estimate *e)
{
	bool urgent = e->level == WP_WAL_GUARD_URGENT;

	if (e->level == WP_WAL_GUARD_FINE) {
		g->told_urgent = false;
		return false;
	}
	if (g->told_ms != INT64_MIN && now_ms - g->told_ms < TELL_EVERY_MS &&
	    (g->told_urgent || !urgent))
		return false;
	g->told_ms = now_ms;
	g->told_urgent = urgent;
	return true;
}

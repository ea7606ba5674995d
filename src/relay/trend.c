#include "walpost/relay/trend.h"

/* So near the end of the log the rest is the server's own records, and no trend. */
#define NEAR_BYTES (64 * 1024)

void wp_trend_init(struct wp_trend *t)
{
	*t = (struct wp_trend){ .last = { .at_ms = 0 } };
	wp_guard_init(&t->guard);
}

static int64_t per_second(uint64_t from, uint64_t to, int64_t ms)
{
	return (int64_t)((double)(to - from) * 1000. / (double)ms);
}

static int64_t lag_of(const struct wp_trend_look *look)
{
	return look->server > look->confirmed ? (int64_t)(look->server - look->confirmed) : 0;
}

static int64_t time_to(int64_t lag, int64_t gain_per_s)
{
	if (lag <= NEAR_BYTES)
		return 0;
	return gain_per_s > 0 ? lag / gain_per_s : INT64_MAX;
}

/* A slot that was made anew, or a server that was replaced: nothing follows from before. */
static bool goes_on(const struct wp_trend_look *last, const struct wp_trend_look *look)
{
	return last->at_ms != 0 && look->at_ms > last->at_ms && last->confirmed != 0 &&
	       look->confirmed >= last->confirmed && look->server >= last->server;
}

static int64_t losing(struct wp_trend *t, const struct wp_trend_look *look)
{
	if (look->is_limited)
		return wp_guard_sample(&t->guard, look->at_ms, look->safe_size, look->server)
			.seconds;
	wp_guard_forget(&t->guard);
	return INT64_MAX;
}

struct wp_trend_rates wp_trend_look(struct wp_trend *t, const struct wp_trend_look *look)
{
	struct wp_trend_rates rates = { .caught_up_s = INT64_MAX, .lost_in_s = losing(t, look) };
	int64_t ms = look->at_ms - t->last.at_ms;

	if (goes_on(&t->last, look)) {
		rates.is_known = true;
		rates.confirmed_per_s = per_second(t->last.confirmed, look->confirmed, ms);
		rates.written_per_s = per_second(t->last.server, look->server, ms);
		if (lag_of(look) > NEAR_BYTES)
			rates.lag_per_s = rates.written_per_s - rates.confirmed_per_s;
		rates.caught_up_s = time_to(lag_of(look), -rates.lag_per_s);
	}
	t->last = *look;
	return rates;
}

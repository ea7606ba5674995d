#include "walpost/relay/trend.h"

/* So near the end of the log the rest is the server's own records, and no trend. */
#define NEAR_BYTES (64 * 1024)

void wp_trend_init(struct wp_trend *t)
{
	*t = (struct wp_trend){ .last = { .at_ms = 0 } };
	wp_wal_guard_init(&t->guard);
}

static int64_t per_second(uint64_t from, uint64_t to, int64_t ms)
{
	return (int64_t)((double)(to - from) * 1000. / (double)ms);
}

static int64_t lag_of(const struct wp_trend_sample *sample)
{
	return sample->server > sample->confirmed ? (int64_t)(sample->server - sample->confirmed)
						  : 0;
}

static int64_t time_to(int64_t lag, int64_t gain_per_s)
{
	if (lag <= NEAR_BYTES)
		return 0;
	return gain_per_s > 0 ? lag / gain_per_s : INT64_MAX;
}

/* When the slot was made anew, or the server replaced, nothing follows from before. */
static bool goes_on(const struct wp_trend_sample *last, const struct wp_trend_sample *sample)
{
	return last->at_ms != 0 && sample->at_ms > last->at_ms && last->confirmed != 0 &&
	       sample->confirmed >= last->confirmed && sample->server >= last->server;
}

static int64_t losing(struct wp_trend *t, const struct wp_trend_sample *sample)
{
	if (sample->is_limited)
		return wp_wal_guard_sample(&t->guard, sample->at_ms, sample->safe_size,
					   sample->server)
			.seconds;
	wp_wal_guard_forget(&t->guard);
	return INT64_MAX;
}

struct wp_trend_rates wp_trend_add(struct wp_trend *t, const struct wp_trend_sample *sample)
{
	struct wp_trend_rates rates = { .caught_up_s = INT64_MAX, .lost_in_s = losing(t, sample) };
	int64_t ms = sample->at_ms - t->last.at_ms;

	if (goes_on(&t->last, sample)) {
		rates.is_known = true;
		rates.confirmed_per_s = per_second(t->last.confirmed, sample->confirmed, ms);
		rates.written_per_s = per_second(t->last.server, sample->server, ms);
		if (lag_of(sample) > NEAR_BYTES)
			rates.lag_per_s = rates.written_per_s - rates.confirmed_per_s;
		rates.caught_up_s = time_to(lag_of(sample), -rates.lag_per_s);
	}
	t->last = *sample;
	return rates;
}

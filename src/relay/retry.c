#include <stdio.h>
#include <string.h>

#include "retry.h"

enum {
	CONNECT_FIRST_MS = 200,
	CONNECT_MAX_MS = 10 * 1000,
	REWIND_FIRST_MS = 100,
	REWIND_MAX_MS = 5 * 1000,
	AWAY_MS = 10 * 1000,
	AWAY_JITTER_MS = 2 * 1000,
	REFRESH_EVERY_MS = 1000,
};

void wp_retry_init(struct wp_retry *r, uint64_t seed)
{
	*r = (struct wp_retry){ .random = seed };
	wp_backoff_init(&r->connect, CONNECT_FIRST_MS, CONNECT_MAX_MS);
	wp_backoff_init(&r->rewind, REWIND_FIRST_MS, REWIND_MAX_MS);
}

static int64_t after(struct wp_retry *r, struct wp_backoff *b, int64_t now_ms)
{
	int64_t at_ms = now_ms + wp_backoff_next(b, wp_random_next(&r->random));

	return at_ms < r->away_until_ms ? r->away_until_ms : at_ms;
}

int64_t wp_retry_after_loss(struct wp_retry *r, int64_t now_ms)
{
	return after(r, &r->connect, now_ms);
}

int64_t wp_retry_after_rewind(struct wp_retry *r, int64_t now_ms)
{
	return after(r, &r->rewind, now_ms);
}

int64_t wp_retry_stay_away(struct wp_retry *r, int64_t now_ms)
{
	r->away_until_ms =
		now_ms + AWAY_MS + (int64_t)(wp_random_next(&r->random) % AWAY_JITTER_MS);
	return r->away_until_ms;
}

int64_t wp_retry_refresh(struct wp_retry *r, int64_t now_ms)
{
	return now_ms + REFRESH_EVERY_MS / 2 +
	       (int64_t)(wp_random_next(&r->random) % REFRESH_EVERY_MS);
}

bool wp_retry_is_useless(struct wp_repeated_trouble *t, const char *code, wp_lsn at, size_t max)
{
	if (t->at != at || strcmp(t->code, code) != 0) {
		*t = (struct wp_repeated_trouble){ .at = at };
		(void)snprintf(t->code, sizeof(t->code), "%s", code);
	}
	return ++t->count >= max;
}

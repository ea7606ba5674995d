#include "walpost/postgres/pace.h"

/* Over what time rates are smoothed. */
#define WINDOW_US 10000
#define SECOND_US INT64_C(1000000)
/*
 * The pause grows with the square of the rate: 60 us at 3,000 messages a second (1,000
 * transactions of one row), 1.5 ms at 15,000, the most from 39,000 on.
 */
#define RATE_SQUARED_PER_US 150000
#define RATE_MAX 1000000
/* So many messages may wait in the socket. */
#define SIP_MESSAGES 100
#define SIP_MIN_US 100
#define SIP_MAX_US 1000

static int64_t at_least(int64_t value, int64_t least)
{
	return value < least ? least : value;
}

static int64_t at_most(int64_t value, int64_t most)
{
	return value > most ? most : value;
}

void wp_pace_init(struct wp_pace *p, int64_t now_us)
{
	*p = (struct wp_pace){ .taken_us = now_us };
}

void wp_pace_took(struct wp_pace *p, uint64_t messages, int64_t now_us)
{
	int64_t took_us = at_least(now_us - p->taken_us, 1);
	int64_t weight_us = took_us < WINDOW_US ? took_us : WINDOW_US;
	int64_t rate = (int64_t)(messages > SECOND_US ? SECOND_US : messages) * SECOND_US / took_us;

	p->rate += (rate - p->rate) * weight_us / WINDOW_US;
	p->taken_us = now_us;
}

/* Nothing was taken for a while: then what is remembered is less than it was. */
static int64_t rate_now(const struct wp_pace *p, int64_t now_us)
{
	int64_t since_us = now_us - p->taken_us;

	return since_us <= WINDOW_US ? p->rate : p->rate * WINDOW_US / since_us;
}

int64_t wp_pace_pause_us(const struct wp_pace *p, int64_t now_us)
{
	int64_t rate = at_most(rate_now(p, now_us), RATE_MAX);
	int64_t pause_us = rate * rate / RATE_SQUARED_PER_US;

	return at_most(at_least(pause_us, WP_PACE_PAUSE_MIN_US), WP_PACE_PAUSE_MAX_US);
}

int64_t wp_pace_sip_us(const struct wp_pace *p)
{
	int64_t sip_us = SIP_MESSAGES * SECOND_US / at_least(p->rate, 1);

	return at_most(at_least(sip_us, SIP_MIN_US), SIP_MAX_US);
}

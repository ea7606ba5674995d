#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/hash.h"
#include "walpost/relay/meter.h"

#define SECOND INT64_C(1000000)
#define SLOT_COUNT (4 * WP_METER_TOPICS)

const int64_t wp_meter_bounds_us[WP_METER_BUCKETS] = {
	500,	    1000,	 2500,	      5000,	   10000,	    25000,
	50000,	    100000,	 250000,      500000,	   1 * SECOND,	    2500000,
	5 * SECOND, 10 * SECOND, 30 * SECOND, 60 * SECOND, 5 * 60 * SECOND, 30 * 60 * SECOND,
};

enum wp_rc wp_meter_init(struct wp_meter *m, size_t events_max)
{
	*m = (struct wp_meter){
		.events = calloc(events_max, sizeof(*m->events)),
		.events_max = events_max,
		.topics = calloc(1 + WP_METER_TOPICS, sizeof(*m->topics)),
		.topic_count = 1,
	};
	if (m->events != NULL && m->topics != NULL)
		return WP_OK;
	wp_meter_release(m);
	return WP_NOMEM;
}

void wp_meter_release(struct wp_meter *m)
{
	free(m->events);
	free(m->topics);
	*m = (struct wp_meter){ 0 };
}

enum wp_rc wp_meter_widen(struct wp_meter *m, size_t events_max, wp_ticket first, wp_ticket next)
{
	struct wp_meter_event *events = calloc(events_max, sizeof(*events));

	assert(events_max >= m->events_max && next - first <= m->events_max);
	if (events == NULL)
		return WP_NOMEM;
	for (wp_ticket t = first; t < next; t++)
		events[t % events_max] = m->events[t % m->events_max];
	free(m->events);
	m->events = events;
	m->events_max = events_max;
	return WP_OK;
}

void wp_meter_tick(struct wp_meter *m, int64_t now_ms)
{
	m->now_ms = now_ms;
}

static uint32_t add_metered_topic(struct wp_meter *m, struct wp_span name, uint16_t *slot)
{
	if (m->topic_count > WP_METER_TOPICS || name.size >= sizeof(m->topics[0].name))
		return 0;
	memcpy(m->topics[m->topic_count].name, name.data, name.size);
	*slot = (uint16_t)m->topic_count;
	return (uint32_t)m->topic_count++;
}

/* Three slots of four stay free: each search ends. */
static uint32_t find_metered_topic(struct wp_meter *m, struct wp_span name)
{
	for (uint32_t at = (uint32_t)wp_hash(WP_HASH_BEGIN, name);; at++) {
		uint16_t *slot = &m->slots[at % SLOT_COUNT];
		if (*slot == 0)
			return add_metered_topic(m, name, slot);
		if (wp_span_is(name, m->topics[*slot].name))
			return *slot;
	}
}

void wp_meter_sent(struct wp_meter *m, wp_ticket ticket, struct wp_span topic,
		   int64_t commit_time_us)
{
	/* Most events have the topic of the one before. */
	if (m->latest == 0 || !wp_span_is(topic, m->topics[m->latest].name))
		m->latest = find_metered_topic(m, topic);
	m->events[ticket % m->events_max] = (struct wp_meter_event){
		.commit_time_us = commit_time_us,
		.sent_ms = (uint32_t)m->now_ms,
		.topic = m->latest,
	};
}

void wp_meter_confirmed(struct wp_meter *m, wp_ticket ticket, int64_t wall_us)
{
	const struct wp_meter_event *e = &m->events[ticket % m->events_max];
	struct wp_meter_histogram *h = &m->topics[e->topic].delivery;
	int64_t took_us = wall_us > e->commit_time_us ? wall_us - e->commit_time_us : 0;
	size_t i = 0;

	while (i < WP_METER_BUCKETS && took_us > wp_meter_bounds_us[i])
		i++;
	if (i < WP_METER_BUCKETS)
		h->buckets[i]++;
	h->count++;
	h->sum_us += (uint64_t)took_us;
}

int64_t wp_meter_quantile_us(const struct wp_meter_histogram *h, double share)
{
	double wanted = share * (double)h->count;
	uint64_t below = 0;

	if (h->count == 0)
		return 0;
	for (size_t i = 0; i < WP_METER_BUCKETS; i++) {
		below += h->buckets[i];
		if ((double)below >= wanted)
			return wp_meter_bounds_us[i];
	}
	return INT64_MAX;
}

struct wp_meter_age wp_meter_age(const struct wp_meter *m, wp_ticket ticket)
{
	const struct wp_meter_event *e = &m->events[ticket % m->events_max];

	return (struct wp_meter_age){
		.commit_time_us = e->commit_time_us,
		.waiting_ms = (int64_t)((uint32_t)m->now_ms - e->sent_ms),
	};
}

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static void append(struct world *w, size_t partition, uint32_t event, bool letter)
{
	struct broker *b = &w->broker;

	b->kept[event] = true;
	if (letter) {
		b->dead[event] = true;
		if (!b->was_poison[event])
			violate(w, "an innocent event was set aside", "event %u", event);
		return;
	}
	if (b->dead[event] && w->park == NULL)
		violate(w, "an event set aside was delivered too", "event %u", event);

	if (b->log_count[partition] == b->log_size) {
		violate(w, "repeats without end", "partition %zu is full", partition);
		return;
	}
	b->log[partition][b->log_count[partition]++] = event;
}

void broker_init(struct world *w)
{
	w->broker = (struct broker){ .poison = -1, .log_size = 400000 };
	for (size_t p = 0; p < PARTITIONS; p++)
		w->broker.log[p] = calloc(w->broker.log_size, sizeof(uint32_t));
}

void broker_release(struct world *w)
{
	for (size_t p = 0; p < PARTITIONS; p++)
		free(w->broker.log[p]);
}

int producer_open(struct world *w, bool one_by_one)
{
	for (int i = 0; i < PRODUCERS_MAX; i++) {
		struct producer *p = &w->broker.producers[i];
		if (p->used)
			continue;
		*p = (struct producer){ .used = true, .one_by_one = one_by_one };
		return i;
	}
	return -1;
}

/* The handle or its process is gone: what is queued is lost, requests on their way may land. */
void producer_orphan(struct world *w, int producer)
{
	struct producer *p = &w->broker.producers[producer];

	p->orphan = true;
	p->queue_count = p->held_count = 0;
	for (size_t i = 0; i < PARTITIONS; i++) {
		if (chance(w, 500))
			p->request_count[i] = 0; /* never left, or not read any more */
	}
}

bool producer_send(struct world *w, int producer, wp_ticket ticket, uint32_t event, bool letter,
		   bool hold)
{
	struct producer *p = &w->broker.producers[producer];

	if (p->queue_count + p->held_count == QUEUE_MAX)
		return false;
	struct message *to = hold ? &p->held[p->held_count++] : &p->queue[p->queue_count++];
	*to = (struct message){
		.ticket = ticket,
		.event = event,
		.partition = (uint8_t)(w->server.aggregate_of[event] % PARTITIONS),
		.letter = letter,
	};
	p->in_flight++;
	return true;
}

static void report(struct producer *p, wp_ticket ticket, enum wp_outcome outcome, bool event_level)
{
	assert(p->report_count < QUEUE_MAX * 2);
	p->in_flight--;
	p->reports[p->report_count++] = (struct wp_report){
		.ticket = ticket,
		.outcome = outcome,
		.reaction = outcome != WP_REFUSED ? WP_REACT_NONE
			    : event_level	  ? WP_REACT_ISOLATE
						  : WP_REACT_REWIND,
		.event_level = event_level,
		.code = event_level ? "MSG_SIZE_TOO_LARGE" : "KAFKA_STORAGE_ERROR",
	};
}

void producer_purge(struct world *w, int producer)
{
	struct producer *p = &w->broker.producers[producer];

	for (size_t i = 0; i < p->queue_count; i++)
		report(p, p->queue[i].ticket, WP_PURGED, false);
	p->queue_count = 0;
	for (size_t i = 0; i < p->held_count; i++)
		report(p, p->held[i].ticket, WP_PURGED, false);
	p->held_count = 0;
}

/* The topic is there. Of what it cannot take some are refused before they are sent. */
void producer_let_go(struct world *w, int producer)
{
	struct producer *p = &w->broker.producers[producer];
	size_t gone = 0;

	while (gone < p->held_count && !p->broken && !p->refused) {
		const struct message *m = &p->held[gone++];
		if (w->broker.is_poison[m->event] && !m->letter && chance(w, 500)) {
			report(p, m->ticket, WP_REFUSED, true);
			p->refused = true;
		} else {
			p->queue[p->queue_count++] = *m;
		}
	}
	p->held_count -= gone;
	memmove(p->held, p->held + gone, p->held_count * sizeof(p->held[0]));
}

/* Messages of one partition leave the queue in order, as one request. */
static void make_request(struct world *w, struct producer *p, uint8_t partition)
{
	size_t max = p->one_by_one ? 1 : 1 + any(w, BATCH_MAX);
	struct request r = { .used = true, .lands_ms = w->now_ms + 1 + (int64_t)any(w, 8) };
	size_t kept = 0;

	if (w->now_ms < w->broker.slow_until_ms)
		r.lands_ms += 100 + (int64_t)any(w, 400);
	for (size_t i = 0; i < p->queue_count; i++) {
		if (p->queue[i].partition == partition && r.count < max) {
			r.events[r.count] = p->queue[i].event;
			r.letters[r.count] = p->queue[i].letter;
			r.tickets[r.count++] = p->queue[i].ticket;
		} else {
			p->queue[kept++] = p->queue[i];
		}
	}
	p->queue_count = kept;
	if (r.count > 0)
		p->requests[partition][p->request_count[partition]++] = r;
}

static bool holds_poison(const struct world *w, const struct request *r)
{
	for (size_t i = 0; i < r->count; i++) {
		if (w->broker.is_poison[r->events[i]] && !r->letters[i])
			return true;
	}
	return false;
}

static void pop_request(struct producer *p, size_t partition)
{
	memmove(&p->requests[partition][0], &p->requests[partition][1],
		sizeof(struct request) * --p->request_count[partition]);
}

/*
 * One request fails for good. Gapless: nothing behind it is written, the producer is
 * broken, what is queued or on its way comes back purged, or refused like it.
 */
static void refuse_request(struct world *w, struct producer *p, size_t partition, bool event_level)
{
	struct request r = p->requests[partition][0];

	pop_request(p, partition);
	for (size_t i = 0; i < r.count; i++)
		report(p, r.tickets[i], WP_REFUSED, event_level);
	p->broken = true;
	if (event_level)
		p->tells_ms = w->now_ms + 1 + (int64_t)any(w, 4);
	for (size_t i = 0; i < p->queue_count; i++)
		report(p, p->queue[i].ticket, WP_PURGED, false);
	p->queue_count = 0;
	for (size_t q = 0; q < PARTITIONS; q++) {
		for (size_t i = 0; i < p->request_count[q]; i++) {
			const struct request *other = &p->requests[q][i];
			bool refused = event_level && i == 0 && holds_poison(w, other);
			for (size_t k = 0; k < other->count; k++)
				report(p, other->tickets[k],
				       refused	       ? WP_REFUSED
				       : other->landed ? WP_CONFIRMED
						       : WP_PURGED,
				       refused);
		}
		p->request_count[q] = 0;
	}
	trace(w, "broker refuses a batch of %zu", r.count);
}

static void land(struct world *w, struct request *r, size_t partition)
{
	for (size_t i = 0; i < r->count; i++)
		append(w, partition, r->events[i], r->letters[i]);
	r->landed = true;
	r->answers_ms = w->now_ms + 1 + (int64_t)any(w, 5);
	if (chance(w, 5))
		r->answers_ms += 1000; /* the answer is lost; the retry finds it written */
}

/* The oldest request of a partition; false when nothing moved. */
static bool advance_request(struct world *w, struct producer *p, size_t partition)
{
	struct request *r = &p->requests[partition][0];

	if (p->request_count[partition] == 0)
		return false;
	if (!r->landed) {
		if (w->now_ms < r->lands_ms || w->now_ms < w->broker.down_until_ms)
			return false;
		bool poison = holds_poison(w, r);
		if (!p->orphan && (poison || w->broker.refuse_next > 0)) {
			w->broker.refuse_next -= !poison && w->broker.refuse_next > 0 ? 1 : 0;
			/* A batch may be too large though none of its events is. */
			bool too_large = r->count > 1 && chance(w, 500);
			refuse_request(w, p, partition, poison || too_large);
			return false;
		}
		if (poison)
			p->request_count[partition] =
				1; /* an orphan's: it and those behind it vanish */
		else
			land(w, r, partition);
	}
	if (w->now_ms < r->answers_ms && !p->orphan)
		return false;
	for (size_t i = 0; i < r->count && !p->orphan; i++)
		report(p, r->tickets[i], WP_CONFIRMED, false);
	pop_request(p, partition);
	return true;
}

static void producer_tick(struct world *w, struct producer *p)
{
	size_t requests = 0;

	for (uint8_t q = 0; q < PARTITIONS; q++) {
		if (!p->broken && !p->orphan && p->request_count[q] < REQUESTS_MAX &&
		    w->now_ms >= w->broker.down_until_ms)
			make_request(w, p, q);
		while (advance_request(w, p, q)) {
		}
		requests += p->request_count[q];
	}
	if (p->orphan && requests == 0)
		p->used = false;
}

void broker_tick(struct world *w)
{
	for (size_t i = 0; i < PRODUCERS_MAX; i++) {
		if (w->broker.producers[i].used)
			producer_tick(w, &w->broker.producers[i]);
	}
}

#include <assert.h>
#include <unistd.h>

#include "walpost/base/log.h"

#include "state.h"

#define WORKER_FULL_RETRY_MS 100
#define OPEN_AGAIN_MS 1000
/* A client takes so many for each broker before another is opened. */
#define PARTITIONS_PER_BROKER 256

void wp_life_wake(void *arg)
{
	const struct wp_producer *p = arg;
	uint64_t one = 1;

	/* An eventfd's counter cannot overflow by our ones. */
	(void)!write(p->fd, &one, sizeof(one));
}

static void old_is_gone(void *arg)
{
	struct wp_producer *p = arg;

	p->is_burying = false;
	wp_life_wake(p);
}

/* Gone from here when the worker has taken it; else tried again by step(). */
static void bury(struct wp_producer *p)
{
	if (p->corpse_count == 0)
		return;
	enum wp_rc rc =
		wp_client_bury(p->corpses, p->corpse_count, p->worker, old_is_gone, p, &p->burial);
	if (rc != WP_OK)
		return;
	p->corpse_count = 0;
	p->is_burying = true;
}

static enum wp_rc open_another(struct wp_producer *p, struct wp_error *error)
{
	enum wp_rc rc = wp_client_open(p->options, &p->bounds, &p->shape, p->fd,
				       &p->clients[p->client_count], error);

	if (rc == WP_OK)
		p->client_count++;
	return rc;
}

enum wp_rc wp_life_open(struct wp_producer *p, struct wp_error *error)
{
	wp_renewal_opening(p);
	enum wp_rc rc = open_another(p, error);
	if (rc != WP_OK)
		return rc;
	wp_renewal_opened(p);
	p->phase = WP_PHASE_RUNNING;
	p->wants_reopening = false;
	p->opened_at_ms = p->now_ms;
	p->heard_at_ms = p->now_ms;
	p->probe_at_ms = p->now_ms;
	p->expected_at_ms = p->now_ms; /* a question for them may have been lost with the old one */
	wp_backlog_look(p);	       /* to a new client all partitions are new */
	return WP_OK;
}

/* Everything that refers to the client goes first: librdkafka waits for it. */
void wp_life_close(struct wp_producer *p)
{
	wp_inquiry_reset(&p->inquiry, p->worker);
	wp_intake_drop(p);
	wp_topics_drop_handles(&p->topics);
	p->more = false;
	assert(p->client_count == 0 || p->corpse_count == 0);
	while (p->client_count > 0)
		p->corpses[p->corpse_count++] = wp_client_close(&p->clients[--p->client_count]);
	p->polled = 0;
	bury(p);
}

/*
 * librdkafka's thread for a broker looks at all partitions there for each request (two mutexes
 * each: rd_kafka_broker_produce_toppars), so with very many of them that is most of what it does.
 * Clients with fewer partitions each look at fewer, and their requests are answered side by side. A
 * topic stays with its client, so order holds as with one.
 */
unsigned wp_life_client_for(struct wp_producer *p, int32_t partition_count)
{
	size_t brokers = p->inquiry.broker_count > 1 ? p->inquiry.broker_count : 1;
	struct wp_error unused;
	size_t least = 0;

	for (size_t i = 1; i < p->client_count; i++) {
		if (p->clients[i].partitions < p->clients[least].partitions)
			least = i;
	}
	if (p->clients[least].partitions + (size_t)partition_count >
		    brokers * PARTITIONS_PER_BROKER &&
	    p->clients[least].partitions > 0 && p->client_count < WP_CLIENTS_MAX &&
	    open_another(p, &unused) == WP_OK)
		least = p->client_count - 1;
	p->clients[least].partitions += (size_t)partition_count;
	return (unsigned)least;
}

void wp_life_begin_anew(struct wp_producer *p)
{
	wp_life_close(p);
	p->phase = WP_PHASE_OPENING;
	p->wants_reopening = false;
	p->view.in_flight = p->backlog.count + p->returned.count;
}

/* One was made of the same configuration before, so only files can be wrong: half written, say. */
static void not_made(struct wp_producer *p)
{
	if (p->secrets.count > 0) {
		wp_renewal_complain(p, &p->failure);
		p->open_at_ms = p->now_ms + OPEN_AGAIN_MS;
		return;
	}
	p->phase = WP_PHASE_FAILED;
	p->view.reaction = WP_REACT_STOP_CONFIG;
}

/* A new producer never races the requests of the old one: its connections are closed first. */
void wp_life_step(struct wp_producer *p)
{
	bury(p);
	if (p->phase != WP_PHASE_OPENING || p->corpse_count > 0 || p->is_burying ||
	    p->now_ms < p->open_at_ms)
		return;
	enum wp_rc rc = wp_life_open(p, &p->failure);
	if (rc == WP_CONFIG) {
		not_made(p);
	} else if (rc != WP_OK) {
		/* For want of a thread or memory, not for good: the relay has patience for a while. */
		wp_log(WP_LOG_WARN, "kafka_not_started", WP_TEXT("reason", p->failure.text));
		p->open_at_ms = p->now_ms + OPEN_AGAIN_MS;
	}
}

int64_t wp_life_due(const struct wp_producer *p)
{
	if (p->corpse_count > 0)
		return p->now_ms + WORKER_FULL_RETRY_MS;
	if (p->phase == WP_PHASE_OPENING && !p->is_burying)
		return p->open_at_ms > p->now_ms ? p->open_at_ms : p->now_ms;
	return INT64_MAX;
}

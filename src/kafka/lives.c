#include <assert.h>
#include <unistd.h>

#include "walpost/base/log.h"

#include "state.h"

#define WORKER_FULL_RETRY_MS 100
#define OPEN_AGAIN_MS 1000

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
	if (p->corpse == NULL)
		return;
	enum wp_rc rc = wp_client_bury(p->corpse, p->worker, old_is_gone, p, &p->burial);
	if (rc != WP_OK)
		return;
	p->corpse = NULL;
	p->is_burying = true;
}

enum wp_rc wp_life_open(struct wp_producer *p, struct wp_why *why)
{
	wp_renewal_opening(p);
	enum wp_rc rc = wp_client_open(p->options, &p->bounds, &p->shape, p->fd, &p->client, why);
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
	rd_kafka_t *rk = wp_client_close(&p->client);
	if (rk != NULL) {
		assert(p->corpse == NULL);
		p->corpse = rk;
	}
	bury(p);
}

void wp_life_begin_anew(struct wp_producer *p)
{
	wp_life_close(p);
	p->phase = WP_PHASE_OPENING;
	p->wants_reopening = false;
	p->view.in_flight = p->view.queued + p->returned.count;
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
	if (p->phase != WP_PHASE_OPENING || p->corpse != NULL || p->is_burying ||
	    p->now_ms < p->open_at_ms)
		return;
	enum wp_rc rc = wp_life_open(p, &p->failure);
	if (rc == WP_CONFIG) {
		not_made(p);
	} else if (rc != WP_OK) {
		/* For want of a thread or memory, not for good: the relay has patience for a while. */
		wp_log(WP_LOG_WARN, "kafka_not_started", WP_TEXT("why", p->failure.text));
		p->open_at_ms = p->now_ms + OPEN_AGAIN_MS;
	}
}

int64_t wp_life_due(const struct wp_producer *p)
{
	if (p->corpse != NULL)
		return p->now_ms + WORKER_FULL_RETRY_MS;
	if (p->phase == WP_PHASE_OPENING && !p->is_burying)
		return p->open_at_ms > p->now_ms ? p->open_at_ms : p->now_ms;
	return INT64_MAX;
}

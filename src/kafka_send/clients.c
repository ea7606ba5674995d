#include "clients.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "walpost/kafka/token.h"
#include "walpost/base/log.h"

#define WORKER_FULL_RETRY_MS 100
/* A client takes so many for each broker before another is opened. */
#define PARTITIONS_PER_BROKER 256
/* When it is below a limit by this much, a batch also fits if we count its frame a little wrong. */
#define BATCH_MARGIN 64

enum wp_rc wp_clients_init(struct wp_clients *c, const struct wp_kafka_options *options,
			   const struct wp_kafka_bounds *bounds, struct wp_worker *worker,
			   struct wp_error *error)
{
	*c = (struct wp_clients){
		.options = options,
		.bounds = *bounds,
		.worker = worker,
		.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	};
	if (c->fd >= 0)
		return WP_OK;
	return wp_error_set(error, WP_NOMEM, "no eventfd for the Kafka producer: %s",
			    strerror(errno));
}

void wp_clients_release(struct wp_clients *c)
{
	if (c->is_destroying)
		wp_worker_abandon(c->worker, c->destroy_job);
	if (c->fd >= 0)
		(void)close(c->fd);
	*c = (struct wp_clients){ .fd = -1 };
}

void wp_clients_wake(void *arg)
{
	const struct wp_clients *c = arg;
	uint64_t one = 1;

	/* An eventfd's counter cannot overflow by our ones. */
	(void)!write(c->fd, &one, sizeof(one));
}

/* ---- opening ---- */

static enum wp_rc open_one(struct wp_clients *c, struct wp_error *error)
{
	enum wp_rc rc =
		wp_client_open(c->options, &c->bounds, &c->shape, c->fd, &c->list[c->count], error);

	if (rc == WP_OK)
		c->count++;
	return rc;
}

enum wp_rc wp_clients_open(struct wp_clients *c, int64_t now_ms, struct wp_error *error)
{
	assert(c->count == 0);
	enum wp_rc rc = open_one(c, error);
	if (rc != WP_OK)
		return rc;
	if (c->batch_size == 0)
		c->batch_size =
			(size_t)wp_properties_number(rd_kafka_conf(c->list[0].rk), "batch.size");
	c->phase = WP_PHASE_RUNNING;
	c->reopens = c->warned = false;
	c->opened_at_ms = now_ms;
	return WP_OK;
}

bool wp_clients_may_open(const struct wp_clients *c, int64_t now_ms)
{
	return c->phase == WP_PHASE_OPENING && c->closed_count == 0 && !c->is_destroying &&
	       now_ms >= c->open_at_ms;
}

/* ---- closing ---- */

/* The job owns this. */
struct destroying {
	rd_kafka_t *rks[WP_CLIENTS_MAX];
	size_t count;
	struct wp_clients *clients; /* touched by `done` only */
};

static void run_destroy(void *arg)
{
	const struct destroying *d = arg;

	for (size_t i = 0; i < d->count; i++)
		rd_kafka_destroy(d->rks[i]);
}

static void end_destroy(void *arg)
{
	struct wp_clients *c = ((struct destroying *)arg)->clients;

	free(arg);
	c->is_destroying = false;
	wp_clients_wake(c);
}

void wp_clients_step(struct wp_clients *c)
{
	if (c->closed_count == 0)
		return;
	struct destroying *d = calloc(1, sizeof(*d));
	if (d == NULL)
		return;
	d->count = c->closed_count;
	d->clients = c;
	memcpy(d->rks, c->closed, sizeof(d->rks));
	struct wp_job job = { .run = run_destroy, .done = end_destroy, .drop = free, .arg = d };
	if (wp_worker_submit(c->worker, &job, &c->destroy_job) != WP_OK) {
		free(d);
		return;
	}
	c->closed_count = 0;
	c->is_destroying = true;
}

void wp_clients_close(struct wp_clients *c)
{
	/* No client is open while others are still to be destroyed. */
	assert(c->count == 0 || c->closed_count == 0);
	while (c->count > 0)
		c->closed[c->closed_count++] = wp_client_close(&c->list[--c->count]);
	c->polled = 0;
	wp_clients_step(c);
}

void wp_clients_reopen(struct wp_clients *c)
{
	wp_clients_close(c);
	c->phase = WP_PHASE_OPENING;
	c->reopens = false;
}

void wp_clients_break(struct wp_clients *c, rd_kafka_resp_err_t code, const char *text)
{
	if (c->phase != WP_PHASE_RUNNING)
		return;
	c->phase = WP_PHASE_BROKEN;
	(void)wp_error_set(&c->failure, WP_IO, "the Kafka producer is unusable (%s): %s",
			   rd_kafka_err2name(code), text);
}

void wp_clients_fail(struct wp_clients *c, const char *text, const char *cure)
{
	c->phase = WP_PHASE_FAILED;
	(void)wp_error_set(&c->failure, WP_CONFIG, "Kafka rejects the login: %s; %s", text, cure);
}

int64_t wp_clients_due(const struct wp_clients *c, int64_t now_ms)
{
	if (c->closed_count > 0)
		return now_ms + WORKER_FULL_RETRY_MS;
	if (c->phase == WP_PHASE_OPENING && !c->is_destroying)
		return c->open_at_ms > now_ms ? c->open_at_ms : now_ms;
	return INT64_MAX;
}

/* ---- one more ---- */

static size_t with_fewest_partitions(const struct wp_clients *c)
{
	size_t fewest = 0;

	for (size_t i = 1; i < c->count; i++) {
		if (c->list[i].partitions < c->list[fewest].partitions)
			fewest = i;
	}
	return fewest;
}

/* Without one more, those that are open take more partitions: slower, and nothing else. */
static bool open_one_more(struct wp_clients *c)
{
	struct wp_error error;

	if (c->count == WP_CLIENTS_MAX)
		return false;
	if (open_one(c, &error) == WP_OK)
		return true;
	if (!c->warned)
		wp_log(WP_LOG_WARN, "kafka_not_started", WP_TEXT("reason", error.text),
		       WP_TEXT("meanwhile", "the clients that are open take more partitions each"));
	c->warned = true;
	return false;
}

/*
 * librdkafka's thread for a broker looks at all partitions there for each request (two mutexes
 * each: rd_kafka_broker_produce_toppars), so with very many of them that is most of what it does.
 * Clients with fewer partitions each look at fewer, and their requests are answered side by side. A
 * topic stays with its client, so order holds as with one.
 */
static unsigned choose_client(struct wp_clients *c, size_t partitions, size_t broker_count)
{
	size_t room = (broker_count > 1 ? broker_count : 1) * PARTITIONS_PER_BROKER;
	size_t chosen = with_fewest_partitions(c);

	if (c->list[chosen].partitions > 0 && c->list[chosen].partitions + partitions > room &&
	    open_one_more(c))
		chosen = c->count - 1;
	c->list[chosen].partitions += partitions;
	return (unsigned)chosen;
}

bool wp_clients_assign(struct wp_clients *c, struct wp_topic *topic, size_t broker_count)
{
	topic->client = choose_client(c, (size_t)topic->partition_count, broker_count);
	topic->handle = rd_kafka_topic_new(c->list[topic->client].rk, topic->name, NULL);
	return topic->handle != NULL;
}

/* ---- all of them ---- */

/*
 * The topic's limit applies to a whole batch, and librdkafka does not split
 * one: a batch.size above the limit fails batches of small innocent events.
 */
bool wp_clients_fit_batches(struct wp_clients *c, const char *topic, size_t limit)
{
	size_t now = c->shape.batch_size > 0 ? c->shape.batch_size : c->batch_size;

	if (limit == 0 || limit >= now)
		return false;
	c->shape.batch_size = limit > 2 * BATCH_MARGIN ? limit - BATCH_MARGIN : 1;
	wp_log(WP_LOG_INFO, "kafka_batch_size", WP_TEXT("topic", topic),
	       WP_INT("topic_limit", limit), WP_INT("from", now),
	       WP_INT("to", c->shape.batch_size));
	/* When records go one by one, no batch holds two events anyway. */
	return c->shape.batching == WP_BATCHING_NORMAL;
}

static bool logs_in_by_password(const struct wp_clients *c)
{
	const rd_kafka_conf_t *conf = rd_kafka_conf(c->list[0].rk);

	return wp_properties_is(conf, "sasl.mechanisms", "PLAIN") ||
	       wp_properties_is(conf, "sasl.mechanisms", "SCRAM-SHA-256") ||
	       wp_properties_is(conf, "sasl.mechanisms", "SCRAM-SHA-512");
}

bool wp_clients_set_login(struct wp_clients *c, const char *user, const char *password)
{
	bool done = logs_in_by_password(c);

	for (size_t i = 0; done && i < c->count; i++) {
		rd_kafka_error_t *code =
			rd_kafka_sasl_set_credentials(c->list[i].rk, user, password);
		done = code == NULL;
		if (code != NULL)
			rd_kafka_error_destroy(code);
	}
	return done;
}

void wp_clients_set_token(struct wp_clients *c, const struct wp_token *token)
{
	/* A client that does not take it asks for its own. */
	for (size_t i = 0; i < c->count; i++)
		(void)wp_kafka_token_hand_over(c->list[i].rk, token);
}

rd_kafka_event_t *wp_clients_poll(struct wp_clients *c)
{
	for (size_t i = 0; i < c->count; i++) {
		c->polled = (c->polled + 1) % c->count;
		rd_kafka_event_t *event = rd_kafka_queue_poll(c->list[c->polled].queue, 0);
		if (event != NULL)
			return event;
	}
	return NULL;
}

void wp_clients_purge(struct wp_clients *c)
{
	/* It does not wait for the broker threads to have done it. It cannot fail with these
	 * flags, and what is not purged is delivered. */
	for (size_t i = 0; i < c->count; i++)
		(void)rd_kafka_purge(c->list[i].rk,
				     RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING);
}

void wp_clients_figures(const struct wp_clients *c, struct wp_sink_figures *ret)
{
	*ret = c->list[0].figures;
	for (size_t i = 1; i < c->count; i++) {
		const struct wp_sink_figures *f = &c->list[i].figures;
		ret->messages += f->messages;
		ret->bytes += f->bytes;
		ret->requests += f->requests;
		ret->sent_bytes += f->sent_bytes;
		ret->retries += f->retries;
		ret->timeouts += f->timeouts;
	}
}

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "walpost/base/log.h"

#include "state.h"

#define TOPICS_MAX 4096
/* In case a wake-up were lost; the queue is looked at at least this often. */
#define LOOK_EACH_MS 1000
/* A new client that is not denied by then may be used, or Kafka is slow: then that costs a rewind. */
#define DENIED_TRIAL_MS 2000

_Static_assert(sizeof(void *) >= sizeof(wp_ticket), "a ticket travels as a message's opaque");

static struct wp_producer *of(struct wp_sink *s)
{
	return (struct wp_producer *)s;
}

/* ---- what is shown ---- */

static bool is_denied(const struct wp_producer *p)
{
	if (!p->denial.on || p->phase == WP_PHASE_BROKEN || p->phase == WP_PHASE_FAILED)
		return false;
	return p->phase == WP_PHASE_OPENING || p->wants_reopening ||
	       p->now_ms - p->opened_at_ms < DENIED_TRIAL_MS;
}

/* `p->view` again from what has changed; the sentence fits the state. */
static void show(struct wp_producer *p)
{
	struct wp_error waiting;
	const struct wp_topic *topic = wp_gate_waits_for(p, &waiting);
	bool waits = p->phase == WP_PHASE_RUNNING && topic != NULL;
	bool denied = is_denied(p);
	const char *error = p->view.reachable ? "" : p->outage.text;

	p->view.partitions = p->topics.partition_count;
	switch (p->phase) {
	case WP_PHASE_OPENING:
		p->view.state = WP_SINK_STARTING;
		break;
	case WP_PHASE_RUNNING:
		p->view.state = waits ? WP_SINK_WAITING : WP_SINK_READY;
		if (p->wants_reopening)
			p->view.state = WP_SINK_STARTING;
		break;
	case WP_PHASE_BROKEN:
		p->view.state = WP_SINK_BROKEN;
		error = p->failure.text;
		break;
	case WP_PHASE_FAILED:
		p->view.state = WP_SINK_FAILED;
		error = p->failure.text;
		break;
	}
	if (denied)
		p->view.state = WP_SINK_WAITING;
	(void)wp_error_set(&p->view.error, WP_OK, "%s",
			   denied  ? p->denial.error.text
			   : waits ? waiting.text
				   : error);
	memset(p->view.topic, 0, sizeof(p->view.topic));
	p->view.waiting = NULL;
	if (!waits || denied)
		return;
	memcpy(p->view.topic, topic->name, topic->name_size);
	if (topic->queue.first != NULL)
		p->view.waiting = &topic->queue.first->record;
}

size_t wp_producer_sent(const struct wp_producer *p)
{
	return p->view.in_flight - p->backlog.count - p->returned.count;
}

void wp_producer_break(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text)
{
	if (p->phase != WP_PHASE_RUNNING)
		return;
	p->phase = WP_PHASE_BROKEN;
	(void)wp_error_set(&p->failure, WP_IO, "the Kafka producer is unusable (%s): %s",
			   rd_kafka_err2name(code), text);
}

void wp_producer_fail(struct wp_producer *p, const char *text, const char *cure)
{
	p->phase = WP_PHASE_FAILED;
	p->view.reaction = WP_REACT_STOP_CONFIG;
	(void)wp_error_set(&p->failure, WP_CONFIG, "Kafka does not let us in: %s; %s", text, cure);
}

/* ---- probing ---- */

static bool wants_probe(const struct wp_producer *p)
{
	if (p->phase != WP_PHASE_RUNNING || p->inquiry.stage != WP_INQUIRY_IDLE)
		return false;
	/* Without a topic in use life costs many questions, and that for the event's topic tells too. */
	bool asks = p->wanted[0] != '\0' || p->view.queued > 0;
	if (asks && p->contacted && wp_gate_known_topic(p)[0] == '\0')
		return false;
	return !p->view.reachable || p->is_suspect || p->is_back || wp_producer_sent(p) > 0;
}

static int64_t probe_due(const struct wp_producer *p)
{
	/* In flight and nothing heard for 3 s, or longer where answers take long. */
	int64_t silent_at_ms = p->heard_at_ms + p->inquiry.patience_ms * 3 / 2;

	if (!p->view.reachable || p->is_suspect || p->is_back)
		return p->probe_at_ms;
	return silent_at_ms > p->probe_at_ms ? silent_at_ms : p->probe_at_ms;
}

/* That there is an answer is the answer. */
static void probe(struct wp_producer *p)
{
	if (!wants_probe(p) || p->now_ms < probe_due(p))
		return;
	p->probe_at_ms = p->now_ms + p->inquiry.patience_ms;
	p->is_back = false;
	/* No room on the worker: the next time. */
	enum wp_rc rc = wp_inquiry_ask(&p->inquiry, &p->clients[0], p->worker, WP_INQUIRY_LIFE,
				       wp_gate_known_topic(p));
	(void)rc;
}

/* Nothing more was said of it in time: what the next client is told is another matter. */
static void end_denial(struct wp_producer *p)
{
	if (p->phase == WP_PHASE_RUNNING && !is_denied(p))
		p->denial.on = false;
}

static bool may_send(const struct wp_producer *p)
{
	return p->phase == WP_PHASE_RUNNING && !p->wants_reopening && !p->has_refused &&
	       !is_denied(p);
}

static void step(struct wp_producer *p)
{
	end_denial(p);
	wp_intake_step(p);
	if (p->phase == WP_PHASE_RUNNING)
		wp_gate_step(p);
	wp_renewal_step(p);
	if (p->phase == WP_PHASE_RUNNING && p->wants_reopening && wp_producer_sent(p) == 0)
		wp_life_begin_anew(p);
	wp_life_step(p);
	if (may_send(p))
		wp_backlog_step(p);
	probe(p);
}

/* ---- sending ---- */

/* NULL for no headers; false: no memory. */
static bool make_headers(const struct wp_record *record, rd_kafka_headers_t **ret)
{
	*ret = NULL;
	if (record->header_count == 0)
		return true;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(record->header_count);
	for (size_t i = 0; i < record->header_count; i++) {
		const struct wp_header *h = &record->headers[i];
		rd_kafka_resp_err_t code = rd_kafka_header_add(headers, (const char *)h->name.data,
							       (ssize_t)h->name.size, h->value.data,
							       (ssize_t)h->value.size);
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
			rd_kafka_headers_destroy(headers);
			return false;
		}
	}
	*ret = headers;
	return true;
}

/* 0 means "now" to librdkafka as well; less is refused by brokers. */
static int64_t timestamp_of(const struct wp_record *record)
{
	return record->timestamp_ms >= 0 ? record->timestamp_ms : 1;
}

static rd_kafka_resp_err_t produce(struct wp_producer *p, const struct wp_way *way,
				   wp_ticket ticket, const struct wp_record *r)
{
	rd_kafka_headers_t *headers;

	if (!make_headers(r, &headers))
		return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
	rd_kafka_resp_err_t code = rd_kafka_producev(
		p->clients[way->topic->client].rk,
		RD_KAFKA_V_RKT((rd_kafka_topic_t *)way->topic->handle),
		RD_KAFKA_V_PARTITION(way->partition), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		RD_KAFKA_V_KEY(r->key.data, r->key.size),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)r->value.data, r->value.size),
		RD_KAFKA_V_TIMESTAMP(timestamp_of(r)), RD_KAFKA_V_HEADERS(headers),
		RD_KAFKA_V_OPAQUE((void *)(uintptr_t)ticket), RD_KAFKA_V_END);
	/* On failure they are still ours. */
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR && headers != NULL)
		rd_kafka_headers_destroy(headers);
	return code;
}

static enum wp_rc refuse_size(const struct wp_producer *p, const struct wp_record *record,
			      struct wp_error *error)
{
	return wp_error_set(
		error, WP_DATA,
		"an event of %zu bytes for topic %.*s is larger than message.max.bytes = "
		"%zu allows; it can never be delivered; raise message.max.bytes in [kafka], "
		"and max.message.bytes of the topic",
		wp_record_size(record), (int)record->topic.size, (const char *)record->topic.data,
		p->message_max);
}

static enum wp_rc not_taken(struct wp_producer *p, struct wp_topic *topic,
			    const struct wp_record *record, rd_kafka_resp_err_t code,
			    struct wp_error *error)
{
	switch (code) {
	case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
		return refuse_size(p, record, error);
	case RD_KAFKA_RESP_ERR__QUEUE_FULL:
		/* Its limits lie above the relay's: this is a mistake of ours, told aloud. */
		wp_log(WP_LOG_ERROR, "kafka_queue_full", WP_INT("in_flight", p->view.in_flight));
		return WP_FULL;
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
		wp_gate_distrust(p, topic->name, code);
		/* At the gate it is no longer trusted, so it waits there. */
		return wp_gate_pass(p, topic, record, &(struct wp_way){ 0 }, error);
	case RD_KAFKA_RESP_ERR__INVALID_ARG:
		return wp_error_set(error, WP_DATA, "librdkafka refuses the event: %s",
				    rd_kafka_err2str(code));
	case RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE:
		return wp_error_set(error, WP_NOMEM, "no memory for an event");
	default:
		wp_producer_break(p, code, rd_kafka_err2str(code));
		return wp_error_set(error, WP_IO, "%s", p->failure.text);
	}
}

enum wp_rc wp_producer_pass_on(struct wp_producer *p, struct wp_topic *topic, wp_ticket ticket,
			       const struct wp_record *record, struct wp_error *error)
{
	struct wp_way way;

	enum wp_rc rc = wp_gate_pass(p, topic, record, &way, error);
	if (rc != WP_OK)
		return rc;
	rd_kafka_resp_err_t code = produce(p, &way, ticket, record);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return not_taken(p, topic, record, code, error);
	wp_gate_sent(p, &way, ticket);
	/* The silence that calls for a probe begins with the first that waits. */
	if (wp_producer_sent(p) == 0)
		p->heard_at_ms = p->now_ms;
	return WP_OK;
}

/* Behind those that are queued for its topic, if there are any: they are in order. */
static enum wp_rc send_running(struct wp_producer *p, wp_ticket ticket,
			       const struct wp_record *record, struct wp_error *error)
{
	struct wp_topic *topic;

	enum wp_rc rc = wp_gate_find(p, record, &topic, error);
	if (rc != WP_OK)
		return rc;
	rc = WP_AGAIN;
	if (topic->queue.first == NULL)
		rc = wp_producer_pass_on(p, topic, ticket, record, error);
	if (rc == WP_AGAIN)
		rc = wp_backlog_take(p, topic, ticket, record, error);
	if (rc != WP_OK)
		return rc;
	p->view.in_flight++;
	wp_gate_unwant(p);
	return WP_OK;
}

/* What waits for a human holds up all: each event more that is taken comes twice if he comes late. */
static bool waits_for_human(const struct wp_producer *p)
{
	return p->view.state == WP_SINK_WAITING && p->view.queued > 0;
}

static enum wp_rc producer_send(struct wp_sink *s, wp_ticket ticket, const struct wp_record *record,
				struct wp_error *error)
{
	struct wp_producer *p = of(s);
	enum wp_rc rc = WP_AGAIN;

	if (p->phase == WP_PHASE_BROKEN || p->phase == WP_PHASE_FAILED)
		rc = wp_error_set(error, WP_IO, "%s", p->failure.text);
	else if (may_send(p) && !waits_for_human(p))
		rc = send_running(p, ticket, record, error);
	if (rc != WP_OK)
		show(p);
	return rc;
}

/* ---- the other operations ---- */

static size_t producer_collect(struct wp_sink *s, int64_t now_ms, struct wp_report *reports,
			       size_t max)
{
	struct wp_producer *p = of(s);
	size_t count = 0;

	p->now_ms = now_ms;
	count = wp_backlog_collect(p, reports, max);
	if (p->client_count > 0)
		count += wp_intake_read(p, reports + count, max - count);
	step(p);
	show(p);
	return count;
}

static void producer_purge(struct wp_sink *s)
{
	struct wp_producer *p = of(s);

	wp_backlog_purge(p);
	show(p);
	if (p->returned.count > 0)
		wp_life_wake(p);
	/* Without waiting for the broker threads to have done it. It cannot fail
	 * with these flags, and what is not purged is delivered. */
	for (size_t i = 0; i < p->client_count; i++)
		(void)rd_kafka_purge(p->clients[i].rk,
				     RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING);
}

static void producer_restart(struct wp_sink *s, enum wp_batching batching)
{
	struct wp_producer *p = of(s);

	assert(p->phase != WP_PHASE_FAILED);
	p->shape.batching = batching;
	wp_gate_unwant(p);
	wp_backlog_drop(p);
	wp_life_begin_anew(p);
	show(p);
}

static void producer_prefetch(struct wp_sink *s, const char *topics)
{
	wp_gate_prefetch(of(s), topics);
	wp_life_wake(s);
}

static void producer_ask_tail(struct wp_sink *s, const struct wp_tail_question *question)
{
	wp_tail_ask(of(s), question);
}

static void producer_topics(struct wp_sink *s, struct wp_topic_list *into)
{
	for (const struct wp_topic *t = of(s)->topics.newest; t != NULL; t = t->older) {
		if (t->state == WP_TOPIC_READY)
			wp_topic_list_add(into, t->name, t->name_size);
	}
}

static const struct wp_sink_view *producer_view(struct wp_sink *s)
{
	return &of(s)->view;
}

static int producer_fd(struct wp_sink *s, short *ret_events)
{
	*ret_events = POLLIN;
	return of(s)->fd;
}

/* Before the queue is read: what comes after makes it readable again. */
static void producer_woken(struct wp_sink *s)
{
	uint64_t wakes;

	(void)!read(of(s)->fd, &wakes, sizeof(wakes));
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t producer_due(struct wp_sink *s)
{
	const struct wp_producer *p = of(s);
	int64_t due = sooner(wp_intake_due(p), wp_life_due(p));
	due = sooner(due, wp_renewal_due(p));

	if (p->phase == WP_PHASE_RUNNING)
		due = sooner(due, wp_gate_due(p));
	if (is_denied(p) && p->phase == WP_PHASE_RUNNING)
		due = sooner(due, p->opened_at_ms + DENIED_TRIAL_MS);
	if (wants_probe(p))
		due = sooner(due, probe_due(p));
	if (p->returned.count > 0)
		return p->now_ms;
	if (wp_producer_sent(p) > 0)
		due = sooner(due, p->now_ms + LOOK_EACH_MS);
	return due;
}

/*
 * Nothing is waited for here: the worker destroys the client, and who frees the
 * worker waits for it, as long as there is time.
 */
static void producer_free(struct wp_sink *s, int64_t wait_ms)
{
	struct wp_producer *p = of(s);

	(void)wait_ms;
	if (p == NULL)
		return;
	wp_life_close(p);
	wp_queue_clear(&p->returned);
	wp_tail_drop(p);
	wp_renewal_drop(p);
	if (p->is_burying)
		wp_worker_abandon(p->worker, p->burial);
	/* A corpse that the worker has no room for ends with the process. */
	wp_topics_release(&p->topics);
	wp_inquiry_release(&p->inquiry);
	if (p->fd >= 0)
		(void)close(p->fd);
	free(p);
}

/* The brokers as the first client sees them. */
static const struct wp_sink_figures *producer_figures(struct wp_sink *s)
{
	struct wp_producer *p = of(s);

	p->figures = p->clients[0].figures;
	for (size_t i = 1; i < p->client_count; i++) {
		const struct wp_sink_figures *f = &p->clients[i].figures;
		p->figures.messages += f->messages;
		p->figures.bytes += f->bytes;
		p->figures.requests += f->requests;
		p->figures.sent_bytes += f->sent_bytes;
		p->figures.retries += f->retries;
		p->figures.timeouts += f->timeouts;
	}
	return &p->figures;
}

static const struct wp_sink_ops ops = {
	.send = producer_send,
	.collect = producer_collect,
	.purge = producer_purge,
	.restart = producer_restart,
	.topics = producer_topics,
	.figures = producer_figures,
	.prefetch = producer_prefetch,
	.ask_tail = producer_ask_tail,
	.view = producer_view,
	.fd = producer_fd,
	.woken = producer_woken,
	.due = producer_due,
	.free = producer_free,
};

/* ---- making one ---- */

static void drop_topic(void *handle)
{
	rd_kafka_topic_destroy(handle);
}

static void read_back(struct wp_producer *p)
{
	const rd_kafka_conf_t *conf = rd_kafka_conf(p->clients[0].rk);

	p->batch_size = (size_t)wp_properties_number(conf, "batch.size");
	p->message_max = (size_t)wp_properties_number(conf, "message.max.bytes");
	p->view.record_max = p->message_max;
	p->compresses = !wp_properties_is(conf, "compression.codec", "none");
	p->creates_topics = wp_properties_is(conf, "allow.auto.create.topics", "true");
	p->inquiry.creation = p->creates_topics ? WP_CREATION_WANTED : WP_CREATION_NEVER;
	p->placement = wp_properties_placement(conf);
}

static void warn_of_version(void)
{
	const char *trouble = wp_client_version_trouble(rd_kafka_version());

	if (trouble != NULL)
		wp_log(WP_LOG_WARN, "librdkafka_version",
		       WP_TEXT("version", rd_kafka_version_str()), WP_TEXT("reason", trouble));
}

static enum wp_rc fill(struct wp_producer *p, struct wp_error *error)
{
	p->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (p->fd < 0)
		return wp_error_set(error, WP_NOMEM, "no eventfd for the Kafka producer: %s",
				    strerror(errno));
	enum wp_rc rc = wp_topics_init(&p->topics, TOPICS_MAX, drop_topic);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "no memory for the table of topics");
	rc = wp_inquiry_init(&p->inquiry, wp_life_wake, p);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "no memory for questions to Kafka");
	wp_secrets_init(&p->secrets, p->options);
	p->random = (uint64_t)(uintptr_t)p ^ (uint64_t)time(NULL);
	rc = wp_life_open(p, error);
	if (rc != WP_OK)
		return rc;
	read_back(p);
	warn_of_version();
	show(p);
	return WP_OK;
}

enum wp_rc wp_producer_new(const struct wp_kafka_options *options,
			   const struct wp_kafka_bounds *bounds, struct wp_worker *worker,
			   struct wp_sink **ret, struct wp_error *error)
{
	struct wp_producer *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return wp_error_set(error, WP_NOMEM, "no memory for the Kafka producer");
	p->sink.ops = &ops;
	p->options = options;
	p->bounds = *bounds;
	p->worker = worker;
	p->fd = -1;
	p->tls_failing_since_ms = -1;
	p->expected_at_ms = INT64_MAX;
	enum wp_rc rc = fill(p, error);
	if (rc != WP_OK) {
		producer_free(&p->sink, 0);
		return rc;
	}
	*ret = &p->sink;
	return WP_OK;
}

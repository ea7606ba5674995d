#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "state.h"
#include "walpost/base/log.h"

/* The queues are read at least this often, in case a wake-up were lost. */
#define READ_EACH_MS 1000
/* After a client could not be opened, the next is tried so much later. */
#define OPEN_AGAIN_MS 1000

static struct wp_producer *producer_of(struct wp_sink *s)
{
	return (struct wp_producer *)s;
}

/* ---- what is shown ---- */

/* It is denied until a new client shows that it is let write again, or enough time has passed. */
static bool is_denied(const struct wp_producer *p)
{
	switch (p->clients.phase) {
	case WP_PHASE_OPENING:
		return p->idempotence.is_denied;
	case WP_PHASE_RUNNING:
		return p->idempotence.is_denied &&
		       (p->clients.reopens ||
			p->now_ms - p->clients.opened_at_ms < WP_IDEMPOTENCE_TRIAL_MS);
	default:
		return false;
	}
}

/* Writes `p->view` anew from what has changed; the sentence fits the state. */
static void update_view(struct wp_producer *p)
{
	struct wp_error waiting;
	struct wp_sink_view *v = &p->view;
	const struct wp_topic *topic = wp_admission_waits_for(&p->admission, p->now_ms, &waiting);
	bool waits = p->clients.phase == WP_PHASE_RUNNING && topic != NULL;
	bool denied = is_denied(p);
	const char *error = p->reachability.is_reachable ? "" : p->reachability.outage.text;

	v->reachable = p->reachability.is_reachable;
	v->throttled = p->reachability.is_throttled;
	v->partitions = p->admission.topics.partition_count;
	v->queued = p->admission.topics.waiting_count;
	switch (p->clients.phase) {
	case WP_PHASE_OPENING:
		v->state = WP_SINK_STARTING;
		break;
	case WP_PHASE_RUNNING:
		v->state = p->clients.reopens ? WP_SINK_STARTING
			   : waits	      ? WP_SINK_WAITING
					      : WP_SINK_READY;
		break;
	case WP_PHASE_BROKEN:
		v->state = WP_SINK_BROKEN;
		error = p->clients.failure.text;
		break;
	case WP_PHASE_FAILED:
		v->state = WP_SINK_FAILED;
		v->reaction = WP_REACT_STOP_CONFIG;
		error = p->clients.failure.text;
		break;
	}
	if (denied)
		v->state = WP_SINK_WAITING;
	(void)wp_error_set(&v->error, WP_OK, "%s",
			   denied  ? p->idempotence.error.text
			   : waits ? waiting.text
				   : error);
	memset(v->topic, 0, sizeof(v->topic));
	v->waiting = NULL;
	if (!waits || denied)
		return;
	memcpy(v->topic, topic->name, topic->name_size);
	if (topic->queue.first != NULL)
		v->waiting = &topic->queue.first->record;
}

/* ---- the clients ---- */

/* All that refers to the clients goes first: librdkafka waits for it. */
static void release_clients(struct wp_producer *p)
{
	wp_inquiry_reset(&p->inquiry, p->clients.worker);
	wp_delivery_reports_drop(&p->reports);
	wp_topics_drop_handles(&p->admission.topics);
}

/* What is queued goes to the new clients. */
static void reopen_clients(struct wp_producer *p)
{
	release_clients(p);
	wp_clients_reopen(&p->clients);
	p->view.in_flight = p->admission.topics.queued_count + p->backlog.given_back.count;
}

static enum wp_rc open_client(struct wp_producer *p, struct wp_error *error)
{
	wp_credentials_opening(&p->credentials);
	enum wp_rc rc = wp_clients_open(&p->clients, p->now_ms, error);
	if (rc != WP_OK)
		return rc;
	wp_credentials_opened(&p->credentials, p->now_ms);
	wp_reachability_opened(&p->reachability, p->now_ms);
	wp_admission_opened(&p->admission, p->now_ms);
	return WP_OK;
}

/* A client was opened with the same configuration before. */
static void open_again(struct wp_producer *p)
{
	struct wp_error *error = &p->clients.failure;

	enum wp_rc rc = open_client(p, error);
	if (rc == WP_OK)
		return;
	p->clients.open_at_ms = p->now_ms + OPEN_AGAIN_MS;
	if (rc != WP_CONFIG)
		/* A thread or memory was lacking, not for good: the relay has patience for a
		 * while. */
		wp_log(WP_LOG_WARN, "kafka_not_started", WP_TEXT("reason", error->text));
	else if (p->credentials.secrets.count > 0)
		/* So only files can be wrong: half written, say. */
		wp_credentials_warn(&p->credentials, error);
	else
		p->clients.phase = WP_PHASE_FAILED;
}

static void reload_credentials(struct wp_producer *p)
{
	switch (wp_credentials_step(&p->credentials, p->reachability.is_reachable,
				    wp_producer_sent(p) > 0, p->reported_at_ms, p->now_ms)) {
	case WP_CREDENTIALS_STAY:
		break;
	case WP_CREDENTIALS_REOPEN:
		p->clients.reopens = true;
		break;
	case WP_CREDENTIALS_GIVE_UP:
		wp_clients_break(&p->clients, RD_KAFKA_RESP_ERR__AUTHENTICATION,
				 "events in flight are not confirmed with the replaced "
				 "credentials, and a client with the new ones is authenticated");
		break;
	}
}

/* ---- each turn ---- */

/* Returns INT64_MAX when no probe is wanted now. */
static int64_t probe_due(const struct wp_producer *p)
{
	if (p->clients.phase != WP_PHASE_RUNNING || p->inquiry.stage != WP_INQUIRY_IDLE)
		return INT64_MAX;
	/* Without a topic in use life costs many questions, and that for the event's topic tells too. */
	bool asks = p->admission.offered[0] != '\0' || p->admission.topics.waiting_count > 0;
	if (asks && p->reachability.was_reached &&
	    wp_admission_known_topic(&p->admission)[0] == '\0')
		return INT64_MAX;
	return wp_reachability_probe_due(&p->reachability, wp_producer_sent(p) > 0,
					 p->inquiry.patience_ms);
}

/* That there is an answer is the answer. */
static void probe_brokers(struct wp_producer *p)
{
	if (p->now_ms < probe_due(p))
		return;
	wp_reachability_probed(&p->reachability, p->now_ms, p->inquiry.patience_ms);
	/* When there is no room on the worker, it is asked the next time. */
	enum wp_rc rc = wp_inquiry_ask(&p->inquiry, &p->clients.list[0], p->clients.worker,
				       WP_INQUIRY_LIFE, wp_admission_known_topic(&p->admission));
	(void)rc;
}

static void ask_kafka(struct wp_producer *p)
{
	const struct wp_client *client = &p->clients.list[0];
	struct wp_answer answer;

	if (wp_inquiry_step(&p->inquiry, client, p->clients.worker, &answer))
		wp_producer_take_answer(p, &answer);
	wp_admission_ask(&p->admission, client, p->clients.worker, p->now_ms);
}

static bool may_produce(const struct wp_producer *p)
{
	return p->clients.phase == WP_PHASE_RUNNING && !p->clients.reopens && !p->has_refused &&
	       !is_denied(p);
}

/* The order matters: what was heard decides on the clients, and these on what is sent. */
static void step_producer(struct wp_producer *p)
{
	if (p->clients.phase == WP_PHASE_RUNNING && !is_denied(p))
		/* Nothing more was said of it in time: what the next client is told is another matter. */
		p->idempotence.is_denied = false;
	if (p->clients.phase == WP_PHASE_RUNNING &&
	    p->now_ms >= wp_reachability_tls_wrong_at(&p->reachability))
		wp_producer_fail_login(p, RD_KAFKA_RESP_ERR__SSL, p->reachability.tls_failure.text);
	if (p->clients.phase == WP_PHASE_RUNNING) {
		ask_kafka(p);
		reload_credentials(p);
	}
	if (p->clients.phase == WP_PHASE_RUNNING && p->clients.reopens && wp_producer_sent(p) == 0)
		reopen_clients(p);
	wp_clients_step(&p->clients);
	if (wp_clients_may_open(&p->clients, p->now_ms))
		open_again(p);
	if (may_produce(p))
		wp_producer_send_queued(p);
	probe_brokers(p);
}

/* ---- operations ---- */

/* What waits for a human holds up all: each event more that is taken comes twice if he comes late. */
static bool waits_for_human(const struct wp_producer *p)
{
	return p->view.state == WP_SINK_WAITING && p->view.queued > 0;
}

static enum wp_rc producer_send(struct wp_sink *s, wp_ticket ticket, const struct wp_record *record,
				struct wp_error *error)
{
	struct wp_producer *p = producer_of(s);
	enum wp_rc rc = WP_AGAIN;

	if (p->clients.phase == WP_PHASE_BROKEN || p->clients.phase == WP_PHASE_FAILED)
		rc = wp_error_set(error, WP_IO, "%s", p->clients.failure.text);
	else if (may_produce(p) && !waits_for_human(p))
		rc = wp_producer_send(p, ticket, record, error);
	if (rc != WP_OK)
		update_view(p);
	return rc;
}

static size_t producer_collect(struct wp_sink *s, int64_t now_ms, struct wp_report *reports,
			       size_t max)
{
	struct wp_producer *p = producer_of(s);

	p->now_ms = now_ms;
	size_t count = wp_backlog_collect(&p->backlog, reports, max);
	p->view.in_flight -= count;
	if (p->clients.count > 0)
		count += wp_producer_read(p, reports + count, max - count);
	step_producer(p);
	(void)wp_topic_ends_job_take(&p->topic_ends, &p->view.topic_ends);
	update_view(p);
	return count;
}

static void producer_purge(struct wp_sink *s)
{
	struct wp_producer *p = producer_of(s);

	wp_backlog_purge(&p->backlog, &p->admission.topics);
	update_view(p);
	if (p->backlog.given_back.count > 0)
		wp_clients_wake(&p->clients);
	wp_clients_purge(&p->clients);
}

static void producer_restart(struct wp_sink *s, enum wp_batching batching)
{
	struct wp_producer *p = producer_of(s);

	assert(p->clients.phase != WP_PHASE_FAILED);
	p->clients.shape.batching = batching;
	wp_admission_forget_offered(&p->admission);
	wp_backlog_drop(&p->backlog, &p->admission.topics);
	p->has_refused = false;
	reopen_clients(p);
	update_view(p);
}

static void producer_prefetch(struct wp_sink *s, const char *topics)
{
	wp_admission_prefetch(&producer_of(s)->admission, topics, producer_of(s)->now_ms);
	wp_clients_wake(&producer_of(s)->clients);
}

static void producer_ask_topic_ends(struct wp_sink *s,
				    const struct wp_topic_ends_question *question)
{
	wp_topic_ends_job_ask(&producer_of(s)->topic_ends, question);
	(void)wp_topic_ends_job_take(&producer_of(s)->topic_ends, &producer_of(s)->view.topic_ends);
}

static void producer_topics(struct wp_sink *s, struct wp_topic_list *into)
{
	for (const struct wp_topic *t = producer_of(s)->admission.topics.newest; t != NULL;
	     t = t->older) {
		if (t->state == WP_TOPIC_READY)
			wp_topic_list_add(into, t->name, t->name_size);
	}
}

static const struct wp_sink_view *producer_view(struct wp_sink *s)
{
	return &producer_of(s)->view;
}

static int producer_fd(struct wp_sink *s, short *ret_events)
{
	*ret_events = POLLIN;
	return producer_of(s)->clients.fd;
}

/* This is done before the queue is read: what comes after makes it readable again. */
static void producer_woken(struct wp_sink *s)
{
	uint64_t wakes;

	(void)!read(producer_of(s)->clients.fd, &wakes, sizeof(wakes));
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t running_due(const struct wp_producer *p)
{
	int64_t due = sooner(wp_reachability_tls_wrong_at(&p->reachability),
			     wp_credentials_due(&p->credentials, p->reachability.is_reachable,
						p->reported_at_ms));

	if (p->inquiry.has_result)
		return p->now_ms;
	if (p->inquiry.stage == WP_INQUIRY_IDLE)
		due = sooner(due, wp_admission_due(&p->admission));
	if (is_denied(p))
		due = sooner(due, p->clients.opened_at_ms + WP_IDEMPOTENCE_TRIAL_MS);
	return sooner(due, probe_due(p));
}

static int64_t producer_due(struct wp_sink *s)
{
	const struct wp_producer *p = producer_of(s);
	int64_t due = wp_clients_due(&p->clients, p->now_ms);

	if (p->backlog.given_back.count > 0 || wp_delivery_reports_are_due(&p->reports))
		return p->now_ms;
	if (p->clients.phase == WP_PHASE_RUNNING)
		due = sooner(due, running_due(p));
	if (wp_producer_sent(p) > 0)
		due = sooner(due, p->now_ms + READ_EACH_MS);
	return due;
}

/*
 * Nothing is waited for here: the worker destroys the clients, and whoever frees the worker waits
 * for it, as long as there is time.
 */
static void producer_free(struct wp_sink *s, int64_t wait_ms)
{
	struct wp_producer *p = producer_of(s);

	if (p == NULL)
		return;
	release_clients(p);
	wp_clients_close(&p->clients);
	wp_backlog_drop(&p->backlog, &p->admission.topics);
	wp_topic_ends_job_drop(&p->topic_ends);
	wp_credentials_release(&p->credentials);
	wp_admission_release(&p->admission);
	wp_inquiry_release(&p->inquiry);
	wp_clients_release(&p->clients);
	free(p);
}

static const struct wp_sink_figures *producer_figures(struct wp_sink *s)
{
	wp_clients_figures(&producer_of(s)->clients, &producer_of(s)->figures);
	return &producer_of(s)->figures;
}

static const struct wp_sink_ops ops = {
	.send = producer_send,
	.collect = producer_collect,
	.purge = producer_purge,
	.restart = producer_restart,
	.topics = producer_topics,
	.figures = producer_figures,
	.prefetch = producer_prefetch,
	.ask_topic_ends = producer_ask_topic_ends,
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

static void read_effective_config(struct wp_producer *p)
{
	const rd_kafka_conf_t *conf = rd_kafka_conf(p->clients.list[0].rk);
	struct wp_admission_rules admission = {
		.creates_topics = wp_properties_is(conf, "allow.auto.create.topics", "true"),
	};

	p->rules = (struct wp_decision_rules){
		.message_max = (size_t)wp_properties_number(conf, "message.max.bytes"),
		.compresses = !wp_properties_is(conf, "compression.codec", "none"),
		.placement = wp_properties_placement(conf),
	};
	wp_properties_principal(conf, admission.principal, sizeof(admission.principal));
	wp_admission_set_rules(&p->admission, &admission);
	p->view.record_max = p->rules.message_max;
}

static void warn_of_version(void)
{
	const char *trouble = wp_client_version_trouble(rd_kafka_version());

	if (trouble != NULL)
		wp_log(WP_LOG_WARN, "librdkafka_version",
		       WP_TEXT("version", rd_kafka_version_str()), WP_TEXT("reason", trouble));
}

static enum wp_rc init_producer(struct wp_producer *p, const struct wp_kafka_options *options,
				const struct wp_kafka_bounds *bounds, struct wp_worker *worker,
				struct wp_error *error)
{
	struct wp_wake wake = { wp_clients_wake, &p->clients };

	enum wp_rc rc = wp_clients_init(&p->clients, options, bounds, worker, error);
	if (rc != WP_OK)
		return rc;
	rc = wp_admission_init(&p->admission, &p->inquiry, drop_topic, error);
	if (rc != WP_OK)
		return rc;
	rc = wp_inquiry_init(&p->inquiry, wake.call, wake.arg);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for requests to Kafka");
	wp_reachability_init(&p->reachability);
	wp_credentials_init(&p->credentials, &p->clients);
	p->topic_ends =
		(struct wp_topic_ends_job){ .options = options, .worker = worker, .wake = wake };
	rc = open_client(p, error);
	if (rc != WP_OK)
		return rc;
	read_effective_config(p);
	warn_of_version();
	update_view(p);
	return WP_OK;
}

enum wp_rc wp_producer_new(const struct wp_kafka_options *options,
			   const struct wp_kafka_bounds *bounds, struct wp_worker *worker,
			   struct wp_sink **ret, struct wp_error *error)
{
	struct wp_producer *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the Kafka producer");
	p->sink.ops = &ops;
	p->random = (uint64_t)(uintptr_t)p ^ (uint64_t)time(NULL);
	enum wp_rc rc = init_producer(p, options, bounds, worker, error);
	if (rc != WP_OK) {
		producer_free(&p->sink, 0);
		return rc;
	}
	*ret = &p->sink;
	return WP_OK;
}

#include <assert.h>
#include <string.h>

#include "walpost/base/log.h"
#include "walpost/kafka/admission.h"
#include "walpost/kafka/reaction.h"
#include "walpost/kafka/statistics.h"

#include "state.h"

/* Log lines and errors read in one go, so that a flood of them holds up nothing. */
#define OTHER_EVENTS_MAX 256
/* A handshake can fail once because a broker restarts; failing this long it is wrong. */
#define TLS_PATIENCE_MS 3000
#define DENIED_FIRST_MS 1000
#define DENIED_MAX_MS 8000

void wp_intake_heard(struct wp_producer *p)
{
	/* An answer that waited for the end of an outage says nothing of how long they take. */
	if (p->contacted && !p->view.reachable) {
		p->is_back = true;
		p->probe_at_ms = p->now_ms;
	}
	p->contacted = true;
	p->heard_at_ms = p->now_ms;
	p->tls_failing_since_ms = -1;
	p->is_suspect = false;
	p->has_missed = false;
	p->renewal.is_refused = false;
	p->last_error.text[0] = '\0';
	p->view.reachable = true;
}

static void lose(struct wp_producer *p, const char *text)
{
	/* What a broker's connection died of says more than that nobody answered. */
	if (p->last_error.text[0] != '\0')
		text = p->last_error.text;
	(void)wp_error_set(&p->outage, WP_IO, "Kafka does not answer: %s%s", text,
			   wp_admission_hung_up(text) ? WP_HUNG_UP_CURE : "");
	p->is_suspect = false;
	p->has_missed = false;
	p->view.reachable = false;
}

/*
 * One broker less is not an outage. A question just then may have gone to that
 * one, so a second is asked; unless everything was silent before.
 */
void wp_intake_unheard(struct wp_producer *p, const char *text)
{
	if (p->view.reachable && p->is_suspect && !p->has_missed)
		p->has_missed = true;
	else
		lose(p, text);
}

/* ---- delivery reports ---- */

static bool was_purged(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR__PURGE_QUEUE || code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
}

/* librdkafka's own codes are negative: with another a broker has answered, if only "no". */
static bool is_an_answer(rd_kafka_resp_err_t code)
{
	return code > RD_KAFKA_RESP_ERR_NO_ERROR && !wp_admission_is_login(code);
}

static void read_success(struct wp_producer *p, const rd_kafka_message_t *m, struct wp_report *r)
{
	/* Without an error it is always persisted, acks being all; the promise rests on it. */
	if (rd_kafka_message_status(m) != RD_KAFKA_MSG_STATUS_PERSISTED) {
		r->outcome = WP_REFUSED;
		p->has_refused = true;
		r->reaction = WP_REACT_REWIND;
		r->code = "NOT_PERSISTED";
		return;
	}
	r->outcome = WP_CONFIRMED;
	p->has_written = true;
	p->denial.on = false;
	p->denial.times = 0;
	wp_intake_heard(p);
}

static size_t known_limit(const struct wp_producer *p, const char *name)
{
	const struct wp_topic *topic = wp_topics_find(&p->topics, name);

	return topic != NULL ? topic->limit : 0;
}

static void read_refusal(struct wp_producer *p, const rd_kafka_message_t *m, struct wp_report *r)
{
	const char *name = rd_kafka_topic_name(m->rkt);

	r->outcome = WP_REFUSED;
	p->has_refused = true;
	r->reaction = wp_kafka_reaction(m->err);
	r->event_level = wp_kafka_is_event_level(m->err);
	r->code = rd_kafka_err2name(m->err);
	r->cure = wp_kafka_cure(m->err);
	if (is_an_answer(m->err))
		wp_intake_heard(p);
	if (m->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	    m->err == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE) {
		r->limit = known_limit(p, name);
		wp_gate_doubt_limit(p, name);
	}
	if (r->reaction == WP_REACT_WAIT_TOPIC)
		wp_gate_distrust(p, name, m->err);
}

static void read_report(struct wp_producer *p, const rd_kafka_message_t *m, struct wp_report *r)
{
	*r = (struct wp_report){ .ticket = (wp_ticket)(uintptr_t)m->_private };
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		read_success(p, m, r);
	else if (was_purged(m->err))
		r->outcome = WP_PURGED;
	else
		read_refusal(p, m, r);
	wp_gate_reported(p, m, r);
	assert(p->view.in_flight > 0);
	p->view.in_flight--;
	p->renewal.progress_at_ms = p->backlog.still_since_ms = p->now_ms;
}

/* ---- other events ---- */

/*
 * Asked for by InitProducerId, so by each new client. A user who never had the right is a mistake
 * in the configuration; one who had it may get it back.
 */
static void read_denial(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text)
{
	struct wp_denial *d = &p->denial;
	int64_t wait_ms = DENIED_FIRST_MS;

	wp_intake_heard(p);
	if (!p->has_written) {
		wp_producer_fail(p, text, "allow IDEMPOTENT_WRITE on the cluster");
		return;
	}
	for (unsigned i = 0; i < d->times && wait_ms < DENIED_MAX_MS; i++)
		wait_ms *= 2;
	d->on = true;
	d->times++;
	(void)wp_error_set(
		&d->error, WP_AGAIN,
		"Kafka no longer lets this user write with an idempotent producer (%s); events "
		"wait; allow IDEMPOTENT_WRITE on the cluster (from Kafka 2.8 on WRITE on a topic "
		"will do): kafka-acls.sh --add --cluster --operation IdempotentWrite "
		"--allow-principal User:NAME",
		text);
	p->open_at_ms = p->now_ms + wait_ms;
	/* What is in flight can only be sent again by the relay. */
	if (wp_producer_sent(p) > 0)
		wp_producer_break(p, code, text);
	else
		p->wants_reopening = true;
}

static void read_fatal(struct wp_producer *p, const struct wp_client *c, const char *text)
{
	char fatal[512] = "";

	rd_kafka_resp_err_t code = rd_kafka_fatal_error(c->rk, fatal, sizeof(fatal));
	if (fatal[0] != '\0')
		text = fatal;
	if (code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
		read_denial(p, code, text);
	else
		wp_producer_break(p, code, text);
}

/*
 * Whether any broker answers is asked at once. librdkafka's "all brokers down"
 * only counts as one silence: before 2.11.1 it says so when one is (its issues
 * 5126 and 5130).
 */
static void note_trouble(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text)
{
	wp_inquiry_doubt_broker(&p->inquiry);
	if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		p->has_missed = true;
	else
		(void)wp_error_set(&p->last_error, WP_IO, "%s", text);
	if (p->view.reachable)
		p->is_suspect = true;
	else
		lose(p, text);
}

static void fail(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text)
{
	struct wp_error cure;

	wp_admission_cure(code, text, rd_kafka_version(), &cure);
	wp_producer_fail(p, text, cure.text);
}

/*
 * Once a broker has let us in, its errors pass; before, the configuration is
 * wrong. librdkafka tells the same error once in 30 s: it is remembered.
 */
static void read_error(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text)
{
	if (is_an_answer(code)) {
		wp_intake_heard(p);
		return;
	}
	note_trouble(p, code, text);
	if (wp_admission_is_login(code) || wp_admission_is_tls(code, text))
		wp_renewal_refused(p);
	if (p->contacted)
		return;
	if (wp_admission_is_login(code))
		fail(p, code, text);
	if (wp_admission_is_tls(code, text) && p->tls_failing_since_ms < 0) {
		p->tls_failing_since_ms = p->now_ms;
		(void)wp_error_set(&p->tls_failure, WP_IO, "%s", text);
	}
}

void wp_intake_step(struct wp_producer *p)
{
	if (p->phase == WP_PHASE_RUNNING && p->tls_failing_since_ms >= 0 &&
	    p->now_ms - p->tls_failing_since_ms >= TLS_PATIENCE_MS)
		fail(p, RD_KAFKA_RESP_ERR__SSL, p->tls_failure.text);
}

int64_t wp_intake_due(const struct wp_producer *p)
{
	if (p->more || p->delivery != NULL)
		return p->now_ms;
	if (p->phase == WP_PHASE_RUNNING && p->tls_failing_since_ms >= 0)
		return p->tls_failing_since_ms + TLS_PATIENCE_MS;
	return INT64_MAX;
}

static void read_other(struct wp_producer *p, struct wp_client *c, rd_kafka_event_t *event)
{
	struct wp_answer answer;

	switch (rd_kafka_event_type(event)) {
	case RD_KAFKA_EVENT_ERROR:
		/* Its code is that of the cause, whatever is fatal. */
		if (rd_kafka_event_error_is_fatal(event))
			read_fatal(p, c, rd_kafka_event_error_string(event));
		else
			read_error(p, rd_kafka_event_error(event),
				   rd_kafka_event_error_string(event));
		break;
	case RD_KAFKA_EVENT_LOG:
		wp_client_log_line(&p->log, event, p->now_ms);
		break;
	case RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT:
		if (wp_inquiry_read(&p->inquiry, c, p->worker, event, &answer))
			wp_gate_answer(p, &answer);
		break;
	case RD_KAFKA_EVENT_STATS: {
		const char *text = rd_kafka_event_stats(event);
		wp_statistics_read(text, strlen(text), &c->figures);
		break;
	}
	default:
		break; /* nothing else was asked for */
	}
}

/* ---- the queue ---- */

/* From the queue that was read last, until it is empty. NULL: all are. */
static rd_kafka_event_t *poll_clients(struct wp_producer *p)
{
	for (size_t i = 0; i < p->client_count; i++) {
		rd_kafka_event_t *event = rd_kafka_queue_poll(p->clients[p->polled].queue, 0);
		if (event != NULL)
			return event;
		p->polled = (p->polled + 1) % p->client_count;
	}
	return NULL;
}

/* The next event with reports into p->delivery; false: the queues are empty, or enough was read. */
static bool next_delivery(struct wp_producer *p, size_t *others)
{
	for (; *others < OTHER_EVENTS_MAX; (*others)++) {
		rd_kafka_event_t *event = poll_clients(p);
		if (event == NULL) {
			p->more = false;
			return false;
		}
		if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR) {
			p->delivery = event;
			return true;
		}
		read_other(p, &p->clients[p->polled], event);
		rd_kafka_event_destroy(event);
	}
	return false;
}

size_t wp_intake_read(struct wp_producer *p, struct wp_report *reports, size_t max)
{
	size_t count = 0, others = 0;

	/* The descriptor tells only that the queue was empty and is not: until it
	 * has been seen empty, there is more. */
	p->more = true;
	while (count < max) {
		if (p->delivery == NULL && !next_delivery(p, &others))
			break;
		const rd_kafka_message_t *m = rd_kafka_event_message_next(p->delivery);
		if (m == NULL)
			wp_intake_drop(p);
		else
			read_report(p, m, &reports[count++]);
	}
	return count;
}

/* Only now does librdkafka free the room of the messages. */
void wp_intake_drop(struct wp_producer *p)
{
	if (p->delivery != NULL)
		rd_kafka_event_destroy(p->delivery);
	p->delivery = NULL;
}

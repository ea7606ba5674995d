/* Takes what arrives at the producer: delivery reports, answers, errors. */
#include "state.h"

#include <assert.h>

#include "walpost/base/log.h"
#include "walpost/kafka/reaction.h"
#include "walpost/kafka/throttle.h"

static void note_broker_answer(struct wp_producer *p)
{
	wp_reachability_heard(&p->reachability, p->now_ms);
	wp_credentials_accepted(&p->credentials);
}

/* ---- delivery reports ---- */

static void take_refusal(struct wp_producer *p, const rd_kafka_message_t *m, struct wp_report *r)
{
	const char *topic = rd_kafka_topic_name(m->rkt);

	p->has_refused = true;
	if (wp_delivery_report_is_answer(m->err))
		note_broker_answer(p);
	if (m->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	    m->err == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE)
		r->limit = wp_admission_doubt_limit(&p->admission, topic);
	if (r->reaction == WP_REACT_WAIT_TOPIC)
		wp_admission_distrust(&p->admission, topic, m->err, p->now_ms);
}

/* Stopping would not bring anything back: it is told, and the relay goes on. */
static void tell_of_data_loss(struct wp_producer *p, const rd_kafka_message_t *m,
			      int64_t confirmed_offset)
{
	p->view.data_losses++;
	wp_log(WP_LOG_ERROR, "kafka_data_loss", WP_TEXT("topic", rd_kafka_topic_name(m->rkt)),
	       WP_INT("partition", m->partition), WP_INT("offset", m->offset),
	       WP_INT("confirmed_offset", confirmed_offset),
	       WP_TEXT("reason", "Kafka has lost confirmed records of this partition: an event was "
				 "written at `offset`, after an earlier one at `confirmed_offset` "
				 "(the topic was recreated, an unclean leader was elected, or a "
				 "broker lost its disk). Delivery continues; list the rows whose "
				 "records are missing with walpost diff, and send them again with "
				 "walpost replay --id"));
}

/* librdkafka gives the handle that was produced with: nearly always the last one's. */
static struct wp_topic *topic_of_message(const struct wp_topics *t, const rd_kafka_message_t *m)
{
	if (t->newest != NULL && t->newest->handle == m->rkt)
		return t->newest;
	return wp_topics_find(t, rd_kafka_topic_name(m->rkt));
}

static void take_delivery_report(struct wp_producer *p, const rd_kafka_message_t *m,
				 struct wp_report *r)
{
	struct wp_topics *topics = &p->admission.topics;
	int64_t confirmed_offset;

	wp_delivery_report_read(m, r);
	if (r->outcome == WP_CONFIRMED) {
		wp_idempotence_granted(&p->idempotence);
		note_broker_answer(p);
	} else if (r->outcome == WP_REFUSED) {
		take_refusal(p, m, r);
	}
	if (wp_topics_reported(topics, topic_of_message(topics, m), m->partition, r, m->offset,
			       p->now_ms, &confirmed_offset))
		tell_of_data_loss(p, m, confirmed_offset);
	assert(p->view.in_flight > 0);
	p->view.in_flight--;
	p->reported_at_ms = p->now_ms;
}

/* ---- errors ---- */

void wp_producer_fail_login(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text)
{
	struct wp_error cure;

	wp_authentication_cure(code, text, rd_kafka_version(), p->clients.options->login != NULL,
			       &cure);
	wp_clients_fail(&p->clients, text, cure.text);
}

static void take_denial(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text)
{
	note_broker_answer(p);
	int64_t wait_ms =
		wp_idempotence_denied(&p->idempotence, p->admission.rules.principal, text);
	if (wait_ms == 0) {
		wp_clients_fail(&p->clients, text, "allow IDEMPOTENT_WRITE on the cluster");
		return;
	}
	p->clients.open_at_ms = p->now_ms + wait_ms;
	/* What is in flight can only be sent again by the relay. */
	if (wp_producer_sent(p) > 0)
		wp_clients_break(&p->clients, code, text);
	else
		p->clients.reopens = true;
}

static void take_error(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text)
{
	if (wp_delivery_report_is_answer(code)) {
		note_broker_answer(p);
		return;
	}
	/* Nobody was refused: the next one is fetched in ten seconds. */
	if (wp_authentication_lacks_token(text))
		code = RD_KAFKA_RESP_ERR__TRANSPORT;
	wp_inquiry_doubt_broker(&p->inquiry);
	if (wp_authentication_is_login(code) || wp_authentication_is_tls(code, text))
		wp_credentials_refused(&p->credentials, p->now_ms);
	if (wp_reachability_error(&p->reachability, code, text, p->now_ms))
		wp_producer_fail_login(p, code, text);
}

/* ---- answers ---- */

void wp_producer_take_answer(struct wp_producer *p, const struct wp_answer *answer)
{
	if (answer->heard)
		note_broker_answer(p);
	else
		wp_reachability_unheard(&p->reachability, answer->text);
	for (size_t i = 0; i < answer->topic_count; i++) {
		const struct wp_topic *ready =
			wp_admission_learn(&p->admission, answer, i, p->now_ms);
		if (ready != NULL && wp_clients_fit_batches(&p->clients, ready->name, ready->limit))
			p->clients.reopens = true;
	}
}

/* ---- the queues ---- */

static void take_other(struct wp_producer *p, const struct wp_arrival *arrival)
{
	struct wp_answer answer;

	switch (arrival->kind) {
	case WP_ARRIVAL_REPORT:
		break;
	case WP_ARRIVAL_ERROR:
		take_error(p, arrival->code, arrival->text);
		break;
	case WP_ARRIVAL_FATAL:
		if (arrival->code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
			take_denial(p, arrival->code, arrival->text);
		else
			wp_clients_break(&p->clients, arrival->code, arrival->text);
		break;
	case WP_ARRIVAL_ANSWER:
		if (wp_inquiry_read(&p->inquiry, &p->clients.list[0], p->clients.worker,
				    arrival->event, &answer))
			wp_producer_take_answer(p, &answer);
		break;
	}
}

/* ---- quotas ---- */

static void take_throttle(struct wp_producer *p)
{
	struct wp_throttle *t = p->clients.options->throttle;

	if (t == NULL)
		return;
	if (wp_throttle_step(t, p->now_ms))
		wp_log(WP_LOG_WARN, "kafka_throttles", WP_TEXT("broker", t->broker),
		       WP_INT("longest_ms", t->longest_ms),
		       WP_INT("total_ms", (int64_t)t->total_ms),
		       WP_TEXT("reason",
			       "a quota of Kafka slows this client down: the broker reads nothing "
			       "more for so long. Nothing is lost; raise the quota "
			       "(kafka-configs.sh --describe --entity-type clients, and users), or "
			       "send less"));
	p->reachability.is_throttled = t->on;
	p->view.throttled_ms = t->total_ms;
}

size_t wp_producer_read(struct wp_producer *p, struct wp_report *reports, size_t max)
{
	struct wp_arrival arrival;
	size_t count = 0;

	wp_delivery_reports_begin(&p->reports);
	while (count < max &&
	       wp_delivery_reports_next(&p->reports, &p->clients, p->now_ms, &arrival)) {
		if (arrival.kind == WP_ARRIVAL_REPORT)
			take_delivery_report(p, arrival.message, &reports[count++]);
		else
			take_other(p, &arrival);
	}
	take_throttle(p);
	return count;
}

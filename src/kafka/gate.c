#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/backoff.h"
#include "walpost/base/log.h"
#include "walpost/kafka/batch.h"

#include "state.h"

#define ASK_AGAIN_MS 1000
#define ASK_CREATED_MS 100
/* Brokers that create topics say at first that there is none. */
#define CREATION_MS 5000
#define DISTRUST_FIRST_MS 1000
#define DISTRUST_MAX_MS 10000
/* A limit older than this is read again before an event is called too large. */
#define LIMIT_FRESH_MS 1000
/* Below a limit by this much a batch also fits if we count its frame a little wrong. */
#define BATCH_MARGIN 64
/* Partitions and limit are read again this often while the topic is in use. */
#define REFRESH_MS 300000
/* After so long a silence a broker may have forgotten the producer on a partition. */
#define WARM_MS 600000

static bool is_wanted(const struct wp_producer *p, const struct wp_topic *topic)
{
	return strcmp(p->wanted, topic->name) == 0;
}

void wp_gate_unwant(struct wp_producer *p)
{
	p->wanted[0] = '\0';
}

static size_t effective_batch_size(const struct wp_producer *p)
{
	return p->shape.batch_size > 0 ? p->shape.batch_size : p->batch_size;
}

/*
 * The topic's limit applies to a whole batch, and librdkafka does not split
 * one: a batch.size above the limit fails batches of small innocent events.
 */
static void fit_batch_size(struct wp_producer *p, const struct wp_topic *topic)
{
	size_t now = effective_batch_size(p);

	if (topic->limit == 0 || topic->limit >= now)
		return;
	p->shape.batch_size = topic->limit > 2 * BATCH_MARGIN ? topic->limit - BATCH_MARGIN : 1;
	wp_log(WP_LOG_INFO, "kafka_batch_size", WP_TEXT("topic", topic->name),
	       WP_INT("topic_limit", topic->limit), WP_INT("from", now),
	       WP_INT("to", p->shape.batch_size));
	/* One by one no batch holds two events anyway. */
	p->wants_reopening = p->shape.batching == WP_BATCHING_NORMAL;
}

static void set_state(struct wp_producer *p, struct wp_topic *topic, enum wp_topic_state state)
{
	wp_backlog_topic_changes(p, topic, state);
	topic->state = state;
}

static void mark(struct wp_producer *p, struct wp_topic *topic, enum wp_topic_trouble trouble)
{
	if (topic->trouble != trouble)
		topic->troubled_at_ms = p->now_ms;
	set_state(p, topic, WP_TOPIC_UNKNOWN);
	topic->trouble = trouble;
}

static void hold_back(struct wp_producer *p, struct wp_topic *topic, enum wp_topic_trouble trouble)
{
	mark(p, topic, trouble);
	topic->ask_at_ms = p->now_ms + ASK_AGAIN_MS;
}

static void ask_later(struct wp_producer *p, struct wp_topic *topic)
{
	topic->ask_at_ms = p->now_ms + ASK_AGAIN_MS;
}

const char *wp_gate_known_topic(const struct wp_producer *p)
{
	for (const struct wp_topic *t = p->topics.newest; t != NULL; t = t->older) {
		if (t->handle != NULL || t->state == WP_TOPIC_READY)
			return t->name;
	}
	return "";
}

static bool waits_for_any(const struct wp_producer *p)
{
	return p->view.queued > 0 || p->wanted[0] != '\0';
}

/* Does a record wait for an answer about it, with us or outside? */
static bool is_waited_for(const struct wp_producer *p, const struct wp_topic *topic)
{
	return topic->state != WP_TOPIC_READY &&
	       (topic->queue.first != NULL || is_wanted(p, topic));
}

static bool is_due(const struct wp_producer *p, const struct wp_topic *topic)
{
	return is_waited_for(p, topic) && p->now_ms >= topic->ask_at_ms;
}

/* All that are due in one question, those used last at its end: more than fit follow. */
static size_t add_due(struct wp_producer *p)
{
	size_t count = 0;

	for (const struct wp_topic *t = waits_for_any(p) ? p->topics.oldest : NULL; t != NULL;
	     t = t->newer) {
		if (!is_due(p, t))
			continue;
		if (!wp_inquiry_add(&p->inquiry, t->name))
			break;
		count++;
	}
	return count;
}

/* Those that are expected, in the same question as others, or in one of their own. */
static size_t add_expected(struct wp_producer *p, const struct wp_topic *except)
{
	size_t count = 0;

	if (p->now_ms < p->expected_at_ms)
		return 0;
	p->expected_at_ms = INT64_MAX;
	for (struct wp_topic *t = p->topics.newest; t != NULL; t = t->older) {
		if (!t->is_expected || t == except || is_due(p, t))
			continue;
		if (!wp_inquiry_add(&p->inquiry, t->name)) {
			p->expected_at_ms = p->now_ms; /* the rest follows */
			break;
		}
		count++;
	}
	return count;
}

static void ask_due_later(struct wp_producer *p)
{
	for (struct wp_topic *t = p->topics.newest; t != NULL; t = t->older) {
		if (is_due(p, t))
			ask_later(p, t);
	}
}

/* `topic`: one that is known and asked for again, or NULL. No room on the worker: later. */
static void ask(struct wp_producer *p, struct wp_topic *topic)
{
	size_t count = topic != NULL && wp_inquiry_add(&p->inquiry, topic->name) ? 1 : 0;

	count += add_due(p);
	count += add_expected(p, topic);
	if (count == 0)
		return;
	enum wp_rc rc = wp_inquiry_ask(&p->inquiry, &p->clients[0], p->worker, WP_INQUIRY_TOPICS,
				       wp_gate_known_topic(p));
	if (rc == WP_OK)
		return;
	if (topic != NULL)
		ask_later(p, topic);
	ask_due_later(p);
	p->expected_at_ms = p->now_ms + ASK_AGAIN_MS;
}

void wp_gate_prefetch(struct wp_producer *p, const char *topics)
{
	while (*topics != '\0') {
		size_t size = strcspn(topics, ",");
		struct wp_span name = { (const uint8_t *)topics, size };
		struct wp_topic *topic = wp_topics_get(&p->topics, name);
		if (topic != NULL && topic->state != WP_TOPIC_READY) {
			topic->is_expected = true;
			p->expected_at_ms = p->now_ms;
		}
		topics += size + (topics[size] == ',' ? 1 : 0);
	}
}

/* Asked for at the next step, which is due then: together with all that come until it. */
static void want(struct wp_producer *p, const struct wp_topic *topic)
{
	(void)snprintf(p->wanted, sizeof(p->wanted), "%s", topic->name);
}

/* ---- answers ---- */

static void admit(struct wp_producer *p, struct wp_topic *topic, const struct wp_asked *a)
{
	if (wp_topics_set_partitions(&p->topics, topic, a->partition_count) != WP_OK) {
		ask_later(p, topic);
		return;
	}
	/* What we may not read we do not know: the broker decides on sizes. */
	topic->limit = a->limit;
	topic->limit_name = a->limit_name;
	set_state(p, topic, WP_TOPIC_READY);
	topic->trouble = WP_TOPIC_FINE;
	topic->answered_at_ms = p->now_ms;
	if (is_wanted(p, topic))
		wp_gate_unwant(p);
	fit_batch_size(p, topic);
	wp_backlog_look_at(p, topic);
}

static void missing(struct wp_producer *p, struct wp_topic *topic)
{
	hold_back(p, topic, WP_TOPIC_MISSING);
	/* Asking has just created it. */
	if (p->creates_topics)
		topic->ask_at_ms = p->now_ms + ASK_CREATED_MS;
}

static void settle(struct wp_producer *p, struct wp_topic *topic, const struct wp_asked *a)
{
	topic->is_expected = false;
	switch (a->code) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		admit(p, topic, a);
		break;
	case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
		topic->ask_at_ms = p->now_ms + ASK_CREATED_MS;
		break;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
		missing(p, topic);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
		hold_back(p, topic, WP_TOPIC_FORBIDDEN);
		break;
	default:
		ask_later(p, topic);
		break;
	}
}

static void not_heard(struct wp_producer *p, struct wp_topic *topic)
{
	ask_later(p, topic);
	if (topic->is_expected)
		p->expected_at_ms = p->now_ms + ASK_AGAIN_MS;
}

void wp_gate_answer(struct wp_producer *p, const struct wp_answer *answer)
{
	if (answer->heard)
		wp_intake_heard(p);
	else
		wp_intake_unheard(p, answer->text);

	for (size_t i = 0; i < answer->topic_count; i++) {
		struct wp_topic *topic = wp_topics_find(&p->topics, answer->topics[i].name);
		if (topic != NULL && answer->heard)
			settle(p, topic, &answer->topics[i]);
		else if (topic != NULL)
			not_heard(p, topic);
	}
}

/* ---- reports ---- */

static bool is_warm(const struct wp_producer *p, const struct wp_partition *partition)
{
	return partition->confirmed_at_ms != INT64_MIN &&
	       p->now_ms - partition->confirmed_at_ms < WARM_MS;
}

static enum wp_topic_trouble trouble_of(rd_kafka_resp_err_t code)
{
	switch (code) {
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
		return WP_TOPIC_FORBIDDEN;
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
		return WP_TOPIC_NO_PARTITION;
	default:
		return WP_TOPIC_MISSING;
	}
}

/* Longer each time: the topic may be there and still not take what we send. */
static int64_t distrust_ms(unsigned failures)
{
	int64_t wait = DISTRUST_FIRST_MS;

	for (unsigned i = 1; i < failures && wait < DISTRUST_MAX_MS; i++)
		wait *= 2;
	return wait < DISTRUST_MAX_MS ? wait : DISTRUST_MAX_MS;
}

void wp_gate_distrust(struct wp_producer *p, const char *name, rd_kafka_resp_err_t code)
{
	struct wp_topic *topic = wp_topics_find(&p->topics, name);

	/* The other reports of the same batches say the same: counted once. */
	if (topic == NULL || topic->trouble != WP_TOPIC_FINE)
		return;
	mark(p, topic, trouble_of(code));
	topic->failures++;
	topic->ask_at_ms = p->now_ms + distrust_ms(topic->failures);
}

void wp_gate_doubt_limit(struct wp_producer *p, const char *name)
{
	struct wp_topic *topic = wp_topics_find(&p->topics, name);

	if (topic != NULL)
		set_state(p, topic, WP_TOPIC_UNKNOWN);
}

/* librdkafka gives the handle that was produced with: nearly always the last one's. */
static struct wp_topic *topic_of(const struct wp_producer *p, const rd_kafka_message_t *m)
{
	if (p->topics.newest != NULL && p->topics.newest->handle == m->rkt)
		return p->topics.newest;
	return wp_topics_find(&p->topics, rd_kafka_topic_name(m->rkt));
}

/* To stop would not bring anything back: it is told, and the relay goes on. */
static void watch_offset(struct wp_producer *p, const struct wp_topic *topic,
			 struct wp_partition *partition, const rd_kafka_message_t *m,
			 const struct wp_report *report)
{
	int64_t before = 0;

	if (!wp_partition_lost_data(partition, report->ticket, m->offset, &before))
		return;
	p->view.data_losses++;
	wp_log(WP_LOG_ERROR, "kafka_data_loss", WP_TEXT("topic", topic->name),
	       WP_INT("partition", m->partition), WP_INT("offset", m->offset),
	       WP_INT("confirmed_offset", before),
	       WP_TEXT("reason",
		       "Kafka has lost records of this partition that it had confirmed: an event "
		       "was written at `offset`, an earlier one had been at `confirmed_offset` "
		       "(the "
		       "topic was made anew, an unclean leader was elected, or a broker lost its "
		       "disk). walpost goes on; walpost diff lists the rows whose records are "
		       "missing, insert those again"));
}

void wp_gate_reported(struct wp_producer *p, const rd_kafka_message_t *m,
		      const struct wp_report *report)
{
	struct wp_topic *topic = topic_of(p, m);

	assert(topic != NULL && topic->in_flight > 0);
	topic->in_flight--;
	if (m->partition < 0 || m->partition >= topic->partition_count)
		return;
	struct wp_partition *partition = &topic->partitions[m->partition];
	/* What waits behind one taken back came after that; behind one refused nothing is sent. */
	if (partition->pioneer == report->ticket) {
		partition->pioneer = 0;
		wp_backlog_look_at(p, topic);
	}
	if (report->outcome != WP_CONFIRMED)
		return;
	partition->confirmed_at_ms = p->now_ms;
	watch_offset(p, topic, partition, m, report);
	if (topic->trouble == WP_TOPIC_FINE)
		topic->failures = 0;
}

/* ---- passing ---- */

static enum wp_rc refuse_size(const struct wp_record *record, size_t size, size_t limit,
			      const char *what, const char *cure, struct wp_error *error)
{
	return wp_error_set(
		error, WP_DATA,
		"an event of %zu bytes is larger than %s of %zu bytes for topic %.*s; it can "
		"never be delivered; %s",
		size, what, limit, (int)record->topic.size, (const char *)record->topic.data, cure);
}

static bool is_above_limit(const struct wp_topic *topic, const struct wp_record *record)
{
	if (topic->limit == 0 || wp_batch_size_of_one_at_most(record) <= topic->limit)
		return false;
	return wp_batch_size_of_one(record) > topic->limit;
}

bool wp_gate_seems_to_fit(const struct wp_producer *p, const struct wp_topic *topic,
			  const struct wp_record *record)
{
	if (topic->partition_count > 0 && record->partition >= topic->partition_count)
		return false;
	if (!p->compresses && is_above_limit(topic, record))
		return false;
	return wp_batch_size_of_one_at_most(record) <= p->message_max;
}

static void ask_anew(struct wp_producer *p, struct wp_topic *topic)
{
	set_state(p, topic, WP_TOPIC_UNKNOWN);
	topic->ask_at_ms = 0;
	want(p, topic);
}

/* WP_DATA; WP_AGAIN: partitions may have been added, they are counted first. */
static enum wp_rc refuse_partition(struct wp_producer *p, struct wp_topic *topic,
				   const struct wp_record *record, struct wp_error *error)
{
	topic->recounts = !topic->recounts;
	if (topic->recounts) {
		ask_anew(p, topic);
		return WP_AGAIN;
	}
	return wp_error_set(error, WP_DATA,
			    "an event of table %s names partition %d, and topic %s has %d, counted "
			    "from 0: correct what outbox.column.partition reads, or add partitions "
			    "to the topic",
			    record->table, (int)record->partition, topic->name,
			    (int)topic->partition_count);
}

/* WP_DATA; WP_AGAIN: the limit is asked for first, for it may have been raised. */
static enum wp_rc refuse_above_limit(struct wp_producer *p, struct wp_topic *topic,
				     const struct wp_record *record, struct wp_error *error)
{
	if (p->now_ms - topic->answered_at_ms > LIMIT_FRESH_MS) {
		ask_anew(p, topic);
		return WP_AGAIN;
	}
	bool by_segment = strcmp(topic->limit_name, "segment.bytes") == 0;
	return refuse_size(record, wp_batch_size_of_one(record), topic->limit, topic->limit_name,
			   by_segment ? "raise segment.bytes of the topic"
				      : "raise max.message.bytes of the topic, and "
					"message.max.bytes in [kafka]",
			   error);
}

/* Not to be noticed by what is sent meanwhile. */
static void refresh_if_old(struct wp_producer *p, struct wp_topic *topic)
{
	if (p->now_ms - topic->answered_at_ms < REFRESH_MS || p->now_ms < topic->ask_at_ms ||
	    p->inquiry.stage != WP_INQUIRY_IDLE)
		return;
	ask_later(p, topic);
	ask(p, topic);
}

enum wp_rc wp_gate_find(struct wp_producer *p, const struct wp_record *record,
			struct wp_topic **ret, struct wp_error *error)
{
	if (record->topic.size == 0 || record->topic.size > WP_TOPIC_NAME_MAX)
		return wp_error_set(error, WP_DATA,
				    "a topic name of %zu bytes is not one: Kafka allows 1 to %d",
				    record->topic.size, WP_TOPIC_NAME_MAX);
	struct wp_topic *topic = wp_topics_get(&p->topics, record->topic);
	if (topic == NULL)
		return wp_error_set(error, WP_NOMEM, "no memory for a topic");
	*ret = topic;
	return WP_OK;
}

static int32_t choose_partition(struct wp_producer *p, const struct wp_topic *topic,
				const struct wp_record *record)
{
	if (record->partition != WP_PARTITION_BY_KEY)
		return record->partition;
	return wp_placement_of(p->placement, record->key, topic->partition_count,
			       wp_random_next(&p->random));
}

enum wp_rc wp_gate_pass(struct wp_producer *p, struct wp_topic *topic,
			const struct wp_record *record, struct wp_way *ret, struct wp_error *error)
{
	if (topic->state != WP_TOPIC_READY) {
		want(p, topic);
		return WP_AGAIN;
	}
	refresh_if_old(p, topic);
	/* Before produce only without compression: the broker measures what arrives. */
	bool doubtful = is_above_limit(topic, record);
	if (doubtful && !p->compresses)
		return refuse_above_limit(p, topic, record, error);
	int32_t partition = choose_partition(p, topic, record);
	if (record->partition != WP_PARTITION_BY_KEY && partition >= topic->partition_count)
		return refuse_partition(p, topic, record, error);
	if (partition < 0 || partition >= topic->partition_count) {
		wp_gate_distrust(p, topic->name, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
		want(p, topic);
		return WP_AGAIN;
	}
	if (topic->partitions[partition].pioneer != 0 || wp_backlog_holds_back(p, topic))
		return WP_AGAIN;
	topic->recounts = false;
	if (topic->handle == NULL) {
		topic->client = wp_life_client_for(p, topic->partition_count);
		topic->handle = rd_kafka_topic_new(p->clients[topic->client].rk, topic->name, NULL);
	}
	if (topic->handle == NULL)
		return wp_error_set(error, WP_DATA, "librdkafka takes no topic of the name %s: %s",
				    topic->name, rd_kafka_err2str(rd_kafka_last_error()));
	*ret = (struct wp_way){ topic, partition, doubtful };
	return WP_OK;
}

/*
 * A broker that does not know this producer on a partition yet takes any
 * sequence number (tried on Kafka 4.3): were the first batch refused, those in
 * flight behind it would be written. So the first record goes alone, and the
 * others follow when it is confirmed; from then on a refused batch holds up
 * what is behind it. A broker can forget a producer (the topic was made anew, its
 * log emptied), so what may be refused for its size always goes in front alone.
 */
void wp_gate_sent(struct wp_producer *p, const struct wp_way *way, wp_ticket ticket)
{
	struct wp_partition *partition = &way->topic->partitions[way->partition];

	way->topic->in_flight++;
	if (way->doubtful || !is_warm(p, partition))
		partition->pioneer = ticket;
}

/* ---- time ---- */

void wp_gate_step(struct wp_producer *p)
{
	struct wp_answer answer;

	if (wp_inquiry_step(&p->inquiry, &p->clients[0], p->worker, &answer))
		wp_gate_answer(p, &answer);
	if (p->inquiry.stage == WP_INQUIRY_IDLE)
		ask(p, NULL);
}

int64_t wp_gate_due(const struct wp_producer *p)
{
	if (p->inquiry.has_result)
		return p->now_ms;
	if (p->inquiry.stage != WP_INQUIRY_IDLE)
		return INT64_MAX;
	int64_t due = p->expected_at_ms;
	for (const struct wp_topic *t = waits_for_any(p) ? p->topics.newest : NULL; t != NULL;
	     t = t->older) {
		if (is_waited_for(p, t) && t->ask_at_ms < due)
			due = t->ask_at_ms;
	}
	return due;
}

/* The brokers were asked to a moment ago: nobody knows yet whether they do. */
static bool is_being_created(const struct wp_producer *p, const struct wp_topic *topic)
{
	return p->creates_topics && topic->trouble == WP_TOPIC_MISSING &&
	       p->now_ms - topic->troubled_at_ms < CREATION_MS;
}

static bool is_in_trouble(const struct wp_producer *p, const struct wp_topic *topic)
{
	return topic->trouble != WP_TOPIC_FINE && !is_being_created(p, topic);
}

/* That of the record taken first; else that of the one outside. NULL: none. */
static const struct wp_topic *in_trouble(const struct wp_producer *p)
{
	const struct wp_topic *first = NULL;

	for (const struct wp_topic *t = p->view.queued > 0 ? p->topics.newest : NULL; t != NULL;
	     t = t->older) {
		if (t->queue.first != NULL && is_in_trouble(p, t) &&
		    (first == NULL || t->queue.first->ticket < first->queue.first->ticket))
			first = t;
	}
	if (first != NULL || p->wanted[0] == '\0')
		return first;
	const struct wp_topic *wanted = wp_topics_find(&p->topics, p->wanted);
	return wanted != NULL && is_in_trouble(p, wanted) ? wanted : NULL;
}

const struct wp_topic *wp_gate_waits_for(const struct wp_producer *p, struct wp_error *ret)
{
	const struct wp_topic *topic = in_trouble(p);

	if (topic == NULL)
		return NULL;
	switch (topic->trouble) {
	case WP_TOPIC_FINE:
		return NULL;
	case WP_TOPIC_MISSING:
		(void)wp_error_set(
			ret, WP_AGAIN, "topic %s does not exist; events wait for it; create it%s",
			topic->name,
			p->creates_topics ? " (the brokers were asked to and did not: see their "
					    "auto.create.topics.enable)"
					  : ", or set allow.auto.create.topics = true in [kafka]");
		break;
	case WP_TOPIC_FORBIDDEN:
		(void)wp_error_set(
			ret, WP_AGAIN,
			"topic %s may not be written by this user; events wait for it; allow "
			"WRITE and DESCRIBE on it, and IDEMPOTENT_WRITE before Kafka 3",
			topic->name);
		break;
	case WP_TOPIC_NO_PARTITION:
		(void)wp_error_set(
			ret, WP_AGAIN,
			"topic %s lacks the partition that an event names; events wait for it; "
			"add partitions, or correct the event's source",
			topic->name);
		break;
	}
	return topic;
}

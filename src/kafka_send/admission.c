#include "admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOPICS_MAX 4096
#define ASK_AGAIN_MS 1000
#define ASK_CREATED_MS 100
/* Brokers that create topics say at first that there is none. */
#define CREATION_MS 5000
/* Why a topic is not created is asked again after so long: once it is known, and where nobody
 * said. */
#define WHY_FRESH_MS 60000
#define WHY_AGAIN_MS 5000
#define DISTRUST_FIRST_MS 1000
#define DISTRUST_MAX_MS 10000
/* Partitions and limit are read again this often while the topic is in use. */
#define REFRESH_MS 300000

enum wp_rc wp_admission_init(struct wp_admission *a, struct wp_inquiry *inquiry,
			     void (*drop)(void *handle), struct wp_error *error)
{
	*a = (struct wp_admission){
		.inquiry = inquiry,
		.expected_at_ms = INT64_MAX,
	};
	enum wp_rc rc = wp_topics_init(&a->topics, TOPICS_MAX, drop);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for the table of topics");
	return WP_OK;
}

void wp_admission_release(struct wp_admission *a)
{
	wp_topics_release(&a->topics);
}

void wp_admission_set_rules(struct wp_admission *a, const struct wp_admission_rules *rules)
{
	a->rules = *rules;
	a->inquiry->creation = rules->creates_topics ? WP_CREATION_WANTED : WP_CREATION_NEVER;
}

void wp_admission_opened(struct wp_admission *a, int64_t now_ms)
{
	a->expected_at_ms = now_ms; /* a question for them may have been lost with the old one */
	wp_topics_retry_all(&a->topics); /* to a new client all partitions are new */
}

/* ---- asking ---- */

static bool is_offered(const struct wp_admission *a, const struct wp_topic *topic)
{
	return strcmp(a->offered, topic->name) == 0;
}

void wp_admission_forget_offered(struct wp_admission *a)
{
	a->offered[0] = '\0';
}

static void mark_trouble(struct wp_admission *a, struct wp_topic *topic,
			 enum wp_topic_trouble trouble, int64_t now_ms)
{
	if (topic->trouble != trouble)
		topic->troubled_at_ms = now_ms;
	wp_topics_set_state(&a->topics, topic, WP_TOPIC_UNKNOWN);
	topic->trouble = trouble;
}

static void ask_later(struct wp_topic *topic, int64_t now_ms)
{
	topic->ask_at_ms = now_ms + ASK_AGAIN_MS;
}

const char *wp_admission_known_topic(const struct wp_admission *a)
{
	for (const struct wp_topic *t = a->topics.newest; t != NULL; t = t->older) {
		if (t->handle != NULL || t->state == WP_TOPIC_READY)
			return t->name;
	}
	return "";
}

static bool waits_for_any(const struct wp_admission *a)
{
	return a->topics.waiting_count > 0 || a->offered[0] != '\0';
}

/* Does a record wait for an answer about it, with us or outside? */
static bool is_waited_for(const struct wp_admission *a, const struct wp_topic *topic)
{
	return topic->state != WP_TOPIC_READY &&
	       (topic->queue.first != NULL || is_offered(a, topic));
}

static bool is_due_to_ask(const struct wp_admission *a, const struct wp_topic *topic,
			  int64_t now_ms)
{
	return is_waited_for(a, topic) && now_ms >= topic->ask_at_ms;
}

/* The brokers were asked to create it: for so long nobody knows yet whether they do. */
static bool is_being_created(const struct wp_admission *a, const struct wp_topic *topic,
			     int64_t now_ms, int64_t for_ms)
{
	return a->rules.creates_topics && topic->trouble == WP_TOPIC_MISSING &&
	       now_ms - topic->troubled_at_ms < for_ms;
}

/* The reason is to be known before it is told that the topic is missing. */
static bool wants_why(const struct wp_admission *a, const struct wp_topic *topic, int64_t now_ms)
{
	return a->rules.creates_topics && topic->trouble == WP_TOPIC_MISSING &&
	       now_ms >= topic->why_at_ms && !is_being_created(a, topic, now_ms, CREATION_MS / 2);
}

/* Puts all that are due in one question, those used last at its end: what does not fit follows. */
static size_t add_due(struct wp_admission *a, int64_t now_ms)
{
	size_t count = 0;

	for (const struct wp_topic *t = waits_for_any(a) ? a->topics.oldest : NULL; t != NULL;
	     t = t->newer) {
		if (!is_due_to_ask(a, t, now_ms))
			continue;
		if (!wp_inquiry_add(a->inquiry, t->name, wants_why(a, t, now_ms)))
			break;
		count++;
	}
	return count;
}

/* Puts those that are expected in the same question as others, or in one of their own. */
static size_t add_expected(struct wp_admission *a, int64_t now_ms)
{
	size_t count = 0;

	if (now_ms < a->expected_at_ms)
		return 0;
	a->expected_at_ms = INT64_MAX;
	for (struct wp_topic *t = a->topics.newest; t != NULL; t = t->older) {
		if (!t->is_expected || is_due_to_ask(a, t, now_ms))
			continue;
		if (!wp_inquiry_add(a->inquiry, t->name, false)) {
			a->expected_at_ms = now_ms; /* the rest follows */
			break;
		}
		count++;
	}
	return count;
}

void wp_admission_ask(struct wp_admission *a, const struct wp_client *client,
		      struct wp_worker *worker, int64_t now_ms)
{
	if (a->inquiry->stage != WP_INQUIRY_IDLE)
		return;
	size_t count = add_due(a, now_ms) + add_expected(a, now_ms);
	if (count == 0 || wp_inquiry_ask(a->inquiry, client, worker, WP_INQUIRY_TOPICS,
					 wp_admission_known_topic(a)) == WP_OK)
		return;
	/* The worker has no room. */
	for (struct wp_topic *t = a->topics.newest; t != NULL; t = t->older) {
		if (is_due_to_ask(a, t, now_ms))
			ask_later(t, now_ms);
	}
	a->expected_at_ms = now_ms + ASK_AGAIN_MS;
}

void wp_admission_prefetch(struct wp_admission *a, const char *topics, int64_t now_ms)
{
	while (*topics != '\0') {
		size_t size = strcspn(topics, ",");
		struct wp_span name = { (const uint8_t *)topics, size };
		struct wp_topic *topic = wp_topics_get(&a->topics, name);
		if (topic != NULL && topic->state != WP_TOPIC_READY) {
			topic->is_expected = true;
			a->expected_at_ms = now_ms;
		}
		topics += size + (topics[size] == ',' ? 1 : 0);
	}
}

void wp_admission_ask_for(struct wp_admission *a, struct wp_topic *topic)
{
	if (topic->state == WP_TOPIC_READY) {
		wp_topics_set_state(&a->topics, topic, WP_TOPIC_UNKNOWN);
		topic->ask_at_ms = 0;
	}
	(void)snprintf(a->offered, sizeof(a->offered), "%s", topic->name);
}

void wp_admission_refresh(struct wp_admission *a, struct wp_topic *topic, int64_t now_ms)
{
	if (now_ms - topic->answered_at_ms < REFRESH_MS || now_ms < topic->ask_at_ms ||
	    topic->is_expected)
		return;
	topic->is_expected = true;
	a->expected_at_ms = now_ms;
}

/* ---- answers ---- */

static void forget_why(struct wp_topic *topic)
{
	free(topic->no_creation);
	topic->no_creation = NULL;
	topic->why_at_ms = INT64_MIN;
}

static void admit(struct wp_admission *a, struct wp_topic *topic,
		  const struct wp_asked_topic *asked, int64_t now_ms)
{
	if (wp_topics_set_partitions(&a->topics, topic, asked->partition_count) != WP_OK) {
		ask_later(topic, now_ms);
		return;
	}
	/* What we may not read we do not know: the broker decides on sizes. */
	topic->limit = asked->limit;
	topic->limit_name = asked->limit_name;
	wp_topics_set_state(&a->topics, topic, WP_TOPIC_READY);
	topic->trouble = WP_TOPIC_FINE;
	forget_why(topic);
	topic->answered_at_ms = now_ms;
	if (is_offered(a, topic))
		wp_admission_forget_offered(a);
	wp_topics_retry(&a->topics, topic);
}

static void note_topic_missing(struct wp_admission *a, struct wp_topic *topic,
			       const struct wp_asked_topic *asked, int64_t now_ms)
{
	mark_trouble(a, topic, WP_TOPIC_MISSING, now_ms);
	if (asked->knows_why) {
		forget_why(topic);
		topic->no_creation = asked->why[0] != '\0' ? strdup(asked->why) : NULL;
	}
	if (asked->wants_why)
		topic->why_at_ms = now_ms + (asked->knows_why ? WHY_FRESH_MS : WHY_AGAIN_MS);
	/* Asking has just created it. */
	topic->ask_at_ms = now_ms + (a->rules.creates_topics ? ASK_CREATED_MS : ASK_AGAIN_MS);
}

static void apply_topic_answer(struct wp_admission *a, struct wp_topic *topic,
			       const struct wp_asked_topic *asked, int64_t now_ms)
{
	topic->is_expected = false;
	switch (asked->code) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		admit(a, topic, asked, now_ms);
		break;
	case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
		topic->ask_at_ms = now_ms + ASK_CREATED_MS;
		break;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
		note_topic_missing(a, topic, asked, now_ms);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
		mark_trouble(a, topic, WP_TOPIC_REFUSED, now_ms);
		ask_later(topic, now_ms);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
		mark_trouble(a, topic, WP_TOPIC_FORBIDDEN, now_ms);
		ask_later(topic, now_ms);
		break;
	default:
		ask_later(topic, now_ms);
		break;
	}
}

const struct wp_topic *wp_admission_learn(struct wp_admission *a, const struct wp_answer *answer,
					  size_t index, int64_t now_ms)
{
	const struct wp_asked_topic *asked = &answer->topics[index];
	struct wp_topic *topic = wp_topics_find(&a->topics, asked->name);

	if (topic == NULL)
		return NULL;
	if (answer->heard) {
		apply_topic_answer(a, topic, asked, now_ms);
	} else {
		ask_later(topic, now_ms);
		if (topic->is_expected)
			a->expected_at_ms = now_ms + ASK_AGAIN_MS;
	}
	return answer->heard && asked->code == RD_KAFKA_RESP_ERR_NO_ERROR ? topic : NULL;
}

/* ---- reports ---- */

static enum wp_topic_trouble trouble_of(rd_kafka_resp_err_t code)
{
	switch (code) {
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
		return WP_TOPIC_FORBIDDEN;
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
		return WP_TOPIC_NO_PARTITION;
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
		return WP_TOPIC_REFUSED;
	default:
		return WP_TOPIC_MISSING;
	}
}

/* It is longer each time: the topic may be there and still not take what we send. */
static int64_t distrust_ms(unsigned failures)
{
	int64_t wait = DISTRUST_FIRST_MS;

	for (unsigned i = 1; i < failures && wait < DISTRUST_MAX_MS; i++)
		wait *= 2;
	return wait < DISTRUST_MAX_MS ? wait : DISTRUST_MAX_MS;
}

void wp_admission_distrust(struct wp_admission *a, const char *name, rd_kafka_resp_err_t code,
			   int64_t now_ms)
{
	struct wp_topic *topic = wp_topics_find(&a->topics, name);

	/* The other reports of the same batches say the same: counted once. */
	if (topic == NULL || topic->trouble != WP_TOPIC_FINE)
		return;
	mark_trouble(a, topic, trouble_of(code), now_ms);
	topic->failures++;
	topic->ask_at_ms = now_ms + distrust_ms(topic->failures);
}

size_t wp_admission_doubt_limit(struct wp_admission *a, const char *name)
{
	struct wp_topic *topic = wp_topics_find(&a->topics, name);

	if (topic == NULL)
		return 0;
	wp_topics_set_state(&a->topics, topic, WP_TOPIC_UNKNOWN);
	return topic->limit;
}

/* ---- waiting ---- */

int64_t wp_admission_due(const struct wp_admission *a)
{
	int64_t due = a->expected_at_ms;
	for (const struct wp_topic *t = waits_for_any(a) ? a->topics.newest : NULL; t != NULL;
	     t = t->older) {
		if (is_waited_for(a, t) && t->ask_at_ms < due)
			due = t->ask_at_ms;
	}
	return due;
}

static bool is_in_trouble(const struct wp_admission *a, const struct wp_topic *topic,
			  int64_t now_ms)
{
	return topic->trouble != WP_TOPIC_FINE && !is_being_created(a, topic, now_ms, CREATION_MS);
}

/* Returns the topic of the record taken first, else that of the one outside; NULL when neither
 * is in trouble. */
static const struct wp_topic *in_trouble(const struct wp_admission *a, int64_t now_ms)
{
	const struct wp_topic *first = NULL;

	for (const struct wp_topic *t = a->topics.waiting_count > 0 ? a->topics.newest : NULL;
	     t != NULL; t = t->older) {
		if (t->queue.first != NULL && is_in_trouble(a, t, now_ms) &&
		    (first == NULL || t->queue.first->ticket < first->queue.first->ticket))
			first = t;
	}
	if (first != NULL || a->offered[0] == '\0')
		return first;
	const struct wp_topic *offered = wp_topics_find(&a->topics, a->offered);
	return offered != NULL && is_in_trouble(a, offered, now_ms) ? offered : NULL;
}

static void say_topic_missing(const struct wp_admission *a, const struct wp_topic *topic,
			      struct wp_error *ret)
{
	if (topic->no_creation != NULL)
		(void)wp_error_set(ret, WP_AGAIN,
				   "topic %s does not exist, and Kafka does not create it (%s); "
				   "events wait for it; create it, or correct "
				   "outbox.topic.replacement",
				   topic->name, topic->no_creation);
	else
		(void)wp_error_set(ret, WP_AGAIN,
				   "topic %s does not exist; events wait for it; create it%s",
				   topic->name,
				   a->rules.creates_topics
					   ? " (the brokers were asked to create it and did not: "
					     "see their auto.create.topics.enable)"
					   : ", or set allow.auto.create.topics = true in [kafka]");
}

const struct wp_topic *wp_admission_waits_for(const struct wp_admission *a, int64_t now_ms,
					      struct wp_error *ret)
{
	const struct wp_topic *topic = in_trouble(a, now_ms);

	if (topic == NULL)
		return NULL;
	switch (topic->trouble) {
	case WP_TOPIC_FINE:
		return NULL;
	case WP_TOPIC_MISSING:
		say_topic_missing(a, topic, ret);
		break;
	case WP_TOPIC_FORBIDDEN:
		(void)wp_error_set(
			ret, WP_AGAIN,
			"%s may not write topic %s; events wait for it; allow WRITE and DESCRIBE "
			"on it, and IDEMPOTENT_WRITE before Kafka 3%s",
			a->rules.principal[0] != '\0' ? a->rules.principal : "this client",
			topic->name,
			a->rules.creates_topics ? "; or, if it does not exist, CREATE, or create it"
						: "");
		break;
	case WP_TOPIC_REFUSED:
		(void)wp_error_set(ret, WP_AGAIN,
				   "Kafka refuses topic %s with INVALID_TOPIC_EXCEPTION, although "
				   "the name is valid; events wait for it; see the broker's log, "
				   "or correct outbox.topic.replacement",
				   topic->name);
		break;
	case WP_TOPIC_NO_PARTITION:
		(void)wp_error_set(ret, WP_AGAIN,
				   "topic %s lacks the partition that an event specifies; events "
				   "wait for it; add partitions, or correct the event's source",
				   topic->name);
		break;
	}
	return topic;
}

/*
 * Topic admission: may a record go to its topic now, and to which partition? What is not known of a
 * topic is asked of the cluster, for all such topics together. Where a record can never be delivered,
 * or a human must do something about its topic, this module has the sentence.
 *
 * Private to kafka/. Owns: the topics with their queued records. Borrows: the inquiry; for a call,
 * the client that asks, and the worker. Bounded: 4,096 topics without records.
 */
#ifndef WALPOST_SRC_KAFKA_ADMISSION_H
#define WALPOST_SRC_KAFKA_ADMISSION_H

#include "inquiry.h"
#include "walpost/kafka/properties.h"
#include "walpost/kafka/topics.h"

/* As the configuration has it. */
struct wp_admission_rules {
	size_t message_max;
	bool compresses;
	bool creates_topics;
	const struct wp_placement *placement;
	char principal[256]; /* as Kafka's ACLs name us, where the configuration tells; "" */
};

struct wp_admission {
	struct wp_admission_rules rules;
	struct wp_inquiry *inquiry;
	struct wp_topics topics;
	char offered[WP_TOPIC_NAME_MAX + 1]; /* for which a record waits with the relay; "": none */
	int64_t expected_at_ms; /* topics that are expected are asked for; INT64_MAX: none */
	uint64_t random;	/* where records without a key go */
};

/* A record that may go. */
struct wp_admitted {
	struct wp_topic *topic; /* until the next question about another */
	int32_t partition;
	bool may_be_refused; /* for its size */
};

/* WP_NOMEM. `drop` ends a topic's handle. */
enum wp_rc wp_admission_init(struct wp_admission *a, struct wp_inquiry *inquiry,
			     void (*drop)(void *handle), struct wp_error *error) WP_MUST_CHECK;
void wp_admission_release(struct wp_admission *a);
void wp_admission_set_rules(struct wp_admission *a, const struct wp_admission_rules *rules);
/* By a new client. */
void wp_admission_opened(struct wp_admission *a, int64_t now_ms);

/* The topic that a record is for, known or not. WP_DATA: no such name is possible; WP_NOMEM. */
enum wp_rc wp_admission_find(struct wp_admission *a, const struct wp_record *record,
			     struct wp_topic **ret, struct wp_error *error) WP_MUST_CHECK;
/* WP_OK; WP_AGAIN: not known yet, or to be waited for; WP_DATA. */
enum wp_rc wp_admission_pass(struct wp_admission *a, struct wp_topic *topic,
			     const struct wp_record *record, int64_t now_ms,
			     struct wp_admitted *ret, struct wp_error *error) WP_MUST_CHECK;
/* False: by what is known of the topic, perhaps no longer true, it would be refused. */
bool wp_admission_seems_to_fit(const struct wp_admission *a, const struct wp_topic *topic,
			       const struct wp_record *record);
/* The record was taken by librdkafka. */
void wp_admission_sent(const struct wp_admitted *admitted, wp_ticket ticket, int64_t now_ms);
/* A record was taken, or all is begun anew: what one waited for outside is no longer asked for. */
void wp_admission_forget_offered(struct wp_admission *a);
/*
 * A record's report came. True: Kafka has lost a record of that partition, confirmed before at
 * `ret_before` and sent before this one.
 */
bool wp_admission_reported(struct wp_admission *a, const rd_kafka_message_t *message,
			   const struct wp_report *report, int64_t now_ms, int64_t *ret_before);
/* A report, or produce itself, said that the topic is not what it seemed. */
void wp_admission_distrust(struct wp_admission *a, const char *topic, rd_kafka_resp_err_t code,
			   int64_t now_ms);
/* A size was refused: the topic's limit is asked for again. The limit as known, 0: it is not. */
size_t wp_admission_doubt_limit(struct wp_admission *a, const char *topic);

/* Asks for these (comma-separated), so far as they are not known, before an event comes. */
void wp_admission_prefetch(struct wp_admission *a, const char *topics, int64_t now_ms);
/* Asks what is due, unless a question is under way. */
void wp_admission_ask(struct wp_admission *a, const struct wp_client *client,
		      struct wp_worker *worker, int64_t now_ms);
/* When that is. */
int64_t wp_admission_due(const struct wp_admission *a);
/* What the answer says of one topic. The topic, if it is READY by it; else NULL. */
const struct wp_topic *wp_admission_learn(struct wp_admission *a, const struct wp_answer *answer,
					  size_t index, int64_t now_ms);
/* A topic that was there when it was last asked for; "" none. */
const char *wp_admission_known_topic(const struct wp_admission *a);
/* The topic waited for, if a human must do something about it; with the sentence. */
const struct wp_topic *wp_admission_waits_for(const struct wp_admission *a, int64_t now_ms,
					      struct wp_error *ret);

#endif

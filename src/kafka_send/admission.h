/*
 * Which topics may be sent to? What is not known of a topic is asked of the cluster, for all such topics
 * together; a report may say that it is not what it seemed. Where a human must do something about a
 * topic, this module has the sentence. Whether a record may go there: decision.h.
 *
 * Private to kafka_send/. Owns: the topics with their queued records. Borrows: the inquiry; for a call,
 * the client that asks, and the worker. Bounded: 4,096 topics without records.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_ADMISSION_H
#define WALPOST_SRC_KAFKA_SEND_ADMISSION_H

#include "inquiry.h"
#include "topics.h"

/* The rules are as the configuration has them. */
struct wp_admission_rules {
	bool creates_topics;
	char principal[256]; /* as Kafka's ACLs name us, where the configuration tells; "" */
};

struct wp_admission {
	struct wp_admission_rules rules;
	struct wp_inquiry *inquiry;
	struct wp_topics topics;
	char offered[WP_TOPIC_NAME_MAX + 1]; /* for which a record waits with the relay; "": none */
	int64_t expected_at_ms; /* topics that are expected are asked for; INT64_MAX: none */
};

/* `drop` ends a topic's handle. Returns WP_NOMEM. */
enum wp_rc wp_admission_init(struct wp_admission *a, struct wp_inquiry *inquiry,
			     void (*drop)(void *handle), struct wp_error *error) WP_MUST_CHECK;
void wp_admission_release(struct wp_admission *a);
void wp_admission_set_rules(struct wp_admission *a, const struct wp_admission_rules *rules);
/* A new client was opened. */
void wp_admission_opened(struct wp_admission *a, int64_t now_ms);

/* A record waits for what is known of the topic: it is asked for, once more if it was, at the next step,
 * which is due then. */
void wp_admission_ask_for(struct wp_admission *a, struct wp_topic *topic);
/* The topic is in use: what is known of it is asked for again if it is old, not to be noticed by what is
 * sent meanwhile. */
void wp_admission_refresh(struct wp_admission *a, struct wp_topic *topic, int64_t now_ms);
/* A record was taken, or all is begun anew: what one waited for outside is no longer asked for. */
void wp_admission_forget_offered(struct wp_admission *a);
/* A report, or produce itself, said that the topic is not what it seemed. */
void wp_admission_distrust(struct wp_admission *a, const char *topic, rd_kafka_resp_err_t code,
			   int64_t now_ms);
/* A size was refused: the topic's limit is asked for again. Returns the limit as it was known, 0 when it was not. */
size_t wp_admission_doubt_limit(struct wp_admission *a, const char *topic);

/* Asks for these (comma-separated), so far as they are not known, before an event comes. */
void wp_admission_prefetch(struct wp_admission *a, const char *topics, int64_t now_ms);
/* Asks what is due, unless a question is under way. */
void wp_admission_ask(struct wp_admission *a, const struct wp_client *client,
		      struct wp_worker *worker, int64_t now_ms);
/* Says when that is. */
int64_t wp_admission_due(const struct wp_admission *a);
/* Takes what the answer says of one topic. Returns the topic if it is READY by it, else NULL. */
const struct wp_topic *wp_admission_learn(struct wp_admission *a, const struct wp_answer *answer,
					  size_t index, int64_t now_ms);
/* Names a topic that was there when it was last asked for; "" when there is none. */
const char *wp_admission_known_topic(const struct wp_admission *a);
/* Returns the topic waited for, if a human must do something about it, with the sentence. */
const struct wp_topic *wp_admission_waits_for(const struct wp_admission *a, int64_t now_ms,
					      struct wp_error *ret);

#endif

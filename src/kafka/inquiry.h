/*
 * Asks the cluster about one topic without blocking the loop: its metadata
 * first (does it exist, may we see it), which librdkafka only gives to those
 * who wait: on the worker; this also saves the first record a delay of up to a
 * second. Then its configuration (how large may a batch be) from the broker
 * that answered: the controller, librdkafka's own choice, need not be there.
 *
 * Private to kafka/. One question at a time. An answer comes as a value.
 */
#ifndef WALPOST_KAFKA_INQUIRY_H
#define WALPOST_KAFKA_INQUIRY_H

#include "client.h"
#include "walpost/kafka/topics.h"

enum wp_inquiry_about {
	WP_INQUIRY_TOPIC, /* metadata and configuration */
	WP_INQUIRY_LIFE,  /* metadata only: that there is an answer is the answer */
};

struct wp_answer {
	enum wp_inquiry_about about;
	bool heard;		  /* a broker answered, whatever it said */
	rd_kafka_resp_err_t code; /* NO_ERROR: the topic is there */
	size_t limit;		  /* max.message.bytes; 0: not told */
	int32_t partition_count;
	char topic[WP_TOPIC_NAME_MAX + 1];
	char text[512]; /* for people; "" without error */
};

enum wp_inquiry_stage { WP_INQUIRY_IDLE, WP_INQUIRY_METADATA, WP_INQUIRY_CONFIG };

struct wp_question;

struct wp_inquiry {
	enum wp_inquiry_stage stage;
	enum wp_inquiry_about about;
	char topic[WP_TOPIC_NAME_MAX + 1];
	struct wp_question *question; /* METADATA: owned by the job */
	uint64_t job;
	bool has_metadata; /* it came, and was not looked at yet */
	rd_kafka_resp_err_t code;
	int32_t broker_id; /* who gave it */
	int32_t partition_count;
	uint64_t serial; /* of the last configuration asked: late answers are ignored */
	void (*wake)(void *arg);
	void *wake_arg;
};

/* `wake` is called on the loop's thread when wp_inquiry_step() has something to do. */
void wp_inquiry_init(struct wp_inquiry *q, void (*wake)(void *arg), void *arg);
/* Only when IDLE. WP_FULL, WP_NOMEM: later. */
enum wp_rc wp_inquiry_ask(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
			  enum wp_inquiry_about about, const char *topic) WP_MUST_CHECK;
/* True: the answer is there. */
bool wp_inquiry_step(struct wp_inquiry *q, const struct wp_client *c, struct wp_answer *ret);
/* The same, by an event of type DESCRIBECONFIGS_RESULT. */
bool wp_inquiry_read(struct wp_inquiry *q, rd_kafka_event_t *event, struct wp_answer *ret);
/* Idle again; before the client is closed. */
void wp_inquiry_reset(struct wp_inquiry *q, struct wp_worker *worker);

#endif

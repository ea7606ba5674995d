/*
 * Asks the cluster about one topic without blocking: first its configuration
 * (DescribeConfigs: does it exist, how large may a batch be), and where that
 * is not allowed or not enough, its metadata, which librdkafka only gives to
 * those who wait: on the worker.
 *
 * Private to kafka/. One question at a time. An answer comes as a value.
 */
#ifndef WALPOST_KAFKA_INQUIRY_H
#define WALPOST_KAFKA_INQUIRY_H

#include "client.h"
#include "walpost/kafka/topics.h"

enum wp_inquiry_stage { WP_INQUIRY_IDLE, WP_INQUIRY_CONFIG, WP_INQUIRY_METADATA };

struct wp_answer {
	bool heard;		     /* a broker answered, whatever it said */
	enum wp_inquiry_stage stage; /* which question it answers */
	rd_kafka_resp_err_t code;
	size_t limit; /* max.message.bytes; 0: not told */
	char topic[WP_TOPIC_NAME_MAX + 1];
	char text[512]; /* for people; "" without error */
};

struct wp_question;

struct wp_inquiry {
	enum wp_inquiry_stage stage;
	char topic[WP_TOPIC_NAME_MAX + 1];
	uint64_t serial; /* of the last question: a late answer to another is ignored */
	/* METADATA */
	struct wp_question *question; /* owned by the job */
	uint64_t job;
	bool answered;
	struct wp_answer answer;
	void (*wake)(void *arg);
	void *wake_arg;
};

/* `wake` is called on the loop's thread when wp_inquiry_take() has an answer. */
void wp_inquiry_init(struct wp_inquiry *q, void (*wake)(void *arg), void *arg);
/* Only when IDLE. */
void wp_inquiry_ask_config(struct wp_inquiry *q, const struct wp_client *c, const char *topic,
			   int timeout_ms);
/* Only when IDLE. WP_FULL, WP_NOMEM: later. */
enum wp_rc wp_inquiry_ask_metadata(struct wp_inquiry *q, const struct wp_client *c,
				   struct wp_worker *worker, const char *topic,
				   int timeout_ms) WP_MUST_CHECK;
/* An event of type DESCRIBECONFIGS_RESULT; false: it answers nothing asked now. */
bool wp_inquiry_read(struct wp_inquiry *q, rd_kafka_event_t *event, struct wp_answer *ret);
/* The answer to the metadata question, if it has come. */
bool wp_inquiry_take(struct wp_inquiry *q, struct wp_answer *ret);
/* Idle again; before the client is closed. Serials go on. */
void wp_inquiry_reset(struct wp_inquiry *q, struct wp_worker *worker);

#endif

#include <stdlib.h>
#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/kafka/admission.h"
#include "client.h"
#include "walpost/kafka/preflight.h"
#include "walpost/kafka/properties.h"

#define SLICE_MS 500

/* What is asked with, and the last that went wrong. */
struct check {
	rd_kafka_t *rk;
	rd_kafka_queue_t *queue;
	int64_t deadline_ms;
	bool is_refused; /* credentials or TLS: waiting does not help */
	rd_kafka_resp_err_t code;
	struct wp_why trouble;
};

static int64_t now_ms(void)
{
	return wp_clock_us() / 1000;
}

static int left_ms(const struct check *c)
{
	int64_t left = c->deadline_ms - now_ms();

	return left < 0 ? 0 : (int)left;
}

static void read_error(struct check *c, rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t code = rd_kafka_event_error(event);

	/* That all are down says less than why. */
	if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && c->trouble.text[0] != '\0')
		return;
	/* What refused us may be followed by less. */
	if (c->is_refused)
		return;
	const char *text = rd_kafka_event_error_string(event);
	c->code = code;
	(void)wp_why_set(&c->trouble, WP_IO, "%s", text);
	c->is_refused = wp_admission_is_login(code) || wp_admission_is_tls(code, text);
}

static void read_events(struct check *c)
{
	rd_kafka_event_t *event;

	while ((event = rd_kafka_queue_poll(c->queue, 0)) != NULL) {
		if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
			read_error(c, event);
		rd_kafka_event_destroy(event);
	}
}

static void describe(const struct check *c, const struct rd_kafka_metadata *metadata,
		     struct wp_why *ret_sentence)
{
	char *cluster = rd_kafka_clusterid(c->rk, left_ms(c));

	(void)wp_why_set(ret_sentence, WP_OK, "reached %d broker%s of Kafka cluster %s by %s",
			 metadata->broker_cnt, metadata->broker_cnt == 1 ? "" : "s",
			 cluster != NULL ? cluster : "(without id)", metadata->orig_broker_name);
	if (cluster != NULL)
		rd_kafka_mem_free(c->rk, cluster);
}

static enum wp_rc refuse(const struct check *c, struct wp_why *why)
{
	if (c->is_refused) {
		struct wp_why cure;
		wp_admission_cure(c->code, c->trouble.text, rd_kafka_version(), &cure);
		return wp_why_set(why, WP_CONFIG, "Kafka does not let us in: %s; %s",
				  c->trouble.text, cure.text);
	}
	if (wp_admission_hung_up(c->trouble.text))
		return wp_why_set(why, WP_IO, "no Kafka broker answers: %s%s", c->trouble.text,
				  WP_HUNG_UP_CURE);
	return wp_why_set(why, WP_IO,
			  "no Kafka broker answers: %s; correct bootstrap.servers in [kafka], or "
			  "start Kafka",
			  c->trouble.text[0] != '\0' ? c->trouble.text : "timed out");
}

/* In slices, so that a refusal is told at once and not after the whole time. */
static enum wp_rc ask(struct check *c, struct wp_why *ret_sentence, struct wp_why *why)
{
	const struct rd_kafka_metadata *metadata;

	while (left_ms(c) > 0 && !c->is_refused) {
		int slice = left_ms(c) < SLICE_MS ? left_ms(c) : SLICE_MS;
		if (rd_kafka_metadata(c->rk, 0, NULL, &metadata, slice) ==
		    RD_KAFKA_RESP_ERR_NO_ERROR) {
			describe(c, metadata, ret_sentence);
			rd_kafka_metadata_destroy(metadata);
			return WP_OK;
		}
		read_events(c);
	}
	return refuse(c, why);
}

static enum wp_rc open_check(struct check *c, const struct wp_kafka_options *options,
			     int timeout_ms, struct wp_why *why)
{
	/* The relay's own bounds are judged when it starts. */
	struct wp_kafka_bounds bounds = { 1, 1 };
	rd_kafka_conf_t *conf;
	char error[512];

	enum wp_rc rc = wp_properties_conf(options, &bounds, &conf, why);
	if (rc != WP_OK)
		return rc;
	rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
	*c = (struct check){
		.rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error)),
		.deadline_ms = now_ms() + timeout_ms,
	};
	if (c->rk == NULL) {
		rc = wp_client_not_made(error, why);
		rd_kafka_conf_destroy(conf);
		return rc;
	}
	/* Its lines end with the queue: the sentence says what is to be known. */
	(void)rd_kafka_set_log_queue(c->rk, NULL);
	c->queue = rd_kafka_queue_get_main(c->rk);
	return WP_OK;
}

static void close_check(struct check *c)
{
	rd_kafka_queue_destroy(c->queue);
	rd_kafka_destroy(c->rk);
}

enum wp_rc wp_kafka_check(const struct wp_kafka_options *options, int timeout_ms,
			  struct wp_why *ret_sentence, struct wp_why *why)
{
	struct check c;

	enum wp_rc rc = open_check(&c, options, timeout_ms, why);
	if (rc != WP_OK)
		return rc;
	rc = ask(&c, ret_sentence, why);
	close_check(&c);
	return rc;
}

static enum wp_rc judge_topic(const struct rd_kafka_metadata *metadata, const char *topic,
			      struct wp_why *ret_sentence, struct wp_why *why)
{
	rd_kafka_resp_err_t code =
		metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN;

	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return wp_why_set(ret_sentence, WP_OK, "topic %s has %d partitions", topic,
				  metadata->topics[0].partition_cnt);
	return wp_why_set(why, WP_CONFIG, "topic %s: %s", topic, rd_kafka_err2str(code));
}

enum wp_rc wp_kafka_check_topic(const struct wp_kafka_options *options, const char *topic,
				int timeout_ms, struct wp_why *ret_sentence, struct wp_why *why)
{
	const struct rd_kafka_metadata *metadata;
	struct check c;

	enum wp_rc rc = open_check(&c, options, timeout_ms, why);
	if (rc != WP_OK)
		return rc;
	rd_kafka_topic_t *handle = rd_kafka_topic_new(c.rk, topic, NULL);
	rd_kafka_resp_err_t code =
		handle == NULL ? rd_kafka_last_error()
			       : rd_kafka_metadata(c.rk, 0, handle, &metadata, timeout_ms);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
		rc = wp_why_set(why, WP_IO, "topic %s: %s", topic, rd_kafka_err2str(code));
	} else {
		rc = judge_topic(metadata, topic, ret_sentence, why);
		rd_kafka_metadata_destroy(metadata);
	}
	if (handle != NULL)
		rd_kafka_topic_destroy(handle);
	close_check(&c);
	return rc;
}

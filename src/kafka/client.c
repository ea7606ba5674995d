#include <assert.h>
#include <stdio.h>

#include "walpost/kafka/client.h"

#include "walpost/kafka/token.h"
#include "walpost/kafka/throttle.h"

static enum wp_rc set(rd_kafka_conf_t *conf, const char *name, size_t number,
		      struct wp_error *error)
{
	char value[32], errstr[512];

	(void)snprintf(value, sizeof(value), "%zu", number);
	if (rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)) == RD_KAFKA_CONF_OK)
		return WP_OK;
	return wp_error_set(error, WP_CONFIG, "kafka: %s", errstr);
}

static enum wp_rc apply(rd_kafka_conf_t *conf, const struct wp_client_shape *shape,
			struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR |
					       RD_KAFKA_EVENT_LOG | RD_KAFKA_EVENT_STATS);
	if (shape->batch_size > 0)
		rc = set(conf, "batch.size", shape->batch_size, error);
	if (rc == WP_OK && shape->batching == WP_BATCHING_ONE_BY_ONE)
		rc = set(conf, "batch.num.messages", 1, error);
	if (rc == WP_OK && shape->batching == WP_BATCHING_ONE_BY_ONE)
		rc = set(conf, "linger.ms", 0, error);
	return rc;
}

static void connect_queue(struct wp_client *c, int fd)
{
	static const uint64_t one = 1; /* what an eventfd takes */

	/* NULL stands for the main queue. This fails only without log.queue, which is ours to
	 * set. */
	rd_kafka_resp_err_t errstr = rd_kafka_set_log_queue(c->rk, NULL);
	assert(errstr == RD_KAFKA_RESP_ERR_NO_ERROR);
	(void)errstr;
	c->queue = rd_kafka_queue_get_main(c->rk);
	rd_kafka_queue_io_event_enable(c->queue, fd, &one, sizeof(one));
}

enum wp_rc wp_client_not_made(const char *errstr, struct wp_error *error)
{
	if (rd_kafka_last_error() == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE)
		return wp_error_set(error, WP_IO, "kafka: librdkafka failed to start: %s", errstr);
	return wp_error_set(error, WP_CONFIG, "kafka: librdkafka refuses the configuration: %s",
			    errstr);
}

/* This is no event: librdkafka calls it when the queue is polled, on our thread. */
static void on_throttle(rd_kafka_t *rk, const char *broker, int32_t broker_id, int throttle_ms,
			void *opaque)
{
	const struct wp_kafka_options *options = opaque;

	(void)rk, (void)broker_id; /* the name has it */
	wp_throttle_told(options->throttle, broker, throttle_ms);
}

enum wp_rc wp_client_open(const struct wp_kafka_options *options,
			  const struct wp_kafka_bounds *bounds, const struct wp_client_shape *shape,
			  int fd, struct wp_client *ret, struct wp_error *error)
{
	rd_kafka_conf_t *conf;
	char errstr[512];

	enum wp_rc rc = wp_properties_conf(options, bounds, &conf, error);
	if (rc != WP_OK)
		return rc;
	rc = apply(conf, shape, error);
	if (rc != WP_OK) {
		rd_kafka_conf_destroy(conf);
		return rc;
	}
	wp_kafka_token_prepare(conf, options);
	if (options->throttle != NULL) {
		rd_kafka_conf_set_opaque(conf, (void *)options); /* as the tokens' */
		rd_kafka_conf_set_throttle_cb(conf, on_throttle);
	}
	struct wp_client client = {
		.rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr)),
	};
	if (client.rk == NULL) {
		rc = wp_client_not_made(errstr, error);
		rd_kafka_conf_destroy(conf);
		return rc;
	}
	wp_kafka_token_begin(client.rk, options);
	connect_queue(&client, fd);
	*ret = client;
	return WP_OK;
}

rd_kafka_t *wp_client_close(struct wp_client *c)
{
	rd_kafka_t *rk = c->rk;

	if (rk == NULL)
		return NULL;
	/* From here on librdkafka's threads do not touch the descriptor. */
	rd_kafka_queue_io_event_enable(c->queue, -1, NULL, 0);
	rd_kafka_queue_destroy(c->queue);
	*c = (struct wp_client){ 0 };
	return rk;
}

const char *wp_client_version_trouble(int version)
{
	version >>= 8; /* the last byte tells release candidates apart */
	if (version >= 0x020200 && version <= 0x020400)
		return "may fail for good when it retries large batches; use 2.0.2 or 2.8.0 and "
		       "newer";
	if (version >= 0x020500 && version < 0x020503)
		return "may abort the process (telemetry); use 2.8.0 and newer";
	if (version == 0x020a00)
		return "may reconnect forever; use 2.10.1 and newer";
	return NULL;
}

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/log.h"

#include "client.h"

#define LINES_MAX 20
#define LINES_EACH_MS 10000

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

	/* NULL is the main queue. It fails only without log.queue, which is ours to set. */
	rd_kafka_resp_err_t errstr = rd_kafka_set_log_queue(c->rk, NULL);
	assert(errstr == RD_KAFKA_RESP_ERR_NO_ERROR);
	(void)errstr;
	c->queue = rd_kafka_queue_get_main(c->rk);
	rd_kafka_queue_io_event_enable(c->queue, fd, &one, sizeof(one));
}

enum wp_rc wp_client_not_made(const char *errstr, struct wp_error *error)
{
	if (rd_kafka_last_error() == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE)
		return wp_error_set(error, WP_IO, "kafka: librdkafka could not start: %s", errstr);
	return wp_error_set(error, WP_CONFIG, "kafka: librdkafka refuses the configuration: %s",
			    errstr);
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
	struct wp_client client = {
		.rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr)),
	};
	if (client.rk == NULL) {
		rc = wp_client_not_made(errstr, error);
		rd_kafka_conf_destroy(conf);
		return rc;
	}
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

/* Owned by the job. */
struct burial {
	rd_kafka_t *rks[WP_CLIENTS_MAX];
	size_t count;
	void (*done)(void *arg);
	void *arg;
};

static void run_burial(void *arg)
{
	const struct burial *b = arg;

	for (size_t i = 0; i < b->count; i++)
		rd_kafka_destroy(b->rks[i]);
}

static void end_burial(void *arg)
{
	struct burial b = *(struct burial *)arg;

	free(arg);
	b.done(b.arg);
}

enum wp_rc wp_client_bury(rd_kafka_t *const *rks, size_t count, struct wp_worker *worker,
			  void (*done)(void *arg), void *arg, uint64_t *ret_job)
{
	struct burial *b = malloc(sizeof(*b));
	if (b == NULL)
		return WP_NOMEM;
	*b = (struct burial){ .count = count, .done = done, .arg = arg };
	memcpy(b->rks, rks, count * sizeof(b->rks[0]));
	struct wp_job job = { .run = run_burial, .done = end_burial, .drop = free, .arg = b };
	enum wp_rc rc = wp_worker_submit(worker, &job, ret_job);
	if (rc != WP_OK)
		free(b);
	return rc;
}

/* What librdkafka or we get over is a warning to us, whatever it calls it. */
static enum wp_log_level level_of(int syslog_level, const char *facility)
{
	/* Announces our own choice (enable.gapless.guarantee) at each start. */
	if (strcmp(facility, "CONFWARN") == 0 || syslog_level >= 7)
		return WP_LOG_DEBUG;
	if (syslog_level >= 5)
		return WP_LOG_INFO;
	/* Fatal to this producer: another follows, and what cannot be got over has lines of its own. */
	if (strcmp(facility, "FATAL") == 0)
		return WP_LOG_WARN;
	return syslog_level >= 3 ? WP_LOG_WARN : WP_LOG_ERROR;
}

/* True if this line may still be written. */
static bool within_limit(struct wp_client_log *l, int64_t now_ms)
{
	if (now_ms - l->since_ms >= LINES_EACH_MS || l->since_ms == 0) {
		if (l->dropped > 0)
			wp_log(WP_LOG_WARN, "kafka_log_dropped", WP_INT("lines", l->dropped));
		*l = (struct wp_client_log){ .since_ms = now_ms };
	}
	if (l->count == LINES_MAX) {
		l->dropped++;
		return false;
	}
	l->count++;
	return true;
}

void wp_client_log_line(struct wp_client_log *l, rd_kafka_event_t *event, int64_t now_ms)
{
	const char *facility, *text;
	int syslog_level;

	if (rd_kafka_event_log(event, &facility, &text, &syslog_level) != 0)
		return;
	enum wp_log_level level = level_of(syslog_level, facility);
	/* `debug` was asked for: it is not cut short. */
	if (level != WP_LOG_DEBUG && !within_limit(l, now_ms))
		return;
	wp_log(level, "kafka_log", WP_TEXT("facility", facility), WP_TEXT("text", text));
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
		return "may reconnect for ever; use 2.10.1 and newer";
	return NULL;
}

/*
 * What the parts of the preflight share: a client that asks, and what it heard beside the
 * answers. Its main queue brings both.
 */
#ifndef WALPOST_SRC_KAFKA_PREFLIGHT_ASKER_H
#define WALPOST_SRC_KAFKA_PREFLIGHT_ASKER_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

#include "walpost/base/error.h"
#include "checkup.h"

enum wp_idempotence { WP_IDEMPOTENCE_NOT_KNOWN, WP_IDEMPOTENCE_GRANTED, WP_IDEMPOTENCE_REFUSED };

struct wp_asker {
	rd_kafka_t *rk;		 /* owned */
	rd_kafka_queue_t *queue; /* owned */
	int64_t deadline_ms;
	bool is_refused; /* credentials or TLS: waiting does not help */
	rd_kafka_resp_err_t code;
	struct wp_error trouble; /* the last that went wrong */
	enum wp_idempotence idempotence;
	struct wp_cluster_facts cluster;
	int32_t broker_id; /* one that answered; -1: none yet */
};

int wp_asker_left_ms(const struct wp_asker *a);
/* An idempotent producer that gets no id is broken for good. */
void wp_asker_read_fatal(struct wp_asker *a);
/* Takes what came beside an answer; destroys the event. */
void wp_asker_take(struct wp_asker *a, rd_kafka_event_t *event);
/* The next event of that kind; the caller destroys it. NULL: the time is over. */
rd_kafka_event_t *wp_asker_wait(struct wp_asker *a, rd_kafka_event_type_t kind);

/*
 * For the broker that answered already: to look for the controller first would take time, and
 * since KRaft all brokers pass on what is its. The caller destroys them.
 */
rd_kafka_AdminOptions_t *wp_asker_admin_options(const struct wp_asker *a, rd_kafka_admin_op_t op);

/* preflight_cluster.c: what the broker makes of topics that are missing. */
void wp_asker_ask_cluster(struct wp_asker *a);
/* preflight_topics.c: all of them, judged. */
void wp_asker_check_topics(struct wp_asker *a, const struct wp_topic_wanted *topics, size_t count,
			   struct wp_findings *ret);
/* preflight_rights.c: may we write to, and read, that topic? */
void wp_asker_ask_rights(struct wp_asker *a, const char *topic, struct wp_topic_facts *facts);

/* The configuration of a topic or of the broker. NULL: not told. The event owns it. */
const rd_kafka_ConfigResource_t *wp_asker_config(struct wp_asker *a, rd_kafka_ResourceType_t kind,
						 const char *name, rd_kafka_event_t **ret_event);
/* Its value, or NULL. */
const char *wp_config_value(const rd_kafka_ConfigResource_t *resource, const char *name);

#endif

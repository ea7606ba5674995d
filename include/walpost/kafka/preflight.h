/*
 * What `walpost check` asks of Kafka: are the brokers reached and do they let
 * us in. Blocks; never called by the relay.
 */
#ifndef WALPOST_KAFKA_PREFLIGHT_H
#define WALPOST_KAFKA_PREFLIGHT_H

#include "walpost/base/why.h"
#include "walpost/kafka/options.h"

/*
 * WP_OK with a sentence naming brokers and cluster. WP_CONFIG: wrong properties,
 * credentials or TLS; WP_IO: nobody answered within timeout_ms.
 */
enum wp_rc wp_kafka_check(const struct wp_kafka_options *options, int timeout_ms,
			  struct wp_why *ret_sentence, struct wp_why *why) WP_MUST_CHECK;
/* WP_OK with a sentence naming topic and partitions. WP_CONFIG: it is missing or forbidden; WP_IO. */
enum wp_rc wp_kafka_check_topic(const struct wp_kafka_options *options, const char *topic,
				int timeout_ms, struct wp_why *ret_sentence,
				struct wp_why *why) WP_MUST_CHECK;

#endif

#include "check.h"

#include <stdio.h>

#include "walpost/kafka/preflight.h"

#define KAFKA_TIMEOUT_MS 10000

void wp_check_kafka(struct wp_check *c)
{
	struct wp_why why, sentence;
	if (c->config.relay.sink != WP_SINK_KIND_KAFKA)
		return;
	enum wp_rc rc = wp_kafka_check(&c->config.kafka, KAFKA_TIMEOUT_MS, &sentence, &why);
	wp_check_add(c, rc, WP_ROOM_KAFKA, "kafka", sentence.text, &why,
		     "-- see [kafka], above all bootstrap.servers");
	if (rc != WP_OK || c->config.relay.poison != WP_POISON_DEAD_LETTER)
		return;
	rc = wp_kafka_check_topic(&c->config.kafka, c->config.relay.dead_letter_topic,
				  KAFKA_TIMEOUT_MS, &sentence, &why);
	char cure[320];
	(void)snprintf(cure, sizeof(cure), "-- create topic %s (relay.dead_letter.topic)",
		       c->config.relay.dead_letter_topic);
	wp_check_add(c, rc, WP_ROOM_TOPIC, "dead_letter_topic", sentence.text, &why, cure);
}

/*
 * Whose Kafka is this? It is known by the host names of bootstrap.servers: what a provider compresses,
 * limits and calls its rights differs, and kafka-acls.sh is of no use where rights are given by
 * the cloud's own IAM.
 *
 * The facts are from the providers' documentation as of November 2026:
 *   Confluent   docs.confluent.io/cloud/current/clusters/cluster-types.html
 *   MSK         docs.aws.amazon.com/msk/latest/developerguide/iam-access-control.html, .../limits.html
 *   Event Hubs  learn.microsoft.com/azure/event-hubs/apache-kafka-configurations, .../event-hubs-quotas
 *   Redpanda    docs.redpanda.com/redpanda-cloud/reference/tiers/
 *   Aiven       aiven.io/docs/products/kafka/reference/advanced-params
 *   Google      cloud.google.com/managed-service-for-apache-kafka/docs/acl-intro
 *
 * Owns nothing. Pure.
 */
#ifndef WALPOST_KAFKA_PROVIDER_H
#define WALPOST_KAFKA_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

enum wp_kafka_provider {
	WP_KAFKA_PROVIDER_NONE, /* none that is known */
	WP_KAFKA_CONFLUENT,
	WP_KAFKA_MSK,
	WP_KAFKA_MSK_SERVERLESS,
	WP_KAFKA_EVENT_HUBS,
	WP_KAFKA_REDPANDA,
	WP_KAFKA_AIVEN,
	WP_KAFKA_GOOGLE,
	WP_KAFKA_PROVIDER_COUNT
};

/* The first of host:port[,host:port...] that is known decides. */
enum wp_kafka_provider wp_kafka_provider_find(const char *servers);
const char *wp_kafka_provider_name(enum wp_kafka_provider provider);
/* Names the limits that a relay meets first, as a part of a sentence; "" when there are none. */
const char *wp_kafka_provider_limits(enum wp_kafka_provider provider);
/* Does it take that compression.type? */
bool wp_kafka_provider_takes(enum wp_kafka_provider provider, const char *compression);

/* Is a token the only login there, at these ports? */
bool wp_kafka_provider_wants_token(enum wp_kafka_provider provider, const char *servers);

/* This right is asked for: `topic` NULL is the cluster. */
struct wp_kafka_right {
	enum wp_kafka_provider provider;
	bool by_token;	       /* the login is OAUTHBEARER: the cloud's own identity */
	const char *operation; /* Write, Read, Create, IdempotentWrite */
	const char *topic;
	const char *servers;
};

/* Writes the provider's own way to give it. Returns false when kafka-acls.sh does. */
bool wp_kafka_provider_grant(const struct wp_kafka_right *right, char *cure, size_t size);
/* Writes the provider's own way to create a topic. Returns false when kafka-topics.sh does. */
bool wp_kafka_provider_create(enum wp_kafka_provider provider, const char *servers,
			      const char *topic, int partitions, char *cure, size_t size);

#endif

/* Asks the database and Kafka whether a replay can send to another topic (--to-topic). */
#include "replay.h"

#include "walpost/kafka_inspect/preflight.h"
#include "walpost/kafka_inspect/topic_reader.h"

enum { KAFKA_TIMEOUT_MS = 10000 };

/* Does the function take a topic? An older walpost created one that does not. */
static enum wp_rc check_function(struct wp_replay *r, struct wp_error *error)
{
	PGresult *found;
	enum wp_rc rc = wp_session_query(
		&r->session,
		"SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON "
		"n.oid = p.pronamespace WHERE n.nspname = 'walpost' AND p.proname = 'reissue' AND "
		"'topic' = ANY (p.proargnames))",
		&found, error);

	if (rc != WP_OK)
		return rc;
	if (*PQgetvalue(found, 0, 0) != 't')
		rc = wp_error_set(error, WP_CONFIG,
				  "--to-topic: function walpost.reissue() is older than this "
				  "option: replace it with walpost init, or run sql/reissue.sql");
	PQclear(found);
	return rc;
}

static enum wp_rc count_partitions(struct wp_replay *r, int32_t *ret, struct wp_error *error)
{
	struct wp_topic_reader *reader = NULL;
	enum wp_rc rc = wp_topic_reader_new(&r->config.kafka, WP_READ_UNCOMMITTED, &reader, error);

	if (rc != WP_OK)
		return rc;
	rc = wp_topic_reader_add(reader, wp_span_of(r->choice.to_topic), ret, error);
	wp_topic_reader_free(reader);
	return rc;
}

/* A relay that meets a topic that does not exist waits for it, and all events with it. */
static enum wp_rc check_kafka(struct wp_replay *r, struct wp_error *error)
{
	const struct wp_property *created =
		wp_property_find(&r->config.kafka, "allow.auto.create.topics");
	struct wp_error sentence;
	int32_t partitions = 0;

	if (r->config.relay.sink != WP_SINK_KIND_KAFKA)
		return WP_OK;
	enum wp_rc rc = wp_kafka_reach(&r->config.kafka, KAFKA_TIMEOUT_MS, &sentence, error);
	if (rc == WP_OK)
		rc = count_partitions(r, &partitions, error);
	if (rc != WP_OK || partitions > 0 ||
	    (created != NULL && strcmp(created->value, "true") == 0))
		return rc;
	return wp_error_set(error, WP_CONFIG,
			    "--to-topic %s: there is no such topic, and the relay would hold all "
			    "events back until it exists: correct the name, or create the topic: "
			    "kafka-topics.sh --create --topic %s",
			    r->choice.to_topic, r->choice.to_topic);
}

enum wp_rc wp_replay_check_topic(struct wp_replay *r, struct wp_error *error)
{
	if (r->choice.to_topic == NULL)
		return WP_OK;
	enum wp_rc rc = check_function(r, error);
	return rc == WP_OK ? check_kafka(r, error) : rc;
}

/* Asks what the broker tells of topics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preflight_asker.h"
#include "walpost/base/buffer.h"

/*
 * Nothing is written: since 2.3.0 librdkafka asks the broker which operations it would let us do.
 * Why it would not, and before 2.3.0 all that can be known, is in the ACLs, for those who may list
 * them. Kafka without an authorizer lets all do all.
 */

/* -- the list of ACLs -------------------------------------------------------------- */

enum { ACLS_MAX = 256 };

/* What the broker itself has said stands, except that the list says why it refuses. */
static void learn(enum wp_right *right, enum wp_right listed)
{
	if (*right == WP_RIGHT_NOT_KNOWN || listed == WP_RIGHT_DENIED)
		*right = listed;
}

static void read_acls(const struct wp_asker *a, rd_kafka_event_t *event,
		      struct wp_topic_facts *facts)
{
	struct wp_acl acls[ACLS_MAX];
	size_t count = 0;
	const rd_kafka_AclBinding_t **bindings = rd_kafka_DescribeAcls_result_acls(
		rd_kafka_event_DescribeAcls_result(event), &count);

	if (count > ACLS_MAX)
		return; /* which of them counts is not to be guessed */
	for (size_t i = 0; i < count; i++)
		acls[i] = (struct wp_acl){
			.principal = rd_kafka_AclBinding_principal(bindings[i]),
			.name = rd_kafka_AclBinding_name(bindings[i]),
			.pattern = rd_kafka_AclBinding_resource_pattern_type(bindings[i]),
			.operation = rd_kafka_AclBinding_operation(bindings[i]),
			.permission = rd_kafka_AclBinding_permission_type(bindings[i]),
		};
	const char *us = a->cluster.principal;
	const struct wp_acl *denial = NULL;
	learn(&facts->read, wp_acl_judge(acls, count, us, RD_KAFKA_ACL_OPERATION_READ, &denial));
	learn(&facts->write, wp_acl_judge(acls, count, us, RD_KAFKA_ACL_OPERATION_WRITE, &denial));
	if (facts->write == WP_RIGHT_DENIED)
		(void)snprintf(facts->denial, sizeof(facts->denial),
			       "--deny-principal '%s' --operation %s --topic '%s' "
			       "--resource-pattern-type %s",
			       denial->principal, rd_kafka_AclOperation_name(denial->operation),
			       denial->name, rd_kafka_ResourcePatternType_name(denial->pattern));
}

static void ask_acls(struct wp_asker *a, const char *topic, struct wp_topic_facts *facts)
{
	char error[256];
	rd_kafka_AclBindingFilter_t *filter = rd_kafka_AclBindingFilter_new(
		RD_KAFKA_RESOURCE_TOPIC, topic, RD_KAFKA_RESOURCE_PATTERN_MATCH, NULL, NULL,
		RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY, error, sizeof(error));
	rd_kafka_AdminOptions_t *options =
		wp_asker_admin_options(a, RD_KAFKA_ADMIN_OP_DESCRIBEACLS);

	rd_kafka_DescribeAcls(a->rk, filter, options, a->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_AclBinding_destroy(filter);
	rd_kafka_event_t *event = wp_asker_wait(a, RD_KAFKA_EVENT_DESCRIBEACLS_RESULT);
	if (event == NULL)
		return;
	if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_SECURITY_DISABLED)
		facts->write = facts->read = WP_RIGHT_GRANTED; /* nobody is asked for any */
	else if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR)
		read_acls(a, event, facts);
	rd_kafka_event_destroy(event);
}

/* -- the broker's word --------------------------------------------------------------- */

#if RD_KAFKA_VERSION >= 0x020300ff

static enum wp_right right_of(const rd_kafka_AclOperation_t *operations, size_t count,
			      rd_kafka_AclOperation_t wanted)
{
	if (operations == NULL)
		return WP_RIGHT_NOT_KNOWN;
	for (size_t i = 0; i < count; i++)
		if (operations[i] == wanted)
			return WP_RIGHT_GRANTED;
	return WP_RIGHT_REFUSED;
}

static void read_description(const rd_kafka_event_t *event, struct wp_topic_facts *facts)
{
	size_t count = 0, operation_count = 0;
	const rd_kafka_TopicDescription_t **topics = rd_kafka_DescribeTopics_result_topics(
		rd_kafka_event_DescribeTopics_result((rd_kafka_event_t *)event), &count);

	if (count != 1)
		return;
	const rd_kafka_AclOperation_t *operations =
		rd_kafka_TopicDescription_authorized_operations(topics[0], &operation_count);
	facts->write = right_of(operations, operation_count, RD_KAFKA_ACL_OPERATION_WRITE);
	facts->read = right_of(operations, operation_count, RD_KAFKA_ACL_OPERATION_READ);
}

static void ask_broker(struct wp_asker *a, const char *topic, struct wp_topic_facts *facts)
{
	rd_kafka_TopicCollection_t *topics =
		rd_kafka_TopicCollection_of_topic_names((const char *[]){ topic }, 1);
	rd_kafka_AdminOptions_t *options =
		wp_asker_admin_options(a, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);

	rd_kafka_error_destroy(rd_kafka_AdminOptions_set_include_authorized_operations(options, 1));
	rd_kafka_DescribeTopics(a->rk, topics, options, a->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_TopicCollection_destroy(topics);
	rd_kafka_event_t *event = wp_asker_wait(a, RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT);
	if (event == NULL)
		return;
	if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR)
		read_description(event, facts);
	rd_kafka_event_destroy(event);
}

#else

static void ask_broker(struct wp_asker *a, const char *topic, struct wp_topic_facts *facts)
{
	(void)a, (void)topic, (void)facts; /* this librdkafka cannot ask */
}

#endif

enum { REPLICAS_ADVISED = 3, METADATA_TIMEOUT_MS = 5000 };

/* -- more replicas, as JSON for Kafka's tool -------------------------------------------- */

static bool has_replica(const struct rd_kafka_metadata_partition *p, int32_t broker)
{
	for (int i = 0; i < p->replica_cnt; i++)
		if (p->replicas[i] == broker)
			return true;
	return false;
}

/* The partition keeps the replicas that it has, in their order, then gets others, beginning with
 * another for each partition. */
static void append_partition(struct wp_writer *w, const struct rd_kafka_metadata *m,
			     const struct rd_kafka_metadata_partition *p, int wanted)
{
	int count = 0;

	wp_writer_printf(w, "\"partition\":%d,\"replicas\":[", (int)p->id);
	for (int i = 0; i < p->replica_cnt && count < wanted; i++, count++)
		wp_writer_printf(w, count > 0 ? ",%d" : "%d", (int)p->replicas[i]);
	for (int i = 0; i < m->broker_cnt && count < wanted; i++) {
		int32_t broker = m->brokers[(i + p->id + 1) % m->broker_cnt].id;
		if (has_replica(p, broker))
			continue;
		wp_writer_printf(w, count > 0 ? ",%d" : "%d", (int)broker);
		count++;
	}
	wp_writer_put(w, "]}");
}

static void write_reassignment(const struct rd_kafka_metadata *m,
			       const struct rd_kafka_metadata_topic *topic,
			       struct wp_topic_facts *facts)
{
	struct wp_buffer text;
	struct wp_writer w = { .into = &text };
	int wanted = m->broker_cnt < REPLICAS_ADVISED ? m->broker_cnt : REPLICAS_ADVISED;

	wp_buffer_init(&text, sizeof(facts->reassignment) - 1);
	wp_writer_put(&w, "{\"version\":1,\"partitions\":[");
	for (int i = 0; i < topic->partition_cnt; i++) {
		wp_writer_printf(&w, "%s{\"topic\":\"%s\",", i > 0 ? "," : "", topic->topic);
		append_partition(&w, m, &topic->partitions[i], wanted);
	}
	wp_writer_put(&w, "]}");
	if (w.rc == WP_OK)
		(void)snprintf(facts->reassignment, sizeof(facts->reassignment), "%.*s",
			       (int)text.size, (const char *)text.data);
	wp_buffer_release(&text);
}

/* -- metadata ------------------------------------------------------------------------------ */

static void read_partition(const struct wp_asker *a, const struct rd_kafka_metadata_partition *p,
			   bool is_first, struct wp_topic_facts *facts)
{
	facts->leaderless += p->leader < 0;
	facts->led_by_silent += wp_broker_is_silent(&a->cluster, p->leader);
	if (is_first || p->replica_cnt < facts->replicas_min)
		facts->replicas_min = p->replica_cnt;
	if (is_first || p->isr_cnt < facts->in_sync_min)
		facts->in_sync_min = p->isr_cnt;
}

static void read_topic(const struct wp_asker *a, const struct rd_kafka_metadata *m,
		       const char *name, struct wp_topic_facts *facts)
{
	facts->code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	for (int i = 0; i < m->topic_cnt; i++) {
		const struct rd_kafka_metadata_topic *topic = &m->topics[i];
		if (strcmp(topic->topic, name) != 0)
			continue;
		facts->code = topic->err;
		facts->partitions = topic->partition_cnt;
		for (int p = 0; p < topic->partition_cnt; p++)
			read_partition(a, &topic->partitions[p], p == 0, facts);
		if (facts->replicas_min == 1 && m->broker_cnt > 1)
			write_reassignment(m, topic, facts);
	}
}

static void ask_metadata(struct wp_asker *a, const char *name, struct wp_topic_facts *facts)
{
	const struct rd_kafka_metadata *metadata;
	int left = wp_asker_left_ms(a);
	rd_kafka_topic_t *topic = rd_kafka_topic_new(a->rk, name, NULL);

	if (topic == NULL) {
		facts->code = rd_kafka_last_error();
		return;
	}
	facts->code = rd_kafka_metadata(a->rk, 0, topic, &metadata,
					left < METADATA_TIMEOUT_MS ? left : METADATA_TIMEOUT_MS);
	if (facts->code == RD_KAFKA_RESP_ERR_NO_ERROR) {
		read_topic(a, metadata, name, facts);
		rd_kafka_metadata_destroy(metadata);
	}
	rd_kafka_topic_destroy(topic);
}

/* -- configuration --------------------------------------------------------------------------- */

static bool is_value(const rd_kafka_ConfigResource_t *r, const char *name, const char *value)
{
	const char *told = wp_config_value(r, name);

	return told != NULL && strcmp(told, value) == 0;
}

static void read_config(const rd_kafka_ConfigResource_t *r, struct wp_topic_facts *facts)
{
	const char *in_sync = wp_config_value(r, "min.insync.replicas");
	const char *size = wp_config_value(r, "max.message.bytes");
	const char *cleanup = wp_config_value(r, "cleanup.policy");

	facts->has_config = in_sync != NULL && size != NULL;
	if (!facts->has_config)
		return;
	facts->min_in_sync = (int)strtol(in_sync, NULL, 10);
	facts->max_bytes = strtoll(size, NULL, 10);
	facts->compacts = cleanup != NULL && strstr(cleanup, "compact") != NULL;
	facts->unclean = is_value(r, "unclean.leader.election.enable", "true");
	facts->broker_time = is_value(r, "message.timestamp.type", "LogAppendTime");
}

static void ask_config(struct wp_asker *a, const char *name, struct wp_topic_facts *facts)
{
	rd_kafka_event_t *event;
	const rd_kafka_ConfigResource_t *resource =
		wp_asker_config(a, RD_KAFKA_RESOURCE_TOPIC, name, &event, &facts->config_code);

	if (resource != NULL)
		read_config(resource, facts);
	if (event != NULL)
		rd_kafka_event_destroy(event);
}

void wp_asker_check_topics(struct wp_asker *a, const struct wp_topic_wanted *topics, size_t count,
			   struct wp_findings *ret)
{
	for (size_t i = 0; i < count; i++) {
		struct wp_topic_facts facts = { .partitions = 0 };
		ask_metadata(a, topics[i].name, &facts);
		if (facts.code == RD_KAFKA_RESP_ERR_NO_ERROR && facts.partitions > 0) {
			ask_config(a, topics[i].name, &facts);
			/* May we write to, and read, that topic? */
			ask_broker(a, topics[i].name, &facts);
			if (facts.write != WP_RIGHT_GRANTED)
				ask_acls(a, topics[i].name, &facts);
		}
		wp_topic_judge(&topics[i], &facts, &a->cluster, ret);
	}
}

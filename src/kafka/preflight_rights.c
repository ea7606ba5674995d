/*
 * Without writing: since 2.3.0 librdkafka asks the broker which operations it would let us do.
 * Why it would not, and before 2.3.0 all that can be known, is in the ACLs, for those who may
 * list them. Kafka without an authorizer lets all do all.
 */
#include <stdio.h>

#include "preflight_asker.h"

/* -- the list of ACLs -------------------------------------------------------------- */

enum { ACLS_MAX = 256 };

/* What the broker itself has said stands, but for why it refuses. */
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

void wp_asker_ask_rights(struct wp_asker *a, const char *topic, struct wp_topic_facts *facts)
{
	ask_broker(a, topic, facts);
	if (facts->write != WP_RIGHT_GRANTED)
		ask_acls(a, topic, facts);
}

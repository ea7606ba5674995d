#include "support/check.h"

#include <stdio.h>
#include <string.h>

#include "preflight_asker.h"

/* A topic that will do, of a cluster of three; a test changes what it is about. */
struct topic {
	struct wp_topic_wanted wanted;
	struct wp_topic_facts facts;
	struct wp_cluster_facts cluster;
};

static struct wp_findings found; /* large; what judge() found last */

static struct topic t;

static int set_up(void **state)
{
	t = (struct topic){
		.wanted = { .name = "orders", .use = WP_TOPIC_ROUTED },
		.facts = {
			.partitions = 4,
			.replicas_min = 3,
			.in_sync_min = 3,
			.has_config = true,
			.min_in_sync = 2,
			.max_bytes = 1048588,
			.write = WP_RIGHT_GRANTED,
			.read = WP_RIGHT_GRANTED,
		},
		.cluster = {
			.servers = "k:9092",
			.principal = "User:relay",
			.brokers = 3,
			.message_max = 1000000,
			.version = "2.0.2",
		},
	};
	return 0;
}

static void judge(void)
{
	found.count = 0;
	wp_topic_judge(&t.wanted, &t.facts, &t.cluster, &found);
}

static const struct wp_finding *finding(const char *name)
{
	for (size_t i = 0; i < found.count; i++)
		if (strcmp(found.items[i].name, name) == 0)
			return &found.items[i];
	return NULL;
}

static void check_finding(const char *name, enum wp_finding_level level, const char *what,
			  const char *cure)
{
	judge();
	const struct wp_finding *f = finding(name);
	assert_non_null(f);
	CHECK_EQ(f->level, level);
	CHECK_HAS(f->what, what);
	CHECK_HAS(f->cure, cure);
	CHECK_EQ(f->cure[0] == '\0', level == WP_FINDING_OK);
	CHECK_TEXT(f->about, t.wanted.name);
	CHECK_EQ(f->room, WP_ROOM_TOPIC);
}

#define OK WP_FINDING_OK
#define WARNS WP_FINDING_WARN
#define FAILS WP_FINDING_FAIL

static void a_healthy_topic_has_nothing_to_cure(void **state)
{
	judge();
	CHECK(found.count >= 5);
	for (size_t i = 0; i < found.count; i++)
		CHECK_EQ(found.items[i].level, OK);
}

static void a_missing_topic_is_made_as_safe_as_the_cluster_allows(void **state)
{
	t.facts.code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	check_finding("topic", FAILS, "orders does not exist (outbox.topic.replacement names it)",
		      "kafka-topics.sh --bootstrap-server k:9092 --create --topic orders "
		      "--partitions 4 --replication-factor 3 --config min.insync.replicas=2");
	CHECK_EQ(found.count, 1);
	t.cluster.brokers = 1;
	check_finding("topic", FAILS, "", "--replication-factor 1 --config min.insync.replicas=1");
	t.wanted.use = WP_TOPIC_SEEN;
	check_finding("topic", WARNS, "it received events before", "--create");
	t.wanted.use = WP_TOPIC_AHEAD;
	check_finding("topic", WARNS, "does not exist: the slot holds events for it", "--create");
	t.wanted.use = WP_TOPIC_DEAD_LETTERS;
	check_finding("dead_letter_topic", FAILS, "relay.dead_letter.topic", "--partitions 1");
}

static void a_missing_topic_that_is_made_by_itself_is_fine(void **state)
{
	t.facts.code = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
	t.cluster.creates_topics = true;
	check_finding("topic", OK, "does not exist yet and is created when it is needed", "");
	t.cluster.auto_create = WP_NO;
	check_finding("topic", FAILS, "", "--create");
	t.cluster.auto_create = WP_YES;
	t.cluster.may_create = WP_NO;
	check_finding("topic", FAILS, "", "--create");
}

static void a_topic_that_is_hidden_or_none_is_refused(void **state)
{
	t.facts.code = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
	check_finding("topic", FAILS, ") does not exist, or walpost may not describe and write it",
		      "kafka-acls.sh --bootstrap-server k:9092 --add --allow-principal "
		      "User:relay --operation Write --topic orders");
	t.cluster.principal[0] = '\0';
	check_finding("topic", FAILS, "", "-- principal as in broker's log: kafka-acls.sh");
	t.facts.code = RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
	check_finding("topic", FAILS, ") is not a valid topic name",
		      "-- set outbox.topic.replacement");
	t.facts.code = RD_KAFKA_RESP_ERR__TIMED_OUT;
	check_finding("topic", WARNS, "imed out",
		      "-- run the check again; see the broker's log about the topic");
	t.facts.code = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
	judge();
	CHECK_EQ(finding("topic")->level, OK); /* it has partitions */
}

static void one_replica_is_warned_of(void **state)
{
	t.facts.replicas_min = t.facts.in_sync_min = t.facts.min_in_sync = 1;
	check_finding("topic_replication", WARNS, "one replica",
		      "kafka-reassign-partitions.sh --bootstrap-server k:9092 --generate");
	(void)snprintf(t.facts.reassignment, sizeof(t.facts.reassignment), "{JSON}");
	check_finding("topic_replication", WARNS, "",
		      "echo '{JSON}' > replicas.json && kafka-reassign-partitions.sh");
	t.cluster.brokers = 1;
	check_finding("topic_replication", WARNS, "", "-- add brokers");
	CHECK_EQ(finding("topic_in_sync")->level, OK); /* of one, one: said once */
}

static void replicas_in_sync_are_weighed(void **state)
{
	t.facts.min_in_sync = 4;
	check_finding("topic_in_sync", WARNS, "there are only 3", "min.insync.replicas=2");
	t.facts.replicas_min = t.facts.in_sync_min = 1;
	t.facts.min_in_sync = 2;
	check_finding("topic_in_sync", WARNS, "there are only 1", "min.insync.replicas=1");
	set_up(state);
	t.facts.in_sync_min = 1;
	check_finding("topic_in_sync", FAILS, "has 1 in sync now", "-- start the brokers");
	set_up(state);
	t.facts.min_in_sync = 1;
	check_finding("topic_in_sync", WARNS, "an event counts as written (acks=all) with one copy",
		      "min.insync.replicas=2");
	t.facts.min_in_sync = 3;
	check_finding("topic_in_sync", WARNS, "replicas: while any broker is down, events wait",
		      "=2");
	t.facts.replicas_min = t.facts.in_sync_min = t.facts.min_in_sync = 2;
	check_finding("topic_in_sync", OK, "min.insync.replicas is 2", "");
}

static void partitions_without_a_leader_are_told(void **state)
{
	t.facts.leaderless = 2;
	check_finding("topic_leaders", FAILS, "2 of 4 partitions", "--describe");
}

static void a_topic_must_take_what_we_send(void **state)
{
	t.facts.max_bytes = 65536;
	check_finding("topic_size", WARNS,
		      "max.message.bytes is 65536, and kafka.message.max.bytes 1000000",
		      "kafka-configs.sh --bootstrap-server k:9092 --alter --entity-type topics "
		      "--entity-name orders --add-config max.message.bytes=1048588");
	t.cluster.message_max = 5000000;
	check_finding("topic_size", WARNS, "", "max.message.bytes=5001024");
	t.facts.has_config = false;
	t.facts.config_code = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
	check_finding("topic_config", OK, "walpost may not read its configuration", "");
	CHECK(finding("topic_size") == NULL && finding("topic_in_sync") == NULL);
}

static void an_event_that_waits_and_is_too_large_for_its_topic_is_named(void **state)
{
	t.wanted.largest = (struct wp_topic_largest){ .size = 1048588, .until = 0x16B3748 };
	(void)snprintf(t.wanted.largest.id.text, sizeof(t.wanted.largest.id.text), "e-17");
	(void)snprintf(t.cluster.compression, sizeof(t.cluster.compression), "none");
	t.cluster.message_max = 2000000;
	check_finding("topic_size", WARNS, "can never be delivered", "");
	t.wanted.largest.size++;
	check_finding("topic_size", FAILS,
		      "max.message.bytes of topic orders is 1048588, and the slot holds an event "
		      "of 1048589 bytes for it (id e-17): walpost run stops at it. Instead",
		      "--entity-name orders --add-config max.message.bytes=2001024");
	CHECK_HAS(finding("topic_size")->what, "walpost slot skip --to 0/16B3748");
	(void)snprintf(t.cluster.compression, sizeof(t.cluster.compression), "zstd");
	check_finding("topic_size", WARNS,
		      "stops at it, unless it is small enough when compressed with zstd. Instead",
		      "max.message.bytes=2001024");
	t.wanted.largest.size = 3000000;
	check_finding("topic_size", WARNS, "", "max.message.bytes=3000000");
	t.facts.max_bytes = 3000000;
	check_finding("topic_size", OK, "", "");
}

static void settings_that_lose_or_change_events_are_warned_of(void **state)
{
	t.facts.compacts = t.facts.unclean = t.facts.broker_time = true;
	check_finding("topic_cleanup", WARNS, "only the last event of each key is kept",
		      "cleanup.policy=delete");
	CHECK(strstr(finding("topic_cleanup")->what, "key.null") == NULL);
	check_finding("topic_unclean", WARNS, "and events that were confirmed to Postgres are lost",
		      "unclean.leader.election.enable=false");
	CHECK(finding("topic_timestamp") == NULL);
	t.wanted.may_lack_key = t.wanted.has_timestamps = true;
	check_finding("topic_cleanup", WARNS, "outbox.key.null", "");
	check_finding("topic_timestamp", WARNS, "LogAppendTime",
		      "message.timestamp.type=CreateTime");
}

static void rights_are_told(void **state)
{
	t.facts.write = WP_RIGHT_REFUSED;
	check_finding("topic_write", FAILS, "may not write", "--operation Write");
	t.facts.write = WP_RIGHT_DENIED;
	(void)snprintf(t.facts.denial, sizeof(t.facts.denial), "--deny-principal 'User:*'");
	check_finding("topic_write", FAILS, "an ACL denies walpost writing to topic",
		      "kafka-acls.sh --bootstrap-server k:9092 --remove --force "
		      "--deny-principal 'User:*'");
	t.facts.write = WP_RIGHT_NOT_LISTED;
	check_finding("topic_write", WARNS, "none allows User:relay to write", "--add");
	t.facts.write = WP_RIGHT_NOT_KNOWN;
	check_finding("topic_write", OK, "librdkafka 2.0.2; 2.3.0 and newer can", "");
	t.facts.read = WP_RIGHT_REFUSED;
	check_finding("topic_read", WARNS, "may not read", "--operation Read");
	t.wanted.use = WP_TOPIC_DEAD_LETTERS; /* whose ends nobody compares */
	judge();
	CHECK(finding("topic_read") == NULL);
}

static void check_cluster(enum wp_finding_level level, const char *what, const char *cure)
{
	found.count = 0;
	wp_cluster_judge(&t.cluster, &found);
	const struct wp_finding *f = finding("kafka_auto_create");
	assert_non_null(f);
	CHECK_EQ(f->level, level);
	CHECK_HAS(f->what, what);
	CHECK_HAS(f->cure, cure);
}

static void topics_that_make_themselves_are_judged(void **state)
{
	found.count = 0;
	wp_cluster_judge(&t.cluster, &found);
	CHECK_EQ(found.count, 0);
	t.cluster.creates_topics = true;
	check_cluster(OK, "walpost may not read whether the broker creates missing topics", "");
	t.cluster.auto_create = WP_YES;
	t.cluster.replicas = 3;
	t.cluster.partitions = 6;
	check_cluster(OK, "(6) and replicas (3)", "");
	t.cluster.replicas = 1;
	check_cluster(WARNS, "one replica", "default.replication.factor=3");
	t.cluster.brokers = 1;
	check_cluster(OK, "", "");
	t.cluster.may_create = WP_NO;
	check_cluster(WARNS, "may not create", "--operation Create --cluster");
	t.cluster.auto_create = WP_NO;
	check_cluster(WARNS, "missing topics are not created",
		      "-- set kafka.allow.auto.create.topics = false");
}

static void event_hubs_differs(void **state)
{
	t.cluster.provider = WP_KAFKA_EVENT_HUBS;
	(void)snprintf(t.cluster.servers, sizeof(t.cluster.servers),
		       "shop.servicebus.windows.net:9093");
	(void)snprintf(t.cluster.compression, sizeof(t.cluster.compression), "lz4");
	found.count = 0;
	wp_kafka_provider_judge(&t.cluster, &found);
	CHECK_EQ(finding("kafka_provider")->level, OK);
	CHECK_HAS(finding("kafka_provider")->what, "throughput unit");
	CHECK_EQ(finding("kafka_compression")->level, FAILS);
	CHECK_HAS(finding("kafka_compression")->what, "compression.type is lz4");
	CHECK_HAS(finding("kafka_compression")->cure, "kafka.compression.type = none");
	(void)snprintf(t.cluster.compression, sizeof(t.cluster.compression), "gzip");
	found.count = 0;
	wp_kafka_provider_judge(&t.cluster, &found);
	CHECK_EQ(finding("kafka_compression")->level, WARNS);
	(void)snprintf(t.cluster.compression, sizeof(t.cluster.compression), "none");
	found.count = 0;
	wp_kafka_provider_judge(&t.cluster, &found);
	CHECK(finding("kafka_compression") == NULL);
	t.facts.replicas_min = t.facts.in_sync_min = 1;
	judge();
	CHECK(finding("topic_replication") == NULL && finding("topic_in_sync") == NULL);
	t.facts.write = WP_RIGHT_REFUSED;
	check_finding("topic_write", FAILS, "", "Azure Event Hubs Data Sender");
	t.facts.code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	check_finding("topic", FAILS, "", "az eventhubs eventhub create");
}

static void msk_gives_rights_by_iam_to_those_who_log_in_so(void **state)
{
	t.cluster.provider = WP_KAFKA_MSK;
	(void)snprintf(t.cluster.servers, sizeof(t.cluster.servers), "b-1.kafka:9098");
	found.count = 0;
	wp_kafka_provider_judge(&t.cluster, &found);
	CHECK_EQ(finding("kafka_login")->level, FAILS);
	CHECK_HAS(finding("kafka_login")->cure, "kafka.login = aws-msk-iam");
	t.cluster.by_token = true;
	found.count = 0;
	wp_kafka_provider_judge(&t.cluster, &found);
	CHECK(finding("kafka_login") == NULL);
	t.cluster.by_token = false;
	t.facts.write = WP_RIGHT_REFUSED;
	check_finding("topic_write", FAILS, "", "kafka-acls.sh");
	t.cluster.by_token = true;
	check_finding("topic_write", FAILS, "", "kafka-cluster:WriteData");
	t.facts.code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	check_finding("topic", FAILS, "", "kafka-topics.sh");
}

#define WRITE RD_KAFKA_ACL_OPERATION_WRITE
#define ALLOW RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW
#define DENY RD_KAFKA_ACL_PERMISSION_TYPE_DENY

static void acls_are_read_as_the_broker_does(void **state)
{
	const struct wp_acl *denial = NULL;
	const struct wp_acl acls[] = {
		{ .principal = "User:other", .operation = WRITE, .permission = ALLOW },
		{ .principal = "User:relay",
		  .operation = RD_KAFKA_ACL_OPERATION_ALL,
		  .permission = ALLOW },
		{ .principal = "User:*", .operation = WRITE, .permission = DENY },
	};
	CHECK_EQ(wp_acl_judge(acls, 0, "User:relay", WRITE, &denial), WP_RIGHT_NOT_KNOWN);
	CHECK_EQ(wp_acl_judge(acls, 1, "User:relay", WRITE, &denial), WP_RIGHT_NOT_LISTED);
	CHECK_EQ(wp_acl_judge(acls, 1, "", WRITE, &denial), WP_RIGHT_NOT_KNOWN);
	CHECK_EQ(wp_acl_judge(acls, 2, "User:relay", WRITE, &denial), WP_RIGHT_GRANTED);
	CHECK(denial == NULL);
	CHECK_EQ(wp_acl_judge(acls, 3, "User:relay", WRITE, &denial), WP_RIGHT_DENIED);
	CHECK(denial == &acls[2]);
	CHECK_EQ(wp_acl_judge(acls, 3, "User:relay", RD_KAFKA_ACL_OPERATION_READ, &denial),
		 WP_RIGHT_GRANTED);
}

static void a_configuration_that_was_not_told_lacks_no_right_unless_the_broker_says_so(void **state)
{
	t.facts.has_config = false;
	t.facts.config_code = RD_KAFKA_RESP_ERR__TIMED_OUT;
	check_finding("topic_config", WARNS, "no broker answered", "run the check again");
	CHECK(strstr(finding("topic_config")->what, "DescribeConfigs") == NULL);
	t.facts.config_code = RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
	check_finding("topic_config", OK, "is not known (", "");
	CHECK(strstr(finding("topic_config")->what, "DescribeConfigs") == NULL);
}

static void tell_brokers(bool first_answers, bool second_answers)
{
	t.cluster.told_count = 2;
	t.cluster.told[0] =
		(struct wp_broker_facts){ .id = 1, .name = "a:1", .answers = first_answers };
	t.cluster.told[1] = (struct wp_broker_facts){
		.id = 2, .name = "b:2", .answers = second_answers, .why = "Failed to resolve"
	};
}

static const struct wp_finding *judge_brokers(bool goes_on)
{
	found.count = 0;
	CHECK_EQ(wp_brokers_judge(&t.cluster, &found), goes_on);
	return finding("kafka_brokers");
}

static void advertised_addresses_that_do_not_answer_are_named(void **state)
{
	tell_brokers(true, true);
	CHECK_EQ(judge_brokers(true)->level, OK);
	CHECK(!wp_broker_is_silent(&t.cluster, 2));

	tell_brokers(true, false);
	CHECK_EQ(judge_brokers(true)->level, WARNS);
	CHECK_HAS(finding("kafka_brokers")->what, "1 of 2 brokers");
	CHECK_HAS(finding("kafka_brokers")->what, "b:2 (Failed to resolve)");
	CHECK(strstr(finding("kafka_brokers")->what, "a:1") == NULL);
	CHECK(wp_broker_is_silent(&t.cluster, 2) && !wp_broker_is_silent(&t.cluster, 1));

	tell_brokers(false, false);
	CHECK_EQ(judge_brokers(false)->level, FAILS);
	CHECK_HAS(finding("kafka_brokers")->what, "a:1 (no answer), b:2 (Failed to resolve)");
	CHECK_HAS(finding("kafka_brokers")->cure, "advertised.listeners");
}

static void a_list_of_silent_brokers_is_cut(void **state)
{
	t.cluster.told_count = WP_BROKERS_TOLD_MAX;
	for (size_t i = 0; i < WP_BROKERS_TOLD_MAX; i++) {
		t.cluster.told[i] = (struct wp_broker_facts){ .id = (int32_t)i };
		(void)snprintf(t.cluster.told[i].name, sizeof(t.cluster.told[i].name), "%0250zu",
			       i);
	}
	CHECK_EQ(judge_brokers(false)->level, FAILS);
}

static void a_leader_that_does_not_answer_fails_its_topic(void **state)
{
	tell_brokers(true, false);
	t.facts.led_by_silent = 1;
	check_finding("topic_leaders", FAILS, "the leader of 1 of 4 partitions", "advertised");
	CHECK_HAS(finding("topic_leaders")->what, "b:2");
}

int main(void)
{
	return RUN(
		FRESH(a_healthy_topic_has_nothing_to_cure),
		FRESH(a_missing_topic_is_made_as_safe_as_the_cluster_allows),
		FRESH(a_missing_topic_that_is_made_by_itself_is_fine),
		FRESH(a_topic_that_is_hidden_or_none_is_refused), FRESH(one_replica_is_warned_of),
		FRESH(replicas_in_sync_are_weighed), FRESH(partitions_without_a_leader_are_told),
		FRESH(a_topic_must_take_what_we_send),
		FRESH(an_event_that_waits_and_is_too_large_for_its_topic_is_named),
		FRESH(settings_that_lose_or_change_events_are_warned_of), FRESH(rights_are_told),
		FRESH(topics_that_make_themselves_are_judged), FRESH(event_hubs_differs),
		FRESH(msk_gives_rights_by_iam_to_those_who_log_in_so),
		FRESH(acls_are_read_as_the_broker_does),
		FRESH(a_configuration_that_was_not_told_lacks_no_right_unless_the_broker_says_so),
		FRESH(advertised_addresses_that_do_not_answer_are_named),
		FRESH(a_list_of_silent_brokers_is_cut),
		FRESH(a_leader_that_does_not_answer_fails_its_topic));
}

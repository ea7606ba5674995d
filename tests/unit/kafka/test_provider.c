#include "support/check.h"

#include <string.h>

#include "walpost/kafka/provider.h"

static void a_bootstrap_server_tells(void **state)
{
	static const struct {
		const char *servers;
		enum wp_kafka_provider provider;
	} cases[] = {
		{ "pkc-abcde.eu-central-1.aws.confluent.cloud:9092", WP_KAFKA_CONFLUENT },
		{ "b-1.shop.abc123.c2.kafka.eu-west-1.amazonaws.com:9098", WP_KAFKA_MSK },
		{ "b-1-public.shop.abc123.c2.kafka.eu-west-1.amazonaws.com:9198", WP_KAFKA_MSK },
		{ "boot-abc.c1.kafka-serverless.eu-west-1.amazonaws.com:9098",
		  WP_KAFKA_MSK_SERVERLESS },
		{ "shop.servicebus.windows.net:9093", WP_KAFKA_EVENT_HUBS },
		{ "SASL_SSL://SHOP.ServiceBus.Windows.net:9093", WP_KAFKA_EVENT_HUBS },
		{ "seed-1.abc.fmc.prd.cloud.redpanda.com:9092", WP_KAFKA_REDPANDA },
		{ "kafka-shop.a.aivencloud.com:12345", WP_KAFKA_AIVEN },
		{ "bootstrap.shop.us-central1.managedkafka.my-project.cloud.goog:9092",
		  WP_KAFKA_GOOGLE },
		{ "localhost:9092, shop.servicebus.windows.net.:9093", WP_KAFKA_EVENT_HUBS },
		{ "localhost:9092,shop.servicebus.windows.net", WP_KAFKA_EVENT_HUBS },
		{ "s3.eu-west-1.amazonaws.com:9092", WP_KAFKA_PROVIDER_NONE },
		{ "confluent.cloud:9092", WP_KAFKA_PROVIDER_NONE },
		{ "confluent.cloud.example.com:9092", WP_KAFKA_PROVIDER_NONE },
		{ "", WP_KAFKA_PROVIDER_NONE },
		{ ",", WP_KAFKA_PROVIDER_NONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(wp_kafka_provider_find(cases[i].servers), cases[i].provider);
}

static void every_provider_has_a_name_and_limits(void **state)
{
	for (int p = WP_KAFKA_CONFLUENT; p < WP_KAFKA_PROVIDER_COUNT; p++) {
		CHECK(strlen(wp_kafka_provider_name((enum wp_kafka_provider)p)) > 0);
		CHECK(strlen(wp_kafka_provider_limits((enum wp_kafka_provider)p)) > 0);
	}
}

static void event_hubs_takes_gzip_or_nothing(void **state)
{
	CHECK(wp_kafka_provider_takes(WP_KAFKA_EVENT_HUBS, "none"));
	CHECK(wp_kafka_provider_takes(WP_KAFKA_EVENT_HUBS, "gzip"));
	CHECK(!wp_kafka_provider_takes(WP_KAFKA_EVENT_HUBS, "lz4"));
	CHECK(wp_kafka_provider_takes(WP_KAFKA_MSK, "lz4"));
	CHECK(wp_kafka_provider_takes(WP_KAFKA_PROVIDER_NONE, "zstd"));
}

static void msk_takes_tokens_at_ports_of_their_own(void **state)
{
	CHECK(wp_kafka_provider_wants_token(WP_KAFKA_MSK_SERVERLESS, "k:9098"));
	CHECK(wp_kafka_provider_wants_token(WP_KAFKA_MSK, "b-1.kafka:9098,b-2.kafka:9098"));
	CHECK(wp_kafka_provider_wants_token(WP_KAFKA_MSK, "b-1.kafka:9198"));
	CHECK(!wp_kafka_provider_wants_token(WP_KAFKA_MSK, "b-1.kafka:9096"));
	CHECK(!wp_kafka_provider_wants_token(WP_KAFKA_CONFLUENT, "k:9098"));
}

static void check_grant(struct wp_kafka_right right, const char *wanted)
{
	char cure[900];

	CHECK(wp_kafka_provider_grant(&right, cure, sizeof(cure)));
	CHECK_HAS(cure, wanted);
}

static void a_right_is_given_as_the_provider_gives_it(void **state)
{
	struct wp_kafka_right right = {
		.provider = WP_KAFKA_MSK,
		.by_token = true,
		.operation = "Write",
		.topic = "orders",
		.servers = "k:9092",
	};
	char cure[900];

	check_grant(right, "kafka-cluster:WriteData and kafka-cluster:WriteDataIdempotently on the "
			   "cluster and on its topic orders");
	right.by_token = false;
	CHECK(!wp_kafka_provider_grant(&right, cure, sizeof(cure)));
	right.provider = WP_KAFKA_MSK_SERVERLESS;
	right.operation = "Read";
	check_grant(right, "kafka-cluster:ReadData on");
	right.provider = WP_KAFKA_EVENT_HUBS;
	check_grant(right, "the claim Listen; with a token: az role assignment create --role "
			   "\"Azure Event Hubs Data Receiver\"");
	right.operation = "Write";
	check_grant(right, "the claim Send;");
	right.provider = WP_KAFKA_CONFLUENT;
	check_grant(right, "confluent kafka acl create --allow --service-account "
			   "SERVICE_ACCOUNT_OF_THE_API_KEY --operations write --topic orders");
	right.provider = WP_KAFKA_AIVEN;
	check_grant(right, "avn service acl-add SERVICE --username USER --permission write --topic "
			   "orders");
	right.topic = NULL;
	check_grant(right, "--topic *");
	right.operation = "IdempotentWrite";
	right.provider = WP_KAFKA_CONFLUENT;
	check_grant(right, "--operations idempotent-write --cluster-scope");
	right.operation = "Create";
	check_grant(right, "--operations create --cluster-scope");
	right.provider = WP_KAFKA_MSK_SERVERLESS;
	check_grant(right, "kafka-cluster:CreateTopic on the cluster and on its topic *");
	right.provider = WP_KAFKA_GOOGLE;
	check_grant(right, "roles/managedkafka.client");
	right.provider = WP_KAFKA_REDPANDA;
	CHECK(!wp_kafka_provider_grant(&right, cure, sizeof(cure)));
}

static void check_create(enum wp_kafka_provider provider, const char *servers, const char *wanted)
{
	char cure[900];

	CHECK(wp_kafka_provider_create(provider, servers, "orders", 4, cure, sizeof(cure)));
	CHECK_TEXT(cure, wanted);
}

static void a_topic_is_created_as_the_provider_creates_it(void **state)
{
	char cure[900];

	check_create(WP_KAFKA_EVENT_HUBS, "shop.servicebus.windows.net:9093",
		     "az eventhubs eventhub create --resource-group GROUP --namespace-name shop "
		     "--name orders --partition-count 4");
	check_create(WP_KAFKA_GOOGLE,
		     "bootstrap.shop.us-central1.managedkafka.my-project.cloud.goog:9092",
		     "gcloud managed-kafka topics create orders --cluster=shop "
		     "--location=us-central1 --partitions=4 --replication-factor=3");
	check_create(WP_KAFKA_GOOGLE, "broker.managedkafka.p.cloud.goog:9092",
		     "gcloud managed-kafka topics create orders --cluster=CLUSTER "
		     "--location=REGION --partitions=4 --replication-factor=3");
	check_create(WP_KAFKA_CONFLUENT, "k", "confluent kafka topic create orders --partitions 4");
	check_create(WP_KAFKA_AIVEN, "k",
		     "avn service topic-create SERVICE orders --partitions 4 --replication 3");
	check_create(WP_KAFKA_REDPANDA, "k", "rpk topic create orders -p 4 -r 3");
	CHECK(!wp_kafka_provider_create(WP_KAFKA_MSK, "k", "orders", 4, cure, sizeof(cure)));
}

int main(void)
{
	return RUN(PLAIN(a_bootstrap_server_tells), PLAIN(every_provider_has_a_name_and_limits),
		   PLAIN(event_hubs_takes_gzip_or_nothing),
		   PLAIN(msk_takes_tokens_at_ports_of_their_own),
		   PLAIN(a_right_is_given_as_the_provider_gives_it),
		   PLAIN(a_topic_is_created_as_the_provider_creates_it));
}

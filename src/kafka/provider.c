#include "walpost/kafka/provider.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/host_name.h"

/* A host name ends with `end` and holds `within` besides. The first row that fits decides. */
static const struct {
	const char *end;
	const char *within;
	enum wp_kafka_provider provider;
} hosts_known[] = {
	{ ".confluent.cloud", "", WP_KAFKA_CONFLUENT },
	{ ".amazonaws.com", ".kafka-serverless.", WP_KAFKA_MSK_SERVERLESS },
	{ ".amazonaws.com", ".kafka.", WP_KAFKA_MSK },
	{ ".amazonaws.com.cn", ".kafka.", WP_KAFKA_MSK },
	{ ".servicebus.windows.net", "", WP_KAFKA_EVENT_HUBS },
	{ ".servicebus.chinacloudapi.cn", "", WP_KAFKA_EVENT_HUBS },
	{ ".servicebus.usgovcloudapi.net", "", WP_KAFKA_EVENT_HUBS },
	{ ".cloud.redpanda.com", "", WP_KAFKA_REDPANDA },
	{ ".aivencloud.com", "", WP_KAFKA_AIVEN },
	{ ".cloud.goog", ".managedkafka.", WP_KAFKA_GOOGLE },
};

static const struct {
	const char *name;
	const char *limits;
} facts_known[WP_KAFKA_PROVIDER_COUNT] = {
	[WP_KAFKA_PROVIDER_NONE] = { "", "" },
	[WP_KAFKA_CONFLUENT] = { "Confluent Cloud",
				 "the number of partitions and the ingress depend on the type of "
				 "the "
				 "cluster, and beyond its limit requests are slowed down" },
	[WP_KAFKA_MSK] = { "Amazon MSK",
			   "with IAM a small broker takes 4 new connections a second" },
	[WP_KAFKA_MSK_SERVERLESS] = { "Amazon MSK Serverless",
				      "a partition takes 5 MB a second, the cluster 200 MB, and a "
				      "login is by IAM only" },
	[WP_KAFKA_EVENT_HUBS] = { "Azure Event Hubs", "a throughput unit takes 1 MB or 1,000 "
						      "events a second (Basic and "
						      "Standard), beyond that requests are slowed "
						      "down, and an event may "
						      "have 1 MB (Basic: 256 kB)" },
	[WP_KAFKA_REDPANDA] = { "Redpanda Cloud",
				"the ingress and the number of partitions depend on the tier" },
	[WP_KAFKA_AIVEN] = { "Aiven", "produce requests are slowed down beyond the quota of the "
				      "plan or user" },
	[WP_KAFKA_GOOGLE] = { "Google Managed Service for Apache Kafka",
			      "the ingress depends on the cluster's number of vCPUs" },
};

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))

static enum wp_kafka_provider find_host(const char *host, size_t size)
{
	for (size_t i = 0; i < COUNT_OF(hosts_known); i++)
		if (wp_host_ends_with(host, size, hosts_known[i].end) &&
		    wp_host_holds(host, size, hosts_known[i].within))
			return hosts_known[i].provider;
	return WP_KAFKA_PROVIDER_NONE;
}

enum wp_kafka_provider wp_kafka_provider_find(const char *servers)
{
	enum wp_kafka_provider found = WP_KAFKA_PROVIDER_NONE;

	for (const char *at = servers; found == WP_KAFKA_PROVIDER_NONE; at++) {
		size_t size;
		const char *host = wp_host_first(at, &size);
		found = find_host(host, size);
		at = strchr(at, ',');
		if (at == NULL)
			break;
	}
	return found;
}

const char *wp_kafka_provider_name(enum wp_kafka_provider provider)
{
	assert(provider >= WP_KAFKA_PROVIDER_NONE && provider < WP_KAFKA_PROVIDER_COUNT);
	return facts_known[provider].name;
}

const char *wp_kafka_provider_limits(enum wp_kafka_provider provider)
{
	assert(provider >= WP_KAFKA_PROVIDER_NONE && provider < WP_KAFKA_PROVIDER_COUNT);
	return facts_known[provider].limits;
}

bool wp_kafka_provider_takes(enum wp_kafka_provider provider, const char *compression)
{
	return provider != WP_KAFKA_EVENT_HUBS || strcmp(compression, "none") == 0 ||
	       strcmp(compression, "gzip") == 0;
}

/* MSK has a port for each kind of login: 9098 is IAM's, 9198 from the Internet. */
bool wp_kafka_provider_wants_token(enum wp_kafka_provider provider, const char *servers)
{
	return provider == WP_KAFKA_MSK_SERVERLESS ||
	       (provider == WP_KAFKA_MSK &&
		(strstr(servers, ":9098") != NULL || strstr(servers, ":9198") != NULL));
}

/* -- rights ------------------------------------------------------------------------ */

static bool is_read(const struct wp_kafka_right *right)
{
	return strcmp(right->operation, "Read") == 0;
}

static const char *topic_of(const struct wp_kafka_right *right)
{
	return right->topic != NULL ? right->topic : "*";
}

static void grant_msk(const struct wp_kafka_right *right, char *cure, size_t size)
{
	const char *actions = "WriteData and kafka-cluster:WriteDataIdempotently";

	if (is_read(right))
		actions = "ReadData";
	else if (strcmp(right->operation, "Create") == 0)
		actions = "CreateTopic";
	(void)snprintf(cure, size,
		       "-- in the IAM policy of walpost's role: allow kafka-cluster:Connect, "
		       "kafka-cluster:DescribeTopic and kafka-cluster:%s on the cluster and on its "
		       "topic %s",
		       actions, topic_of(right));
}

static void grant_event_hubs(const struct wp_kafka_right *right, char *cure, size_t size)
{
	(void)snprintf(cure, size,
		       "-- with a connection string: use a policy with the claim %s; with a token: "
		       "az role assignment create --role \"Azure Event Hubs Data %s\" --assignee "
		       "PRINCIPAL --scope NAMESPACE_ID",
		       is_read(right) ? "Listen" : "Send", is_read(right) ? "Receiver" : "Sender");
}

static void grant_confluent(const struct wp_kafka_right *right, char *cure, size_t size)
{
	bool is_cluster = right->topic == NULL;

	(void)snprintf(cure, size,
		       "confluent kafka acl create --allow --service-account "
		       "SERVICE_ACCOUNT_OF_THE_API_KEY --operations %s %s%s",
		       is_read(right) ? "read"
				      : (strcmp(right->operation, "Create") == 0
						 ? "create"
						 : (is_cluster ? "idempotent-write" : "write")),
		       is_cluster ? "--cluster-scope" : "--topic ", is_cluster ? "" : right->topic);
}

static void grant_google(char *cure, size_t size)
{
	(void)snprintf(cure, size,
		       "gcloud projects add-iam-policy-binding PROJECT "
		       "--member=serviceAccount:ACCOUNT --role=roles/managedkafka.client; where "
		       "the cluster has ACLs: gcloud managed-kafka acls add-acl-entry");
}

static void grant_aiven(const struct wp_kafka_right *right, char *cure, size_t size)
{
	(void)snprintf(cure, size,
		       "avn service acl-add SERVICE --username USER --permission %s --topic %s",
		       is_read(right) ? "readwrite" : "write", topic_of(right));
}

bool wp_kafka_provider_grant(const struct wp_kafka_right *right, char *cure, size_t size)
{
	switch (right->provider) {
	case WP_KAFKA_MSK:
		if (!right->by_token)
			return false; /* SCRAM and mTLS have ACLs */
		grant_msk(right, cure, size);
		return true;
	case WP_KAFKA_MSK_SERVERLESS:
		grant_msk(right, cure, size);
		return true;
	case WP_KAFKA_EVENT_HUBS:
		grant_event_hubs(right, cure, size);
		return true;
	case WP_KAFKA_CONFLUENT:
		grant_confluent(right, cure, size);
		return true;
	case WP_KAFKA_GOOGLE:
		grant_google(cure, size);
		return true;
	case WP_KAFKA_AIVEN:
		grant_aiven(right, cure, size);
		return true;
	default:
		return false;
	}
}

/* -- topics ------------------------------------------------------------------------ */

/* The cluster is the part of the first host before the dot;
 * "bootstrap.CLUSTER.REGION.managedkafka..." has two. */
static void create_google(const char *servers, const char *topic, int partitions, char *cure,
			  size_t size)
{
	size_t host_size;
	const char *host = wp_host_first(servers, &host_size);
	char cluster[128] = "CLUSTER", region[64] = "REGION";

	if (sscanf(host, "bootstrap.%127[^.].%63[^.].managedkafka.", cluster, region) != 2) {
		(void)snprintf(cluster, sizeof(cluster), "CLUSTER");
		(void)snprintf(region, sizeof(region), "REGION");
	}
	(void)snprintf(cure, size,
		       "gcloud managed-kafka topics create %s --cluster=%s --location=%s "
		       "--partitions=%d --replication-factor=3",
		       topic, cluster, region, partitions);
}

static void create_event_hub(const char *servers, const char *topic, int partitions, char *cure,
			     size_t size)
{
	size_t host_size;
	const char *host = wp_host_first(servers, &host_size);

	(void)snprintf(cure, size,
		       "az eventhubs eventhub create --resource-group GROUP --namespace-name %.*s "
		       "--name %s --partition-count %d",
		       (int)strcspn(host, "."), host, topic, partitions);
}

bool wp_kafka_provider_create(enum wp_kafka_provider provider, const char *servers,
			      const char *topic, int partitions, char *cure, size_t size)
{
	switch (provider) {
	case WP_KAFKA_CONFLUENT:
		(void)snprintf(cure, size, "confluent kafka topic create %s --partitions %d", topic,
			       partitions);
		return true;
	case WP_KAFKA_EVENT_HUBS:
		create_event_hub(servers, topic, partitions, cure, size);
		return true;
	case WP_KAFKA_GOOGLE:
		create_google(servers, topic, partitions, cure, size);
		return true;
	case WP_KAFKA_AIVEN:
		(void)snprintf(
			cure, size,
			"avn service topic-create SERVICE %s --partitions %d --replication 3",
			topic, partitions);
		return true;
	case WP_KAFKA_REDPANDA:
		(void)snprintf(cure, size, "rpk topic create %s -p %d -r 3", topic, partitions);
		return true;
	default:
		return false;
	}
}

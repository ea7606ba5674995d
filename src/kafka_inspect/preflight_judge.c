/* Judges brokers, cluster and topics for the preflight: facts in, findings out. */
#include "preflight_asker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REPLICAS_ADVISED = 3, IN_SYNC_ADVISED = 2, TOPIC_LIMIT_USUAL = 1048588, MARGIN = 1024 };

/* The judgements share this; `cure` belongs to the finding that is written next. */
struct kafka_judge {
	const struct wp_topic_wanted *wanted;
	const struct wp_topic_facts *facts;
	const struct wp_cluster_facts *cluster;
	struct wp_findings *ret;
	char cure[2048];
};

static void cure(struct kafka_judge *c, const char *format, ...) WP_PRINTF(2, 3);
static void found(struct kafka_judge *c, enum wp_finding_level level, const char *name,
		  const char *format, ...) WP_PRINTF(4, 5);

static void cure(struct kafka_judge *c, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	(void)vsnprintf(c->cure, sizeof(c->cure), format, values);
	va_end(values);
}

static void found(struct kafka_judge *c, enum wp_finding_level level, const char *name,
		  const char *format, ...)
{
	char what[1024];
	va_list values;

	va_start(values, format);
	(void)vsnprintf(what, sizeof(what), format, values);
	va_end(values);
	struct wp_finding *f =
		wp_findings_add(c->ret, level, c->wanted != NULL ? WP_ROOM_TOPIC : WP_ROOM_KAFKA,
				name, what, level == WP_FINDING_OK ? "" : c->cure);
	if (c->wanted != NULL)
		(void)snprintf(f->about, sizeof(f->about), "%s", c->wanted->name);
	c->cure[0] = '\0';
}

#define FINE(c_, ...) found((c_), WP_FINDING_OK, __VA_ARGS__)
#define WARN(c_, ...) found((c_), WP_FINDING_WARN, __VA_ARGS__)
#define FAIL(c_, ...) found((c_), WP_FINDING_FAIL, __VA_ARGS__)

/* -- the cluster ----------------------------------------------------------------- */

void wp_kafka_provider_judge(const struct wp_cluster_facts *cluster, struct wp_findings *ret)
{
	struct kafka_judge c = { .cluster = cluster, .ret = ret };
	const char *name = wp_kafka_provider_name(cluster->provider);

	if (cluster->provider == WP_KAFKA_PROVIDER_NONE)
		return;
	FINE(&c, "kafka_provider", "the brokers are run by %s: %s", name,
	     wp_kafka_provider_limits(cluster->provider));
	if (!cluster->by_token &&
	    wp_kafka_provider_wants_token(cluster->provider, cluster->servers)) {
		cure(&c, "-- set kafka.login = aws-msk-iam");
		FAIL(&c, "kafka_login", "%s takes only IAM logins at this address", name);
	}
	if (!wp_kafka_provider_takes(cluster->provider, cluster->compression)) {
		cure(&c,
		     "-- leave kafka.compression.type out, or set kafka.compression.type = none "
		     "(or gzip, in the Premium and Dedicated tiers)");
		FAIL(&c, "kafka_compression",
		     "compression.type is %s: %s refuses records that are compressed so",
		     cluster->compression, name);
	} else if (cluster->provider == WP_KAFKA_EVENT_HUBS &&
		   strcmp(cluster->compression, "gzip") == 0) {
		cure(&c, "-- in another tier: leave kafka.compression.type out");
		WARN(&c, "kafka_compression",
		     "compression.type is gzip, which only the Premium and Dedicated tiers of %s "
		     "take",
		     name);
	}
}

/* The cure gives the right as the provider gives it, else by an ACL. `topic` NULL means the
 * cluster. */
void wp_cluster_cure_right(const struct wp_cluster_facts *cluster, const char *operation,
			   const char *topic, char *ret, size_t size)
{
	struct wp_kafka_right right = {
		.provider = cluster->provider,
		.by_token = cluster->by_token,
		.operation = operation,
		.topic = topic,
		.servers = cluster->servers,
	};

	if (wp_kafka_provider_grant(&right, ret, size))
		return;
	(void)snprintf(ret, size,
		       "%skafka-acls.sh --bootstrap-server %s --add --allow-principal %s "
		       "--operation %s %s%s",
		       cluster->principal[0] != '\0' ? "" : "-- principal as in broker's log: ",
		       cluster->servers,
		       cluster->principal[0] != '\0' ? cluster->principal : "User:...", operation,
		       topic != NULL ? "--topic " : "--cluster", topic != NULL ? topic : "");
}

bool wp_broker_is_silent(const struct wp_cluster_facts *cluster, int32_t id)
{
	for (size_t i = 0; i < cluster->told_count; i++)
		if (cluster->told[i].id == id)
			return !cluster->told[i].answers;
	return false;
}

/* Lists as many as there is room for. */
static void list_silent(const struct wp_cluster_facts *cluster, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < cluster->told_count && used < size; i++) {
		const struct wp_broker_facts *b = &cluster->told[i];
		if (b->answers)
			continue;
		used += (size_t)snprintf(ret + used, size - used, "%s%s (%s)", used > 0 ? ", " : "",
					 b->name, b->why[0] != '\0' ? b->why : "no answer");
	}
}

#define CURE_ADVERTISED                                                         \
	"-- let these names resolve and answer where walpost runs, or correct " \
	"advertised.listeners "                                                 \
	"in the brokers' server.properties, for the listener of bootstrap.servers"

bool wp_brokers_judge(const struct wp_cluster_facts *cluster, struct wp_findings *ret)
{
	struct kafka_judge c = { .cluster = cluster, .ret = ret };
	char silent[800];
	size_t silent_count = 0;

	for (size_t i = 0; i < cluster->told_count; i++)
		silent_count += !cluster->told[i].answers;
	list_silent(cluster, silent, sizeof(silent));
	if (silent_count == 0) {
		FINE(&c, "kafka_brokers", "each broker answers at the address that it advertises");
		return true;
	}
	cure(&c, CURE_ADVERTISED);
	if (silent_count < cluster->told_count)
		WARN(&c, "kafka_brokers",
		     "%zu of %zu brokers do not answer at the address that they advertise "
		     "(advertised.listeners): %s",
		     silent_count, cluster->told_count, silent);
	else
		FAIL(&c, "kafka_brokers",
		     "Kafka's bootstrap server answers, but no broker does at the address that it "
		     "advertises (advertised.listeners): %s",
		     silent);
	return silent_count < cluster->told_count;
}

void wp_cluster_judge(const struct wp_cluster_facts *cluster, struct wp_findings *ret)
{
	struct kafka_judge c = { .cluster = cluster, .ret = ret };

	if (!cluster->creates_topics)
		return; /* then topics are judged one by one, and a missing one is waited for */
	if (cluster->auto_create == WP_NO) {
		cure(&c, "-- create topics with kafka-topics.sh, and:\n"
			 "-- set kafka.allow.auto.create.topics = false");
		WARN(&c, "kafka_auto_create",
		     "allow.auto.create.topics is set, but auto.create.topics.enable is false in "
		     "the broker: missing topics are not created");
	} else if (cluster->may_create == WP_NO) {
		wp_cluster_cure_right(cluster, "Create", NULL, c.cure, sizeof(c.cure));
		WARN(&c, "kafka_auto_create",
		     "allow.auto.create.topics is set, but walpost may not create topics");
	} else if (cluster->replicas == 1 && cluster->brokers > 1) {
		cure(&c,
		     "-- set default.replication.factor=%d and min.insync.replicas=%d in the "
		     "brokers' server.properties; or create topics with kafka-topics.sh, and:\n"
		     "-- set kafka.allow.auto.create.topics = false",
		     cluster->brokers < REPLICAS_ADVISED ? cluster->brokers : REPLICAS_ADVISED,
		     IN_SYNC_ADVISED);
		WARN(&c, "kafka_auto_create",
		     "automatically created topics have %d partitions and one replica: the loss of "
		     "a broker loses events",
		     cluster->partitions);
	} else if (cluster->auto_create == WP_NOT_KNOWN) {
		FINE(&c, "kafka_auto_create",
		     "walpost may not read whether the broker creates missing topics");
	} else {
		FINE(&c, "kafka_auto_create",
		     "missing topics are created automatically, with the broker's number of "
		     "partitions (%d) and replicas (%d)",
		     cluster->partitions, cluster->replicas);
	}
}

/* -- is it there ------------------------------------------------------------------- */

static const char *name_of_existence(const struct kafka_judge *c)
{
	return c->wanted->use == WP_TOPIC_DEAD_LETTERS ? "dead_letter_topic" : "topic";
}

static const char *origin(const struct kafka_judge *c)
{
	static const char *const origins[] = {
		[WP_TOPIC_ROUTED] = "outbox.topic.replacement names it",
		[WP_TOPIC_DEAD_LETTERS] = "relay.dead_letter.topic",
		[WP_TOPIC_SEEN] = "it received events before",
		[WP_TOPIC_AHEAD] = "the slot holds events for it",
	};

	return origins[c->wanted->use];
}

/* The topic gets as many replicas as are safe, and as there are brokers. */
static void cure_missing(struct kafka_judge *c)
{
	int replicas =
		c->cluster->brokers < REPLICAS_ADVISED ? c->cluster->brokers : REPLICAS_ADVISED;
	int partitions = c->wanted->use == WP_TOPIC_DEAD_LETTERS ? 1 : 4;

	if (wp_kafka_provider_create(c->cluster->provider, c->cluster->servers, c->wanted->name,
				     partitions, c->cure, sizeof(c->cure)))
		return;
	cure(c,
	     "kafka-topics.sh --bootstrap-server %s --create --topic %s --partitions %d "
	     "--replication-factor %d --config min.insync.replicas=%d",
	     c->cluster->servers, c->wanted->name, partitions, replicas < 1 ? 1 : replicas,
	     replicas > 1 ? IN_SYNC_ADVISED : 1);
}

static void judge_missing(struct kafka_judge *c)
{
	bool made = c->cluster->creates_topics && c->cluster->auto_create != WP_NO &&
		    c->cluster->may_create != WP_NO;

	if (made) {
		FINE(c, name_of_existence(c),
		     "topic %s does not exist yet and is created when it is needed",
		     c->wanted->name);
		return;
	}
	cure_missing(c);
	if (c->wanted->use == WP_TOPIC_SEEN || c->wanted->use == WP_TOPIC_AHEAD)
		WARN(c, name_of_existence(c),
		     "topic %s does not exist: %s. An event for it waits until it exists, and so "
		     "do all later events",
		     c->wanted->name, origin(c));
	else
		FAIL(c, name_of_existence(c),
		     "topic %s does not exist (%s): events for it wait until it does",
		     c->wanted->name, origin(c));
}

static void cure_right(struct kafka_judge *c, const char *operation)
{
	wp_cluster_cure_right(c->cluster, operation, c->wanted->name, c->cure, sizeof(c->cure));
}

/* Returns false when there is nothing more to be said of it. */
static bool judge_existence(struct kafka_judge *c)
{
	switch (c->facts->code) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
	case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
		if (c->facts->partitions > 0)
			break;
		/* fall through */
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
		judge_missing(c);
		return false;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		cure_right(c, "Write");
		FAIL(c, name_of_existence(c),
		     "topic %s (%s) does not exist, or walpost may not describe and write it",
		     c->wanted->name, origin(c));
		return false;
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
		cure(c, "-- set %s to a name of letters, digits, '.', '_' and '-'",
		     c->wanted->use == WP_TOPIC_DEAD_LETTERS ? "relay.dead_letter.topic"
							     : "outbox.topic.replacement");
		FAIL(c, name_of_existence(c), "\"%s\" (%s) is not a valid topic name",
		     c->wanted->name, origin(c));
		return false;
	default:
		cure(c, "-- run the check again; see the broker's log about the topic");
		WARN(c, name_of_existence(c), "topic %s: %s", c->wanted->name,
		     rd_kafka_err2str(c->facts->code));
		return false;
	}
	FINE(c, name_of_existence(c), "topic %s has %d partition%s (%s)", c->wanted->name,
	     c->facts->partitions, c->facts->partitions == 1 ? "" : "s", origin(c));
	return true;
}

/* -- will it keep what it is given ---------------------------------------------------- */

static void cure_config(struct kafka_judge *c, const char *setting)
{
	cure(c,
	     "kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name "
	     "%s --add-config %s",
	     c->cluster->servers, c->wanted->name, setting);
}

static void judge_silent_leaders(struct kafka_judge *c)
{
	char silent[800];

	list_silent(c->cluster, silent, sizeof(silent));
	cure(c, CURE_ADVERTISED);
	FAIL(c, "topic_leaders",
	     "the leader of %d of %d partitions does not answer at the address that it advertises: "
	     "events for them wait; brokers that do not answer: %s",
	     c->facts->led_by_silent, c->facts->partitions, silent);
}

static void judge_leaders(struct kafka_judge *c)
{
	if (c->facts->led_by_silent > 0)
		judge_silent_leaders(c);
	if (c->facts->leaderless == 0)
		return;
	cure(c,
	     "-- start the brokers that are down; kafka-topics.sh --bootstrap-server %s --describe "
	     "--topic %s names them",
	     c->cluster->servers, c->wanted->name);
	FAIL(c, "topic_leaders", "%d of %d partitions have no leader: events for them wait",
	     c->facts->leaderless, c->facts->partitions);
}

static void judge_replicas(struct kafka_judge *c)
{
	if (c->facts->replicas_min > 1) {
		FINE(c, "topic_replication", "%d replicas", c->facts->replicas_min);
		return;
	}
	if (c->cluster->brokers < 2)
		cure(c, "-- add brokers: a single broker cannot keep a second copy");
	else if (c->facts->reassignment[0] != '\0')
		cure(c,
		     "echo '%s' > replicas.json && kafka-reassign-partitions.sh "
		     "--bootstrap-server %s --reassignment-json-file replicas.json --execute",
		     c->facts->reassignment, c->cluster->servers);
	else
		cure(c,
		     "-- more replicas: kafka-reassign-partitions.sh --bootstrap-server %s "
		     "--generate",
		     c->cluster->servers);
	WARN(c, "topic_replication",
	     "one replica: if a broker loses its disk, events are lost that were confirmed to "
	     "Postgres");
}

static void judge_in_sync_now(struct kafka_judge *c)
{
	cure(c,
	     "-- start the brokers that are down; kafka-topics.sh --bootstrap-server %s --describe "
	     "--topic %s names them",
	     c->cluster->servers, c->wanted->name);
	FAIL(c, "topic_in_sync",
	     "min.insync.replicas is %d, but a partition has %d in sync now: writes to it are "
	     "refused, and events wait",
	     c->facts->min_in_sync, c->facts->in_sync_min);
}

static void judge_in_sync(struct kafka_judge *c)
{
	const struct wp_topic_facts *f = c->facts;

	if (!f->has_config)
		return;
	if (f->min_in_sync > f->replicas_min) {
		cure_config(c, f->replicas_min > IN_SYNC_ADVISED ? "min.insync.replicas=2"
								 : "min.insync.replicas=1");
		WARN(c, "topic_in_sync",
		     "min.insync.replicas is %d, but there are only %d replicas: every write is "
		     "refused, except by newer brokers (such as 4.3), which require no more than "
		     "exist",
		     f->min_in_sync, f->replicas_min);
	} else if (f->in_sync_min < f->min_in_sync) {
		judge_in_sync_now(c);
	} else if (f->min_in_sync == 1 && f->replicas_min > 1) {
		cure_config(c, "min.insync.replicas=2");
		WARN(c, "topic_in_sync",
		     "min.insync.replicas is 1: while the other replicas are down, an event counts "
		     "as written (acks=all) with one copy");
	} else if (f->min_in_sync == f->replicas_min && f->replicas_min > IN_SYNC_ADVISED) {
		cure_config(c, "min.insync.replicas=2");
		WARN(c, "topic_in_sync",
		     "min.insync.replicas is %d, of %d replicas: while any broker is down, events "
		     "wait",
		     f->min_in_sync, f->replicas_min);
	} else {
		FINE(c, "topic_in_sync", "min.insync.replicas is %d", f->min_in_sync);
	}
}

static void cure_size(struct kafka_judge *c)
{
	char setting[64];
	int64_t wanted = c->cluster->message_max + MARGIN;

	if (wanted < TOPIC_LIMIT_USUAL)
		wanted = TOPIC_LIMIT_USUAL;
	if (wanted < (int64_t)c->wanted->largest.size)
		wanted = (int64_t)c->wanted->largest.size;
	(void)snprintf(setting, sizeof(setting), "max.message.bytes=%" PRId64, wanted);
	cure_config(c, setting);
}

/* The broker measures what arrives. How much compression saves is not known before it is done. */
static void judge_largest(struct kafka_judge *c)
{
	const struct wp_topic_largest *l = &c->wanted->largest;
	bool compresses = strcmp(c->cluster->compression, "none") != 0;
	char until[WP_LSN_TEXT_SIZE];

	cure_size(c);
	found(c, compresses ? WP_FINDING_WARN : WP_FINDING_FAIL, "topic_size",
	      "max.message.bytes of topic %s is %" PRId64 ", and the slot holds an event of %zu "
	      "bytes for it (id %s): walpost run stops at it%s%s. Instead of raising the limit, "
	      "set "
	      "relay.poison = dead-letter or park, or discard everything up to that event: walpost "
	      "slot skip --to %s",
	      c->wanted->name, c->facts->max_bytes, l->size, l->id.text,
	      compresses ? ", unless it is small enough when compressed with " : "",
	      compresses ? c->cluster->compression : "", wp_lsn_text(l->until, until));
}

static void judge_size(struct kafka_judge *c)
{
	int64_t limit = c->facts->max_bytes, ours = c->cluster->message_max;

	if ((int64_t)c->wanted->largest.size > limit) {
		judge_largest(c);
		return;
	}
	if (limit >= ours) {
		FINE(c, "topic_size",
		     "it accepts %" PRId64 " bytes; walpost sends %" PRId64 " at most", limit,
		     ours);
		return;
	}
	cure_size(c);
	WARN(c, "topic_size",
	     "max.message.bytes is %" PRId64 ", and kafka.message.max.bytes %" PRId64
	     ": an event between these can never be delivered (relay.poison)",
	     limit, ours);
}

static void judge_cleanup(struct kafka_judge *c)
{
	if (!c->facts->compacts)
		return;
	cure_config(c, "cleanup.policy=delete");
	WARN(c, "topic_cleanup",
	     "cleanup.policy includes compact: only the last event of each key is kept%s",
	     c->wanted->may_lack_key ? ", and an event without a key is refused (outbox.key.null "
				       "is allow)"
				     : "");
}

static void judge_unclean(struct kafka_judge *c)
{
	if (!c->facts->unclean)
		return;
	cure_config(c, "unclean.leader.election.enable=false");
	WARN(c, "topic_unclean",
	     "unclean.leader.election.enable: an out-of-sync replica may become leader, and events "
	     "that were confirmed to Postgres are lost");
}

static void judge_time(struct kafka_judge *c)
{
	if (!c->facts->broker_time || !c->wanted->has_timestamps)
		return;
	cure_config(c, "message.timestamp.type=CreateTime");
	WARN(c, "topic_timestamp",
	     "message.timestamp.type is LogAppendTime: the broker's time replaces "
	     "outbox.column.timestamp");
}

/* The right is what is lacking only where the broker says so. */
static void judge_no_config(struct kafka_judge *c)
{
	switch (c->facts->config_code) {
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
		FINE(c, "topic_config",
		     "walpost may not read its configuration (DescribeConfigs): limits become "
		     "known only when an event is refused");
		return;
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
		cure(c, "-- run the check again; see kafka_brokers");
		WARN(c, "topic_config", "its configuration cannot be read: no broker answered (%s)",
		     rd_kafka_err2str(c->facts->config_code));
		return;
	default:
		FINE(c, "topic_config",
		     "its configuration is not known (%s): limits become known only when an event "
		     "is refused",
		     rd_kafka_err2str(c->facts->config_code));
	}
}

static void judge_config(struct kafka_judge *c)
{
	if (!c->facts->has_config) {
		judge_no_config(c);
		return;
	}
	judge_size(c);
	judge_cleanup(c);
	judge_unclean(c);
	judge_time(c);
}

/* -- may we ------------------------------------------------------------------------------ */

static void judge_write(struct kafka_judge *c)
{
	switch (c->facts->write) {
	case WP_RIGHT_GRANTED:
		FINE(c, "topic_write", "walpost may write to it");
		break;
	case WP_RIGHT_REFUSED:
		cure_right(c, "Write");
		FAIL(c, "topic_write",
		     "walpost may not write to topic %s: events for it wait, and so do all later "
		     "events",
		     c->wanted->name);
		break;
	case WP_RIGHT_DENIED:
		cure(c, "kafka-acls.sh --bootstrap-server %s --remove --force %s",
		     c->cluster->servers, c->facts->denial);
		FAIL(c, "topic_write",
		     "an ACL denies walpost writing to topic %s (%s): events for it wait, and so "
		     "do all later events",
		     c->wanted->name, c->facts->denial);
		break;
	case WP_RIGHT_NOT_LISTED:
		cure_right(c, "Write");
		WARN(c, "topic_write",
		     "topic %s has ACLs, and none allows %s to write: unless it is a super user, "
		     "events for it wait",
		     c->wanted->name,
		     c->cluster->principal[0] != '\0' ? c->cluster->principal : "everybody");
		break;
	case WP_RIGHT_NOT_KNOWN:
		FINE(c, "topic_write",
		     "the permission to write cannot be checked without writing (librdkafka %s; "
		     "2.3.0 and newer can)",
		     c->cluster->version);
		break;
	}
}

/* Reading is wanted only where a server may be behind what was delivered from it (relay_behind). */
static void judge_read(struct kafka_judge *c)
{
	bool is_refused = c->facts->read == WP_RIGHT_REFUSED || c->facts->read == WP_RIGHT_DENIED;

	if (!is_refused || c->wanted->use == WP_TOPIC_DEAD_LETTERS)
		return;
	cure_right(c, "Read");
	WARN(c, "topic_read",
	     "walpost may not read topic %s: it cannot detect whether a promoted or restored "
	     "server is behind the delivered events",
	     c->wanted->name);
}

void wp_topic_judge(const struct wp_topic_wanted *wanted, const struct wp_topic_facts *facts,
		    const struct wp_cluster_facts *cluster, struct wp_findings *ret)
{
	struct kafka_judge c = { .wanted = wanted, .facts = facts, .cluster = cluster, .ret = ret };

	if (!judge_existence(&c))
		return;
	judge_write(&c);
	judge_read(&c);
	judge_leaders(&c);
	/* Event Hubs has no replicas to show, and keeps three. */
	if (cluster->provider != WP_KAFKA_EVENT_HUBS) {
		judge_replicas(&c);
		judge_in_sync(&c);
	}
	judge_config(&c);
}

/* -- ACLs ---------------------------------------------------------------------------------- */

static bool is_about(const struct wp_acl *acl, const char *principal,
		     rd_kafka_AclOperation_t operation)
{
	bool is_us = strcmp(acl->principal, "User:*") == 0 ||
		     (principal[0] != '\0' && strcmp(acl->principal, principal) == 0);

	return is_us &&
	       (acl->operation == operation || acl->operation == RD_KAFKA_ACL_OPERATION_ALL);
}

enum wp_right wp_acl_judge(const struct wp_acl *acls, size_t count, const char *principal,
			   rd_kafka_AclOperation_t operation, const struct wp_acl **ret_denial)
{
	bool allowed = false;

	for (size_t i = 0; i < count; i++) {
		if (!is_about(&acls[i], principal, operation))
			continue;
		if (acls[i].permission == RD_KAFKA_ACL_PERMISSION_TYPE_DENY) {
			*ret_denial = &acls[i];
			return WP_RIGHT_DENIED;
		}
		allowed = true;
	}
	if (allowed)
		return WP_RIGHT_GRANTED;
	/* Who we are is not known, or nothing is said of the topic: the broker's default counts. */
	return principal[0] == '\0' || count == 0 ? WP_RIGHT_NOT_KNOWN : WP_RIGHT_NOT_LISTED;
}

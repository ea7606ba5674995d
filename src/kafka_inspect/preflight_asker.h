/*
 * The parts of the preflight share this: a client that asks, and what it heard beside the answers. Its main
 * queue brings both.
 */
#ifndef WALPOST_SRC_KAFKA_INSPECT_PREFLIGHT_ASKER_H
#define WALPOST_SRC_KAFKA_INSPECT_PREFLIGHT_ASKER_H

#include <stdint.h>

#include <librdkafka/rdkafka.h>

#include "walpost/base/error.h"
#include "walpost/kafka/provider.h"
#include "walpost/kafka_inspect/preflight.h"

/* Will a topic do, and the cluster? The pure part of the preflight: facts in, findings out. */
#define WP_REASSIGNMENT_SIZE 1500

enum wp_yes_no { WP_NOT_KNOWN, WP_YES, WP_NO };

/* One broker, as the cluster names it to clients of our listener. */
struct wp_broker_facts {
	int32_t id;
	char name[300]; /* host:port, of its advertised.listeners */
	bool answers;	/* there, and lets us in */
	char why[200];	/* why not, as far as librdkafka says; "": it was silent */
};

#define WP_BROKERS_TOLD_MAX 128

/* This says what the cluster is like, and what we want of it. */
struct wp_cluster_facts {
	char servers[512]; /* for commands */
	enum wp_kafka_provider provider;
	bool by_token;	      /* we log in with OAUTHBEARER */
	char compression[16]; /* ours, effective */
	char principal[256];  /* ours, where it follows from the configuration; "": it does not */
	int brokers;
	struct wp_broker_facts told[WP_BROKERS_TOLD_MAX]; /* more are not tried */
	size_t told_count;
	int64_t message_max;	    /* ours */
	bool creates_topics;	    /* allow.auto.create.topics is ours */
	enum wp_yes_no auto_create; /* auto.create.topics.enable is the broker's */
	int partitions, replicas;   /* of topics that it makes; 0: not known */
	enum wp_yes_no may_create;
	const char *version; /* of librdkafka */
};

/* A right that ACLs give: told by the broker, or as far as the list of ACLs tells. */
enum wp_right {
	WP_RIGHT_NOT_KNOWN,
	WP_RIGHT_GRANTED,
	WP_RIGHT_REFUSED,    /* the broker says so */
	WP_RIGHT_DENIED,     /* an ACL says so */
	WP_RIGHT_NOT_LISTED, /* there are ACLs, and none of them is for us */
};

struct wp_topic_facts {
	rd_kafka_resp_err_t code; /* what metadata says of it */
	int partitions;
	int leaderless;
	int led_by_silent; /* their leader is a broker that does not answer */
	int replicas_min;
	int in_sync_min;
	rd_kafka_resp_err_t config_code; /* why it did not tell the following */
	bool has_config;
	int min_in_sync;
	int64_t max_bytes;
	bool compacts;
	bool unclean;	  /* a replica that is behind may become leader */
	bool broker_time; /* message.timestamp.type is LogAppendTime */
	enum wp_right write;
	enum wp_right read;
	char denial[700]; /* the ACL that denies writing, in words of kafka-acls.sh; "": none */
	char reassignment[WP_REASSIGNMENT_SIZE]; /* JSON that gives more replicas; "": none */
};

/* Says how the right is given there: `topic` NULL is the cluster. */
void wp_cluster_cure_right(const struct wp_cluster_facts *cluster, const char *operation,
			   const char *topic, char *ret, size_t size);
/* Judges what differs with the provider; no broker needs to have answered. */
void wp_kafka_provider_judge(const struct wp_cluster_facts *cluster, struct wp_findings *ret);
/* Returns false when none of them answers, so that nothing more can be asked. */
bool wp_brokers_judge(const struct wp_cluster_facts *cluster, struct wp_findings *ret);
bool wp_broker_is_silent(const struct wp_cluster_facts *cluster, int32_t id);
void wp_cluster_judge(const struct wp_cluster_facts *cluster, struct wp_findings *ret);
void wp_topic_judge(const struct wp_topic_wanted *wanted, const struct wp_topic_facts *facts,
		    const struct wp_cluster_facts *cluster, struct wp_findings *ret);

/* One ACL of topics. */
struct wp_acl {
	const char *principal; /* "User:alice", "User:*" */
	const char *name;      /* of the topic, or what its name begins with */
	rd_kafka_ResourcePatternType_t pattern;
	rd_kafka_AclOperation_t operation;
	rd_kafka_AclPermissionType_t permission;
};

/* With `principal` "" only what is for everybody counts. `ret_denial` is written when it is denied. */
enum wp_right wp_acl_judge(const struct wp_acl *acls, size_t count, const char *principal,
			   rd_kafka_AclOperation_t operation, const struct wp_acl **ret_denial);

enum wp_idempotence_right {
	WP_IDEMPOTENCE_NOT_KNOWN,
	WP_IDEMPOTENCE_GRANTED,
	WP_IDEMPOTENCE_REFUSED
};

struct wp_asker {
	rd_kafka_t *rk;		 /* owned */
	rd_kafka_queue_t *queue; /* owned */
	int64_t deadline_ms;
	bool is_refused; /* credentials or TLS: waiting does not help */
	rd_kafka_resp_err_t code;
	struct wp_error trouble; /* the last that went wrong */
	enum wp_idempotence_right idempotence;
	struct wp_cluster_facts cluster;
	int32_t broker_id; /* one that answered; -1: none yet */
};

int wp_asker_left_ms(const struct wp_asker *a);
/* An idempotent producer that gets no id is broken for good. */
void wp_asker_read_fatal(struct wp_asker *a);
/* Takes what came beside an answer; destroys the event. */
void wp_asker_take(struct wp_asker *a, rd_kafka_event_t *event);
/* Returns the next event of that kind, which the caller destroys, or NULL when the time is over. */
rd_kafka_event_t *wp_asker_wait(struct wp_asker *a, rd_kafka_event_type_t kind);

/*
 * The options are for the broker that answered already: looking for the controller first would take time, and
 * since KRaft all brokers pass on what is its. The caller destroys them.
 */
rd_kafka_AdminOptions_t *wp_asker_admin_options(const struct wp_asker *a, rd_kafka_admin_op_t op);

/* Takes the brokers that the metadata names. */
void wp_asker_take_brokers(struct wp_asker *a, const struct rd_kafka_metadata *metadata);
/* These take what librdkafka tells of them: errors, and statistics. */
void wp_asker_broker_failed(struct wp_asker *a, const char *text);
void wp_asker_brokers_up(struct wp_asker *a, const char *statistics);

/* Judges all of them (preflight_topics.c). */
void wp_asker_check_topics(struct wp_asker *a, const struct wp_topic_wanted *topics, size_t count,
			   struct wp_findings *ret);

/* Gives the configuration of a topic or of the broker, or NULL when it was not told, and why. The event owns it. */
const rd_kafka_ConfigResource_t *wp_asker_config(struct wp_asker *a, rd_kafka_ResourceType_t kind,
						 const char *name, rd_kafka_event_t **ret_event,
						 rd_kafka_resp_err_t *ret_code);
/* Gives its value, or NULL. */
const char *wp_config_value(const rd_kafka_ConfigResource_t *resource, const char *name);

#endif

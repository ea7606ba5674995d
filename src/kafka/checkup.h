/*
 * Will a topic do, and the cluster? The pure part of the preflight: facts in, findings out.
 *
 * Owns: nothing. Pure.
 */
#ifndef WALPOST_SRC_KAFKA_CHECKUP_H
#define WALPOST_SRC_KAFKA_CHECKUP_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

#include "walpost/kafka/preflight.h"

#define WP_REASSIGNMENT_SIZE 1500

enum wp_yes_no { WP_NOT_KNOWN, WP_YES, WP_NO };

/* What the cluster is like, and what we want of it. */
struct wp_cluster_facts {
	char servers[512];   /* for commands */
	char principal[256]; /* ours, where it follows from the configuration; "": it does not */
	int brokers;
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
	int replicas_min;
	int in_sync_min;
	bool has_config; /* the broker told the following */
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

/* `principal` "": only what is for everybody counts. `ret_denial` is written when it is denied. */
enum wp_right wp_acl_judge(const struct wp_acl *acls, size_t count, const char *principal,
			   rd_kafka_AclOperation_t operation, const struct wp_acl **ret_denial);

#endif

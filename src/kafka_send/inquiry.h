/*
 * Asks the cluster about topics without blocking the loop. DescribeConfigs comes first, for it
 * takes any name: which topics exist, and how large a batch may be. The metadata of those that do
 * comes second, for their partitions: librdkafka gives it only for topics that it has an object
 * of, asks again every second for each of these that the cluster does not know, for as long as the
 * client exists, and gives it only to those who wait: on the worker. So an object is made of a name
 * that may be missing only where nothing else tells (no right to DescribeConfigs, or the controller
 * is gone and no topic in use), or where asking is to create the topic.
 *
 * However many topics are asked for together, it is one request of each kind.
 *
 * A question that gets no answer although a broker was connected has the next wait longer: a
 * cluster may be slow without being gone.
 *
 * Private to kafka_send/. One question at a time, of WP_INQUIRY_TOPICS_MAX topics at most. An answer
 * comes as a value.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_INQUIRY_H
#define WALPOST_SRC_KAFKA_SEND_INQUIRY_H

#include "topics.h"
#include "walpost/base/worker.h"
#include "walpost/kafka/client.h"

enum { WP_INQUIRY_TOPICS_MAX = 256, WP_INQUIRY_WHY_SIZE = 200 };

enum wp_inquiry_about {
	WP_INQUIRY_TOPICS, /* configuration and metadata */
	WP_INQUIRY_LIFE,   /* does anybody answer? */
};

/* This is known of a topic that was asked for. */
struct wp_asked_topic {
	char name[WP_TOPIC_NAME_MAX + 1];
	rd_kafka_resp_err_t code; /* NO_ERROR: it is there */
	size_t limit;		  /* bytes of a batch at most; 0: not told */
	const char *limit_name;	  /* static: the property that sets it, if it was told */
	int32_t partition_count;
	bool wants_why;		       /* if it is missing: why the broker does not create it */
	bool knows_why;		       /* that was answered */
	char why[WP_INQUIRY_WHY_SIZE]; /* the broker's words; "": it would, or was not asked */
};

struct wp_answer {
	enum wp_inquiry_about about;
	bool heard; /* a broker answered, whatever it said */
	const struct wp_asked_topic
		*topics; /* borrowed from the inquiry, until the next question */
	size_t topic_count;
	char text[512]; /* for people: why nothing was heard; else "" */
};

/* May asking for a topic that is missing create it? */
enum wp_creation { WP_CREATION_NEVER, WP_CREATION_WANTED };

enum wp_inquiry_stage {
	WP_INQUIRY_IDLE,
	WP_INQUIRY_CONTACT, /* is anybody there, and who? On the worker. */
	WP_INQUIRY_CONFIG,
	WP_INQUIRY_METADATA, /* on the worker */
};

struct wp_question;

struct wp_inquiry {
	enum wp_inquiry_stage stage;
	enum wp_inquiry_about about;
	enum wp_creation creation;     /* NEVER, until its owner says otherwise */
	struct wp_asked_topic *topics; /* owned, room for WP_INQUIRY_TOPICS_MAX */
	size_t topic_count;
	struct wp_question *question; /* on the worker: owned by the job */
	uint64_t job;
	bool has_result; /* of the worker; it was not looked at yet */
	rd_kafka_resp_err_t code;
	int64_t opened_at_us; /* the client's first question; 0: none yet */
	bool was_heard;	      /* this client has had an answer */
	bool has_config;      /* what the question knows by now */
	bool has_metadata;
	int32_t broker_id; /* whom to ask for the configuration; -1: not known */
	bool has_answered; /* that one did; else it was only named, and may be gone */
	bool is_blind;	   /* nobody tells a broker to ask: the metadata first, then who gave it */
	size_t broker_count; /* that the last answer named; 0: not known */
	int32_t patience_ms; /* how long the next question waits */
	int64_t asked_at_us; /* of the configuration */
	uint64_t serial;     /* of the last configuration asked: late answers are ignored */
	void (*wake)(void *arg);
	void *wake_arg;
};

/* `wake` is called on the loop's thread when wp_inquiry_step() has something to do. Returns WP_NOMEM. */
enum wp_rc wp_inquiry_init(struct wp_inquiry *q, void (*wake)(void *arg), void *arg) WP_MUST_CHECK;
void wp_inquiry_release(struct wp_inquiry *q);
/* Adds one topic for the next wp_inquiry_ask(); returns false when there is no room. Only when IDLE. */
bool wp_inquiry_add(struct wp_inquiry *q, const char *topic, bool wants_why);
/*
 * Asks about the topics that were added, if not about life. `known` is a topic that is there, as far as is
 * known, or "". Only when IDLE. With WP_FULL and WP_NOMEM it is to be asked later; what was added is
 * forgotten.
 */
enum wp_rc wp_inquiry_ask(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
			  enum wp_inquiry_about about, const char *known) WP_MUST_CHECK;
/* Returns true when the answer is there. */
bool wp_inquiry_step(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
		     struct wp_answer *ret);
/* Does the same with an event of type DESCRIBECONFIGS_RESULT. */
bool wp_inquiry_read(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
		     rd_kafka_event_t *event, struct wp_answer *ret);
/* Reads what the topic's configuration says of it. */
void wp_inquiry_read_limit(const rd_kafka_ConfigResource_t *resource, struct wp_asked_topic *asked);
/* A connection broke, perhaps that to the broker that would be asked next. */
void wp_inquiry_doubt_broker(struct wp_inquiry *q);
/* Makes it idle again; to be called before the client is closed. */
void wp_inquiry_reset(struct wp_inquiry *q, struct wp_worker *worker);

#endif

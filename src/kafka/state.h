/*
 * What the producer's sources share: producer (the sink's operations), gate (may a
 * record go to its topic now?), backlog (those that may not yet), intake (what
 * arrives on librdkafka's queue) and the producer's lives. Private to kafka/.
 */
#ifndef WALPOST_KAFKA_STATE_H
#define WALPOST_KAFKA_STATE_H

#include "client.h"
#include "inquiry.h"
#include "secrets.h"
#include "walpost/kafka/placement.h"
#include "walpost/kafka/producer.h"
#include "walpost/kafka/topics.h"

enum wp_phase {
	WP_PHASE_OPENING, /* the old client is not quite gone, or the new one not made */
	WP_PHASE_RUNNING,
	WP_PHASE_BROKEN,
	WP_PHASE_FAILED,
};

struct wp_producer {
	struct wp_sink sink;
	const struct wp_kafka_options *options; /* borrowed */
	struct wp_kafka_bounds bounds;
	struct wp_worker *worker; /* borrowed */
	int fd;			  /* eventfd, owned */
	int64_t now_ms;		  /* of the last collect() */

	/* Read back from the configuration. */
	size_t batch_size;
	size_t message_max;
	bool compresses;
	bool creates_topics;
	const struct wp_placement *placement;
	uint64_t random; /* where records without a key go */

	/* The lives. */
	enum wp_phase phase;
	struct wp_client clients[WP_CLIENTS_MAX]; /* the first asks all questions, too */
	size_t client_count;			  /* 0: none is open */
	size_t polled;				  /* whose queue was read last */
	struct wp_client_shape shape;
	rd_kafka_t *corpses[WP_CLIENTS_MAX]; /* closed, and the worker did not take them yet */
	size_t corpse_count;
	bool is_burying;
	uint64_t burial;
	int64_t open_at_ms; /* not before: the last try could not start */
	bool is_asking_tail;
	uint64_t tail_job;
	/* With a smaller batch.size, of other files, or after a denial, once nothing is in flight. */
	bool wants_reopening;
	int64_t opened_at_ms;
	/*
	 * The cluster does not let this user begin an idempotent producer, and did before. Each
	 * client asks once, so each try is a new one.
	 */
	struct wp_denial {
		bool on;
		unsigned times;
		struct wp_error error;
	} denial;

	/* The files that the client was made of, and what comes of a change in them. */
	struct wp_secrets secrets;
	struct wp_renewal {
		bool was_open;	 /* in this process */
		bool is_refused; /* a broker did not let this client in */
		int64_t look_at_ms;
		int64_t try_at_ms; /* not before: they were tried a moment ago */
		bool told;	   /* that they are of no use; once until they change */
		bool is_trying;	   /* on the worker: do they make a client that is let in? */
		uint64_t trial;
		bool let_in;		/* it was */
		bool is_draining;	/* hence reopened, once nothing is in flight */
		int64_t progress_at_ms; /* of that: the last report */
	} renewal;

	/* The gate. */
	struct wp_topics topics;
	struct wp_inquiry inquiry;
	char wanted[WP_TOPIC_NAME_MAX + 1]; /* what a record waits for; "" nothing */
	int64_t expected_at_ms;		    /* topics that are expected are due; INT64_MAX: none */

	/* The records in the topics' queues. */
	struct wp_backlog {
		size_t count;		     /* view.queued of them for topics that are not READY */
		bool goes_on;		     /* some topic's does */
		bool is_releasing;	     /* what was held back */
		int64_t still_since_ms;	     /* the last report, or the first held back later */
		struct wp_topic *first_held; /* topics whose records are: linked by next_held */
		struct wp_topic *last_held;
	} backlog;
	struct wp_queue returned; /* given back unsent, each with its report */
	bool has_refused;	  /* a record: until restart() nothing more is taken, nor sent */

	/* The intake. */
	rd_kafka_event_t *delivery; /* partly read; owned */
	bool more;		    /* the queue was not read to its end */
	struct wp_client_log log;

	/* What is known of the other side. */
	bool contacted;	  /* something was heard in this process */
	bool has_written; /* and something confirmed */
	int64_t heard_at_ms;
	int64_t probe_at_ms;
	int64_t tls_failing_since_ms; /* before the first contact; -1: no */
	struct wp_error tls_failure;
	bool is_suspect;	    /* a broker's connection broke: probe at once */
	bool is_back;		    /* an outage is over: how long do answers take now? */
	bool has_missed;	    /* while suspect: the next unanswered question is an outage */
	struct wp_error last_error; /* since something was heard; "" none */
	struct wp_error outage;	    /* while not reachable */
	struct wp_error failure;    /* BROKEN, FAILED */

	struct wp_sink_view view;
	struct wp_sink_figures figures;
};

/* ---- gate ---- */

struct wp_way {
	struct wp_topic *topic; /* with its handle; until the next pass */
	int32_t partition;
	bool doubtful; /* may be refused for its size */
};

/* The topic that a record is for, known or not. WP_DATA: no such name is possible; WP_NOMEM. */
enum wp_rc wp_gate_find(struct wp_producer *p, const struct wp_record *record,
			struct wp_topic **ret, struct wp_error *error) WP_MUST_CHECK;
/* WP_OK and the way; WP_AGAIN: not known yet, or to be waited for; WP_DATA. */
enum wp_rc wp_gate_pass(struct wp_producer *p, struct wp_topic *topic,
			const struct wp_record *record, struct wp_way *ret,
			struct wp_error *error) WP_MUST_CHECK;
/* False: by what is known of the topic, perhaps no longer true, it would be refused. */
bool wp_gate_seems_to_fit(const struct wp_producer *p, const struct wp_topic *topic,
			  const struct wp_record *record);
/* A record was taken: what an earlier one waited for outside is no longer asked for. */
void wp_gate_unwant(struct wp_producer *p);
/* It was taken by librdkafka. */
void wp_gate_sent(struct wp_producer *p, const struct wp_way *way, wp_ticket ticket);
/* Its report came. */
void wp_gate_reported(struct wp_producer *p, const rd_kafka_message_t *message,
		      const struct wp_report *report);
/* A report or produce itself said that the topic is not what it seemed. */
void wp_gate_distrust(struct wp_producer *p, const char *topic, rd_kafka_resp_err_t code);
/* A size was refused: the limit is read again before the next record. */
void wp_gate_doubt_limit(struct wp_producer *p, const char *topic);
void wp_gate_answer(struct wp_producer *p, const struct wp_answer *answer);
/* One that was there when it was last asked for, so that it may be asked for at will; "" none. */
const char *wp_gate_known_topic(const struct wp_producer *p);
/* Asks for these (comma-separated), so far as they are not known, before an event comes. */
void wp_gate_prefetch(struct wp_producer *p, const char *topics);
/* Asks what is due. */
void wp_gate_step(struct wp_producer *p);
int64_t wp_gate_due(const struct wp_producer *p);
/* The topic waited for, if a human must do something about it; with the sentence. */
const struct wp_topic *wp_gate_waits_for(const struct wp_producer *p, struct wp_error *ret);

/* ---- backlog ---- */

/* Keeps a record that may not go yet. WP_AGAIN: such a one waits with the relay. WP_NOMEM. */
enum wp_rc wp_backlog_take(struct wp_producer *p, struct wp_topic *topic, wp_ticket ticket,
			   const struct wp_record *record, struct wp_error *error) WP_MUST_CHECK;
/* The state is about to be another. */
void wp_backlog_topic_changes(struct wp_producer *p, const struct wp_topic *topic,
			      enum wp_topic_state to);
/* True: a record that could go is to be kept, for others go first. */
bool wp_backlog_holds_back(struct wp_producer *p, struct wp_topic *topic);
/* What this topic's, or all topics', records wait for may have come: at the next step. */
void wp_backlog_look_at(struct wp_producer *p, struct wp_topic *topic);
void wp_backlog_look(struct wp_producer *p);
/* Sends what may go by now. Only when records may be sent at all. */
void wp_backlog_step(struct wp_producer *p);
/* All are given back. */
void wp_backlog_purge(struct wp_producer *p);
/* The reports of those given back. */
size_t wp_backlog_collect(struct wp_producer *p, struct wp_report *reports, size_t max);
/* Forgets all, without reports. */
void wp_backlog_drop(struct wp_producer *p);

/* ---- intake ---- */

size_t wp_intake_read(struct wp_producer *p, struct wp_report *reports, size_t max);
/* What is decided by time. */
void wp_intake_step(struct wp_producer *p);
int64_t wp_intake_due(const struct wp_producer *p);
void wp_intake_drop(struct wp_producer *p);
/* A broker has answered; a question was not answered. */
void wp_intake_heard(struct wp_producer *p);
void wp_intake_unheard(struct wp_producer *p, const char *text);

/* ---- lives ---- */

enum wp_rc wp_life_open(struct wp_producer *p, struct wp_error *error) WP_MUST_CHECK;
/* Which of the clients a topic of so many partitions goes to; perhaps one that is opened now. */
unsigned wp_life_client_for(struct wp_producer *p, int32_t partition_count);
/* Gives up the clients and what refers to them; the worker destroys them. */
void wp_life_close(struct wp_producer *p);
/* The same, and a new one as soon as the old one is gone. What is queued goes there. */
void wp_life_begin_anew(struct wp_producer *p);
void wp_life_step(struct wp_producer *p);
int64_t wp_life_due(const struct wp_producer *p);
/* Makes collect() due. `arg` is the producer. */
void wp_life_wake(void *arg);

/* ---- renewal ---- */

/* Around the making of a client: before it reads the files, and when it is there. */
void wp_renewal_opening(struct wp_producer *p);
void wp_renewal_opened(struct wp_producer *p);
/* The files make no client. Told once until they change. */
void wp_renewal_complain(struct wp_producer *p, const struct wp_error *error);
/* A broker did not let us in: perhaps because of files that were replaced. */
void wp_renewal_refused(struct wp_producer *p);
void wp_renewal_step(struct wp_producer *p);
int64_t wp_renewal_due(const struct wp_producer *p);
void wp_renewal_drop(struct wp_producer *p);

/* ---- tail_job ---- */

/* The answer comes into the view, with a wake. */
void wp_tail_ask(struct wp_producer *p, const struct wp_tail_question *question);
void wp_tail_drop(struct wp_producer *p);

/* ---- producer ---- */

/* Of those in flight, the ones that librdkafka has. */
size_t wp_producer_sent(const struct wp_producer *p);
/* To librdkafka, if the gate lets it. The count in flight is the caller's. */
enum wp_rc wp_producer_pass_on(struct wp_producer *p, struct wp_topic *topic, wp_ticket ticket,
			       const struct wp_record *record,
			       struct wp_error *error) WP_MUST_CHECK;
void wp_producer_break(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text);
void wp_producer_fail(struct wp_producer *p, const char *text, const char *cure);

#endif

/*
 * A sink that does what a test says: answers what it is told to, remembers what it
 * was sent, reports what the test reports. It keeps sink.h's rules about tickets.
 */
#ifndef WALPOST_TESTS_SCRIPTED_SINK_H
#define WALPOST_TESTS_SCRIPTED_SINK_H

#include "walpost/sink/sink.h"

enum { SENT_MAX = 256 };

/* A record, copied. "(null)" where it was null. */
struct sent {
	wp_ticket ticket;
	char topic[64];
	char id[64];
	char key[64];
	char value[64];
	char headers[1024]; /* "name=value name=value" */
	char position[WP_POSITION_TEXT_SIZE];
	int64_t timestamp_ms;
	size_t size;
};

struct scripted_sink {
	struct wp_sink base;
	struct wp_sink_view view; /* the test writes it; in_flight is kept here */
	enum wp_rc answer;	  /* of send() */
	const char *answer_error;
	size_t size_max;	   /* a larger record is WP_DATA; 0: none is */
	const char *refused_topic; /* a record to it is WP_DATA; NULL: none is */
	unsigned offers;
	struct sent sent[SENT_MAX];
	size_t sent_count;
	struct wp_report reports[SENT_MAX];
	size_t report_count;
	unsigned purges;
	unsigned restarts;
	enum wp_batching batching; /* of the last restart */
	int64_t due_ms;
	unsigned topic_ends_questions;
	struct wp_topic_ends_question topic_ends_question; /* the last */
	struct wp_topic_ends topic_ends_answer;		   /* given at once; found nothing */
};

/* READY and reachable. */
void scripted_sink_init(struct scripted_sink *s);
void scripted_sink_confirm(struct scripted_sink *s, wp_ticket ticket);
void scripted_sink_refuse(struct scripted_sink *s, wp_ticket ticket, enum wp_reaction reaction,
			  bool event_level, const char *code);
void scripted_sink_purged(struct scripted_sink *s, wp_ticket ticket);
/* The one sent last. */
const struct sent *scripted_sink_last(const struct scripted_sink *s);

#endif

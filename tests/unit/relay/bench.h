/*
 * A relay between a source and a sink that a test moves by hand. There is one in each test
 * program; its verbs have plain names, for the tests are read as prose.
 */
#ifndef WALPOST_TESTS_BENCH_H
#define WALPOST_TESTS_BENCH_H

#include "scripted_sink.h"
#include "scripted_source.h"
#include "walpost/relay/relay.h"

enum { OUTBOX = 16400 }; /* the oid of public.outbox */

struct bench {
	struct wp_outbox_options outbox;
	struct wp_outboxes outboxes;
	struct wp_relay_options options;
	struct scripted_source source;
	struct scripted_sink sink;
	struct wp_parked_store *parked; /* NULL: for all but relay.poison = park */
	struct wp_relay *relay;
	int64_t now_ms;
	int64_t suspended_ms;  /* so far: the time that the monotonic clock does not count */
	int64_t wall_ahead_ms; /* of the wall clock: how far it was stepped */
	enum wp_step step;     /* the last */
	struct wp_relay_snapshot snapshot;
	char events[4096]; /* of the notes so far: "I:state E:slot_moved ..." */
	struct wp_error error;
	struct wp_error last; /* of any note but "state" */
};

extern struct bench bench;

/*
 * Everything as new, the slot at `slot`; what `bench` holds may be changed before build(). 4 events
 * may be in flight, feedback is due each 100 ms, a topic is waited for 300 s, a shutdown takes 20 s.
 */
void begin(wp_lsn slot);
/* bench.relay of all that; the caller frees it: tear_down(). */
enum wp_rc build(void);
/* For cmocka. */
int tear_down(void **state);

struct wp_now now(void);
/* One step; its notes and a snapshot are taken. */
void step(void);
/* Steps when a step is due and at no other time, until `ms` have passed. */
void live(int64_t ms);
bool noted(const char *event);
#define CHECK_STATE(wanted_) CHECK_TEXT(wp_state_name(bench.snapshot.state), (wanted_))
/* The last step was the relay's last. */
#define CHECK_OVER(exit_code_)                                           \
	do {                                                             \
		CHECK_EQ(bench.step, WP_STEP_OVER);                      \
		CHECK_EQ(wp_relay_exit_code(bench.relay), (exit_code_)); \
	} while (0)

/* What the server sends; it is read with the next step. A commit ends 8 behind its record's start. */
void send_begin(wp_lsn commit_lsn);
void send_begin_as(wp_lsn commit_lsn, uint32_t xid);
void send_relation(uint32_t oid, const char *name);
void send_row_of(uint32_t oid, const char *id, const char *key);
void send_commit(wp_lsn commit_lsn);
/* A transaction of one event of the outbox, with the key "k". */
void send_event(wp_lsn commit_lsn, const char *id);
/* The same, taken with a step. */
void one_event(wp_lsn commit_lsn, const char *id);
void send_keepalive(wp_lsn wal_end, bool reply);

#endif

/*
 * A stream against a real server: the loop with deadlines, a second connection
 * for SQL, the server's life. The server itself is with-server's.
 */
#ifndef WALPOST_TESTS_COMPONENT_POSTGRES_HARNESS_H
#define WALPOST_TESTS_COMPONENT_POSTGRES_HARNESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <ev.h>
#include <libpq-fe.h>

#include "support/check.h"
#include "support/patience.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres_stream/stream.h"

#define DEADLINE_S 20.

struct harness {
	struct ev_loop *loop;
	struct wp_postgres_options options;
	char conninfo[512];
	struct wp_source *source; /* NULL until harness_stream() */
	unsigned long wakes;
	PGconn *admin;	/* blocking */
	PGconn *holder; /* streams from the slot, when another holds it */
	pid_t stopping; /* a `stop fast` that waits for us */
};

/* A fresh database "relay" with outbox, publication, slot checkpoint and slot. */
void harness_init(struct harness *h);
void harness_release(struct harness *h);
/* As init makes it, for another database. */
void harness_prepare(struct harness *h, const char *database);
/* Names another way in: the conninfo's words behind the address. `host` NULL: the socket. */
void harness_connect_by(struct harness *h, const char *host, const char *words);
void harness_stream(struct harness *h);
const struct wp_source_view *harness_view(const struct harness *h);

void harness_sql(struct harness *h, const char *format, ...) WP_PRINTF(2, 3);
/* "ssl = on": in force for all sessions that begin from then on. */
void harness_set(struct harness *h, const char *setting);
/* The first value of the first row, until the next call. */
const char *harness_value(struct harness *h, const char *format, ...) WP_PRINTF(2, 3);
wp_lsn harness_confirmed(struct harness *h);

/* Events for at most 10 ms. */
void harness_pump(struct harness *h);
bool harness_late(double since);
/* `condition_` is evaluated again after each event; the test fails when it takes too long. */
#define AWAIT(h_, condition_)                                       \
	do {                                                        \
		double await_since_ = ev_time();                    \
		bool await_so_ = (condition_);                      \
		while (!await_so_ && !harness_late(await_since_)) { \
			harness_pump(h_);                           \
			await_so_ = (condition_);                   \
		}                                                   \
		if (!await_so_)                                     \
			FAIL_LATE(#condition_);                     \
	} while (0)

/* Until READY or STREAMING; the test fails with the reason if it fails. */
void harness_ready(struct harness *h);
void harness_start(struct harness *h, enum wp_slot_checkpoint slot_checkpoint);
/* Until FAILED. */
const struct wp_source_failure *harness_failure(struct harness *h);
/* Takes one frame, waiting for it. WP_IO: none will come. */
enum wp_rc harness_next(struct harness *h, struct wp_frame *ret);
/* Until a frame whose message begins with `kind`, e.g. 'I'. */
void harness_await_message(struct harness *h, char kind, struct wp_frame *ret);
void harness_confirm(struct harness *h, wp_lsn flush);

void harness_server(const char *command, const char *mode);
void harness_ask_to_stop(struct harness *h);
void harness_kill_server(struct harness *h);
void harness_start_server(struct harness *h);
void harness_hold_slot(struct harness *h);
void harness_release_slot(struct harness *h);

const char *harness_env(const char *name);

#endif

/*
 * Executes the relay on libev: watchers, timers, signals, log lines. It is
 * the one place where source, sink and relay meet.
 */
#ifndef WALPOST_RUN_RUN_H
#define WALPOST_RUN_RUN_H

#include "walpost/base/log_memory.h"
#include "walpost/http/options.h"
#include "walpost/kafka/options.h"
#include "walpost/outbox/options.h"
#include "walpost/postgres/options.h"
#include "walpost/relay/options.h"

/* This is a configuration that was read anew. */
struct wp_run_fresh {
	const struct wp_outboxes *outboxes;
	bool outboxes_changed;
	enum wp_log_level level;
	const char *configuration; /* as in wp_run_options */
	const char *changed;	   /* for people: the keys */
};

/* It is read like this, on SIGHUP. */
struct wp_run_reload {
	/*
	 * Reads it against that in force, NULL: the one that wp_run() began with. Logs what needs a restart, or
	 * (`reload_refused`) why all stays as it is, with NULL. It is the caller's to release.
	 */
	struct wp_run_fresh *(*read)(void *arg, const struct wp_run_fresh *in_force);
	void (*release)(void *arg, struct wp_run_fresh *fresh);
	void *arg;
};

struct wp_run_options {
	const struct wp_postgres_options *postgres;
	const struct wp_outboxes *outboxes;
	const struct wp_kafka_options *kafka;
	const struct wp_relay_options *relay;
	const struct wp_http_options *http;
	struct wp_run_reload reload;
	/* These are for people: what is linked, and `config show`, which holds no secrets. */
	const char *libpq_version;
	const char *librdkafka_version;
	const char *configuration;
};

/* This is main's first act: a SIGHUP waits until wp_run() can take it, and ends nothing. */
void wp_run_hold_hangup(void);
/*
 * Runs until stopped; returns the exit code (0, 1, 2, 3). Logs what it does. SIGHUP: reload; one that
 * comes before is best blocked, and taken then; it is blocked at the end. Does not
 * return but ends the process when an old Kafka client still ends then.
 */
int wp_run(const struct wp_run_options *options);

#endif

/*
 * Executes the relay on libev: watchers, timers, signals, log lines. The one
 * place where source, sink and relay meet.
 */
#ifndef WALPOST_RUN_RUN_H
#define WALPOST_RUN_RUN_H

#include "walpost/http/options.h"
#include "walpost/kafka/options.h"
#include "walpost/outbox/options.h"
#include "walpost/postgres/options.h"
#include "walpost/relay/options.h"

struct wp_run_options {
	const struct wp_postgres_options *postgres;
	const struct wp_outboxes *outboxes;
	const struct wp_kafka_options *kafka;
	const struct wp_relay_options *relay;
	const struct wp_http_options *http;
	/* For people: what is linked, and `config show`, which holds no secrets. */
	const char *libpq_version;
	const char *librdkafka_version;
	const char *configuration;
};

/*
 * Runs until stopped; returns the exit code (0, 1, 2, 3). Logs what it does. Does not
 * return but ends the process when an old Kafka client still ends then.
 */
int wp_run(const struct wp_run_options *options);

#endif

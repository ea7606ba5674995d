/*
 * The whole configuration, by the rooms' own option structs, filled from one
 * table: file (INI), environment WALPOST__SECTION__KEY, --set; later wins.
 *
 * Owns: all strings, the rooms' options point into it.
 */
#ifndef WALPOST_CONFIG_CONFIG_H
#define WALPOST_CONFIG_CONFIG_H

#include "walpost/base/log.h"
#include "walpost/kafka/options.h"
#include "walpost/outbox/options.h"
#include "walpost/postgres/options.h"
#include "walpost/relay/options.h"

struct wp_config {
	struct wp_postgres_options postgres;
	struct wp_outbox_options outbox;
	struct wp_kafka_options kafka;
	struct wp_relay_options relay;
	struct wp_log_options log;
	struct wp_config_storage *storage; /* owned: strings, where each value came from */
};

#endif

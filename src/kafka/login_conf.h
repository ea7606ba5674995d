/*
 * Writes into librdkafka's configuration what a login with a token needs (kafka.login, kafka.token_command).
 * Pure.
 *
 * Private to kafka/.
 */
#ifndef WALPOST_SRC_KAFKA_LOGIN_CONF_H
#define WALPOST_SRC_KAFKA_LOGIN_CONF_H

#include <librdkafka/rdkafka.h>

#include "walpost/kafka/options.h"
#include "walpost/base/error.h"

/* Is this property ours, and not to be given to librdkafka, which would log in itself? */
bool wp_login_conf_owns(const struct wp_kafka_options *options, const char *name);
/*
 * Sets SASL/OAUTHBEARER, over TLS where nothing else is said. To be called after the user's properties are
 * set. Returns WP_CONFIG with the error when they ask for another mechanism, or lack what kafka.login = oidc
 * needs.
 */
enum wp_rc wp_login_conf_apply(const struct wp_kafka_options *options, rd_kafka_conf_t *conf,
			       struct wp_error *error) WP_MUST_CHECK;

#endif

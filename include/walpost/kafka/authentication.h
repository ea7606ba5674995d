/*
 * Does an error say that Kafka does not let us in, and what is to be corrected
 * then? Pure. `text` is librdkafka's sentence.
 */
#ifndef WALPOST_KAFKA_AUTHENTICATION_H
#define WALPOST_KAFKA_AUTHENTICATION_H

#include <stdbool.h>

#include <librdkafka/rdkafka.h>

#include "walpost/base/error.h"

/* User or password, or their mechanism: they do not become right by waiting. */
bool wp_authentication_is_login(rd_kafka_resp_err_t code);

/*
 * TLS failed. With TLS 1.3 a broker refuses our certificate after the handshake:
 * to librdkafka that is a lost connection, only its sentence tells.
 */
bool wp_authentication_is_tls(rd_kafka_resp_err_t code, const char *text);

/*
 * The broker hung up while TLS was being set up. A listener that speaks no TLS does
 * so, and so does one that is stopping, or a proxy whose broker is not there yet: it
 * may pass, so it is not `wp_authentication_is_tls`.
 */
bool wp_authentication_hung_up(const char *text);

/* Goes behind the text of one that hung up. */
#define WP_HUNG_UP_CURE                                                                     \
	"; if this persists, that listener does not use TLS: correct security.protocol or " \
	"bootstrap.servers in [kafka]"

/* `version` is rd_kafka_version(). */
void wp_authentication_cure(rd_kafka_resp_err_t code, const char *text, int version,
			    struct wp_error *ret);

#endif

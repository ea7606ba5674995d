/*
 * What does a librdkafka error code call for; does it say that Kafka does not let us in, and what is to be
 * corrected then? `text` is librdkafka's sentence. Pure.
 */
#ifndef WALPOST_KAFKA_REACTION_H
#define WALPOST_KAFKA_REACTION_H

#include <stdbool.h>

#include <librdkafka/rdkafka.h>

#include "walpost/base/error.h"

/* Is for a delivery report with this error. Codes that are not in the table call for WP_REACT_REWIND. */
enum wp_reaction wp_kafka_reaction(rd_kafka_resp_err_t code);
/* Is it in the closed list of codes that one event alone can cause? */
bool wp_kafka_is_event_level(rd_kafka_resp_err_t code);
/* Says what to change on the topic for such a code; NULL when nothing is known. The text is constant. */
const char *wp_kafka_cure(rd_kafka_resp_err_t code);

/* Is it about user or password, or their mechanism? They do not become right by waiting. */
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
/* Has the client got no token, and asked no broker? */
bool wp_authentication_lacks_token(const char *text);

/* This goes behind the text of one that hung up. */
#define WP_HUNG_UP_CURE                                                                     \
	"; if this persists, that listener does not use TLS: correct security.protocol or " \
	"bootstrap.servers in [kafka]"

/*
 * `version` is rd_kafka_version(). With a login of ours (`by_token`) it is the token that was refused:
 * the broker's sentence need not say so ("Access denied", {"status":"invalid_token"}).
 */
void wp_authentication_cure(rd_kafka_resp_err_t code, const char *text, int version, bool by_token,
			    struct wp_error *ret);

#endif

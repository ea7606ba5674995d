/*
 * Gives every client of ours the tokens of SASL/OAUTHBEARER. librdkafka asks for one at first, and
 * when 80 % of a lifetime is over; it asks on a thread of its own (rd_kafka_sasl_background_callbacks_enable(3)),
 * so that the fetch, which blocks, holds nothing else up. This is the one place where a thread of
 * librdkafka's runs code of ours; it touches the login alone.
 *
 * `options` are borrowed for the client's life.
 */
#ifndef WALPOST_KAFKA_TOKEN_H
#define WALPOST_KAFKA_TOKEN_H

#include <librdkafka/rdkafka.h>

#include "walpost/kafka/options.h"
#include "walpost/login/token.h"

/* To be called before rd_kafka_new(), and after it. They do nothing where no login is wanted. */
void wp_kafka_token_prepare(rd_kafka_conf_t *conf, const struct wp_kafka_options *options);
void wp_kafka_token_begin(rd_kafka_t *rk, const struct wp_kafka_options *options);
/* The token is used at the next connection. Returns false when librdkafka does not take it. */
bool wp_kafka_token_hand_over(rd_kafka_t *rk, const struct wp_token *token);

#endif

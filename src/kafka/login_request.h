/*
 * What is asked of whoever gives tokens? Host and port of the first broker, and what OIDC needs, as
 * properties say it now. Pure but for the files behind properties.
 *
 * Private to kafka/.
 */
#ifndef WALPOST_SRC_KAFKA_LOGIN_REQUEST_H
#define WALPOST_SRC_KAFKA_LOGIN_REQUEST_H

#include "walpost/kafka/options.h"
#include "walpost/login/login.h"

/* A request, and the texts that it points to. */
struct wp_kafka_login_request {
	struct wp_login_request request;
	char host[256];
	char port[8];
	char *owned[6]; /* values of properties as they are now */
};

/* After WP_NOMEM it is not to be used. Release it in every case. */
enum wp_rc wp_login_request_of(const struct wp_kafka_options *options,
			       struct wp_kafka_login_request *ret) WP_MUST_CHECK;
void wp_login_request_release(struct wp_kafka_login_request *r);

#endif

/*
 * Does the cluster let this user write with an idempotent producer? Each client asks once
 * (InitProducerId). A user who never had the right is a mistake in the configuration; one who had
 * it may get it back, so another client tries, after longer and longer.
 *
 * Private to kafka_send/. Owns: what it was told. Pure.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_IDEMPOTENCE_H
#define WALPOST_SRC_KAFKA_SEND_IDEMPOTENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/base/error.h"

/* A new client that is not denied by then may be used, or Kafka is slow: then that costs a rewind. */
#define WP_IDEMPOTENCE_TRIAL_MS 2000

struct wp_idempotence {
	bool was_granted; /* in this process: something was confirmed */
	bool is_denied;
	unsigned denials; /* in a row */
	struct wp_error error;
};

/* A record was confirmed. */
void wp_idempotence_granted(struct wp_idempotence *i);
/* Says in how many ms the next client is to try; 0 when it was never granted, so that it is denied for good. */
int64_t wp_idempotence_denied(struct wp_idempotence *i, const char *principal, const char *text);

#endif

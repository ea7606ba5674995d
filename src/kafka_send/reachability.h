/*
 * Does the cluster answer, as far as is known, and is it to be asked whether it does? One broker's
 * broken connection makes the cluster suspect: it is asked at once, and only when that is not
 * answered either is it an outage. Before the first contact a login or TLS that fails is a mistake
 * in the configuration.
 *
 * Private to kafka_send/. Owns: what it was told. Pure.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_REACHABILITY_H
#define WALPOST_SRC_KAFKA_SEND_REACHABILITY_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "walpost/base/error.h"

struct wp_reachability {
	bool is_reachable; /* the last that was heard was good */
	bool was_reached;  /* in this process */
	int64_t heard_at_ms;
	int64_t answered_at_ms;	      /* heard_at_ms is also when the silence began */
	int64_t probed_at_ms;	      /* a probe is out; INT64_MAX: none */
	int64_t probe_at_ms;	      /* not before */
	bool is_suspect;	      /* a broker's connection broke: probe at once */
	bool has_missed;	      /* while suspect: the next unanswered question is an outage */
	bool is_throttled;	      /* silence is as agreed */
	bool is_back;		      /* an outage is over: how long do answers take now? */
	int64_t tls_failing_since_ms; /* before the first contact; -1: it is not */
	struct wp_error tls_failure;
	struct wp_error last_error; /* since something was heard; "" none */
	struct wp_error outage;	    /* while not reachable */
};

void wp_reachability_init(struct wp_reachability *r);
/* A client was opened, which has asked nobody yet. */
void wp_reachability_opened(struct wp_reachability *r, int64_t now_ms);
/* Something is in flight again: the silence that calls for a probe begins. */
void wp_reachability_sent(struct wp_reachability *r, int64_t now_ms);
/* A broker has answered. */
void wp_reachability_heard(struct wp_reachability *r, int64_t now_ms);
/* A question was not answered; `text` says why. */
void wp_reachability_unheard(struct wp_reachability *r, const char *text);
/* Takes an error of librdkafka's own. Returns true when the configuration is wrong, as no broker was ever reached. */
bool wp_reachability_error(struct wp_reachability *r, rd_kafka_resp_err_t code, const char *text,
			   int64_t now_ms) WP_MUST_CHECK;
/* Says when TLS has failed for so long that it is wrong (`tls_failure`); INT64_MAX when it does not fail. */
int64_t wp_reachability_tls_wrong_at(const struct wp_reachability *r);
/* Says when the next probe is due, which waits `patience_ms` for an answer; INT64_MAX when there is none. */
int64_t wp_reachability_probe_due(const struct wp_reachability *r, bool is_in_flight,
				  int32_t patience_ms);
void wp_reachability_probed(struct wp_reachability *r, int64_t now_ms, int32_t patience_ms);

#endif

/*
 * Credential reload: what is to be done when files behind [kafka] have changed? User and password
 * of SASL are handed to the clients that are open; for all else clients must be opened anew. First
 * another one tries, beside them, whether it is made of the new files and let in: until then the
 * old ones stay. Then nothing more is taken until all that is in flight is confirmed, and the
 * clients are reopened. A token that was refused is tried likewise, and the one that is let in is handed
 * to the clients that are open. If the old ones are refused meanwhile, so that nothing is confirmed any
 * more, they are given up as broken ones are: the relay streams again from what is confirmed.
 *
 * Private to kafka_send/. Owns: what is known of the files, and the trial on the worker. Borrows:
 * options, clients.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_CREDENTIALS_H
#define WALPOST_SRC_KAFKA_SEND_CREDENTIALS_H

#include "clients.h"
#include "walpost/kafka/secrets.h"

struct wp_credentials {
	struct wp_clients *clients;
	struct wp_secrets secrets;
	bool was_open;	 /* a client was, in this process */
	bool is_refused; /* a broker did not let a client in */
	bool warned;	 /* that the files are of no use; once until they change */
	int64_t check_at_ms;
	int64_t try_at_ms; /* not before: they were tried a moment ago */
	bool is_trying;	   /* on the worker: do they make a client that is let in? */
	uint64_t trial;
	enum wp_rc trial_rc; /* of the last: WP_AGAIN is none, or one that was judged */
	struct wp_error trial_error;
	bool is_draining; /* it was: reopened once nothing is in flight */
	int64_t draining_since_ms;
};

enum wp_credentials_step {
	WP_CREDENTIALS_STAY,
	WP_CREDENTIALS_REOPEN,	/* once all that is in flight is confirmed */
	WP_CREDENTIALS_GIVE_UP, /* nothing of that is confirmed any more */
};

void wp_credentials_init(struct wp_credentials *c, struct wp_clients *clients);
/* Ends the trial. */
void wp_credentials_release(struct wp_credentials *c);
/* To be called around the opening of a client: before it reads the files, and when it is open. */
void wp_credentials_opening(struct wp_credentials *c);
void wp_credentials_opened(struct wp_credentials *c, int64_t now_ms);
/* The files make no client. It is told once until they change. */
void wp_credentials_warn(struct wp_credentials *c, const struct wp_error *error);
/* A broker did not let us in, perhaps because of files that were replaced; or one answered. */
void wp_credentials_refused(struct wp_credentials *c, int64_t now_ms);
void wp_credentials_accepted(struct wp_credentials *c);
/* To be called while RUNNING. `reported_at_ms` is the time of the last delivery report. */
enum wp_credentials_step wp_credentials_step(struct wp_credentials *c, bool is_reachable,
					     bool is_in_flight, int64_t reported_at_ms,
					     int64_t now_ms) WP_MUST_CHECK;
int64_t wp_credentials_due(const struct wp_credentials *c, bool is_reachable,
			   int64_t reported_at_ms);

#endif

/* Asks one question to a schema registry. Blocks, so it is for the worker, and for commands. */
#ifndef WALPOST_SRC_REGISTRY_QUESTION_H
#define WALPOST_SRC_REGISTRY_QUESTION_H

#include "walpost/http_client/request.h"
#include "walpost/outbox/subjects.h"

/* A question's texts are its own: it may be asked while what it came from is gone. */
struct wp_registry_question {
	struct wp_registry_question *next;
	struct wp_subject *subject; /* borrowed; NULL once nobody wants the answer */
	int64_t refresh_ms;
	bool is_first; /* at the start: a refusal ends it */

	char *url;
	char *name; /* "": does it let us in? */
	uint32_t version;
	char *login; /* the header Authorization; NULL: none */
	char *ca_file;

	enum wp_rc rc; /* the answer: WP_OK, WP_CONFIG, WP_IO, WP_NOMEM */
	struct wp_schema schema;
	struct wp_error error;
};

/* Returns NULL when out of memory. */
struct wp_registry_question *wp_registry_question_new(struct wp_subject *subject,
						      const struct wp_registry_options *options);
void wp_registry_question_free(struct wp_registry_question *q);
/* Fills in the answer. */
void wp_registry_question_ask(struct wp_registry_question *q,
			      struct wp_http_connection *connection);

#endif

/*
 * Asks a schema registry for the ids of subjects, by the REST API that Confluent Schema Registry, Karapace,
 * Redpanda and Apicurio (as "ccompat") have alike:
 *
 *   GET /subjects/SUBJECT/versions/latest    or /versions/NUMBER
 *   200: {"subject": "...", "version": 1, "id": 1, "schemaType": "PROTOBUF", "schema": "..."}
 *   404: {"error_code": 40401, ...}: no such subject; 40402: no such version
 *
 * Without a schemaType it is Avro. Source: Confluent's documentation, "Schema Registry API Reference"
 * (docs.confluent.io/platform/current/schema-registry/develop/api.html).
 *
 * wp_registry asks on a worker of its own, for a relay: what is known serves on while it asks, and
 * when it gets no answer. wp_registry_session asks at once and blocks, for commands.
 *
 * Owns: the subjects, the worker. Bounded: WP_SUBJECTS_MAX; an answer of 8 MiB; 10 s for each.
 */
#ifndef WALPOST_REGISTRY_REGISTRY_H
#define WALPOST_REGISTRY_REGISTRY_H

#include "walpost/base/wake.h"
#include "walpost/http_client/request.h"
#include "walpost/outbox/subjects.h"

struct ev_loop;
struct wp_registry;

/* This can be told of the registry. */
struct wp_registry_figures {
	bool is_used;	   /* it was asked something */
	bool is_reachable; /* it answered last */
	uint64_t subjects; /* whose ids are known */
	uint64_t answers;
	uint64_t failures; /* no answer, or a refusal */
};

/* `wake` is called when an answer has come, or what waits is to be tried again. Returns NULL when out of memory. */
struct wp_registry *wp_registry_new(struct ev_loop *loop, struct wp_wake wake) WP_MUST_CHECK;
/* Does not wait. Returns false when a thread still waits for an answer. NULL is fine. */
bool wp_registry_free(struct wp_registry *r);
struct wp_subjects *wp_registry_subjects(struct wp_registry *r);
/*
 * Called at the start: asks for the subjects that are known beforehand or, where there are none, whether the
 * registry lets us in.
 */
void wp_registry_expect(struct wp_registry *r, const struct wp_outboxes *outboxes);
/* Returns NULL, or why the registry said no to one of these questions, asked for the first time. */
const struct wp_error *wp_registry_refusal(const struct wp_registry *r);
void wp_registry_figures(const struct wp_registry *r, struct wp_registry_figures *ret);

struct wp_registry_session {
	struct wp_subjects subjects;
	struct wp_http_connection connection;
};

void wp_registry_session_init(struct wp_registry_session *s);
void wp_registry_session_release(struct wp_registry_session *s);

#endif

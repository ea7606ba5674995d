/*
 * Which schema has a subject of a schema registry? What was learned of each, by the registry's URL,
 * the subject and the version that is wanted (outbox.schema.registry).
 *
 * A subject that was known once stays known: while it is asked for again, and when that fails.
 * What precedes a payload in Confluent's wire format:
 *
 *   Byte1 0  Int32 id  [ Protobuf only: the index of the message within its file ]
 *
 * Source: Confluent's documentation, "Formats, Serializers, and Deserializers: Wire format"
 * (docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html).
 *
 * Owns: the subjects; a pointer to one lives as long as they all. Calls: `ask`. Pure: who asks says
 * what time it is. Bounded: WP_SUBJECTS_MAX.
 */
#ifndef WALPOST_OUTBOX_SUBJECTS_H
#define WALPOST_OUTBOX_SUBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/base/error.h"
#include "walpost/base/span.h"
#include "walpost/outbox/options.h"

enum { WP_SUBJECTS_MAX = 100000, WP_SUBJECT_SIZE_MAX = 1024 };

enum wp_schema_kind { WP_SCHEMA_AVRO, WP_SCHEMA_PROTOBUF, WP_SCHEMA_JSON };

/* A registry says this of a version of a subject. */
struct wp_schema {
	uint32_t id;
	uint32_t version;
	enum wp_schema_kind kind;
};

struct wp_subject {
	struct wp_subject *next; /* of those with this hash */
	uint64_t hash;
	const char *url;  /* of the registry; as `name` it stands behind the struct */
	const char *name; /* "": the registry itself: does it answer, and let us in? */
	uint32_t version; /* that is wanted; 0: the latest */
	bool is_known;	  /* then: */
	struct wp_schema schema;
	bool is_asked;	   /* an answer is awaited */
	int64_t due_ms;	   /* when to ask again; INT64_MAX: never */
	unsigned failures; /* since the last good answer */
	bool is_refused;   /* the last answer was no; else, with failures, none came */
	char *trouble;	   /* owned; why it is not known. NULL: it is, or is being asked */
};

/*
 * Asks the registry. WP_AGAIN: wp_subjects_answer() or wp_subjects_fail() will tell; both may be
 * called within, and so are by who answers at once. WP_NOMEM.
 */
typedef enum wp_rc (*wp_subjects_ask)(void *arg, struct wp_subject *subject,
				      const struct wp_registry_options *options);

/* Is a subject that is not known waited for, or is that a failure? */
enum wp_subjects_patience { WP_SUBJECTS_WAIT, WP_SUBJECTS_FAIL };

struct wp_subjects {
	wp_subjects_ask ask;
	void *arg;
	enum wp_subjects_patience patience;
	int64_t now_ms; /* monotonic; who asks keeps it */
	size_t count;
	size_t unknown;		     /* of these */
	size_t known;		     /* without that which has no name */
	struct wp_subject **buckets; /* owned */
	size_t bucket_count;
};

void wp_subjects_init(struct wp_subjects *s, enum wp_subjects_patience patience,
		      wp_subjects_ask ask, void *arg);
void wp_subjects_release(struct wp_subjects *s);
/*
 * WP_OK: `ret` is known. Else with the error: WP_AGAIN: not yet, and is waited for; `ret` says why.
 * WP_CONFIG: the registry said no and nobody waits; it is one subject more than WP_SUBJECTS_MAX. WP_IO: it
 * did not answer and nobody waits. WP_NOMEM.
 */
enum wp_rc wp_subjects_find(struct wp_subjects *s, const struct wp_registry_options *options,
			    struct wp_span name, uint32_t version, const struct wp_subject **ret,
			    struct wp_error *error) WP_MUST_CHECK;
/* `refresh_ms`: when the latest is asked for again. */
void wp_subjects_answer(struct wp_subjects *s, struct wp_subject *subject,
			const struct wp_schema *schema, int64_t refresh_ms);
/* WP_CONFIG: the registry said no; WP_IO: it did not answer. Returns true the first time in a row. */
bool wp_subjects_fail(struct wp_subjects *s, struct wp_subject *subject, enum wp_rc rc,
		      const struct wp_error *why);

#endif

/*
 * A finding is what a look at Postgres or at Kafka brings to light: one precondition, whether it holds, what
 * that means, and the cure, ready to paste. `walpost check` prints a list of them.
 *
 * Owns: its texts. Pure. Bounded: WP_FINDINGS_MAX in a list.
 */
#ifndef WALPOST_BASE_FINDING_H
#define WALPOST_BASE_FINDING_H

#include <stddef.h>

#include "walpost/base/error.h"

#define WP_FINDINGS_MAX 16384

enum wp_finding_level { WP_FINDING_OK, WP_FINDING_WARN, WP_FINDING_FAIL };

/* A finding belongs to one of these: what a reader looks after together. */
enum wp_finding_room {
	WP_ROOM_CONNECTION,
	WP_ROOM_SERVER,
	WP_ROOM_OUTBOX,
	WP_ROOM_PUBLICATION,
	WP_ROOM_SLOT,
	WP_ROOM_KAFKA,
	WP_ROOM_TOPIC,
	WP_ROOM_COUNT
};

struct wp_finding {
	enum wp_finding_level level;
	enum wp_finding_room room;
	size_t table;		   /* which of those that are wanted; 0 also when none is meant */
	const char *name;	   /* constant, e.g. "wal_level", "slot", "publication_columns" */
	char about[256];	   /* the table or topic that it is about; "": neither */
	char what[2048];	   /* what is so, and what it means */
	char cure[2048];	   /* SQL, command or setting to paste; "" when all is well */
	enum wp_reaction reaction; /* what a failure calls for; WP_REACT_NONE on others */
};

/* All zero means that there are none, and nothing to release. A count of 0 begins anew with the memory
 * that is there. */
struct wp_findings {
	struct wp_finding *items; /* owned */
	size_t count;
	size_t capacity;
	struct wp_finding no_memory; /* a failure, once there was none for another */
};

/*
 * Adds one more, with texts cut where they are too long; more than WP_FINDINGS_MAX are our mistake. `name` is
 * a constant. The reaction of a failure is WP_REACT_STOP_CONFIG, until it is changed. Valid until the next.
 * Without memory it is `no_memory`, which says so and is a failure that passes.
 */
struct wp_finding *wp_findings_add(struct wp_findings *f, enum wp_finding_level level,
				   enum wp_finding_room room, const char *name, const char *what,
				   const char *cure);
void wp_findings_release(struct wp_findings *f);
/*
 * Says what and cure on one line of less than `size` bytes (more than 300). A cure that has no room is not
 * cut, for it is pasted: then it is said where it can be read.
 */
void wp_finding_say(const struct wp_finding *f, char *text, size_t size);
/* Returns the first failure, or NULL. */
const struct wp_finding *wp_findings_failure(const struct wp_findings *f);
/* The names "ok", "warn", "fail" are a contract with readers of `check --json`, and so are the rooms' names. */
const char *wp_finding_level_name(enum wp_finding_level level);
const char *wp_finding_room_name(enum wp_finding_room room);

#endif

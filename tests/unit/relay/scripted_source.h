/*
 * A source that does what a test says: the test writes the view, queues frames and reads
 * what it was asked for. Each operation moves the state as source.h says, no further.
 */
#ifndef WALPOST_TESTS_SCRIPTED_SOURCE_H
#define WALPOST_TESTS_SCRIPTED_SOURCE_H

#include "support/wire_writer.h"
#include "walpost/source/source.h"

enum { FRAME_ROOM = 512, FRAMES_MAX = 4096 };

struct scripted_source {
	struct wp_source base;
	struct wp_source_view view;
	unsigned connects;
	const struct wp_requirements *wanted; /* as it was told last */
	unsigned refreshes;
	unsigned starts;
	unsigned closes;
	unsigned finishes;
	unsigned parts;
	enum wp_source_state part_answer;
	char topics[WP_SLOT_CHECKPOINT_TOPICS_SIZE]; /* written down last */
	char trouble[WP_SLOT_CHECKPOINT_TROUBLE_SIZE];
	int64_t trouble_ms;
	unsigned probes;
	unsigned questions;
	unsigned watches;
	unsigned writes;
	wp_lsn written;
	wp_lsn start_at;
	enum wp_transfer transfer; /* likewise */
	enum wp_slot_checkpoint slot_checkpoint;
	bool reading;
	unsigned statuses;
	struct wp_status status; /* the last */
	enum wp_rc status_answer;
	struct {
		uint8_t bytes[FRAME_ROOM];
		size_t size;
	} frames[FRAMES_MAX];
	size_t frame_first;
	size_t frame_count;
	struct wp_span huge;	 /* one more, after those; none: of size 0 */
	enum wp_rc empty_answer; /* of next() when no frame is queued */
};

/* CLOSED; the slot stands at `slot`, nobody holds it. */
void scripted_source_init(struct scripted_source *s, wp_lsn slot);
/* Queues one frame: write into it, then call scripted_source_send(). */
struct wire_writer scripted_source_frame(struct scripted_source *s);
void scripted_source_send(struct scripted_source *s, const struct wire_writer *w);
void scripted_source_fail(struct scripted_source *s, enum wp_reaction reaction,
			  const char *sqlstate);

#endif

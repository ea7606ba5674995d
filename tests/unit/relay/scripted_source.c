#include "scripted_source.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct scripted_source *self(struct wp_source *s)
{
	return (struct scripted_source *)s;
}

static void op_connect(struct wp_source *base)
{
	struct scripted_source *s = self(base);
	enum wp_source_state at = s->view.state;

	assert(at == WP_SOURCE_CLOSED || at == WP_SOURCE_FAILED || at == WP_SOURCE_FINISHED);
	s->connects++;
	s->view.state = WP_SOURCE_CONNECTING;
}

static void op_want(struct wp_source *base, const struct wp_requirements *wanted)
{
	self(base)->wanted = wanted;
}

static void op_refresh(struct wp_source *base)
{
	struct scripted_source *s = self(base);

	assert(s->view.state == WP_SOURCE_READY);
	s->refreshes++;
	s->view.state = WP_SOURCE_REFRESHING;
}

static void op_start(struct wp_source *base, wp_lsn at, enum wp_transfer transfer,
		     enum wp_slot_checkpoint slot_checkpoint)
{
	struct scripted_source *s = self(base);

	assert(s->view.state == WP_SOURCE_READY);
	s->starts++;
	s->start_at = at;
	s->transfer = transfer;
	s->slot_checkpoint = slot_checkpoint;
	s->view.state = WP_SOURCE_STARTING;
}

static enum wp_rc op_next(struct wp_source *base, struct wp_span *ret)
{
	struct scripted_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING && s->reading);
	if (s->frame_count == 0 && s->huge.size > 0) {
		*ret = s->huge;
		s->huge = (struct wp_span){ 0 };
		return WP_OK;
	}
	if (s->frame_count == 0)
		return s->empty_answer;
	size_t at = s->frame_first;
	s->frame_first = (s->frame_first + 1) % FRAMES_MAX;
	s->frame_count--;
	*ret = (struct wp_span){ .data = s->frames[at].bytes, .size = s->frames[at].size };
	return WP_OK;
}

static void op_reading(struct wp_source *base, enum wp_reading reading)
{
	struct scripted_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING);
	s->reading = reading == WP_READING_ON;
	if (reading == WP_READING_LAST_WORD)
		scripted_source_fail(s, WP_REACT_RECONNECT, "");
}

static enum wp_rc op_status(struct wp_source *base, const struct wp_status *status)
{
	struct scripted_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING);
	if (s->status_answer != WP_OK) {
		scripted_source_fail(s, WP_REACT_RECONNECT, "");
		return s->status_answer;
	}
	s->statuses++;
	s->status = *status;
	return WP_OK;
}

static void op_finish(struct wp_source *base, const char *topics)
{
	struct scripted_source *s = self(base);

	(void)snprintf(s->topics, sizeof(s->topics), "%s", topics);
	assert(s->view.state == WP_SOURCE_STREAMING);
	s->finishes++;
	s->view.state = WP_SOURCE_FINISHING;
}

/* Closed at once: nothing to write; or what the test wants. */
static void op_part(struct wp_source *base, const char *topics)
{
	struct scripted_source *s = self(base);

	(void)snprintf(s->topics, sizeof(s->topics), "%s", topics);
	s->parts++;
	s->closes++;
	s->frame_count = 0;
	s->view.state = s->part_answer;
}

static void op_close(struct wp_source *base)
{
	struct scripted_source *s = self(base);

	s->closes++;
	s->frame_count = 0;
	s->reading = true;
	s->view.slot_state = (struct wp_slot_state){ 0 };
	s->view.partitions_asked = WP_ASKED_NOTHING;
	s->view.state = WP_SOURCE_CLOSED;
}

static void op_probe(struct wp_source *base)
{
	struct scripted_source *s = self(base);

	s->probes++;
	s->view.probe = WP_PROBE_RUNNING;
}

static void op_ask_partitions(struct wp_source *base)
{
	struct scripted_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING && s->view.partitions_asked != WP_ASKED_OPEN);
	s->questions++;
	s->view.partitions_asked = WP_ASKED_OPEN;
}

static void op_watch(struct wp_source *base)
{
	struct scripted_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING && !s->view.slot_state.asking);
	s->watches++;
	s->view.slot_state.asking = true;
}

static void op_write_down(struct wp_source *base, wp_lsn confirmed, const char *topics)
{
	struct scripted_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING);
	s->writes++;
	s->written = confirmed;
	(void)snprintf(s->topics, sizeof(s->topics), "%s", topics);
}

static void op_trouble(struct wp_source *base, const char *what, int64_t for_ms)
{
	struct scripted_source *s = self(base);

	(void)snprintf(s->trouble, sizeof(s->trouble), "%s", what);
	s->trouble_ms = for_ms;
}

static const struct wp_source_view *op_view(struct wp_source *base)
{
	return &self(base)->view;
}

static const struct wp_source_ops OPS = {
	.connect = op_connect,
	.want = op_want,
	.refresh = op_refresh,
	.start = op_start,
	.next = op_next,
	.reading = op_reading,
	.status = op_status,
	.finish = op_finish,
	.part = op_part,
	.close = op_close,
	.probe = op_probe,
	.ask_partitions = op_ask_partitions,
	.watch = op_watch,
	.write_down = op_write_down,
	.trouble = op_trouble,
	.view = op_view,
};

void scripted_source_init(struct scripted_source *s, wp_lsn slot)
{
	memset(s, 0, sizeof(*s)); /* large: no literal of it on the stack */
	s->base.ops = &OPS;
	s->reading = true;
	s->empty_answer = WP_AGAIN;
	s->view.facts = (struct wp_source_facts){
		.system_id = 77,
		.encoding = "UTF8",
		.timelines = { .current = 1 },
		.server_lsn = 1 << 20, /* beyond all that a test commits */
		.slot_confirmed = slot,
		.wal_sender_timeout_ms = 60 * 1000,
		.slot_checkpoint_readable = true,
		.slot_checkpoint_writable = true,
		.slot_checkpoint_timeline = 1,
		.slot_checkpoint_transactions = -1,
		.slot_transactions = -1,
	};
}

struct wire_writer scripted_source_frame(struct scripted_source *s)
{
	struct wire_writer w;

	assert(s->frame_count < FRAMES_MAX - 1); /* the one held is still in its place */
	wire_init(&w, s->frames[(s->frame_first + s->frame_count) % FRAMES_MAX].bytes, FRAME_ROOM);
	return w;
}

void scripted_source_send(struct scripted_source *s, const struct wire_writer *w)
{
	s->frames[(s->frame_first + s->frame_count++) % FRAMES_MAX].size = w->size;
}

void scripted_source_fail(struct scripted_source *s, enum wp_reaction reaction,
			  const char *sqlstate)
{
	s->view.failure = (struct wp_source_failure){
		.reaction = reaction,
		.error = { .text = "as scripted" },
	};
	(void)snprintf(s->view.failure.sqlstate, sizeof(s->view.failure.sqlstate), "%s", sqlstate);
	s->view.state = WP_SOURCE_FAILED;
}

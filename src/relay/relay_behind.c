#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relay_internal.h"
#include "walpost/outbox/shape.h"
#include "walpost/relay/behind.h"

/* -- words ---------------------------------------------------------------- */

static const char *order_of_new(const struct wp_position *p, const struct wp_timelines *t)
{
	return p->timeline >= t->current
		       ? "New events would get positions below it, and consumers that drop by "
			 "walpost-position would drop them"
		       : "New events sort above it";
}

static void say_what_happened(enum wp_behind behind, const struct wp_position *p,
			      const struct wp_source_facts *f, wp_lsn end, char *text, size_t size)
{
	char commit[WP_LSN_TEXT_SIZE];
	char ends_at[WP_LSN_TEXT_SIZE];
	uint32_t current = f->timelines.current;

	(void)wp_lsn_text(p->commit_lsn, commit);
	(void)wp_lsn_text(end, ends_at);
	switch (behind) {
	case WP_BEHIND_PROMOTED:
		(void)snprintf(text, size,
			       "it was committed at %s of timeline %" PRIu32
			       ", which this server, now on timeline %" PRIu32
			       ", left at %s: promoted before it had that transaction",
			       commit, p->timeline, current, ends_at);
		break;
	case WP_BEHIND_NEWER:
		(void)snprintf(text, size,
			       "it was committed at %s of timeline %" PRIu32
			       ", which is not in the past of this server, on timeline %" PRIu32
			       ": an older primary, or a copy restored from before",
			       commit, p->timeline, current);
		break;
	default:
		(void)snprintf(text, size,
			       "it was committed at %s of timeline %" PRIu32
			       ", where the log of this server ends at %s: restored from before, "
			       "or damaged",
			       commit, p->timeline, ends_at);
		break;
	}
}

/* One for all outboxes: whose events they are. */
static const char *source_of(const struct wp_relay *r)
{
	return r->setup.task.outboxes->items[0].headers_source;
}

static bool all_send_position(const struct wp_relay *r)
{
	for (size_t i = 0; i < r->setup.task.outboxes->count; i++) {
		if (!wp_shape_sends_position(&r->setup.task.outboxes->items[i]))
			return false;
	}
	return true;
}

/* `in_kafka`: it was found there, and not sent by this process. */
static void halt_behind(struct wp_relay *r, enum wp_behind behind, const struct wp_position *p,
			wp_lsn end, const char *where, bool in_kafka, struct wp_now now)
{
	const struct wp_source_facts *f = &wp_relay_source(r)->facts;
	char position[WP_POSITION_TEXT_SIZE];
	char happened[400];
	const char *other_writer =
		in_kafka && source_of(r)[0] == '\0'
			? ". If another database sends to that topic, the event may be its: then "
			  "give each a name in outbox.headers.source instead"
			: "";
	struct wp_error error;

	say_what_happened(behind, p, f, end, happened, sizeof(happened));
	(void)wp_error_set(
		&error, WP_CONFIG,
		"the database is behind what was delivered from it. An event with "
		"walpost-position %s %s; %s. So consumers have events that this database "
		"does not have. %s. Compare the outbox with the topics; to go on from this "
		"server all the same, set relay.epoch = %u and start again%s",
		wp_position_text(p, position), where, happened, order_of_new(p, &f->timelines),
		(unsigned)p->epoch + 1, other_writer);
	wp_relay_halt(r, WP_EXIT_HUMAN, "server_behind", &error, now);
}

static enum wp_behind judge(const struct wp_relay *r, const struct wp_position *p, wp_lsn *ret_end)
{
	const struct wp_source_facts *f = &wp_relay_source(r)->facts;

	return wp_behind_judge(p, &f->timelines, f->server_lsn, ret_end);
}

/* -- asking --------------------------------------------------------------- */

/* NULL: nothing does. Not at each start: it costs a fetch from each partition. */
static const char *what_calls_for_it(const struct wp_relay *r, const struct wp_source_facts *f)
{
	uint32_t timeline = r->started ? r->timeline : f->checkpoint_timeline;
	wp_lsn known = r->started ? wp_ledger_confirmed_lsn(&r->ledger) : f->checkpoint_taken_at;

	if (!r->started && (!f->checkpoint_readable || f->checkpoint_owner[0] == '\0'))
		return NULL; /* nothing tells what this database delivered, and where to */
	if (timeline != f->timelines.current)
		return "the server is on another timeline than when the slot was last had";
	if (f->server_lsn < known)
		return "the server's log ends before where the slot stood already";
	if (!r->started && f->checkpoint_transactions < 0) /* it may be an older copy of itself */
		return "the server was restarted, or walpost slot skip moved the slot, since the "
		       "slot was last had";
	return NULL;
}

static void note_unknown(struct wp_relay *r, enum wp_note_level level, const char *event,
			 const char *what)
{
	(void)wp_error_set(&wp_relay_note(r, level, event)->error, WP_OK,
			   "whether the database is behind what was delivered from it cannot be "
			   "told: %s",
			   what);
}

/* Asked in this state of the relay: what was asked before a reconnect may have aged. */
static void ask(struct wp_relay *r, const char *reason)
{
	const struct wp_tail_question question = {
		.topics = r->topics,
		.source = source_of(r),
		.epoch = r->setup.options->epoch,
	};

	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_INFO, "tail_asked")->error, WP_OK, "%s",
			   reason);
	r->tail_asked = true;
	r->tail_looked = false;
	r->tail_moves = r->moves;
	r->setup.sink->ops->ask_tail(r->setup.sink, &question);
}

/* -- the answer ----------------------------------------------------------- */

static void halt_for_tail(struct wp_relay *r, enum wp_behind behind, const struct wp_tail *tail,
			  wp_lsn end, struct wp_now now)
{
	char where[WP_TAIL_TOPIC_SIZE + 80];

	(void)snprintf(where, sizeof(where), "is in Kafka (topic %s, partition %" PRId32 ")",
		       tail->topic, tail->partition);
	halt_behind(r, behind, &tail->highest, end, where, true, now);
}

/*
 * The tail was read after the server was asked: meanwhile another relay may have taken
 * the slot and delivered more. What the server says now decides.
 */
static bool judge_tail(struct wp_relay *r, const struct wp_tail *tail, struct wp_now now)
{
	enum wp_behind behind = WP_BEHIND_NOT;
	wp_lsn end = 0;

	if (tail->found)
		behind = judge(r, &tail->highest, &end);
	if (behind != WP_BEHIND_NOT && !r->tail_looked) {
		r->tail_looked = true;
		r->setup.source->ops->look(r->setup.source);
		return false;
	}
	r->tail_asked = false;
	if (behind != WP_BEHIND_NOT) {
		halt_for_tail(r, behind, tail, end, now);
		return false;
	}
	if (tail->error.text[0] != '\0')
		note_unknown(r, WP_NOTE_WARN, "tail_unread", tail->error.text);
	return true;
}

static bool take_answer(struct wp_relay *r, struct wp_now now)
{
	const struct wp_tail *tail = &wp_relay_sink(r)->tail;

	switch (tail->state) {
	case WP_TAIL_NONE:
	case WP_TAIL_ASKING:
		return false;
	case WP_TAIL_UNREACHABLE: /* nothing could be delivered either */
		r->tail_asked = false;
		note_unknown(r, WP_NOTE_WARN, "tail_unread", tail->error.text);
		wp_relay_happen(r, WP_LOST, now);
		return false;
	case WP_TAIL_UNKNOWN:
		r->tail_asked = false;
		note_unknown(r, WP_NOTE_INFO, "tail_unknown", tail->error.text);
		return true;
	case WP_TAIL_KNOWN:
		break;
	}
	return judge_tail(r, tail, now);
}

bool wp_relay_may_stream(struct wp_relay *r, struct wp_now now)
{
	enum wp_behind behind = WP_BEHIND_NOT;
	wp_lsn end = 0;

	if (r->delivered.commit_lsn != 0)
		behind = judge(r, &r->delivered, &end);
	if (behind != WP_BEHIND_NOT) {
		halt_behind(r, behind, &r->delivered, end, "was sent to Kafka by this process",
			    false, now);
		return false;
	}
	/* Not by the routing: topics of that form may be those of other databases. */
	wp_topic_list_merge(&r->topics, wp_relay_source(r)->facts.checkpoint_topics);
	const char *reason = what_calls_for_it(r, &wp_relay_source(r)->facts);
	if (reason == NULL)
		return true;
	if (!all_send_position(r)) {
		note_unknown(r, WP_NOTE_WARN, "tail_unknown",
			     "outbox.headers.standard leaves walpost-position out");
		return true;
	}
	if (r->topics.text[0] == '\0') {
		note_unknown(r, WP_NOTE_WARN, "tail_unknown",
			     "walpost.slot_checkpoint names no topic that took its events");
		return true;
	}
	if (!r->tail_asked || r->tail_moves != r->moves)
		ask(r, reason);
	return take_answer(r, now);
}

void wp_relay_forget_tail(struct wp_relay *r)
{
	r->tail_asked = false;
}

void wp_relay_note_delivered(struct wp_relay *r, const struct wp_position *position)
{
	if (wp_position_compare(position, &r->delivered) > 0)
		r->delivered = *position;
}

/* The dead letters' topic is often that of several databases, whose positions do not compare. */
const char *wp_relay_topics(struct wp_relay *r)
{
	struct wp_topic_list now = { .text = "" };
	const char *dead_letters = r->setup.options->dead_letter_topic;

	if (dead_letters != NULL && dead_letters[0] != '\0')
		wp_topic_list_add(&now, dead_letters, strlen(dead_letters));
	size_t skipped = strlen(now.text);
	r->setup.sink->ops->topics(r->setup.sink, &now);
	wp_topic_list_merge(&r->topics, now.text + skipped);
	return r->topics.text;
}

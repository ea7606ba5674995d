#include <inttypes.h>
#include <stdio.h>

#include "relay_internal.h"
#include "walpost/outbox/shape.h"

/* One for all outboxes: whose events they are. */
static const char *source_of(const struct wp_relay *r)
{
	return r->reload.now.outboxes->items[0].headers_source;
}

static bool all_send_position(const struct wp_relay *r)
{
	for (size_t i = 0; i < r->reload.now.outboxes->count; i++) {
		if (!wp_shape_sends_position(&r->reload.now.outboxes->items[i]))
			return false;
	}
	return true;
}

static void halt(struct wp_relay *r, const struct wp_position *p, const char *where,
		 const char *hint, struct wp_now now)
{
	struct wp_error error;

	wp_tail_check_say_behind(p, &wp_relay_source(r)->facts, where, hint, &error);
	wp_relay_halt(r, WP_EXIT_HUMAN, "server_behind", &error, now);
}

static void halt_for_tail(struct wp_relay *r, const struct wp_tail *tail, struct wp_now now)
{
	char where[WP_TAIL_TOPIC_SIZE + 80];
	const char *other_writer =
		source_of(r)[0] == '\0'
			? ". If another database sends to that topic, the event may come from it: "
			  "then set outbox.headers.source for each instead"
			: "";

	(void)snprintf(where, sizeof(where), "is in Kafka (topic %s, partition %" PRId32 ")",
		       tail->topic, tail->partition);
	halt(r, &tail->highest, where, other_writer, now);
}

static void note_unknown(struct wp_relay *r, enum wp_note_level level, const char *event,
			 const char *what)
{
	(void)wp_error_set(
		&wp_relay_note(r, level, event)->error, WP_OK,
		"cannot determine whether the database is behind the events delivered from it: %s",
		what);
}

static void ask(struct wp_relay *r, const char *reason)
{
	const struct wp_tail_question question = {
		.topics = r->tail.topics,
		.source = source_of(r),
		.epoch = r->setup.options->epoch,
	};

	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_INFO, "tail_asked")->error, WP_OK, "%s",
			   reason);
	r->setup.sink->ops->ask_tail(r->setup.sink, &question);
}

static bool take_answer(struct wp_relay *r, struct wp_now now)
{
	const struct wp_tail *tail = &wp_relay_sink(r)->tail;

	switch (wp_tail_check_step(&r->tail, tail, &wp_relay_source(r)->facts)) {
	case WP_TAIL_GOES_ON:
		return true;
	case WP_TAIL_NOT_KNOWN:
		note_unknown(r, WP_NOTE_INFO, "tail_unknown", tail->error.text);
		return true;
	case WP_TAIL_NOT_READ:
		note_unknown(r, WP_NOTE_WARN, "tail_unread", tail->error.text);
		return true;
	case WP_TAIL_RETRY:
		note_unknown(r, WP_NOTE_WARN, "tail_unread", tail->error.text);
		wp_relay_handle(r, WP_LOST, now);
		break;
	case WP_TAIL_REFRESH:
		r->setup.source->ops->refresh(r->setup.source);
		break;
	case WP_TAIL_IS_BEHIND:
		halt_for_tail(r, tail, now);
		break;
	case WP_TAIL_AWAITED:
		break;
	}
	return false;
}

bool wp_relay_may_stream(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_facts *f = &wp_relay_source(r)->facts;
	const struct wp_tail_known known = {
		.started = r->identity.started,
		.timeline = r->identity.timeline,
		.confirmed_lsn = wp_ledger_confirmed_lsn(&r->ledger),
	};
	const struct wp_position *delivered = &r->tail.delivered;

	if (delivered->commit_lsn != 0 && wp_tail_check_is_behind(delivered, f)) {
		/* Not confirmed, perhaps, and even queued only: what counts is that it may be there. */
		halt(r, delivered, "was sent to Kafka by this process, or queued to be", "", now);
		return false;
	}
	/* Not by the routing: topics of that form may be those of other databases. */
	wp_topic_list_merge(&r->tail.topics, f->slot_checkpoint_topics);
	const char *reason = wp_tail_check_reason(&known, f);
	if (reason == NULL)
		return true;
	if (!all_send_position(r)) {
		note_unknown(r, WP_NOTE_WARN, "tail_unknown",
			     "outbox.headers.standard leaves walpost-position out");
		return true;
	}
	if (r->tail.topics.text[0] == '\0') {
		note_unknown(r, WP_NOTE_WARN, "tail_unknown",
			     "walpost.slot_checkpoint lists no topics of its events");
		return true;
	}
	if (wp_tail_check_asks(&r->tail, r->machine.moves))
		ask(r, reason);
	return take_answer(r, now);
}

/* Finds out, before a stream begins, whether the database is behind what was delivered from it. */
#include <inttypes.h>
#include <stdio.h>

#include "relay_internal.h"
#include "walpost/outbox/shape.h"

/* All outboxes have one source, which says whose events they are. */
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

	wp_behind_say(p, &wp_relay_source(r)->facts, where, hint, &error);
	wp_relay_halt(r, WP_EXIT_HUMAN, "server_behind", &error, now);
}

static void halt_for_topic_ends(struct wp_relay *r, const struct wp_topic_ends *ends,
				struct wp_now now)
{
	char where[WP_TOPIC_ENDS_NAME_SIZE + 80];
	const char *other_writer =
		source_of(r)[0] == '\0'
			? ". If another database sends to that topic, the event may come from it: "
			  "then set outbox.headers.source for each instead"
			: "";

	(void)snprintf(where, sizeof(where), "is in Kafka (topic %s, partition %" PRId32 ")",
		       ends->topic, ends->partition);
	halt(r, &ends->highest, where, other_writer, now);
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
	const struct wp_topic_ends_question question = {
		.topics = r->behind.topics,
		.source = source_of(r),
		.epoch = r->setup.options->epoch,
	};

	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_INFO, "tail_asked")->error, WP_OK, "%s",
			   reason);
	r->setup.sink->ops->ask_topic_ends(r->setup.sink, &question);
}

static bool take_answer(struct wp_relay *r, struct wp_now now)
{
	const struct wp_topic_ends *ends = &wp_relay_sink(r)->topic_ends;

	switch (wp_behind_check_step(&r->behind, ends, &wp_relay_source(r)->facts)) {
	case WP_BEHIND_CHECK_GOES_ON:
		return true;
	case WP_BEHIND_CHECK_NOT_KNOWN:
		note_unknown(r, WP_NOTE_INFO, "tail_unknown", ends->error.text);
		return true;
	case WP_BEHIND_CHECK_NOT_READ:
		note_unknown(r, WP_NOTE_WARN, "tail_unread", ends->error.text);
		return true;
	case WP_BEHIND_CHECK_RETRY:
		note_unknown(r, WP_NOTE_WARN, "tail_unread", ends->error.text);
		wp_relay_handle(r, WP_LOST, now);
		break;
	case WP_BEHIND_CHECK_REFRESH:
		r->setup.source->ops->refresh(r->setup.source);
		break;
	case WP_BEHIND_CHECK_STOP:
		halt_for_topic_ends(r, ends, now);
		break;
	case WP_BEHIND_CHECK_AWAITED:
		break;
	}
	return false;
}

bool wp_relay_may_stream(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_facts *f = &wp_relay_source(r)->facts;
	const struct wp_behind_known known = {
		.started = r->identity.started,
		.timeline = r->identity.timeline,
		.confirmed_lsn = wp_ledger_confirmed_lsn(&r->ledger),
	};
	const struct wp_position *delivered = &r->behind.delivered;

	if (delivered->commit_lsn != 0 && wp_behind_is(delivered, f)) {
		/* It may be unconfirmed, even queued only: what counts is that it may be there. */
		halt(r, delivered, "was sent to Kafka by this process, or queued to be", "", now);
		return false;
	}
	/* The routing does not tell them: topics of that form may be those of other databases. */
	wp_topic_list_merge(&r->behind.topics, f->slot_checkpoint_topics);
	const char *reason = wp_behind_check_reason(&known, f);
	if (reason == NULL)
		return true;
	if (!all_send_position(r)) {
		note_unknown(r, WP_NOTE_WARN, "tail_unknown",
			     "outbox.headers.standard leaves walpost-position out");
		return true;
	}
	if (r->behind.topics.text[0] == '\0') {
		note_unknown(r, WP_NOTE_WARN, "tail_unknown",
			     "walpost.slot_checkpoint lists no topics of its events");
		return true;
	}
	if (wp_behind_check_asks(&r->behind, r->machine.moves))
		ask(r, reason);
	return take_answer(r, now);
}

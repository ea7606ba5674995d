#include "relay_internal.h"

static bool is_any(const struct wp_relay_task *task)
{
	return task->outboxes != NULL;
}

/* Stopping, or stopped and held: nothing is made by a new task any more. */
static bool is_too_late(const struct wp_relay *r)
{
	return r->stop_asked || r->state >= WP_DRAINING;
}

enum wp_rc wp_relay_change(struct wp_relay *r, const struct wp_relay_task *task,
			   struct wp_error *error)
{
	if (is_too_late(r))
		return wp_error_set(error, WP_CONFIG,
				    "the relay %s: what changed under [outbox] is in force after a "
				    "restart",
				    r->state == WP_HELD ? "is held" : "is stopping");
	r->change.asked = *task;
	return WP_OK;
}

bool wp_relay_uses(const struct wp_relay *r, const struct wp_outboxes *outboxes)
{
	return outboxes == r->setup.task.outboxes || outboxes == r->change.asked.outboxes ||
	       outboxes == r->change.before.outboxes;
}

static bool reads(const struct wp_relay *r)
{
	return r->state == WP_STREAMING || r->state == WP_PAUSED;
}

bool wp_relay_may_change_here(const struct wp_relay *r)
{
	if (!is_any(&r->change.asked) || is_too_late(r))
		return false;
	return !reads(r) || !wp_pipeline_in_transaction(r->pipeline) ||
	       wp_relay_sink(r)->state == WP_SINK_WAITING;
}

static enum wp_rc take_up(struct wp_relay *r, const struct wp_relay_task *task,
			  struct wp_error *error, struct wp_now now)
{
	enum wp_rc rc = wp_pipeline_change(r->pipeline, task->outboxes, error);

	if (rc != WP_OK)
		return rc;
	r->setup.task = *task;
	r->asked_anew = false;
	r->as_text = false;
	r->unlabelled_noted = false;
	r->setup.source->ops->want(r->setup.source, task->wanted);
	if (wp_relay_is_streaming(r) && reads(r))
		wp_relay_send_status(r, now); /* in case another takes the slot in between */
	wp_relay_happen(r, WP_CHANGED, now);
	return WP_OK;
}

static void refuse(struct wp_relay *r, const struct wp_error *error)
{
	r->changes_refused++;
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_ERROR, "reload_refused")->error, WP_CONFIG,
			   "%.1800s; events are made as before the reload", error->text);
}

static void take_effect(struct wp_relay *r, struct wp_now now)
{
	const struct wp_relay_task task = r->change.asked;
	const struct wp_relay_task before = r->setup.task;
	bool leaves_queued = reads(r) && wp_relay_sink(r)->queued > 0;
	struct wp_error error;

	r->change.asked = (struct wp_relay_task){ 0 };
	enum wp_rc rc = take_up(r, &task, &error, now);
	if (rc != WP_OK) {
		refuse(r, &error);
		return;
	}
	if (leaves_queued)
		wp_relay_take_back(r);
	if (!is_any(&r->change.before) || r->change.accepted)
		r->change.before = before;
	r->change.accepted = false;
	r->change.transactions = wp_pipeline_counts(r->pipeline)->transactions;
	r->changes++;
	wp_relay_note(r, WP_NOTE_INFO, "outbox_changed");
}

/*
 * For a standby that takes the slot in between nothing must be left that it would send again: what
 * waits for a topic is taken back, and made anew.
 */
static bool leaves_nothing(const struct wp_relay *r)
{
	const struct wp_sink_view *v = wp_relay_sink(r);

	if (!reads(r) || r->ledger.in_flight == 0)
		return true;
	return v->state == WP_SINK_WAITING && v->queued > 0 && v->queued == v->in_flight;
}

void wp_relay_watch_change(struct wp_relay *r, struct wp_now now)
{
	struct change *c = &r->change;

	if (is_any(&c->before) && wp_pipeline_counts(r->pipeline)->transactions > c->transactions)
		c->before = (struct wp_relay_task){ 0 };
	if (wp_relay_may_change_here(r) && leaves_nothing(r))
		take_effect(r, now);
}

void wp_relay_note_accepted(struct wp_relay *r)
{
	r->change.accepted = true;
}

bool wp_relay_may_be_refused(const struct wp_relay *r)
{
	return is_any(&r->change.before) && !r->change.accepted;
}

bool wp_relay_takes_back(struct wp_relay *r, const struct wp_error *error, struct wp_now now)
{
	const struct wp_relay_task before = r->change.before;
	struct wp_error problem;

	if (!is_any(&before) || is_too_late(r))
		return false;
	r->change.before = (struct wp_relay_task){ 0 };
	if (take_up(r, &before, &problem, now) != WP_OK)
		return false; /* no memory: what was refused stops the relay */
	refuse(r, error);
	return true;
}

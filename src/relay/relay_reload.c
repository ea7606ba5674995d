/* Puts a new task into effect, and takes it back when it is refused. */
#include "relay_internal.h"

/* Once the relay stops, or is stopped and held, nothing is made by a new task any more. */
static bool is_too_late(const struct wp_relay *r)
{
	return r->stop.asked || r->machine.state >= WP_DRAINING;
}

enum wp_rc wp_relay_reload(struct wp_relay *r, const struct wp_relay_task *task,
			   struct wp_error *error)
{
	if (is_too_late(r))
		return wp_error_set(
			error, WP_CONFIG,
			"the relay %s: the changes of [outbox] take effect after a restart",
			r->machine.state == WP_HELD ? "is held" : "is stopping");
	r->reload.asked = *task;
	return WP_OK;
}

bool wp_relay_uses(const struct wp_relay *r, const struct wp_outboxes *outboxes)
{
	return wp_reload_uses(&r->reload, outboxes);
}

bool wp_relay_may_change_here(const struct wp_relay *r)
{
	if (!wp_reload_waits(&r->reload) || is_too_late(r))
		return false;
	return !wp_relay_reads(r) || !wp_pipeline_in_transaction(r->pipeline) ||
	       wp_relay_sink(r)->state == WP_SINK_WAITING || wp_relay_awaited_subject(r) != NULL;
}

static enum wp_rc take_up(struct wp_relay *r, const struct wp_relay_task *task,
			  struct wp_error *error, struct wp_now now)
{
	enum wp_rc rc = wp_pipeline_change(r->pipeline, task->outboxes, error);

	if (rc != WP_OK)
		return rc;
	wp_reload_put(&r->reload, task);
	r->setup.source->ops->want(r->setup.source, task->wanted);
	if (wp_relay_is_streaming(r) && wp_relay_reads(r))
		wp_relay_send_status(r, now); /* in case another takes the slot in between */
	wp_relay_handle(r, WP_CHANGED, now);
	return WP_OK;
}

static void refuse(struct wp_relay *r, const struct wp_error *error)
{
	r->reload.refused++;
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_ERROR, "reload_refused")->error, WP_CONFIG,
			   "%.1800s; the previous configuration of events stays in effect",
			   error->text);
}

static void take_effect(struct wp_relay *r, struct wp_now now)
{
	const struct wp_relay_task task = r->reload.asked;
	const struct wp_relay_task before = r->reload.now;
	bool leaves_queued = wp_relay_reads(r) && wp_relay_sink(r)->queued > 0;
	struct wp_error error;

	r->reload.asked = (struct wp_relay_task){ 0 };
	enum wp_rc rc = take_up(r, &task, &error, now);
	if (rc != WP_OK) {
		refuse(r, &error);
		return;
	}
	if (leaves_queued)
		wp_relay_take_back(r);
	wp_reload_changed(&r->reload, &before, wp_pipeline_counts(r->pipeline)->transactions);
	wp_relay_note(r, WP_NOTE_INFO, "outbox_changed");
}

/*
 * Nothing must be left that a standby, which takes the slot in between, would send again: what
 * waits for a topic is taken back, and made anew.
 */
static bool leaves_nothing(const struct wp_relay *r)
{
	const struct wp_sink_view *v = wp_relay_sink(r);

	if (!wp_relay_reads(r) || r->ledger.in_flight == 0)
		return true;
	return v->state == WP_SINK_WAITING && v->queued > 0 && v->queued == v->in_flight;
}

void wp_relay_watch_change(struct wp_relay *r, struct wp_now now)
{
	wp_reload_step(&r->reload, wp_pipeline_counts(r->pipeline)->transactions);
	if (wp_relay_may_change_here(r) && leaves_nothing(r))
		take_effect(r, now);
}

bool wp_relay_takes_back(struct wp_relay *r, const struct wp_error *error, struct wp_now now)
{
	struct wp_relay_task before;
	struct wp_error problem;

	if (is_too_late(r) || !wp_reload_take_before(&r->reload, &before))
		return false;
	if (take_up(r, &before, &problem, now) != WP_OK)
		return false; /* no memory: what was refused stops the relay */
	refuse(r, error);
	return true;
}

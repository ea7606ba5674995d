#include "reload.h"

static bool is_any(const struct wp_relay_task *task)
{
	return task->outboxes != NULL;
}

bool wp_reload_uses(const struct wp_reload *r, const struct wp_outboxes *outboxes)
{
	return outboxes == r->now.outboxes || outboxes == r->asked.outboxes ||
	       outboxes == r->before.outboxes;
}

void wp_reload_put(struct wp_reload *r, const struct wp_relay_task *task)
{
	r->now = *task;
	r->as_text = false;
	r->asked_anew = false;
	r->unlabelled_noted = false;
}

void wp_reload_changed(struct wp_reload *r, const struct wp_relay_task *before,
		       uint64_t transactions)
{
	/* A task that the server never accepted is none to go back to. */
	if (!is_any(&r->before) || r->accepted)
		r->before = *before;
	r->accepted = false;
	r->transactions = transactions;
	r->changes++;
}

void wp_reload_step(struct wp_reload *r, uint64_t transactions)
{
	if (is_any(&r->before) && transactions > r->transactions)
		r->before = (struct wp_relay_task){ 0 };
}

bool wp_reload_may_be_refused(const struct wp_reload *r)
{
	return is_any(&r->before) && !r->accepted;
}

bool wp_reload_take_before(struct wp_reload *r, struct wp_relay_task *ret)
{
	if (!is_any(&r->before))
		return false;
	*ret = r->before;
	r->before = (struct wp_relay_task){ 0 };
	return true;
}

bool wp_reload_asks_anew(struct wp_reload *r, wp_lsn at)
{
	if (r->asked_anew && r->asked_anew_at == at)
		return false;
	r->asked_anew = true;
	r->asked_anew_at = at;
	return true;
}

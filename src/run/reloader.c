#include "reloader.h"

#include <stdlib.h>

#include "walpost/base/log.h"
#include "walpost/run/requirements.h"

struct generation {
	struct wp_run_fresh *fresh;  /* owned; NULL: the first */
	struct wp_outboxes outboxes; /* with the run's id */
	struct wp_requirements_outboxes wanted;
	const struct generation *task; /* whose outboxes the relay has: itself, or an older one */
	enum wp_log_level level;
	struct generation *older;
};

struct wp_reloader {
	const struct wp_run_options *options; /* borrowed */
	const char *run_id;		      /* likewise */
	struct wp_subjects *subjects;	      /* likewise */
	struct generation *newest;	      /* owned, with all older ones */
	struct generation *in_force;
	struct wp_telemetry_reloads counts;
	uint64_t taken_back; /* by the relay, and seen */
};

static void release(const struct wp_reloader *r, struct generation *g)
{
	if (g->fresh != NULL)
		r->options->reload.release(r->options->reload.arg, g->fresh);
	wp_requirements_outboxes_release(&g->wanted);
	free(g);
}

/* `fresh` becomes its own, or stays the caller's on failure. */
static enum wp_rc add(struct wp_reloader *r, struct wp_run_fresh *fresh, struct wp_error *error)
{
	struct generation *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for another configuration");
	g->outboxes = fresh != NULL ? *fresh->outboxes : *r->options->outboxes;
	g->outboxes.run_id = r->run_id;
	g->outboxes.subjects = r->subjects;
	g->outboxes.slot = r->options->outboxes->slot; /* another one needs a restart */
	enum wp_rc rc = wp_requirements_outboxes_init(&g->wanted, &g->outboxes, error);
	if (rc != WP_OK) {
		free(g);
		return rc;
	}
	g->fresh = fresh;
	g->level = fresh != NULL ? fresh->level : wp_log_level();
	g->task = fresh == NULL || fresh->outboxes_changed ? g : r->in_force->task;
	g->older = r->newest;
	r->newest = g;
	return WP_OK;
}

/* NULL: there is none. */
static struct generation *newest_used(const struct wp_reloader *r, const struct wp_relay *relay,
				      const struct generation *task)
{
	struct generation *g = r->newest;

	while (g != NULL &&
	       ((task != NULL && g->task != task) || !wp_relay_uses(relay, &g->task->outboxes)))
		g = g->older;
	return g;
}

/* The newest of a task is needed too: it is what is in force when that is gone back to. */
static bool is_needed(const struct wp_reloader *r, const struct wp_relay *relay,
		      const struct generation *g)
{
	return g == r->in_force || wp_relay_uses(relay, &g->outboxes) ||
	       newest_used(r, relay, g->task) == g;
}

static void drop_unused(struct wp_reloader *r, const struct wp_relay *relay)
{
	struct generation **at = &r->newest;

	while (*at != NULL) {
		struct generation *g = *at;

		if (is_needed(r, relay, g)) {
			at = &g->older;
			continue;
		}
		*at = g->older;
		release(r, g);
	}
}

enum wp_rc wp_reloader_new(const struct wp_run_options *options, const char *run_id,
			   struct wp_subjects *subjects, struct wp_reloader **ret,
			   struct wp_error *error)
{
	struct wp_reloader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return WP_NOMEM;
	r->options = options;
	r->run_id = run_id;
	r->subjects = subjects;
	enum wp_rc rc = add(r, NULL, error);
	if (rc != WP_OK) {
		free(r);
		return rc;
	}
	r->in_force = r->newest;
	*ret = r;
	return WP_OK;
}

void wp_reloader_free(struct wp_reloader *r)
{
	if (r == NULL)
		return;
	while (r->newest != NULL) {
		struct generation *g = r->newest;

		r->newest = g->older;
		release(r, g);
	}
	free(r);
}

struct wp_relay_task wp_reloader_task(const struct wp_reloader *r)
{
	return (struct wp_relay_task){ &r->in_force->outboxes, &r->in_force->wanted.wanted };
}

const char *wp_reloader_configuration(const struct wp_reloader *r)
{
	const struct wp_run_fresh *fresh = r->in_force->fresh;

	return fresh != NULL ? fresh->configuration : r->options->configuration;
}

struct wp_telemetry_reloads wp_reloader_counts(const struct wp_reloader *r)
{
	return r->counts;
}

static void note_refused(struct wp_reloader *r)
{
	r->counts.refused++;
	r->counts.last_refused = true;
}

/* Puts the newest in force. When nothing changed for the relay, it keeps an older one alike. */
static enum wp_rc put_in_force(struct wp_reloader *r, struct wp_relay *relay,
			       struct wp_error *error)
{
	struct generation *g = r->newest;
	enum wp_rc rc = WP_OK;

	if (g->fresh->outboxes_changed)
		rc = wp_relay_reload(
			relay, &(struct wp_relay_task){ &g->outboxes, &g->wanted.wanted }, error);
	if (rc != WP_OK)
		return rc;
	wp_log(WP_LOG_INFO, "reloaded", WP_TEXT("changed", g->fresh->changed));
	wp_log_set_level(g->level);
	r->in_force = g;
	return WP_OK;
}

void wp_reloader_reload(struct wp_reloader *r, struct wp_relay *relay)
{
	const struct wp_run_reload *reload = &r->options->reload;
	struct wp_run_fresh *fresh = reload->read(reload->arg, r->in_force->fresh);
	struct wp_error error = { .text = "out of memory" };

	if (fresh == NULL) {
		note_refused(r);
		return;
	}
	enum wp_rc rc = add(r, fresh, &error);
	if (rc != WP_OK)
		reload->release(reload->arg, fresh);
	else
		rc = put_in_force(r, relay, &error);
	if (rc == WP_OK) {
		r->counts.done++;
		r->counts.last_refused = false;
	} else {
		note_refused(r);
		wp_log(WP_LOG_ERROR, "reload_refused", WP_TEXT("reason", error.text));
	}
	drop_unused(r, relay);
}

void wp_reloader_watch(struct wp_reloader *r, const struct wp_relay *relay,
		       const struct wp_relay_snapshot *look)
{
	if (look->changes_refused == r->taken_back)
		return;
	r->taken_back = look->changes_refused;
	note_refused(r);
	struct generation *g = newest_used(r, relay, NULL);
	if (g != NULL) { /* there is one: the relay has a task */
		r->in_force = g;
		wp_log_set_level(g->level);
	}
	drop_unused(r, relay);
}

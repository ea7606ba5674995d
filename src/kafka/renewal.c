/*
 * When files behind [kafka] have changed: user and password of SASL are handed to the client
 * that we have; for all else a client must be made anew. First another one tries, beside it,
 * whether it is made of the new files and let in: until then the old one stays. Then nothing
 * more is taken until all that is in flight is confirmed, and the clients change. If the old
 * one is refused meanwhile, so that nothing is confirmed any more, it is given up as a broken one
 * is: the relay streams again from what is confirmed.
 */
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "walpost/base/log.h"
#include "walpost/kafka/preflight.h"

#define LOOK_EACH_MS 10000
/* While nobody lets us in, or somebody writes. */
#define LOOK_SOON_MS 1000
#define TRY_EACH_MS 10000
/* Questions to the cluster wait for the worker as long. */
#define TRIAL_MS 5000
/* Nothing confirmed for so long: refused, or for whatever reason. */
#define REFUSED_MS 2000
#define STUCK_MS 30000

/* ---- what is told ---- */

void wp_renewal_complain(struct wp_producer *p, const struct wp_error *error)
{
	if (p->renewal.told)
		return;
	p->renewal.told = true;
	wp_log(WP_LOG_WARN, "kafka_secrets_unusable", WP_TEXT("reason", error->text),
	       WP_TEXT("meanwhile", "what was read before stays in use; it is tried again"));
}

static void take_up(struct wp_producer *p)
{
	struct wp_error changed;

	wp_secrets_changed(&p->secrets, &changed);
	if (p->renewal.was_open && changed.text[0] != '\0')
		wp_log(WP_LOG_INFO, "kafka_secrets_reread", WP_TEXT("files", changed.text));
	wp_secrets_apply(&p->secrets);
	p->renewal.told = false;
	p->renewal.look_at_ms = p->now_ms + LOOK_EACH_MS;
}

/* ---- user and password, in place ---- */

static char *value_of(const struct wp_producer *p, const char *name)
{
	const struct wp_property *property = wp_property_find(p->options, name);

	return property != NULL ? wp_property_now(property) : NULL;
}

static bool has_password(const struct wp_producer *p)
{
	const rd_kafka_conf_t *conf = rd_kafka_conf(p->clients[0].rk);

	return wp_properties_is(conf, "sasl.mechanisms", "PLAIN") ||
	       wp_properties_is(conf, "sasl.mechanisms", "SCRAM-SHA-256") ||
	       wp_properties_is(conf, "sasl.mechanisms", "SCRAM-SHA-512");
}

/* Used at the next connection: what is in flight stays so. False: not possible. */
static bool hand_over_login(struct wp_producer *p)
{
	if (!wp_secrets_is_login(&p->secrets) || !has_password(p))
		return false;
	char *user = value_of(p, "sasl.username");
	char *password = value_of(p, "sasl.password");
	bool done = user != NULL && password != NULL;
	for (size_t i = 0; done && i < p->client_count; i++) {
		rd_kafka_error_t *error =
			rd_kafka_sasl_set_credentials(p->clients[i].rk, user, password);
		done = error == NULL;
		if (error != NULL)
			rd_kafka_error_destroy(error);
	}
	free(user);
	free(password);
	return done;
}

/* ---- the trial ---- */

/* Owned by the job. */
struct trial {
	const struct wp_kafka_options *options; /* borrowed: outlives the worker's jobs */
	enum wp_rc rc;
	struct wp_error error;
	struct wp_producer *asker; /* touched by `done` only */
};

static void run_trial(void *arg)
{
	struct trial *t = arg;
	struct wp_error sentence;

	t->rc = wp_kafka_reach(t->options, TRIAL_MS, &sentence, &t->error);
}

static void end_trial(void *arg)
{
	struct trial *t = arg;
	struct wp_producer *p = t->asker;

	p->renewal.is_trying = false;
	p->renewal.let_in = t->rc == WP_OK;
	/* That nobody answers is told otherwise, and says nothing of the files. */
	if (t->rc == WP_CONFIG || (t->rc != WP_OK && p->view.reachable))
		wp_renewal_complain(p, &t->error);
	free(t);
	wp_life_wake(p);
}

/* No room on the worker, no memory: at the next look. */
static void try_files(struct wp_producer *p)
{
	struct trial *t = p->now_ms < p->renewal.try_at_ms ? NULL : calloc(1, sizeof(*t));

	if (t == NULL)
		return;
	p->renewal.try_at_ms = p->now_ms + TRY_EACH_MS;
	t->options = p->options;
	t->asker = p;
	struct wp_job job = { .run = run_trial, .done = end_trial, .drop = free, .arg = t };
	enum wp_rc rc = wp_worker_submit(p->worker, &job, &p->renewal.trial);
	if (rc == WP_OK)
		p->renewal.is_trying = true;
	else
		free(t);
}

void wp_renewal_drop(struct wp_producer *p)
{
	if (p->renewal.is_trying)
		wp_worker_abandon(p->worker, p->renewal.trial);
	p->renewal.is_trying = false;
}

/* ---- the change ---- */

/* Nothing new is taken from here on; step() changes the clients when nothing is in flight. */
static void begin_draining(struct wp_producer *p)
{
	struct wp_error unused;

	p->renewal.let_in = false;
	/* A client made meanwhile has them already. */
	if (wp_secrets_look(&p->secrets, &unused) == WP_SECRETS_SAME)
		return;
	p->renewal.is_draining = true;
	p->renewal.progress_at_ms = p->now_ms;
	p->wants_reopening = true;
}

static int64_t patience_ms(const struct wp_producer *p)
{
	return p->renewal.is_refused && !p->view.reachable ? REFUSED_MS : STUCK_MS;
}

static void drain(struct wp_producer *p)
{
	if (wp_producer_sent(p) > 0 && p->now_ms - p->renewal.progress_at_ms >= patience_ms(p))
		wp_producer_break(p, RD_KAFKA_RESP_ERR__AUTHENTICATION,
				  "nothing in flight is confirmed with certificates or passwords "
				  "that were replaced; a client with the new ones is let in");
}

void wp_renewal_opening(struct wp_producer *p)
{
	struct wp_error unused;

	(void)wp_secrets_look(&p->secrets, &unused); /* what the client will read */
}

void wp_renewal_opened(struct wp_producer *p)
{
	take_up(p);
	p->renewal.was_open = true;
	p->renewal.is_refused = false;
	p->renewal.is_draining = false;
	p->renewal.let_in = false;
}

void wp_renewal_refused(struct wp_producer *p)
{
	p->renewal.is_refused = true;
	p->renewal.look_at_ms = p->now_ms;
}

/* ---- each turn ---- */

static void take_up_or_try(struct wp_producer *p)
{
	if (hand_over_login(p))
		take_up(p);
	else
		try_files(p);
}

static void look(struct wp_producer *p)
{
	bool is_urgent = p->renewal.is_refused || !p->view.reachable;
	struct wp_error error;

	p->renewal.look_at_ms = p->now_ms + (is_urgent ? LOOK_SOON_MS : LOOK_EACH_MS);
	switch (wp_secrets_look(&p->secrets, &error)) {
	case WP_SECRETS_SAME:
		break;
	case WP_SECRETS_UNSETTLED:
		p->renewal.told = false;
		p->renewal.try_at_ms = p->now_ms;
		p->renewal.look_at_ms = p->now_ms + LOOK_SOON_MS;
		break;
	case WP_SECRETS_UNUSABLE:
		wp_renewal_complain(p, &error);
		break;
	case WP_SECRETS_CHANGED:
		take_up_or_try(p);
		break;
	}
}

void wp_renewal_step(struct wp_producer *p)
{
	if (p->phase != WP_PHASE_RUNNING || p->secrets.count == 0)
		return;
	if (p->renewal.let_in)
		begin_draining(p);
	if (p->renewal.is_draining)
		drain(p);
	else if (!p->renewal.is_trying && p->now_ms >= p->renewal.look_at_ms)
		look(p);
}

int64_t wp_renewal_due(const struct wp_producer *p)
{
	if (p->phase != WP_PHASE_RUNNING || p->secrets.count == 0)
		return INT64_MAX;
	if (p->renewal.is_draining)
		return p->renewal.progress_at_ms + patience_ms(p);
	return p->renewal.is_trying ? INT64_MAX : p->renewal.look_at_ms;
}

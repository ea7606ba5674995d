#include "credentials.h"

#include <stdlib.h>
#include <string.h>

#include "walpost/kafka/token.h"
#include "walpost/base/log.h"
#include "walpost/kafka_inspect/preflight.h"
#include "walpost/login/login.h"

#define CHECK_EACH_MS 10000
/* The next check comes so soon while nobody lets us in, or somebody writes. */
#define CHECK_SOON_MS 1000
#define TRY_EACH_MS 10000
/* Questions to the cluster wait for the worker as long as a trial takes. */
#define TRIAL_MS 5000
/* Nothing is confirmed for so long: the client is refused, or for whatever reason. */
#define REFUSED_MS 2000
#define STUCK_MS 30000

void wp_credentials_init(struct wp_credentials *c, struct wp_clients *clients)
{
	*c = (struct wp_credentials){ .clients = clients, .trial_rc = WP_AGAIN };
	wp_secrets_init(&c->secrets, clients->options);
}

void wp_credentials_release(struct wp_credentials *c)
{
	if (c->is_trying)
		wp_worker_abandon(c->clients->worker, c->trial);
	c->is_trying = false;
}

void wp_credentials_warn(struct wp_credentials *c, const struct wp_error *error)
{
	if (c->warned)
		return;
	c->warned = true;
	wp_log(WP_LOG_WARN, "kafka_secrets_unusable", WP_TEXT("reason", error->text),
	       WP_TEXT("meanwhile",
		       "the previous credentials stay in use, and the reload is retried"));
}

static void take_up(struct wp_credentials *c, int64_t now_ms)
{
	struct wp_error changed;

	wp_secrets_changed(&c->secrets, &changed);
	if (c->was_open && changed.text[0] != '\0')
		wp_log(WP_LOG_INFO, "kafka_secrets_reread", WP_TEXT("files", changed.text));
	wp_secrets_apply(&c->secrets);
	c->warned = false;
	c->check_at_ms = now_ms + CHECK_EACH_MS;
}

void wp_credentials_opening(struct wp_credentials *c)
{
	struct wp_error unused;

	(void)wp_secrets_check(&c->secrets, &unused); /* what the client will read */
}

void wp_credentials_opened(struct wp_credentials *c, int64_t now_ms)
{
	take_up(c, now_ms);
	c->was_open = true;
	c->is_refused = c->is_draining = false;
	c->trial_rc = WP_AGAIN;
}

void wp_credentials_refused(struct wp_credentials *c, int64_t now_ms)
{
	c->is_refused = true;
	c->check_at_ms = now_ms;
	if (c->clients->options->login != NULL)
		wp_login_refused(c->clients->options->login);
}

void wp_credentials_accepted(struct wp_credentials *c)
{
	c->is_refused = false;
}

/* ---- user and password, in place ---- */

static char *value_of(const struct wp_credentials *c, const char *name)
{
	const struct wp_property *property = wp_property_find(c->clients->options, name);

	return property != NULL ? wp_property_now(property) : NULL;
}

/* The login is used at the next connection: what is in flight stays so. Returns false when that
 * is not possible. */
static bool hand_over_login(struct wp_credentials *c)
{
	if (!wp_secrets_is_login(&c->secrets))
		return false;
	char *user = value_of(c, "sasl.username");
	char *password = value_of(c, "sasl.password");
	bool done = user != NULL && password != NULL &&
		    wp_clients_set_login(c->clients, user, password);
	free(user);
	free(password);
	return done;
}

/* ---- a token, in place ---- */

static bool has_token(const struct wp_credentials *c)
{
	return c->clients->options->login != NULL;
}

/* Hands over the token that let the trial in. The login keeps it: whoever fetches just now
 * brings another soon. */
static void hand_over_token(struct wp_credentials *c)
{
	struct wp_token token;

	if (wp_login_peek(c->clients->options->login, &token) != WP_OK)
		return;
	wp_clients_set_token(c->clients, &token);
	wp_token_release(&token);
	c->is_refused = c->warned = false;
}

/* ---- the trial ---- */

/* The job owns this. */
struct trial {
	const struct wp_kafka_options *options; /* borrowed: outlives the worker's jobs */
	enum wp_rc rc;
	struct wp_error error;
	struct wp_credentials *asker; /* touched by `done` only */
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
	struct wp_credentials *c = t->asker;

	c->is_trying = false;
	c->trial_rc = t->rc;
	c->trial_error = t->error;
	free(t);
	wp_clients_wake(c->clients);
}

/* When there is no room on the worker or no memory, the next check tries. */
static void try_files(struct wp_credentials *c, int64_t now_ms)
{
	struct trial *t = now_ms < c->try_at_ms ? NULL : calloc(1, sizeof(*t));

	if (t == NULL)
		return;
	c->try_at_ms = now_ms + TRY_EACH_MS;
	t->options = c->clients->options;
	t->asker = c;
	struct wp_job job = { .run = run_trial, .done = end_trial, .drop = free, .arg = t };
	enum wp_rc rc = wp_worker_submit(c->clients->worker, &job, &c->trial);
	if (rc == WP_OK)
		c->is_trying = true;
	else
		free(t);
}

/* Returns true when the files make a client that is let in, and are other than those in use. */
static bool judge_trial(struct wp_credentials *c, bool is_reachable)
{
	struct wp_error unused;
	enum wp_rc rc = c->trial_rc;

	c->trial_rc = WP_AGAIN;
	/* That nobody answers is told otherwise, and says nothing of the files. */
	if (rc == WP_CONFIG || (rc != WP_OK && rc != WP_AGAIN && is_reachable))
		wp_credentials_warn(c, &c->trial_error);
	if (rc == WP_OK && has_token(c) && c->is_refused)
		hand_over_token(c);
	/* A client that was made meanwhile has them already. */
	return rc == WP_OK && wp_secrets_check(&c->secrets, &unused) != WP_SECRETS_SAME;
}

/* ---- each turn ---- */

static void check(struct wp_credentials *c, bool is_reachable, int64_t now_ms)
{
	bool is_urgent = c->is_refused || !is_reachable;
	struct wp_error error;

	c->check_at_ms = now_ms + (is_urgent ? CHECK_SOON_MS : CHECK_EACH_MS);
	switch (wp_secrets_check(&c->secrets, &error)) {
	case WP_SECRETS_SAME:
		/* A token that was refused is replaced by another that is let in. */
		if (has_token(c) && c->is_refused)
			try_files(c, now_ms);
		break;
	case WP_SECRETS_UNSETTLED:
		c->warned = false;
		c->try_at_ms = now_ms;
		c->check_at_ms = now_ms + CHECK_SOON_MS;
		break;
	case WP_SECRETS_UNUSABLE:
		wp_credentials_warn(c, &error);
		break;
	case WP_SECRETS_CHANGED:
		if (hand_over_login(c))
			take_up(c, now_ms);
		else
			try_files(c, now_ms);
		break;
	}
}

static int64_t give_up_at(const struct wp_credentials *c, bool is_reachable, int64_t reported_at_ms)
{
	int64_t since_ms =
		reported_at_ms > c->draining_since_ms ? reported_at_ms : c->draining_since_ms;

	return since_ms + (c->is_refused && !is_reachable ? REFUSED_MS : STUCK_MS);
}

static bool is_watching(const struct wp_credentials *c)
{
	return c->secrets.count > 0 || (has_token(c) && c->is_refused) || c->trial_rc != WP_AGAIN;
}

enum wp_credentials_step wp_credentials_step(struct wp_credentials *c, bool is_reachable,
					     bool is_in_flight, int64_t reported_at_ms,
					     int64_t now_ms)
{
	if (!is_watching(c))
		return WP_CREDENTIALS_STAY;
	if (judge_trial(c, is_reachable)) {
		c->is_draining = true;
		c->draining_since_ms = now_ms;
	}
	if (!c->is_draining) {
		if (!c->is_trying && now_ms >= c->check_at_ms)
			check(c, is_reachable, now_ms);
		return WP_CREDENTIALS_STAY;
	}
	if (is_in_flight && now_ms >= give_up_at(c, is_reachable, reported_at_ms))
		return WP_CREDENTIALS_GIVE_UP;
	return WP_CREDENTIALS_REOPEN;
}

int64_t wp_credentials_due(const struct wp_credentials *c, bool is_reachable,
			   int64_t reported_at_ms)
{
	if (!is_watching(c))
		return INT64_MAX;
	if (c->is_draining)
		return give_up_at(c, is_reachable, reported_at_ms);
	return c->is_trying ? INT64_MAX : c->check_at_ms;
}

#include "walpost/login/login.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "walpost/base/clock.h"
#include "walpost/base/file_text.h"
#include "walpost/base/log.h"
#include "walpost/base/secret_buffer.h"

struct wp_login {
	enum wp_login_purpose purpose;
	struct wp_login_options options; /* its texts are owned */
	atomic_uint holders;
	atomic_bool is_refused; /* the other side did not take what is kept */
	atomic_uint failures;	/* of fetches, so far */
	pthread_mutex_t lock;	/* guards the rest, also while it is fetched */
	struct wp_token kept;	/* its text NULL: none */
	char kept_for[1024];	/* whom: host, port and user */
	bool is_failing;	/* told once */
	enum wp_rc failed;	/* how the last of `failures` did */
	struct wp_error failure;
};

static bool copy_text(const char **text)
{
	*text = strdup(*text != NULL ? *text : ""); /* Postgres has no file */
	return *text != NULL;
}

struct wp_login *wp_login_new(enum wp_login_purpose purpose, const struct wp_login_options *options)
{
	struct wp_login *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	if (pthread_mutex_init(&l->lock, NULL) != 0) {
		free(l);
		return NULL;
	}
	l->purpose = purpose;
	l->options = *options;
	atomic_init(&l->holders, 1);
	atomic_init(&l->is_refused, false);
	atomic_init(&l->failures, 0);
	bool copied = copy_text(&l->options.command);
	copied = copy_text(&l->options.file) && copied;
	copied = copy_text(&l->options.region) && copied;
	copied = copy_text(&l->options.role) && copied;
	if (copied)
		return l;
	wp_login_free(l);
	return NULL;
}

struct wp_login *wp_login_hold(struct wp_login *l)
{
	atomic_fetch_add(&l->holders, 1);
	return l;
}

void wp_login_free(struct wp_login *l)
{
	if (l == NULL || atomic_fetch_sub(&l->holders, 1) > 1)
		return;
	wp_token_release(&l->kept);
	free((void *)l->options.command);
	free((void *)l->options.file);
	free((void *)l->options.region);
	free((void *)l->options.role);
	(void)pthread_mutex_destroy(&l->lock);
	free(l);
}

/* ---- one fetch ---- */

static enum wp_rc read_file(const char *path, struct wp_token *ret, struct wp_error *error)
{
	struct wp_error wrong;
	struct stat facts;
	char *text;

	/* The read of a FIFO whose writer is silent would never end. */
	if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
		return wp_error_set(error, WP_CONFIG, "token file %s: it is not a regular file",
				    path);
	enum wp_rc rc = wp_file_text(path, &text, &wrong);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "token file: %s", wrong.text);
	rc = wp_token_parse(wp_span_of(text), wp_clock_wall_ms(), ret, &wrong);
	wp_secret_text_free(text);
	return rc == WP_OK ? rc : wp_error_set(error, rc, "token file %s: %s", path, wrong.text);
}

static enum wp_rc ask_provider(const struct wp_login_request *r, struct wp_token *ret,
			       struct wp_error *error)
{
	switch (r->options->provider) {
	case WP_LOGIN_AWS:
		return wp_login_aws(r, ret, error);
	case WP_LOGIN_AZURE:
		return wp_login_azure(r, ret, error);
	case WP_LOGIN_GCP:
		return wp_login_gcp(r, ret, error);
	case WP_LOGIN_OIDC:
		return wp_login_oidc(r, ret, error);
	case WP_LOGIN_FILE:
		return read_file(r->options->file, ret, error);
	case WP_LOGIN_NONE:
		break;
	}
	return wp_error_set(error, WP_CONFIG, "no login is configured");
}

static enum wp_rc fetch(const struct wp_login_request *r, struct wp_token *ret,
			struct wp_error *error)
{
	struct wp_token t = { .text = NULL };
	enum wp_rc rc =
		r->options->command[0] != '\0'
			? wp_login_command(r->options->command, r->options->timeout_ms, &t, error)
			: ask_provider(r, &t, error);
	int64_t now_ms = wp_clock_wall_ms();

	if (rc == WP_OK && r->purpose == WP_LOGIN_FOR_KAFKA)
		rc = wp_token_judge_bearer(&t, error);
	if (rc == WP_OK && r->extensions != NULL)
		rc = wp_token_extend(&t, r->extensions, error);
	if (rc == WP_OK && t.expires_at_ms != 0 && t.expires_at_ms <= now_ms)
		rc = wp_error_set(error, WP_IO,
				  "the token had expired %lld s ago when it came; if it is fresh, "
				  "set the clock of this host",
				  (long long)(now_ms - t.expires_at_ms) / 1000);
	if (rc != WP_OK) {
		wp_token_release(&t);
		return rc;
	}
	t.fetched_at_ms = now_ms;
	*ret = t;
	return WP_OK;
}

/* ---- what is kept ---- */

/* At 80 % of its lifetime another is wanted; one that says no lifetime is for one use. */
static bool is_fresh(const struct wp_login *l, const char *whom, int64_t now_ms)
{
	return l->kept.text != NULL && !l->is_refused && strcmp(l->kept_for, whom) == 0 &&
	       now_ms < wp_token_renew_at_ms(&l->kept) && now_ms >= l->kept.fetched_at_ms;
}

static bool still_serves(const struct wp_login *l, const char *whom, int64_t now_ms)
{
	return l->kept.text != NULL && !l->is_refused && strcmp(l->kept_for, whom) == 0 &&
	       (l->kept.expires_at_ms == 0 || now_ms < l->kept.expires_at_ms);
}

static const char *purpose_name(const struct wp_login *l)
{
	return l->purpose == WP_LOGIN_FOR_KAFKA ? "kafka" : "postgres";
}

static void keep(struct wp_login *l, const char *whom, struct wp_token *fetched)
{
	wp_token_release(&l->kept);
	l->kept = *fetched;
	(void)snprintf(l->kept_for, sizeof(l->kept_for), "%s", whom);
	l->is_refused = false;
	if (l->is_failing)
		wp_log(WP_LOG_INFO, "login_renewed", WP_TEXT("for", purpose_name(l)));
	l->is_failing = false;
}

static void tell_failure(struct wp_login *l, const char *meanwhile)
{
	if (!l->is_failing)
		wp_log(WP_LOG_WARN, "login_not_renewed", WP_TEXT("for", purpose_name(l)),
		       WP_TEXT("reason", l->failure.text), WP_TEXT("meanwhile", meanwhile));
	l->is_failing = true;
}

/* What is kept serves on, or nobody is let in. */
static enum wp_rc do_without(struct wp_login *l, const char *whom, struct wp_error *error)
{
	if (still_serves(l, whom, wp_clock_wall_ms())) {
		tell_failure(l, "the previous one is used while it lasts");
		return WP_OK;
	}
	/* Who asked for a first token, or for a password, tells of the failure; librdkafka does
	 * only where it lacks a connection. */
	if (l->purpose == WP_LOGIN_FOR_KAFKA && l->kept.text != NULL)
		tell_failure(l, "the previous one has ended: connections that are open serve on");
	return wp_error_set(error, l->failed, "%s", l->failure.text);
}

static enum wp_rc renew(struct wp_login *l, const struct wp_login_request *r, const char *whom,
			struct wp_error *error)
{
	struct wp_token fetched;

	enum wp_rc rc = fetch(r, &fetched, &l->failure);
	if (rc == WP_OK) {
		keep(l, whom, &fetched);
		return WP_OK;
	}
	if (rc == WP_NOMEM)
		return wp_error_set(error, rc, "%s", l->failure.text);
	l->failed = rc;
	l->failures++;
	return do_without(l, whom, error);
}

enum wp_rc wp_login_get(struct wp_login *l, const struct wp_login_request *request,
			struct wp_token *ret, struct wp_error *error)
{
	struct wp_login_request r = *request;
	char whom[sizeof(l->kept_for)];
	unsigned failures = l->failures;
	enum wp_rc rc = WP_OK;

	r.purpose = l->purpose;
	r.options = &l->options;
	(void)snprintf(whom, sizeof(whom), "%s:%s %s", r.host, r.port, r.user);
	(void)pthread_mutex_lock(&l->lock);
	/* Whoever waited while another's fetch failed need not wait for one more: they would queue up. */
	if (!is_fresh(l, whom, wp_clock_wall_ms()))
		rc = l->failures != failures ? do_without(l, whom, error)
					     : renew(l, &r, whom, error);
	if (rc == WP_OK && wp_token_copy(&l->kept, ret) != WP_OK)
		rc = wp_error_set(error, WP_NOMEM, "out of memory for a token");
	(void)pthread_mutex_unlock(&l->lock);
	return rc;
}

enum wp_rc wp_login_peek(struct wp_login *l, struct wp_token *ret)
{
	enum wp_rc rc = WP_AGAIN;

	if (pthread_mutex_trylock(&l->lock) != 0)
		return WP_AGAIN;
	if (l->kept.text != NULL)
		rc = wp_token_copy(&l->kept, ret);
	(void)pthread_mutex_unlock(&l->lock);
	return rc;
}

void wp_login_refused(struct wp_login *l)
{
	l->is_refused = true;
}

static const char *source(const struct wp_login *l)
{
	static const char *const names[] = { "",      "",
					     "Azure", "Google Cloud",
					     "OIDC",  "the token file" };

	if (l->options.command[0] != '\0')
		return "the command";
	if (l->options.provider == WP_LOGIN_AWS)
		return l->purpose == WP_LOGIN_FOR_KAFKA ? "AWS (MSK IAM)" : "AWS (RDS IAM)";
	return names[l->options.provider];
}

bool wp_login_describe(struct wp_login *l, struct wp_error *ret)
{
	char expiry[64] = "no lifetime stated";

	(void)pthread_mutex_lock(&l->lock);
	const struct wp_token *t = &l->kept;
	bool is_there = t->text != NULL;
	int64_t left_s = (t->expires_at_ms - wp_clock_wall_ms()) / 1000;
	if (t->expires_at_ms != 0)
		(void)snprintf(expiry, sizeof(expiry), "expires in %lld s", (long long)left_s);
	if (is_there)
		(void)wp_error_set(ret, WP_OK, "from %s%s%s, %s", source(l),
				   t->principal[0] != '\0' ? ", for " : "", t->principal, expiry);
	(void)pthread_mutex_unlock(&l->lock);
	return is_there;
}

/* Logs in to Google's Kafka and Cloud SQL with the credentials that its SDKs find by default. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "gcp_token.h"
#include "oauth.h"
#include "walpost/base/file_text.h"
#include "walpost/base/percent.h"
#include "walpost/base/secret_buffer.h"
#include "walpost/http_client/answer_fields.h"

#define SCOPE_KAFKA "https://www.googleapis.com/auth/cloud-platform"
/* The logins of Cloud SQL also work with the scope that all its administration takes; this is
 * one of their own. */
#define SCOPE_POSTGRES "https://www.googleapis.com/auth/sqlservice.login"
#define TOKEN_URL "https://oauth2.googleapis.com/token"
#define ACCOUNT "/computeMetadata/v1/instance/service-accounts/default/"
#define PATH_SIZE 512
#define KEY_SIZE 16384
#define FORM_SIZE_MAX ((size_t)64 * 1024)
#define METADATA_TRY_MS 10000
#define MS_PER_S 1000

struct gcp {
	struct wp_fetch fetch;
	const char *scope;
	struct wp_token *ret;
	char email[256]; /* of the account; "" : not known */
};

/* ---- files ---- */

/* A file of credentials may say these; which of them depends on its kind. They are overwritten
 * after use. */
struct file {
	const char *path;
	char *text; /* owned */
	char kind[64];
	char token_url[PATH_SIZE];
	char key_id[256];
	char key[KEY_SIZE];
	char client_id[512];
	char client_secret[512];
	char refresh_token[2048];
};

static bool member(const struct file *f, const char *name, char *ret, size_t size)
{
	if (wp_json_text_member(wp_span_of(f->text), name, ret, size))
		return true;
	ret[0] = '\0';
	return false;
}

static enum wp_rc missing(const struct file *f, const char *name, struct wp_error *error)
{
	return wp_error_set(
		error, WP_CONFIG,
		"%s has no valid %s, which credentials of type %s need; create a new one", f->path,
		name, f->kind);
}

static enum wp_rc post(struct gcp *g, const struct file *f, struct wp_writer *form,
		       struct wp_token *ret, struct wp_http_response *answer,
		       struct wp_error *error)
{
	if (form->rc != WP_OK)
		return wp_error_set(error, WP_CONFIG, "what %s has is too long", f->path);
	struct wp_http_request r = wp_oauth_form(&g->fetch, f->token_url, form->into,
						 "create a new file of Google credentials");
	return wp_oauth_ask(&g->fetch, &r, ret, answer, error);
}

static enum wp_rc by_service_account(struct gcp *g, struct file *f, struct wp_buffer *body,
				     struct wp_token *ret, struct wp_error *error)
{
	const struct wp_gcp_account account = {
		.email = g->email, .key_id = f->key_id, .key = f->key, .token_url = f->token_url
	};
	struct wp_writer form = { .into = body, .rc = WP_OK };
	struct wp_buffer assertion;

	if (!member(f, "client_email", g->email, sizeof(g->email)))
		return missing(f, "client_email", error);
	if (!member(f, "private_key", f->key, sizeof(f->key)))
		return missing(f, "private_key", error);
	(void)member(f, "private_key_id", f->key_id, sizeof(f->key_id));
	enum wp_rc rc = wp_secret_buffer_init(&assertion, FORM_SIZE_MAX, error);
	if (rc != WP_OK)
		return rc;
	rc = wp_gcp_assertion(&account, g->scope, g->fetch.now_ms / MS_PER_S, &assertion);
	if (rc == WP_DATA)
		rc = missing(f, "private_key", error);
	else if (rc != WP_OK)
		rc = wp_error_set(error, rc == WP_FULL ? WP_CONFIG : rc,
				  "an assertion of %s cannot be signed", g->email);
	if (rc == WP_OK) {
		wp_form_put(&form, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
		wp_form_put(&form, "assertion", wp_secret_buffer_text(&assertion));
		rc = post(g, f, &form, ret, NULL, error);
	}
	wp_secret_buffer_release(&assertion);
	return rc;
}

/* The e-mail of a person stands in the identity token that comes along. */
static enum wp_rc by_user(struct gcp *g, struct file *f, struct wp_buffer *body,
			  struct wp_token *ret, struct wp_error *error)
{
	struct wp_writer form = { .into = body, .rc = WP_OK };
	struct wp_http_response answer = { .status = 0 };
	char identity[8192];

	if (!member(f, "client_id", f->client_id, sizeof(f->client_id)))
		return missing(f, "client_id", error);
	if (!member(f, "client_secret", f->client_secret, sizeof(f->client_secret)))
		return missing(f, "client_secret", error);
	if (!member(f, "refresh_token", f->refresh_token, sizeof(f->refresh_token)))
		return missing(f, "refresh_token", error);
	wp_form_put(&form, "grant_type", "refresh_token");
	wp_form_put(&form, "client_id", f->client_id);
	wp_form_put(&form, "client_secret", f->client_secret);
	wp_form_put(&form, "refresh_token", f->refresh_token);
	enum wp_rc rc = post(g, f, &form, ret, &answer, error);
	if (!member(f, "account", g->email, sizeof(g->email)) && rc == WP_OK &&
	    wp_json_text_member(wp_buffer_span(&answer.body), "id_token", identity,
				sizeof(identity)) &&
	    !wp_gcp_claim(identity, "email", g->email, sizeof(g->email)))
		g->email[0] = '\0';
	explicit_bzero(identity, sizeof(identity));
	wp_http_response_release(&answer);
	return rc;
}

static enum wp_rc by_kind(struct gcp *g, struct file *f, struct wp_token *ret,
			  struct wp_error *error)
{
	struct wp_buffer body;

	if (!member(f, "type", f->kind, sizeof(f->kind)))
		return wp_error_set(error, WP_CONFIG,
				    "%s is not a file of Google credentials: it has no \"type\"",
				    f->path);
	if (!member(f, "token_uri", f->token_url, sizeof(f->token_url)))
		(void)snprintf(f->token_url, sizeof(f->token_url), TOKEN_URL); /* fits */
	enum wp_rc rc = wp_secret_buffer_init(&body, FORM_SIZE_MAX, error);
	if (rc != WP_OK)
		return rc;
	if (strcmp(f->kind, "service_account") == 0)
		rc = by_service_account(g, f, &body, ret, error);
	else if (strcmp(f->kind, "authorized_user") == 0)
		rc = by_user(g, f, &body, ret, error);
	else
		rc = wp_error_set(
			error, WP_CONFIG,
			"%s has credentials of type %s, which are not supported here; let a "
			"program fetch the %s, by %s",
			f->path, f->kind, wp_provider_secret_name(g->fetch.request->purpose),
			wp_provider_command_option(g->fetch.request->purpose));
	wp_secret_buffer_release(&body);
	return rc;
}

static enum wp_rc by_file(struct gcp *g, const char *path, struct wp_token *ret,
			  struct wp_error *error)
{
	struct file *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory");
	f->path = path;
	enum wp_rc rc = wp_file_text(path, &f->text, error);
	if (rc == WP_OK)
		rc = by_kind(g, f, ret, error);
	wp_secret_text_free(f->text);
	explicit_bzero(f, sizeof(*f));
	free(f);
	return rc;
}

/* Returns WP_AGAIN when it is not set, to look elsewhere; so do the next ones. */
static enum wp_rc by_variable(struct gcp *g, struct wp_token *ret, struct wp_error *error)
{
	const char *path = wp_provider_env("GOOGLE_APPLICATION_CREDENTIALS");

	if (path[0] == '\0')
		return wp_error_set(error, WP_AGAIN, "GOOGLE_APPLICATION_CREDENTIALS is not set");
	return by_file(g, path, ret, error);
}

/* This is the file of gcloud auth application-default login. */
static enum wp_rc by_well_known(struct gcp *g, struct wp_token *ret, struct wp_error *error)
{
	const char *folder = wp_provider_env("CLOUDSDK_CONFIG");
	char path[PATH_SIZE];

	int size = snprintf(path, sizeof(path), "%s%s/application_default_credentials.json",
			    folder[0] != '\0' ? folder : wp_provider_env("HOME"),
			    folder[0] != '\0' ? "" : "/.config/gcloud");
	if (size < 0 || (size_t)size >= sizeof(path) || access(path, F_OK) != 0)
		return wp_error_set(error, WP_AGAIN, "there is no file %s", path);
	return by_file(g, path, ret, error);
}

/* ---- the metadata server ---- */

static struct wp_http_request metadata_request(const struct gcp *g, const char *what, char *url,
					       size_t size)
{
	const char *host = wp_provider_env("GCE_METADATA_HOST");

	/* The server is asked by address: where there is none, nobody knows its name either. */
	(void)snprintf(url, size, "http://%.255s" ACCOUNT "%s",
		       host[0] == '\0' ? "169.254.169.254" : host, what); /* fits */
	struct wp_http_request r = wp_fetch_request(&g->fetch, "GET", url);
	r.headers[0] = "Metadata-Flavor: Google";
	r.is_local = true;
	r.try_ms = METADATA_TRY_MS;
	return r;
}

static enum wp_rc read_email(struct gcp *g, struct wp_error *error)
{
	char url[PATH_SIZE + 256];
	struct wp_http_request r = metadata_request(g, "email", url, sizeof(url));
	struct wp_http_response answer;

	enum wp_rc rc = wp_http_send(&r, &answer, error);
	if (rc == WP_OK) {
		const char *text = wp_secret_buffer_text(&answer.body);
		(void)snprintf(g->email, sizeof(g->email), "%.*s", (int)strcspn(text, "\r\n"),
			       text); /* too long a one is none */
	}
	wp_http_response_release(&answer);
	return rc;
}

static enum wp_rc by_metadata(struct gcp *g, struct wp_token *ret, struct wp_error *error)
{
	char what[256], url[PATH_SIZE + 256];
	struct wp_http_response answer;

	if (strcasecmp(wp_provider_env("NO_GCE_CHECK"), "true") == 0)
		return wp_error_set(error, WP_AGAIN, "NO_GCE_CHECK is true");
	(void)snprintf(what, sizeof(what), "token?scopes=%s", g->scope); /* fits */
	struct wp_http_request r = metadata_request(g, what, url, sizeof(url));
	enum wp_rc rc = wp_oauth_ask(&g->fetch, &r, ret, &answer, error);
	/* There is no such server, as far as anyone can tell, or no account. */
	bool is_none =
		(rc == WP_IO && !answer.was_connected) || (rc == WP_CONFIG && answer.status == 404);
	wp_http_response_release(&answer);
	if (is_none)
		return WP_AGAIN;
	return rc == WP_OK ? read_email(g, error) : rc;
}

static enum wp_rc (*const places[])(struct gcp *, struct wp_token *,
				    struct wp_error *) = { by_variable, by_well_known,
							   by_metadata };

static enum wp_rc look(void *context, size_t place, struct wp_error *error)
{
	struct gcp *g = context;

	return places[place](g, g->ret, error);
}

/* Google's Kafka takes it in a form of its own, which names the account. */
static enum wp_rc wrap(const struct gcp *g, struct wp_token *t, struct wp_error *error)
{
	struct wp_buffer text;

	if (g->email[0] == '\0')
		return wp_error_set(
			error, WP_CONFIG,
			"Google's Kafka requires the account's e-mail address, which these "
			"credentials do not contain; use those of a service account");
	if (t->expires_at_ms == 0)
		return wp_error_set(error, WP_IO,
				    "Google answered with an access token without its lifetime");
	enum wp_rc rc = wp_secret_buffer_init(&text, WP_TOKEN_SIZE_MAX, error);
	if (rc == WP_OK)
		rc = wp_gcp_kafka_token(g->email, t->text, g->fetch.now_ms / MS_PER_S,
					t->expires_at_ms / MS_PER_S, &text);
	if (rc == WP_OK)
		rc = wp_token_set(t, wp_buffer_span(&text), error);
	else
		rc = wp_error_set(error, rc == WP_FULL ? WP_IO : rc,
				  "Google's access token is too long");
	wp_secret_buffer_release(&text);
	return rc;
}

enum wp_rc wp_login_gcp(const struct wp_login_request *r, struct wp_token *ret,
			struct wp_error *error)
{
	struct gcp g = { .fetch = wp_fetch_begin(r),
			 .scope = r->purpose == WP_LOGIN_FOR_KAFKA ? SCOPE_KAFKA : SCOPE_POSTGRES,
			 .ret = ret,
			 .email = "" };

	enum wp_rc rc = wp_provider_look_everywhere("Google", sizeof(places) / sizeof(places[0]),
						    look, &g, error);
	if (rc == WP_OK && r->purpose == WP_LOGIN_FOR_KAFKA)
		rc = wrap(&g, ret, error);
	if (rc == WP_OK)
		(void)snprintf(ret->principal, sizeof(ret->principal), "%s",
			       g.email[0] == '\0' ? "google" : g.email);
	else
		wp_token_release(ret);
	return rc;
}

/* Logs in to Azure's Postgres and Event Hubs with a token of Entra ID. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "oauth.h"
#include "walpost/base/file_text.h"
#include "walpost/base/host_name.h"
#include "walpost/base/percent.h"
#include "walpost/base/secret_buffer.h"

#define URL_SIZE 1536
#define FORM_SIZE_MAX ((size_t)64 * 1024)
#define HEADER_SIZE 512
#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define METADATA_TRY_MS 10000

struct azure {
	struct wp_fetch fetch;
	struct wp_token *ret;
	char audience[320]; /* whom the token is for: https://name.servicebus.windows.net */
};

/* ---- whom it is for ---- */

/* Azure's Postgres has one audience for all servers of a cloud; that of Event Hubs is the
 * namespace. */
static void find_audience(const struct wp_login_request *r, char *ret, size_t size)
{
	size_t host_size = strlen(r->host);

	if (r->purpose == WP_LOGIN_FOR_KAFKA) {
		(void)snprintf(ret, size, "https://%.255s", r->host); /* fits, as do the next */
		for (char *c = ret; *c != '\0'; c++)
			*c = (char)tolower((unsigned char)*c);
	} else if (wp_host_ends_with(r->host, host_size, ".chinacloudapi.cn"))
		(void)snprintf(ret, size, "https://ossrdbms-aad.database.chinacloudapi.cn");
	else if (wp_host_ends_with(r->host, host_size, ".usgovcloudapi.net"))
		(void)snprintf(ret, size, "https://ossrdbms-aad.database.usgovcloudapi.net");
	else
		(void)snprintf(ret, size, "https://ossrdbms-aad.database.windows.net");
}

/* ---- Entra ID: a secret, or a token of Kubernetes ---- */

static enum wp_rc find_authority(const char *tenant, char *ret, size_t size, struct wp_error *error)
{
	const char *host = wp_provider_env("AZURE_AUTHORITY_HOST");

	if (host[0] == '\0')
		host = "https://login.microsoftonline.com";
	int host_size = (int)strlen(host);
	if (host[host_size - 1] == '/')
		host_size--;
	int written = snprintf(ret, size, "%.*s/%s/oauth2/v2.0/token", host_size, host, tenant);
	return written < 0 || (size_t)written >= size
		       ? wp_error_set(error, WP_CONFIG,
				      "AZURE_AUTHORITY_HOST or AZURE_TENANT_ID is too long; "
				      "correct it")
		       : WP_OK;
}

/* `name` and `value` are what shows that it is this client. */
static enum wp_rc ask_authority(const struct azure *a, const char *name, const char *value,
				const char *cure, struct wp_token *ret, struct wp_error *error)
{
	char url[URL_SIZE], scope[sizeof(a->audience) + 16];
	struct wp_buffer body;

	(void)snprintf(scope, sizeof(scope), "%s/.default", a->audience); /* fits */
	enum wp_rc rc = find_authority(wp_provider_env("AZURE_TENANT_ID"), url, sizeof(url), error);
	if (rc != WP_OK)
		return rc;
	rc = wp_secret_buffer_init(&body, FORM_SIZE_MAX, error);
	if (rc != WP_OK)
		return rc;
	struct wp_writer form = { .into = &body, .rc = WP_OK };
	wp_form_put(&form, "grant_type", "client_credentials");
	wp_form_put(&form, "client_id", wp_provider_env("AZURE_CLIENT_ID"));
	wp_form_put(&form, "scope", scope);
	if (strcmp(name, "client_assertion") == 0)
		wp_form_put(&form, "client_assertion_type", ASSERTION_TYPE);
	wp_form_put(&form, name, value);
	struct wp_http_request r = wp_oauth_form(&a->fetch, url, &body, cure);
	rc = form.rc == WP_OK
		     ? wp_oauth_ask(&a->fetch, &r, ret, NULL, error)
		     : wp_error_set(error, WP_CONFIG, "the %s for Azure is too long", name);
	wp_secret_buffer_release(&body);
	return rc;
}

static enum wp_rc need_client(const char *because, struct wp_error *error)
{
	const char *missing = wp_provider_env("AZURE_TENANT_ID")[0] == '\0'   ? "AZURE_TENANT_ID"
			      : wp_provider_env("AZURE_CLIENT_ID")[0] == '\0' ? "AZURE_CLIENT_ID"
									      : NULL;

	return missing == NULL ? WP_OK
			       : wp_error_set(error, WP_CONFIG,
					      "%s is set in the environment without %s; set both",
					      because, missing);
}

/* Returns WP_AGAIN when it is not set, to look elsewhere; so do the next ones. */
static enum wp_rc by_secret(const struct azure *a, struct wp_token *ret, struct wp_error *error)
{
	const char *secret = wp_provider_env("AZURE_CLIENT_SECRET");

	if (secret[0] == '\0')
		return wp_error_set(error, WP_AGAIN, "AZURE_CLIENT_SECRET is not set");
	enum wp_rc rc = need_client("AZURE_CLIENT_SECRET", error);
	if (rc != WP_OK)
		return rc;
	return ask_authority(a, "client_secret", secret,
			     "correct AZURE_TENANT_ID, AZURE_CLIENT_ID or AZURE_CLIENT_SECRET", ret,
			     error);
}

static enum wp_rc by_workload(const struct azure *a, struct wp_token *ret, struct wp_error *error)
{
	const char *path = wp_provider_env("AZURE_FEDERATED_TOKEN_FILE");
	char *token = NULL;

	if (path[0] == '\0')
		return wp_error_set(error, WP_AGAIN, "AZURE_FEDERATED_TOKEN_FILE is not set");
	enum wp_rc rc = need_client("AZURE_FEDERATED_TOKEN_FILE", error);
	if (rc == WP_OK)
		rc = wp_file_text(path, &token, error);
	if (rc != WP_OK)
		return rc;
	token[strcspn(token, "\r\n")] = '\0';
	rc = ask_authority(a, "client_assertion", token,
			   "correct AZURE_TENANT_ID, AZURE_CLIENT_ID or the client's federated "
			   "credential",
			   ret, error);
	wp_secret_text_free(token);
	return rc;
}

/* ---- endpoints of machines ---- */

static enum wp_rc write_url(const struct azure *a, const char *endpoint, const char *version,
			    char *ret, size_t size, struct wp_error *error)
{
	const char *client = wp_provider_env("AZURE_CLIENT_ID");
	struct wp_buffer url;
	struct wp_writer w = { .into = &url, .rc = WP_OK };

	wp_buffer_init(&url, size - 1);
	wp_writer_printf(&w, "%s?api-version=%s&resource=", endpoint, version);
	wp_writer_keep(&w, wp_percent_write(&url, wp_span_of(a->audience), WP_PERCENT_ALL));
	if (client[0] != '\0') {
		wp_writer_put(&w, "&client_id=");
		wp_writer_keep(&w, wp_percent_write(&url, wp_span_of(client), WP_PERCENT_ALL));
	}
	if (w.rc == WP_OK)
		memcpy(ret, wp_secret_buffer_text(&url), url.size + 1);
	wp_buffer_release(&url);
	if (w.rc == WP_FULL)
		return wp_error_set(error, WP_CONFIG, "the URL %s is too long; correct it",
				    wp_http_place_of(endpoint).text);
	return w.rc == WP_OK ? WP_OK : wp_error_set(error, w.rc, "out of memory");
}

/* App Service, Functions and Container Apps have this endpoint. */
static enum wp_rc by_app_service(const struct azure *a, struct wp_token *ret,
				 struct wp_error *error)
{
	const char *endpoint = wp_provider_env("IDENTITY_ENDPOINT");
	const char *secret = wp_provider_env("IDENTITY_HEADER");
	char url[URL_SIZE], header[HEADER_SIZE];

	if (endpoint[0] == '\0')
		return wp_error_set(error, WP_AGAIN, "IDENTITY_ENDPOINT is not set");
	if (secret[0] == '\0')
		return wp_error_set(
			error, WP_CONFIG,
			"IDENTITY_ENDPOINT is set without IDENTITY_HEADER, as Azure Arc "
			"does, which is not supported; let a program fetch the %s, by %s",
			wp_provider_secret_name(a->fetch.request->purpose),
			wp_provider_command_option(a->fetch.request->purpose));
	enum wp_rc rc = write_url(a, endpoint, "2019-08-01", url, sizeof(url), error);
	if (rc != WP_OK)
		return rc;
	struct wp_http_request r = wp_fetch_request(&a->fetch, "GET", url);
	int size = snprintf(header, sizeof(header), "X-IDENTITY-HEADER: %s", secret);
	if (size < 0 || (size_t)size >= sizeof(header) || strpbrk(secret, "\r\n") != NULL)
		rc = wp_error_set(error, WP_CONFIG, "IDENTITY_HEADER is not valid; correct it");
	r.headers[0] = header;
	r.is_local = true;
	r.cure = "assign an identity to the app, and name it by AZURE_CLIENT_ID if it has several";
	if (rc == WP_OK)
		rc = wp_oauth_ask(&a->fetch, &r, ret, NULL, error);
	explicit_bzero(header, sizeof(header));
	return rc;
}

static enum wp_rc by_metadata(const struct azure *a, struct wp_token *ret, struct wp_error *error)
{
	const char *base = wp_provider_env("AZURE_POD_IDENTITY_AUTHORITY_HOST");
	char endpoint[512], url[URL_SIZE];
	struct wp_http_response answer;

	if (base[0] == '\0')
		base = "http://169.254.169.254";
	size_t base_size = strlen(base) - (base[strlen(base) - 1] == '/');
	(void)snprintf(endpoint, sizeof(endpoint), "%.*s/metadata/identity/oauth2/token",
		       (int)(base_size < 256 ? base_size : 256),
		       base); /* a long one is no URL of anything */
	enum wp_rc rc = write_url(a, endpoint, "2018-02-01", url, sizeof(url), error);
	if (rc != WP_OK)
		return rc;
	struct wp_http_request r = wp_fetch_request(&a->fetch, "GET", url);
	r.headers[0] = "Metadata: true";
	r.cure = "assign an identity to the machine, and name it by AZURE_CLIENT_ID if it has "
		 "several";
	r.is_local = true;
	r.try_ms = METADATA_TRY_MS;
	rc = wp_oauth_ask(&a->fetch, &r, ret, &answer, error);
	if (rc == WP_IO && !answer.was_connected)
		rc = WP_AGAIN; /* there is none, as far as anyone can tell */
	else if (rc == WP_CONFIG && (answer.status == 403 || answer.status == 404))
		rc = WP_AGAIN; /* that of another cloud */
	wp_http_response_release(&answer);
	return rc;
}

/* ---- the order in which Azure's SDKs look ---- */

static enum wp_rc (*const places[])(const struct azure *, struct wp_token *,
				    struct wp_error *) = { by_secret, by_workload, by_app_service,
							   by_metadata };

static enum wp_rc look(void *context, size_t place, struct wp_error *error)
{
	const struct azure *a = context;

	return places[place](a, a->ret, error);
}

enum wp_rc wp_login_azure(const struct wp_login_request *r, struct wp_token *ret,
			  struct wp_error *error)
{
	struct azure a = { .fetch = wp_fetch_begin(r), .ret = ret };

	find_audience(r, a.audience, sizeof(a.audience));
	enum wp_rc rc = wp_provider_look_everywhere("Azure", sizeof(places) / sizeof(places[0]),
						    look, &a, error);
	if (rc == WP_OK && ret->principal[0] == '\0')
		(void)snprintf(ret->principal, sizeof(ret->principal), "azure");
	return rc;
}

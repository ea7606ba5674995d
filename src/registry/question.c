#include "question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/base64.h"
#include "walpost/base/clock.h"
#include "walpost/base/percent.h"
#include "walpost/base/secret_buffer.h"
#include "walpost/base/secret_file.h"
#include "walpost/http_client/answer_fields.h"

#define URL_SIZE_MAX 8192
#define LOGIN_SIZE_MAX ((size_t)32 * 1024)
#define ANSWER_SIZE_MAX ((size_t)8 * 1024 * 1024) /* it holds the schema's whole text */

enum { ANSWER_MS = 10000, SUBJECT_NOT_FOUND = 40401, VERSION_NOT_FOUND = 40402 };

/* ---- the login ---- */

static enum wp_rc write_login(struct wp_buffer *into, const char *basic, const char *bearer)
{
	enum wp_rc rc = WP_OK;

	if (basic[0] != '\0') {
		rc = wp_buffer_append_text(into, "Authorization: Basic ");
		if (rc == WP_OK)
			rc = wp_base64_write(into, wp_span_of(basic));
	} else if (bearer[0] != '\0') {
		rc = wp_buffer_printf(into, "Authorization: Bearer %s", bearer);
	}
	return rc;
}

static enum wp_rc make_login(struct wp_registry_question *q, const struct wp_registry_options *o)
{
	char *basic = wp_secret_now(o->basic_auth_file, o->basic_auth);
	char *bearer = wp_secret_now(o->bearer_token_file, o->bearer_token);
	struct wp_buffer login = { 0 };
	enum wp_rc rc = basic != NULL && bearer != NULL ? WP_OK : WP_NOMEM;

	if (rc == WP_OK)
		rc = wp_secret_buffer_init(&login, LOGIN_SIZE_MAX, NULL);
	if (rc == WP_OK)
		rc = write_login(&login, basic, bearer);
	if (rc == WP_OK && login.size > 0) {
		q->login = strdup(wp_secret_buffer_text(&login));
		rc = q->login != NULL ? WP_OK : WP_NOMEM;
	}
	wp_secret_buffer_release(&login);
	wp_secret_text_free(basic);
	wp_secret_text_free(bearer);
	return rc;
}

struct wp_registry_question *wp_registry_question_new(struct wp_subject *subject,
						      const struct wp_registry_options *options)
{
	struct wp_registry_question *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return NULL;
	q->subject = subject;
	q->refresh_ms = options->refresh_ms;
	q->url = strdup(subject->url);
	q->name = strdup(subject->name);
	q->version = subject->version;
	q->ca_file = strdup(options->ca_file);
	if (q->url == NULL || q->name == NULL || q->ca_file == NULL ||
	    make_login(q, options) != WP_OK) {
		wp_registry_question_free(q);
		return NULL;
	}
	return q;
}

void wp_registry_question_free(struct wp_registry_question *q)
{
	if (q == NULL)
		return;
	free(q->url);
	free(q->name);
	wp_secret_text_free(q->login);
	free(q->ca_file);
	free(q);
}

/* ---- the answer ---- */

static enum wp_rc write_url(const struct wp_registry_question *q, struct wp_buffer *into)
{
	size_t size = strlen(q->url);

	while (size > 0 && q->url[size - 1] == '/')
		size--;
	enum wp_rc rc = wp_buffer_append(into, (struct wp_span){ (const uint8_t *)q->url, size });
	if (rc == WP_OK && q->name[0] == '\0')
		rc = wp_buffer_append_text(into, "/schemas/types");
	if (rc == WP_OK && q->name[0] != '\0')
		rc = wp_buffer_append_text(into, "/subjects/");
	if (rc == WP_OK && q->name[0] != '\0')
		rc = wp_percent_write(into, wp_span_of(q->name), WP_PERCENT_ALL);
	if (rc == WP_OK && q->name[0] != '\0' && q->version == 0)
		rc = wp_buffer_append_text(into, "/versions/latest");
	if (rc == WP_OK && q->name[0] != '\0' && q->version != 0)
		rc = wp_buffer_printf(into, "/versions/%lu", (unsigned long)q->version);
	return rc == WP_OK ? wp_buffer_append_byte(into, '\0') : rc;
}

static bool read_kind(struct wp_span body, enum wp_schema_kind *ret)
{
	static const struct {
		const char *name;
		enum wp_schema_kind kind;
	} kinds[] = {
		{ "AVRO", WP_SCHEMA_AVRO },
		{ "PROTOBUF", WP_SCHEMA_PROTOBUF },
		{ "JSON", WP_SCHEMA_JSON },
	};
	struct wp_json value;
	char type[16];

	*ret = WP_SCHEMA_AVRO;
	if (!wp_json_member(body, "schemaType", &value) || value.kind == WP_JSON_NULL)
		return true;
	if (!wp_json_text_member(body, "schemaType", type, sizeof(type)))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, type) == 0) {
			*ret = kinds[i].kind;
			return true;
		}
	}
	return false;
}

/* Reads digits and nothing else: what is nearly an id is another schema's. */
static bool read_number(struct wp_span body, const char *name, uint32_t *ret)
{
	struct wp_json value;
	int64_t number = 0;

	if (!wp_json_member(body, name, &value) || value.kind != WP_JSON_NUMBER)
		return false;
	for (size_t i = 0; i < value.text.size; i++) {
		uint8_t c = value.text.data[i];
		if (c < '0' || c > '9' || number > INT32_MAX / 10)
			return false;
		number = number * 10 + (c - '0');
	}
	*ret = (uint32_t)number;
	return number <= INT32_MAX;
}

static enum wp_rc read_answer(struct wp_registry_question *q, struct wp_span body,
			      const struct wp_http_place *place)
{
	if (q->name[0] == '\0' || (read_number(body, "id", &q->schema.id) &&
				   read_number(body, "version", &q->schema.version) &&
				   (q->version == 0 || q->schema.version == q->version) &&
				   read_kind(body, &q->schema.kind)))
		return WP_OK;
	return wp_error_set(&q->error, WP_CONFIG,
			    "subject %s: what %s answers is not what a schema registry does: "
			    "correct outbox.schema.registry",
			    q->name, place->text);
}

static enum wp_rc explain(struct wp_registry_question *q, const struct wp_http_response *response,
			  enum wp_rc rc, const struct wp_error *error)
{
	struct wp_http_place place = wp_http_place_of(q->url);
	int64_t code = 0;
	const char *of = q->name[0] != '\0' ? "subject " : "the schema registry";

	(void)wp_json_number_member(wp_buffer_span(&response->body), "error_code", &code);
	if (response->status == 404 && code == SUBJECT_NOT_FOUND)
		return wp_error_set(&q->error, rc,
				    "subject %s is not in the schema registry at %s: register its "
				    "schema, or correct outbox.schema.subject, the topic or the "
				    "record name",
				    q->name, place.text);
	if (response->status == 404 && code == VERSION_NOT_FOUND)
		return wp_error_set(&q->error, rc,
				    "subject %s has no version %lu in the schema registry at %s: "
				    "correct outbox.schema.versions",
				    q->name, (unsigned long)q->version, place.text);
	if (response->status == 404)
		return wp_error_set(&q->error, rc,
				    "%s%s: %s answered with status 404, as no schema registry "
				    "does: correct outbox.schema.registry",
				    of, q->name, place.text);
	if (response->status == 401)
		return wp_error_set(&q->error, rc,
				    "%s%s: the schema registry at %s does not accept the login "
				    "(status 401): correct outbox.schema.registry.basic_auth or "
				    "outbox.schema.registry.bearer_token",
				    of, q->name, place.text);
	if (response->status == 403)
		return wp_error_set(&q->error, rc,
				    "%s%s: the schema registry at %s forbids the login to read it "
				    "(status 403): give it the right to read the subject",
				    of, q->name, place.text);
	return wp_error_set(&q->error, rc, "%s%s: %s", of, q->name, error->text);
}

static enum wp_rc ask(struct wp_registry_question *q, const char *url,
		      struct wp_http_connection *connection)
{
	const struct wp_http_request request = {
		.method = "GET",
		.url = url,
		.headers = { "Accept: application/vnd.schemaregistry.v1+json, application/json",
			     q->login },
		.ca_file = q->ca_file,
		.ca_option = "outbox.schema.registry.ca_file",
		.deadline_us = wp_clock_us() + ANSWER_MS * INT64_C(1000),
		.answer_max = ANSWER_SIZE_MAX,
		.connection = connection,
	};
	struct wp_http_response response;
	struct wp_http_place place = wp_http_place_of(q->url);
	struct wp_error error;

	enum wp_rc rc = wp_http_send(&request, &response, &error);
	rc = rc == WP_OK ? read_answer(q, wp_buffer_span(&response.body), &place)
			 : explain(q, &response, rc, &error);
	wp_http_response_release(&response);
	return rc;
}

void wp_registry_question_ask(struct wp_registry_question *q, struct wp_http_connection *connection)
{
	struct wp_buffer url;

	wp_buffer_init(&url, URL_SIZE_MAX);
	q->rc = write_url(q, &url);
	if (q->rc == WP_OK)
		q->rc = ask(q, (const char *)url.data, connection);
	else
		(void)wp_error_set(&q->error, q->rc, "subject %.200s: its URL is too long",
				   q->name);
	if (q->rc == WP_FULL)
		q->rc = WP_CONFIG;
	wp_buffer_release(&url);
}

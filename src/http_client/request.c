#include "walpost/http_client/request.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "curl_library.h"
#include "walpost/base/backoff.h"
#include "walpost/base/clock.h"
#include "walpost/base/secret_buffer.h"

#define TRIES_MAX 6
#define PAUSE_FIRST_MS 200
#define PAUSE_MAX_MS 5000
/* The metadata services answer from the host itself; where there are none, nothing answers at all. */
#define LOCAL_CONNECT_MS 1000
/* This is longer than a lost packet is waited for, and short enough for another address or try. */
#define CONNECT_MS 5000
#define MS_PER_S 1000
#define LOGINS_CA "SSL_CERT_FILE or, of Kafka, in https.ca.location"

struct exchange {
	const struct wp_http_request *request;
	struct wp_http_response *answer;
	const struct wp_curl *curl;
	struct wp_http_place place;
	CURL *easy; /* owned, as is the next */
	struct curl_slist *headers;
	CURLcode code; /* of the last try */
	char details[CURL_ERROR_SIZE];
	int64_t retry_after_ms; /* the least pause that the last answer asks for */
};

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct wp_http_response *a = context;
	struct wp_span bytes = { .data = (const uint8_t *)data, .size = size * count };

	/* Any other result than the size ends the transfer. */
	return wp_buffer_append(&a->body, bytes) == WP_OK ? bytes.size : 0;
}

static int64_t left_ms(const struct wp_http_request *r)
{
	int64_t left_us = r->deadline_us - wp_clock_us();

	return left_us <= 0 ? 0 : left_us / 1000 + 1;
}

/* ---- preparing ---- */

static enum wp_rc copy_headers(struct exchange *x)
{
	/* libcurl adds "Expect" to a body by itself, and would wait for the answer "100
	 * Continue". */
	struct curl_slist *list = x->curl->slist_append(NULL, "Expect:");

	x->headers = list;
	for (size_t i = 0; i < WP_HTTP_HEADERS_MAX && x->request->headers[i] != NULL; i++) {
		if (list != NULL)
			list = x->curl->slist_append(x->headers, x->request->headers[i]);
	}
	return list == NULL ? WP_NOMEM : WP_OK;
}

static void release(struct exchange *x)
{
	struct wp_http_connection *kept = x->request->connection;

	if (x->easy != NULL && kept != NULL) {
		x->curl->easy_reset(x->easy); /* it points to what is of this request */
		kept->easy = x->easy;
	} else if (x->easy != NULL) {
		x->curl->easy_cleanup(x->easy);
	}
	for (struct curl_slist *one = x->headers; one != NULL; one = one->next)
		explicit_bzero(one->data, strlen(one->data));
	x->curl->slist_free_all(x->headers);
}

/* This fails with a wrong kind of value, which is ours, or without memory. */
#define SET(x_, option_, value_) \
	((x_)->curl->easy_setoption((x_)->easy, (option_), (value_)) == CURLE_OK)

static bool set_body(struct exchange *x)
{
	const struct wp_http_request *r = x->request;

	return r->body.data == NULL || (SET(x, CURLOPT_POSTFIELDSIZE, (long)r->body.size) &&
					SET(x, CURLOPT_POSTFIELDS, (const char *)r->body.data));
}

static enum wp_rc set_up(struct exchange *x, struct wp_error *error)
{
	const struct wp_http_request *r = x->request;

	if (r->connection != NULL)
		x->easy = r->connection->easy;
	if (x->easy == NULL)
		x->easy = x->curl->easy_init();
	bool done = x->easy != NULL && copy_headers(x) == WP_OK;
	done = done && SET(x, CURLOPT_URL, r->url) && SET(x, CURLOPT_NOSIGNAL, 1L) &&
	       SET(x, CURLOPT_HTTPHEADER, x->headers) && SET(x, CURLOPT_ERRORBUFFER, x->details) &&
	       SET(x, CURLOPT_USERAGENT, "walpost/" WALPOST_VERSION) &&
	       SET(x, CURLOPT_WRITEFUNCTION, receive) && SET(x, CURLOPT_WRITEDATA, x->answer) &&
	       set_body(x) && SET(x, CURLOPT_CUSTOMREQUEST, r->method);
	long connect_ms = r->is_local ? LOCAL_CONNECT_MS : CONNECT_MS;
	done = done && SET(x, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	if (done && r->is_local)
		done = SET(x, CURLOPT_NOPROXY, "*");
	if (done && r->ca_file[0] != '\0')
		done = SET(x, CURLOPT_CAINFO, r->ca_file);
	return done ? WP_OK : wp_error_set(error, WP_NOMEM, "out of memory");
}

/* ---- one try ---- */

static enum wp_rc try_once(struct exchange *x)
{
	const struct wp_http_request *r = x->request;
	curl_off_t retry_after_s = 0, connected_us = 0;
	int64_t ms = left_ms(r);

	wp_buffer_reset(&x->answer->body);
	x->answer->status = 0;
	x->answer->was_connected = false;
	x->details[0] = '\0';
	x->retry_after_ms = 0;
	if (r->try_ms > 0 && r->try_ms < ms)
		ms = r->try_ms;
	/* 0 means no limit to libcurl. */
	if (!SET(x, CURLOPT_TIMEOUT_MS, (long)(ms > 0 ? ms : 1)))
		return WP_NOMEM;
	x->code = x->curl->easy_perform(x->easy);
	(void)x->curl->easy_getinformation(x->easy, CURLINFO_CONNECT_TIME_T, &connected_us);
	x->answer->was_connected = connected_us > 0;
	if (x->code != CURLE_OK)
		return WP_OK;
	(void)x->curl->easy_getinformation(x->easy, CURLINFO_RESPONSE_CODE, &x->answer->status);
	(void)x->curl->easy_getinformation(x->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > 0 && retry_after_s < INT32_MAX)
		x->retry_after_ms = retry_after_s * MS_PER_S;
	return WP_OK;
}

static bool may_pass(const struct exchange *x)
{
	switch (x->code) {
	case CURLE_OK:
		return wp_http_may_pass(x->answer->status, wp_buffer_span(&x->answer->body));
	case CURLE_COULDNT_CONNECT: /* where there is no metadata service, there will be none */
		return !x->request->is_local;
	case CURLE_OPERATION_TIMEDOUT: /* a request that was sent may be at work still */
		return !x->request->is_local && !x->answer->was_connected;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
	case CURLE_SSL_CONNECT_ERROR:
		return true;
	default:
		return false;
	}
}

/* Returns false when the deadline would pass meanwhile. */
static bool pause_for(struct exchange *x, struct wp_backoff *backoff)
{
	int64_t ms = wp_backoff_next(backoff, (uint64_t)wp_clock_us());

	if (ms < x->retry_after_ms)
		ms = x->retry_after_ms;
	if (ms >= left_ms(x->request))
		return false;
	(void)poll(NULL, 0, (int)ms); /* woken too early, it tries too early */
	return true;
}

static enum wp_rc exchange(struct exchange *x, struct wp_error *error)
{
	struct wp_backoff backoff;
	int tries = 0;

	wp_backoff_init(&backoff, PAUSE_FIRST_MS, PAUSE_MAX_MS);
	do {
		if (try_once(x) != WP_OK)
			return wp_error_set(error, WP_NOMEM, "out of memory");
		tries++;
	} while (may_pass(x) && tries < TRIES_MAX && pause_for(x, &backoff));
	return WP_OK;
}

/* ---- the outcome ---- */

static enum wp_rc explain_nothing(const struct exchange *x, struct wp_error *error)
{
	const char *place = x->place.text;
	const char *why = x->details[0] != '\0' ? x->details : x->curl->easy_error(x->code);

	switch (x->code) {
	case CURLE_OUT_OF_MEMORY:
		return wp_error_set(error, WP_NOMEM, "out of memory");
	case CURLE_WRITE_ERROR:
		return wp_error_set(error, WP_IO,
				    "%s answered with more than %zu KiB, which is not read", place,
				    x->answer->body.size_max / 1024);
	case CURLE_PEER_FAILED_VERIFICATION:
		return wp_error_set(error, WP_CONFIG,
				    "the certificate of %s is not trusted: %s; "
				    "name the file of its authority in %s",
				    place, why,
				    x->request->ca_option != NULL ? x->request->ca_option
								  : LOGINS_CA);
	case CURLE_SSL_CACERT_BADFILE:
		return wp_error_set(
			error, WP_CONFIG,
			"certificates cannot be read from %s for %s: %s; correct the path",
			x->request->ca_file, place, why);
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return wp_error_set(error, WP_CONFIG, "%s is not a valid URL: %s", place, why);
	case CURLE_OPERATION_TIMEDOUT:
		return wp_error_set(error, WP_IO, "%s did not answer in time: %s", place, why);
	default:
		return wp_error_set(error, WP_IO, "%s cannot be reached: %s", place, why);
	}
}

static enum wp_rc explain_refusal(const struct exchange *x, struct wp_error *error)
{
	long status = x->answer->status;
	enum wp_rc rc = wp_http_refusal(&x->place, status, wp_buffer_span(&x->answer->body), error);

	if (rc != WP_CONFIG || status < 400 || x->request->cure == NULL)
		return rc;
	return wp_error_set(error, rc, "%s; %s", error->text, x->request->cure);
}

enum wp_rc wp_http_send(const struct wp_http_request *r, struct wp_http_response *ret,
			struct wp_error *error)
{
	struct exchange x = { .request = r, .answer = ret, .place = wp_http_place_of(r->url) };

	*ret = (struct wp_http_response){ 0 };
	if (strncasecmp(r->url, "https://", 8) != 0 && strncasecmp(r->url, "http://", 7) != 0)
		return wp_error_set(error, WP_CONFIG,
				    "\"%s\" is not a URL of http or https; correct it",
				    x.place.text);
	enum wp_rc rc = WP_OK;
	if (r->answer_max > 0)
		wp_buffer_init(&ret->body, r->answer_max);
	else
		rc = wp_secret_buffer_init(&ret->body, WP_HTTP_RESPONSE_SIZE_MAX, error);
	if (rc != WP_OK)
		return rc;
	rc = wp_curl_load(&x.curl, error);
	if (rc != WP_OK)
		return rc;
	rc = set_up(&x, error);
	if (rc == WP_OK)
		rc = exchange(&x, error);
	if (rc == WP_OK && x.code != CURLE_OK)
		rc = explain_nothing(&x, error);
	else if (rc == WP_OK && (ret->status < 200 || ret->status > 299))
		rc = explain_refusal(&x, error);
	release(&x);
	return rc;
}

void wp_http_response_release(struct wp_http_response *a)
{
	wp_secret_buffer_release(&a->body);
	a->status = 0;
}

void wp_http_connection_release(struct wp_http_connection *c)
{
	const struct wp_curl *curl;

	if (c->easy != NULL && wp_curl_load(&curl, NULL) == WP_OK)
		curl->easy_cleanup(c->easy);
	c->easy = NULL;
}

/*
 * Makes one HTTP request with libcurl. It is sent again, with a growing pause, while the other side is
 * overloaded (429, 5xx) or the connection is lost, until the deadline. No redirect is followed.
 *
 * Owns: the answer. Blocks until the deadline at most. Thread-safe. Bounded: WP_HTTP_RESPONSE_SIZE_MAX, or as
 * the request says.
 */
#ifndef WALPOST_HTTP_CLIENT_REQUEST_H
#define WALPOST_HTTP_CLIENT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/base/buffer.h"
#include "walpost/http_client/refusal.h"

#define WP_HTTP_RESPONSE_SIZE_MAX ((size_t)64 * 1024)
enum { WP_HTTP_HEADERS_MAX = 8 };

/* A connection is kept open from one request to the next, which come one at a time. All zero means that
 * there is none yet. */
struct wp_http_connection {
	void *easy; /* owned; of libcurl */
};

struct wp_http_request {
	const char *method;
	const char *url;			  /* http or https */
	const char *headers[WP_HTTP_HEADERS_MAX]; /* "Name: value"; NULL: no more */
	struct wp_span body;			  /* null: none */
	const char *ca_file;			  /* "" : the system's */
	const char *ca_option; /* that names it, for people; NULL: that of Kafka's logins */
	size_t answer_max;     /* bytes, of what is no secret; 0: WP_HTTP_RESPONSE_SIZE_MAX */
	struct wp_http_connection *connection; /* NULL: for this request alone */
	int64_t deadline_us;		       /* of wp_clock_us() */
	const char *cure; /* what to do where it is refused; NULL: nothing to add */
	int64_t try_ms;	  /* of one try at most; 0: what is left until the deadline */
	bool is_local;	  /* of this machine or its host: no proxy, and connected soon or never */
};

struct wp_http_response {
	long status; /* 0: none came */
	bool was_connected;
	struct wp_buffer body;
};

/*
 * Returns WP_OK for 2xx; WP_CONFIG for another status that stays, a certificate that is not trusted, no URL;
 * WP_IO when nothing came, or 408, 429, 5xx to the end; WP_NOMEM. The error names the URL without its query,
 * the status, and the code that the answer says; `ret` is to be released in any case.
 */
enum wp_rc wp_http_send(const struct wp_http_request *r, struct wp_http_response *ret,
			struct wp_error *error) WP_MUST_CHECK;
void wp_http_response_release(struct wp_http_response *a);
void wp_http_connection_release(struct wp_http_connection *c);

#endif

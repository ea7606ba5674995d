/*
 * A small HTTP server on our loop, for figures and health: GET and HEAD of a few paths, no
 * bodies taken, one answer made for each request. libmicrohttpd speaks the protocol; it has no
 * thread, its epoll descriptor is watched like any other.
 *
 * Nobody who asks can take more than this: CONNECTIONS_MAX connections, a quarter of them from one
 * address, the last CONNECTIONS_KEPT for addresses that have none; REQUEST_SIZE_MAX bytes of a
 * request; REQUEST_S seconds for a request and its answer, and between two of them.
 *
 * Owns: the listening socket, the daemon. Single-threaded: all calls on the loop's thread.
 */
#ifndef WALPOST_HTTP_SERVER_H
#define WALPOST_HTTP_SERVER_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/http/address.h"

struct ev_loop;

#define WP_HTTP_CONNECTIONS_MAX 256
#define WP_HTTP_CONNECTIONS_MAX_OF_ONE 64
#define WP_HTTP_CONNECTIONS_KEPT 16
#define WP_HTTP_REQUEST_SIZE_MAX 8192
#define WP_HTTP_REQUEST_S 10
#define WP_HTTP_ANSWER_SIZE_MAX (4 * 1024 * 1024)

struct wp_http_answer {
	unsigned code;		/* 200, 404, 503 */
	const char *type;	/* Content-Type, constant */
	struct wp_buffer *body; /* to append to; the server's */
};

struct wp_http_setup {
	struct wp_http_address address;
	/* Fills `answer` for a path, "/metrics" without its query. Any other result than WP_OK gives 500. */
	enum wp_rc (*answer)(void *arg, const char *path, struct wp_http_answer *answer);
	/* Called for each answer, with its code. */
	void (*answered)(void *arg, unsigned code);
	void *arg;
};

struct wp_http;

/* Returns WP_CONFIG with the error when the address cannot be listened on; WP_IO, WP_NOMEM. */
enum wp_rc wp_http_new(struct ev_loop *loop, const struct wp_http_setup *setup,
		       struct wp_http **ret, struct wp_error *error) WP_MUST_CHECK;
/* Returns the port that it listens on. */
unsigned wp_http_port(const struct wp_http *h);
/* NULL is fine. */
void wp_http_free(struct wp_http *h);

#endif

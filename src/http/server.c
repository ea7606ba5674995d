#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <ev.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "walpost/http/server.h"

/* 0.9.71 gave the results of callbacks a type of their own. */
#if MHD_VERSION < 0x00097002
#error "libmicrohttpd 0.9.71 or newer is needed"
#endif

#define BACKLOG 64
#define CODE_NOT_ALLOWED 405
#define CODE_FAILED 500

/* A connection belongs to such a peer. */
struct peer {
	uint8_t address[sizeof(struct in6_addr)]; /* of IPv4 the first four bytes */
};

struct client {
	struct MHD_Connection *connection; /* NULL: the place is free */
	struct peer peer;
	ev_tstamp since; /* it was opened, or answered last */
	bool cut_off;
};

struct wp_http {
	struct ev_loop *loop; /* borrowed */
	struct wp_http_setup setup;
	struct MHD_Daemon *daemon; /* owned; it has the socket */
	unsigned port;
	ev_io io;
	ev_timer timer;
	struct client clients[WP_HTTP_CONNECTIONS_MAX];
	size_t client_count;
};

/* ---- answering ---- */

static const struct {
	const char *name;
	const char *value;
} headers[] = {
	{ "Cache-Control", "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src "
				     "'unsafe-inline'; connect-src 'self'" },
};

static enum MHD_Result queue(struct wp_http *h, struct MHD_Connection *connection, unsigned code,
			     const char *type, struct wp_span body)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		body.size, (void *)(uintptr_t)body.data, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result = MHD_NO;

	if (response == NULL)
		return MHD_NO;
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		(void)MHD_add_response_header(response, headers[i].name, headers[i].value);
	if (code == CODE_NOT_ALLOWED)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	if (result == MHD_YES)
		h->setup.answered(h->setup.arg, code);
	return result;
}

static enum MHD_Result queue_text(struct wp_http *h, struct MHD_Connection *connection,
				  unsigned code, const char *text)
{
	return queue(h, connection, code, "text/plain; charset=utf-8", wp_span_of(text));
}

static enum MHD_Result answer(struct wp_http *h, struct MHD_Connection *connection,
			      const char *path)
{
	struct wp_buffer body;
	struct wp_http_answer a = { .code = MHD_HTTP_OK, .body = &body };

	wp_buffer_init(&body, WP_HTTP_ANSWER_SIZE_MAX);
	enum wp_rc rc = h->setup.answer(h->setup.arg, path, &a);
	enum MHD_Result result =
		rc == WP_OK
			? queue(h, connection, a.code, a.type, wp_buffer_span(&body))
			: queue_text(h, connection, CODE_FAILED, "out of memory for an answer\n");
	wp_buffer_release(&body);
	return result;
}

/* This is called first with the headers, then perhaps with a body, which nobody asked for. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	struct wp_http *h = arg;
	bool is_get = strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
		      strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;

	if (!is_get)
		return queue_text(h, connection, CODE_NOT_ALLOWED,
				  "only GET and HEAD are supported\n");
	return answer(h, connection, path);
}

/* What clients do wrong belongs in nobody's log. */
static void on_log(void *arg, const char *format, va_list arguments)
{
}

/* ---- who is connected ---- */

static struct peer peer_of(const struct sockaddr *address)
{
	struct peer p = { 0 };

	if (address->sa_family == AF_INET6)
		memcpy(p.address, &((const struct sockaddr_in6 *)address)->sin6_addr,
		       sizeof(struct in6_addr));
	else if (address->sa_family == AF_INET)
		memcpy(p.address, &((const struct sockaddr_in *)address)->sin_addr,
		       sizeof(struct in_addr));
	return p;
}

static bool is_connected(const struct wp_http *h, const struct peer *peer)
{
	for (size_t i = 0; i < WP_HTTP_CONNECTIONS_MAX; i++)
		if (h->clients[i].connection != NULL &&
		    memcmp(&h->clients[i].peer, peer, sizeof(*peer)) == 0)
			return true;
	return false;
}

/* The last connections are for those who have none yet. */
static enum MHD_Result on_accept(void *arg, const struct sockaddr *address, socklen_t size)
{
	const struct wp_http *h = arg;
	struct peer peer = peer_of(address);

	return h->client_count < WP_HTTP_CONNECTIONS_MAX - WP_HTTP_CONNECTIONS_KEPT ||
			       !is_connected(h, &peer)
		       ? MHD_YES
		       : MHD_NO;
}

/* libmicrohttpd opens no more than there are places. */
static struct client *free_place(struct wp_http *h)
{
	size_t i = 0;

	while (i < WP_HTTP_CONNECTIONS_MAX && h->clients[i].connection != NULL)
		i++;
	assert(i < WP_HTTP_CONNECTIONS_MAX);
	return &h->clients[i];
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct wp_http *h = arg;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		*(struct client *)*context = (struct client){ 0 };
		h->client_count--;
		return;
	}
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct client *c = free_place(h);
	*c = (struct client){ .connection = connection,
			      .peer = peer_of(info->client_addr),
			      .since = ev_now(h->loop) };
	*context = c;
	h->client_count++;
}

static void on_answered(void *arg, struct MHD_Connection *connection, void **request,
			enum MHD_RequestTerminationCode how)
{
	const struct wp_http *h = arg;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	((struct client *)info->socket_context)->since = ev_now(h->loop);
}

/*
 * libmicrohttpd knows idle connections only: who sends a byte now and then would keep one for
 * ever. It sees the end of one that is shut down here, and closes it.
 */
static void cut_off_late_ones(struct wp_http *h)
{
	for (size_t i = 0; i < WP_HTTP_CONNECTIONS_MAX; i++) {
		struct client *c = &h->clients[i];
		if (c->connection == NULL || c->cut_off ||
		    ev_now(h->loop) < c->since + WP_HTTP_REQUEST_S)
			continue;
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		(void)shutdown(info->connect_fd, SHUT_RDWR); /* it may be gone already */
		c->cut_off = true;
	}
}

/* Returns false when nobody is connected. */
static bool next_is_late(const struct wp_http *h, ev_tstamp *ret_s)
{
	bool any = false;

	for (size_t i = 0; i < WP_HTTP_CONNECTIONS_MAX; i++) {
		const struct client *c = &h->clients[i];
		ev_tstamp left_s = c->since + WP_HTTP_REQUEST_S - ev_now(h->loop);
		if (c->connection == NULL || c->cut_off || (any && left_s >= *ret_s))
			continue;
		*ret_s = left_s > 0 ? left_s : 0;
		any = true;
	}
	return any;
}

/* ---- the loop ---- */

static void work(struct wp_http *h)
{
	MHD_UNSIGNED_LONG_LONG wait_ms = 0;
	ev_tstamp wait_s = 0;

	(void)MHD_run(h->daemon);
	ev_timer_stop(h->loop, &h->timer);
	bool waits = next_is_late(h, &wait_s);
	if (MHD_get_timeout(h->daemon, &wait_ms) == MHD_YES &&
	    (!waits || (double)wait_ms / 1e3 < wait_s)) {
		wait_s = (double)wait_ms / 1e3;
		waits = true;
	}
	if (!waits)
		return;
	ev_timer_set(&h->timer, wait_s, 0.);
	ev_timer_start(h->loop, &h->timer);
}

static void io_cb(struct ev_loop *loop, ev_io *w, int events)
{
	work(w->data);
}

static void timer_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	cut_off_late_ones(w->data);
	work(w->data);
}

/* ---- life ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t address_of(const struct wp_http_address *a, union address *ret)
{
	*ret = (union address){ 0 };
	if (a->is_ipv6) {
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons((uint16_t)a->port);
		return inet_pton(AF_INET6, a->host, &ret->v6.sin6_addr) == 1 ? sizeof(ret->v6) : 0;
	}
	ret->v4.sin_family = AF_INET;
	ret->v4.sin_port = htons((uint16_t)a->port);
	return inet_pton(AF_INET, a->host, &ret->v4.sin_addr) == 1 ? sizeof(ret->v4) : 0;
}

static enum wp_rc cannot_listen(const struct wp_http_address *a, const char *reason,
				struct wp_error *error)
{
	return wp_error_set(error, WP_CONFIG, "http.listen: cannot listen on %s%s%s port %u: %s",
			    a->is_ipv6 ? "[" : "", a->host, a->is_ipv6 ? "]" : "", a->port, reason);
}

/* It may be a second relay with a copy of the first one's configuration. */
static enum wp_rc cannot_bind(const struct wp_http_address *a, int errnum, struct wp_error *error)
{
	char reason[200];

	(void)snprintf(reason, sizeof(reason),
		       errnum == EADDRINUSE
			       ? "%s; another process is listening there, perhaps another relay on "
				 "this host: set http.listen to another port, or leave it empty"
			       : "%s",
		       strerror(errnum));
	return cannot_listen(a, reason, error);
}

static int open_socket(const struct wp_http_address *a, struct wp_error *error)
{
	union address address;
	socklen_t size = address_of(a, &address);
	int on = 1;

	if (size == 0) {
		(void)cannot_listen(a, "it is not an address", error);
		return -1;
	}
	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		(void)cannot_listen(a, strerror(errno), error);
		return -1;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &address.any, size) < 0 || listen(fd, BACKLOG) < 0) {
		(void)cannot_bind(a, errno, error);
		(void)close(fd);
		return -1;
	}
	return fd;
}

static unsigned port_of(int fd)
{
	union address address = { 0 };
	socklen_t size = sizeof(address);

	if (getsockname(fd, &address.any, &size) < 0)
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
						       : address.v4.sin_port);
}

static struct MHD_Daemon *start(struct wp_http *h, int fd)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL, 0, on_accept, h, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)WP_HTTP_CONNECTIONS_MAX,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)WP_HTTP_CONNECTIONS_MAX_OF_ONE,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_NOTIFY_COMPLETED,
		on_answered, h, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)WP_HTTP_REQUEST_SIZE_MAX, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
		MHD_OPTION_END);
}

static void watch(struct wp_http *h, int epoll_fd)
{
	ev_io_init(&h->io, io_cb, epoll_fd, EV_READ);
	ev_timer_init(&h->timer, timer_cb, 0., 0.);
	h->io.data = h->timer.data = h;
	ev_set_priority(&h->io, EV_MINPRI); /* the relay's own comes first */
	ev_set_priority(&h->timer, EV_MINPRI);
	ev_io_start(h->loop, &h->io);
}

enum wp_rc wp_http_new(struct ev_loop *loop, const struct wp_http_setup *setup,
		       struct wp_http **ret, struct wp_error *error)
{
	int fd = open_socket(&setup->address, error);

	if (fd < 0)
		return WP_CONFIG;
	struct wp_http *h = calloc(1, sizeof(*h));
	if (h == NULL) {
		(void)close(fd);
		return wp_error_set(error, WP_NOMEM, "out of memory for the HTTP server");
	}
	h->loop = loop;
	h->setup = *setup;
	h->port = port_of(fd);
	h->daemon = start(h, fd);
	if (h->daemon == NULL) {
		(void)close(fd);
		free(h);
		return wp_error_set(error, WP_IO, "cannot start the HTTP server");
	}
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	watch(h, info->epoll_fd);
	*ret = h;
	return WP_OK;
}

unsigned wp_http_port(const struct wp_http *h)
{
	return h->port;
}

void wp_http_free(struct wp_http *h)
{
	if (h == NULL)
		return;
	ev_io_stop(h->loop, &h->io);
	ev_timer_stop(h->loop, &h->timer);
	MHD_stop_daemon(h->daemon);
	free(h);
}

/* Asks the relay itself, by HTTP, what `walpost status` shows of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "status.h"
#include "walpost/base/clock.h"
#include "walpost/cli/cli.h"
#include "walpost/http/address.h"

#define ANSWER_MAX ((size_t)4 * 1024 * 1024)
#define PIECE 8192
#define PATIENCE_US 500000 /* it is on this machine */

static socklen_t address_of(const struct wp_http_address *a, struct sockaddr_storage *ret)
{
	const char *host = wp_http_address_to_ask(a);
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	*ret = (struct sockaddr_storage){ 0 };
	if (a->is_ipv6) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)a->port);
		return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 ? sizeof(*v6) : 0;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)a->port);
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? sizeof(*v4) : 0;
}

/* Returns false if that does not happen before `until_us`. */
static bool wait_for(int fd, short events, int64_t until_us)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int64_t left_us = until_us - wp_clock_us();
		if (left_us <= 0)
			return false;
		int count = poll(&p, 1, (int)(left_us / 1000) + 1);
		if (count > 0)
			return true;
		if (count < 0 && errno != EINTR)
			return false;
	}
}

/* Returns 0, or the errno that says why not. */
static int connect_to(int fd, const struct sockaddr_storage *address, socklen_t size,
		      int64_t until_us)
{
	int errnum = 0;
	socklen_t error_size = sizeof(errnum);

	if (connect(fd, (const struct sockaddr *)address, size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (!wait_for(fd, POLLOUT, until_us))
		return ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &error_size) < 0)
		return errno;
	return errnum;
}

/* Returns 0, or the errno that says why not. */
static int ask(int fd, const char *path, int64_t until_us, struct wp_buffer *answer)
{
	char question[128];
	int size = snprintf(question, sizeof(question),
			    "GET %s HTTP/1.0\r\nConnection: close\r\n\r\n", path);

	if (send(fd, question, (size_t)size, MSG_NOSIGNAL) != size)
		return EPIPE;
	for (;;) {
		if (!wait_for(fd, POLLIN, until_us))
			return ETIMEDOUT;
		if (wp_buffer_reserve(answer, PIECE) != WP_OK)
			return EMSGSIZE;
		ssize_t got = recv(fd, answer->data + answer->size, PIECE, 0);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return got < 0 ? errno : 0;
		answer->size += (size_t)got;
	}
}

static int connect_and_ask(const struct sockaddr_storage *storage, socklen_t size, const char *path,
			   int64_t until_us, struct wp_buffer *answer)
{
	int fd = socket(storage->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int errnum = fd < 0 ? errno : connect_to(fd, storage, size, until_us);

	if (errnum == 0)
		errnum = ask(fd, path, until_us, answer);
	if (fd >= 0)
		(void)close(fd);
	return errnum;
}

/* The answer is "HTTP/1.1 200 OK", headers, an empty line and the body; a NUL ends it here. */
static enum wp_rc take_answer(struct wp_buffer *answer, struct wp_relay_answer *ret,
			      struct wp_error *error)
{
	enum wp_rc rc = wp_buffer_append_byte(answer, '\0');
	const char *body = rc == WP_OK ? strstr((const char *)answer->data, "\r\n\r\n") : NULL;

	if (body == NULL || sscanf((const char *)answer->data, "HTTP/%*u.%*u %u", &ret->code) != 1)
		return wp_error_set(error, WP_IO, "the server at http.listen is not walpost");
	ret->body = body + 4;
	return WP_OK;
}

enum wp_rc wp_slot_status_ask_relay(const char *listen, const char *path, int64_t patience_us,
				    struct wp_relay_answer *ret, struct wp_error *error)
{
	int64_t until_us = wp_clock_us() + patience_us;
	struct sockaddr_storage storage;
	struct wp_http_address address;
	struct wp_error inner;

	wp_buffer_init(&ret->buffer, ANSWER_MAX);
	if (wp_http_address_parse(listen, &address, &inner) != WP_OK)
		return wp_error_set(error, WP_CONFIG, "http.listen: %s", inner.text);
	socklen_t size = address_of(&address, &storage);
	if (size == 0)
		return wp_error_set(error, WP_CONFIG, "http.listen: \"%s\" is not an address",
				    listen);
	int errnum = connect_and_ask(&storage, size, path, until_us, &ret->buffer);
	if (errnum != 0)
		return wp_error_set(error, WP_IO, "no relay answers at %s port %u: %s",
				    wp_http_address_to_ask(&address), address.port,
				    strerror(errnum));
	return take_answer(&ret->buffer, ret, error);
}

/* -- what only the relay knows ------------------------------------------------------- */

/* The list of an earlier look has been released. */
void wp_slot_status_ask_dropped(struct wp_slot_status *s)
{
	struct wp_relay_answer answer;
	struct wp_error error;

	if (s->config.http.listen[0] == '\0')
		return;
	enum wp_rc rc = wp_slot_status_ask_relay(s->config.http.listen, "/status", PATIENCE_US,
						 &answer, &error);
	json_t *said = rc == WP_OK ? json_loads(answer.body, 0, NULL) : NULL;
	const char *slot = json_string_value(json_object_get(said, "slot"));
	if (slot != NULL && strcmp(slot, s->config.postgres.slot) == 0)
		s->dropped = json_incref(json_object_get(said, "dropped"));
	json_decref(said);
	wp_buffer_release(&answer.buffer);
}

static json_int_t count(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

void wp_slot_status_print_dropped(FILE *to, const struct wp_slot_status *s)
{
	for (size_t i = 0; i < json_array_size(s->dropped); i++) {
		const json_t *one = json_array_get(s->dropped, i);
		wp_cli_say(to,
			   "%-20s %lld expired, %lld of a skipped type, of %s since the relay "
			   "started\n",
			   "dropped", (long long)count(one, "expired"),
			   (long long)count(one, "type"),
			   json_string_value(json_object_get(one, "outbox")));
	}
}

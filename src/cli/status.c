#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "status.h"
#include "walpost/base/clock.h"
#include "walpost/cli/cli.h"
#include "walpost/http/address.h"

/* `status --local`: asks the relay of this configuration, on this machine, whether it lives. */
#define PATIENCE_US (5 * 1000 * 1000)
#define ANSWER_MAX 8192

static const char question[] = "GET /livez HTTP/1.0\r\nConnection: close\r\n\r\n";

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

/* False: not before `until_us`. */
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

/* 0, or why not. */
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

static int ask(int fd, int64_t until_us, char answer[ANSWER_MAX])
{
	size_t size = 0;

	if (send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) != sizeof(question) - 1)
		return EPIPE;
	while (size < ANSWER_MAX - 1) {
		if (!wait_for(fd, POLLIN, until_us))
			return ETIMEDOUT;
		ssize_t got = recv(fd, answer + size, ANSWER_MAX - 1 - size, 0);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got < 0)
			return errno;
		if (got == 0)
			break;
		size += (size_t)got;
	}
	answer[size] = '\0';
	return 0;
}

/* "HTTP/1.1 200 OK", headers, an empty line, the body. */
static int show_answer(const char *answer)
{
	const char *body = strstr(answer, "\r\n\r\n");
	unsigned code = 0;

	if (sscanf(answer, "HTTP/%*u.%*u %u", &code) != 1 || body == NULL)
		return wp_cli_fail(WP_EXIT_FAILED, "the server at http.listen is not walpost");
	(void)fputs(body + 4, stdout); /* wp_cli_done() looks */
	int exit_code = wp_cli_done();
	return exit_code == WP_EXIT_OK && code != 200 ? WP_EXIT_FAILED : exit_code;
}

/* `listen` as http.listen has it. Prints the answer; returns the exit code. Within 5 seconds. */
static int status_local(const char *listen)
{
	int64_t until_us = wp_clock_us() + PATIENCE_US;
	struct sockaddr_storage storage;
	struct wp_http_address address;
	char answer[ANSWER_MAX];
	struct wp_error error;

	if (listen[0] == '\0')
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "http.listen is not set, so the relay cannot be queried; set it "
				   "for the relay, for example http.listen = 9187");
	if (wp_http_address_parse(listen, &address, &error) != WP_OK)
		return wp_cli_fail(WP_EXIT_CONFIG, "http.listen: %s", error.text);
	socklen_t size = address_of(&address, &storage);
	if (size == 0)
		return wp_cli_fail(WP_EXIT_CONFIG, "http.listen: \"%s\" is not an address", listen);
	int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int errnum = fd < 0 ? errno : connect_to(fd, &storage, size, until_us);
	if (errnum == 0)
		errnum = ask(fd, until_us, answer);
	if (fd >= 0)
		(void)close(fd);
	if (errnum != 0)
		return wp_cli_fail(WP_EXIT_FAILED, "no relay answers at %s port %u: %s",
				   wp_http_address_to_ask(&address), address.port,
				   strerror(errnum));
	return show_answer(answer);
}

#define WATCH_SECONDS 2.0
#define WATCH_SECONDS_MAX 3600.0

static int print_json(const struct wp_slot_status *s)
{
	json_t *object = wp_slot_status_json(s, NULL);
	int failed = object == NULL ||
		     json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) != 0;

	json_decref(object);
	if (failed)
		return wp_cli_fail(WP_EXIT_FAILED, "the status cannot be written as JSON");
	printf("\n");
	return wp_cli_done();
}

static int print(const struct wp_slot_status *s, bool json)
{
	if (json)
		return print_json(s);
	wp_slot_status_print(stdout, s, NULL);
	return wp_cli_done();
}

/* What is shown is one thing; whether events flow is the exit code. */
static int show_all(const struct wp_slot_status *s, bool json)
{
	int exit_code = print(s, json);
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_slot_status_exit_code(s->state);
	else
		return exit_code;
	return exit_code == WP_EXIT_OK ? exit_code : wp_cli_fail(exit_code, "%s", s->means.text);
}

static int show(struct wp_slot_status *s, bool json)
{
	struct wp_error error;
	enum wp_rc rc = wp_console_init(&s->console, &error);
	if (rc == WP_OK)
		rc = wp_session_open(&s->session, &s->console, &s->config.postgres,
				     WP_CONNECTION_SQL, &error);
	if (rc == WP_OK)
		rc = wp_slot_status_ask(s, &error);
	int exit_code =
		rc == WP_OK ? show_all(s, json) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_session_release(&s->session);
	wp_console_release(&s->console);
	return exit_code;
}

/* False: it is none, and that was said. */
static bool read_seconds(const char *text, double *ret)
{
	char *end;
	double seconds = *text == '\0' ? WATCH_SECONDS : strtod(text, &end);

	if ((*text == '\0' || *end == '\0') && seconds >= 0.1 && seconds <= WATCH_SECONDS_MAX) {
		*ret = seconds;
		return true;
	}
	(void)wp_cli_fail(WP_EXIT_CONFIG, "--watch %s: a number of seconds from 0.1 to %g", text,
			  WATCH_SECONDS_MAX);
	return false;
}

static int run(struct wp_slot_status *s, const char *watch, bool json)
{
	double seconds;

	if (watch == NULL)
		return show(s, json);
	return read_seconds(watch, &seconds) ? wp_slot_status_watch(s, seconds, json)
					     : WP_EXIT_CONFIG;
}

int wp_command_status(int argc, char **argv)
{
	bool json = false;
	bool local = false;
	const char *watch = NULL;
	const struct wp_cli_option options[] = {
		{ "--json", NULL, "as one JSON object; with --watch one a line", &json, NULL },
		{ "--local", NULL, "check the relay's /livez at http.listen instead of Postgres",
		  &local, NULL },
		{ "--watch", "[SECONDS]", "repeat every 2 s, with rates; Ctrl-C ends it", NULL,
		  &watch },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost status",
		.about = "Shows the relay's progress as Postgres reports it: whether a relay streams, the slot,\n"
"unconfirmed and retained WAL, and the last takeover. --watch repaints in place on a\n"
"terminal; elsewhere it prints one block after another.",
		.options = options,
		.option_count = sizeof(options) / sizeof(options[0]),
		.exits = {
			[WP_EXIT_OK] = "a relay streams from the slot; with --local: it is alive",
			[WP_EXIT_FAILED] = "no relay streams (stopped, halted, or starting), it is stalled, or the server\n"
"     does not answer; with --local: it does not answer, or is stuck",
			[WP_EXIT_HUMAN] = "operator action is required: slot or publication is missing, or the slot is\n"
"     lost or not walpost's",
		},
	};
	struct wp_cli_line line;
	struct wp_slot_status s = { 0 };
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &s.config);
	if (exit_code == WP_EXIT_OK)
		exit_code = local ? status_local(s.config.http.listen) : run(&s, watch, json);
	wp_slot_status_release(&s);
	wp_config_release(&s.config);
	return exit_code;
}

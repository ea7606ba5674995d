/*
 * Preloaded into the program under test to make the world worse than it can be
 * made from outside. Each fault is off unless its variable is set:
 *
 *   SHIM_CONFIRM_EARLY=1        status messages confirm what was received (a broken relay)
 *   SHIM_RESOLVER_HANGS=FILE    while FILE exists, resolving a name never comes back
 *   SHIM_NO_THREADS=FILE        while FILE exists, librdkafka gets no thread
 *   SHIM_DESTROY_MS=N           rd_kafka_destroy takes N ms
 *   SHIM_FATAL=FILE             when FILE appears it is removed, and the idempotent producer
 *                               has met an error that is fatal to it
 *   SHIM_HANGUP=1               a SIGHUP comes when main looks at its standard descriptors
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>

static uint64_t received;
static __thread int no_threads; /* in this call of rd_kafka_new */
static rd_kafka_t *newest;

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static uint64_t be64_at(const char *bytes)
{
	uint64_t n;

	memcpy(&n, bytes, sizeof(n));
	return be64toh(n);
}

static void notice(const char *frame, int size)
{
	/* 'w': start, end, time; 'k': end, time, reply. */
	uint64_t at = 0;

	if (size >= 17 && frame[0] == 'w')
		at = be64_at(frame + 9);
	else if (size >= 9 && frame[0] == 'k')
		at = be64_at(frame + 1);
	if (at > received)
		received = at;
}

int PQgetCopyData(PGconn *conn, char **buffer, int async)
{
	int (*next)(PGconn *, char **, int) =
		(int (*)(PGconn *, char **, int))real("PQgetCopyData");
	int size = next(conn, buffer, async);

	if (size > 0)
		notice(*buffer, size);
	return size;
}

int PQputCopyData(PGconn *conn, const char *buffer, int nbytes)
{
	int (*next)(PGconn *, const char *, int) =
		(int (*)(PGconn *, const char *, int))real("PQputCopyData");
	char changed[34];

	if (getenv("SHIM_CONFIRM_EARLY") == NULL || nbytes != 34 || buffer[0] != 'r')
		return next(conn, buffer, nbytes);
	memcpy(changed, buffer, sizeof(changed));
	uint64_t flush = htobe64(received);
	memcpy(changed + 9, &flush, sizeof(flush));
	return next(conn, changed, nbytes);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **res)
{
	int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
		(int (*)(const char *, const char *, const struct addrinfo *,
			 struct addrinfo **))real("getaddrinfo");
	const char *file = getenv("SHIM_RESOLVER_HANGS");
	int is_number = hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0;

	/* Addresses in numbers need no resolver. */
	if (node != NULL && strspn(node, "0123456789.:") == strlen(node))
		is_number = 1;
	while (file != NULL && !is_number && access(file, F_OK) == 0)
		(void)poll(NULL, 0, 50);
	return next(node, service, hints, res);
}

void rd_kafka_destroy(rd_kafka_t *rk)
{
	void (*next)(rd_kafka_t *) = (void (*)(rd_kafka_t *))real("rd_kafka_destroy");
	const char *ms = getenv("SHIM_DESTROY_MS");

	if (ms != NULL)
		(void)poll(NULL, 0, (int)strtol(ms, NULL, 10));
	next(rk);
}

rd_kafka_t *rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error, size_t size)
{
	rd_kafka_t *(*next)(rd_kafka_type_t, rd_kafka_conf_t *, char *, size_t) =
		(rd_kafka_t * (*)(rd_kafka_type_t, rd_kafka_conf_t *, char *, size_t))
			real("rd_kafka_new");

	const char *file = getenv("SHIM_NO_THREADS");

	no_threads = file != NULL && access(file, F_OK) == 0;
	rd_kafka_t *rk = next(type, conf, error, size);
	no_threads = 0;
	if (type == RD_KAFKA_PRODUCER)
		newest = rk;
	return rk;
}

/* The C library's own does not go through the other. */
int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	int (*next)(thrd_t *, thrd_start_t, void *) =
		(int (*)(thrd_t *, thrd_start_t, void *))real("thrd_create");

	return no_threads ? thrd_nomem : next(thread, start, arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		   void *arg)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))real(
			"pthread_create");

	return no_threads ? EAGAIN : next(thread, attributes, start, arg);
}

rd_kafka_event_t *rd_kafka_queue_poll(rd_kafka_queue_t *queue, int timeout_ms)
{
	rd_kafka_event_t *(*next)(rd_kafka_queue_t *, int) =
		(rd_kafka_event_t * (*)(rd_kafka_queue_t *, int)) real("rd_kafka_queue_poll");
	const char *file = getenv("SHIM_FATAL");

	if (file != NULL && newest != NULL && unlink(file) == 0)
		(void)rd_kafka_test_fatal_error(
			newest, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "planted");
	return next(queue, timeout_ms);
}

/* The arguments that walpost and its libraries give are of one word. */
static int control(const char *name, int fd, int command, long argument)
{
	int (*next)(int, int, ...) = (int (*)(int, int, ...))real(name);

	if (command == F_GETFD && fd == STDIN_FILENO && getenv("SHIM_HANGUP") != NULL)
		(void)raise(SIGHUP);
	return next(fd, command, argument);
}

int fcntl(int fd, int command, ...)
{
	va_list more;

	va_start(more, command);
	long argument = va_arg(more, long);
	va_end(more);
	return control("fcntl", fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
	va_list more;

	va_start(more, command);
	long argument = va_arg(more, long);
	va_end(more);
	return control("fcntl64", fd, command, argument);
}

/*
 * Preloaded into a relay: when was each event where? Stands between the relay and its two
 * libraries and writes, at exit, a line for each event to the file that STAGES_FILE names, in
 * microseconds since 1970 (0: not seen):
 *
 *   id  commit  sent  read  produced  reported  told
 *
 * commit: the commit record's time; sent: by the walsender, from the frame's head; read: taken
 * out of libpq; produced: handed to librdkafka; reported: its delivery report taken;
 * told: the first status whose flush is past its commit.
 */
#include <dlfcn.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define EVENTS_MAX 1000000
#define POSTGRES_EPOCH_US INT64_C(946684800000000)
#define ID_SIZE 37

struct event {
	char id[ID_SIZE];
	uint64_t commit_lsn;
	int64_t commit, sent, read, produced, reported, told;
};

static struct event events[EVENTS_MAX + 1]; /* by ticket, which count from 1 */
static size_t count, told_count;
static uint64_t commit_lsn;
static int64_t commit_us;

static int64_t now_us(void)
{
	struct timeval t;

	(void)gettimeofday(&t, NULL);
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static uint64_t u64(const char *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | (uint8_t)bytes[i];
	return value;
}

static void *next_of(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (function == NULL)
		abort();
	return function;
}

/* 'w', Int64 start, end, sent_at; then a Begin or an Insert whose first column is the id. */
static void look(const char *frame, int size)
{
	const char *body = frame + 25;

	if (size < 25 + 17 || frame[0] != 'w')
		return;
	if (body[0] == 'B') {
		commit_lsn = u64(body + 1);
		commit_us = (int64_t)u64(body + 9) + POSTGRES_EPOCH_US;
	}
	/* 'I', Int32 oid, 'N', Int16 columns, 't', Int32 size, bytes */
	if (body[0] != 'I' || count == EVENTS_MAX || size < 25 + 13 + ID_SIZE - 1)
		return;
	struct event *e = &events[++count];
	memcpy(e->id, body + 13, ID_SIZE - 1);
	e->commit_lsn = commit_lsn;
	e->commit = commit_us;
	e->sent = (int64_t)u64(frame + 17) + POSTGRES_EPOCH_US;
	e->read = now_us();
}

int PQgetCopyData(PGconn *pg, char **buffer, int async)
{
	static int (*real)(PGconn *, char **, int);

	if (real == NULL)
		real = next_of("PQgetCopyData");
	int size = real(pg, buffer, async);
	if (size > 0)
		look(*buffer, size);
	return size;
}

/* Each record has headers: they are made right before it is produced. */
rd_kafka_headers_t *rd_kafka_headers_new(size_t initial)
{
	static rd_kafka_headers_t *(*real)(size_t);

	if (real == NULL)
		real = next_of("rd_kafka_headers_new");
	if (events[count].produced == 0)
		events[count].produced = now_us();
	return real(initial);
}

const rd_kafka_message_t *rd_kafka_event_message_next(rd_kafka_event_t *event)
{
	static const rd_kafka_message_t *(*real)(rd_kafka_event_t *);

	if (real == NULL)
		real = next_of("rd_kafka_event_message_next");
	const rd_kafka_message_t *m = real(event);
	size_t ticket = m == NULL ? 0 : (size_t)(uintptr_t)m->_private;
	if (ticket > 0 && ticket <= count)
		events[ticket].reported = now_us();
	return m;
}

/* 'r', Int64 write, flush */
int PQputCopyData(PGconn *pg, const char *buffer, int size)
{
	static int (*real)(PGconn *, const char *, int);

	if (real == NULL)
		real = next_of("PQputCopyData");
	int rc = real(pg, buffer, size);
	if (rc == 1 && size == 34 && buffer[0] == 'r') {
		uint64_t flush = u64(buffer + 9);
		while (told_count < count && events[told_count + 1].commit_lsn < flush)
			events[++told_count].told = now_us();
	}
	return rc;
}

__attribute__((destructor)) static void write_all(void)
{
	const char *path = getenv("STAGES_FILE");
	FILE *out = path == NULL || count == 0 ? NULL : fopen(path, "w");

	if (out == NULL)
		return;
	for (size_t i = 1; i <= count; i++) {
		const struct event *e = &events[i];
		fprintf(out, "%s %lld %lld %lld %lld %lld %lld\n", e->id, (long long)e->commit,
			(long long)e->sent, (long long)e->read, (long long)e->produced,
			(long long)e->reported, (long long)e->told);
	}
	(void)fclose(out);
}

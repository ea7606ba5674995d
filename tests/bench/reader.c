/*
 * The best reader to nowhere that we know: what a walsender can give. Reads a slot with
 * pgoutput up to a position and throws it away: libpq's buffer made large before, and a
 * pause before the next read when the socket was empty, so that the walsender is not
 * woken for each row, and rows gather in its send buffer behind a small receive window;
 * the pause is as long as it takes GULP_BYTES to come, but PAUSE_US at most.
 *
 *   reader CONNINFO SLOT PUBLICATION END_LSN PAUSE_US GULP_BYTES WINDOW_BYTES
 *
 * Prints {"events": N, "first_s": S, "seconds": S} since its start; an event is a row or a logical
 * message. It confirms nothing.
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static double now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t u64(const char *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | (uint8_t)bytes[i];
	return value;
}

static void give_up(PGconn *pg)
{
	fprintf(stderr, "reader: %s", PQerrorMessage(pg));
	exit(1);
}

static void start(PGconn *pg, const char *slot, const char *publication)
{
	char sql[512];

	PQclear(PQexec(pg, "SELECT pg_catalog.repeat('x', 1000000)"));
	snprintf(sql, sizeof(sql),
		 "START_REPLICATION SLOT %s LOGICAL 0/0 (proto_version '1', publication_names "
		 "'%s', messages 'true')",
		 slot, publication);
	PGresult *result = PQexec(pg, sql);
	if (PQresultStatus(result) != PGRES_COPY_BOTH)
		give_up(pg);
	PQclear(result);
}

struct pace {
	double pause_max_s, gulp; /* bytes */
	double rate;		  /* bytes a second, smoothed over some reads */
	double emptied_s;	  /* when all was taken last */
	double bytes;		  /* since then */
};

/* All was taken: how long to wait for the next gulp? */
static double pause_s(struct pace *p)
{
	double now = now_s(), took = now - p->emptied_s + 1e-6;

	p->rate += (p->bytes / took - p->rate) * (took < 0.01 ? took / 0.01 : 1);
	p->emptied_s = now;
	p->bytes = 0;
	double pause = p->gulp / (p->rate + 1);
	return pause < p->pause_max_s ? pause : p->pause_max_s;
}

static void wait_for_more(PGconn *pg, struct pace *p)
{
	struct pollfd readable = { .fd = PQsocket(pg), .events = POLLIN };

	if (p->bytes > 0) {
		struct timespec pause = { .tv_nsec = (long)(pause_s(p) * 1e9) };
		(void)nanosleep(&pause, NULL);
	}
	(void)poll(&readable, 1, 10000);
	if (!PQconsumeInput(pg))
		give_up(pg);
}

/* The end LSN of a commit, or 0. 'w', three Int64, then the message; see protocol-logicalrep. */
static uint64_t commit_end(const char *frame, int size)
{
	return size >= 25 + 18 && frame[0] == 'w' && frame[25] == 'C' ? u64(frame + 25 + 10) : 0;
}

/* 0: as the kernel sets it. */
static void set_window(PGconn *pg, int bytes)
{
	if (bytes > 0)
		(void)setsockopt(PQsocket(pg), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

int main(int argc, char **argv)
{
	double began = now_s(), first = 0;
	uint32_t high, low;
	uint64_t events = 0;

	if (argc != 8 || sscanf(argv[4], "%" SCNx32 "/%" SCNx32, &high, &low) != 2) {
		fprintf(stderr, "usage: reader CONNINFO SLOT PUBLICATION END_LSN PAUSE_US "
				"GULP_BYTES WINDOW_BYTES\n");
		return 2;
	}
	uint64_t end = (uint64_t)high << 32 | low;
	struct pace pace = { atof(argv[5]) / 1e6, atof(argv[6]), .emptied_s = began };
	PGconn *pg = PQconnectdb(argv[1]);
	if (PQstatus(pg) != CONNECTION_OK)
		give_up(pg);
	set_window(pg, atoi(argv[7]));
	start(pg, argv[2], argv[3]);
	for (;;) {
		char *frame;
		int size = PQgetCopyData(pg, &frame, 1);
		if (size == 0) {
			wait_for_more(pg, &pace);
			continue;
		}
		if (size < 0)
			give_up(pg);
		pace.bytes += size + 5; /* and its type and length */
		bool is_event =
			frame[0] == 'w' && size > 25 && (frame[25] == 'I' || frame[25] == 'M');
		if (is_event && events++ == 0)
			first = now_s() - began;
		uint64_t at = commit_end(frame, size);
		/* A server with nothing more to send says how far it is. */
		if (frame[0] == 'k' && size >= 9)
			at = u64(frame + 1);
		PQfreemem(frame);
		if (at >= end)
			break;
	}
	printf("{\"events\": %" PRIu64 ", \"first_s\": %.4f, \"seconds\": %.4f}\n", events, first,
	       now_s() - began);
	PQfinish(pg);
	return 0;
}

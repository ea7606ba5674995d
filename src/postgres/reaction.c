/* Says what an SQLSTATE calls for, by the phase in which the server gave it. */
#include "walpost/postgres/connection.h"

#include <stddef.h>
#include <string.h>

/*
 * The codes are those of the PostgreSQL documentation, appendix A "PostgreSQL Error Codes". A row
 * names a code or, with two characters, its whole class; the more exact one wins. What the server
 * says of a row it would say again, unless it is listed as passing by itself: that is tried thrice
 * at one place.
 */
struct row {
	const char *code;
	enum wp_reaction by_phase[WP_PHASE_COPY + 1];
};

#define AGAIN_LATER WP_REACT_RECONNECT
#define THRICE WP_REACT_TRY_THRICE
#define CONFIG WP_REACT_STOP_CONFIG
#define HUMAN WP_REACT_STOP_HUMAN

static const struct row rows[] = {
	/* code      connect      sql          start        copy */
	{ "08", { AGAIN_LATER, AGAIN_LATER, AGAIN_LATER, AGAIN_LATER } },
	/* The other side does not understand a startup packet or the TLS negotiation. */
	{ "08P01", { CONFIG, AGAIN_LATER, AGAIN_LATER, AGAIN_LATER } },
	/* Encodings or protocol versions do not fit, or a standby cannot decode. */
	{ "0A000", { CONFIG, CONFIG, CONFIG, HUMAN } },
	/* Some text has no form in UTF-8: the slot is wedged at this row. */
	{ "22021", { CONFIG, HUMAN, HUMAN, HUMAN } },
	{ "22P05", { CONFIG, HUMAN, HUMAN, HUMAN } },
	/* The server does not take a session setting. */
	{ "22023", { CONFIG, CONFIG, CONFIG, THRICE } },
	/* The server is a standby, which is perhaps about to be promoted. */
	{ "25006", { AGAIN_LATER, AGAIN_LATER, AGAIN_LATER, THRICE } },
	{ "28", { CONFIG, CONFIG, CONFIG, CONFIG } },
	{ "3D000", { CONFIG, CONFIG, CONFIG, HUMAN } },
	{ "42", { CONFIG, HUMAN, HUMAN, HUMAN } },
	{ "42501", { CONFIG, CONFIG, CONFIG, HUMAN } },
	{ "42602", { CONFIG, CONFIG, CONFIG, HUMAN } },
	/* At the start there is no such slot; in the copy, no such publication at that place of
	 * the log. */
	{ "42704", { CONFIG, HUMAN, HUMAN, HUMAN } },
	/* Connections, memory or disk are used up: others may give some back. */
	{ "53", { AGAIN_LATER, AGAIN_LATER, AGAIN_LATER, AGAIN_LATER } },
	/* In SQL, a server in recovery refuses a function. At the start, the slot is one of
	 * another database, or is invalidated. */
	{ "55000", { AGAIN_LATER, AGAIN_LATER, HUMAN, HUMAN } },
	{ "55006", { AGAIN_LATER, WP_REACT_STANDBY, WP_REACT_STANDBY, THRICE } },
	/* pg_terminate_backend and the invalidation of a slot in use look alike; the
	 * preflight of the next connection tells them apart. */
	{ "57P01", { AGAIN_LATER, AGAIN_LATER, AGAIN_LATER, AGAIN_LATER } },
	{ "57P02", { AGAIN_LATER, AGAIN_LATER, AGAIN_LATER, AGAIN_LATER } },
	/* The server is starting up or shutting down. */
	{ "57P03", { AGAIN_LATER, AGAIN_LATER, AGAIN_LATER, WP_REACT_LET_GO } },
	{ "57P04", { CONFIG, HUMAN, HUMAN, HUMAN } },
	/* The server's disk fails. */
	{ "58", { AGAIN_LATER, AGAIN_LATER, AGAIN_LATER, AGAIN_LATER } },
	/* The server says "requested WAL segment ... has already been removed". */
	{ "58P01", { AGAIN_LATER, HUMAN, HUMAN, HUMAN } },
	/* These are internal errors, among them rows that are too large to be printed. */
	{ "XX", { AGAIN_LATER, AGAIN_LATER, AGAIN_LATER, THRICE } },
};

static const struct row *find(const char *sqlstate, size_t size)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].code) == size && !strncmp(rows[i].code, sqlstate, size))
			return &rows[i];
	return NULL;
}

enum wp_reaction wp_postgres_reaction(enum wp_connection_phase phase, const char *sqlstate)
{
	if (strlen(sqlstate) != 5)
		return WP_REACT_RECONNECT;
	const struct row *row = find(sqlstate, 5);
	if (!row)
		row = find(sqlstate, 2);
	if (row)
		return row->by_phase[phase];
	return phase == WP_PHASE_COPY ? WP_REACT_TRY_THRICE : WP_REACT_RECONNECT;
}

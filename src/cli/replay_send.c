/*
 * Sends the rows of a replay page by page, at its pace, and goes on where an earlier run has ended.
 */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/cli/cli.h"

enum {
	PAGE = 250, /* rows of a transaction: live events wait behind two of them at most */
	PAGES_A_SECOND = 10, /* with --rate */
	NOBODY_FOR_MS = 3000,
	BAR_WIDTH = 30,
};
#define ASK_EVERY_S 0.02

/* Holds the keys of a row, as text. */
struct bound {
	char *keys[WP_REPLAY_KEYS_MAX]; /* owned */
	size_t count;			/* 0: none */
};

struct sending {
	struct wp_replay *r;
	char job[24];
	struct bound last;
	struct bound until;
	int64_t began_ms;
	int64_t sent_before; /* by earlier runs of the job */
	int64_t heard_ms;    /* when a relay read the slot, last */
	bool said_nobody;
	bool over;
	char ends[2][WP_LSN_TEXT_SIZE]; /* of the log, behind the last page and the one before */
};

static int64_t now_ms(void)
{
	return wp_clock_us() / 1000;
}

/* -- the place in the order ---------------------------------------------------------------------- */

static void release(struct bound *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->keys[i]);
	b->count = 0;
}

/*
 * Takes the keys from one row, from column `first` on, or if `row` is -1 from column `first` of all
 * rows.
 */
static enum wp_rc take_bound(struct bound *b, const PGresult *from, int row, int first,
			     size_t count, struct wp_error *error)
{
	release(b);
	for (size_t i = 0; i < count; i++) {
		bool is_list = row < 0;
		b->keys[i] = strdup(is_list ? PQgetvalue(from, (int)i, first)
					    : PQgetvalue(from, row, first + (int)i));
		if (b->keys[i] == NULL)
			return wp_error_set(error, WP_NOMEM, "out of memory for a key");
		b->count = i + 1;
	}
	return WP_OK;
}

static enum wp_rc read_bound(struct sending *s, const char *array, struct bound *ret,
			     struct wp_error *error)
{
	struct wp_replay *r = s->r;
	struct wp_statement statement;
	PGresult *found;

	if (array[0] == '\0')
		return WP_OK;
	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql,
		   "SELECT k FROM unnest(%L::text[]) WITH ORDINALITY u (k, at) ORDER BY at", array);
	enum wp_rc rc = wp_statement_ask(&statement, &found, error);
	if (rc != WP_OK)
		return rc;
	if ((size_t)PQntuples(found) != r->key_count)
		rc = wp_error_set(error, WP_CONFIG,
				  "replay %s was started with another order or unique key than "
				  "table %s has now: cancel it, and start a new one",
				  s->job, r->outbox->table);
	else
		rc = take_bound(ret, found, -1, 0, r->key_count, error);
	PQclear(found);
	return rc;
}

/* A literal has the type of what it is compared with. */
static void add_bound(struct wp_sql *sql, const struct wp_replay *r, const char *comparison,
		      const struct bound *b)
{
	if (b->count == 0)
		return;
	wp_sql_add(sql, " AND (");
	wp_replay_keys_sql(sql, r, ", ");
	wp_sql_add(sql, ") %s (", comparison);
	for (size_t i = 0; i < b->count; i++)
		wp_sql_add(sql, "%s%L", i > 0 ? ", " : "", b->keys[i]);
	wp_sql_add(sql, ")");
}

/* -- a page ----------------------------------------------------------------------------------------- */

/* Returns WP_DATA with the error if the job is another's, or over. */
static enum wp_rc lock_job(struct sending *s, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *found;

	wp_statement_begin(&statement, &s->r->session);
	wp_sql_add(&statement.sql,
		   "SELECT state, sent FROM walpost.replay WHERE id = %s FOR UPDATE", s->job);
	enum wp_rc rc = wp_statement_ask(&statement, &found, error);
	if (rc != WP_OK)
		return rc;
	if (PQntuples(found) == 0 || strcmp(PQgetvalue(found, 0, 0), "running") != 0)
		rc = wp_error_set(error, WP_DATA, "replay %s was ended by another: it is %s",
				  s->job,
				  PQntuples(found) > 0 ? PQgetvalue(found, 0, 0) : "deleted");
	else if (strtoll(PQgetvalue(found, 0, 1), NULL, 10) != s->r->sent)
		rc = wp_error_set(error, WP_DATA, "another process continues replay %s", s->job);
	PQclear(found);
	return rc;
}

static int page_size(const struct wp_replay *r)
{
	int64_t rows = r->rate > 0 ? (r->rate + PAGES_A_SECOND - 1) / PAGES_A_SECOND : PAGE;

	return (int)(rows < PAGE ? rows : PAGE);
}

/* The rows are read in order, and then sent one by one, in that order. */
static enum wp_rc send_rows(struct sending *s, int *ret_rows, struct wp_error *error)
{
	struct wp_replay *r = s->r;
	char limit[16], name[WP_TABLE_NAME_TEXT_SIZE];
	struct wp_statement statement;
	PGresult *sent;

	(void)snprintf(limit, sizeof(limit), "%d", page_size(r));
	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql, "WITH page AS MATERIALIZED (SELECT o AS r");
	for (size_t i = 0; i < r->key_count; i++)
		wp_sql_add(&statement.sql, ", (%s)::text AS k%s", r->keys[i],
			   (char[]){ (char)('a' + (int)i % 26), (char)('a' + (int)i / 26), '\0' });
	wp_sql_add(&statement.sql, " ");
	wp_replay_chosen_sql(&statement.sql, r);
	add_bound(&statement.sql, r, ">", &s->last);
	add_bound(&statement.sql, r, "<=", &s->until);
	wp_sql_add(&statement.sql, " ORDER BY ");
	wp_replay_keys_sql(&statement.sql, r, ", ");
	wp_sql_add(&statement.sql,
		   " LIMIT %s) SELECT walpost.reissue(%L, %L::regclass, p.r, 'replay %s'", limit,
		   r->postgres.slot, wp_table_name_text(&r->table, name, sizeof(name)), s->job);
	if (r->choice.to_topic != NULL)
		wp_sql_add(&statement.sql, ", topic => %L", r->choice.to_topic);
	wp_sql_add(&statement.sql, "), p.* FROM page p");
	enum wp_rc rc = wp_statement_ask(&statement, &sent, error);
	if (rc != WP_OK)
		return rc;
	*ret_rows = PQntuples(sent);
	if (*ret_rows > 0)
		rc = take_bound(&s->last, sent, *ret_rows - 1, 2, r->key_count, error);
	PQclear(sent);
	return rc;
}

static enum wp_rc move_job(struct sending *s, int rows, struct wp_error *error)
{
	struct wp_replay *r = s->r;
	struct wp_statement statement;
	char count[16];
	PGresult *moved;

	(void)snprintf(count, sizeof(count), "%d", rows);
	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql,
		   "UPDATE walpost.replay SET sent = sent + %s, state = '%s', "
		   "updated_at = pg_catalog.clock_timestamp()",
		   count, rows < page_size(r) ? "done" : "running");
	if (rows > 0)
		wp_sql_add(&statement.sql, ", last_key = ARRAY[");
	for (size_t i = 0; rows > 0 && i < s->last.count; i++)
		wp_sql_add(&statement.sql, "%s%L", i > 0 ? ", " : "", s->last.keys[i]);
	wp_sql_add(&statement.sql, "%s WHERE id = %s", rows > 0 ? "]" : "", s->job);
	enum wp_rc rc = wp_statement_ask(&statement, &moved, error);
	if (rc == WP_OK)
		PQclear(moved);
	return rc;
}

/*
 * Sends a page in one transaction with the job's row, so that each row is sent once, whatever ends
 * us. It waits for no synchronous standby, because the relay may be one.
 */
static enum wp_rc send_page(struct sending *s, struct wp_error *error)
{
	struct wp_replay *r = s->r;
	struct wp_error ignored;
	int rows = 0;

	/* A page is read by an index where there is one, and not by sorting all that is left. */
	enum wp_rc rc =
		wp_session_do(&r->session,
			      "BEGIN; SET LOCAL synchronous_commit = 'local'; "
			      "SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off",
			      error);
	if (rc == WP_OK)
		rc = lock_job(s, error);
	if (rc == WP_OK)
		rc = send_rows(s, &rows, error);
	if (rc == WP_OK)
		rc = move_job(s, rows, error);
	if (rc == WP_OK)
		rc = wp_session_do(&r->session, "COMMIT", error);
	else
		(void)!wp_session_do(&r->session, "ROLLBACK", &ignored);
	if (rc != WP_OK)
		return rc;
	r->sent += rows;
	s->over = rows < page_size(r);
	(void)snprintf(s->ends[1], sizeof(s->ends[1]), "%s", s->ends[0]);
	return wp_reissue_slot_log_end(&r->session, s->ends[0], error);
}

/* -- its pace ---------------------------------------------------------------------------------------- */

static void say_progress(struct sending *s)
{
	static const char full[] = "##############################";
	const struct wp_replay *r = s->r;
	int width = r->total > 0 ? (int)(r->sent * BAR_WIDTH / r->total) : BAR_WIDTH;
	int64_t now = now_ms();
	double seconds = (double)(now - s->began_ms + 1) / 1000.;

	if (width > BAR_WIDTH)
		width = BAR_WIDTH;
	wp_cli_say_progress("[%-*.*s] %" PRId64 " of %" PRId64 " rows, %.0f a second", BAR_WIDTH,
			    width, full, r->sent, r->total,
			    (double)(r->sent - s->sent_before) / seconds);
}

static enum wp_rc interrupted(struct wp_error *error)
{
	return wp_error_set(error, WP_IO, "interrupted");
}

/* Nothing is lost while no relay reads, but what is sent would pile up in the log. */
static void look_for_reader(struct sending *s)
{
	int64_t now = now_ms();

	if (s->r->slot.reads != WP_READS_NOBODY) {
		s->heard_ms = now;
		s->said_nobody = false;
	} else if (now - s->heard_ms > NOBODY_FOR_MS && !s->said_nobody) {
		s->said_nobody = true;
		(void)wp_cli_fail(0,
				  "no relay reads slot %s: waiting for one; interrupt to continue "
				  "later",
				  s->r->postgres.slot);
	}
}

static enum wp_rc await_confirmed(struct sending *s, const char *lsn, struct wp_error *error)
{
	while (lsn[0] != '\0') {
		enum wp_rc rc = wp_reissue_slot_ask(&s->r->slot, lsn, error);
		if (rc != WP_OK || s->r->slot.is_reached)
			return rc;
		look_for_reader(s);
		say_progress(s);
		wp_console_wait(&s->r->console, ASK_EVERY_S);
		if (s->r->console.interrupted)
			return interrupted(error);
	}
	return WP_OK;
}

static enum wp_rc await_rate(struct sending *s, struct wp_error *error)
{
	int64_t sent = s->r->sent - s->sent_before;

	if (s->r->rate == 0)
		return WP_OK;
	for (;;) {
		int64_t due_ms = s->began_ms + sent * 1000 / s->r->rate, now = now_ms();
		if (now >= due_ms)
			return WP_OK;
		say_progress(s);
		wp_console_wait(&s->r->console,
				(double)(due_ms - now < 1000 ? due_ms - now : 1000) / 1000.);
		if (s->r->console.interrupted)
			return interrupted(error);
	}
}

static enum wp_rc send_all(struct sending *s, struct wp_error *error)
{
	enum wp_rc rc = read_bound(s, s->r->last, &s->last, error);

	if (rc == WP_OK)
		rc = read_bound(s, s->r->until, &s->until, error);
	while (rc == WP_OK && !s->over) {
		/* None follows the last page until the one before it is confirmed. */
		rc = await_confirmed(s, s->ends[1], error);
		if (rc == WP_OK)
			rc = await_rate(s, error);
		if (rc == WP_OK && s->r->console.interrupted)
			rc = interrupted(error);
		if (rc == WP_OK)
			rc = send_page(s, error);
		say_progress(s);
	}
	return rc == WP_OK ? await_confirmed(s, s->ends[0], error) : rc;
}

enum wp_rc wp_replay_send(struct wp_replay *r, struct wp_error *error)
{
	struct sending s = { .r = r, .began_ms = now_ms(), .sent_before = r->sent };

	s.heard_ms = s.began_ms;
	(void)snprintf(s.job, sizeof(s.job), "%" PRId64, r->job);
	enum wp_rc rc = send_all(&s, error);
	wp_cli_say_progress("%s", "");
	release(&s.last);
	release(&s.until);
	return rc;
}

/* The ways in which a stream ends, and what the server said before. */
#include "copy_parts.h"

#include <stdio.h>
#include <string.h>

#include "walpost/postgres/connection.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/source/slot_cure.h"

void wp_copy_wake(struct wp_copy *c)
{
	c->setup.wake.call(c->setup.wake.arg);
}

void wp_copy_stop(struct wp_copy *c)
{
	ev_io_stop(c->loop, &c->readable);
	ev_io_stop(c->loop, &c->pause);
	ev_io_stop(c->loop, &c->writable);
}

void wp_copy_enter(struct wp_copy *c, enum wp_copy_state state)
{
	wp_copy_stop(c);
	c->state = state;
	wp_copy_wake(c);
}

static const char *error_field(const PGresult *result, int code)
{
	const char *text = PQresultErrorField(result, code);
	return text ? text : "";
}

static bool is_reissue(const struct wp_copy *c, const char *said)
{
	return c->setup.reissue && wp_publication_is_reissue(said);
}

void wp_copy_hear_notice(void *arg, const PGresult *notice)
{
	struct wp_copy *c = arg;
	(void)snprintf(c->last_notice, sizeof(c->last_notice), "%s",
		       error_field(notice, PG_DIAG_MESSAGE_PRIMARY));
	/* When two are skipped, the configured one is reported first, because it is named first. */
	if (wp_publication_was_skipped(notice) && c->skipped == WP_SKIPPED_NOTHING)
		c->skipped = is_reissue(c, c->last_notice) ? WP_SKIPPED_REISSUE : WP_SKIPPED_OUTBOX;
	wp_connection_log_notice(notice);
}

void wp_copy_watch(struct wp_copy *c)
{
	bool wanted = c->state != WP_COPY_RUNNING || c->reading == WP_READING_ON;
	bool by_socket = c->input == WP_INPUT_WATCHED || c->input == WP_INPUT_LIBPQ ||
			 c->input == WP_INPUT_ENDED;

	if (wanted && by_socket && !wp_copy_is_over(c))
		ev_io_start(c->loop, &c->readable);
	else
		ev_io_stop(c->loop, &c->readable);
}

void wp_copy_closed(struct wp_copy *c)
{
	c->input = wp_copy_has_frames(c) ? WP_INPUT_CLOSED : WP_INPUT_LOST;
}

enum wp_rc wp_copy_take_data(struct wp_copy *c, char **ret_frame, int *ret_size)
{
	int size = PQgetCopyData(c->pg, ret_frame, 1);

	if (size == 0)
		return wp_copy_is_closed(c) ? WP_IO : WP_AGAIN;
	if (size < 0)
		return WP_IO;
	*ret_size = size;
	return WP_OK;
}

enum wp_rc wp_copy_throw_away(struct wp_copy *c)
{
	enum wp_rc rc;

	if (!wp_copy_has_frames(c))
		return WP_IO;
	do {
		char *frame = NULL;
		int size;
		rc = wp_copy_take_data(c, &frame, &size);
		PQfreemem(frame);
	} while (rc == WP_OK && c->skipped == WP_SKIPPED_NOTHING);
	return rc;
}

/* ---- the end ---- */

static void fail_copy(struct wp_copy *c, const struct wp_source_failure *failure)
{
	c->failure = *failure;
	wp_copy_enter(c, WP_COPY_FAILED);
}

static void fail_without_publication(struct wp_copy *c, const char *sqlstate, const char *said)
{
	struct wp_source_failure f = { .reaction = WP_REACT_STOP_HUMAN };
	(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
	const char *name = c->setup.publication;
	(void)wp_error_set(&f.error, WP_CONFIG,
			   "publication \"%.64s\" does not exist at this position of the WAL "
			   "(message from the server: %.200s): the events there cannot be decoded, "
			   "and nothing after them was confirmed. Correct postgres.publication. If "
			   "the publication was dropped or created after the slot: create it where "
			   "walpost check reports it missing. " WP_SLOT_REPLACE,
			   name, said);
	fail_copy(c, &f);
}

/* Nothing is lost: the next stream begins at the same place, and leaves it out. */
static void fail_without_reissue(struct wp_copy *c, const char *sqlstate)
{
	struct wp_source_failure f = { .reaction = WP_REACT_RECONNECT, .reissue_missing = true };
	(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
	(void)wp_error_set(&f.error, WP_IO,
			   "publication \"" WP_REISSUE_PUBLICATION "\" does not exist at this "
			   "position of the WAL: reconnecting without it; it is read again from "
			   "the present on, if it exists");
	fail_copy(c, &f);
}

/* The slot was dropped since its position was read: before the copy the code of a missing
 * publication means that. */
static void fail_without_slot(struct wp_copy *c, const char *sqlstate)
{
	struct wp_source_failure f = { .reaction = WP_REACT_STOP_HUMAN };
	(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
	(void)wp_error_set(&f.error, WP_CONFIG, WP_SLOT_MISSING, c->setup.slot);
	fail_copy(c, &f);
}

void wp_copy_fail_unheard(struct wp_copy *c)
{
	struct wp_source_failure f = { .reaction = WP_REACT_RECONNECT };
	(void)wp_error_set(&f.error, WP_IO,
			   "slot %.64s is not in use by this stream any more, and the server has "
			   "not said why",
			   c->setup.slot);
	fail_copy(c, &f);
}

void wp_copy_fail_skipped(struct wp_copy *c)
{
	if (c->skipped == WP_SKIPPED_REISSUE)
		fail_without_reissue(c, "55000");
	else
		fail_without_publication(c, "55000", c->last_notice);
}

void wp_copy_fail_lost(struct wp_copy *c)
{
	struct wp_source_failure f = { .reaction = WP_REACT_RECONNECT };
	char said[256];
	(void)snprintf(said, sizeof(said), "%s", PQerrorMessage(c->pg));
	said[strcspn(said, "\n")] = '\0';
	(void)wp_error_set(&f.error, WP_IO,
			   "the connection broke without an error from the server: the server "
			   "crashed or stopped, received nothing from walpost within "
			   "wal_sender_timeout, or the network failed (%s%s%s)",
			   said, *c->last_notice ? "; last notice: " : "", c->last_notice);
	fail_copy(c, &f);
}

/*
 * No string of the server holds more than 1 GB: neither a value's text (54000) nor, in
 * other places, the room that is asked for it (an internal error, never translated).
 */
static bool is_row_too_large(const char *sqlstate, const char *said)
{
	return !strcmp(sqlstate, "54000") || strstr(said, "invalid memory alloc request size");
}

static const char *row_size_cure(const struct wp_copy *c, const char *sqlstate, const char *said)
{
	if (c->state == WP_COPY_STARTING || !is_row_too_large(sqlstate, said))
		return "";
	if (c->setup.transfer == WP_TRANSFER_BINARY)
		return " (the row is larger than the server can send)";
	return " (the row is larger than the server can send as text, in which a bytea doubles in "
	       "size: set postgres.binary = on)";
}

void wp_copy_fail_by_server(struct wp_copy *c, const PGresult *result)
{
	const char *sqlstate = error_field(result, PG_DIAG_SQLSTATE);
	const char *said = error_field(result, PG_DIAG_MESSAGE_PRIMARY);
	bool starting = c->state == WP_COPY_STARTING;
	if (!*sqlstate) {
		wp_copy_fail_lost(c);
		return;
	}
	if (!starting && !strcmp(sqlstate, "42704") && is_reissue(c, said)) {
		fail_without_reissue(c, sqlstate);
		return;
	}
	if (!starting && !strcmp(sqlstate, "42704")) {
		fail_without_publication(c, sqlstate, said);
		return;
	}
	if (starting && !strcmp(sqlstate, "42704")) {
		fail_without_slot(c, sqlstate);
		return;
	}
	struct wp_source_failure f = { 0 };
	f.reaction = wp_postgres_reaction(starting ? WP_PHASE_START : WP_PHASE_COPY, sqlstate);
	(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
	const char *detail = error_field(result, PG_DIAG_MESSAGE_DETAIL);
	const char *context = error_field(result, PG_DIAG_CONTEXT);
	(void)wp_error_set(&f.error, WP_IO, "the server %s: %.300s%s%s%.200s%s%.300s",
			   starting ? "did not start the stream" : "ended the stream", said,
			   row_size_cure(c, sqlstate, said), *detail ? "; " : "", detail,
			   *context ? "; " : "", context);
	fail_copy(c, &f);
}

/* The stream ends in good order, by us or because the server shuts down. */
static void end_well(struct wp_copy *c)
{
	wp_copy_enter(c, WP_COPY_FINISHED);
}

void wp_copy_collect_end(struct wp_copy *c)
{
	c->input = wp_copy_is_closed(c) ? WP_INPUT_LOST : WP_INPUT_ENDED;
	while (!wp_copy_is_over(c)) {
		/* PQgetResult() would block only here. */
		if (PQsocket(c->pg) >= 0 && PQisBusy(c->pg)) {
			if (c->input == WP_INPUT_LOST)
				wp_copy_fail_lost(c);
			break;
		}
		PGresult *result = PQgetResult(c->pg);
		switch (PQresultStatus(result)) {
		case PGRES_COPY_IN: /* CopyDone from the server, ours has not been sent */
			(void)PQputCopyEnd(c->pg, NULL); /* politeness: we close anyway */
			(void)PQflush(c->pg);
			end_well(c);
			break;
		case PGRES_COMMAND_OK:
			end_well(c);
			break;
		default:
			if (c->skipped != WP_SKIPPED_NOTHING)
				wp_copy_fail_skipped(c);
			else if (result)
				wp_copy_fail_by_server(c, result);
			else
				wp_copy_fail_lost(c);
		}
		PQclear(result);
	}
	if (!wp_copy_is_over(c))
		wp_copy_watch(c);
}

void wp_copy_abandon(struct wp_copy *c)
{
	wp_copy_closed(c);
	(void)wp_copy_throw_away(c); /* it ends where the frames do */
	if (c->skipped != WP_SKIPPED_NOTHING)
		wp_copy_fail_skipped(c);
	else
		wp_copy_collect_end(c);
}

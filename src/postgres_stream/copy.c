#include "copy_parts.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "walpost/base/buffer.h"
#include "walpost/base/clock.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres_preflight/publication.h"

#define SQL_SIZE_MAX 8192

void wp_copy_finish(struct wp_copy *c)
{
	assert(c->state == WP_COPY_RUNNING);
	c->state = WP_COPY_FINISHING;
	wp_copy_reader_finish(c);
	if (wp_copy_is_closed(c)) {
		wp_copy_abandon(c);
		return;
	}
	wp_copy_watch(c);
	if (wp_copy_has_frames(c))
		wp_copy_write_end(c);
	else
		wp_copy_collect_end(c);
}

/* ---- the beginning ---- */

/* Collects the answer to START_REPLICATION. */
static void collect_start(struct wp_copy *c)
{
	if (!wp_copy_is_closed(c) && PQisBusy(c->pg))
		return;
	PGresult *result = PQgetResult(c->pg);
	if (PQresultStatus(result) == PGRES_COPY_BOTH) {
		wp_copy_reader_begin(c);
		wp_copy_enter(c, WP_COPY_RUNNING);
	} else if (result)
		wp_copy_fail_by_server(c, result);
	else
		wp_copy_fail_lost(c);
	PQclear(result);
	wp_copy_watch(c);
}

static void on_copy_readable(struct ev_loop *loop, ev_io *w, int events)
{
	struct wp_copy *c = w->data;
	bool more = true;

	(void)loop, (void)events; /* one watcher, always for reading */
	switch (c->state) {
	case WP_COPY_STARTING:
		while (more && c->state == WP_COPY_STARTING) {
			more = wp_copy_read_socket(c);
			collect_start(c);
		}
		return;
	case WP_COPY_FINISHING:
		while (more && !wp_copy_is_over(c)) {
			more = wp_copy_read_socket(c);
			wp_copy_discard(c);
		}
		return;
	default:
		wp_copy_ripen(c, wp_clock_us());
		wp_copy_watch(c);
	}
}

/* The replication grammar knows '' and "" and no backslashes (repl_scanner.l). */
static enum wp_rc append_replication_quoted(struct wp_buffer *b, char quote, const char *text)
{
	enum wp_rc rc = wp_buffer_append_byte(b, (uint8_t)quote);
	for (; *text && rc == WP_OK; text++) {
		rc = wp_buffer_append_byte(b, (uint8_t)*text);
		if (rc == WP_OK && *text == quote)
			rc = wp_buffer_append_byte(b, (uint8_t)quote);
	}
	return rc == WP_OK ? wp_buffer_append_byte(b, (uint8_t)quote) : rc;
}

/* The publications are a list of identifiers in a literal: quoted twice. */
static enum wp_rc write_start(struct wp_buffer *b, const struct wp_copy_setup *setup)
{
	char at[WP_LSN_TEXT_SIZE];
	struct wp_buffer name;
	wp_buffer_init(&name, SQL_SIZE_MAX);
	enum wp_rc rc = append_replication_quoted(&name, '"', setup->publication);
	if (rc == WP_OK && setup->reissue)
		rc = wp_buffer_append_text(&name, ",\"" WP_REISSUE_PUBLICATION "\"");
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&name, 0);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(b, "START_REPLICATION SLOT ");
	if (rc == WP_OK)
		rc = append_replication_quoted(b, '"', setup->slot);
	if (rc == WP_OK)
		rc = wp_buffer_printf(b, " LOGICAL %s (proto_version '1', publication_names ",
				      wp_lsn_text(setup->at, at));
	if (rc == WP_OK)
		rc = append_replication_quoted(b, '\'', (const char *)name.data);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(b, setup->transfer == WP_TRANSFER_BINARY
						      ? ", messages 'true', binary 'true')"
						      : ", messages 'true')");
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(b, 0);
	wp_buffer_release(&name);
	return rc;
}

static enum wp_rc send_start(struct wp_copy *c, struct wp_error *error)
{
	struct wp_buffer sql;
	wp_buffer_init(&sql, SQL_SIZE_MAX);
	enum wp_rc rc = write_start(&sql, &c->setup);
	if (rc != WP_OK)
		(void)wp_error_set(error, rc, "START_REPLICATION would be too long");
	else if (!PQsendQuery(c->pg, (const char *)sql.data))
		rc = wp_error_set(error, WP_IO, "cannot send START_REPLICATION: %s",
				  PQerrorMessage(c->pg));
	wp_buffer_release(&sql);
	return rc;
}

enum wp_rc wp_copy_new(struct ev_loop *loop, PGconn *pg, const struct wp_copy_setup *setup,
		       struct wp_copy **ret, struct wp_error *error)
{
	struct wp_copy *c = calloc(1, sizeof(*c));
	if (!c)
		return wp_error_set(error, WP_NOMEM, "out of memory for a stream");
	*c = (struct wp_copy){ .loop = loop, .pg = pg, .setup = *setup };
	enum wp_rc rc = WP_OK;
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer < 0)
		rc = wp_error_set(error, WP_NOMEM, "no timerfd for a stream: %s", strerror(errno));
	if (rc == WP_OK)
		rc = send_start(c, error);
	if (rc != WP_OK) {
		if (timer >= 0)
			(void)close(timer);
		free(c);
		return rc;
	}
	(void)PQsetNoticeReceiver(pg, wp_copy_hear_notice, c);
	ev_io_init(&c->readable, on_copy_readable, PQsocket(pg), EV_READ);
	c->readable.data = c;
	wp_copy_reader_init(c, timer);
	wp_copy_watch(c);
	wp_copy_writer_init(c);
	*ret = c;
	return WP_OK;
}

void wp_copy_free(struct wp_copy *c)
{
	if (!c)
		return;
	wp_copy_stop(c);
	wp_connection_log_notices(c->pg);
	wp_copy_reader_release(c);
	free(c);
}

enum wp_copy_state wp_copy_state(const struct wp_copy *c)
{
	return c->state;
}

const struct wp_source_failure *wp_copy_failure(const struct wp_copy *c)
{
	return &c->failure;
}

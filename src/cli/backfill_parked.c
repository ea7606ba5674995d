/*
 * Tells `walpost backfill` which events are parked, and which were discarded with `walpost parked`
 * or `walpost slot skip`.
 */
#define _GNU_SOURCE /* qsort_r() */
#include "backfill.h"

#include <stdlib.h>
#include <string.h>

static enum wp_rc find_tables(struct wp_backfill *b, bool *ret_parked, bool *ret_skip,
			      struct wp_error *error)
{
	PGresult *r;
	enum wp_rc rc =
		wp_session_query(&b->session,
				 "SELECT count(*) FILTER (WHERE c.relname = 'parked') = 1, "
				 "count(*) FILTER (WHERE c.relname = 'skip' "
				 "AND pg_catalog.has_table_privilege(c.oid, 'SELECT')) = 1 "
				 "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
				 "ON n.oid = c.relnamespace WHERE n.nspname = 'walpost'",
				 &r, error);

	if (rc != WP_OK)
		return rc;
	*ret_parked = *PQgetvalue(r, 0, 0) == 't';
	*ret_skip = *PQgetvalue(r, 0, 1) == 't';
	PQclear(r);
	return WP_OK;
}

static enum wp_rc ask(struct wp_backfill *b, const char *template, PGresult **ret,
		      struct wp_error *error)
{
	struct wp_statement statement;

	wp_statement_begin(&statement, &b->session);
	wp_sql_add(&statement.sql, template, b->postgres.slot);
	return wp_statement_ask(&statement, ret, error);
}

static int compare(struct wp_span a, struct wp_span b)
{
	size_t size = a.size < b.size ? a.size : b.size;
	int order = size == 0 ? 0 : memcmp(a.data, b.data, size);

	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_act(const PGresult *acts, int row, struct wp_span outbox, struct wp_span id)
{
	int order = compare(wp_span_of(PQgetvalue(acts, row, 0)), outbox);

	return order != 0 ? order : compare(wp_span_of(PQgetvalue(acts, row, 1)), id);
}

static int compare_acts(const void *a, const void *b, void *acts)
{
	int other = *(const int *)b;

	return compare_act(acts, *(const int *)a, wp_span_of(PQgetvalue(acts, other, 0)),
			   wp_span_of(PQgetvalue(acts, other, 1)));
}

/* The acts are sorted here, because a server with another encoding has another order. */
static enum wp_rc sort_acts(struct wp_backfill *b, struct wp_error *error)
{
	int count = PQntuples(b->discarded);

	b->discarded_order = calloc((size_t)count + 1, sizeof(b->discarded_order[0]));
	if (b->discarded_order == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the discarded events");
	for (int i = 0; i < count; i++)
		b->discarded_order[i] = i;
	qsort_r(b->discarded_order, (size_t)count, sizeof(b->discarded_order[0]), compare_acts,
		b->discarded);
	return WP_OK;
}

/* Asks for the newest acts, at most as many as rows are compared. */
static enum wp_rc find_acts(struct wp_backfill *b, struct wp_error *error)
{
	enum wp_rc rc =
		ask(b,
		    "SELECT outbox, id_of_event FROM walpost.parked_acts WHERE slot = %L "
		    "AND act IN ('skip', 'purge') AND id_of_event IS NOT NULL ORDER BY id DESC "
		    "LIMIT 1000000",
		    &b->discarded, error);

	return rc == WP_OK ? sort_acts(b, error) : rc;
}

/* The ids of skipped events are not recorded, and their number only if they could be listed. */
static enum wp_rc count_skipped(struct wp_backfill *b, struct wp_error *error)
{
	PGresult *r;
	enum wp_rc rc = ask(b,
			    "SELECT coalesce(sum(events), 0)::bigint, count(*) > count(events) "
			    "FROM walpost.skip WHERE slot = %L",
			    &r, error);

	if (rc != WP_OK)
		return rc;
	b->skipped = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
	b->skipped_more = *PQgetvalue(r, 0, 1) == 't';
	PQclear(r);
	return WP_OK;
}

enum wp_rc wp_backfill_find_parked(struct wp_backfill *b, struct wp_error *error)
{
	bool has_parked, has_skip;
	enum wp_rc rc = find_tables(b, &has_parked, &has_skip, error);

	if (rc == WP_OK && has_skip)
		rc = count_skipped(b, error);
	if (rc == WP_OK && has_parked)
		rc = find_acts(b, error);
	if (rc == WP_OK && has_parked)
		rc = ask(b,
			 "SELECT outbox, key, count(*) FROM walpost.parked WHERE slot = %L "
			 "GROUP BY 1, 2",
			 &b->parked, error);
	if (rc == WP_OK && has_parked && PQntuples(b->parked) > 0)
		b->diff.reading.parked = b->postgres.slot;
	return rc;
}

bool wp_backfill_is_parked(const struct wp_backfill *b, const struct wp_event *event)
{
	for (int row = 0; b->parked != NULL && row < PQntuples(b->parked); row++) {
		if (wp_span_is(wp_span_of(event->table), PQgetvalue(b->parked, row, 0)) &&
		    !PQgetisnull(b->parked, row, 1) && !wp_span_is_null(event->key) &&
		    wp_span_is(event->key, PQgetvalue(b->parked, row, 1)))
			return true;
	}
	return false;
}

static bool was_discarded(const struct wp_backfill *b, const struct wp_event *event)
{
	int low = 0, high = b->discarded == NULL ? 0 : PQntuples(b->discarded);

	while (low < high) {
		int middle = low + (high - low) / 2;
		int order = compare_act(b->discarded, b->discarded_order[middle],
					wp_span_of(event->table), event->id);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

void wp_backfill_judge_discarded(struct wp_backfill *b, const struct wp_event *event)
{
	if (wp_span_is_null(event->id) || !was_discarded(b, event))
		return;
	if (b->discarded_rows < WP_BACKFILL_DISCARDED_SHOWN)
		(void)wp_excerpt(&b->discarded_ids[b->discarded_rows], event->id);
	b->discarded_rows++;
}

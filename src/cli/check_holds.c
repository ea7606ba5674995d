/*
 * Reads what the slot still holds, if nobody else reads it: is there a row at which a relay would
 * stop? Whatever publication and configuration are now, such a row is in the log already. It is
 * read from a copy of the slot, which nobody else sees and which the server drops with our session.
 *
 * Bounded: no reading begins after PATIENCE_MS, none takes longer than that; then what was read
 * until then is told.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "walpost/base/clock.h"
#include "walpost/base/utf8.h"
#include "walpost/cli/changes.h"
#include "walpost/cli/outbox.h"
#include "walpost/base/display.h"
#include "walpost/kafka/batch.h"
#include "walpost/outbox/survey.h"

enum { PATIENCE_MS = 10000 };
#define PATIENCE_SQL "SET statement_timeout = '10s'"
#define QUOTED_SIZE 900 /* names of others are cut here: the sentence has more to say */

/* No position of an event is told here, so that no timeline matters. */
static const struct wp_timelines any_timeline = { .current = 1 };

struct holds {
	struct wp_check *c;
	struct wp_partitions partitions; /* owned */
	struct wp_cli_catalog catalog;
	struct wp_survey *survey; /* owned */
	bool whole;		  /* it was read to its end */
	struct wp_error refused;  /* the first event that can never be sent; "" : none */
	uint64_t refused_count;
	wp_lsn refused_until;
};

/* Cuts the text between characters, because a finding is JSON, too. */
static const char *quoted(char text[QUOTED_SIZE], const char *whole)
{
	size_t size = strnlen(whole, QUOTED_SIZE);

	if (size == QUOTED_SIZE)
		size--;
	memcpy(text, whole, size);
	text[size] = '\0';
	if (whole[size] != '\0')
		wp_utf8_cut(text, size);
	return text;
}

static void note_refused(struct holds *h, const struct wp_survey_event *e)
{
	char error[QUOTED_SIZE];
	struct wp_excerpt id;

	if (h->refused_count++ == 0)
		(void)wp_error_set(&h->refused, WP_DATA, "%s%s, id %s: %s",
				   e->is_message ? "" : "table ", e->table, wp_excerpt(&id, e->id),
				   quoted(error, e->error.text));
	h->refused_until = e->position.commit_lsn + 1;
}

/* Returns NULL if there is no topic, or no room for one more. */
static struct wp_check_held *held_of(struct wp_check *c, const char *topic)
{
	size_t i = c->held_count;

	while (i > 0 && strcmp(c->held[i - 1].topic, topic) != 0)
		i--;
	if (i > 0)
		return &c->held[i - 1];
	if (topic[0] == '\0' || c->held_count == WP_CHECK_TOPICS_MAX)
		return NULL;
	struct wp_check_held *held = &c->held[c->held_count++];
	(void)snprintf(held->topic, sizeof(held->topic), "%s", topic);
	return held;
}

static void note_topic(struct holds *h, const struct wp_survey_event *e)
{
	struct wp_check_held *held = held_of(h->c, e->topic);
	struct wp_record record;

	if (held == NULL || !wp_survey_record(h->survey, &record))
		return;
	size_t size = wp_batch_size_of_one(&record);
	if (size < held->largest.size)
		return;
	held->largest.size = size;
	held->largest.until = e->position.commit_lsn + 1;
	(void)wp_excerpt(&held->largest.id, e->id);
}

static enum wp_rc take_once(void *arg, struct wp_span message, struct wp_error *error)
{
	struct holds *h = arg;
	struct wp_survey_event event;
	bool is_event;
	enum wp_rc rc = wp_survey_take(h->survey, message, message.size, &event, &is_event, error);

	if (rc == WP_OK && is_event && event.is_refused)
		note_refused(h, &event);
	if (rc == WP_OK && is_event)
		note_topic(h, &event);
	return rc;
}

static enum wp_rc take(void *arg, struct wp_span message, struct wp_error *error)
{
	struct holds *h = arg;

	return wp_cli_offer(&h->catalog, take_once, h, message, error);
}

static void on_notice(void *arg, const PGresult *notice)
{
	(void)arg, (void)notice; /* what is passed over is slot_decodes' to tell */
}

static enum wp_rc read_all(struct holds *h, struct wp_session *session, struct wp_error *error)
{
	int64_t until_ms = wp_clock_us() / 1000 + PATIENCE_MS;
	enum wp_changes_left left = WP_CHANGES_MORE;
	struct wp_changes changes;
	struct wp_changes_setup setup = {
		.session = session,
		.options = &h->c->config.postgres,
		.from = WP_CHANGES_FROM_SLOT,
		.transfer = WP_TRANSFER_TEXT,
	};
	enum wp_rc rc = wp_changes_begin(&changes, &setup, error);

	while (rc == WP_OK && left == WP_CHANGES_MORE && wp_clock_us() / 1000 < until_ms)
		rc = wp_changes_read(&changes, take, h, &left, error);
	h->whole = rc == WP_OK && left == WP_CHANGES_NONE;
	return rc;
}

/* -- what it means --------------------------------------------------------------- */

static enum wp_rc name_foreign(const struct wp_survey_counts *counts, struct wp_buffer *what,
			       struct wp_buffer *cure, const char *ignored)
{
	char text[WP_TABLE_NAME_TEXT_SIZE];
	enum wp_rc rc =
		wp_buffer_printf(cure,
				 "-- if one holds events, add a section [outbox.NAME] with that "
				 "table, or cover it by outbox.leaves if it was a partition or "
				 "inherits from an outbox; only rows of others may be dropped:\n"
				 "-- set outbox.ignore = %s",
				 ignored);

	for (size_t i = 0; i < counts->foreign_tables && rc == WP_OK; i++) {
		const struct wp_survey_foreign *f = &counts->foreign_by_table[i];
		(void)wp_table_name_text(&f->name, text, sizeof(text));
		rc = wp_buffer_printf(what, "%s%" PRIu64 " of %s", i > 0 ? ", " : "", f->rows,
				      text);
		if (rc == WP_OK)
			rc = wp_buffer_printf(cure, "%s%s", i > 0 || *ignored != '\0' ? ", " : "",
					      text);
	}
	if (rc == WP_OK && counts->foreign_more)
		rc = wp_buffer_printf(what, ", and of more tables");
	return rc;
}

static void judge_foreign(struct holds *h)
{
	const struct wp_survey_counts *counts = wp_survey_counts(h->survey);
	char beyond[WP_LSN_TEXT_SIZE], names[QUOTED_SIZE];
	struct wp_buffer what, cure;
	struct wp_error error;

	wp_buffer_init(&what, 16384);
	wp_buffer_init(&cure, 16384);
	if (name_foreign(counts, &what, &cure, h->c->config.outbox_ignore) == WP_OK &&
	    wp_buffer_append_byte(&what, '\0') == WP_OK &&
	    wp_buffer_append_byte(&cure, '\0') == WP_OK) {
		(void)wp_error_set(
			&error, WP_CONFIG,
			"slot %s holds %s%" PRIu64
			" rows of tables that are neither outboxes nor listed in outbox.ignore, or "
			"have the columns of an outbox and only a pattern there covers them (%s), "
			"and walpost run stops at the first. Removing the tables from the "
			"publication does not help, because the rows are already in the WAL. To "
			"discard everything up to the last of them instead, events included: "
			"walpost slot skip --to %s",
			h->c->config.postgres.slot, h->whole ? "" : "at least ", counts->foreign,
			quoted(names, (const char *)what.data),
			wp_lsn_text(counts->foreign_until, beyond));
		wp_findings_add(&h->c->found.findings, WP_FINDING_FAIL, WP_ROOM_SLOT,
				"slot_holds_foreign", error.text, (const char *)cure.data);
	}
	wp_buffer_release(&what);
	wp_buffer_release(&cure);
}

#define OR_PARK "-- or, to hold back the later events of its aggregate as well: relay.poison = park"

/* With dead-letter or park, refused events are set aside, and stop no relay. */
static void judge_refused(struct holds *h)
{
	char beyond[WP_LSN_TEXT_SIZE];
	struct wp_error error;

	if (h->refused_count == 0 || h->c->config.relay.poison != WP_POISON_STOP)
		return;
	(void)wp_error_set(
		&error, WP_CONFIG,
		"slot %s holds %s%" PRIu64
		" event%s that can never be delivered, and walpost run stops at the first (%s). To "
		"discard everything up to the last of them instead: walpost slot skip --to %s",
		h->c->config.postgres.slot, h->whole ? "" : "at least ", h->refused_count,
		h->refused_count == 1 ? "" : "s", h->refused.text,
		wp_lsn_text(h->refused_until, beyond));
	bool has_topic = h->c->config.relay.dead_letter_topic[0] != '\0';
	wp_findings_add(&h->c->found.findings, WP_FINDING_FAIL, WP_ROOM_SLOT, "slot_holds_refused",
			error.text,
			has_topic
				? "-- set relay.poison = dead-letter\n" OR_PARK
				: "-- set relay.poison = dead-letter\n"
				  "-- set relay.dead_letter.topic = outbox.dead-letters\n" OR_PARK);
}

static void judge(struct holds *h)
{
	const struct wp_survey_counts *counts = wp_survey_counts(h->survey);
	struct wp_error error;

	(void)wp_error_set(&error, WP_OK, "slot %s holds %s%" PRIu64 " event%s",
			   h->c->config.postgres.slot, h->whole ? "" : "at least ", counts->events,
			   counts->events == 1 ? "" : "s");
	wp_findings_add(&h->c->found.findings, WP_FINDING_OK, WP_ROOM_SLOT, "slot_holds",
			error.text, "");
	if (counts->foreign > 0)
		judge_foreign(h);
	judge_refused(h);
}

void wp_check_holds(struct wp_check *c)
{
	struct wp_session session;
	struct holds h = {
		.c = c,
		.refused.text = "",
		.catalog = {
			.session = &session,
			.options = &c->config.postgres,
			.wanted = &c->wanted.wanted,
			.partitions = &h.partitions,
			.patience_ms = PATIENCE_MS,
		},
	};
	struct wp_survey_setup setup = {
		.outboxes = &c->config.outboxes,
		.epoch = c->config.relay.epoch,
		.timelines = &any_timeline,
		.until = UINT64_MAX,
		.partitions = &h.partitions,
		.record_max = wp_cli_record_max(&c->config),
	};
	struct wp_error error;
	enum wp_rc rc = wp_session_open(&session, &c->console, &c->config.postgres,
					WP_CONNECTION_SQL, &error);

	if (rc == WP_OK) {
		(void)PQsetNoticeReceiver(wp_session_pg(&session), on_notice, NULL);
		rc = wp_session_do(&session, PATIENCE_SQL, &error);
	}
	if (rc == WP_OK) {
		setup.encoding = wp_server_encoding(wp_session_pg(&session));
		rc = wp_survey_new(&setup, &h.survey, &error);
	}
	if (rc == WP_OK) {
		rc = read_all(&h, &session, &error);
		/* If cut short, what was read is true; if nothing was, other findings say why. */
		if (rc == WP_OK || wp_survey_counts(h.survey)->transactions > 0)
			judge(&h);
	}
	wp_survey_free(h.survey);
	wp_partitions_release(&h.partitions);
	wp_session_release(&session);
}

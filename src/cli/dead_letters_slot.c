/*
 * Tells whether the slot's relay reads what `walpost dead-letters retry` sends, and waits until the
 * slot has confirmed it.
 */
#include "dead_letters_retry.h"

#include <stdio.h>
#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/cli/cli.h"
#include "walpost/postgres_preflight/publication.h"

#define ASK_EVERY_S 0.2
#define NOBODY_FOR_MS 3000 /* a relay reconnects within this, mostly */

enum wp_rc wp_retry_check_slot(struct wp_letters_retry *r, struct wp_error *error)
{
	r->slot = (struct wp_reissue_slot){
		.session = &r->session,
		.slot = wp_retry_slot(r),
		.also = "dead_letters_retried",
		.also_sql = "sql/reissue.sql",
	};
	if (r->options->dry_run)
		return wp_reissue_slot_ask(&r->slot, "0/0", error);
	enum wp_rc rc = wp_reissue_slot_await_reader(&r->slot, error);
	if (rc != WP_OK || !r->slot.is_young)
		return rc;
	if (r->options->no_wait)
		return wp_error_set(
			error, WP_IO,
			"slot %s may hold changes from before publication " WP_REISSUE_PUBLICATION
			" was created: whether the events are sent can only be told by waiting for "
			"them, without --no-wait",
			wp_retry_slot(r));
	rc = wp_reissue_slot_await_caught_up(&r->slot, error);
	if (rc == WP_OK && r->slot.is_young)
		(void)snprintf(r->first_reader, sizeof(r->first_reader), "%s", r->slot.reader);
	return rc;
}

/* -- until they were delivered ------------------------------------------------------------ */

static enum wp_rc say_late(const struct wp_letters_retry *r, struct wp_error *error)
{
	return wp_error_set(error, WP_IO,
			    "slot %s has confirmed %s within --timeout, and not yet %s, the end of "
			    "the events that were sent again: they are delivered later; `walpost "
			    "status` shows what holds the relay up",
			    wp_retry_slot(r), r->slot.confirmed, r->lsn);
}

static enum wp_rc say_uncertain(const struct wp_letters_retry *r, struct wp_error *error)
{
	return wp_error_set(
		error, WP_IO,
		"the relay has reconnected to slot %s before it had confirmed %s, and the slot may "
		"hold changes from before publication " WP_REISSUE_PUBLICATION
		" was created: whether the events were sent cannot be determined. Look for their "
		"header walpost-reissued in the topics, and send those that are missing with "
		"--again",
		wp_retry_slot(r), r->lsn);
}

/* Asks once: is it confirmed, or is there no more to wait for? */
static enum wp_rc look(struct wp_letters_retry *r, struct wp_error *error)
{
	enum wp_rc rc = wp_reissue_slot_ask(&r->slot, r->lsn, error);

	if (rc != WP_OK)
		return rc;
	if (r->first_reader[0] != '\0' && strcmp(r->first_reader, r->slot.reader) != 0)
		return say_uncertain(r, error);
	r->is_confirmed = r->slot.is_reached;
	return WP_OK;
}

static enum wp_rc wait_confirmed(struct wp_letters_retry *r, struct wp_error *error)
{
	int64_t begun_ms = wp_clock_us() / 1000, seen_ms = begun_ms;

	for (;;) {
		enum wp_rc rc = look(r, error);
		if (rc != WP_OK || r->is_confirmed)
			return rc;
		int64_t now_ms = wp_clock_us() / 1000;
		if (r->slot.reads != WP_READS_NOBODY)
			seen_ms = now_ms;
		if (now_ms - seen_ms > NOBODY_FOR_MS)
			return WP_OK;
		if (now_ms - begun_ms > r->options->timeout_ms)
			return say_late(r, error);
		wp_cli_say_progress("slot %s: %s of %s confirmed", wp_retry_slot(r),
				    r->slot.confirmed, r->lsn);
		wp_console_wait(&r->letters->console, ASK_EVERY_S);
		if (r->letters->console.interrupted)
			return wp_error_set(error, WP_IO, "interrupted");
	}
}

enum wp_rc wp_retry_wait(struct wp_letters_retry *r, struct wp_error *error)
{
	if (r->lsn[0] == '\0' || r->options->no_wait)
		return WP_OK;
	enum wp_rc rc = wait_confirmed(r, error);
	wp_cli_say_progress("%s", "");
	if (rc == WP_OK && !r->is_confirmed)
		(void)wp_cli_fail(0,
				  "no relay reads slot %s: the events are delivered when one runs",
				  wp_retry_slot(r));
	return rc;
}

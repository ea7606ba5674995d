#include "dead_letters_retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "walpost/base/display.h"
#include "walpost/cli/cli.h"

/* -- telling --------------------------------------------------------------------------- */

static void say_source(const struct wp_found_letter *letter, const struct wp_retry_outcome *outcome)
{
	if (outcome->source == WP_FROM_ROW)
		wp_cli_say(stdout, ": its row in %s", outcome->table);
	else if (wp_letter_prefix(letter) != NULL)
		wp_cli_say(stdout, ": the message made from its letter");
	else
		wp_cli_say(stdout, ": the row made from its letter");
}

static void say_outcome(const struct wp_letters_retry *r, const struct wp_found_letter *letter,
			const struct wp_retry_outcome *outcome)
{
	const char *prefix = wp_letter_prefix(letter);
	static const char *const words[WP_RETRY_RESULTS] = {
		[WP_RETRY_SENT] = "sent again ",
		[WP_RETRY_PASSED_OVER] = "passed over",
		[WP_RETRY_REFUSED] = "refused    ",
	};
	struct wp_excerpt id;

	wp_cli_say(stdout, "%s  %d/%lld  %s%s  id %s  position %s",
		   outcome->result == WP_RETRY_SENT && r->options->dry_run ? "would send "
									   : words[outcome->result],
		   (int)letter->partition, (long long)letter->offset,
		   prefix == NULL ? "table " : "", letter->table,
		   letter->id == NULL ? "NULL" : wp_excerpt(&id, wp_span_of(letter->id)),
		   letter->position);
	if (outcome->result == WP_RETRY_SENT)
		say_source(letter, outcome);
	else
		wp_cli_say(stdout, ": %s", outcome->why.text);
	wp_cli_say(stdout, "\n");
}

static void set(struct wp_letters_retry *r, json_t *object, const char *name, json_t *value)
{
	r->json_failed |= json_object_set_new(object, name, value) != 0;
}

static void write_outcome(struct wp_letters_retry *r, const struct wp_found_letter *letter,
			  const struct wp_retry_outcome *outcome)
{
	static const char *const words[WP_RETRY_RESULTS] = {
		[WP_RETRY_SENT] = "sent",
		[WP_RETRY_PASSED_OVER] = "passed_over",
		[WP_RETRY_REFUSED] = "refused",
	};
	json_t *object = wp_letter_json(letter, &r->json_failed);
	const char *from = outcome->source == WP_FROM_ROW ? "row" : "letter";

	set(r, object, "result", json_string(words[outcome->result]));
	set(r, object, "from", outcome->result == WP_RETRY_SENT ? json_string(from) : json_null());
	set(r, object, "why",
	    wp_letter_text(outcome->result == WP_RETRY_SENT ? "" : outcome->why.text));
	r->json_failed |= json_array_append_new(r->json, object) != 0;
}

/* -- all letters ------------------------------------------------------------------------ */

static bool is_passed_over(const struct wp_letters_retry *r, size_t index,
			   struct wp_retry_outcome *outcome)
{
	const struct wp_found_letter *letter = &r->letters->items[index];

	if (index > 0 && strcmp(letter->position, r->letters->items[index - 1].position) == 0) {
		outcome->result = WP_RETRY_PASSED_OVER;
		(void)wp_error_set(&outcome->why, WP_OK, "the same event as the one before");
		return true;
	}
	if (letter->mark == NULL || r->options->again)
		return false;
	outcome->result = WP_RETRY_PASSED_OVER;
	(void)wp_error_set(&outcome->why, WP_OK, "it was sent again at %s by %s; use --again",
			   letter->mark->at, letter->mark->by_role);
	return true;
}

/* Returns how many letters are dealt with, up to the last that --limit lets through. */
static size_t count_within_limit(const struct wp_letters_retry *r)
{
	struct wp_retry_outcome outcome;
	int64_t left = r->letters->options.limit;
	size_t i = 0;

	for (; i < r->letters->count; i++) {
		if (is_passed_over(r, i, &outcome))
			continue;
		if (left-- == 0)
			break;
	}
	return i;
}

/* Finds the letters that have no row, and reads their contents, all at once. */
static enum wp_rc find_contents(struct wp_letters_retry *r, size_t count, struct wp_error *error)
{
	const size_t all = r->letters->count;
	struct wp_letter_content *contents = calloc(all + 1, sizeof(*contents));
	bool *wanted = calloc(all + 1, sizeof(*wanted));
	bool any = false;
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < count && rc == WP_OK && contents != NULL && wanted != NULL; i++) {
		const struct wp_letter_outbox *outbox;
		struct wp_retry_outcome outcome = { .source = WP_FROM_NOWHERE };
		struct wp_error why;
		if (is_passed_over(r, i, &outcome))
			continue;
		rc = wp_retry_plan(r, i, &outbox, &outcome, &why);
		any |= wanted[i] = rc == WP_OK && outcome.source == WP_FROM_LETTER;
		if (rc == WP_DATA)
			rc = WP_OK;
		else if (rc != WP_OK)
			*error = why;
	}
	r->contents = contents;
	r->wanted = wanted;
	if (contents == NULL || wanted == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the dead letters");
	return rc == WP_OK && any ? wp_letters_read_content(r->letters, wanted, contents, error)
				  : rc;
}

static enum wp_rc take_letter(struct wp_letters_retry *r, size_t index, struct wp_error *error)
{
	const struct wp_found_letter *letter = &r->letters->items[index];
	struct wp_retry_outcome outcome = { .result = WP_RETRY_SENT, .source = WP_FROM_NOWHERE };
	const struct wp_letter_outbox *outbox;
	struct wp_error why;
	enum wp_rc rc = WP_OK;

	if (!is_passed_over(r, index, &outcome)) {
		rc = wp_retry_plan(r, index, &outbox, &outcome, &why);
		if (rc == WP_OK && !r->options->dry_run)
			rc = wp_retry_send(r, outbox, letter, &outcome, &why);
	}
	if (rc != WP_OK && rc != WP_DATA) {
		*error = why;
		return rc;
	}
	if (rc == WP_DATA) {
		outcome.result = WP_RETRY_REFUSED;
		outcome.why = why;
	}
	r->counts[outcome.result]++;
	if (r->letters->options.json)
		write_outcome(r, letter, &outcome);
	else
		say_outcome(r, letter, &outcome);
	return r->letters->console.interrupted ? wp_error_set(error, WP_IO, "interrupted") : WP_OK;
}

static enum wp_rc take_letters(struct wp_letters_retry *r, size_t count, struct wp_error *error)
{
	enum wp_rc rc = find_contents(r, count, error);

	if (rc == WP_OK) /* reading the topic may have taken long */
		rc = wp_retry_check_slot(r, error);
	for (size_t i = 0; i < count && rc == WP_OK; i++)
		rc = take_letter(r, i, error);
	if (rc == WP_OK && r->counts[WP_RETRY_SENT] > 0 && !r->options->dry_run)
		rc = wp_reissue_slot_log_end(&r->session, r->lsn, error);
	return rc;
}

/* -- the result ----------------------------------------------------------------------------- */

static void say_counts(const struct wp_letters_retry *r, uint64_t left)
{
	wp_cli_say(stdout, "%s%s: %llu %s, %llu passed over, %llu refused",
		   r->letters->matched > 0 ? "\n" : "", r->letters->topic,
		   (unsigned long long)r->counts[WP_RETRY_SENT],
		   r->options->dry_run ? "would be sent again" : "sent again",
		   (unsigned long long)r->counts[WP_RETRY_PASSED_OVER],
		   (unsigned long long)r->counts[WP_RETRY_REFUSED]);
	if (left > 0)
		wp_cli_say(stdout, "; %llu more match: run the command again",
			   (unsigned long long)left);
	wp_cli_say(stdout, "\n");
	if (r->is_confirmed)
		wp_cli_say(stdout, "slot %s has confirmed them, up to %s\n", wp_retry_slot(r),
			   r->lsn);
}

static void write_result(struct wp_letters_retry *r, uint64_t left)
{
	json_t *object = json_object();

	set(r, object, "topic", json_string(r->letters->topic));
	set(r, object, "slot", json_string(wp_retry_slot(r)));
	set(r, object, "dry_run", json_boolean(r->options->dry_run));
	set(r, object, "sent", json_integer((json_int_t)r->counts[WP_RETRY_SENT]));
	set(r, object, "passed_over", json_integer((json_int_t)r->counts[WP_RETRY_PASSED_OVER]));
	set(r, object, "refused", json_integer((json_int_t)r->counts[WP_RETRY_REFUSED]));
	set(r, object, "left", json_integer((json_int_t)left));
	set(r, object, "lsn", wp_letter_text(r->lsn));
	set(r, object, "confirmed", json_boolean(r->is_confirmed));
	set(r, object, "letters", json_incref(r->json));
	r->json_failed |= json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) != 0;
	json_decref(object);
	(void)putchar('\n'); /* wp_cli_done() notices a failure */
}

static bool has_counted(const struct wp_letters_retry *r)
{
	for (size_t i = 0; i < sizeof(r->counts) / sizeof(r->counts[0]); i++)
		if (r->counts[i] > 0)
			return true;
	return false;
}

/* Reports also what was done before it failed. */
static int report(struct wp_letters_retry *r, uint64_t left, enum wp_rc rc,
		  const struct wp_error *error)
{
	int exit_code = WP_EXIT_OK;

	if (r->letters->options.json)
		write_result(r, left);
	else if (rc == WP_OK || has_counted(r))
		say_counts(r, left);
	exit_code = wp_cli_done();
	if (exit_code == WP_EXIT_OK && r->json_failed)
		exit_code = wp_cli_fail(WP_EXIT_FAILED, "the result cannot be written as JSON");
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error->text);
	if (exit_code == WP_EXIT_OK && r->counts[WP_RETRY_REFUSED] > 0)
		return WP_EXIT_FAILED;
	return exit_code;
}

/* -- the command ------------------------------------------------------------------------------ */

static enum wp_rc open_all(struct wp_letters_retry *r, struct wp_error *error)
{
	struct wp_letters *l = r->letters;

	wp_buffer_init(&r->text, WP_RETRY_SQL_MAX);
	r->json = json_array();
	if (r->json == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the result");
	enum wp_rc rc = wp_session_begin(&r->session, &l->console, &l->config.postgres, error);
	if (rc == WP_OK)
		rc = wp_outbox_set_new(&l->config.outboxes, 0, &r->outboxes, error);
	return rc == WP_OK ? wp_retry_check_slot(r, error) : rc;
}

static void release(struct wp_letters_retry *r)
{
	for (size_t i = 0; i < WP_OUTBOXES_MAX; i++) {
		PQclear(r->known[i].columns);
		wp_buffer_release(&r->known[i].key_prefix);
	}
	for (size_t i = 0; r->contents != NULL && i < r->letters->count; i++)
		wp_letter_content_release(&r->contents[i]);
	free(r->contents);
	free(r->wanted);
	json_decref(r->json);
	wp_buffer_release(&r->text);
	wp_outbox_set_free(r->outboxes);
	wp_session_release(&r->session);
}

int wp_letters_retry(struct wp_letters *l, const struct wp_retry_options *options)
{
	static struct wp_letters_retry r; /* static because it is large; there is only one */
	struct wp_error error;

	r.letters = l;
	r.options = options;
	enum wp_rc rc = open_all(&r, &error);
	if (rc == WP_OK)
		rc = wp_letters_read(l, &error);
	if (rc == WP_OK)
		rc = wp_letters_read_marks(l, &r.session, &error);
	int exit_code;
	if (rc == WP_OK) {
		size_t count = count_within_limit(&r);
		rc = take_letters(&r, count, &error);
		if (rc == WP_OK)
			rc = wp_retry_wait(&r, &error);
		exit_code = report(&r, l->matched - count, rc, &error);
	} else {
		exit_code = wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	}
	release(&r);
	wp_letters_release(l);
	wp_console_release(&l->console);
	return exit_code;
}

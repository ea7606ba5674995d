/* Prints dead letters for `walpost dead-letters`, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_output.h"
#include "walpost/base/display.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/dead_letters.h"
#include "walpost/values/moment.h"

struct time_text {
	char text[40];
};

/* Returns "" if the time is not known. */
static const char *time_of(const struct wp_found_letter *letter, struct time_text *ret)
{
	struct wp_buffer text;

	ret->text[0] = '\0';
	if (letter->time_ms == 0)
		return ret->text;
	wp_buffer_init(&text, sizeof(ret->text));
	enum wp_rc rc = wp_moment_write_iso(&text, letter->time_ms * 1000, 3);
	if (rc == WP_OK)
		(void)snprintf(ret->text, sizeof(ret->text), "%.*s", (int)text.size,
			       (const char *)text.data);
	wp_buffer_release(&text);
	return ret->text;
}

/* -- for people ----------------------------------------------------------------- */

static void print_letter(const struct wp_found_letter *letter)
{
	struct wp_excerpt id;
	struct time_text time;
	const char *prefix = wp_letter_prefix(letter);

	wp_cli_say(stdout,
		   "%d/%" PRId64 "  %s  %s%s  id %s  topic %s  position %s  %s bytes\n"
		   "    %s\n",
		   (int)letter->partition, letter->offset, time_of(letter, &time),
		   prefix == NULL ? "table " : "", letter->table,
		   letter->id == NULL ? "NULL" : wp_excerpt(&id, wp_span_of(letter->id)),
		   letter->topic == NULL ? "none" : letter->topic, letter->position, letter->size,
		   letter->reason);
	if (letter->mark != NULL)
		wp_cli_say(stdout, "    sent again at %s by %s from %s%s%s%s\n", letter->mark->at,
			   letter->mark->by_role, letter->mark->by_client,
			   strcmp(letter->mark->times, "1") == 0 ? "" : ", ",
			   strcmp(letter->mark->times, "1") == 0 ? "" : letter->mark->times,
			   strcmp(letter->mark->times, "1") == 0 ? "" : " times in all");
}

void wp_letters_print(const struct wp_letters *l, size_t count)
{
	uint64_t back = 0;

	for (size_t i = 0; i < count; i++) {
		back += l->items[i].mark != NULL ? 1 : 0;
		print_letter(&l->items[i]);
	}
	wp_cli_say(stdout, "%s%s: %" PRIu64 " of %" PRIu64 " record%s", count > 0 ? "\n" : "",
		   l->topic, l->matched, l->records, l->records == 1 ? "" : "s");
	if (count < l->matched)
		wp_cli_say(stdout, ", of which the first %zu are shown", count);
	if (back > 0)
		wp_cli_say(stdout, "; %" PRIu64 " sent again", back);
	if (l->others > 0)
		wp_cli_say(stdout, "; %" PRIu64 " record%s not walpost's dead letters", l->others,
			   l->others == 1 ? " is" : "s are");
	wp_cli_say(stdout, "\n");
}

/* -- for machines ---------------------------------------------------------------- */

/* jansson's setters take ownership also when they fail: `failed` remembers. */
static void set(bool *failed, json_t *object, const char *name, json_t *value)
{
	*failed |= json_object_set_new(object, name, value) != 0;
}

json_t *wp_letter_text(const char *text)
{
	return wp_cli_json_text(wp_span_of(text == NULL || text[0] == '\0' ? NULL : text));
}

static json_t *mark_of(bool *failed, const struct wp_letter_mark *mark)
{
	if (mark == NULL)
		return json_null();
	json_t *object = json_object();
	set(failed, object, "at", wp_letter_text(mark->at));
	set(failed, object, "by_role", wp_letter_text(mark->by_role));
	set(failed, object, "by_client", wp_letter_text(mark->by_client));
	set(failed, object, "times", json_integer(strtoll(mark->times, NULL, 10)));
	return object;
}

json_t *wp_letter_json(const struct wp_found_letter *letter, bool *failed)
{
	struct time_text time;
	const char *prefix = wp_letter_prefix(letter);
	json_t *object = json_object();

	set(failed, object, "partition", json_integer(letter->partition));
	set(failed, object, "offset", json_integer(letter->offset));
	set(failed, object, "time", wp_letter_text(time_of(letter, &time)));
	set(failed, object, "table", prefix == NULL ? wp_letter_text(letter->table) : json_null());
	set(failed, object, "prefix", wp_letter_text(prefix));
	set(failed, object, "id", wp_letter_text(letter->id));
	set(failed, object, "topic", wp_letter_text(letter->topic));
	set(failed, object, "position", wp_letter_text(letter->position));
	set(failed, object, "size", json_integer(strtoll(letter->size, NULL, 10)));
	set(failed, object, "reason", wp_letter_text(letter->reason));
	set(failed, object, "omitted", wp_letter_text(letter->omitted));
	set(failed, object, "sent_again", mark_of(failed, letter->mark));
	return object;
}

enum wp_rc wp_letters_print_json(const struct wp_letters *l, size_t count)
{
	bool failed = false;
	json_t *object = json_object();
	json_t *letters = json_array();

	for (size_t i = 0; i < count; i++)
		failed |=
			json_array_append_new(letters, wp_letter_json(&l->items[i], &failed)) != 0;
	set(&failed, object, "topic", wp_letter_text(l->topic));
	set(&failed, object, "records", json_integer((json_int_t)l->records));
	set(&failed, object, "other_records", json_integer((json_int_t)l->others));
	set(&failed, object, "matched", json_integer((json_int_t)l->matched));
	set(&failed, object, "sent_again_known", json_boolean(l->marks_known));
	set(&failed, object, "letters", letters);
	if (!failed)
		failed = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) != 0;
	json_decref(object);
	(void)putchar('\n'); /* wp_cli_done() notices a failure */
	return failed ? WP_NOMEM : WP_OK;
}

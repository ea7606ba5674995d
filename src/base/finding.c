#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/finding.h"
#include "walpost/base/utf8.h"
#include "walpost/base/error.h"

static bool grow(struct wp_findings *f)
{
	size_t capacity = f->capacity == 0 ? 32 : f->capacity * 2;
	struct wp_finding *items = realloc(f->items, capacity * sizeof(*items));

	if (items == NULL)
		return false;
	f->items = items;
	f->capacity = capacity;
	return true;
}

static struct wp_finding *say_no_memory(struct wp_findings *f)
{
	f->no_memory = (struct wp_finding){
		.level = WP_FINDING_FAIL,
		.name = "memory",
		.what = "out of memory for the findings",
		.reaction = WP_REACT_RECONNECT,
	};
	return &f->no_memory;
}

/* A server's words may be of any encoding, and JSON takes UTF-8 only. */
static void make_utf8(char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t size = wp_utf8_size((const uint8_t *)text, left);
		if (size == 0)
			*text = '?';
		size += size == 0;
		text += size;
		left -= size;
	}
}

struct wp_finding *wp_findings_add(struct wp_findings *f, enum wp_finding_level level,
				   enum wp_finding_room room, const char *name, const char *what,
				   const char *cure)
{
	struct wp_error cut; /* at a character, should it be too long */

	static_assert(sizeof(cut.text) == sizeof(f->items[0].what), "one size");
	static_assert(sizeof(cut.text) == sizeof(f->items[0].cure), "one size");
	assert(f->count < WP_FINDINGS_MAX);
	if (f->count == f->capacity && !grow(f))
		return say_no_memory(f);
	struct wp_finding *item = &f->items[f->count++];
	*item = (struct wp_finding){
		.level = level,
		.room = room,
		.name = name,
		.reaction = level == WP_FINDING_FAIL ? WP_REACT_STOP_CONFIG : WP_REACT_NONE,
	};
	(void)wp_error_set(&cut, WP_OK, "%s", what);
	memcpy(item->what, cut.text, sizeof(item->what));
	(void)wp_error_set(&cut, WP_OK, "%s", cure);
	memcpy(item->cure, cut.text, sizeof(item->cure));
	make_utf8(item->what);
	make_utf8(item->cure);
	return item;
}

void wp_finding_say(const struct wp_finding *f, char *text, size_t size)
{
	static const char elsewhere[] = "; walpost check prints the cure";

	if (!*f->cure) {
		(void)snprintf(text, size, "%s", f->what);
		return;
	}
	size_t cure_size = strlen(f->cure); /* without the last semicolon: the sentence may go on */
	cure_size -= f->cure[cure_size - 1] == ';';
	int length = snprintf(text, size, "%s; cure: %.*s", f->what, (int)cure_size, f->cure);
	if (length >= 0 && (size_t)length < size)
		return;
	struct wp_error what; /* cut at a character */
	(void)wp_error_set(&what, WP_OK, "%.*s", (int)(size - sizeof(elsewhere)), f->what);
	(void)snprintf(text, size, "%s%s", what.text, elsewhere);
}

const struct wp_finding *wp_findings_failure(const struct wp_findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->items[i].level == WP_FINDING_FAIL)
			return &f->items[i];
	return f->no_memory.name != NULL ? &f->no_memory : NULL;
}

void wp_findings_release(struct wp_findings *f)
{
	free(f->items);
	*f = (struct wp_findings){ 0 };
}

const char *wp_finding_level_name(enum wp_finding_level level)
{
	static const char *const names[] = { "ok", "warn", "fail" };

	return names[level];
}

const char *wp_finding_room_name(enum wp_finding_room room)
{
	static const char *const names[] = {
		[WP_ROOM_CONNECTION] = "connection",
		[WP_ROOM_SERVER] = "server",
		[WP_ROOM_OUTBOX] = "outbox",
		[WP_ROOM_PUBLICATION] = "publication",
		[WP_ROOM_SLOT] = "slot",
		[WP_ROOM_KAFKA] = "kafka",
		[WP_ROOM_TOPIC] = "topic",
	};

	return names[room];
}

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/ascii.h"
#include "walpost/base/log_memory.h"

static struct wp_log_count *find(struct wp_log_memory *m, enum wp_log_level level,
				 const char *event)
{
	for (size_t i = 0; i < m->count_count; i++) {
		if (m->counts[i].level == level && strcmp(m->counts[i].event, event) == 0)
			return &m->counts[i];
	}
	return NULL;
}

static struct wp_log_count *add(struct wp_log_memory *m, enum wp_log_level level, const char *event)
{
	struct wp_log_count *c = &m->counts[m->count_count++];

	*c = (struct wp_log_count){ .level = level };
	(void)snprintf(c->event, sizeof(c->event), "%s", event);
	return c;
}

/* Room for one "other" of each level is kept. */
static void count(struct wp_log_memory *m, enum wp_log_level level, const char *event)
{
	struct wp_log_count *c = find(m, level, event);

	if (c == NULL && m->count_count < WP_LOG_EVENTS_MAX - 2)
		c = add(m, level, event);
	if (c == NULL)
		c = find(m, level, "other");
	if (c == NULL)
		c = add(m, level, "other");
	c->count++;
}

/* No character is torn. */
static void copy_cut(char to[WP_LOG_WHY_SIZE], const char *text)
{
	size_t size = strnlen(text, WP_LOG_WHY_SIZE);

	if (size == WP_LOG_WHY_SIZE) {
		size--;
		while (size > 0 && ((uint8_t)text[size] & 0xC0) == 0x80)
			size--;
	}
	memcpy(to, text, size);
	to[size] = '\0';
}

/* Finds what a line says in words: its reason; else what librdkafka, or a finding, says. */
static const char *sentence_of(const struct wp_fact *facts)
{
	static const char *const names[] = { "reason", "text", "what" };
	const char *found = "";
	size_t best = sizeof(names) / sizeof(names[0]);

	for (; facts->kind != WP_FACT_END; facts++) {
		for (size_t i = 0; facts->kind == WP_FACT_TEXT && i < best; i++) {
			if (strcmp(facts->name, names[i]) != 0)
				continue;
			found = facts->text;
			best = i;
		}
	}
	return found;
}

static void remember(struct wp_log_memory *m, int64_t wall_ms, enum wp_log_level level,
		     const char *event, const struct wp_fact *facts)
{
	if (m->line_count == WP_LOG_LINES_MAX) {
		m->first = (m->first + 1) % WP_LOG_LINES_MAX;
		m->line_count--;
	}
	struct wp_log_remembered *line = &m->lines[(m->first + m->line_count++) % WP_LOG_LINES_MAX];
	*line = (struct wp_log_remembered){ .wall_ms = wall_ms, .level = level };
	(void)snprintf(line->event, sizeof(line->event), "%s", event);
	copy_cut(line->error, sentence_of(facts));
}

void wp_log_memory_add(struct wp_log_memory *m, int64_t wall_ms, enum wp_log_level level,
		       const char *event, const struct wp_fact *facts)
{
	if (level >= WP_LOG_WARN)
		count(m, level, event);
	if (level >= WP_LOG_WARN || (level == WP_LOG_INFO && strcmp(event, "progress") != 0))
		remember(m, wall_ms, level, event, facts);
}

/* Such texts as "sb1" and "9fe" are names, or may be. */
static bool is_of_name(char c)
{
	return wp_is_digit(c) || wp_is_letter(c) || c == '_' || c == '"' || c == '\'';
}

/* So many digits are a number: a time left, say. */
static size_t number_at(const char *text, char before)
{
	size_t size = 0;

	while (wp_is_digit(text[size]))
		size++;
	return is_of_name(before) || is_of_name(text[size]) ? 0 : size;
}

/* This is FNV-1a, the end of the text included. All numbers count as one, whatever they are. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	char before = ' ';

	for (;;) {
		size_t number = number_at(text, before);
		hash = (hash ^ (uint8_t)(number > 0 ? '0' : *text)) * 0x100000001b3U;
		if (*text == '\0')
			return hash;
		text += number > 0 ? number : 1;
		before = text[-1];
	}
}

static uint64_t hash_line(const char *event, const struct wp_fact *facts)
{
	uint64_t hash = hash_text(0xcbf29ce484222325U, event);

	for (; facts->kind != WP_FACT_END; facts++) {
		if (facts->kind == WP_FACT_TEXT)
			hash = hash_text(hash_text(hash, facts->name), facts->text);
	}
	return hash;
}

bool wp_log_memory_is_new(struct wp_log_memory *m, enum wp_log_level level, const char *event,
			  const struct wp_fact *facts)
{
	uint64_t hash = hash_line(event, facts);

	for (size_t i = 0; i < WP_LOG_SAID_MAX; i++) {
		if (m->said[i] != hash)
			continue;
		if (level >= WP_LOG_WARN)
			count(m, level, event);
		return false;
	}
	m->said[m->next_said] = hash;
	m->next_said = (m->next_said + 1) % WP_LOG_SAID_MAX;
	return true;
}

const struct wp_log_remembered *wp_log_memory_line(const struct wp_log_memory *m, size_t index)
{
	assert(index < m->line_count);
	return &m->lines[(m->first + index) % WP_LOG_LINES_MAX];
}

const char *wp_log_level_name(enum wp_log_level level)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };

	return names[level];
}

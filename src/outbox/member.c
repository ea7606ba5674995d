#include "member.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/hex.h"

#define ARROW "->"
#define WHOLE "::json"
#define NAME_SIZE_MAX 65536 /* of a member's, with escapes */

/* -- paths --------------------------------------------------------------------- */

static struct wp_span unquoted(struct wp_span name)
{
	if (name.size < 2 || name.data[0] != '\'' || name.data[name.size - 1] != '\'')
		return name;
	return (struct wp_span){ .data = name.data + 1, .size = name.size - 2 };
}

static bool parse_whole(const char *text, struct wp_member_path *ret)
{
	size_t size = strlen(text);

	if (size <= strlen(WHOLE) || strcmp(text + size - strlen(WHOLE), WHOLE) != 0)
		return false;
	size -= strlen(WHOLE);
	*ret = (struct wp_member_path){ .column = wp_span_trimmed(text, text + size) };
	return ret->column.size > 0;
}

bool wp_member_path_parse(const char *text, struct wp_member_path *ret)
{
	const char *at = strstr(text, ARROW);

	if (at == NULL)
		return parse_whole(text, ret);
	*ret = (struct wp_member_path){ .column = wp_span_trimmed(text, at) };
	while (at != NULL) {
		if (ret->is_text || ret->count == WP_MEMBER_STEPS_MAX)
			return false;
		at += strlen(ARROW);
		ret->is_text = *at == '>';
		at += ret->is_text;
		const char *next = strstr(at, ARROW);
		struct wp_span step =
			unquoted(wp_span_trimmed(at, next != NULL ? next : at + strlen(at)));
		if (step.size == 0)
			return false;
		ret->steps[ret->count++] = step;
		at = next;
	}
	return ret->column.size > 0;
}

bool wp_column_is_member(const char *column)
{
	struct wp_member_path path;

	return wp_member_path_parse(column, &path);
}

/* -- life ---------------------------------------------------------------------- */

enum wp_rc wp_members_new(size_t column_count, size_t count, size_t size, struct wp_members **ret)
{
	struct wp_members *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return WP_NOMEM;
	s->column_count = column_count;
	s->items = calloc(count, sizeof(s->items[0]));
	s->values = calloc(column_count + count, sizeof(s->values[0]));
	s->texts = malloc(size);
	wp_buffer_init(&s->name, NAME_SIZE_MAX);
	if (s->items == NULL || s->values == NULL || s->texts == NULL) {
		wp_members_free(s);
		return WP_NOMEM;
	}
	*ret = s;
	return WP_OK;
}

void wp_members_free(struct wp_members *s)
{
	if (s == NULL)
		return;
	free(s->items);
	free(s->values);
	free(s->texts);
	wp_buffer_release(&s->name);
	free(s);
}

size_t wp_members_add(struct wp_members *s, const struct wp_member *member)
{
	size_t size = strlen(member->text) + 1;
	char *text = memcpy(s->texts + s->texts_size, member->text, size);

	s->texts_size += size;
	s->items[s->count] = *member;
	s->items[s->count].text = text;
	(void)wp_member_path_parse(text, &s->items[s->count].path); /* it was one */
	return s->column_count + s->count++;
}

/* -- a row --------------------------------------------------------------------- */

static void note_member_fault(struct wp_members *s, const struct wp_member_fault *fault)
{
	if (s->fault.kind == WP_MEMBER_FINE)
		s->fault = *fault;
}

/* A name longer than any that is looked for is not it. */
static enum wp_rc is_member_name(struct wp_members *s, struct wp_span string, struct wp_span name,
				 bool *ret)
{
	struct wp_span inner = { .data = string.data + 1, .size = string.size - 2 };

	*ret = wp_span_equal(inner, name);
	if (*ret || inner.size <= name.size || memchr(inner.data, '\\', inner.size) == NULL)
		return WP_OK;
	wp_buffer_reset(&s->name);
	enum wp_rc rc = wp_json_unescape(string, &s->name);
	*ret = rc == WP_OK && wp_span_equal(wp_buffer_span(&s->name), name);
	return rc == WP_NOMEM ? rc : WP_OK;
}

static enum wp_rc step_into(struct wp_members *s, struct wp_json *json, struct wp_span name,
			    bool *ret_found)
{
	const struct wp_json container = *json;
	struct wp_json_walk walk;
	struct wp_json value;
	struct wp_span string;
	enum wp_rc rc = WP_OK;

	*ret_found = false;
	if (container.kind != WP_JSON_OBJECT)
		return WP_OK;
	wp_json_walk_init(&walk, &container);
	while (rc == WP_OK && wp_json_walk_next(&walk, &string, &value)) {
		bool is_it = false;
		rc = is_member_name(s, string, name, &is_it);
		if (!is_it)
			continue;
		*json = value;
		*ret_found = true;
	}
	return rc;
}

static enum wp_rc find_by_path(struct wp_members *s, struct wp_member *m)
{
	enum wp_rc rc = WP_OK;

	m->found = m->all;
	m->is_found = true;
	for (size_t i = 0; i < m->path.count && m->is_found && rc == WP_OK; i++)
		rc = step_into(s, &m->found, m->path.steps[i], &m->is_found);
	return rc;
}

static enum wp_rc read_and_find(struct wp_members *s, struct wp_member *m, struct wp_span text)
{
	struct wp_member_fault fault = {
		.kind = WP_MEMBER_NOT_JSON,
		.member = m,
		.size = text.size,
	};

	m->is_read = wp_json_read(text, &m->all, &fault.json) == WP_OK;
	if (m->is_read)
		return find_by_path(s, m);
	m->is_unread = true;
	note_member_fault(s, &fault);
	return WP_OK;
}

/* Is it printed, as \x and digits? */
static bool is_hex(const struct wp_member *m, const struct wp_value *value)
{
	return m->type == WP_TYPE_BYTEA && value->kind == WP_VALUE_TEXT;
}

static struct wp_span json_text_of(const struct wp_member *m, const struct wp_value *value)
{
	struct wp_span text = value->bytes;

	if (value->kind == WP_VALUE_NULL)
		return (struct wp_span){ 0 };
	/* A jsonb in binary is a version and the text. */
	if (value->kind == WP_VALUE_BINARY && m->type == WP_TYPE_JSONB && text.size > 0)
		return (struct wp_span){ .data = text.data + 1, .size = text.size - 1 };
	return text;
}

static bool has_escapes(struct wp_span text)
{
	return memchr(text.data, '\\', text.size) != NULL;
}

enum wp_rc wp_members_find(struct wp_members *s, const struct wp_tuple *row, struct wp_tuple *ret,
			   size_t *ret_room)
{
	enum wp_rc rc = WP_OK;

	assert(row->count == s->column_count);
	memcpy(s->values, row->values, row->count * sizeof(row->values[0]));
	s->fault = (struct wp_member_fault){ .kind = WP_MEMBER_FINE };
	*ret_room = 0;
	for (size_t i = 0; i < s->count && rc == WP_OK; i++) {
		struct wp_member *m = &s->items[i];
		const struct wp_value *value = &row->values[m->column];
		m->is_found = m->is_read = m->is_unread = false;
		s->values[s->column_count + i] = (struct wp_value){ .kind = WP_VALUE_NULL };
		/* It is decoded when there is room, then perhaps unescaped. */
		if (is_hex(m, value)) {
			*ret_room += value->bytes.size;
			continue;
		}
		struct wp_span text = json_text_of(m, value);
		if (i > 0 && m[-1].column == m->column && m[-1].is_read) {
			m->all = m[-1].all;
			m->is_read = true;
			rc = find_by_path(s, m);
		} else if (!wp_span_is_null(text)) {
			rc = read_and_find(s, m, text);
		}
		if (m->is_found && m->path.is_text && has_escapes(m->found.text))
			*ret_room += m->found.text.size;
	}
	*ret = (struct wp_tuple){ .values = s->values, .count = s->column_count + s->count };
	return rc;
}

/* bytea_output is hex, so all of them are digits. */
static struct wp_span decoded(struct wp_span text, struct wp_buffer *texts)
{
	uint8_t *to = texts->data + texts->size;
	size_t count = text.size >= 2 ? (text.size - 2) / 2 : 0;

	for (size_t i = 0; i < count; i++) {
		int high = wp_hex_value(text.data[2 + 2 * i]);
		int low = wp_hex_value(text.data[3 + 2 * i]);
		to[i] = (high | low) < 0 ? 0 : (uint8_t)(high << 4 | low);
	}
	texts->size += count;
	return (struct wp_span){ .data = to, .size = count };
}

/* Returns the string without quotes and escapes. */
static struct wp_span string_text(struct wp_members *s, struct wp_member *m,
				  struct wp_buffer *texts)
{
	struct wp_span string = m->found.text;
	size_t from = texts->size;

	if (!has_escapes(string))
		return (struct wp_span){ .data = string.data + 1, .size = string.size - 2 };
	if (wp_json_unescape(string, texts) != WP_OK) { /* there is room */
		m->is_unread = true;
		note_member_fault(
			s, &(struct wp_member_fault){ .kind = WP_MEMBER_HALF_PAIR, .member = m });
		return (struct wp_span){ 0 };
	}
	return (struct wp_span){ .data = texts->data + from, .size = texts->size - from };
}

static struct wp_span member_value(struct wp_members *s, struct wp_member *m,
				   struct wp_buffer *texts)
{
	bool null_is_none = m->path.is_text || m->null_is_none;

	if (!m->is_found || (null_is_none && m->found.kind == WP_JSON_NULL))
		return (struct wp_span){ 0 };
	if (m->path.is_text && m->found.kind == WP_JSON_STRING)
		return string_text(s, m, texts);
	return m->found.text;
}

enum wp_rc wp_members_take(struct wp_members *s, struct wp_buffer *texts)
{
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < s->count && rc == WP_OK; i++) {
		struct wp_member *m = &s->items[i];
		const struct wp_value *value = &s->values[m->column];
		if (is_hex(m, value))
			rc = read_and_find(s, m, decoded(value->bytes, texts));
		struct wp_span text = member_value(s, m, texts);
		if (!m->is_found && m->must_be)
			note_member_fault(s, &(struct wp_member_fault){ .kind = WP_MEMBER_ABSENT,
									.member = m });
		if (!wp_span_is_null(text))
			s->values[s->column_count + i] =
				(struct wp_value){ .kind = WP_VALUE_TEXT, .bytes = text };
	}
	return rc;
}

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/diff/matching.h"

#define ID_SIZE_MAX (1024 * 1024) /* unescaped; longer ones are taken as they stand */
#define BEFORE 24		  /* bytes of a window before what differs */
#define NO_ROW SIZE_MAX

struct row {
	uint64_t hash; /* of the id */
	size_t at;     /* in `kept`: the id, then the fingerprint */
	size_t id_size;
	size_t next; /* of the same bucket; NO_ROW: the last */
	size_t table;
	uint32_t records;
	uint32_t elsewhere; /* records in other topics */
	bool is_different;
};

struct wp_matching {
	struct wp_matching_setup setup;
	struct wp_buffer kept;
	struct row *rows;
	size_t row_capacity;
	size_t *buckets; /* as many as there is room for rows */
	struct wp_buffer id;
	struct wp_fingerprint fingerprint;
	struct wp_fingerprint rival;
	struct wp_differences differences;
	struct wp_shown *shown;
	size_t shown_count;
	struct wp_matching_counts counts;
};

enum wp_rc wp_matching_new(const struct wp_matching_setup *setup, struct wp_matching **ret)
{
	struct wp_matching *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return WP_NOMEM;
	t->setup = *setup;
	wp_buffer_init(&t->kept, setup->size_max);
	wp_buffer_init(&t->id, ID_SIZE_MAX);
	t->shown = calloc(setup->shown_max + 1, sizeof(*t->shown));
	if (t->shown == NULL) {
		wp_matching_free(t);
		return WP_NOMEM;
	}
	*ret = t;
	return WP_OK;
}

void wp_matching_free(struct wp_matching *t)
{
	if (t == NULL)
		return;
	wp_buffer_release(&t->kept);
	wp_buffer_release(&t->id);
	free(t->rows);
	free(t->buckets);
	free(t->shown);
	free(t);
}

/* -- whose record is it? ------------------------------------------------------ */

static struct wp_span header_of(const struct wp_record *record, const char *name)
{
	for (size_t i = 0; i < record->header_count; i++) {
		if (wp_span_is(record->headers[i].name, name))
			return record->headers[i].value;
	}
	return (struct wp_span){ 0 };
}

static bool find_payload(const struct wp_json *object, struct wp_json *ret)
{
	struct wp_json_walk walk;
	struct wp_span name;

	wp_json_walk_init(&walk, object);
	while (wp_json_walk_next(&walk, &name, ret)) {
		if (wp_span_is(name, "\"payload\""))
			return true;
	}
	return false;
}

/* Reads what a header's value says, whatever its form: the same id is the same bytes. */
static enum wp_rc read_id(struct wp_matching *t, struct wp_span value, struct wp_span *ret)
{
	struct wp_json json;

	*ret = value;
	bool may_be_json = value.size > 0 && (value.data[0] == '{' || value.data[0] == '"');
	if (!may_be_json || wp_json_read(value, &json, NULL) != WP_OK)
		return WP_OK;
	if (json.kind == WP_JSON_OBJECT && !find_payload(&json, &json))
		return WP_OK;
	*ret = json.text;
	if (json.kind != WP_JSON_STRING)
		return WP_OK;
	wp_buffer_reset(&t->id);
	enum wp_rc rc = wp_json_unescape(json.text, &t->id);
	if (rc == WP_OK)
		*ret = wp_buffer_span(&t->id);
	return rc == WP_NOMEM ? rc : WP_OK;
}

/* -- what is expected --------------------------------------------------------- */

static struct wp_span id_of(const struct wp_matching *t, const struct row *row)
{
	return (struct wp_span){ .data = t->kept.data + row->at, .size = row->id_size };
}

static void unpack(const struct wp_matching *t, const struct row *row, struct wp_fingerprint *ret)
{
	size_t at = row->at + row->id_size;

	wp_fingerprint_unpack(
		(struct wp_span){ .data = t->kept.data + at, .size = t->kept.size - at }, ret);
}

static void put_into_bucket(struct wp_matching *t, size_t index)
{
	size_t *bucket = &t->buckets[t->rows[index].hash % t->row_capacity];

	t->rows[index].next = *bucket;
	*bucket = index;
}

static enum wp_rc make_room(struct wp_matching *t)
{
	size_t capacity = t->row_capacity == 0 ? 1024 : t->row_capacity * 2;

	if (t->counts.rows < t->row_capacity)
		return WP_OK;
	struct row *rows = realloc(t->rows, capacity * sizeof(*rows));
	if (rows == NULL)
		return WP_NOMEM;
	t->rows = rows;
	size_t *buckets = malloc(capacity * sizeof(*buckets));
	if (buckets == NULL)
		return WP_NOMEM;
	free(t->buckets);
	t->buckets = buckets;
	t->row_capacity = capacity;
	for (size_t i = 0; i < capacity; i++)
		buckets[i] = NO_ROW;
	for (size_t i = 0; i < t->counts.rows; i++)
		put_into_bucket(t, i);
	return WP_OK;
}

static enum wp_rc keep(struct wp_matching *t, struct wp_span id, const struct wp_record *record,
		       unsigned unknown)
{
	size_t before = t->kept.size;
	bool is_whole = before + wp_record_size(record) <= t->setup.whole_size_max;

	enum wp_rc rc = wp_buffer_append(&t->kept, id);
	if (rc == WP_OK)
		rc = wp_fingerprint_pack(record,
					 is_whole ? WP_FINGERPRINT_WHOLE : WP_FINGERPRINT_DIGESTS,
					 unknown, &t->kept);
	if (rc != WP_OK)
		t->kept.size = before;
	else
		t->counts.digests += is_whole ? 0 : 1;
	return rc;
}

enum wp_rc wp_matching_expect(struct wp_matching *t, size_t table, const struct wp_record *record,
			      unsigned unknown)
{
	struct wp_span header = header_of(record, t->setup.id_header);
	struct wp_span id;

	if (t->counts.rows == t->setup.rows_max)
		return WP_FULL;
	enum wp_rc rc = read_id(t, wp_span_is_null(header) ? record->id : header, &id);
	if (rc == WP_OK)
		rc = make_room(t);
	struct row row = {
		.hash = wp_digest(id),
		.at = t->kept.size,
		.id_size = id.size,
		.table = table,
	};
	if (rc == WP_OK)
		rc = keep(t, id, record, unknown);
	if (rc != WP_OK)
		return rc;
	t->rows[t->counts.rows] = row;
	put_into_bucket(t, t->counts.rows++);
	return WP_OK;
}

/* -- what differs ------------------------------------------------------------- */

static bool is_inside_character(uint8_t byte)
{
	return (byte & 0xC0) == 0x80;
}

static void cut_window(const struct wp_trace *trace, size_t at, struct wp_window *ret)
{
	struct wp_span bytes = trace->bytes;
	size_t from = at == WP_AT_UNKNOWN || at < BEFORE ? 0 : at - BEFORE;

	*ret = (struct wp_window){ .kind = trace->kind, .size = bytes.size };
	if (trace->kind != WP_TRACE_BYTES)
		return;
	if (from > bytes.size)
		from = bytes.size;
	for (size_t i = 0; i < WP_UTF8_SIZE_MAX && from > 0 && from < bytes.size; i++)
		from -= is_inside_character(bytes.data[from]) ? 1 : 0;
	ret->from = from;
	ret->count = bytes.size - from < WP_WINDOW_SIZE ? bytes.size - from : WP_WINDOW_SIZE;
	/* The window ends with a character, too. */
	for (size_t i = 1; i < WP_UTF8_SIZE_MAX && from + ret->count < bytes.size; i++)
		ret->count -= is_inside_character(bytes.data[from + ret->count]) ? 1 : 0;
	if (ret->count > 0)
		memcpy(ret->bytes, bytes.data + from, ret->count);
}

static void copy_name(struct wp_span name, char to[WP_MATCHING_NAME_SIZE])
{
	(void)snprintf(to, WP_MATCHING_NAME_SIZE, "%.*s", (int)name.size, (const char *)name.data);
}

static void show_part(const struct wp_difference *d, struct wp_shown_part *ret)
{
	*ret = (struct wp_shown_part){
		.part = d->part,
		.at = d->at,
		.wanted_number = d->wanted_number,
		.found_number = d->found_number,
	};
	if (d->part == WP_PART_HEADER)
		copy_name(d->header, ret->header);
	cut_window(&d->wanted, d->at, &ret->wanted);
	cut_window(&d->found, d->at, &ret->found);
}

/* What is certain to stay has the place of what may turn out to be nothing. */
static struct wp_shown *place_to_show(struct wp_matching *t, bool is_elsewhere)
{
	if (t->shown_count < t->setup.shown_max)
		return &t->shown[t->shown_count++];
	for (size_t i = 0; i < t->shown_count && !is_elsewhere; i++) {
		if (t->shown[i].is_elsewhere)
			return &t->shown[i];
	}
	return NULL;
}

static void show(struct wp_matching *t, size_t row, const struct wp_record *found, int64_t offset,
		 bool is_elsewhere)
{
	struct wp_shown *shown = place_to_show(t, is_elsewhere);

	if (shown == NULL)
		return;
	*shown = (struct wp_shown){
		.row = row,
		.partition = found->partition,
		.offset = offset,
		.is_elsewhere = is_elsewhere,
		.count = t->differences.count,
		.left_off = t->differences.left_off,
	};
	(void)snprintf(shown->topic, sizeof(shown->topic), "%.*s", (int)found->topic.size,
		       (const char *)found->topic.data);
	for (size_t i = 0; i < shown->count; i++)
		show_part(&t->differences.items[i], &shown->parts[i]);
}

static void count_header(struct wp_matching_counts *c, struct wp_span header)
{
	char name[WP_MATCHING_NAME_SIZE];
	size_t i = 0;

	copy_name(header, name);
	while (i < c->header_count && strcmp(c->headers[i].name, name) != 0)
		i++;
	if (i == WP_MATCHING_HEADERS_MAX)
		return;
	if (i == c->header_count)
		memcpy(c->headers[c->header_count++].name, name, sizeof(name));
	c->headers[i].rows++;
}

static void count_parts(struct wp_matching *t)
{
	bool seen[WP_PART_COUNT] = { false };

	for (size_t i = 0; i < t->differences.count; i++) {
		const struct wp_difference *d = &t->differences.items[i];
		if (d->part == WP_PART_HEADER)
			count_header(&t->counts, d->header);
		t->counts.parts[d->part] += seen[d->part] ? 0 : 1;
		seen[d->part] = true;
	}
}

/* -- what is there ------------------------------------------------------------ */

static bool is_equal_to(struct wp_matching *t, const struct wp_fingerprint *fingerprint,
			const struct wp_record *found)
{
	wp_compare(fingerprint, found, &t->differences);
	return t->differences.count == 0;
}

/* Finds of those with its id and its topic one that it is equal to, with the fewest records. */
static size_t find_row(struct wp_matching *t, struct wp_span id, const struct wp_record *found,
		       size_t *ret_elsewhere)
{
	uint64_t hash = wp_digest(id);
	size_t best = NO_ROW;
	bool best_is_equal = false;

	*ret_elsewhere = NO_ROW;
	if (t->row_capacity == 0)
		return NO_ROW;
	for (size_t i = t->buckets[hash % t->row_capacity]; i != NO_ROW; i = t->rows[i].next) {
		const struct row *row = &t->rows[i];
		if (row->hash != hash || !wp_span_equal(id_of(t, row), id))
			continue;
		unpack(t, row, &t->rival);
		if (!wp_span_equal(t->rival.topic, found->topic)) {
			*ret_elsewhere = i;
			continue;
		}
		bool is_equal = is_equal_to(t, &t->rival, found);
		bool is_better = is_equal == best_is_equal &&
				 (best == NO_ROW || row->records <= t->rows[best].records);
		if ((is_equal && !best_is_equal) || is_better) {
			best = i;
			best_is_equal = is_equal;
		}
	}
	return best;
}

static void take_elsewhere(struct wp_matching *t, size_t index, const struct wp_record *found,
			   int64_t offset)
{
	struct row *row = &t->rows[index];

	if (row->elsewhere++ > 0)
		return;
	unpack(t, row, &t->fingerprint);
	wp_compare(&t->fingerprint, found, &t->differences);
	show(t, index, found, offset, true);
}

static void take_own(struct wp_matching *t, size_t index, const struct wp_record *found,
		     int64_t offset)
{
	struct row *row = &t->rows[index];

	row->records++;
	unpack(t, row, &t->fingerprint);
	if (is_equal_to(t, &t->fingerprint, found) || row->is_different)
		return;
	row->is_different = true;
	count_parts(t);
	show(t, index, found, offset, false);
}

enum wp_rc wp_matching_take(struct wp_matching *t, const struct wp_record *found, int64_t offset)
{
	struct wp_span header = header_of(found, t->setup.id_header);
	struct wp_span id;
	size_t elsewhere;

	t->counts.records++;
	if (wp_span_is_null(header)) {
		t->counts.nameless++;
		return WP_OK;
	}
	enum wp_rc rc = read_id(t, header, &id);
	if (rc != WP_OK)
		return rc;
	size_t index = find_row(t, id, found, &elsewhere);
	if (index != NO_ROW)
		take_own(t, index, found, offset);
	else if (elsewhere != NO_ROW)
		take_elsewhere(t, elsewhere, found, offset);
	else
		t->counts.foreign++;
	return WP_OK;
}

/* -- the judgement ------------------------------------------------------------ */

static bool is_in_another_topic(const struct row *row)
{
	return row->records == 0 && row->elsewhere > 0;
}

static enum wp_row_verdict verdict_of(const struct row *row)
{
	if (row->is_different || is_in_another_topic(row))
		return WP_VERDICT_DIFFERENT;
	return row->records > 0 ? WP_VERDICT_EQUAL : WP_VERDICT_MISSING;
}

static void judge_row(struct wp_matching_counts *c, const struct row *row)
{
	bool is_repeated = row->records > 1 || (row->records == 0 && row->elsewhere > 1);
	enum wp_row_verdict verdict = verdict_of(row);

	c->equal += verdict == WP_VERDICT_EQUAL ? 1 : 0;
	c->different += verdict == WP_VERDICT_DIFFERENT ? 1 : 0;
	c->missing += verdict == WP_VERDICT_MISSING ? 1 : 0;
	c->parts[WP_PART_TOPIC] += is_in_another_topic(row) ? 1 : 0;
	c->repeated += is_repeated ? 1 : 0;
	c->repeated_unequal += is_repeated && verdict == WP_VERDICT_DIFFERENT ? 1 : 0;
}

/* Records elsewhere say nothing of rows that have one where it should be. */
static void drop_idle_shown(struct wp_matching *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->shown_count; i++) {
		const struct wp_shown *shown = &t->shown[i];
		if (shown->is_elsewhere && !is_in_another_topic(&t->rows[shown->row]))
			continue;
		if (count != i)
			t->shown[count] = *shown;
		count++;
	}
	t->shown_count = count;
}

const struct wp_matching_counts *wp_matching_finish(struct wp_matching *t)
{
	for (size_t i = 0; i < t->counts.rows; i++)
		judge_row(&t->counts, &t->rows[i]);
	drop_idle_shown(t);
	return &t->counts;
}

void wp_matching_row(const struct wp_matching *t, size_t index, struct wp_matching_row *ret)
{
	struct wp_fingerprint fingerprint;
	const struct row *row = &t->rows[index];

	assert(index < t->counts.rows);
	unpack(t, row, &fingerprint);
	*ret = (struct wp_matching_row){
		.table = row->table,
		.id = id_of(t, row),
		.topic = fingerprint.topic,
		.verdict = verdict_of(row),
		.records = row->records + row->elsewhere,
	};
}

const struct wp_shown *wp_matching_shown(const struct wp_matching *t, size_t index)
{
	return index < t->shown_count ? &t->shown[index] : NULL;
}

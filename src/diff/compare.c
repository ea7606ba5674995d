#include <assert.h>

#include "walpost/diff/compare.h"

const char *wp_part_name(enum wp_difference_part part)
{
	static const char *const names[] = {
		[WP_PART_TOPIC] = "topic",	   [WP_PART_PARTITION] = "partition",
		[WP_PART_TIMESTAMP] = "timestamp", [WP_PART_KEY] = "key",
		[WP_PART_HEADER] = "header",	   [WP_PART_HEADER_ORDER] = "order of headers",
		[WP_PART_VALUE] = "value",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == WP_PART_COUNT, "each part has a name");
	assert(part < WP_PART_COUNT);
	return names[part];
}

static void add(struct wp_differences *d, struct wp_difference difference)
{
	if (d->count < WP_DIFFERENCES_MAX)
		d->items[d->count++] = difference;
	else
		d->left_off++;
}

/* When one is longer, its byte behind the end of the other differs. */
static size_t first_difference(const struct wp_trace *a, const struct wp_trace *b)
{
	size_t size = a->bytes.size < b->bytes.size ? a->bytes.size : b->bytes.size;
	size_t at = 0;

	if (a->kind != WP_TRACE_BYTES || b->kind != WP_TRACE_BYTES)
		return WP_AT_UNKNOWN;
	while (at < size && a->bytes.data[at] == b->bytes.data[at])
		at++;
	return at;
}

static void compare_bytes(struct wp_differences *d, enum wp_difference_part part,
			  struct wp_span header, struct wp_trace wanted, struct wp_trace found)
{
	if (wp_trace_equal(&wanted, &found))
		return;
	add(d, (struct wp_difference){
		       .part = part,
		       .header = header,
		       .wanted = wanted,
		       .found = found,
		       .at = first_difference(&wanted, &found),
	       });
}

static void compare_numbers(struct wp_differences *d, enum wp_difference_part part, int64_t wanted,
			    int64_t found)
{
	if (wanted == found)
		return;
	add(d, (struct wp_difference){
		       .part = part,
		       .at = WP_AT_UNKNOWN,
		       .wanted_number = wanted,
		       .found_number = found,
	       });
}

/* -- headers ------------------------------------------------------------------ */

/* Returns the value of the header of that name before which `skipped` others of it stand. */
static struct wp_trace wanted_header(const struct wp_fingerprint *wanted, struct wp_span name,
				     size_t skipped)
{
	for (size_t i = 0; i < wanted->header_count; i++) {
		if (wp_span_equal(wanted->headers[i].name, name) && skipped-- == 0)
			return wanted->headers[i].value;
	}
	return (struct wp_trace){ .kind = WP_TRACE_ABSENT };
}

static struct wp_trace found_header(const struct wp_record *found, struct wp_span name,
				    size_t skipped)
{
	for (size_t i = 0; i < found->header_count; i++) {
		if (wp_span_equal(found->headers[i].name, name) && skipped-- == 0)
			return wp_trace_of(found->headers[i].value);
	}
	return (struct wp_trace){ .kind = WP_TRACE_ABSENT };
}

/* Compares all of one name, in their order; the first that differs is told. */
static void compare_named(struct wp_differences *d, const struct wp_fingerprint *wanted,
			  const struct wp_record *found, struct wp_span name)
{
	for (size_t i = 0;; i++) {
		struct wp_trace one = wanted_header(wanted, name, i);
		struct wp_trace other = found_header(found, name, i);

		if (one.kind == WP_TRACE_ABSENT && other.kind == WP_TRACE_ABSENT)
			return;
		if (!wp_trace_equal(&one, &other)) {
			compare_bytes(d, WP_PART_HEADER, name, one, other);
			return;
		}
	}
}

static bool is_named_before(const struct wp_fingerprint *wanted, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (wp_span_equal(wanted->headers[i].name, wanted->headers[index].name))
			return true;
	}
	return false;
}

static bool is_found_before(const struct wp_record *found, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (wp_span_equal(found->headers[i].name, found->headers[index].name))
			return true;
	}
	return false;
}

static bool compare_header_values(struct wp_differences *d, const struct wp_fingerprint *wanted,
				  const struct wp_record *found)
{
	size_t before = d->count + d->left_off;

	for (size_t i = 0; i < wanted->header_count; i++) {
		if (!is_named_before(wanted, i))
			compare_named(d, wanted, found, wanted->headers[i].name);
	}
	for (size_t i = 0; i < found->header_count; i++) {
		struct wp_span name = found->headers[i].name;
		if (!wp_fingerprint_leaves_out(name) && !is_found_before(found, i) &&
		    wanted_header(wanted, name, 0).kind == WP_TRACE_ABSENT)
			compare_named(d, wanted, found, name);
	}
	return d->count + d->left_off == before;
}

/* Both hold the same headers. */
static void compare_order(struct wp_differences *d, const struct wp_fingerprint *wanted,
			  const struct wp_record *found)
{
	size_t at = 0;

	for (size_t i = 0; i < found->header_count; i++) {
		struct wp_span name = found->headers[i].name;
		if (wp_fingerprint_leaves_out(name))
			continue;
		struct wp_span other = wanted->headers[at++].name;
		if (wp_span_equal(name, other))
			continue;
		compare_bytes(d, WP_PART_HEADER_ORDER, (struct wp_span){ 0 }, wp_trace_of(other),
			      wp_trace_of(name));
		return;
	}
}

/* ----------------------------------------------------------------------------- */

void wp_compare(const struct wp_fingerprint *wanted, const struct wp_record *found,
		struct wp_differences *ret)
{
	struct wp_span none = { 0 };

	ret->count = ret->left_off = 0;
	compare_bytes(ret, WP_PART_TOPIC, none, wp_trace_of(wanted->topic),
		      wp_trace_of(found->topic));
	if (ret->count == 0 && wanted->partition != WP_PARTITION_BY_KEY)
		compare_numbers(ret, WP_PART_PARTITION, wanted->partition, found->partition);
	if (wanted->timestamp_ms != WP_TIMESTAMP_NOW && found->timestamp_ms != WP_TIMESTAMP_NOW)
		compare_numbers(ret, WP_PART_TIMESTAMP, wanted->timestamp_ms, found->timestamp_ms);
	compare_bytes(ret, WP_PART_KEY, none, wanted->key, wp_trace_of(found->key));
	compare_bytes(ret, WP_PART_VALUE, none, wanted->value, wp_trace_of(found->value));
	if (compare_header_values(ret, wanted, found))
		compare_order(ret, wanted, found);
}

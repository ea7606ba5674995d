#include <assert.h>
#include <string.h>

#include "walpost/base/hash.h"
#include "walpost/diff/fingerprint.h"

#define DIGEST_FROM 16 /* smaller parts are kept as they are */

uint64_t wp_digest(struct wp_span bytes)
{
	return wp_hash(WP_HASH_BEGIN, bytes);
}

struct wp_trace wp_trace_of(struct wp_span bytes)
{
	return (struct wp_trace){
		.kind = wp_span_is_null(bytes) ? WP_TRACE_NULL : WP_TRACE_BYTES,
		.bytes = bytes,
	};
}

static bool has_content(const struct wp_trace *t)
{
	return t->kind == WP_TRACE_BYTES || t->kind == WP_TRACE_DIGEST;
}

static uint64_t digest_of(const struct wp_trace *t)
{
	return t->kind == WP_TRACE_DIGEST ? t->digest : wp_digest(t->bytes);
}

bool wp_trace_equal(const struct wp_trace *a, const struct wp_trace *b)
{
	bool is_there = a->kind != WP_TRACE_ABSENT && b->kind != WP_TRACE_ABSENT;

	if (a->kind == WP_TRACE_UNKNOWN || b->kind == WP_TRACE_UNKNOWN)
		return is_there;
	if (!has_content(a) || !has_content(b))
		return a->kind == b->kind;
	if (a->bytes.size != b->bytes.size)
		return false;
	if (a->kind == WP_TRACE_BYTES && b->kind == WP_TRACE_BYTES)
		return wp_span_equal(a->bytes, b->bytes);
	return digest_of(a) == digest_of(b);
}

bool wp_fingerprint_leaves_out(struct wp_span header_name)
{
	return wp_span_is(header_name, "walpost-position") ||
	       wp_span_is(header_name, "walpost-source") ||
	       wp_span_is(header_name, "walpost-reissued");
}

/* -- packing ------------------------------------------------------------------ */

/* Room was made: what is appended fits. */
static void put(struct wp_buffer *b, const void *data, size_t size)
{
	assert(b->capacity - b->size >= size);
	if (size > 0)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

static void put_span(struct wp_buffer *b, struct wp_span span)
{
	put(b, &span.size, sizeof(span.size));
	put(b, span.data, span.size);
}

static void put_trace(struct wp_buffer *b, const struct wp_trace *t)
{
	uint8_t kind = (uint8_t)t->kind;

	put(b, &kind, sizeof(kind));
	if (t->kind == WP_TRACE_BYTES)
		put_span(b, t->bytes);
	if (t->kind == WP_TRACE_DIGEST) {
		put(b, &t->bytes.size, sizeof(t->bytes.size));
		put(b, &t->digest, sizeof(t->digest));
	}
}

static struct wp_trace reduced(struct wp_span bytes, enum wp_fingerprint_detail detail)
{
	struct wp_trace t = wp_trace_of(bytes);

	if (detail == WP_FINGERPRINT_DIGESTS && bytes.size > DIGEST_FROM) {
		t.kind = WP_TRACE_DIGEST;
		t.digest = wp_digest(bytes);
	}
	return t;
}

static bool is_unknown(const struct wp_header *header, unsigned unknown)
{
	return wp_span_is(header->name, "__debezium.context.runId") ||
	       ((unknown & WP_UNKNOWN_TIME) != 0 && wp_span_is(header->name, "ce_time"));
}

static size_t room_of(struct wp_span bytes, enum wp_fingerprint_detail detail)
{
	size_t head = 1 + sizeof(size_t) + sizeof(uint64_t);

	return detail == WP_FINGERPRINT_DIGESTS && bytes.size > DIGEST_FROM ? head
									    : head + bytes.size;
}

static size_t room_for(const struct wp_record *r, enum wp_fingerprint_detail detail)
{
	size_t room = 64 + r->topic.size + room_of(r->key, detail) + room_of(r->value, detail);

	for (size_t i = 0; i < r->header_count; i++)
		room += sizeof(size_t) + r->headers[i].name.size +
			room_of(r->headers[i].value, detail);
	return room;
}

static void put_headers(struct wp_buffer *b, const struct wp_record *r,
			enum wp_fingerprint_detail detail, unsigned unknown)
{
	static const struct wp_trace any = { .kind = WP_TRACE_UNKNOWN };
	size_t count = 0;

	for (size_t i = 0; i < r->header_count; i++)
		count += wp_fingerprint_leaves_out(r->headers[i].name) ? 0 : 1;
	assert(count <= WP_RECORD_HEADERS_MAX);
	put(b, &count, sizeof(count));
	for (size_t i = 0; i < r->header_count; i++) {
		const struct wp_header *header = &r->headers[i];
		if (wp_fingerprint_leaves_out(header->name))
			continue;
		struct wp_trace value = reduced(header->value, detail);
		put_span(b, header->name);
		put_trace(b, is_unknown(header, unknown) ? &any : &value);
	}
}

enum wp_rc wp_fingerprint_pack(const struct wp_record *record, enum wp_fingerprint_detail detail,
			       unsigned unknown, struct wp_buffer *into)
{
	struct wp_trace key = reduced(record->key, detail);
	struct wp_trace value = reduced(record->value, detail);

	enum wp_rc rc = wp_buffer_reserve(into, room_for(record, detail));
	if (rc != WP_OK)
		return rc;
	if ((unknown & WP_UNKNOWN_VALUE) != 0)
		value = (struct wp_trace){ .kind = WP_TRACE_UNKNOWN };
	put(into, &record->partition, sizeof(record->partition));
	put(into, &record->timestamp_ms, sizeof(record->timestamp_ms));
	put_span(into, record->topic);
	put_trace(into, &key);
	put_trace(into, &value);
	put_headers(into, record, detail, unknown);
	return WP_OK;
}

/* -- unpacking ---------------------------------------------------------------- */

/* Our own bytes: they are as they were written. */
static void get(struct wp_span *from, void *to, size_t size)
{
	assert(size <= from->size);
	memcpy(to, from->data, size);
	from->data += size;
	from->size -= size;
}

static struct wp_span get_span(struct wp_span *from)
{
	struct wp_span span = { .data = NULL };

	get(from, &span.size, sizeof(span.size));
	assert(span.size <= from->size);
	span.data = from->data;
	from->data += span.size;
	from->size -= span.size;
	return span;
}

static struct wp_trace get_trace(struct wp_span *from)
{
	struct wp_trace t = { .kind = WP_TRACE_NULL };
	uint8_t kind;

	get(from, &kind, sizeof(kind));
	t.kind = (enum wp_trace_kind)kind;
	if (t.kind == WP_TRACE_BYTES)
		t.bytes = get_span(from);
	if (t.kind == WP_TRACE_DIGEST) {
		get(from, &t.bytes.size, sizeof(t.bytes.size));
		get(from, &t.digest, sizeof(t.digest));
	}
	return t;
}

void wp_fingerprint_unpack(struct wp_span packed, struct wp_fingerprint *ret)
{
	get(&packed, &ret->partition, sizeof(ret->partition));
	get(&packed, &ret->timestamp_ms, sizeof(ret->timestamp_ms));
	ret->topic = get_span(&packed);
	ret->key = get_trace(&packed);
	ret->value = get_trace(&packed);
	get(&packed, &ret->header_count, sizeof(ret->header_count));
	assert(ret->header_count <= WP_RECORD_HEADERS_MAX);
	for (size_t i = 0; i < ret->header_count; i++) {
		ret->headers[i].name = get_span(&packed);
		ret->headers[i].value = get_trace(&packed);
	}
}

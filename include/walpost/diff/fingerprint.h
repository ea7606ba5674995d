/*
 * This is kept of a record that would be sent, until the one that was is found: all its bytes,
 * or a digest in place of each larger part. What cannot be known beforehand is marked so.
 *
 * Owns nothing; packed, it is a run of bytes in the caller's buffer. Pure.
 */
#ifndef WALPOST_DIFF_FINGERPRINT_H
#define WALPOST_DIFF_FINGERPRINT_H

#include "walpost/base/buffer.h"
#include "walpost/sink/record.h"

enum wp_trace_kind {
	WP_TRACE_ABSENT, /* there is no such header */
	WP_TRACE_NULL,
	WP_TRACE_BYTES,
	WP_TRACE_DIGEST,  /* the bytes are not kept */
	WP_TRACE_UNKNOWN, /* to be there, with whatever value */
};

struct wp_trace {
	enum wp_trace_kind kind;
	struct wp_span bytes; /* BYTES; of a DIGEST the size alone is told */
	uint64_t digest;      /* DIGEST */
};

/* Returns 64 bits of FNV-1a: one byte that differs is always seen, more but for chance. */
uint64_t wp_digest(struct wp_span bytes);
struct wp_trace wp_trace_of(struct wp_span bytes);
/* Where sizes are alike digests decide, if one side's bytes were not kept. */
bool wp_trace_equal(const struct wp_trace *a, const struct wp_trace *b);

struct wp_fingerprint_header {
	struct wp_span name;
	struct wp_trace value;
};

struct wp_fingerprint {
	struct wp_span topic;
	int32_t partition;    /* WP_PARTITION_BY_KEY: any */
	int64_t timestamp_ms; /* WP_TIMESTAMP_NOW: any */
	struct wp_trace key;
	struct wp_trace value;
	struct wp_fingerprint_header headers[WP_RECORD_HEADERS_MAX];
	size_t header_count;
};

enum wp_fingerprint_detail { WP_FINGERPRINT_WHOLE, WP_FINGERPRINT_DIGESTS };

/* A record may hold these of the position and the time of a commit that is not known. */
enum {
	WP_UNKNOWN_VALUE = 1, /* both, or the time, stand in its value */
	WP_UNKNOWN_TIME = 2,  /* the header ce_time */
};

/*
 * Appends a fingerprint. Headers that only walpost adds (walpost-position, walpost-source, walpost-reissued) are left
 * out; of Debezium's runId, new with each start, the value is not known. WP_FULL or WP_NOMEM: the buffer is as it was.
 */
enum wp_rc wp_fingerprint_pack(const struct wp_record *record, enum wp_fingerprint_detail detail,
			       unsigned unknown, struct wp_buffer *into) WP_MUST_CHECK;
/* `packed` begins with one; all spans point into it. */
void wp_fingerprint_unpack(struct wp_span packed, struct wp_fingerprint *ret);
/* Is this a header that only walpost adds? */
bool wp_fingerprint_leaves_out(struct wp_span header_name);

#endif

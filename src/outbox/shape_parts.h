/*
 * The parts of a shape share this: shape.c assembles a record, shape_headers.c makes its
 * headers, shape_value.c its value, shape_cloudevent.c a CloudEvent of it; shape_write.c writes single values.
 *
 * A key or a header that must be written anew is appended to one buffer, which may move while
 * it grows: so the places that are to point into it are noted, and filled in at the end.
 */
#ifndef WALPOST_SRC_OUTBOX_SHAPE_PARTS_H
#define WALPOST_SRC_OUTBOX_SHAPE_PARTS_H

#include "walpost/base/buffer.h"
#include "walpost/outbox/columns.h"
#include "walpost/envelope/expand.h"
#include "walpost/outbox/route.h"
#include "walpost/envelope/schema_ids.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/subjects.h"

/* Their names begin with this, and no other header's may. */
#define WP_OUR_HEADERS "walpost-"

enum wp_standard_header {
	WP_HEADER_ID = 1,
	WP_HEADER_TYPE = 2,
	WP_HEADER_POSITION = 4,
};

struct wp_made {
	struct wp_span *place;
	size_t offset;
	size_t size;
};

/* These are the values of headers, and the key. */
#define WP_MADE_MAX (WP_RECORD_HEADERS_KEPT_MAX + 1)
#define WP_RUN_ID_SIZE 37 /* with its NUL */

struct wp_shape {
	const struct wp_outbox_options *options; /* borrowed */
	unsigned standard_headers;
	size_t record_max;		  /* 0: no bound */
	struct wp_route *route;		  /* owned */
	struct wp_schema_ids *schema_ids; /* owned; NULL: none */
	struct wp_subjects *subjects;	  /* borrowed; NULL: nobody asks the registry */
	struct wp_schema_ids *versions;	  /* owned; NULL: without a registry */
	struct wp_buffer subject;	  /* its name */
	const struct wp_subject *awaited; /* by the record made last; NULL: none */
	struct wp_expand *expand;	  /* owned; NULL: payloads are not expanded */
	char run_id[WP_RUN_ID_SIZE];	  /* of the context headers */
	struct wp_buffer decoded;	  /* a bytea payload's bytes */
	struct wp_buffer texts;		  /* for what is around it */
	struct wp_buffer value;		  /* what was made of it */
	struct wp_buffer names;	  /* of headers out of JSON or properties, and their texts */
	struct wp_buffer written; /* the key, and values of headers */
	struct wp_made made[WP_MADE_MAX];
	size_t made_count;
	struct wp_header headers[WP_RECORD_HEADERS_KEPT_MAX];
	size_t header_count;
	struct wp_header extensions[WP_EVENT_FIELDS_MAX]; /* of a CloudEvent */
	struct wp_header columns[WP_RECORD_COLUMNS_MAX];
	unsigned failed; /* parts of the record made last */
	int64_t time_us; /* of the event, since 1970 */
	char position[WP_POSITION_TEXT_SIZE];
};

/* These could not be made. */
enum wp_shape_part {
	WP_PART_TOPIC = 1,
	WP_PART_TIMESTAMP = 2,
	WP_PART_PARTITION = 4,
	WP_PART_PROPERTIES = 8,
	WP_PART_JSON_HEADERS = 16,
	WP_PART_VALUE = 32,
};

/* shape_write.c: what the others use */
/* Adds a header; WP_DATA with the error: it is one more than a record may have. */
enum wp_rc wp_shape_add_header(struct wp_shape *s, struct wp_span name, struct wp_span value,
			       struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_shape_too_many(struct wp_error *error) WP_MUST_CHECK;
/* From `start` on, what was written is to be at `place`. */
void wp_shape_made(struct wp_shape *s, struct wp_span *place, size_t start);
/*
 * Writes the value of a column in that form, at `place` in the end. What needs no writing is there at once. `form` of a
 * header: RAW is Connect's SimpleHeaderConverter.
 */
static inline bool wp_shape_is_text(enum wp_form form)
{
	return form == WP_FORM_RAW || form == WP_FORM_STRING;
}
enum wp_written_for { WP_FOR_KEY_OR_VALUE, WP_FOR_HEADER };
enum wp_rc wp_shape_write(struct wp_shape *s, struct wp_span *place, enum wp_form form,
			  enum wp_written_for what, const struct wp_column_type *type,
			  struct wp_span text, struct wp_error *error) WP_MUST_CHECK;
/*
 * A NULL makes a column optional, whatever the catalog said when the stream began: NOT NULL
 * may have been dropped since.
 */
struct wp_column_type wp_shape_type_of(const struct wp_column_type *type, struct wp_span value);
/* Is a value of this type raw as Postgres prints it? */
bool wp_shape_is_plain(const struct wp_shape *s, const struct wp_column_type *type);
/* Puts table and id before what is wrong, and the sizes where something is too large. */
enum wp_rc wp_shape_say(const struct wp_shape *s, const struct wp_event *event, const char *what,
			enum wp_rc rc, const struct wp_error *inner,
			struct wp_error *error) WP_MUST_CHECK;
/* Returns "table " for a table's name; the name of a message says that it is one. */
const char *wp_shape_kind(const struct wp_event *event);

/* shape_headers.c */
enum wp_rc wp_shape_parse_standard(const char *list, unsigned *ret,
				   struct wp_error *error) WP_MUST_CHECK;
/* All are tried: what of them can be made is there, and the first fault is told. */
enum wp_rc wp_shape_headers(struct wp_shape *s, const struct wp_event *event,
			    struct wp_error *error) WP_MUST_CHECK;
/* shape_cloudevent.c makes headers and value, `data` within. */
enum wp_rc wp_shape_cloudevent(struct wp_shape *s, const struct wp_event *event,
			       struct wp_span data, struct wp_record *record,
			       struct wp_error *error) WP_MUST_CHECK;
/* shape_subject.c serves a registry. */
enum wp_rc wp_shape_begin_subjects(struct wp_shape *s, struct wp_error *error) WP_MUST_CHECK;
/* Appends to the value what precedes the payload. WP_AGAIN with the error: its subject is awaited. */
enum wp_rc wp_shape_frame(struct wp_shape *s, const struct wp_event *event, struct wp_span topic,
			  struct wp_error *error) WP_MUST_CHECK;
/*
 * shape_value.c writes the value into `record`, envelope and all; `record` is complete but for it. When that fails the
 * value is the payload, a bytea's bytes.
 */
enum wp_rc wp_shape_value(struct wp_shape *s, const struct wp_event *event,
			  struct wp_record *record, struct wp_error *error) WP_MUST_CHECK;

#endif

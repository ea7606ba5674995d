/*
 * An event as CloudEvents 1.0.2 has it, attributes and data, in the three ways in which a Kafka
 * record carries one (Kafka protocol binding 1.0.2): binary mode, attributes in headers beside
 * the bare data; structured mode, all of it in the value, as JSON or as protobuf.
 *
 * An event is checked once, then written: what is written of it follows from it alone.
 * Owns nothing; allocates in the buffers that it is given only. Pure.
 * Bounded: WP_CLOUDEVENT_EXTENSIONS_MAX, and the bounds of the buffers and of the headers.
 */
#ifndef WALPOST_ENVELOPE_CLOUDEVENT_H
#define WALPOST_ENVELOPE_CLOUDEVENT_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/sink/record.h"

enum {
	WP_CLOUDEVENT_EXTENSIONS_MAX = 64,
	/* Binary mode has most headers: seven ce_ of the context, extensions, content-type. */
	WP_CLOUDEVENT_HEADERS_MAX = 8 + WP_CLOUDEVENT_EXTENSIONS_MAX,
};

/* This header tells binary from structured mode, and has these values in structured mode. */
#define WP_CLOUDEVENT_TYPE_HEADER "content-type"
#define WP_CLOUDEVENT_TYPE_JSON "application/cloudevents+json; charset=UTF-8"
#define WP_CLOUDEVENT_TYPE_PROTOBUF "application/cloudevents+protobuf"

enum wp_cloudevent_data {
	WP_CLOUDEVENT_TEXT,   /* JSON if wp_cloudevent_is_json(datacontenttype) */
	WP_CLOUDEVENT_BINARY, /* any bytes, JSON too: base64 in JSON, bytes in protobuf */
};

/* Its specversion is "1.0". */
struct wp_cloudevent {
	struct wp_span id;
	struct wp_span source;
	struct wp_span type;
	struct wp_span subject;		    /* null: none */
	struct wp_span datacontenttype;	    /* null: none; text is JSON then */
	struct wp_span dataschema;	    /* null: none */
	int64_t time_us;		    /* since 1970 */
	const struct wp_header *extensions; /* by name; a null value: the event has it not */
	size_t extension_count;
	struct wp_span data; /* null: none */
	enum wp_cloudevent_data data_form;
};

/*
 * Are the attributes what the specification demands? WP_DATA with the error: attribute, value and cure, without table
 * and id of the row. The data is looked at when it is written.
 */
enum wp_rc wp_cloudevent_check(const struct wp_cloudevent *event,
			       struct wp_error *error) WP_MUST_CHECK;

/* What follows takes events that were found good. */

/*
 * Binary mode: puts ce_specversion, ce_id, ce_source, ce_type, ce_subject, ce_time,
 * ce_dataschema, ce_ and each extension, content-type behind the `*count` headers that are there,
 * those that the event has. The value is `data` as it is; an event without data has a null value.
 * What has to be made stands in `texts`, which is reset first: headers live as long as it is
 * left alone. WP_FULL: more than `count_max`, or past the bound of `texts`; no header was added
 * then. WP_NOMEM.
 */
enum wp_rc wp_cloudevent_headers(const struct wp_cloudevent *event, struct wp_buffer *texts,
				 struct wp_header *headers, size_t count_max,
				 size_t *count) WP_MUST_CHECK;

/*
 * Structured mode: writes the JSON object into `into`, which is reset first. Members: specversion, id, source, type,
 * subject, time, datacontenttype, dataschema, the extensions, and data, or data_base64 for binary. JSON data stays as
 * it is, byte for byte, without the space around it. WP_DATA with the error: data that is no JSON, or no UTF-8. WP_FULL
 * past the bound; WP_NOMEM.
 */
enum wp_rc wp_cloudevent_json(const struct wp_cloudevent *event, struct wp_buffer *into,
			      struct wp_error *error) WP_MUST_CHECK;

/*
 * Structured mode: packs an io.cloudevents.v1.CloudEvent (proto/) into `into`, with attributes in the order above.
 * `texts` has room for NUL-terminated copies, of text data too. Both are reset first. WP_DATA with the error: data that
 * is no UTF-8, or text with a NUL. WP_FULL past a bound; WP_NOMEM.
 */
enum wp_rc wp_cloudevent_protobuf(const struct wp_cloudevent *event, struct wp_buffer *texts,
				  struct wp_buffer *into, struct wp_error *error) WP_MUST_CHECK;

/* A time is "2018-04-05T17:31:00.000000Z" and NUL. */
#define WP_CLOUDEVENT_TIME_SIZE 28

/* Is it in the years 1 to 9999, which RFC 3339 and protobuf's Timestamp can say? */
bool wp_cloudevent_time_is_writable(int64_t time_us);
/* Writes RFC 3339 in UTC, always with six digits of a second. The time is writable. Returns `text`. */
char *wp_cloudevent_time_text(int64_t time_us, char text[WP_CLOUDEVENT_TIME_SIZE]);

/* ---- what a value may be; for options, too ---- */

/* Is it a String: UTF-8 without control characters and without what Unicode calls noncharacters? */
bool wp_cloudevent_is_text(struct wp_span value);
/*
 * Does it follow RFC 3986: its characters, % before two hexadecimal digits, one # at most, a scheme before a colon in
 * the first segment? Hosts and ports are not looked at.
 */
bool wp_cloudevent_is_uri_reference(struct wp_span value);
/* Is it that, with a scheme and without a fragment (RFC 3986, 4.3)? */
bool wp_cloudevent_is_absolute_uri(struct wp_span value);
/* Is it type/subtype, with parameters (RFC 2045, 5.1)? */
bool wp_cloudevent_is_media_type(struct wp_span value);
/* Is it of lower-case letters and digits, and neither an attribute of the context nor `data`? */
bool wp_cloudevent_is_extension_name(struct wp_span value);
/* Is it a media type that says JSON, x/json or x/y+json? Null does too (JSON format 1.0.2, 3.1.1). */
bool wp_cloudevent_is_json(struct wp_span datacontenttype);

#endif

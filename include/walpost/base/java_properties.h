/*
 * Reads what java.util.Properties.load(Reader) reads, of Java 17: a .properties file, or the text of
 * Debezium's tracingspancontext column, "#comment\ntraceparent=00-...\ntracestate=a\:b". Names and
 * values come one after the other, as they stand in the text; of one name that stands twice Java
 * keeps the last value.
 *
 * Owns nothing. Borrows: the text, and the buffer that names and values are unescaped into.
 * Pure. Bounded: by the text; how many are too many is the caller's affair.
 */
#ifndef WALPOST_BASE_JAVA_PROPERTIES_H
#define WALPOST_BASE_JAVA_PROPERTIES_H

#include "walpost/base/buffer.h"

struct wp_java_property {
	struct wp_span name;  /* may be empty; null: that was all */
	struct wp_span value; /* may be empty */
	unsigned line;	      /* where its name begins */
};

/* A text is refused for one of these: Java throws at the first, and makes no text of the second. */
enum wp_java_fault {
	WP_JAVA_NO_DIGIT, /* \u without four hexadecimal digits */
	WP_JAVA_HALF,	  /* half of a surrogate pair */
};

struct wp_java_properties {
	const uint8_t *at;
	const uint8_t *end;
	struct wp_buffer *into;
	unsigned line;		  /* of `at`, from 1; after WP_JAVA_HALF: where the half begins */
	enum wp_java_fault fault; /* after WP_DATA */
	unsigned half;		  /* of WP_JAVA_HALF: the half that is there */
};

/*
 * `text` is not null. Makes room in `into` for all that comes, so that it does not move: names and values,
 * which are appended there, are valid until somebody else changes it. Returns WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_java_properties_init(struct wp_java_properties *p, struct wp_span text,
				   struct wp_buffer *into) WP_MUST_CHECK;
/* After WP_DATA `fault` says why; there is no next. */
enum wp_rc wp_java_properties_next(struct wp_java_properties *p,
				   struct wp_java_property *ret) WP_MUST_CHECK;

#endif

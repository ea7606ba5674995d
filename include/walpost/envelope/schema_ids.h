/*
 * Confluent's wire format before a payload that the application encoded: which topic has
 * which schema id (`outbox.confluent.schemas`).
 *
 *   Byte1 0  Int32 id  [ Protobuf only: the index of the message within its file ]
 *
 * The index is a list of zigzag varints, its length first; the list 0 is the one byte 0.
 * Source: Confluent's documentation, "Formats, Serializers, and Deserializers: Wire format".
 *
 *   topic:id[:index[/index...]] , ...       orders.events:12, *-events:7:0, bills:9:1/0
 *
 * Owns: its list. Pure. Bounded: 1,024 items, eight indexes.
 */
#ifndef WALPOST_ENVELOPE_SCHEMA_IDS_H
#define WALPOST_ENVELOPE_SCHEMA_IDS_H

#include "walpost/base/span.h"
#include "walpost/base/error.h"

struct wp_schema_ids;

/* WP_CONFIG with the error, which begins with outbox.confluent.schemas. WP_NOMEM. */
enum wp_rc wp_schema_ids_new(const char *list, struct wp_schema_ids **ret,
			     struct wp_error *error) WP_MUST_CHECK;
void wp_schema_ids_free(struct wp_schema_ids *ids);
/* What stands before a payload for that topic, of the first item that matches; null: nothing. */
struct wp_span wp_schema_ids_prefix(const struct wp_schema_ids *ids, struct wp_span topic);

#endif

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
 * Of subjects of a schema registry the same list says which version is wanted
 * (`outbox.schema.versions`):
 *
 *   subject:version[:index[/index...]] , ... orders-value:3, *-value:latest:1/0
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
/* Likewise; the error begins with outbox.schema.versions. "" is a list without items. */
enum wp_rc wp_schema_versions_new(const char *list, struct wp_schema_ids **ret,
				  struct wp_error *error) WP_MUST_CHECK;
struct wp_schema_version {
	uint32_t number;      /* 0: the latest */
	struct wp_span index; /* as it stands in a frame; null: none is given */
};
/* Returns the version of the first item that matches; without one the latest. */
struct wp_schema_version wp_schema_version_find(const struct wp_schema_ids *versions,
						struct wp_span subject);
/* Returns what stands before a payload for that topic, of the first item that matches; null: nothing. */
struct wp_span wp_schema_ids_prefix(const struct wp_schema_ids *ids, struct wp_span topic);

#endif

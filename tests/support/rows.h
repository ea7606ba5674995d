/* Relations, rows and options in the words of the outbox. */
#ifndef WALPOST_TESTS_OUTBOX_ROWS_H
#define WALPOST_TESTS_OUTBOX_ROWS_H

#include <string.h>

#include "walpost/outbox/options.h"
#include "walpost/wal/relations.h"

#define TEXT_OID 25
#define BYTEA_OID 17

/* What the configuration gives when nothing is set. */
static inline struct wp_outbox_options default_options(void)
{
	return (struct wp_outbox_options){
		.table = "public.outbox",
		.column_id = "id",
		.column_key = "aggregateid",
		.column_type = "type",
		.column_payload = "payload",
		.route_by = "aggregatetype",
		.topic_regex = "(?<routedByValue>.*)",
		.topic_replacement = "outbox.event.${routedByValue}",
		.key_prefix = "",
		.headers_standard = "id,type,walpost-position",
		.headers = "",
		.headers_source = "",
		.name = "",
		.leaves = "",
		.message_prefix = "",
		.column_key_fallback = "",
		.column_timestamp = "",
		.column_expires = "",
		.column_inserted = "",
		.column_processed = "",
		.skip_types = "",
		.column_partition = "",
		.headers_json = "",
		.headers_properties = "",
		.value_columns = "",
		.ce_source = "",
		.ce_source_column = "",
		.ce_subject = "",
		.ce_datacontenttype = "",
		.ce_dataschema = "",
		.ce_extensions = "",
		.confluent_schemas = "",
		.registry = { .url = "", .basic_auth = "", .bearer_token = "", .ca_file = "" },
		.record_name = "${type}",
		.schema_versions = "",
		.debezium_name = "",
		.debezium_schema_version = "",
	};
}

/* `options` and `ignore` must live as long. */
static inline struct wp_outboxes only(const struct wp_outbox_options *options, const char *ignore)
{
	return (struct wp_outboxes){ .items = options, .count = 1, .ignore = ignore };
}

#endif

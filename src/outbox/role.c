/* Says which options fill the roles and the lists of columns. */
#include <stddef.h>
#include <string.h>

#include "mapping.h"

static const struct {
	const char *option;
	size_t offset; /* of its column's name in the options */
	bool is_further;
} roles[] = {
#define ROLE(option_, member_, further_)                                                 \
	{                                                                                \
		"outbox." option_, offsetof(struct wp_outbox_options, member_), further_ \
	}
	[WP_ROLE_ID] = ROLE("column.id", column_id, false),
	[WP_ROLE_KEY] = ROLE("column.key", column_key, false),
	[WP_ROLE_KEY_FALLBACK] = ROLE("column.key.fallback", column_key_fallback, false),
	[WP_ROLE_TYPE] = ROLE("column.type", column_type, false),
	[WP_ROLE_ROUTE] = ROLE("route.by", route_by, false),
	[WP_ROLE_PAYLOAD] = ROLE("column.payload", column_payload, false),
	[WP_ROLE_TIMESTAMP] = ROLE("column.timestamp", column_timestamp, true),
	[WP_ROLE_EXPIRES] = ROLE("column.expires", column_expires, true),
	[WP_ROLE_PARTITION] = ROLE("column.partition", column_partition, true),
	[WP_ROLE_JSON_HEADERS] = ROLE("headers.json", headers_json, true),
	[WP_ROLE_PROPERTIES] = ROLE("headers.properties", headers_properties, true),
	[WP_ROLE_CE_SOURCE] = ROLE("cloudevents.source.column", ce_source_column, false),
	[WP_ROLE_CE_SUBJECT] = ROLE("cloudevents.subject", ce_subject, false),
	[WP_ROLE_SCHEMA_VERSION] = ROLE("debezium.schema.version", debezium_schema_version, false),
#undef ROLE
};

const char *wp_role_option(enum wp_role role)
{
	return roles[role].option;
}

const char *wp_role_column(const struct wp_outbox_options *options, enum wp_role role)
{
	const char *column;

	memcpy(&column, (const unsigned char *)options + roles[role].offset, sizeof(column));
	return column;
}

bool wp_role_is_further(enum wp_role role)
{
	return roles[role].is_further;
}

const char *wp_list_option(enum wp_list list)
{
	static const char *const options[] = {
		[WP_LIST_HEADERS] = "outbox.headers",
		[WP_LIST_MEMBERS] = "outbox.value.columns",
		[WP_LIST_EXTENSIONS] = "outbox.cloudevents.extensions",
	};

	return options[list];
}

const char *wp_list_columns(const struct wp_outbox_options *options, enum wp_list list)
{
	switch (list) {
	case WP_LIST_HEADERS:
		return options->headers;
	case WP_LIST_MEMBERS:
		return options->value_columns;
	default:
		return options->ce_extensions;
	}
}

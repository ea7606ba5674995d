/* Writes the Connect schema of a type, as JsonConverter does. */
#include <assert.h>

#include "walpost/base/json.h"

#include "render_parts.h"

/* This is Connect's type, and the name of what it stands for; such names have version 1. */
struct schema {
	const char *type;
	const char *name; /* NULL: none */
};

static struct schema schema_of_type(enum wp_type type, int32_t modifier)
{
	bool is_ms = wp_render_precision(modifier) <= 3;

	switch (type) {
	case WP_TYPE_ENUM:
		return (struct schema){ "string", "io.debezium.data.Enum" };
	case WP_TYPE_JSON:
	case WP_TYPE_JSONB:
		return (struct schema){ "string", "io.debezium.data.Json" };
	case WP_TYPE_UUID:
		return (struct schema){ "string", "io.debezium.data.Uuid" };
	case WP_TYPE_XML:
		return (struct schema){ "string", "io.debezium.data.Xml" };
	case WP_TYPE_TSVECTOR:
		return (struct schema){ "string", "io.debezium.data.Tsvector" };
	case WP_TYPE_LTREE:
		return (struct schema){ "string", "io.debezium.data.Ltree" };
	case WP_TYPE_BYTEA:
		return (struct schema){ "bytes", NULL };
	case WP_TYPE_BOOL:
		return (struct schema){ "boolean", NULL };
	case WP_TYPE_INT2:
		return (struct schema){ "int16", NULL };
	case WP_TYPE_INT4:
		return (struct schema){ "int32", NULL };
	case WP_TYPE_INT8:
		return (struct schema){ "int64", NULL };
	case WP_TYPE_FLOAT4:
		return (struct schema){ "float", NULL };
	case WP_TYPE_FLOAT8:
		return (struct schema){ "double", NULL };
	case WP_TYPE_NUMERIC:
		if (wp_render_scale(modifier).is_variable)
			return (struct schema){ "struct", "io.debezium.data.VariableScaleDecimal" };
		return (struct schema){ "bytes", "org.apache.kafka.connect.data.Decimal" };
	case WP_TYPE_DATE:
		return (struct schema){ "int32", "io.debezium.time.Date" };
	case WP_TYPE_TIME:
		if (is_ms)
			return (struct schema){ "int32", "io.debezium.time.Time" };
		return (struct schema){ "int64", "io.debezium.time.MicroTime" };
	case WP_TYPE_TIMESTAMP:
		return (struct schema){ "int64", is_ms ? "io.debezium.time.Timestamp"
						       : "io.debezium.time.MicroTimestamp" };
	case WP_TYPE_TIMESTAMPTZ:
		return (struct schema){ "string", "io.debezium.time.ZonedTimestamp" };
	default:
		return (struct schema){ "string", NULL };
	}
}

static bool has_variable_scale(const struct wp_column_type *type)
{
	return type->type == WP_TYPE_NUMERIC && wp_render_scale(type->modifier).is_variable;
}

static enum wp_rc write_json_text(struct wp_buffer *into, const char *text)
{
	return wp_json_write_string(into, wp_span_of(text), WP_JSON_JACKSON);
}

static enum wp_rc write_parameters(struct wp_buffer *into, const struct wp_column_type *type)
{
	if (type->type == WP_TYPE_ENUM && type->labels != NULL) {
		enum wp_rc rc = wp_buffer_append_text(into, ",\"parameters\":{\"allowed\":");
		if (rc == WP_OK)
			rc = write_json_text(into, type->labels);
		return rc == WP_OK ? wp_buffer_append_byte(into, '}') : rc;
	}
	if (type->type == WP_TYPE_NUMERIC && !has_variable_scale(type)) {
		struct wp_render_scale scale = wp_render_scale(type->modifier);
		return wp_buffer_printf(into,
					",\"parameters\":{\"scale\":\"%d\","
					"\"connect.decimal.precision\":\"%d\"}",
					scale.scale, scale.precision);
	}
	return WP_OK;
}

static enum wp_rc write_field(struct wp_buffer *into, const char *field)
{
	if (field == NULL)
		return WP_OK;
	enum wp_rc rc = wp_buffer_append_text(into, ",\"field\":");
	return rc == WP_OK ? write_json_text(into, field) : rc;
}

/* Writes all but what comes with an array. */
static enum wp_rc write_scalar(struct wp_buffer *into, const struct wp_column_type *type,
			       const char *field)
{
	struct schema schema = schema_of_type(type->type, type->modifier);

	enum wp_rc rc = wp_buffer_printf(into, "{\"type\":\"%s\"", schema.type);
	if (rc == WP_OK && has_variable_scale(type))
		rc = wp_buffer_append_text(
			into,
			",\"fields\":[{\"type\":\"int32\",\"optional\":false,\"field\":\"scale\"},"
			"{\"type\":\"bytes\",\"optional\":false,\"field\":\"value\"}]");
	if (rc == WP_OK)
		rc = wp_buffer_printf(into, ",\"optional\":%s",
				      type->is_optional ? "true" : "false");
	if (rc == WP_OK && schema.name != NULL)
		rc = wp_buffer_printf(into, ",\"name\":\"%s\",\"version\":1", schema.name);
	if (rc == WP_OK && has_variable_scale(type))
		rc = wp_buffer_append_text(into, ",\"doc\":\"Variable scaled decimal\"");
	if (rc == WP_OK)
		rc = write_parameters(into, type);
	if (rc == WP_OK)
		rc = write_field(into, field);
	return rc == WP_OK ? wp_buffer_append_byte(into, '}') : rc;
}

static enum wp_rc write_array_schema(struct wp_buffer *into, const struct wp_column_type *type,
				     const char *field)
{
	struct wp_column_type items = {
		.type = type->element,
		.modifier = type->modifier,
		.is_optional = type->element != WP_TYPE_ENUM, /* as Debezium has it */
		.labels = type->labels,
	};

	enum wp_rc rc = wp_buffer_append_text(into, "{\"type\":\"array\",\"items\":");
	if (rc == WP_OK)
		rc = write_scalar(into, &items, NULL);
	if (rc == WP_OK)
		rc = wp_buffer_printf(into, ",\"optional\":%s",
				      type->is_optional ? "true" : "false");
	if (rc == WP_OK)
		rc = write_field(into, field);
	return rc == WP_OK ? wp_buffer_append_byte(into, '}') : rc;
}

enum wp_rc wp_render_schema(struct wp_buffer *into, const struct wp_column_type *type,
			    const char *field)
{
	size_t size = into->size;

	assert(wp_render_knows(type));
	enum wp_rc rc = type->type == WP_TYPE_ARRAY ? write_array_schema(into, type, field)
						    : write_scalar(into, type, field);
	if (rc != WP_OK)
		into->size = size;
	return rc;
}

#include "rendering.h"

static void check_schema(struct wp_column_type type, const char *field, const char *wanted)
{
	struct wp_buffer into;

	wp_buffer_init(&into, 1000);
	CHECK_EQ(wp_render_schema(&into, &type, field), WP_OK);
	CHECK_SPAN(wp_buffer_span(&into), wanted);
	wp_buffer_release(&into);
}

/* What follows {"type":" and the type's name, of a column that may be NULL. */
#define OPTIONAL "\",\"optional\":true"
#define NAMED(name_) OPTIONAL ",\"name\":\"" name_ "\",\"version\":1}"
#define TYPE "{\"type\":\""

static void plain_types_have_no_name(void **state)
{
	check_schema(column_of(WP_TYPE_TEXT, -1), NULL, TYPE "string" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_TEXT, 259), NULL, TYPE "string" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_CHAR, -1), NULL, TYPE "string" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_PRINTED, -1), NULL, TYPE "string" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_BYTEA, -1), NULL, TYPE "bytes" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_BOOL, -1), NULL, TYPE "boolean" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_INT2, -1), NULL, TYPE "int16" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_INT4, -1), NULL, TYPE "int32" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_INT8, -1), NULL, TYPE "int64" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_FLOAT4, -1), NULL, TYPE "float" OPTIONAL "}");
	check_schema(column_of(WP_TYPE_FLOAT8, -1), NULL, TYPE "double" OPTIONAL "}");
}

static void debeziums_types_have_one(void **state)
{
	check_schema(column_of(WP_TYPE_JSON, -1), NULL,
		     TYPE "string" NAMED("io.debezium.data.Json"));
	check_schema(column_of(WP_TYPE_JSONB, -1), NULL,
		     TYPE "string" NAMED("io.debezium.data.Json"));
	check_schema(column_of(WP_TYPE_XML, -1), NULL, TYPE "string" NAMED("io.debezium.data.Xml"));
	check_schema(column_of(WP_TYPE_TSVECTOR, -1), NULL,
		     TYPE "string" NAMED("io.debezium.data.Tsvector"));
	check_schema(column_of(WP_TYPE_LTREE, -1), NULL,
		     TYPE "string" NAMED("io.debezium.data.Ltree"));
	check_schema(column_of(WP_TYPE_UUID, -1), NULL,
		     TYPE "string" NAMED("io.debezium.data.Uuid"));
	check_schema(column_of(WP_TYPE_DATE, -1), NULL,
		     TYPE "int32" NAMED("io.debezium.time.Date"));
	check_schema(column_of(WP_TYPE_TIMESTAMPTZ, -1), NULL,
		     TYPE "string" NAMED("io.debezium.time.ZonedTimestamp"));
}

static void up_to_three_digits_of_a_second_are_milliseconds(void **state)
{
	check_schema(column_of(WP_TYPE_TIME, -1), NULL,
		     TYPE "int64" NAMED("io.debezium.time.MicroTime"));
	check_schema(column_of(WP_TYPE_TIME, 4), NULL,
		     TYPE "int64" NAMED("io.debezium.time.MicroTime"));
	check_schema(column_of(WP_TYPE_TIME, 3), NULL, TYPE "int32" NAMED("io.debezium.time.Time"));
	check_schema(column_of(WP_TYPE_TIMESTAMP, -1), NULL,
		     TYPE "int64" NAMED("io.debezium.time.MicroTimestamp"));
	check_schema(column_of(WP_TYPE_TIMESTAMP, 4), NULL,
		     TYPE "int64" NAMED("io.debezium.time.MicroTimestamp"));
	check_schema(column_of(WP_TYPE_TIMESTAMP, 3), NULL,
		     TYPE "int64" NAMED("io.debezium.time.Timestamp"));
	check_schema(column_of(WP_TYPE_TIMESTAMP, 0), NULL,
		     TYPE "int64" NAMED("io.debezium.time.Timestamp"));
}

static void a_numeric_tells_scale_and_precision(void **state)
{
	check_schema(column_of(WP_TYPE_NUMERIC, NUMERIC(12, 3)), NULL,
		     "{\"type\":\"bytes\",\"optional\":true,"
		     "\"name\":\"org.apache.kafka.connect.data.Decimal\",\"version\":1,"
		     "\"parameters\":{\"scale\":\"3\",\"connect.decimal.precision\":\"12\"}}");
	check_schema(column_of(WP_TYPE_NUMERIC, NUMERIC(1000, 0)), "n",
		     "{\"type\":\"bytes\",\"optional\":true,"
		     "\"name\":\"org.apache.kafka.connect.data.Decimal\",\"version\":1,"
		     "\"parameters\":{\"scale\":\"0\",\"connect.decimal.precision\":\"1000\"},"
		     "\"field\":\"n\"}");
}

static void a_numeric_without_scale_is_a_struct(void **state)
{
	check_schema(column_of(WP_TYPE_NUMERIC, -1), NULL,
		     "{\"type\":\"struct\",\"fields\":["
		     "{\"type\":\"int32\",\"optional\":false,\"field\":\"scale\"},"
		     "{\"type\":\"bytes\",\"optional\":false,\"field\":\"value\"}],"
		     "\"optional\":true,\"name\":\"io.debezium.data.VariableScaleDecimal\","
		     "\"version\":1,\"doc\":\"Variable scaled decimal\"}");
}

static void an_enum_lists_its_labels_when_they_are_known(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_ENUM, -1);

	check_schema(type, NULL, TYPE "string" NAMED("io.debezium.data.Enum"));
	type.labels = "sad,ok,\"happy\"";
	check_schema(type, NULL,
		     "{\"type\":\"string\",\"optional\":true,\"name\":\"io.debezium.data.Enum\","
		     "\"version\":1,\"parameters\":{\"allowed\":\"sad,ok,\\\"happy\\\"\"}}");
}

static void items_of_an_array_are_optional(void **state)
{
	check_schema(array_of(WP_TYPE_TEXT, -1), NULL,
		     "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"optional\":true},"
		     "\"optional\":true}");
	check_schema(array_of(WP_TYPE_TIME, 3), "times",
		     "{\"type\":\"array\",\"items\":{\"type\":\"int32\",\"optional\":true,"
		     "\"name\":\"io.debezium.time.Time\",\"version\":1},"
		     "\"optional\":true,\"field\":\"times\"}");
	check_schema(array_of(WP_TYPE_NUMERIC, NUMERIC(5, 2)), NULL,
		     "{\"type\":\"array\",\"items\":{\"type\":\"bytes\",\"optional\":true,"
		     "\"name\":\"org.apache.kafka.connect.data.Decimal\",\"version\":1,"
		     "\"parameters\":{\"scale\":\"2\",\"connect.decimal.precision\":\"5\"}},"
		     "\"optional\":true}");
}

static void items_of_an_array_of_an_enum_are_not(void **state)
{
	struct wp_column_type type = array_of(WP_TYPE_ENUM, -1);

	type.labels = "sad,ok";
	check_schema(type, NULL,
		     "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"optional\":false,"
		     "\"name\":\"io.debezium.data.Enum\",\"version\":1,"
		     "\"parameters\":{\"allowed\":\"sad,ok\"}},\"optional\":true}");
}

static void a_column_that_is_never_null_is_not_optional(void **state)
{
	struct wp_column_type type = column_of(WP_TYPE_UUID, -1);

	type.is_optional = false;
	check_schema(type, NULL,
		     "{\"type\":\"string\",\"optional\":false,\"name\":\"io.debezium.data.Uuid\","
		     "\"version\":1}");
	type = array_of(WP_TYPE_INT4, -1);
	type.is_optional = false;
	check_schema(type, NULL,
		     "{\"type\":\"array\",\"items\":{\"type\":\"int32\",\"optional\":true},"
		     "\"optional\":false}");
}

static void the_field_comes_last_and_is_escaped(void **state)
{
	check_schema(column_of(WP_TYPE_INT8, -1), "c_\"big\"",
		     "{\"type\":\"int64\",\"optional\":true,\"field\":\"c_\\\"big\\\"\"}");
	check_schema(column_of(WP_TYPE_DATE, -1), "",
		     "{\"type\":\"int32\",\"optional\":true,\"name\":\"io.debezium.time.Date\","
		     "\"version\":1,\"field\":\"\"}");
}

static void a_schema_fits_or_leaves_nothing_behind(void **state)
{
	struct wp_column_type types[] = { array_of(WP_TYPE_ENUM, -1),
					  column_of(WP_TYPE_NUMERIC, -1),
					  column_of(WP_TYPE_NUMERIC, NUMERIC(12, 3)) };

	types[0].labels = "sad,ok";
	for (size_t i = 0; i < 3; i++) {
		enum wp_rc rc = WP_FULL;
		for (size_t room = 0; rc != WP_OK; room++) {
			struct wp_buffer into;
			wp_buffer_init(&into, room);
			rc = wp_render_schema(&into, &types[i], "field");
			CHECK(rc == WP_OK || rc == WP_FULL);
			CHECK_EQ(into.size, rc == WP_OK ? room : 0);
			wp_buffer_release(&into);
		}
	}
}

int main(void)
{
	return RUN(PLAIN(plain_types_have_no_name), PLAIN(debeziums_types_have_one),
		   PLAIN(up_to_three_digits_of_a_second_are_milliseconds),
		   PLAIN(a_numeric_tells_scale_and_precision),
		   PLAIN(a_numeric_without_scale_is_a_struct),
		   PLAIN(an_enum_lists_its_labels_when_they_are_known),
		   PLAIN(items_of_an_array_are_optional),
		   PLAIN(items_of_an_array_of_an_enum_are_not),
		   PLAIN(a_column_that_is_never_null_is_not_optional),
		   PLAIN(the_field_comes_last_and_is_escaped),
		   PLAIN(a_schema_fits_or_leaves_nothing_behind));
}

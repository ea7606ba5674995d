#include <stdio.h>
#include <string.h>

#include "support/memory.h"
#include "support/rows.h"
#include "support/check.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/table.h"

#define COLUMNS_MAX 200

static struct wp_outbox_options options;
static struct wp_mapping *m;
static struct wp_event event; /* of the last row */
static struct wp_error error;
static struct wp_buffer printed; /* of binary values */
static struct wp_needed_columns needed;

/* A map with one relation, which a test describes by its columns. */
static struct {
	struct wp_relations *relations;
	struct wp_relation *relation;
	struct wp_column columns[COLUMNS_MAX];
	size_t count;
} table;

static void add_column(const char *name, uint32_t type_oid)
{
	table.columns[table.count++] =
		(struct wp_column){ .name = wp_span_of(name), .type_oid = type_oid };
}

static void put_relation(const char *schema, const char *name)
{
	struct wp_change change = {
		.kind = WP_CHANGE_RELATION,
		.as.relation = {
			.oid = 4711,
			.schema = wp_span_of(schema),
			.name = wp_span_of(name),
			.columns = table.columns,
			.column_count = table.count,
		},
	};

	CHECK_EQ(wp_relations_put(table.relations, &change, &table.relation), WP_OK);
}

static void put_type(uint32_t oid, const char *schema, const char *name)
{
	const struct wp_change type = {
		.kind = WP_CHANGE_TYPE,
		.as.type = { .oid = oid, .schema = wp_span_of(schema), .name = wp_span_of(name) },
	};

	CHECK_EQ(wp_relations_put_type(table.relations, &type), WP_OK);
}

static void begin_table(void)
{
	wp_relations_free(table.relations);
	table.count = 0;
	CHECK_EQ(wp_relations_new(4, NULL, &table.relations), WP_OK);
}

static void table_of(const char *const *columns, size_t count)
{
	begin_table();
	for (size_t i = 0; i < count; i++)
		add_column(columns[i], TEXT_OID);
	put_relation("public", "outbox");
}

static const char *const debezium_columns[] = { "id", "aggregatetype", "aggregateid", "type",
						"payload" };
static const char *const debezium_row[] = { "7", "Order", "42", "Created", "{}" };

static int set_up(void **state)
{
	options = default_options();
	table_of(debezium_columns, 5);
	return 0;
}

static int tear_down(void **state)
{
	wp_mapping_free(m);
	m = NULL;
	wp_relations_free(table.relations);
	table.relations = NULL;
	wp_buffer_release(&printed);
	return 0;
}

static enum wp_rc new_mapping(enum wp_columns columns, enum wp_transfer transfer,
			      struct wp_error *reason)
{
	const struct wp_mapping_setup setup = {
		.options = &options,
		.relation = table.relation,
		.types = table.relations,
		.columns = columns,
		.transfer = transfer,
	};

	wp_mapping_free(m);
	m = NULL;
	return wp_mapping_new(&setup, &m, reason);
}

static void make_mapping(void)
{
	CHECK_EQ(new_mapping(WP_COLUMNS_ALL, WP_TRANSFER_TEXT, &error), WP_OK);
}

static struct wp_value value_of(const char *text)
{
	if (text == NULL)
		return (struct wp_value){ .kind = WP_VALUE_NULL };
	return (struct wp_value){ .kind = WP_VALUE_TEXT, .bytes = wp_span_of(text) };
}

static enum wp_rc map_values(const struct wp_value *values, size_t count)
{
	return wp_mapping_event(m, &(struct wp_tuple){ .values = values, .count = count }, &printed,
				&event, &error);
}

/* One row of five texts; NULL is NULL. */
static enum wp_rc map(const char *const texts[5])
{
	struct wp_value values[5];

	for (size_t i = 0; i < 5; i++)
		values[i] = value_of(texts[i]);
	return map_values(values, 5);
}

static void no_mapping(const char *reason)
{
	error.text[0] = '\0';
	CHECK_EQ(new_mapping(WP_COLUMNS_ALL, WP_TRANSFER_TEXT, &error), WP_CONFIG);
	CHECK(m == NULL);
	CHECK_HAS(error.text, reason);
	CHECK_EQ(new_mapping(WP_COLUMNS_ALL, WP_TRANSFER_TEXT, NULL), WP_CONFIG);
}

static void with_known_columns_only_a_row_is_refused_with_what_there_is(void **state)
{
	static const char *const fewer[] = { "id", "payload" };
	struct wp_value values[2] = { value_of("7"), value_of("{}") };

	table_of(fewer, 2);
	CHECK_EQ(new_mapping(WP_COLUMNS_KNOWN, WP_TRANSFER_TEXT, &error), WP_OK);
	CHECK_EQ(map_values(values, 2), WP_DATA);
	CHECK_HAS(error.text, "has no column \"aggregateid\"");
	CHECK(wp_span_is(event.id, "7") && wp_span_is(event.payload, "{}"));
	CHECK(wp_span_is_null(event.key) && wp_span_is_null(event.route) &&
	      wp_span_is_null(event.type));
	memory_fails_after(1);
	CHECK_EQ(new_mapping(WP_COLUMNS_KNOWN, WP_TRANSFER_TEXT, &error), WP_NOMEM);
	memory_works();
}

static void a_row_of_debeziums_table_is_an_event(void **state)
{
	make_mapping();
	CHECK_EQ(map(debezium_row), WP_OK);
	CHECK_SPAN(event.id, "7");
	CHECK_SPAN(event.route, "Order");
	CHECK_SPAN(event.key, "42");
	CHECK_SPAN(event.type, "Created");
	CHECK_SPAN(event.payload, "{}");
	CHECK(!event.payload_is_bytea);
	CHECK_EQ(event.headers.count, 0);
	CHECK_TEXT(event.table, "public.outbox");
}

static void columns_go_by_name_and_not_by_place(void **state)
{
	const char *const columns[] = { "Pay load", "id", "what", "whom", "of" };
	const char *const row[] = { "{}", "7", "Created", "42", "Order" };

	table_of(columns, 5);
	options.column_payload = "Pay load";
	options.column_type = "what";
	options.column_key = "whom";
	options.route_by = "of";
	make_mapping();
	CHECK_EQ(map(row), WP_OK);
	CHECK_SPAN(event.payload, "{}");
	CHECK_SPAN(event.type, "Created");
	CHECK_SPAN(event.key, "42");
	CHECK_SPAN(event.route, "Order");
}

static void one_column_may_mean_two_things(void **state)
{
	options.column_key = "id";
	options.route_by = "type";
	make_mapping();
	CHECK_EQ(map(debezium_row), WP_OK);
	CHECK_SPAN(event.key, "7");
	CHECK_SPAN(event.route, "Created");
}

static void configured_columns_become_headers_in_their_order(void **state)
{
	const char *const row[] = { "7", "Order", "42", NULL, "{}" };

	options.headers = "type:eventType, aggregateid";
	make_mapping();
	options.headers = "gone";
	CHECK_EQ(map(row), WP_OK);
	CHECK_EQ(event.headers.count, 2);
	CHECK_SPAN(event.headers.items[0].name, "eventType");
	CHECK_EQ(event.headers.items[0].name.data[9], '\0');
	CHECK(wp_span_is_null(event.headers.items[0].value));
	CHECK_SPAN(event.headers.items[1].name, "aggregateid");
	CHECK_SPAN(event.headers.items[1].value, "42");
}

static void a_bytea_payload_is_marked_and_so_is_a_domain_over_it(void **state)
{
	const char *const row[] = { "7", "Order", "42", "Created", "\\x00" };
	uint32_t oids[] = { BYTEA_OID, 16500 };

	put_type(16500, "pg_catalog", "bytea");
	for (size_t i = 0; i < 2; i++) {
		table.columns[4].type_oid = oids[i];
		put_relation("public", "outbox");
		make_mapping();
		CHECK_EQ(map(row), WP_OK);
		CHECK(event.payload_is_bytea);
	}
}

static void null_and_empty_differ(void **state)
{
	const char *const nulls[] = { "7", "Order", "42", NULL, NULL };
	const char *const empties[] = { "", "", "", "", "" };

	make_mapping();
	CHECK_EQ(map(nulls), WP_OK);
	CHECK(wp_span_is_null(event.type));
	CHECK(wp_span_is_null(event.payload));
	CHECK_EQ(map(empties), WP_OK);
	CHECK_SPAN(event.id, "");
	CHECK_SPAN(event.key, "");
	CHECK_SPAN(event.type, "");
	CHECK_SPAN(event.payload, "");
}

static void without_a_type_column_there_is_no_type(void **state)
{
	options.column_type = "";
	make_mapping();
	CHECK_EQ(map(debezium_row), WP_OK);
	CHECK(wp_span_is_null(event.type));
}

static void a_missing_column_is_named_with_its_option_and_those_there_are(void **state)
{
	const char *const columns[] = { "id", "aggregate_type", "type", "payload" };

	table_of(columns, 4);
	no_mapping(
		"table public.outbox has no column \"aggregateid\" (outbox.column.key); it has: "
		"id, aggregate_type, type, payload; set outbox.column.key, or restore the column");
	options.column_key = "id";
	no_mapping("no column \"aggregatetype\" (outbox.route.by)");
	options.route_by = "aggregate_type";
	options.column_id = "ID";
	no_mapping("no column \"ID\" (outbox.column.id)");
	options.column_id = "id";
	options.column_type = "what";
	no_mapping("no column \"what\" (outbox.column.type)");
	options.column_type = "type";
	options.column_payload = "data";
	no_mapping("no column \"data\" (outbox.column.payload)");
	options.column_payload = "payload";
	options.headers = "type,tenant:t";
	no_mapping("no column \"tenant\" (outbox.headers)");
	options.headers = "type,";
	no_mapping("outbox.headers = \"type,\"");
}

static void a_table_of_many_columns_is_listed_in_part(void **state)
{
	char names[COLUMNS_MAX][24];

	begin_table();
	for (size_t i = 0; i < COLUMNS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "a_longish_column_%zu", i);
		add_column(names[i], TEXT_OID);
	}
	put_relation("public", "outbox");
	no_mapping("a_longish_column_1, a_longish");
	CHECK_HAS(error.text, " more; set outbox.column.id, or restore the column");
}

static void a_table_is_named_as_sql_does(void **state)
{
	begin_table();
	put_relation("My.App", "Out\"box");
	no_mapping("table \"My.App\".\"Out\"\"box\" has no column \"id\"");
	CHECK_HAS(error.text, "it has: ;");
}

static void a_null_where_none_may_be_is_refused_with_table_and_id(void **state)
{
	const char *const no_id[] = { NULL, "Order", "42", "Created", "{}" };
	const char *const no_route[] = { "7", NULL, "42", "Created", "{}" };
	const char *const no_key[] = { "7", "Order", NULL, "Created", "{}" };

	make_mapping();
	CHECK_EQ(map(no_id), WP_DATA);
	CHECK_HAS(error.text,
		  "table public.outbox: a row has NULL in column \"id\" (outbox.column.id)");
	CHECK_EQ(map(no_route), WP_DATA);
	CHECK_HAS(error.text,
		  "table public.outbox, id 7: column \"aggregatetype\" (outbox.route.by) is NULL");
	CHECK_EQ(map(no_key), WP_DATA);
	CHECK_HAS(error.text,
		  "table public.outbox, id 7: column \"aggregateid\" (outbox.column.key) is NULL");
	CHECK_HAS(error.text, "outbox.key.null = allow");
	CHECK_SPAN(event.id, "7");
	CHECK_TEXT(event.table, "public.outbox");
}

static void a_null_key_passes_when_allowed(void **state)
{
	const char *const no_key[] = { "7", "Order", NULL, "Created", "{}" };

	options.key_null = WP_KEY_NULL_ALLOW;
	make_mapping();
	CHECK_EQ(map(no_key), WP_OK);
	CHECK(wp_span_is_null(event.key));
}

static void a_row_of_another_shape_breaks_the_protocol(void **state)
{
	struct wp_value values[6];

	make_mapping();
	for (size_t i = 0; i < 6; i++)
		values[i] = value_of("x");
	for (size_t count = 4; count <= 6; count += 2) {
		CHECK_EQ(map_values(values, count), WP_PROTO);
		CHECK_HAS(error.text, "columns arrived for a relation of 5");
	}
}

static void a_value_that_is_not_text_breaks_the_protocol(void **state)
{
	enum wp_value_kind kinds[] = { WP_VALUE_BINARY, WP_VALUE_UNCHANGED };

	make_mapping();
	for (size_t column = 0; column < 5; column++) {
		struct wp_value values[5];
		for (size_t i = 0; i < 5; i++)
			values[i] = value_of("x");
		values[column].kind = kinds[column % 2];
		CHECK_EQ(map_values(values, 5), WP_PROTO);
		CHECK_HAS(error.text, "binary or an unchanged value");
	}
}

static void a_row_costs_no_memory(void **state)
{
	options.headers = "type:t,id:i";
	make_mapping();
	size_t before = memory_calls();
	CHECK_EQ(map(debezium_row), WP_OK);
	CHECK_EQ(memory_calls(), before);
}

static void out_of_memory_is_said(void **state)
{
	memory_fails_after(0);
	CHECK_EQ(new_mapping(WP_COLUMNS_ALL, WP_TRANSFER_TEXT, &error), WP_NOMEM);
	memory_works();
	CHECK(m == NULL);
}

static void the_needed_columns_stand_once_each(void **state)
{
	const char *const wanted[] = { "id", "aggregateid", "payload", "type", "tenant", "we,ird" };

	options.column_type = "";
	options.route_by = "type";
	options.headers = "type:eventType, tenant, \"we,ird\":x, tenant:y";
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_EQ(needed.count, 6);
	for (size_t i = 0; i < 6; i++) {
		bool found = false;
		for (size_t j = 0; j < needed.count; j++)
			found = found || strcmp(needed.names[j], wanted[i]) == 0;
		CHECK(found);
	}
}

static void columns_that_a_table_may_lack_stand_behind_the_others(void **state)
{
	options.headers = "tenant,payload:p";
	options.value_columns = "n";
	options.ce_extensions = "e";
	options.column_timestamp = "at";
	options.column_partition = "part";
	options.columns_missing = WP_MISSING_IGNORE;
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_EQ(needed.count, 6); /* Debezium's, and the extension */
	CHECK_EQ(needed.all_count, 10);
	CHECK_TEXT(needed.names[6], "at");
	CHECK_TEXT(needed.definitions[6], "timestamptz");
	CHECK_TEXT(needed.names[7], "part");
	CHECK_TEXT(needed.names[8], "tenant");
	CHECK_TEXT(needed.names[9], "n");
	options.columns_missing = WP_MISSING_ERROR;
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_EQ(needed.count, 10);
	CHECK_EQ(needed.all_count, 10);
}

static const char *definition(const char *name)
{
	for (size_t i = 0; i < needed.count; i++) {
		if (strcmp(needed.names[i], name) == 0)
			return needed.definitions[i];
	}
	return "(not needed)";
}

static void the_needed_columns_are_defined_as_in_debezium_s_table(void **state)
{
	options.headers = "tenant";
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_TEXT(definition("id"), "uuid PRIMARY KEY");
	CHECK_TEXT(definition("aggregatetype"), "varchar(255) NOT NULL");
	CHECK_TEXT(definition("aggregateid"), "varchar(255) NOT NULL");
	CHECK_TEXT(definition("type"), "varchar(255) NOT NULL");
	CHECK_TEXT(definition("payload"), "jsonb");
	CHECK_TEXT(definition("tenant"), "text");
	options.key_null = WP_KEY_NULL_ALLOW;
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_TEXT(definition("aggregateid"), "varchar(255)");
}

static void the_needed_columns_stand_in_the_order_of_debezium_s_table(void **state)
{
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_EQ(needed.count, 5);
	CHECK_TEXT(needed.names[0], "id");
	CHECK_TEXT(needed.names[1], "aggregatetype");
	CHECK_TEXT(needed.names[2], "aggregateid");
	CHECK_TEXT(needed.names[3], "type");
	CHECK_TEXT(needed.names[4], "payload");
}

static void as_many_columns_as_can_be_configured_fit(void **state)
{
	char list[1024] = "c0";

	for (int i = 1; i < WP_COLUMN_LIST_MAX; i++)
		(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), ",c%d", i);
	options.headers = list;
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_EQ(needed.count, 5 + WP_COLUMN_LIST_MAX);
	CHECK_TEXT(needed.names[64], "c59");
}

static void no_columns_are_needed_by_what_is_no_list(void **state)
{
	options.headers = "a,,b";
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_CONFIG);
	CHECK_HAS(error.text, "outbox.headers = \"a,,b\"");
}

/* -- binary --------------------------------------------------------------- */

#define UUID_OID 2950
#define JSONB_OID 3802
#define INT8_OID 20
#define TIMESTAMPTZ_OID 1184
#define TEXT_ARRAY_OID 1009
#define DOMAIN_OID 16500
#define UUID_BYTES "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10"
#define UUID_TEXT "01234567-89ab-cdef-fedc-ba9876543210"

static struct wp_value binary_of(const char *bytes, size_t size)
{
	return (struct wp_value){
		.kind = WP_VALUE_BINARY,
		.bytes = { .data = (const uint8_t *)bytes, .size = size },
	};
}

static enum wp_rc new_binary_mapping(void)
{
	error.text[0] = '\0';
	return new_mapping(WP_COLUMNS_ALL, WP_TRANSFER_BINARY, &error);
}

/* Debezium's table of these types, in the order of debezium_columns. */
static void typed_table(const uint32_t oids[5])
{
	begin_table();
	for (size_t i = 0; i < 5; i++)
		add_column(debezium_columns[i], oids[i]);
	put_relation("public", "outbox");
	wp_buffer_init(&printed, 1000);
}

static void binary_values_become_the_text_that_postgres_prints(void **state)
{
	const uint32_t oids[] = { UUID_OID, BYTEA_OID, JSONB_OID, TEXT_OID, BYTEA_OID };
	const struct wp_value values[] = {
		binary_of(UUID_BYTES, 16),   binary_of("\x00\xff/", 3), binary_of("\x01{}", 3),
		binary_of("caf\xc3\xa9", 5), binary_of("\x00\x01", 2),
	};

	typed_table(oids);
	options.headers = "payload:p,id:i,aggregateid";
	CHECK_EQ(new_binary_mapping(), WP_OK);
	CHECK_EQ(map_values(values, 5), WP_OK);
	CHECK_SPAN(event.id, UUID_TEXT);
	CHECK_SPAN(event.route, "\\x00ff2f");
	CHECK_SPAN(event.key, "{}");
	CHECK_SPAN(event.type, "caf\xc3\xa9");
	CHECK_EQ(event.payload.data, values[4].bytes.data); /* not even copied */
	CHECK_EQ(event.payload.size, 2);
	CHECK(!event.payload_is_bytea);
	CHECK_SPAN(event.headers.items[0].value, "\\x0001");
	CHECK_SPAN(event.headers.items[1].value, UUID_TEXT);
	CHECK_SPAN(event.headers.items[2].value, "{}");
}

static void numbers_times_and_arrays_are_printed_side_by_side(void **state)
{
	const uint32_t oids[] = { INT8_OID, TEXT_OID, TIMESTAMPTZ_OID, TEXT_OID, DOMAIN_OID };
	static const char array[] = "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\2\0\0\0\1"
				    "\0\0\0\1a\0\0\0\3b c";
	const struct wp_value values[] = {
		binary_of("\xff\xff\xff\xff\xff\xff\xff\xff", 8),
		binary_of("order", 5),
		binary_of("\0\0\0\0\0\0\0\1", 8),
		binary_of("Made", 4),
		binary_of(array, sizeof(array) - 1),
	};

	typed_table(oids);
	put_type(DOMAIN_OID, "pg_catalog", "_text");
	options.headers = "payload:tags";
	CHECK_EQ(new_binary_mapping(), WP_OK);
	CHECK_EQ(map_values(values, 5), WP_OK);
	CHECK_SPAN(event.id, "-1");
	CHECK_SPAN(event.key, "2000-01-01 00:00:00.000001+00");
	CHECK_SPAN(event.payload, "{a,\"b c\"}");
	CHECK_SPAN(event.headers.items[0].value, "{a,\"b c\"}");
}

static void null_and_empty_differ_in_binary_too(void **state)
{
	const uint32_t oids[] = { TEXT_OID, TEXT_OID, BYTEA_OID, UUID_OID, BYTEA_OID };
	struct wp_value values[] = {
		binary_of("", 0), binary_of("", 0), binary_of("", 0),
		value_of(NULL),	  value_of(NULL),
	};

	typed_table(oids);
	CHECK_EQ(new_binary_mapping(), WP_OK);
	CHECK_EQ(map_values(values, 5), WP_OK);
	CHECK_SPAN(event.id, "");
	CHECK_SPAN(event.key, "\\x");
	CHECK(wp_span_is_null(event.type));
	CHECK(wp_span_is_null(event.payload));
	values[4] = binary_of("", 0);
	CHECK_EQ(map_values(values, 5), WP_OK);
	CHECK_SPAN(event.payload, "");
}

/* A type without a send function comes as text, whatever was asked for. */
static void a_value_that_came_as_text_is_taken_as_such(void **state)
{
	const uint32_t oids[] = { UUID_OID, TEXT_OID, TEXT_OID, TEXT_OID, BYTEA_OID };
	const char *const row[] = { "7", "Order", "42", "Created", "\\x00" };

	typed_table(oids);
	CHECK_EQ(new_binary_mapping(), WP_OK);
	CHECK_EQ(map(row), WP_OK);
	CHECK_SPAN(event.id, "7");
	CHECK(event.payload_is_bytea);
}

static void a_binary_form_that_is_not_known_is_refused(void **state)
{
	const uint32_t oids[] = { UUID_OID, TEXT_OID, TEXT_OID, TEXT_OID, JSONB_OID };
	const struct wp_value good = binary_of("x", 1);
	const struct {
		struct wp_value id;
		struct wp_value payload;
	} wrong[] = {
		{ binary_of(UUID_BYTES, 15), binary_of("\x01{}", 3) },
		{ binary_of(UUID_BYTES "x", 17), binary_of("\x01{}", 3) },
		{ binary_of(UUID_BYTES, 16), binary_of("\x02{}", 3) },
		{ binary_of(UUID_BYTES, 16), binary_of("", 0) },
	};

	typed_table(oids);
	CHECK_EQ(new_binary_mapping(), WP_OK);
	for (size_t i = 0; i < 4; i++) {
		const struct wp_value values[] = { wrong[i].id, good, good, good,
						   wrong[i].payload };
		CHECK_EQ(map_values(values, 5), WP_CONFIG);
		CHECK_HAS(error.text, "table public.outbox");
		CHECK_HAS(error.text, "postgres.binary = off");
	}
}

static void a_column_of_a_type_that_binary_cannot_do_is_refused_and_named(void **state)
{
	const uint32_t oids[] = { TEXT_OID, TEXT_OID, 1186, TEXT_OID, 16999 };

	typed_table(oids);
	CHECK_EQ(new_binary_mapping(), WP_CONFIG);
	CHECK(m == NULL);
	CHECK_HAS(error.text, "table public.outbox");
	CHECK_HAS(error.text, "\"aggregateid\" (outbox.column.key) is of type interval,");
	CHECK_HAS(error.text, "postgres.binary = off");
	options.column_key = "id";
	CHECK_EQ(new_binary_mapping(), WP_CONFIG);
	CHECK_HAS(error.text, "\"payload\" (outbox.column.payload) is of type 16999::regtype");
	options.column_payload = "type"; /* what is not mapped may be anything */
	CHECK_EQ(new_binary_mapping(), WP_OK);
}

static void a_domain_that_was_told_is_what_it_stands_for(void **state)
{
	const uint32_t oids[] = { TEXT_OID, TEXT_OID, TEXT_OID, TEXT_OID, DOMAIN_OID };
	const struct wp_value good = binary_of("x", 1);
	const struct wp_value values[] = { good, good, good, good, binary_of("\x01{}", 3) };

	typed_table(oids);
	CHECK_EQ(new_binary_mapping(), WP_CONFIG);
	put_type(DOMAIN_OID, "pg_catalog", "jsonb");
	CHECK_EQ(new_binary_mapping(), WP_OK);
	CHECK_EQ(map_values(values, 5), WP_OK);
	CHECK_SPAN(event.payload, "{}");
}

static void what_is_printed_is_bounded_and_may_find_no_memory(void **state)
{
	const uint32_t oids[] = { TEXT_OID, TEXT_OID, BYTEA_OID, TEXT_OID, BYTEA_OID };
	static const char bytes[500];
	const struct wp_value good = binary_of("x", 1);
	struct wp_value values[] = { good, good, binary_of(bytes, 500), good,
				     binary_of(bytes, 500) };

	typed_table(oids);
	CHECK_EQ(new_binary_mapping(), WP_OK);
	CHECK_EQ(map_values(values, 5), WP_CONFIG); /* 1002 > 1000 */
	CHECK_HAS(error.text, "more than 1000");
	values[2].bytes.size = 499;
	memory_fails_after(0);
	CHECK_EQ(map_values(values, 5), WP_NOMEM);
	memory_works();
	CHECK_EQ(map_values(values, 5), WP_OK);
	CHECK_EQ(event.key.size, 1000);
}

static void what_does_not_do_is_told_apart(void **state)
{
	struct wp_mapping_fault fault = { .kind = WP_COLUMN_NONE };

	options.column_timestamp = "payload";
	struct wp_mapping_setup setup = {
		.options = &options,
		.relation = table.relation,
		.types = table.relations,
		.fault = &fault,
	};
	CHECK_EQ(wp_mapping_new(&setup, &m, &error), WP_CONFIG);
	CHECK_EQ(fault.kind, WP_COLUMN_NOT_A_TIME);
	CHECK_TEXT(fault.column, "payload");
	CHECK_TEXT(fault.option, "outbox.column.timestamp");
	CHECK_EQ(fault.type_oid, TEXT_OID);
	options.column_timestamp = "nowhere";
	CHECK_EQ(wp_mapping_new(&setup, &m, &error), WP_CONFIG);
	CHECK_EQ(fault.kind, WP_COLUMN_MISSING);
	setup.fault = NULL;
	CHECK_EQ(wp_mapping_new(&setup, &m, &error), WP_CONFIG);
}

/* -- what the catalog says ------------------------------------------------------------ */

#define NUMERIC_OID 1700
#define NUMERIC(precision_, scale_) (((precision_) << 16 | (scale_)) + 4)

/* The catalog's answers, and a table of which the log tells that its payload is `told`. */
struct catalog {
	struct wp_column told;
	struct wp_column_fact column;
	const char *expression;	  /* its DEFAULT */
	struct wp_type_fact type; /* with an oid: one is told of */
	enum wp_rendering types;
	enum wp_transfer transfer;
	const char *type_schema; /* of a message about told.type_oid; NULL: none came */
	const char *type_name;

	struct wp_mapping_setup setup;
};

static struct wp_column_facts facts;

static enum wp_rc map_by(struct catalog *c)
{
	options.types = c->types;
	begin_table();
	for (size_t i = 0; i < 4; i++)
		add_column(debezium_columns[i], TEXT_OID);
	c->told.name = wp_span_of("payload");
	table.columns[table.count++] = c->told;
	put_relation("public", "outbox");
	wp_column_facts_begin(&facts);
	(void)snprintf(c->column.name, sizeof(c->column.name), "payload");
	wp_column_facts_add(&facts, &c->column, c->expression);
	if (c->type.oid != 0)
		CHECK(wp_column_facts_add_type(&facts, &c->type, NULL));
	CHECK_EQ(wp_relations_put_facts(table.relations, &facts), WP_OK);
	if (c->type_name != NULL)
		put_type(c->told.type_oid, c->type_schema, c->type_name);
	c->setup = (struct wp_mapping_setup){
		.options = &options,
		.relation = table.relation,
		.types = table.relations,
		.facts = &facts,
		.transfer = c->transfer,
	};
	wp_mapping_free(m);
	m = NULL;
	return wp_mapping_new(&c->setup, &m, &error);
}

static struct wp_column_type payload_of(struct catalog c)
{
	static const char *const row[] = { "1", "1", "1", "1", "1" };

	CHECK_EQ(map_by(&c), WP_OK);
	CHECK_EQ(map(row), WP_OK);
	return *event.payload_type;
}

/* Of a row whose payload is NULL; NULL: it stays so. */
static const char *payload_in_place_of_null(struct catalog c)
{
	static const char *const row[] = { "1", "1", "1", "1", NULL };
	static char text[64];

	CHECK_EQ(map_by(&c), WP_OK);
	CHECK_EQ(map(row), WP_OK);
	if (wp_span_is_null(event.payload))
		return NULL;
	(void)snprintf(text, sizeof(text), "%.*s", (int)event.payload.size,
		       (const char *)event.payload.data);
	return text;
}

static void a_null_is_the_default_to_debezium_when_that_is_a_constant(void **state)
{
	struct catalog c = { .told = { .type_oid = TEXT_OID, .type_modifier = -1 },
			     .column = { .type_oid = TEXT_OID },
			     .expression = "'it''s'::text",
			     .types = WP_RENDERING_DEBEZIUM };

	CHECK_TEXT(payload_in_place_of_null(c), "it's");
	c.transfer = WP_TRANSFER_BINARY;
	CHECK_TEXT(payload_in_place_of_null(c), "it's");
	c.types = WP_RENDERING_POSTGRES;
	CHECK(payload_in_place_of_null(c) == NULL);
	c.types = WP_RENDERING_DEBEZIUM;
	c.expression = "lower('A'::text)";
	CHECK(payload_in_place_of_null(c) == NULL);
	c.expression = "'x'::text";
	c.column.type_oid = 1043; /* altered since */
	CHECK(payload_in_place_of_null(c) == NULL);
}

static void a_default_counts_for_the_types_of_which_debezium_reads_it(void **state)
{
	static const struct {
		uint32_t oid;
		int32_t modifier;
		const char *expression;
		const char *text; /* NULL: none */
	} cases[] = {
		{ 16, -1, "true", "t" },
		{ 16, -1, "false", "f" },
		{ 23, -1, "'-7'::integer", "-7" },
		{ 1700, NUMERIC(8, 3), "1.5", "1.5" },
		{ 1700, -1, "1.5", NULL },
		{ 2950, -1, "'00000000-0000-4000-8000-0000000000ff'::uuid",
		  "00000000-0000-4000-8000-0000000000ff" },
		{ 17, -1, "'\\x01'::bytea", NULL },
		{ 1009, -1, "'{a}'::text[]", NULL },
		{ 869, -1, "'10.0.0.1'::inet", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct catalog c = { .told = { .type_oid = cases[i].oid,
					       .type_modifier = cases[i].modifier },
				     .column = { .type_oid = cases[i].oid },
				     .expression = cases[i].expression,
				     .types = WP_RENDERING_DEBEZIUM };
		const char *found = payload_in_place_of_null(c);

		if (cases[i].text == NULL)
			CHECK(found == NULL);
		else
			CHECK_TEXT(found, cases[i].text);
	}
}

/* `wants`: would fresh facts tell? */
static void refused_by(struct catalog c, bool wants, const char *said)
{
	CHECK_EQ(map_by(&c), WP_CONFIG);
	CHECK(m == NULL);
	CHECK_HAS(error.text, said);
	CHECK_EQ(wp_mapping_wants_facts(&c.setup), wants);
}

static void a_column_that_was_altered_is_as_the_log_tells(void **state)
{
	struct catalog c = { .told = { .type_oid = NUMERIC_OID, .type_modifier = NUMERIC(12, 4) },
			     .column = { .type_oid = NUMERIC_OID } };

	CHECK_EQ(payload_of(c).modifier, NUMERIC(12, 4));
	c.told.type_modifier = -1;
	CHECK_EQ(payload_of(c).modifier, -1);
}

#define OVER_NUMERIC                                                              \
	{                                                                         \
		.oid = 70000, .base_oid = NUMERIC_OID, .modifier = NUMERIC(10, 2) \
	}

/* Also when the catalog says that the column is of another type by now, or is gone. */
static void a_domain_s_modifier_is_the_catalog_s(void **state)
{
	struct catalog c = { .told = { .type_oid = 70000, .type_modifier = -1 },
			     .column = { .type_oid = 70000 },
			     .type = OVER_NUMERIC };

	CHECK_EQ(payload_of(c).modifier, NUMERIC(10, 2));
	c.column.type_oid = NUMERIC_OID;
	CHECK_EQ(payload_of(c).modifier, NUMERIC(10, 2));
	CHECK_EQ(payload_of(c).type, WP_TYPE_NUMERIC);
}

/* REPLICA IDENTITY FULL marks all columns as key; and the type may have been altered since. */
static void a_column_of_the_key_may_be_null_if_the_catalog_says_so(void **state)
{
	struct catalog c = { .told = { .type_oid = TEXT_OID, .type_modifier = -1, .is_key = true },
			     .column = { .type_oid = TEXT_OID } };

	CHECK(payload_of(c).is_optional);
	c.column.type_oid = BYTEA_OID;
	CHECK(payload_of(c).is_optional);
	c.column.is_not_null = true;
	CHECK(!payload_of(c).is_optional);
}

static void a_domain_may_forbid_null_as_well(void **state)
{
	struct catalog c = { .told = { .type_oid = 70000, .type_modifier = -1 },
			     .column = { .type_oid = 70000 },
			     .type = OVER_NUMERIC };

	CHECK(payload_of(c).is_optional);
	c.type.is_not_null = true;
	CHECK(!payload_of(c).is_optional);
}

static void a_domain_that_the_catalog_was_not_asked_about_wants_fresh_facts(void **state)
{
	struct catalog c = { .told = { .type_oid = 70000, .type_modifier = -1 },
			     .column = { .type_oid = NUMERIC_OID },
			     .types = WP_RENDERING_DEBEZIUM,
			     .type_schema = "pg_catalog",
			     .type_name = "numeric" };

	refused_by(c, true,
		   "column \"payload\" (outbox.column.payload) is of a domain over numeric, which "
		   "the database does not describe (it may have been dropped), nor its precision");
	c.type_name = "_timestamptz";
	refused_by(c, true, "a domain over _timestamptz");
	c.type_name = "text"; /* without precision */
	CHECK_EQ(payload_of(c).type, WP_TYPE_TEXT);
	c.type_name = "numeric";
	c.types = WP_RENDERING_POSTGRES;
	CHECK_EQ(payload_of(c).type, WP_TYPE_NUMERIC);
}

static void a_type_that_the_catalog_was_not_asked_about_wants_fresh_facts(void **state)
{
	struct catalog c = { .told = { .type_oid = 70000, .type_modifier = -1 },
			     .column = { .type_oid = TEXT_OID },
			     .types = WP_RENDERING_DEBEZIUM,
			     .type_schema = "shop",
			     .type_name = "mood" };

	refused_by(c, true,
		   "is of type shop.mood, which walpost cannot write as Debezium does (it may have "
		   "been dropped); ");
	c.types = WP_RENDERING_POSTGRES;
	c.transfer = WP_TRANSFER_BINARY;
	refused_by(c, true, "is of type shop.mood, which walpost cannot read in binary (it may");
	c.type_name = NULL;
	refused_by(c, true, "is of type 70000::regtype, ");
	/* It was asked about, and is no type that we know. */
	c.column.type_oid = 70000;
	refused_by(c, false, "is of type 70000::regtype, which walpost cannot read in binary; ");
	c.column.type_oid = TEXT_OID;
	c.type = (struct wp_type_fact){ .oid = 70000, .base_oid = 600 };
	refused_by(c, false, "is of type 70000::regtype, which walpost cannot read in binary; ");
	/* Every database has it. */
	c.told.type_oid = 600;
	refused_by(c, false, "is of type point, which walpost cannot read in binary; ");
}

/* Its dead letter is written in whatever form is asked for. */
static void what_is_missing_has_a_form_all_the_same(void **state)
{
	static const char *const fewer[] = { "id" };
	struct wp_value value = value_of("7");

	table_of(fewer, 1);
	options.types = WP_RENDERING_DEBEZIUM;
	options.headers = "tenant";
	CHECK_EQ(new_mapping(WP_COLUMNS_KNOWN, WP_TRANSFER_TEXT, &error), WP_OK);
	CHECK_EQ(map_values(&value, 1), WP_DATA);
	CHECK(wp_render_knows(event.key_type));
	CHECK(wp_render_knows(event.type_type));
	CHECK(wp_render_knows(event.payload_type));
	CHECK(wp_render_knows(event.headers.items[0].type));
}

int main(void)
{
	return RUN(TEST(with_known_columns_only_a_row_is_refused_with_what_there_is),
		   TEST(what_does_not_do_is_told_apart),
		   TEST(a_column_that_was_altered_is_as_the_log_tells),
		   TEST(a_null_is_the_default_to_debezium_when_that_is_a_constant),
		   TEST(a_default_counts_for_the_types_of_which_debezium_reads_it),
		   TEST(a_domain_s_modifier_is_the_catalog_s),
		   TEST(a_column_of_the_key_may_be_null_if_the_catalog_says_so),
		   TEST(a_domain_may_forbid_null_as_well),
		   TEST(a_domain_that_the_catalog_was_not_asked_about_wants_fresh_facts),
		   TEST(a_type_that_the_catalog_was_not_asked_about_wants_fresh_facts),
		   TEST(what_is_missing_has_a_form_all_the_same),
		   TEST(a_row_of_debeziums_table_is_an_event),
		   TEST(columns_go_by_name_and_not_by_place), TEST(one_column_may_mean_two_things),
		   TEST(configured_columns_become_headers_in_their_order),
		   TEST(a_bytea_payload_is_marked_and_so_is_a_domain_over_it),
		   TEST(null_and_empty_differ), TEST(without_a_type_column_there_is_no_type),
		   TEST(a_missing_column_is_named_with_its_option_and_those_there_are),
		   TEST(a_table_of_many_columns_is_listed_in_part),
		   TEST(a_table_is_named_as_sql_does),
		   TEST(a_null_where_none_may_be_is_refused_with_table_and_id),
		   TEST(a_null_key_passes_when_allowed),
		   TEST(a_row_of_another_shape_breaks_the_protocol),
		   TEST(a_value_that_is_not_text_breaks_the_protocol), TEST(a_row_costs_no_memory),
		   TEST(out_of_memory_is_said), TEST(the_needed_columns_stand_once_each),
		   TEST(columns_that_a_table_may_lack_stand_behind_the_others),
		   TEST(the_needed_columns_are_defined_as_in_debezium_s_table),
		   TEST(the_needed_columns_stand_in_the_order_of_debezium_s_table),
		   TEST(as_many_columns_as_can_be_configured_fit),
		   TEST(no_columns_are_needed_by_what_is_no_list),
		   TEST(binary_values_become_the_text_that_postgres_prints),
		   TEST(numbers_times_and_arrays_are_printed_side_by_side),
		   TEST(null_and_empty_differ_in_binary_too),
		   TEST(a_value_that_came_as_text_is_taken_as_such),
		   TEST(a_binary_form_that_is_not_known_is_refused),
		   TEST(a_column_of_a_type_that_binary_cannot_do_is_refused_and_named),
		   TEST(a_domain_that_was_told_is_what_it_stands_for),
		   TEST(what_is_printed_is_bounded_and_may_find_no_memory));
}

#include <stdio.h>
#include <string.h>

#include "support/memory.h"
#include "support/rows.h"
#include "support/check.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/table.h"

#define COLUMNS_MAX 200

static struct wp_error error;
static struct wp_buffer printed; /* of binary values; each test's end() releases it */

/* A map with one relation, which a test describes by its columns. */
struct fixture {
	struct wp_relations *relations;
	struct wp_relation *relation;
	struct wp_column columns[COLUMNS_MAX];
	size_t count;
};

static void add_column(struct fixture *f, const char *name, uint32_t type_oid)
{
	f->columns[f->count++] =
		(struct wp_column){ .name = wp_span_of(name), .type_oid = type_oid };
}

static void put_relation(struct fixture *f, const char *schema, const char *name)
{
	struct wp_change change = {
		.kind = WP_CHANGE_RELATION,
		.as.relation = {
			.oid = 4711,
			.schema = wp_span_of(schema),
			.name = wp_span_of(name),
			.columns = f->columns,
			.column_count = f->count,
		},
	};

	CHECK_EQ(wp_relations_put(f->relations, &change, &f->relation), WP_OK);
}

static struct fixture table_of(const char *const *columns, size_t count)
{
	struct fixture f = { .count = 0 };

	CHECK_EQ(wp_relations_new(4, NULL, &f.relations), WP_OK);
	for (size_t i = 0; i < count; i++)
		add_column(&f, columns[i], TEXT_OID);
	put_relation(&f, "public", "outbox");
	return f;
}

static const char *const debezium_columns[] = { "id", "aggregatetype", "aggregateid", "type",
						"payload" };

static struct fixture debezium_table(void)
{
	return table_of(debezium_columns, 5);
}

static void end(struct fixture *f)
{
	wp_relations_free(f->relations);
	wp_buffer_release(&printed);
}

static enum wp_rc new_mapping(const struct fixture *f, const struct wp_outbox_options *options,
			      enum wp_columns columns, enum wp_transfer transfer,
			      struct wp_mapping **ret, struct wp_error *reason)
{
	const struct wp_mapping_setup setup = {
		.options = options,
		.relation = f->relation,
		.types = f->relations,
		.columns = columns,
		.transfer = transfer,
	};

	return wp_mapping_new(&setup, ret, reason);
}

static struct wp_mapping *mapping_of(const struct fixture *f,
				     const struct wp_outbox_options *options)
{
	struct wp_mapping *m = NULL;

	CHECK_EQ(new_mapping(f, options, WP_COLUMNS_ALL, WP_TRANSFER_TEXT, &m, &error), WP_OK);
	return m;
}

static struct wp_value value_of(const char *text)
{
	if (text == NULL)
		return (struct wp_value){ .kind = WP_VALUE_NULL };
	return (struct wp_value){ .kind = WP_VALUE_TEXT, .bytes = wp_span_of(text) };
}

/* One row of five texts; NULL is NULL. */
static enum wp_rc map(const struct wp_mapping *m, const char *const texts[5], struct wp_event *ret)
{
	struct wp_value values[5];

	for (size_t i = 0; i < 5; i++)
		values[i] = value_of(texts[i]);
	return wp_mapping_event(m, &(struct wp_tuple){ .values = values, .count = 5 }, &printed,
				ret, &error);
}

static void no_mapping(const struct fixture *f, const struct wp_outbox_options *options,
		       const char *reason)
{
	struct wp_mapping *m = NULL;

	error.text[0] = '\0';
	CHECK_EQ(new_mapping(f, options, WP_COLUMNS_ALL, WP_TRANSFER_TEXT, &m, &error), WP_CONFIG);
	CHECK(m == NULL);
	CHECK_HAS(error.text, reason);
	CHECK_EQ(new_mapping(f, options, WP_COLUMNS_ALL, WP_TRANSFER_TEXT, &m, NULL), WP_CONFIG);
}

static void with_known_columns_only_a_row_is_refused_with_what_there_is(void **state)
{
	static const char *const fewer[] = { "id", "payload" };
	struct fixture f = table_of(fewer, 2);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;
	struct wp_event event;
	struct wp_value values[2] = { value_of("7"), value_of("{}") };

	CHECK_EQ(new_mapping(&f, &options, WP_COLUMNS_KNOWN, WP_TRANSFER_TEXT, &m, &error), WP_OK);
	CHECK_EQ(wp_mapping_event(m, &(struct wp_tuple){ .values = values, .count = 2 }, &printed,
				  &event, &error),
		 WP_DATA);
	CHECK_HAS(error.text, "has no column \"aggregateid\"");
	CHECK(wp_span_is(event.id, "7") && wp_span_is(event.payload, "{}"));
	CHECK(wp_span_is_null(event.key) && wp_span_is_null(event.route) &&
	      wp_span_is_null(event.type));
	wp_mapping_free(m);
	memory_fails_after(1);
	CHECK_EQ(new_mapping(&f, &options, WP_COLUMNS_KNOWN, WP_TRANSFER_TEXT, &m, &error),
		 WP_NOMEM);
	memory_works();
	end(&f);
}

static void a_row_of_debeziums_table_is_an_event(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = mapping_of(&f, &options);
	const char *const row[] = { "7", "Order", "42", "Created", "{}" };
	struct wp_event event;

	CHECK_EQ(map(m, row, &event), WP_OK);
	CHECK_SPAN(event.id, "7");
	CHECK_SPAN(event.route, "Order");
	CHECK_SPAN(event.key, "42");
	CHECK_SPAN(event.type, "Created");
	CHECK_SPAN(event.payload, "{}");
	CHECK(!event.payload_is_bytea);
	CHECK_EQ(event.headers.count, 0);
	CHECK_TEXT(event.table, "public.outbox");
	wp_mapping_free(m);
	end(&f);
}

static void columns_go_by_name_and_not_by_place(void **state)
{
	const char *const columns[] = { "Pay load", "id", "what", "whom", "of" };
	const char *const row[] = { "{}", "7", "Created", "42", "Order" };
	struct fixture f = table_of(columns, 5);
	struct wp_outbox_options options = default_options();
	struct wp_event event;

	options.column_payload = "Pay load";
	options.column_type = "what";
	options.column_key = "whom";
	options.route_by = "of";
	struct wp_mapping *m = mapping_of(&f, &options);
	CHECK_EQ(map(m, row, &event), WP_OK);
	CHECK_SPAN(event.payload, "{}");
	CHECK_SPAN(event.type, "Created");
	CHECK_SPAN(event.key, "42");
	CHECK_SPAN(event.route, "Order");
	wp_mapping_free(m);
	end(&f);
}

static void one_column_may_mean_two_things(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	const char *const row[] = { "7", "Order", "42", "Created", "{}" };
	struct wp_event event;

	options.column_key = "id";
	options.route_by = "type";
	struct wp_mapping *m = mapping_of(&f, &options);
	CHECK_EQ(map(m, row, &event), WP_OK);
	CHECK_SPAN(event.key, "7");
	CHECK_SPAN(event.route, "Created");
	wp_mapping_free(m);
	end(&f);
}

static void configured_columns_become_headers_in_their_order(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	const char *const row[] = { "7", "Order", "42", NULL, "{}" };
	struct wp_event event;

	options.headers = "type:eventType, aggregateid";
	struct wp_mapping *m = mapping_of(&f, &options);
	options.headers = "gone";
	CHECK_EQ(map(m, row, &event), WP_OK);
	CHECK_EQ(event.headers.count, 2);
	CHECK_SPAN(event.headers.items[0].name, "eventType");
	CHECK_EQ(event.headers.items[0].name.data[9], '\0');
	CHECK(wp_span_is_null(event.headers.items[0].value));
	CHECK_SPAN(event.headers.items[1].name, "aggregateid");
	CHECK_SPAN(event.headers.items[1].value, "42");
	wp_mapping_free(m);
	end(&f);
}

static void a_bytea_payload_is_marked_and_so_is_a_domain_over_it(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	const char *const row[] = { "7", "Order", "42", "Created", "\\x00" };
	struct wp_change type = {
		.kind = WP_CHANGE_TYPE,
		.as.type = {
			.oid = 16500,
			.schema = wp_span_of("pg_catalog"),
			.name = wp_span_of("bytea"),
		},
	};
	uint32_t oids[] = { BYTEA_OID, 16500 };

	CHECK_EQ(wp_relations_put_type(f.relations, &type), WP_OK);
	for (size_t i = 0; i < 2; i++) {
		struct wp_event event;
		f.columns[4].type_oid = oids[i];
		put_relation(&f, "public", "outbox");
		struct wp_mapping *m = mapping_of(&f, &options);
		CHECK_EQ(map(m, row, &event), WP_OK);
		CHECK(event.payload_is_bytea);
		wp_mapping_free(m);
	}
	end(&f);
}

static void null_and_empty_differ(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = mapping_of(&f, &options);
	const char *const nulls[] = { "7", "Order", "42", NULL, NULL };
	const char *const empties[] = { "", "", "", "", "" };
	struct wp_event event;

	CHECK_EQ(map(m, nulls, &event), WP_OK);
	CHECK(wp_span_is_null(event.type));
	CHECK(wp_span_is_null(event.payload));
	CHECK_EQ(map(m, empties, &event), WP_OK);
	CHECK_SPAN(event.id, "");
	CHECK_SPAN(event.key, "");
	CHECK_SPAN(event.type, "");
	CHECK_SPAN(event.payload, "");
	wp_mapping_free(m);
	end(&f);
}

static void without_a_type_column_there_is_no_type(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	const char *const row[] = { "7", "Order", "42", "Created", "{}" };
	struct wp_event event;

	options.column_type = "";
	struct wp_mapping *m = mapping_of(&f, &options);
	CHECK_EQ(map(m, row, &event), WP_OK);
	CHECK(wp_span_is_null(event.type));
	wp_mapping_free(m);
	end(&f);
}

static void a_missing_column_is_named_with_its_option_and_those_there_are(void **state)
{
	const char *const columns[] = { "id", "aggregate_type", "type", "payload" };
	struct fixture f = table_of(columns, 4);
	struct wp_outbox_options options = default_options();

	no_mapping(
		&f, &options,
		"table public.outbox has no column \"aggregateid\" (outbox.column.key); it has: "
		"id, aggregate_type, type, payload; set outbox.column.key, or restore the column");
	options.column_key = "id";
	no_mapping(&f, &options, "no column \"aggregatetype\" (outbox.route.by)");
	options.route_by = "aggregate_type";
	options.column_id = "ID";
	no_mapping(&f, &options, "no column \"ID\" (outbox.column.id)");
	options.column_id = "id";
	options.column_type = "what";
	no_mapping(&f, &options, "no column \"what\" (outbox.column.type)");
	options.column_type = "type";
	options.column_payload = "data";
	no_mapping(&f, &options, "no column \"data\" (outbox.column.payload)");
	options.column_payload = "payload";
	options.headers = "type,tenant:t";
	no_mapping(&f, &options, "no column \"tenant\" (outbox.headers)");
	options.headers = "type,";
	no_mapping(&f, &options, "outbox.headers = \"type,\"");
	end(&f);
}

static void a_table_of_many_columns_is_listed_in_part(void **state)
{
	struct fixture f = { .count = 0 };
	struct wp_outbox_options options = default_options();
	char names[COLUMNS_MAX][24];

	CHECK_EQ(wp_relations_new(4, NULL, &f.relations), WP_OK);
	for (size_t i = 0; i < COLUMNS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "a_longish_column_%zu", i);
		add_column(&f, names[i], TEXT_OID);
	}
	put_relation(&f, "public", "outbox");
	no_mapping(&f, &options, "a_longish_column_1, a_longish");
	CHECK_HAS(error.text, " more; set outbox.column.id, or restore the column");
	end(&f);
}

static void a_table_is_named_as_sql_does(void **state)
{
	struct fixture f = { .count = 0 };
	struct wp_outbox_options options = default_options();

	CHECK_EQ(wp_relations_new(4, NULL, &f.relations), WP_OK);
	put_relation(&f, "My.App", "Out\"box");
	no_mapping(&f, &options, "table \"My.App\".\"Out\"\"box\" has no column \"id\"");
	CHECK_HAS(error.text, "it has: ;");
	end(&f);
}

static void a_null_where_none_may_be_is_refused_with_table_and_id(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = mapping_of(&f, &options);
	const char *const no_id[] = { NULL, "Order", "42", "Created", "{}" };
	const char *const no_route[] = { "7", NULL, "42", "Created", "{}" };
	const char *const no_key[] = { "7", "Order", NULL, "Created", "{}" };
	struct wp_event event;

	CHECK_EQ(map(m, no_id, &event), WP_DATA);
	CHECK_HAS(error.text,
		  "table public.outbox: a row has NULL in column \"id\" (outbox.column.id)");
	CHECK_EQ(map(m, no_route, &event), WP_DATA);
	CHECK_HAS(error.text,
		  "table public.outbox, id 7: column \"aggregatetype\" (outbox.route.by) is NULL");
	CHECK_EQ(map(m, no_key, &event), WP_DATA);
	CHECK_HAS(error.text,
		  "table public.outbox, id 7: column \"aggregateid\" (outbox.column.key) is NULL");
	CHECK_HAS(error.text, "outbox.key.null = allow");
	CHECK_SPAN(event.id, "7");
	CHECK_TEXT(event.table, "public.outbox");
	wp_mapping_free(m);
	end(&f);
}

static void a_null_key_passes_when_allowed(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	const char *const no_key[] = { "7", "Order", NULL, "Created", "{}" };
	struct wp_event event;

	options.key_null = WP_KEY_NULL_ALLOW;
	struct wp_mapping *m = mapping_of(&f, &options);
	CHECK_EQ(map(m, no_key, &event), WP_OK);
	CHECK(wp_span_is_null(event.key));
	wp_mapping_free(m);
	end(&f);
}

static void a_row_of_another_shape_breaks_the_protocol(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = mapping_of(&f, &options);
	struct wp_value values[6];
	struct wp_event event;

	for (size_t i = 0; i < 6; i++)
		values[i] = value_of("x");
	for (size_t count = 4; count <= 6; count += 2) {
		struct wp_tuple row = { .values = values, .count = count };
		CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_PROTO);
		CHECK_HAS(error.text, "columns arrived for a relation of 5");
	}
	wp_mapping_free(m);
	end(&f);
}

static void a_value_that_is_not_text_breaks_the_protocol(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = mapping_of(&f, &options);
	enum wp_value_kind kinds[] = { WP_VALUE_BINARY, WP_VALUE_UNCHANGED };
	struct wp_event event;

	for (size_t column = 0; column < 5; column++) {
		struct wp_value values[5];
		for (size_t i = 0; i < 5; i++)
			values[i] = value_of("x");
		values[column].kind = kinds[column % 2];
		struct wp_tuple row = { .values = values, .count = 5 };
		CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_PROTO);
		CHECK_HAS(error.text, "binary or an unchanged value");
	}
	wp_mapping_free(m);
	end(&f);
}

static void a_row_costs_no_memory(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	const char *const row[] = { "7", "Order", "42", "Created", "{}" };
	struct wp_event event;

	options.headers = "type:t,id:i";
	struct wp_mapping *m = mapping_of(&f, &options);
	size_t before = memory_calls();
	CHECK_EQ(map(m, row, &event), WP_OK);
	CHECK_EQ(memory_calls(), before);
	wp_mapping_free(m);
	end(&f);
}

static void out_of_memory_is_said(void **state)
{
	struct fixture f = debezium_table();
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;

	memory_fails_after(0);
	CHECK_EQ(new_mapping(&f, &options, WP_COLUMNS_ALL, WP_TRANSFER_TEXT, &m, &error), WP_NOMEM);
	memory_works();
	CHECK(m == NULL);
	wp_mapping_free(m);
	end(&f);
}

static void the_needed_columns_stand_once_each(void **state)
{
	static struct wp_needed_columns needed;
	struct wp_outbox_options options = default_options();
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
	static struct wp_needed_columns needed;
	struct wp_outbox_options options = default_options();

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

static const char *definition(const struct wp_needed_columns *needed, const char *name)
{
	for (size_t i = 0; i < needed->count; i++) {
		if (strcmp(needed->names[i], name) == 0)
			return needed->definitions[i];
	}
	return "(not needed)";
}

static void the_needed_columns_are_defined_as_in_debezium_s_table(void **state)
{
	static struct wp_needed_columns needed;
	struct wp_outbox_options options = default_options();

	options.headers = "tenant";
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_TEXT(definition(&needed, "id"), "uuid PRIMARY KEY");
	CHECK_TEXT(definition(&needed, "aggregatetype"), "varchar(255) NOT NULL");
	CHECK_TEXT(definition(&needed, "aggregateid"), "varchar(255) NOT NULL");
	CHECK_TEXT(definition(&needed, "type"), "varchar(255) NOT NULL");
	CHECK_TEXT(definition(&needed, "payload"), "jsonb");
	CHECK_TEXT(definition(&needed, "tenant"), "text");
	options.key_null = WP_KEY_NULL_ALLOW;
	CHECK_EQ(wp_needed_columns(&options, &needed, &error), WP_OK);
	CHECK_TEXT(definition(&needed, "aggregateid"), "varchar(255)");
}

static void the_needed_columns_stand_in_the_order_of_debezium_s_table(void **state)
{
	static struct wp_needed_columns needed;
	struct wp_outbox_options options = default_options();

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
	static struct wp_needed_columns needed;
	struct wp_outbox_options options = default_options();
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
	static struct wp_needed_columns needed;
	struct wp_outbox_options options = default_options();

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

static enum wp_rc new_binary_mapping(const struct fixture *f,
				     const struct wp_outbox_options *options,
				     struct wp_mapping **ret)
{
	error.text[0] = '\0';
	return new_mapping(f, options, WP_COLUMNS_ALL, WP_TRANSFER_BINARY, ret, &error);
}

/* Debezium's table of these types, in the order of debezium_columns. */
static struct fixture typed_table(const uint32_t oids[5])
{
	struct fixture f = { .count = 0 };

	CHECK_EQ(wp_relations_new(4, NULL, &f.relations), WP_OK);
	for (size_t i = 0; i < 5; i++)
		add_column(&f, debezium_columns[i], oids[i]);
	put_relation(&f, "public", "outbox");
	wp_buffer_init(&printed, 1000);
	return f;
}

static void binary_values_become_the_text_that_postgres_prints(void **state)
{
	const uint32_t oids[] = { UUID_OID, BYTEA_OID, JSONB_OID, TEXT_OID, BYTEA_OID };
	struct fixture f = typed_table(oids);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;
	const struct wp_value values[] = {
		binary_of(UUID_BYTES, 16),   binary_of("\x00\xff/", 3), binary_of("\x01{}", 3),
		binary_of("caf\xc3\xa9", 5), binary_of("\x00\x01", 2),
	};
	const struct wp_tuple row = { .values = values, .count = 5 };
	struct wp_event event;

	options.headers = "payload:p,id:i,aggregateid";
	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_OK);
	CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_OK);
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
	wp_mapping_free(m);
	end(&f);
}

static void numbers_times_and_arrays_are_printed_side_by_side(void **state)
{
	const uint32_t oids[] = { INT8_OID, TEXT_OID, TIMESTAMPTZ_OID, TEXT_OID, DOMAIN_OID };
	struct fixture f = typed_table(oids);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;
	struct wp_change type = {
		.kind = WP_CHANGE_TYPE,
		.as.type = {
			.oid = DOMAIN_OID,
			.schema = wp_span_of("pg_catalog"),
			.name = wp_span_of("_text"),
		},
	};
	static const char array[] = "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\2\0\0\0\1"
				    "\0\0\0\1a\0\0\0\3b c";
	const struct wp_value values[] = {
		binary_of("\xff\xff\xff\xff\xff\xff\xff\xff", 8),
		binary_of("order", 5),
		binary_of("\0\0\0\0\0\0\0\1", 8),
		binary_of("Made", 4),
		binary_of(array, sizeof(array) - 1),
	};
	struct wp_event event;

	CHECK_EQ(wp_relations_put_type(f.relations, &type), WP_OK);
	options.headers = "payload:tags";
	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_OK);
	CHECK_EQ(wp_mapping_event(m, &(struct wp_tuple){ .values = values, .count = 5 }, &printed,
				  &event, &error),
		 WP_OK);
	CHECK_SPAN(event.id, "-1");
	CHECK_SPAN(event.key, "2000-01-01 00:00:00.000001+00");
	CHECK_SPAN(event.payload, "{a,\"b c\"}");
	CHECK_SPAN(event.headers.items[0].value, "{a,\"b c\"}");
	wp_mapping_free(m);
	end(&f);
}

static void null_and_empty_differ_in_binary_too(void **state)
{
	const uint32_t oids[] = { TEXT_OID, TEXT_OID, BYTEA_OID, UUID_OID, BYTEA_OID };
	struct fixture f = typed_table(oids);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;
	struct wp_value values[] = {
		binary_of("", 0), binary_of("", 0), binary_of("", 0),
		value_of(NULL),	  value_of(NULL),
	};
	const struct wp_tuple row = { .values = values, .count = 5 };
	struct wp_event event;

	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_OK);
	CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_OK);
	CHECK_SPAN(event.id, "");
	CHECK_SPAN(event.key, "\\x");
	CHECK(wp_span_is_null(event.type));
	CHECK(wp_span_is_null(event.payload));
	values[4] = binary_of("", 0);
	CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_OK);
	CHECK_SPAN(event.payload, "");
	wp_mapping_free(m);
	end(&f);
}

/* A type without a send function comes as text, whatever was asked for. */
static void a_value_that_came_as_text_is_taken_as_such(void **state)
{
	const uint32_t oids[] = { UUID_OID, TEXT_OID, TEXT_OID, TEXT_OID, BYTEA_OID };
	struct fixture f = typed_table(oids);
	struct wp_outbox_options options = default_options();
	const char *const row[] = { "7", "Order", "42", "Created", "\\x00" };
	struct wp_mapping *m = NULL;
	struct wp_event event;

	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_OK);
	CHECK_EQ(map(m, row, &event), WP_OK);
	CHECK_SPAN(event.id, "7");
	CHECK(event.payload_is_bytea);
	wp_mapping_free(m);
	end(&f);
}

static void a_binary_form_that_is_not_known_is_refused(void **state)
{
	const uint32_t oids[] = { UUID_OID, TEXT_OID, TEXT_OID, TEXT_OID, JSONB_OID };
	struct fixture f = typed_table(oids);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;
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
	struct wp_event event;

	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_OK);
	for (size_t i = 0; i < 4; i++) {
		const struct wp_value values[] = { wrong[i].id, good, good, good,
						   wrong[i].payload };
		const struct wp_tuple row = { .values = values, .count = 5 };
		CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_CONFIG);
		CHECK_HAS(error.text, "table public.outbox");
		CHECK_HAS(error.text, "postgres.binary = off");
	}
	wp_mapping_free(m);
	end(&f);
}

static void a_column_of_a_type_that_binary_cannot_do_is_refused_and_named(void **state)
{
	const uint32_t oids[] = { TEXT_OID, TEXT_OID, 1186, TEXT_OID, 16999 };
	struct fixture f = typed_table(oids);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;

	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_CONFIG);
	CHECK(m == NULL);
	CHECK_HAS(error.text, "table public.outbox");
	CHECK_HAS(error.text, "\"aggregateid\" (outbox.column.key) is of type interval,");
	CHECK_HAS(error.text, "postgres.binary = off");
	options.column_key = "id";
	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_CONFIG);
	CHECK_HAS(error.text, "\"payload\" (outbox.column.payload) is of type 16999::regtype");
	options.column_payload = "type"; /* what is not mapped may be anything */
	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_OK);
	wp_mapping_free(m);
	end(&f);
}

static void a_domain_that_was_told_is_what_it_stands_for(void **state)
{
	const uint32_t oids[] = { TEXT_OID, TEXT_OID, TEXT_OID, TEXT_OID, DOMAIN_OID };
	struct fixture f = typed_table(oids);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;
	struct wp_change type = {
		.kind = WP_CHANGE_TYPE,
		.as.type = {
			.oid = DOMAIN_OID,
			.schema = wp_span_of("pg_catalog"),
			.name = wp_span_of("jsonb"),
		},
	};
	const struct wp_value good = binary_of("x", 1);
	const struct wp_value values[] = { good, good, good, good, binary_of("\x01{}", 3) };
	const struct wp_tuple row = { .values = values, .count = 5 };
	struct wp_event event;

	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_CONFIG);
	CHECK_EQ(wp_relations_put_type(f.relations, &type), WP_OK);
	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_OK);
	CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_OK);
	CHECK_SPAN(event.payload, "{}");
	wp_mapping_free(m);
	end(&f);
}

static void what_is_printed_is_bounded_and_may_find_no_memory(void **state)
{
	const uint32_t oids[] = { TEXT_OID, TEXT_OID, BYTEA_OID, TEXT_OID, BYTEA_OID };
	struct fixture f = typed_table(oids);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;
	static const char bytes[500];
	const struct wp_value good = binary_of("x", 1);
	struct wp_value values[] = { good, good, binary_of(bytes, 500), good,
				     binary_of(bytes, 500) };
	const struct wp_tuple row = { .values = values, .count = 5 };
	struct wp_event event;

	CHECK_EQ(new_binary_mapping(&f, &options, &m), WP_OK);
	CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_CONFIG); /* 1002 > 1000 */
	CHECK_HAS(error.text, "more than 1000");
	values[2].bytes.size = 499;
	memory_fails_after(0);
	CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_NOMEM);
	memory_works();
	CHECK_EQ(wp_mapping_event(m, &row, &printed, &event, &error), WP_OK);
	CHECK_EQ(event.key.size, 1000);
	wp_mapping_free(m);
	end(&f);
}

static void what_does_not_do_is_told_apart(void **state)
{
	struct fixture f = { .count = 0 };
	struct wp_outbox_options options = default_options();
	struct wp_mapping_fault fault = { .kind = WP_COLUMN_NONE };
	struct wp_mapping *m = NULL;

	CHECK_EQ(wp_relations_new(4, NULL, &f.relations), WP_OK);
	for (size_t i = 0; i < 5; i++)
		add_column(&f, debezium_columns[i], TEXT_OID);
	put_relation(&f, "public", "outbox");
	options.column_timestamp = "payload";
	struct wp_mapping_setup setup = {
		.options = &options,
		.relation = f.relation,
		.types = f.relations,
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
	end(&f);
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

	struct fixture f;
	struct wp_outbox_options options;
	struct wp_mapping_setup setup;
};

static struct wp_column_facts facts;

static enum wp_rc map_by(struct catalog *c, struct wp_mapping **ret)
{
	c->options = default_options();
	c->options.types = c->types;
	c->f = (struct fixture){ .count = 0 };
	CHECK_EQ(wp_relations_new(4, NULL, &c->f.relations), WP_OK);
	for (size_t i = 0; i < 4; i++)
		add_column(&c->f, debezium_columns[i], TEXT_OID);
	c->told.name = wp_span_of("payload");
	c->f.columns[c->f.count++] = c->told;
	put_relation(&c->f, "public", "outbox");
	wp_column_facts_begin(&facts);
	(void)snprintf(c->column.name, sizeof(c->column.name), "payload");
	wp_column_facts_add(&facts, &c->column, c->expression);
	if (c->type.oid != 0)
		CHECK(wp_column_facts_add_type(&facts, &c->type, NULL));
	CHECK_EQ(wp_relations_put_facts(c->f.relations, &facts), WP_OK);
	if (c->type_name != NULL) {
		const struct wp_change type = {
			.kind = WP_CHANGE_TYPE,
			.as.type = { .oid = c->told.type_oid,
				     .schema = wp_span_of(c->type_schema),
				     .name = wp_span_of(c->type_name) },
		};
		CHECK_EQ(wp_relations_put_type(c->f.relations, &type), WP_OK);
	}
	c->setup = (struct wp_mapping_setup){
		.options = &c->options,
		.relation = c->f.relation,
		.types = c->f.relations,
		.facts = &facts,
		.transfer = c->transfer,
	};
	return wp_mapping_new(&c->setup, ret, &error);
}

static struct wp_column_type payload_of(struct catalog c)
{
	struct wp_mapping *m = NULL;
	struct wp_value values[5] = { { 0 }, { 0 }, { 0 }, { 0 }, { 0 } };
	struct wp_event event;

	CHECK_EQ(map_by(&c, &m), WP_OK);
	for (size_t i = 0; i < 5; i++)
		values[i] = value_of("1");
	CHECK_EQ(wp_mapping_event(m, &(struct wp_tuple){ .values = values, .count = 5 }, &printed,
				  &event, &error),
		 WP_OK);
	struct wp_column_type type = *event.payload_type;
	wp_mapping_free(m);
	end(&c.f);
	return type;
}

/* Of a row whose payload is NULL; NULL: it stays so. */
static const char *payload_in_place_of_null(struct catalog c)
{
	static char text[64];
	struct wp_mapping *m = NULL;
	struct wp_value values[5] = { { 0 }, { 0 }, { 0 }, { 0 }, { .kind = WP_VALUE_NULL } };
	struct wp_event event;

	CHECK_EQ(map_by(&c, &m), WP_OK);
	for (size_t i = 0; i < 4; i++)
		values[i] = value_of("1");
	CHECK_EQ(wp_mapping_event(m, &(struct wp_tuple){ .values = values, .count = 5 }, &printed,
				  &event, &error),
		 WP_OK);
	bool is_null = wp_span_is_null(event.payload);
	(void)snprintf(text, sizeof(text), "%.*s", (int)event.payload.size,
		       is_null ? "" : (const char *)event.payload.data);
	wp_mapping_free(m);
	end(&c.f);
	return is_null ? NULL : text;
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
	struct wp_mapping *m = NULL;

	CHECK_EQ(map_by(&c, &m), WP_CONFIG);
	CHECK(m == NULL);
	CHECK_HAS(error.text, said);
	CHECK_EQ(wp_mapping_wants_facts(&c.setup), wants);
	end(&c.f);
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
	struct fixture f = table_of(fewer, 1);
	struct wp_outbox_options options = default_options();
	struct wp_mapping *m = NULL;
	struct wp_event event;
	struct wp_value value = value_of("7");

	options.types = WP_RENDERING_DEBEZIUM;
	options.headers = "tenant";
	CHECK_EQ(new_mapping(&f, &options, WP_COLUMNS_KNOWN, WP_TRANSFER_TEXT, &m, &error), WP_OK);
	CHECK_EQ(wp_mapping_event(m, &(struct wp_tuple){ .values = &value, .count = 1 }, &printed,
				  &event, &error),
		 WP_DATA);
	CHECK(wp_render_knows(event.key_type));
	CHECK(wp_render_knows(event.type_type));
	CHECK(wp_render_knows(event.payload_type));
	CHECK(wp_render_knows(event.headers.items[0].type));
	wp_mapping_free(m);
	end(&f);
}

int main(void)
{
	return RUN(
		PLAIN(with_known_columns_only_a_row_is_refused_with_what_there_is),
		PLAIN(what_does_not_do_is_told_apart),
		PLAIN(a_column_that_was_altered_is_as_the_log_tells),
		PLAIN(a_null_is_the_default_to_debezium_when_that_is_a_constant),
		PLAIN(a_default_counts_for_the_types_of_which_debezium_reads_it),
		PLAIN(a_domain_s_modifier_is_the_catalog_s),
		PLAIN(a_column_of_the_key_may_be_null_if_the_catalog_says_so),
		PLAIN(a_domain_may_forbid_null_as_well),
		PLAIN(a_domain_that_the_catalog_was_not_asked_about_wants_fresh_facts),
		PLAIN(a_type_that_the_catalog_was_not_asked_about_wants_fresh_facts),
		PLAIN(what_is_missing_has_a_form_all_the_same),
		PLAIN(a_row_of_debeziums_table_is_an_event),
		PLAIN(columns_go_by_name_and_not_by_place), PLAIN(one_column_may_mean_two_things),
		PLAIN(configured_columns_become_headers_in_their_order),
		PLAIN(a_bytea_payload_is_marked_and_so_is_a_domain_over_it),
		PLAIN(null_and_empty_differ), PLAIN(without_a_type_column_there_is_no_type),
		PLAIN(a_missing_column_is_named_with_its_option_and_those_there_are),
		PLAIN(a_table_of_many_columns_is_listed_in_part),
		PLAIN(a_table_is_named_as_sql_does),
		PLAIN(a_null_where_none_may_be_is_refused_with_table_and_id),
		PLAIN(a_null_key_passes_when_allowed),
		PLAIN(a_row_of_another_shape_breaks_the_protocol),
		PLAIN(a_value_that_is_not_text_breaks_the_protocol), PLAIN(a_row_costs_no_memory),
		PLAIN(out_of_memory_is_said), PLAIN(the_needed_columns_stand_once_each),
		PLAIN(columns_that_a_table_may_lack_stand_behind_the_others),
		PLAIN(the_needed_columns_are_defined_as_in_debezium_s_table),
		PLAIN(the_needed_columns_stand_in_the_order_of_debezium_s_table),
		PLAIN(as_many_columns_as_can_be_configured_fit),
		PLAIN(no_columns_are_needed_by_what_is_no_list),
		PLAIN(binary_values_become_the_text_that_postgres_prints),
		PLAIN(numbers_times_and_arrays_are_printed_side_by_side),
		PLAIN(null_and_empty_differ_in_binary_too),
		PLAIN(a_value_that_came_as_text_is_taken_as_such),
		PLAIN(a_binary_form_that_is_not_known_is_refused),
		PLAIN(a_column_of_a_type_that_binary_cannot_do_is_refused_and_named),
		PLAIN(a_domain_that_was_told_is_what_it_stands_for),
		PLAIN(what_is_printed_is_bounded_and_may_find_no_memory));
}

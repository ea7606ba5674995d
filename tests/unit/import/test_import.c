#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "walpost/import/import.h"

#define EVENT_ROUTER "io.debezium.transforms.outbox.EventRouter"
#define ROUTER "transforms=o\ntransforms.o.type=" EVENT_ROUTER "\n"
#define STRINGS                                                            \
	"key.converter=org.apache.kafka.connect.storage.StringConverter\n" \
	"value.converter=org.apache.kafka.connect.storage.StringConverter\n"
#define JSON                                                          \
	"key.converter=org.apache.kafka.connect.json.JsonConverter\n" \
	"value.converter=org.apache.kafka.connect.json.JsonConverter\n"
#define PLACE                                                                            \
	"connector.class=io.debezium.connector.postgresql.PostgresConnector\n"           \
	"plugin.name=pgoutput\ndatabase.hostname=db\ntable.include.list=public.outbox\n" \
	"topic.prefix=t\nextended.headers.enabled=false\n"
/* All that a consumer's view needs is said. */
#define WHOLE PLACE STRINGS ROUTER
#define O "transforms.o."
#define SERVER                                                                      \
	"debezium.sink.type=kafka\n"                                                \
	"debezium.source.connector.class=io.debezium.connector.postgresql."         \
	"PostgresConnector\ndebezium.source.plugin.name=pgoutput\n"                 \
	"debezium.source.table.include.list=public.outbox\ndebezium.transforms=o\n" \
	"debezium.source.extended.headers.enabled=false\n"                          \
	"debezium.transforms.o.type=io.debezium.transforms.outbox.EventRouter\n"

struct output {
	char *text;
	char *summary;
	size_t changes;
};

/* `version`: what --debezium is given; NULL: nothing. */
static struct output import_as(const char *text, const char *version)
{
	struct output o = { .text = NULL };
	struct wp_import_version parsed;
	struct wp_import *import = NULL;
	struct wp_error error = { "" };
	size_t size;

	if (version != NULL)
		CHECK_EQ(wp_import_version_parse(version, &parsed, &error), WP_OK);
	if (wp_import_new(wp_span_of(text), version == NULL ? NULL : &parsed, &import, &error) !=
	    WP_OK)
		CHECK_TEXT(error.text, "nothing");
	FILE *out = open_memstream(&o.text, &size);
	FILE *summary = open_memstream(&o.summary, &size);
	assert_non_null(out);
	assert_non_null(summary);
	wp_import_print(import, out);
	wp_import_summary(import, summary);
	CHECK_EQ(fclose(out), 0);
	CHECK_EQ(fclose(summary), 0);
	o.changes = wp_import_changes(import);
	wp_import_free(import);
	return o;
}

static struct output import(const char *text)
{
	return import_as(text, NULL);
}

static void output_release(struct output *o)
{
	free(o->text);
	free(o->summary);
}

/* The text of a property and what follows it stand in the output; nothing is marked. */
static void same(const char *text, const char *part)
{
	struct output o = import(text);

	if (o.changes != 0)
		CHECK_TEXT(o.summary, "nothing");
	if (strstr(o.text, part) == NULL)
		CHECK_TEXT(o.text, part);
	output_release(&o);
}

/* So much is marked, and the output says this. */
static void changed_as(const char *text, const char *version, size_t changes, const char *part)
{
	struct output o = import_as(text, version);

	if (strstr(o.text, part) == NULL)
		CHECK_TEXT(o.text, part);
	if (o.changes != changes)
		CHECK_TEXT(o.summary, "so many");
	output_release(&o);
}

static void changed(const char *text, size_t changes, const char *part)
{
	changed_as(text, NULL, changes, part);
}

static void says(const char *text, const char *part)
{
	struct output o = import(text);

	if (strstr(o.text, part) == NULL)
		CHECK_TEXT(o.text, part);
	output_release(&o);
}

static void without(const char *text, const char *part)
{
	struct output o = import(text);

	if (strstr(o.text, part) != NULL)
		CHECK_TEXT(o.text, part);
	output_release(&o);
}

static void a_connection_is_quoted_for_libpq(void **state)
{
	same(WHOLE "database.user=o'neil\ndatabase.dbname=my shop\ndatabase.port=5433\n",
	     "\nconninfo = host=db port=5433 user='o\\'neil' dbname='my shop'\n");
	same(WHOLE "database.sslmode=verify-full\ndatabase.sslrootcert=/ca.pem\n",
	     "conninfo = host=db sslmode=verify-full sslrootcert=/ca.pem\n");
	same(WHOLE "database.user=${env:WHO}\n",
	     "#   TO FILL IN: its value is defined elsewhere, entirely or in part");
}

static void slot_and_publication_have_debeziums_defaults(void **state)
{
	same(WHOLE, "\nslot = debezium\n");
	same(WHOLE, "\npublication = dbz_publication\n");
	same(WHOLE "slot.name=s\npublication.name=p\n",
	     "# publication.name = p\npublication = p\n");
}

static void a_slot_of_another_plugin_cannot_be_taken_over(void **state)
{
	changed(WHOLE "plugin.name=wal2json\n", 1, "# plugin.name = wal2json\n#   NOT SUPPORTED: ");
	changed("database.hostname=db\ntable.include.list=a.b\nconnector.class=PostgresConnector\n"
		"topic.prefix=t\nextended.headers.enabled=false\n" STRINGS ROUTER,
		1, "# plugin.name is not set\n#   NOT SUPPORTED: ");
}

static void a_slot_that_will_not_stay_or_did_not_move_is_told(void **state)
{
	changed(WHOLE "slot.drop.on.stop=true\n", 1, "a stopped connector drops its slot");
	changed(WHOLE "flush.lsn.source=false\n", 1, "Debezium did not advance the slot");
	changed(WHOLE "lsn.flush.mode=manual\n", 1, "Debezium did not advance the slot");
	same(WHOLE "lsn.flush.mode=connector_and_driver\nslot.drop.on.stop=false\n", "dropped: ");
}

static void another_connector_is_none_of_ours(void **state)
{
	changed(WHOLE "connector.class=io.debezium.connector.mysql.MySqlConnector\n", 1,
		"#   NOT SUPPORTED: walpost supports only Postgres");
}

static void a_class_of_somebody_else_is_not_known_by_its_last_name(void **state)
{
	static const char *const others[][2] = {
		{ "connector.class=com.acme.PostgresConnector\n",
		  "it is not io.debezium.connector.postgresql.PostgresConnector" },
		{ "key.converter=com.acme.StringConverter\n",
		  "it is not org.apache.kafka.connect.storage.StringConverter" },
		{ "value.converter=com.acme.encrypting.JsonConverter\n",
		  "it is not org.apache.kafka.connect.json.JsonConverter" },
		{ "value.converter=com.acme.BinaryDataConverter\n",
		  "it is not io.debezium.converters.BinaryDataConverter" },
		{ "value.converter=com.acme.ByteArrayConverter\n",
		  "it is not org.apache.kafka.connect.converters.ByteArrayConverter" },
		{ "header.converter=com.acme.SimpleHeaderConverter\n",
		  "walpost has no such converter" },
		{ "transforms=o,d\ntransforms.d.type=com.acme."
		  "DecodeLogicalDecodingMessageContent\n",
		  "NOT SUPPORTED: it is not" },
		{ "transforms=o,f\ntransforms.f.type=com.acme.Filter\n",
		  "it changes records in a way that walpost does not support" },
		{ "producer.override.partitioner.class=com.acme.DefaultPartitioner\n",
		  "walpost chooses partitions by murmur2" },
		{ "producer.override.value.serializer=com.acme.StringSerializer\n",
		  "walpost does not support this serializer" },
		{ O "predicate=p\npredicates=p\npredicates.p.type=com.acme.RecordIsTombstone\n",
		  "walpost cannot evaluate the predicate, and treats all of them as outboxes" },
	};
	char text[2048];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", WHOLE, others[i][0]);
		changed(text, 1, others[i][1]);
	}
	changed(WHOLE O "type=io.debezium.examples.outbox.routingsmt.EventRouter\n", 2,
		"NOT SUPPORTED: it is not " EVENT_ROUTER);
	without(WHOLE O "type=com.acme.kafka.EventRouter\n", "walpost does the same");
}

static void a_class_goes_by_the_names_that_connect_knows(void **state)
{
	same(WHOLE "key.converter=StringConverter\nvalue.converter=String\n",
	     "\nvalue.format = raw\n");
	same(WHOLE "value.converter=Json\n", "\nvalue.format = json-schema\n");
	same(WHOLE "value.converter= org.apache.kafka.connect.json.JsonConverter \n",
	     "\nvalue.format = json-schema\n");
	same(WHOLE "connector.class=Postgres\n" O "type=EventRouter\n", "walpost does the same");
	same(WHOLE "header.converter=org.apache.kafka.connect.storage.SimpleHeaderConverter\n",
	     "\nheaders.format = raw\n");
	changed(WHOLE "value.converter=org.apache.kafka.connect.storage.stringconverter\n", 1,
		"NOT SUPPORTED");
	changed(WHOLE "value.converter=Str\n", 1, "walpost has no such converter");
	changed(WHOLE "value.converter=\n", 1, "walpost has no such converter");
}

static void options_of_the_router_become_keys(void **state)
{
	same(WHOLE O "table.field.event.id=event\n", "\ncolumn.id = event\n");
	same(WHOLE O "table.field.event.key=k\n", "\ncolumn.key = k\n");
	same(WHOLE O "table.field.event.payload=p\n", "\ncolumn.payload = p\n");
	same(WHOLE O "route.by.field=r\n", "\nroute.by = r\n");
	same(WHOLE O "table.field.additional.missing=IGNORE\n", "\ncolumns.missing = ignore\n");
	same(WHOLE O "table.op.invalid.behavior=fatal\n", "\non_update = stop\n");
	same(WHOLE O "route.tombstone.on.empty.payload=true\n", "\npayload.empty = tombstone\n");
	same(WHOLE O "tracing.span.context.field=c\n", "\nheaders.properties = c\n");
	changed(WHOLE O "table.op.invalid.behavior=ignore\n", 1,
		"NOT SUPPORTED: the EventRouter has no such value");
	same(WHOLE O "table.field.payload.id=x\n",
	     "dropped: the EventRouter has no such option, and ignores it");
}

static void a_route_is_taken_as_it_is(void **state)
{
	same(WHOLE O "route.topic.regex=(?<a>x+)\\\\.y\n" O "route.topic.replacement=${a}.$1\n",
	     "\ntopic.regex = (?<a>x+)\\.y\n");
	changed(WHOLE O "route.topic.regex=(\n", 1, "\n#topic.regex = (\n");
	changed(WHOLE O "route.topic.replacement=${nobody}\n", 1,
		"\n#topic.replacement = ${nobody}\n");
	static const char *const of_java[] = { "[a-z&&[^x]]", "[a-z[A-Z]]", "x[[a]b]", "[^a[b]]",
					       "[\\\\]x[a]]", "(?U)x",	    "(?d)x" };
	for (size_t i = 0; i < sizeof(of_java) / sizeof(of_java[0]); i++) {
		char text[2048];
		(void)snprintf(text, sizeof(text), "%s" O "route.topic.regex=%s\n", WHOLE,
			       of_java[i]);
		changed(text, 1, "NOT SUPPORTED: walpost uses PCRE2");
		without(text, "\ntopic.regex =");
	}
	same(WHOLE O "route.topic.regex=(?<routedByValue>[a\\\\[b]\\\\[[c-d]+)\n",
	     "\ntopic.regex = (?<routedByValue>[a\\[b]\\[[c-d]+)\n");
	same(WHOLE O "route.topic.regex=\\\\Q[a[b]\\\\E(?<routedByValue>.*)\n",
	     "\ntopic.regex = \\Q[a[b]\\E(?<routedByValue>.*)\n");
}

static void columns_are_placed(void **state)
{
	same(WHOLE O "table.fields.additional.placement= type:header:kind , tenant : HEADER\n",
	     "\nheaders = type:kind,tenant\n");
	same(WHOLE O "table.fields.additional.placement=shard:partition\n",
	     "\ncolumn.partition = shard\n");
	same(PLACE JSON ROUTER O "table.fields.additional.placement=a:envelope,b:envelope:c\n",
	     "\nvalue.columns = a,b:c\n");
	same(WHOLE O "table.fields.additional.placement=a\"b:header\n", "\nheaders = \"a\"\"b\"\n");
	changed(WHOLE O "table.fields.additional.placement=a:envelope,b:header\n", 1,
		"columns next to the payload require JsonConverter for the value");
	changed(WHOLE O "table.fields.additional.placement=a,b:header\n", 1, "\nheaders = b\n");
	changed(WHOLE O "table.fields.additional.placement=a:header:b:c\n", 1, "not a list of");
}

static void a_type_is_a_header_only_when_it_is_placed(void **state)
{
	same(WHOLE, "\ncolumn.type =\n");
	same(WHOLE O "table.field.event.type=t\n",
	     "# transforms.o.table.field.event.type = t\n#   dropped: ");
	same(WHOLE, "\nheaders.standard = id\n");
}

static void payloads_are_expanded_where_they_are_json(void **state)
{
	same(PLACE JSON ROUTER O "table.expand.json.payload=true\n" O
				 "table.json.payload.null.behavior=optional_bytes\n",
	     "\nexpand.nulls = keep\n");
	same(PLACE JSON ROUTER O "table.expand.json.payload=true\n", "\npayload.json = expand\n");
	same(PLACE JSON ROUTER O "table.expand.json.payload=true\n" O
				 "table.json.payload.empty.array.behavior=ignore\n",
	     "\nexpand.empty_arrays = drop\n");
	changed(PLACE JSON ROUTER O "table.expand.json.payload=true\n" O
				    "table.json.payload.empty.array.behavior=optional_string\n",
		1, "CHECK: Debezium 3.6 has no such option");
	changed(PLACE JSON ROUTER O "table.expand.json.payload=true\n" O
				    "table.json.payload.empty.array.behavior=optional_string\n",
		1, "\nexpand.empty_arrays = drop\n");
	same(WHOLE O "table.json.payload.null.behavior=ignore\n",
	     "dropped: no payload is expanded");
	changed(WHOLE O "table.expand.json.payload=true\n", 1,
		"an expanded payload requires JsonConverter for the value");
	changed(PLACE JSON ROUTER O "table.expand.json.payload=true\n" O
				    "field.name.adjustment.mode=avro\n",
		1, "members of an expanded payload keep their names");
}

static void the_version_of_a_schema_matters_where_it_is_sent(void **state)
{
	same(WHOLE O "table.field.event.schema.version=v\n", "#   dropped: it is the version");
	same(PLACE JSON ROUTER O "table.field.event.schema.version=v\n" O
				 "table.fields.additional.placement=a:envelope\n",
	     "\ndebezium.schema.version = v\n");
}

static void converters_become_formats(void **state)
{
	same(WHOLE, "\nkey.format = raw\n");
	same(PLACE JSON ROUTER, "\nkey.format = json-schema\n");
	same(PLACE JSON ROUTER "value.converter.schemas.enable=false\n", "\nvalue.format = json\n");
	same(WHOLE "value.converter=io.debezium.converters.BinaryDataConverter\n",
	     "\nvalue.format = raw\n");
	same(WHOLE "header.converter=org.apache.kafka.connect.json.JsonConverter\n",
	     "\nheaders.format = json-schema\n");
	same(WHOLE "header.converter=org.apache.kafka.connect.storage.StringConverter\n",
	     "\nheaders.format = string\n");
	same(SERVER "debezium.format.header=simplestring\n", "\nheaders.format = string\n");
	same(WHOLE, "\nheaders.format = raw\n");
	same(WHOLE, "for a bytea payload it writes the name of a Java object");
	changed(WHOLE "binary.handling.mode=bytes\n", 1,
		"CHECK: for a bytea payload it writes the name of a Java object");
	without(PLACE JSON ROUTER, "Java object");
	same(WHOLE "value.converter.schemas.enable=true\n", "this converter has no schemas");
	changed(WHOLE "value.converter=io.confluent.connect.protobuf.ProtobufConverter\n", 1,
		"walpost has no such converter");
	changed(PLACE JSON ROUTER "value.converter.decimal.format=NUMERIC\n", 1, "in base64");
	changed(WHOLE "key.converter.encoding=UTF-16\n", 1, "walpost writes UTF-8");
}

#define BINARY "io.debezium.converters.BinaryDataConverter\n"
#define JSON_CONVERTER "org.apache.kafka.connect.json.JsonConverter\n"
#define STRING_CONVERTER "org.apache.kafka.connect.storage.StringConverter\n"
#define V "value.converter"
#define DELEGATE ".delegate.converter.type"

static void bytes_are_passed_on_and_the_rest_is_the_delegates(void **state)
{
	same(WHOLE V "=" BINARY, "#   payloads of type bytea; without a delegate Debezium rejects");
	same(WHOLE V "=" BINARY V DELEGATE "=" STRING_CONVERTER, "\nvalue.format = raw\n");
	changed(WHOLE V "=" BINARY V DELEGATE "=" JSON_CONVERTER, 1,
		"CHECK: correct for payloads of type bytea, whose bytes are the value.");
	changed(WHOLE V "=" BINARY V DELEGATE "=" JSON_CONVERTER, 1,
		"set value.format = json-schema\n");
	changed(WHOLE V "=" BINARY V DELEGATE "=" JSON_CONVERTER V DELEGATE
			".schemas.enable=false\n",
		1, "set value.format = json\n");
	changed(WHOLE V "=" BINARY V DELEGATE "=" JSON_CONVERTER V ".schemas.enable=false\n", 1,
		"set value.format = json-schema\n");
	changed(WHOLE V "=" BINARY V DELEGATE "=com.acme.JsonConverter\n", 1,
		"in a form unknown to walpost");
	changed(WHOLE V "=io.debezium.converters.ByteBufferConverter\n" V DELEGATE
			"=" JSON_CONVERTER,
		1, "CHECK: correct for payloads of type bytea");
	changed(WHOLE V "=" BINARY V DELEGATE "=" STRING_CONVERTER V DELEGATE ".encoding=UTF-16\n",
		1, "walpost writes UTF-8");
	same(WHOLE V DELEGATE "=" JSON_CONVERTER, "dropped: this converter has no delegate");
	same(WHOLE V "=org.apache.kafka.connect.converters.ByteArrayConverter\n",
	     "\nvalue.format = raw\n");
}

static void debeziums_byte_array_converter_is_its_delegate(void **state)
{
	changed(WHOLE V "=io.debezium.converters.ByteArrayConverter\n" V DELEGATE
			"=" JSON_CONVERTER V DELEGATE ".schemas.enable=false\n",
		1, "\nvalue.format = json\n");
	changed(WHOLE V "=io.debezium.converters.ByteArrayConverter\n", 1, "without a delegate");
}

static void a_key_of_bytes_is_not_written_as_bytes(void **state)
{
	changed(WHOLE "key.converter=" BINARY, 1, "NOT SUPPORTED: it writes the bytes of a bytea");
	changed(WHOLE "key.converter=org.apache.kafka.connect.converters.ByteArrayConverter\n", 1,
		"NOT SUPPORTED: it writes the bytes of a bytea");
	changed(WHOLE "key.converter=" BINARY "key.converter" DELEGATE "=" JSON_CONVERTER, 1,
		"\nkey.format = json-schema\n");
	changed(WHOLE "key.converter=" BINARY "key.converter" DELEGATE "=" STRING_CONVERTER, 1,
		"CHECK: correct unless it is a bytea");
	changed(WHOLE "header.converter=" BINARY, 1,
		"NOT SUPPORTED: it writes the bytes of a bytea");
}

static void without_a_converter_the_workers_is_guessed(void **state)
{
	changed(PLACE ROUTER, 2, "# value.converter is not set\n#   CHECK: ");
	changed(PLACE ROUTER "key.converter.schemas.enable=false\n", 2,
		"Kafka Connect ignores it if no converter is named");
}

#define PREDICATES "org.apache.kafka.connect.transforms.predicates."
#define MATCHES PREDICATES "TopicNameMatches\n"

static void a_table_is_named_by_an_expression_that_is_plain(void **state)
{
	same(WHOLE "table.include.list=a\\\\.b\n", "\ntable = a.b\n");
	same(WHOLE "table.include.list=a.b-c\n", "\ntable = a.\"b-c\"\n");
	changed(WHOLE "table.include.list=public.out.*\n", 1, "CHECK: a regular expression");
	changed(WHOLE "table.include.list=outbox\n", 1, "CHECK: a regular expression");
	changed(WHOLE "table.include.list=\n", 1, "CHECK: a regular expression");
	changed("plugin.name=pgoutput\nconnector.class=PostgresConnector\n"
		"extended.headers.enabled=false\n" STRINGS ROUTER,
		1, "# table.include.list is not set\n#   CHECK: ");
}

static void a_name_with_capitals_is_quoted_and_asked_about(void **state)
{
	const char *capitals = WHOLE "table.include.list=public.OutboxEvents\n";

	changed(capitals, 1, "\ntable = public.\"OutboxEvents\"\n");
	changed(capitals, 1, "CHECK: Debezium ignores case in names");
	changed(WHOLE "table.include.list=Sales.Outbox\n", 1, "\ntable = \"Sales\".\"Outbox\"\n");
	changed(WHOLE "table.include.list=a.Outbox,a.outbox\n", 1, "\ntable = a.\"Outbox\"\n");
	changed(WHOLE "table.include.list=a.MyOutbox,b.outbox\n", 1,
		"\n[outbox.myoutbox]\ntable = a.\"MyOutbox\"\n");
}

static void rows_of_others_are_dropped_only_beside_a_table_that_is_known(void **state)
{
	const char *const unsure[] = {
		WHOLE "table.include.list=public.OutboxEvents\n",
		WHOLE "table.include.list=public.out.*\n",
		WHOLE "table.include.list=public.outbox,public.out.*\n",
		WHOLE "table.include.list=\n",
	};

	for (size_t i = 0; i < sizeof(unsure) / sizeof(unsure[0]); i++) {
		without(unsure[i], "\nignore =");
		changed(unsure[i], 1, "TO FILL IN: the publication covers all tables");
	}
	changed(WHOLE "table.include.list=a.o,a.Other\n" O "predicate=p\npredicates.p.type=" MATCHES
		      "predicates.p.pattern=t.a.o\n",
		1, "\nignore = *\n");
}

static void several_tables_are_several_outboxes(void **state)
{
	same(WHOLE "table.include.list=a.outbox,b.outbox,c.table,a.outbox\n" O "route.by.field=r\n",
	     "\nroute.by = r\n");
	same(WHOLE "table.include.list=a.outbox,b.outbox,c.table\n",
	     "\n[outbox.outbox]\ntable = a.outbox\n\n[outbox.b_outbox]\ntable = b.outbox\n\n"
	     "[outbox.c_table]\ntable = c.table\n");
}

static void a_predicate_chooses_the_outboxes(void **state)
{
	const char *one = WHOLE "table.include.list=a.outbox,a.other\n" O
				"predicate=p\npredicates=p\npredicates.p.type=" MATCHES
				"predicates.p.pattern=t.*outbox\n";
	const char *negated = WHOLE O "predicate=p\n" O "negate=true\npredicates=p\n"
				      "predicates.p.type=" PREDICATES "RecordIsTombstone\n";

	changed(one, 1, "\ntable = a.outbox\n");
	changed(one, 1, "some of these tables are not routed to an EventRouter");
	same(negated, "\ntable = public.outbox\n");
	changed(WHOLE O "predicate=p\npredicates=p\npredicates.p.type=x.Mine\n", 1,
		"walpost cannot evaluate the predicate, and treats all of them as outboxes");
	changed(WHOLE O "predicate=p\npredicates=p\npredicates.p.type=" MATCHES
			"predicates.p.pattern=(\n",
		1, "walpost cannot evaluate the predicate, and treats all of them as outboxes");
}

static void of_several_routers_the_first_that_gets_a_table_counts(void **state)
{
	const char *two = WHOLE "transforms=o,p\ntransforms.p.type=" EVENT_ROUTER "\n" O
				"route.by.field=mine\ntransforms.p.route.by.field=none\n";
	const char *apart =
		WHOLE "table.include.list=a.o,a.p\ntransforms=o,p\n"
		      "transforms.p.type=" EVENT_ROUTER "\ntransforms.p.route.by.field=r\n" O
		      "predicate=p\npredicates.p.type=" MATCHES "predicates.p.pattern=t.a.o\n";

	changed(two, 1,
		"\n[outbox.outbox]\ntable = public.outbox\n\n# transforms.o.route.by.field "
		"= mine\nroute.by = mine\n");
	changed(two, 1, "#   CHECK: no table is known for this EventRouter");
	same(apart, "\n[outbox.p]\ntable = a.p\n\n# transforms.p.route.by.field = r\n");
}

static void the_publication_decides_what_is_ignored(void **state)
{
	same(WHOLE, "\nignore = *\n");
	same(WHOLE "publication.autocreate.mode=ALL_TABLES\n", "\nignore = *\n");
	without(WHOLE "publication.autocreate.mode=filtered\n", "\nignore =");
	without(WHOLE "publication.autocreate.mode=disabled\n", "\nignore =");
	changed(WHOLE "publication.autocreate.mode=filtered\ntable.include.list=a.o,a.p,a.q\n" O
		      "predicate=p\npredicates.p.type=" MATCHES "predicates.p.pattern=t.a.o\n",
		1, "\nignore = a.p, a.q\n");
	same(WHOLE "publication.autocreate.mode=filtered\nsignal.data.collection=a.signals\n",
	     "\nignore = a.signals\n");
	same(WHOLE "publication.autocreate.mode=filtered\nsignal.data.collection=a.DbzSignals\n",
	     "\nignore = a.\"DbzSignals\"\n");
	same(WHOLE "signal.data.collection=a.signals\n", "\nignore = *, a.signals\n");
	changed(WHOLE "publication.autocreate.mode=filtered\nsignal.data.collection=signals\n", 1,
		"CHECK: not schema.table");
}

#define DECODE                                                                                \
	PLACE STRINGS "transforms=d,o\n" O "type=io.debezium.transforms.outbox.EventRouter\n" \
		      "transforms.d.type=io.debezium.connector.postgresql.transforms."        \
		      "DecodeLogicalDecodingMessageContent\n"

static void logical_messages_are_events_where_they_are_decoded(void **state)
{
	same(DECODE "message.prefix.include.list=outbox\n", "\nmessage.prefix = outbox\n");
	same(DECODE "message.prefix.include.list=outbox\n", "\nmessage.format = json\n");
	same(DECODE "message.prefix.include.list=o\ntable.include.list=a.b,a.c\n", "\ntable =\n");
	changed(DECODE, 1, "messages of all prefixes are decoded");
	changed(DECODE "message.prefix.include.list=a,b\n", 1, "not a single plain word");
	changed(DECODE "message.prefix.exclude.list=a\n", 1, "NOT SUPPORTED: walpost supports one");
	changed(DECODE "message.prefix.include.list=o\ntransforms.d.fields.null.include=true\n", 1,
		"null members of a message's payload");
	changed(WHOLE "message.prefix.include.list=outbox\n", 1, "walpost does not send them");
}

static void other_transforms_are_told(void **state)
{
	changed(WHOLE "transforms=o,f\ntransforms.f.type=io.debezium.transforms.Filter\n"
		      "transforms.f.condition=x\n",
		1, "NOT SUPPORTED: it drops records; walpost has no such transform");
	changed(WHOLE "transforms=o,f\ntransforms.f.type=org.example.Own\n", 1,
		"it changes records in a way that walpost does not support");
	changed(WHOLE "transforms=o,f\n", 1, "one of them has no type");
	changed(PLACE STRINGS, 1, "there is no EventRouter");
	same(WHOLE "transforms.f.type=org.example.Own\n", "no transform of this name is in use");
}

static void context_headers_are_sent_as_by_debezium_3(void **state)
{
	const char *silent =
		"connector.class=io.debezium.connector.postgresql.PostgresConnector\n"
		"plugin.name=pgoutput\ntable.include.list=a.b\ntopic.prefix=t\n" STRINGS ROUTER;

	changed(silent, 1, "\ndebezium.context.headers = yes\n");
	changed(silent, 1,
		"# extended.headers.enabled is not set\n#   CHECK: Debezium 3.2 and later");
	same(WHOLE, "\ndebezium.name = t\n");
	same(WHOLE "extended.headers.enabled=true\n", "\ndebezium.context.headers = yes\n");
	same(WHOLE, "\ndebezium.context.headers = no\n");
	without("database.server.name=t\nplugin.name=pgoutput\n" STRINGS ROUTER,
		"debezium.context.headers");
}

static void modes_matter_where_columns_of_their_types_are_placed(void **state)
{
	const char *placed = WHOLE O "table.fields.additional.placement=a:header\n"
				     "decimal.handling.mode=double\n";

	same(WHOLE "decimal.handling.mode=precise\ntime.precision.mode=adaptive\n",
	     "dropped: it is Debezium's default");
	changed(placed, 1, "# decimal.handling.mode = double\n#   NOT SUPPORTED: ");
	changed(WHOLE "binary.handling.mode=base64\n", 1, "sent as its bytes");
	same(WHOLE "schema.name.adjustment.mode=avro\n", "dropped: schemas are written");
	changed(PLACE JSON ROUTER "schema.name.adjustment.mode=avro\n", 1,
		"NOT SUPPORTED: schemas");
	changed(WHOLE "column.truncate.to.5.chars=public.outbox.c\n", 1,
		"columns are sent untruncated");
	changed(WHOLE "converters=c\nc.type=org.example.C\n", 1, "without custom converters");
}

static void modes_matter_where_the_key_is_of_their_types(void **state)
{
	static const char *const modes[] = {
		"decimal.handling.mode=double\n", "decimal.handling.mode=string\n",
		"time.precision.mode=connect\n",  "interval.handling.mode=string\n",
		"hstore.handling.mode=map\n",	  "binary.handling.mode=hex\n"
	};
	char text[2048];

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", WHOLE, modes[i]);
		changed(text, 1, " key");
	}
	changed(WHOLE "decimal.handling.mode=string\n", 1,
		"#   CHECK: correct unless the key (aggregateid) is a numeric or a money");
	changed(WHOLE O "table.field.event.key=account\ntime.precision.mode=connect\n", 1,
		"the key (account) is a date, a time or a timestamp");
	changed(WHOLE O "table.field.event.key=account\ndecimal.handling.mode=double\n" O
			"table.fields.additional.placement=a:header\n",
		1, "NOT SUPPORTED: a value that is a numeric or a money is");
	changed(WHOLE
		"transforms=o,p\ntransforms.p.type=" EVENT_ROUTER
		"\ntransforms.p.table.field.event.key=account\ndecimal.handling.mode=double\n",
		2, "the key (aggregateid, account)");
}

static void the_producers_properties_have_librdkafkas_names(void **state)
{
	same(WHOLE "producer.override.max.request.size=2000000\n",
	     "\nmessage.max.bytes = 2000000\n");
	same(WHOLE "producer.override.bootstrap.servers=k:9092\n",
	     "\nbootstrap.servers = k:9092\n");
	same(WHOLE "bootstrap.servers=w:9092\n", "\nbootstrap.servers = w:9092\n");
	same(WHOLE, "TO FILL IN: the brokers are those of the Connect worker");
	same(WHOLE "producer.override.ssl.endpoint.identification.algorithm=\n",
	     "\nssl.endpoint.identification.algorithm = none\n");
	same(WHOLE "producer.override.ssl.truststore.location=/a.jks\n", "export its certificates");
	same(WHOLE "producer.override.ssl.keystore.location=/a.p12\n"
		   "producer.override.ssl.keystore.type=PKCS12\n",
	     "\nssl.keystore.location = /a.p12\n");
	changed(WHOLE "producer.override.partitioner.class=org.example.P\n", 1,
		"walpost chooses partitions by murmur2");
	changed(WHOLE "producer.override.transactional.id=x\n", 1,
		"walpost's producer has no equivalent");
	changed(WHOLE "producer.override.what.is.this=x\n", 1, "unknown to walpost");
}

#define PRODUCER WHOLE "producer.override."

/* Each is a value that Java's producer takes; librdkafka's own bounds are narrower. */
static void values_beyond_what_librdkafka_takes_become_the_nearest(void **state)
{
	same(PRODUCER "max.request.size=2147483647\n", "\nmessage.max.bytes = 1000000000\n");
	same(PRODUCER "max.request.size=0\n", "\nmessage.max.bytes = 1000\n");
	same(PRODUCER "batch.size=0\n", "\nbatch.size = 1\n");
	same(PRODUCER "retry.backoff.ms=0\n", "\nretry.backoff.ms = 1\n");
	same(PRODUCER "request.timeout.ms=1800000\n", "\nrequest.timeout.ms = 900000\n");
	same(PRODUCER "connections.max.idle.ms=-1\n", "\nconnections.max.idle.ms = 0\n");
	same(PRODUCER "linger.ms=9000000000\n", "\nlinger.ms = 900000\n");
	same(PRODUCER "reconnect.backoff.max.ms=99999999\n",
	     "\nreconnect.backoff.max.ms = 3600000\n");
	same(PRODUCER "metadata.max.age.ms=604800000\n", "\nmetadata.max.age.ms = 86400000\n");
	same(PRODUCER "metadata.max.age.ms=-1\n",
	     "dropped: librdkafka allows 1 to 86400000; its default stays");
	without(PRODUCER "metadata.max.age.ms=0\n", "\nmetadata.max.age.ms =");
	same(PRODUCER "linger.ms= 5 \n", "\nlinger.ms = 5\n");
	same(PRODUCER "request.timeout.ms=1800000\n",
	     "#   librdkafka allows 1 to 900000: set to the nearest\n"
	     "request.timeout.ms = 900000\n");
	changed(PRODUCER "linger.ms=soon\n", 1, "NOT SUPPORTED: it is no whole number");
}

static void a_mechanism_that_librdkafka_lacks_is_told(void **state)
{
	same(PRODUCER "sasl.mechanism=SCRAM-SHA-256\n", "\nsasl.mechanism = SCRAM-SHA-256\n");
	changed(PRODUCER "sasl.mechanism=DIGEST-MD5\n", 1,
		"NOT SUPPORTED: librdkafka does not support this mechanism");
	without(PRODUCER "sasl.mechanism=DIGEST-MD5\n", "\nsasl.mechanism =");
}

#define OAUTH PRODUCER "sasl.mechanism=OAUTHBEARER\n"
#define HANDLER "producer.override.sasl.login.callback.handler.class="
#define KAFKAS \
	HANDLER "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\n"
#define STRIMZI HANDLER "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler\n"
#define JAAS "producer.override.sasl.jaas.config=x.OAuthBearerLoginModule required "
#define URL "producer.override.sasl.oauthbearer.token.endpoint.url="

static void msk_with_iam_is_a_login(void **state)
{
	same(PRODUCER "sasl.mechanism=AWS_MSK_IAM\n", "\nlogin = aws-msk-iam\n");
	without(PRODUCER "sasl.mechanism=AWS_MSK_IAM\n", "\nsasl.mechanism =");
	same(OAUTH HANDLER "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler\n" JAAS
			   "awsRoleArn='arn:aws:iam::1:role/r';\n",
	     "\nlogin.role = arn:aws:iam::1:role/r\n");
	same(PRODUCER "sasl.mechanism=AWS_MSK_IAM\n" JAAS "awsProfileName=\"a b\";\n",
	     "TO FILL IN: set AWS_PROFILE=a b in walpost's environment");
	without(PRODUCER "sasl.mechanism=AWS_MSK_IAM\n" JAAS "awsRoleSecretAccessKey=hush;\n",
		"hush");
}

static void kafkas_own_handler_is_oidc_or_a_file(void **state)
{
	same(OAUTH KAFKAS URL "https://a/token\n" JAAS "clientId=\"a \\\\\"b\" scope='s t';\n",
	     "\nsasl.oauthbearer.client.id = a \"b\n");
	same(OAUTH KAFKAS URL "https://a/token\n" JAAS "clientId=a scope='s t' ;\n",
	     "\nsasl.oauthbearer.scope = s t\n");
	same(OAUTH URL "https://a/token\n", "\nlogin = oidc\n");
	same(OAUTH KAFKAS, "TO FILL IN: set sasl.oauthbearer.token.endpoint.url");
	same(OAUTH KAFKAS URL "https://a\n", "TO FILL IN: set sasl.oauthbearer.client.id");
	same(OAUTH KAFKAS URL "https://a\n" JAAS "clientId=\"${file:/a:b}\";\n",
	     "TO FILL IN: its value is defined elsewhere: set sasl.oauthbearer.client.id");
	same(OAUTH KAFKAS URL "file:///run/token\n", "\nlogin = file\n");
	same(OAUTH KAFKAS URL "file:///run/token\n", "\ntoken_file = /run/token\n");
	without(OAUTH KAFKAS URL "file:/run/token\n", "sasl.oauthbearer.client.id");
	same(OAUTH STRIMZI JAAS "oauth.access.token.location=/run/token;\n",
	     "\ntoken_file = /run/token\n");
	without(OAUTH KAFKAS JAAS "clientSecret=hush;\n", "hush");
}

static void an_unknown_login_leads_to_a_command(void **state)
{
	same(OAUTH, "TO FILL IN: without sasl.login.callback.handler.class");
	same(OAUTH HANDLER "org.example.H\n", "set token_command to a program");
	same(OAUTH HANDLER "org.example.H\nproducer.override.bootstrap.servers="
			   "x.servicebus.windows.net:9093\n",
	     "\nlogin = azure\n");
	same(OAUTH KAFKAS JAAS "clientId='a\n", "TO FILL IN: walpost cannot read it");
	same(OAUTH KAFKAS JAAS "clientId=a\n", "TO FILL IN: walpost cannot read it");
	same(OAUTH KAFKAS JAAS "clientId;\n", "TO FILL IN: walpost cannot read it");
	same(OAUTH KAFKAS JAAS "=a;\n", "TO FILL IN: walpost cannot read it");
	same(OAUTH KAFKAS JAAS "clientId=a; x\n", "TO FILL IN: walpost cannot read it");
}

#define FACTORY "database.connection.factory.class=io.debezium.connector.postgresql.connection."

static void a_connection_factory_is_a_login(void **state)
{
	same(WHOLE FACTORY "PostgresAwsIamConnectionFactory\ndatabase.password=hush\n",
	     "\nlogin = aws-rds-iam\n");
	same(WHOLE FACTORY "PostgresAwsIamConnectionFactory\ndatabase.password=hush\n",
	     "dropped: login provides the password");
	same(WHOLE FACTORY "PostgresAwsIamConnectionFactory\ndriver.iamRegion=r\n",
	     "\nlogin.region = r\n");
	same(WHOLE FACTORY "Mine\n", "password_command to a program that prints them");
}

static void topics_that_connect_made_are_to_be_looked_at(void **state)
{
	changed(WHOLE "topic.creation.default.partitions=12\n", 1,
		"CHECK: Kafka Connect creates topics with these settings");
	changed(WHOLE "topic.creation.default.partitions=12\n"
		      "topic.creation.default.replication.factor=3\n",
		1, "CHECK: Kafka Connect creates topics with these settings");
}

static void an_alias_that_comes_twice_counts_once(void **state)
{
	changed(WHOLE "transforms=o,o\n", 1,
		"CHECK: o is listed twice, which Kafka Connect rejects");
	changed(WHOLE "transforms=o,o\n", 1, "\n[outbox]\n");
	without(WHOLE "transforms=o,o\n", "[outbox.outbox]");
}

static void debezium_server_has_ways_of_its_own(void **state)
{
	same(SERVER, "\nvalue.format = json-schema\n");
	same(SERVER, "\nheaders.format = json-schema\n");
	same(SERVER "debezium.format.schemas.enable=false\n", "\nheaders.format = json\n");
	same(SERVER "debezium.format.key=simplestring\n", "\nkey.format = raw\n");
	same(SERVER "debezium.transforms.o.route.topic.replacement=$${routedByValue}.e\n",
	     "\ntopic.replacement = ${routedByValue}.e\n");
	changed(SERVER "debezium.transforms.o.route.topic.replacement=${routedByValue}.e\n", 1,
		"#   CHECK: Debezium Server looks for a variable of this name");
	same(SERVER "debezium.source.database.hostname=${DB_HOST}\n", "#   TO FILL IN: its value");
	without(SERVER "debezium.transforms.o.table.field.event.timestamp=ts\n",
		"\ncolumn.timestamp =");
	without(SERVER "debezium.transforms.o.table.fields.additional.placement=p:partition\n",
		"\ncolumn.partition =");
	same(SERVER "quarkus.log.level=INFO\n", "# quarkus.log.level\n#   dropped: ");
	changed(SERVER "debezium.sink.type=pulsar\n", 1, "NOT SUPPORTED: walpost writes to Kafka");
	changed(SERVER "debezium.sink.pulsar.x=1\n", 1, "unknown to walpost");
	changed(SERVER "debezium.format.value=avro\n", 1, "walpost has no such converter");
	changed(SERVER "debezium.format.value=binary\ndebezium.format.delegate.converter."
		       "type=" JSON_CONVERTER,
		1, "CHECK: correct for payloads of type bytea");
	changed(SERVER "debezium.format.value.class=com.acme.JsonConverter\n", 1,
		"it replaces Debezium Server's converter for json and others");
}

static void what_debezium_server_does_not_read_is_dropped(void **state)
{
	same(SERVER
	     "value.converter=x\ndebezium.value.converter=y\ndebezium.connector.postgres=DEBUG\n",
	     "dropped: Debezium Server does not read it");
}

static void summary_is(const char *text, const char *wanted)
{
	struct output o = import(text);

	CHECK_TEXT(o.summary, wanted);
	output_release(&o);
}

static void the_report_says_first_how_many_are_to_be_judged(void **state)
{
	summary_is(
		WHOLE "nobody.knows=1\nbootstrap.servers=k:9092\ndatabase.user=$USER\n",
		"walpost: 1 to judge, marked CHECK or NOT SUPPORTED, because consumers may see a "
		"difference; 1 to fill in\n"
		"walpost: NOT SUPPORTED: nobody.knows: it is unknown to walpost, and so is the "
		"effect of "
		"omitting it\n"
		"walpost: TO FILL IN: database.user: its value is defined elsewhere, entirely or "
		"in part: "
		"replace the placeholder\n");
	summary_is(WHOLE "bootstrap.servers=k:9092\ndatabase.user=$USER\n",
		   "walpost: consumers see no difference; 1 to fill in\n"
		   "walpost: TO FILL IN: database.user: its value is defined elsewhere, entirely "
		   "or in part: "
		   "replace the placeholder\n");
	summary_is(WHOLE "bootstrap.servers=k:9092\n", "");
}

static void of_another_database_or_sink_nothing_else_is_said(void **state)
{
	summary_is(WHOLE
		   "nobody.knows=1\nconnector.class=io.debezium.connector.mysql.MySqlConnector\n",
		   "walpost: NOT SUPPORTED: connector.class: walpost supports only Postgres\n");
	summary_is(SERVER "debezium.sink.type=pulsar\ndebezium.sink.pulsar.x=1\n",
		   "walpost: NOT SUPPORTED: debezium.sink.type: walpost writes to Kafka\n");
}

#define REPLACEMENT SERVER "debezium.transforms.o.route.topic.replacement="

/* Each compared with smallrye-config 3.16, which Debezium Server 3.6 has. */
static void a_dollar_sign_is_escaped_in_two_ways(void **state)
{
	same(REPLACEMENT "\\\\${routedByValue}.e\n", "\ntopic.replacement = ${routedByValue}.e\n");
	same(REPLACEMENT "e.$1\n", "\ntopic.replacement = e.$1\n");
	same(REPLACEMENT "e.$$1\n", "\ntopic.replacement = e.$1\n");
	same(SERVER "debezium.transforms.o.route.topic.regex=(?<routedByValue>.\\\\..*)\\\\$\n",
	     "\ntopic.regex = (?<routedByValue>.\\..*)$\n");
	changed(REPLACEMENT "\\${routedByValue}.e\n", 1, "looks for a variable of this name");
	changed(REPLACEMENT "${other}.e\n", 1, "defined elsewhere");
	changed(REPLACEMENT "$$${routedByValue}.e\n", 1, "defined elsewhere");
	changed(REPLACEMENT "\\\\$${routedByValue}.e\n", 1, "defined elsewhere");
	changed(SERVER "debezium.source.topic.prefix=${WHAT}\n", 1, "defined elsewhere");
	changed(SERVER "debezium.source.slot.drop.on.stop=${WHAT}\n", 1, "If it is true");
}

static void secrets_are_not_printed(void **state)
{
	static const char *const secrets[] = {
		"database.password=hush\n",
		"database.sslpassword=hush\n",
		"producer.override.sasl.jaas.config=x username=\"hush\" password=\"hush\";\n",
		"key.converter.schema.registry.url=http://u:hush@r\n",
		"key.converter.basic.auth.user.info=u:hush\n",
		"column.mask.hash.SHA-256.with.salt.hush=a.b.c\n",
		"some.unknown.thing=hush\n",
		"producer.override.ssl.keystore.key=hush\n",
		"database.initial.statements=SET x TO 'hush'\n",
		"signal.kafka.consumer.token=hush\n",
	};
	char text[2048];

	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", WHOLE, secrets[i]);
		struct output o = import(text);
		assert_null(strstr(o.text, "hush"));
		assert_null(strstr(o.summary, "hush"));
		output_release(&o);
	}
}

static void what_a_line_cannot_hold_is_no_setting(void **state)
{
	changed(WHOLE O "table.field.event.id=a\\nb\n", 1,
		"NOT SUPPORTED: the value begins or ends");
	changed(WHOLE O "table.field.event.id=a \n", 1, "NOT SUPPORTED: the value begins or ends");
	without(WHOLE O "table.field.event.timestamp=a\\n[log]\n", "\n[log]");
	without(WHOLE "a\\n[log]=b\n", "\n[log]");
}

static void repetitions_and_nothing_are_told(void **state)
{
	same(WHOLE "slot.name=a\nslot.name=b\n", "# slot.name\n#   dropped: it is set again in ");
	same(WHOLE "slot.name=a\nslot.name=b\n", "\nslot = b\n");
	changed("{\"slot.name\": null, \"plugin.name\": \"pgoutput\"}", 5, "\nslot = debezium\n");
}

static void what_stands_beside_the_configuration_is_no_property(void **state)
{
	const char *answer =
		"{\"name\": \"n\", \"config\": {\"plugin.name\": \"pgoutput\"}, \"tasks\": "
		"[{\"connector\": \"n\", \"task\": 0}], \"type\": \"source\", \"later\": 1}";

	changed(answer, 5,
		"# name\n"
		"# tasks\n"
		"# type\n"
		"# later\n"
		"#   dropped: it is next to \"config\", so it belongs to Kafka Connect");
	without(answer, "it is null");
}

static void a_predicate_sees_the_topics_of_debeziums_own_strategy(void **state)
{
	changed(WHOLE O "predicate=p\npredicates.p.type=" MATCHES
			"predicates.p.pattern=t.public.[a-z[A-Z]]*\n",
		1, "walpost cannot evaluate the predicate, and treats all of them as outboxes");
	changed(WHOLE O "predicate=p\npredicates.p.type=" MATCHES
			"predicates.p.pattern=t.public.outbox\ntopic.delimiter=_\n",
		1, "walpost cannot evaluate the predicate, and treats all of them as outboxes");
	changed(WHOLE O "predicate=p\npredicates.p.type=" MATCHES
			"predicates.p.pattern=t.public.outbox\ntopic.naming.strategy=com.acme.S\n",
		1, "walpost cannot evaluate the predicate, and treats all of them as outboxes");
}

#define OLD                                                                    \
	"connector.class=io.debezium.connector.postgresql.PostgresConnector\n" \
	"plugin.name=pgoutput\ndatabase.hostname=db\ndatabase.server.name=s\n" \
	"table.include.list=public.outbox\n"
#define EXPANDS O "table.expand.json.payload=true\n"

static void a_payload_of_1_is_expanded_with_empty_arrays(void **state)
{
	const char *old = OLD JSON ROUTER EXPANDS;
	const char *later =
		OLD JSON ROUTER EXPANDS O "table.json.payload.null.behavior=optional_bytes\n" O
					  "table.json.payload.empty.array.behavior=ignore\n";
	const char *several = OLD JSON ROUTER EXPANDS "table.include.list=a.b,a.c\n";

	changed(old, 1, "CHECK: expanded as Debezium 2.1 and later do, but with empty arrays");
	changed(old, 1, "\npayload.json = expand\nexpand.empty_arrays = keep\n");
	changed(several, 1, "\nexpand.empty_arrays = keep\n");
	changed(later, 1, "\nexpand.nulls = drop\n");
	changed(later, 1, "\nexpand.empty_arrays = keep\n");
	changed(old, 1,
		"# The configuration is of Debezium 1.x: it has database.server.name and no ");
	same(OLD STRINGS ROUTER O "table.expand.json.payload=false\n", "\npayload.json = any\n");
}

static void each_name_that_2_removed_tells_of_1(void **state)
{
	static const char *const signs[] = {
		"database.server.name=s\n",
		"table.whitelist=a.b\n",
		"schema.blacklist=a\n",
		"column.blacklist=a\n",
		"slot.drop_on_stop=false\n",
		"database.history.kafka.topic=t\n",
		"key.converter=io.debezium.converters.ByteBufferConverter\n",
		O "table.field.event.payload.id=aggregateid\n",
	};
	char text[2048];

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		(void)snprintf(text, sizeof(text), "plugin.name=pgoutput\n%s%s%s%s", JSON, ROUTER,
			       EXPANDS, signs[i]);
		struct output o = import(text);
		CHECK_HAS(o.text, "\nexpand.empty_arrays = keep\n");
		CHECK_HAS(o.text, " and no topic.prefix.\n");
		output_release(&o);
		(void)snprintf(text, sizeof(text), "plugin.name=pgoutput\n%s%s%s%s%s", JSON, ROUTER,
			       EXPANDS, "topic.prefix=t\n", signs[i]);
		without(text, "expand.empty_arrays");
		without(text, "The configuration is of");
	}
	same(WHOLE "database.server.name=s\n", "\ndebezium.name = t\n");
}

static void a_version_that_is_given_counts(void **state)
{
	const char *old = OLD JSON ROUTER EXPANDS;
	const char *recent = PLACE JSON ROUTER EXPANDS;

	changed_as(old, "3.6", 0, "\npayload.json = expand\n");
	changed_as(old, "3.6", 0, "\ndebezium.context.headers = yes\n");
	changed_as(old, "2.1.0.Final", 0, "# This file imitates Debezium 2.1 where");
	changed_as(old, "3", 1, "CHECK: Debezium 3.2 and later send four context headers");
	changed_as(recent, "1.9", 1, "\nexpand.empty_arrays = keep\n");
	changed_as(recent, "2.0.1.Final", 1, "\nexpand.empty_arrays = keep\n");
	changed_as(recent, "2", 1, "CHECK: expanded as Debezium 2.1 and later do. Earlier");
	changed_as(recent, "1", 1, "# This file imitates Debezium 1.x where");
	changed_as(recent, "4.0", 0,
		   "# This file imitates Debezium 3.6: walpost has not been compared with 4.0.");
	changed_as(recent, NULL, 0,
		   "# This file imitates Debezium 3.6; `--debezium VERSION` chooses another.");
	changed_as(WHOLE, "1.1", 1, "NOT SUPPORTED: Debezium before 1.2 sends an envelope");
	changed_as(WHOLE, "1.2", 0, "\nheaders.standard = id\n");
	changed_as(PLACE JSON ROUTER O "table.fields.additional.placement=a:envelope\n", "1.9", 1,
		   "CHECK: before Debezium 2.0 characters that Avro does not allow");
	changed_as(PLACE JSON ROUTER O "table.fields.additional.placement=a:envelope\n", "2.0", 0,
		   "\nvalue.columns = a\n");
}

static void an_option_of_a_later_version_is_passed_over_before(void **state)
{
	const char *keeps = PLACE JSON ROUTER EXPANDS O
		"table.json.payload.empty.array.behavior=optional_string\n";

	changed_as(keeps, "3.6", 0, "#   Debezium before 3.7 has no such option\n");
	changed_as(keeps, "3.6", 0, "\nexpand.empty_arrays = drop\n");
	changed_as(keeps, "3.7", 0, "\nexpand.empty_arrays = keep\n");
	changed_as(keeps, "2.7", 0, "\nexpand.empty_arrays = drop\n");
	changed_as(keeps, "1.9", 1, "\nexpand.empty_arrays = keep\n");
}

static void a_version_is_numbers_and_a_qualifier(void **state)
{
	static const char *const good[] = { "3",
					    "1.9",
					    "2.0.1",
					    "2.0.1.Final",
					    "3.6.0-SNAPSHOT",
					    "0.10",
					    "2.7.3.Final-redhat-00001" };
	static const char *const bad[] = { "",	     "latest", "3.",	    "1..9",	    "36",
					   "-1",     "3x",     "1,9",	    " 3",	    "v3",
					   "3.6.0.", "3.100",  "1.2.3.4 5", "3.6.0.Final.1" };
	struct wp_import_version version;
	struct wp_error error;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK_EQ(wp_import_version_parse(good[i], &version, &error), WP_OK);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(wp_import_version_parse(bad[i], &version, &error), WP_CONFIG);
		CHECK_HAS(error.text, bad[i]);
		CHECK_HAS(error.text, "write it as 3, 2.7 or 2.0.1.Final");
	}
	CHECK_EQ(wp_import_version_parse("2", &version, &error), WP_OK);
	CHECK_EQ(version.lowest, WP_IMPORT_VERSION(2, 0));
	CHECK_EQ(version.highest, WP_IMPORT_VERSION(2, 99));
}

static void a_null_key_of_1_is_replaced(void **state)
{
	const char *both = OLD STRINGS ROUTER O "table.field.event.key=k\n" O
						"table.field.event.payload.id=p\n";
	const char *key = OLD STRINGS ROUTER O "table.field.event.key=k\n";

	same(both, "\ncolumn.key = k\n");
	same(both, "\ncolumn.key.fallback = p\n");
	changed(key, 1, "CHECK: before Debezium 2.0 the column aggregateid, if the table has it,");
	changed_as(key, "1.9", 1, "# table.field.event.payload.id is not set\n");
	changed_as(key, "2.0", 0, "\ncolumn.key = k\n");
	changed_as(WHOLE O "table.field.event.key=k\n", "1", 1, "# table.field.event.payload.id");
	same(OLD STRINGS ROUTER O "table.field.event.key=aggregateid\n", "\ncolumn.key = aggre");
	same(OLD STRINGS ROUTER O "table.field.event.payload.id=p\n", "\ncolumn.key = p\n");
	same(OLD STRINGS ROUTER O "table.field.event.key=p\n" O "table.field.event.payload.id=p\n",
	     "dropped: it is the key's column");
	same(OLD STRINGS ROUTER, "\nkey.null = allow\n");
	changed_as(both, "2.0", 0, "dropped: Debezium 2.0 and later have no such option");
	without(WHOLE O "table.field.event.payload.id=p\n", "column.key");
}

#define PLACEHOLDER "its value is defined elsewhere, entirely or in part: replace the"

static void a_placeholder_is_filled_in(void **state)
{
	static const char *const values[] = {
		"${NAME}",     "db-${ENV}.example",
		"${NAME:?db}", "$NAME",
		"$(NAME)",     "{{ .Values.db }}",
		"{{db}}",      "db}}",
		"{% if a %}b", "<%= db %>",
		"%{ if a }",   "#{Name}",
		"<your-host>", "[[ .db ]]",
		"((db))",      "%NAME%",
		"@name@",      "{name}",
	};
	static const char *const properties[] = { "database.user", "database.dbname",
						  "publication.name" };
	char text[2048];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		for (size_t j = 0; j < sizeof(properties) / sizeof(properties[0]); j++) {
			(void)snprintf(text, sizeof(text), "%s%s=%s\n", WHOLE, properties[j],
				       values[i]);
			same(text, "TO FILL IN: " PLACEHOLDER);
		}
	same(WHOLE "database.hostname=${DB_HOST}\n", "TO FILL IN: " PLACEHOLDER);
	same(PRODUCER "linger.ms={{ linger }}\n", "defined elsewhere: set linger.ms");
	same(PRODUCER "bootstrap.servers=$KAFKA:9092\n", "TO FILL IN: " PLACEHOLDER);
}

#define DEFAULT_TAKEN "the default that the file has for it was taken:"

static void the_default_of_a_placeholder_is_taken(void **state)
{
	same(WHOLE "database.user=${NAME:-db}\n", "TO FILL IN: " DEFAULT_TAKEN);
	same(WHOLE "database.user=a${NAME:-db}b\n", "user=adbb");
	says(WHOLE "topic.prefix=${NAME:-shop}\n", "CHECK: " DEFAULT_TAKEN);
	same(WHOLE "database.user=${env:NAME}\n", "TO FILL IN: " PLACEHOLDER);
	same(WHOLE "database.user=${NAME:-}\n", "TO FILL IN: " PLACEHOLDER);
	says(SERVER "debezium.source.database.port=${PORT:5433}\n", "port=5433");
	says(SERVER "debezium.source.database.hostname=a-${A:b}.${C:-d}\n", "host=a-b.d");
	says(SERVER "debezium.source.database.user=${env:NAME}\n", "TO FILL IN: " PLACEHOLDER);
	says(SERVER "debezium.source.database.user=${A:${B:c}}\n", "TO FILL IN: " PLACEHOLDER);
	says(SERVER "debezium.source.database.user=${aes::b}\n", "TO FILL IN: " PLACEHOLDER);
}

static void a_placeholder_that_libpq_would_refuse_is_left_out(void **state)
{
	same(WHOLE "database.port=${DB_PORT}\n", "TO FILL IN: " PLACEHOLDER);
	without(WHOLE "database.port=${env:DB_PORT}\n", "port=");
	without(WHOLE "database.port=${DB_PORT}\n", "#   NOT SUPPORTED");
	without(WHOLE "slot.name=${SLOT}\n", "#   NOT SUPPORTED");
	same(WHOLE "slot.name=${SLOT}\n", "TO FILL IN: " PLACEHOLDER);
	changed(WHOLE "table.include.list=${SCHEMA}.outbox\n", 1, "CHECK: " PLACEHOLDER);
}

static void an_expression_that_matches_one_table_is_that_table(void **state)
{
	same(WHOLE "table.include.list=^public\\\\.orders$\n", "table = public.orders");
	changed(WHOLE "table.include.list=^public\\\\.orders\\\\$\n", 1,
		"a regular expression in it");
}

static void says_as(const char *text, const char *version, const char *part)
{
	struct output o = import_as(text, version);

	if (strstr(o.text, part) == NULL)
		CHECK_TEXT(o.text, part);
	output_release(&o);
}

#define OLD_OPTION O "debezium.op.invalid.behavior=fatal\n"

static void older_names_of_the_routers_options_count_before_2(void **state)
{
	static const char newer[] = WHOLE OLD_OPTION O "table.op.invalid.behavior=error\n";

	says_as(WHOLE OLD_OPTION, "1.9", "on_update = stop");
	says_as(newer, "1.9", "on_update = error");
	says_as(newer, "1.9", "is its newer name");
	without(WHOLE OLD_OPTION, "on_update");
	same(WHOLE OLD_OPTION, "Debezium 2.0 and later have no such option");
	changed(WHOLE "topic.creation.default.cleanup.policy=compact\n", 1, "CHECK: Kafka Connect");
	same(WHOLE "connector.class=${CLASS}\n", "TO FILL IN: its value is defined elsewhere");
	changed(SERVER "%prod.debezium.source.slot.name=x\n", 1,
		"NOT SUPPORTED: it applies to one Quarkus profile");
	says_as(PLACE JSON ROUTER O "debezium.expand.json.payload=true\n", "1.9",
		"payload.json = expand");
}

static void what_the_router_has_not_is_ignored_as_by_connect(void **state)
{
	same(WHOLE O "table.field.payload=a\n" O "route.by.id=b\n",
	     "dropped: the EventRouter has no such option, and ignores it");
	changed(WHOLE O "table.fields.additional.else=false\n", 1,
		"walpost does not support this option");
}

static void a_topics_other_settings_move_no_keys(void **state)
{
	same(WHOLE "topic.creation.default.replication.factor=3\n"
		   "topic.creation.default.partitions=-1\n",
	     "dropped: it belongs to topics that Kafka Connect creates");
	changed(WHOLE "topic.creation.default.partitions=12\n", 1, "CHECK: Kafka Connect");
}

static void a_renamed_topic_is_a_matter_of_its_replacement(void **state)
{
	changed(WHOLE "transforms=o,r\ntransforms.r.type=org.apache.kafka.connect.transforms."
		      "RegexRouter\n"
		      "transforms.r.regex=a\ntransforms.r.replacement=b\n",
		1, "set topic.replacement to the names that it makes");
}

#define DELEGATING                                                                              \
	"value.converter=io.debezium.converters.BinaryDataConverter\n"                          \
	"value.converter.delegate.converter.type=org.apache.kafka.connect.json.JsonConverter\n" \
	"value.converter.delegate.converter.type.schemas.enable=false\n"

static void an_expanded_payload_is_the_delegates(void **state)
{
	changed(WHOLE O "table.expand.json.payload=true\n" DELEGATING, 1, "payload.json = expand");
	changed(WHOLE O "table.expand.json.payload=true\n" DELEGATING, 1, "value.format = json\n");
	changed(WHOLE DELEGATING, 1, "value.format = raw\n");
}

static void what_may_be_a_name_is_no_placeholder(void **state)
{
	static const char *const values[] = {
		"a$b", "user@tenant@server", "a@b", "x%eth0", "o'neil", "50%", "$", "a<b"
	};
	char text[2048];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		(void)snprintf(text, sizeof(text), "%sdatabase.user=%s\n", WHOLE, values[i]);
		without(text, PLACEHOLDER);
	}
}

static void a_placeholder_in_topics_or_headers_is_marked(void **state)
{
	static const char *const properties[] = {
		"topic.prefix=${SERVICE}\n",
		"topic.prefix=$SERVICE\n",
		"extended.headers.enabled=${HEADERS}\n",
		O "route.topic.replacement={{ .Values.env }}.${routedByValue}\n",
		O "route.topic.replacement=<env>.${routedByValue}\n",
		O "route.topic.replacement=%{env}.${routedByValue}\n",
		O "route.topic.replacement=${schema}.${routedByValue}\n",
		O "route.topic.regex=${ENV}(?<routedByValue>.*)\n",
		O "route.topic.regex={{ env }}(?<routedByValue>.*)\n",
		O "route.topic.regex=%{env}(?<routedByValue>.*)\n",
		O "route.by.field={{ column }}\n",
		"value.converter=${CONVERTER}\n",
		O "table.field.event.key=${KEY}\n",
		O "table.fields.additional.placement=type:header:${NAME}\n",
	};
	char text[2048];

	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", WHOLE, properties[i]);
		changed(text, 1, "CHECK: " PLACEHOLDER);
	}
	changed(WHOLE O "route.topic.replacement=${ENV_NAME}.${routedByValue}\n", 1, PLACEHOLDER);
	changed(WHOLE O "route.topic.replacement=${ENV}.${routedByValue}\n", 1, PLACEHOLDER);
	changed(SERVER "debezium.source.topic.prefix={{ name }}\n", 1, "CHECK: " PLACEHOLDER);
	changed(WHOLE "topic.prefix=${T}\n" O "predicate=p\npredicates.p.type=" MATCHES
		      "predicates.p.pattern=t.public.outbox\n",
		2, "walpost cannot evaluate the predicate");
	changed(WHOLE O "predicate=p\n" O "negate=${N}\npredicates.p.type=" MATCHES
			"predicates.p.pattern=t.public.outbox\n",
		1, "walpost cannot evaluate the predicate");
}

static void groups_and_repetitions_are_no_placeholders(void **state)
{
	same(WHOLE O "route.topic.replacement=a-b_c.${routedByValue}.$1\n", "\ntopic.replacement");
	same(WHOLE O "route.topic.regex=(?<routedByValue>\\\\p{Lu}{2,3}[^{x}]*)$\n",
	     "\ntopic.regex = ");
	same(WHOLE O "route.topic.regex=(?<schema>.*)\n" O "route.topic.replacement=${schema}.e\n",
	     "\ntopic.replacement = ${schema}.e\n");
}

#define FILTERED WHOLE "publication.autocreate.mode=filtered\n"
#define QUERY "heartbeat.action.query="
#define TWO FILTERED "table.include.list=public.outbox,public.beat\n" QUERY

static void a_table_of_heartbeats_is_no_outbox(void **state)
{
	static const char *const queries[] = {
		"UPDATE public.beat SET ts = now() WHERE id = 1\n",
		"update only beat set ts = now()\n",
		"UPDATE \"public\".\"beat\" SET ts = now()\n",
		"UPDATE Public.BEAT SET ts = now()\n",
		"UPDATE shop.public.beat SET ts = now()\n",
		"INSERT INTO beat (a) VALUES ('UPDATE public.outbox SET id = 1')\n",
		"INSERT INTO public.beat (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET t = 1\n",
		"INSERT INTO public . beat VALUES (E'\\\\'s', 'it''s') ON CONFLICT DO NOTHING\n",
		"/* UPDATE public.outbox */ UPDATE public.beat SET ts = now()\n",
		"-- UPDATE public.outbox\\nUPDATE public.beat SET ts = now()\n",
		"WITH x AS (SELECT 1 FROM outbox FOR UPDATE) INSERT INTO beat (ts) SELECT now()\n",
		"SELECT 1 FROM outbox FOR NO KEY UPDATE; UPDATE beat SET ts = now()\n",
		"MERGE INTO beat b USING x ON true WHEN MATCHED THEN UPDATE SET ts = now()\n",
	};
	char text[2048];

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", TWO, queries[i]);
		same(text, "\nignore = public.beat\n");
		same(text, "\n[outbox]\n");
		without(text, "[outbox.");
	}
}

static void a_table_of_heartbeats_stands_beside_a_pattern(void **state)
{
	const char *capitals = FILTERED "table.include.list=public.outbox,public.Beat\n" QUERY;
	char text[2048];

	same(WHOLE "table.include.list=a.o,a.beat\n" QUERY "UPDATE beat SET t = 1\n",
	     "\nignore = *, a.beat\n");
	same(WHOLE QUERY "UPDATE beat SET t = 1\n", "\nignore = *, public.beat\n");
	(void)snprintf(text, sizeof(text), "%sUPDATE public.\"Beat\" SET t = 1\n", capitals);
	same(text, "\nignore = public.\"Beat\"\n");
	(void)snprintf(text, sizeof(text), "%sUPDATE public.Beat SET t = 1\n", capitals);
	same(text, "\nignore = public.beat\n");
	changed(FILTERED "table.include.list=public\\\\..*\n" QUERY
			 "UPDATE public.beat SET t = 1\n",
		1, "\nignore = public.beat\n");
	same(FILTERED QUERY "UPDATE a SET t = 1; UPDATE b.\"C d\" SET t = 1\n",
	     "\nignore = public.a, b.\"C d\"\n");
}

static void an_outbox_is_not_taken_for_a_table_of_heartbeats(void **state)
{
	same(FILTERED QUERY "DELETE FROM public.outbox\n", "\ntable = public.outbox\n");
	without(FILTERED QUERY "DELETE FROM public.outbox\n", "\nignore =");
	changed(FILTERED QUERY "INSERT INTO outbox VALUES (1)\n", 1,
		"CHECK: it writes to a table that is treated as an outbox");
	changed(TWO "INSERT INTO public.outbox (id, payload) VALUES (1, '')\n", 1,
		"CHECK: it writes to a table that is treated as an outbox");
	changed(TWO "INSERT INTO public.outbox (id, \"Body\") VALUES (1, '')\n" O
		    "table.field.event.payload=Body\n",
		1, "CHECK: it writes to a table that is treated as an outbox");
	changed(TWO
		"INSERT INTO outbox (id, aggregatetype) VALUES (1, 'a') ON CONFLICT DO NOTHING\n",
		1, "CHECK: it writes to a table that is treated as an outbox");
	changed(TWO "INSERT INTO beat VALUES (1)\n", 1, "CHECK: rows of its table are ignored.");
	changed(TWO "INSERT INTO beat VALUES (1)\n", 1, "\nignore = public.beat\n");
	changed(TWO "UPDATE ${SCHEMA}.beat SET ts = now()\n", 1,
		"CHECK: the name of its table cannot be read");
	changed(TWO "{{ query }}\n", 1, "CHECK: the name of its table cannot be read");
	changed(TWO "UPDATE \"beat SET ts = now()\n", 1,
		"CHECK: the name of its table cannot be read");
	same(FILTERED QUERY "SELECT beat()\n", "it sends no heartbeats");
}

static void a_table_of_signals_is_no_outbox(void **state)
{
	const char *two = FILTERED "table.include.list=public.outbox,public.signal\n"
				   "signal.data.collection=";
	static const char *const names[] = { "public.signal\n", "\"public\".\"signal\"\n",
					     "shop.public.signal\n" };
	char text[2048];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", two, names[i]);
		same(text, "\nignore = public.signal\n");
		without(text, "[outbox.");
	}
	(void)snprintf(text, sizeof(text), "%ssignal\n", two);
	changed(text, 1, "\nignore = public.signal\n");
	same(FILTERED "table.include.list=a.o,A\\\\.SIGNAL\nsignal.data.collection=a.signal\n",
	     "\nignore = a.signal\n");
	same(FILTERED "signal.data.collection=a.my signals\n", "\nignore = a.\"my signals\"\n");
	changed(FILTERED "signal.data.collection=${S}.signals\n", 1, "CHECK: not schema.table");
	changed(FILTERED "signal.data.collection=a.one,a.two\n", 1, "CHECK: not schema.table: wal");
	changed(FILTERED "signal.data.collection=a. one\n", 1, "CHECK: not schema.table: walpost");
	changed(FILTERED "signal.data.collection=public.outbox\n", 1,
		"it is the only table that is listed");
}

static void a_file_that_cannot_be_read_is_refused(void **state)
{
	struct wp_import *import = NULL;
	struct wp_error error;

	CHECK_EQ(wp_import_new(wp_span_of("{"), NULL, &import, &error), WP_CONFIG);
	CHECK_HAS(error.text, "line 1: ");
	CHECK_EQ(wp_import_new(wp_span_of("\nCREATE TABLE x (y text)"), NULL, &import, &error),
		 WP_CONFIG);
	CHECK_HAS(error.text,
		  "line 2: it is no configuration of Debezium: no name in it is known. ");
	CHECK(import == NULL);
	wp_import_free(NULL);
}

int main(void)
{
	return RUN(
		PLAIN(a_connection_is_quoted_for_libpq),
		PLAIN(slot_and_publication_have_debeziums_defaults),
		PLAIN(a_slot_of_another_plugin_cannot_be_taken_over),
		PLAIN(a_slot_that_will_not_stay_or_did_not_move_is_told),
		PLAIN(another_connector_is_none_of_ours),
		PLAIN(a_class_of_somebody_else_is_not_known_by_its_last_name),
		PLAIN(a_class_goes_by_the_names_that_connect_knows),
		PLAIN(options_of_the_router_become_keys), PLAIN(a_route_is_taken_as_it_is),
		PLAIN(columns_are_placed), PLAIN(a_type_is_a_header_only_when_it_is_placed),
		PLAIN(payloads_are_expanded_where_they_are_json),
		PLAIN(the_version_of_a_schema_matters_where_it_is_sent),
		PLAIN(converters_become_formats),
		PLAIN(bytes_are_passed_on_and_the_rest_is_the_delegates),
		PLAIN(debeziums_byte_array_converter_is_its_delegate),
		PLAIN(a_key_of_bytes_is_not_written_as_bytes),
		PLAIN(without_a_converter_the_workers_is_guessed),
		PLAIN(a_table_is_named_by_an_expression_that_is_plain),
		PLAIN(a_name_with_capitals_is_quoted_and_asked_about),
		PLAIN(rows_of_others_are_dropped_only_beside_a_table_that_is_known),
		PLAIN(several_tables_are_several_outboxes), PLAIN(a_predicate_chooses_the_outboxes),
		PLAIN(of_several_routers_the_first_that_gets_a_table_counts),
		PLAIN(the_publication_decides_what_is_ignored),
		PLAIN(logical_messages_are_events_where_they_are_decoded),
		PLAIN(other_transforms_are_told), PLAIN(context_headers_are_sent_as_by_debezium_3),
		PLAIN(modes_matter_where_columns_of_their_types_are_placed),
		PLAIN(modes_matter_where_the_key_is_of_their_types),
		PLAIN(the_producers_properties_have_librdkafkas_names),
		PLAIN(values_beyond_what_librdkafka_takes_become_the_nearest),
		PLAIN(a_mechanism_that_librdkafka_lacks_is_told), PLAIN(msk_with_iam_is_a_login),
		PLAIN(kafkas_own_handler_is_oidc_or_a_file),
		PLAIN(an_unknown_login_leads_to_a_command), PLAIN(a_connection_factory_is_a_login),
		PLAIN(topics_that_connect_made_are_to_be_looked_at),
		PLAIN(an_alias_that_comes_twice_counts_once),
		PLAIN(debezium_server_has_ways_of_its_own),
		PLAIN(what_debezium_server_does_not_read_is_dropped),
		PLAIN(the_report_says_first_how_many_are_to_be_judged),
		PLAIN(of_another_database_or_sink_nothing_else_is_said),
		PLAIN(a_dollar_sign_is_escaped_in_two_ways), PLAIN(secrets_are_not_printed),
		PLAIN(what_a_line_cannot_hold_is_no_setting),
		PLAIN(repetitions_and_nothing_are_told),
		PLAIN(what_stands_beside_the_configuration_is_no_property),
		PLAIN(a_predicate_sees_the_topics_of_debeziums_own_strategy),
		PLAIN(a_payload_of_1_is_expanded_with_empty_arrays),
		PLAIN(each_name_that_2_removed_tells_of_1), PLAIN(a_version_that_is_given_counts),
		PLAIN(an_option_of_a_later_version_is_passed_over_before),
		PLAIN(a_version_is_numbers_and_a_qualifier), PLAIN(a_null_key_of_1_is_replaced),
		PLAIN(a_placeholder_is_filled_in), PLAIN(the_default_of_a_placeholder_is_taken),
		PLAIN(an_expanded_payload_is_the_delegates),
		PLAIN(a_renamed_topic_is_a_matter_of_its_replacement),
		PLAIN(a_topics_other_settings_move_no_keys),
		PLAIN(what_the_router_has_not_is_ignored_as_by_connect),
		PLAIN(older_names_of_the_routers_options_count_before_2),
		PLAIN(an_expression_that_matches_one_table_is_that_table),
		PLAIN(a_placeholder_that_libpq_would_refuse_is_left_out),
		PLAIN(what_may_be_a_name_is_no_placeholder),
		PLAIN(a_placeholder_in_topics_or_headers_is_marked),
		PLAIN(groups_and_repetitions_are_no_placeholders),
		PLAIN(a_table_of_heartbeats_is_no_outbox),
		PLAIN(a_table_of_heartbeats_stands_beside_a_pattern),
		PLAIN(an_outbox_is_not_taken_for_a_table_of_heartbeats),
		PLAIN(a_table_of_signals_is_no_outbox),
		PLAIN(a_file_that_cannot_be_read_is_refused));
}

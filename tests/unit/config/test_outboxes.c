/* [outbox.NAME]: which outboxes there are, and what each has of whom. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "support/check.h"

static const struct wp_outbox_options *outbox(size_t index)
{
	CHECK(index < got.config.outboxes.count);
	return &got.config.outboxes.items[index];
}

static void without_a_named_one_there_is_the_plain(void **state)
{
	load_file("[outbox]\nheaders = tenant\n");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.outboxes.count, 1);
	CHECK_TEXT(outbox(0)->name, "");
	CHECK_TEXT(outbox(0)->table, "public.outbox");
	CHECK_TEXT(outbox(0)->headers, "tenant");
}

static void a_named_one_inherits_what_it_does_not_set(void **state)
{
	load_file("[outbox.orders]\ntable = sales.orders\nheaders.standard = id\n"
		  "[outbox]\nheaders = tenant\nkey.null = allow\nheaders.standard = type\n"
		  "[outbox.bills]\ntable = sales.bills\nenvelope = protobuf\n");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.outboxes.count, 2);
	CHECK_TEXT(outbox(0)->name, "orders");
	CHECK_TEXT(outbox(0)->table, "sales.orders");
	CHECK_TEXT(outbox(0)->headers, "tenant");
	CHECK_TEXT(outbox(0)->headers_standard, "id");
	CHECK_EQ(outbox(0)->key_null, WP_KEY_NULL_ALLOW);
	CHECK_EQ(outbox(0)->envelope, WP_ENVELOPE_RAW);
	CHECK_TEXT(outbox(1)->table, "sales.bills");
	CHECK_TEXT(outbox(1)->headers_standard, "type");
	CHECK_EQ(outbox(1)->envelope, WP_ENVELOPE_PROTOBUF);
}

static void the_plain_one_is_one_of_several_when_it_names_its_source(void **state)
{
	load_file("[outbox]\ntable = a\n[outbox.other]\nmessage.prefix = event\n");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.outboxes.count, 2);
	CHECK_TEXT(outbox(0)->table, "a");
	CHECK_TEXT(outbox(1)->table, "");
	CHECK_TEXT(outbox(1)->message_prefix, "event");
}

static void table_leaves_and_prefix_are_not_inherited(void **state)
{
	load_file("[outbox]\ntable = a\nleaves = a_*\nmessage.prefix = event\n"
		  "[outbox.other]\nheaders = x\n");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(outbox(1)->table, "");
	CHECK_TEXT(outbox(1)->leaves, "");
	CHECK_TEXT(outbox(1)->message_prefix, "");
}

static void environment_and_command_line_name_them_too(void **state)
{
	char *environment[] = { "WALPOST__OUTBOX__ORDERS_EU__TABLE=eu.orders",
				"WALPOST__OUTBOX__ORDERS_EU__COLUMN_ID=event", NULL };

	load_all("[outbox.orders_eu]\ntable = old\n", environment,
		 "outbox.orders_eu.column.key=customer");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.outboxes.count, 1);
	CHECK_TEXT(outbox(0)->table, "eu.orders");
	CHECK_TEXT(outbox(0)->column_id, "event");
	CHECK_TEXT(outbox(0)->column_key, "customer");
	CHECK_TEXT(wp_config_where(&got.config, "outbox.orders_eu.column.key"), "--set");
	CHECK_TEXT(wp_config_where(&got.config, "outbox.orders_eu.column.type"), "default");
}

static void what_each_sets_is_shown(void **state)
{
	load_set("outbox.orders.table=sales.orders");
	char *text = shown();
	CHECK_HAS(text, "\noutbox.orders.table = sales.orders    (--set)\n");
	CHECK(strstr(text, "outbox.orders.column") == NULL);
	free(text);
}

static void wrong_file(const char *text, const char *said)
{
	load_file(text);
	one_error(said);
}

static void a_name_is_no_word_of_a_key_and_has_no_odd_letters(void **state)
{
	static const char *const names[] = { "column", "headers", "key", "table", "A",	 "1a",
					     "a__b",   "a_",	  "a.b", "",	  "a-b", "on" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[64];
		(void)snprintf(text, sizeof(text), "[outbox.%s]\ntable = x\n", names[i]);
		wrong_file(text, "the name of an outbox consists of lower-case letters");
	}
}

static void what_is_one_for_all_stands_under_the_plain_one(void **state)
{
	wrong_file("[outbox.orders]\nignore = x\n",
		   ":2: outbox.orders.ignore: it applies to all outboxes: write it under [outbox]");
}

static void a_wrong_key_or_value_is_named_with_its_outbox(void **state)
{
	wrong_file("[outbox.orders]\ntabel = x\n", ":2: outbox.orders.tabel: there is no such");
	wrong_file("[outbox.orders]\nenvelope = paper\n",
		   ":2: outbox.orders.envelope = paper: it must be raw, protobuf");
}

static void there_are_1024_at_most(void **state)
{
	static char text[65536];
	size_t size = 0;

	for (int i = 0; i < WP_OUTBOXES_MAX; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size,
					 "[outbox.o%d]\ntable = t%d\n", i, i);
	load_file(text);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.outboxes.count, WP_OUTBOXES_MAX);
	(void)snprintf(text + size, sizeof(text) - size, "[outbox.more]\ntable = x\n");
	wrong_file(text, "outbox.more.table: there are more than 1024 outboxes");
}

static void wrong(const char *text, const char *said)
{
	check_file(text);
	one_error(said);
}

static void each_has_a_source_of_its_own(void **state)
{
	wrong(RIGHT "[outbox.a]\nheaders = x\n", "outbox.a.table is missing");
	wrong(RIGHT "[outbox]\ntable =\n", "outbox.table is missing");
	wrong(RIGHT "[outbox.a]\ntable = t\n[outbox.b]\ntable = public.T\n",
	      "outbox.a.table and outbox.b.table name the same table");
	wrong(RIGHT "[outbox.a]\nmessage.prefix = t\n[outbox.b]\nmessage.prefix = t\n",
	      "outbox.a.message.prefix and outbox.b.message.prefix are the same");
}

static void each_is_checked_by_its_own_values(void **state)
{
	wrong(RIGHT "[outbox.a]\ntable = t\ntopic.regex = (\n", ":7: outbox.a.topic.regex = \"(\"");
	wrong(RIGHT "[outbox.a]\ntable = a.b.c\n", ":6: outbox.a.table = a.b.c: ");
	wrong(RIGHT "[outbox.a]\ntable = t\nheaders.standard = x\n",
	      ":7: outbox.a.headers.standard = \"x\": allowed");
}

int main(void)
{
	return RUN(
		CLEAN(without_a_named_one_there_is_the_plain),
		CLEAN(a_named_one_inherits_what_it_does_not_set),
		CLEAN(the_plain_one_is_one_of_several_when_it_names_its_source),
		CLEAN(table_leaves_and_prefix_are_not_inherited),
		CLEAN(environment_and_command_line_name_them_too), CLEAN(what_each_sets_is_shown),
		CLEAN(a_name_is_no_word_of_a_key_and_has_no_odd_letters),
		CLEAN(what_is_one_for_all_stands_under_the_plain_one),
		CLEAN(a_wrong_key_or_value_is_named_with_its_outbox), CLEAN(there_are_1024_at_most),
		CLEAN(each_has_a_source_of_its_own), CLEAN(each_is_checked_by_its_own_values));
}

/* [outbox.NAME]: which outboxes there are, and what each has of whom. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "support/check.h"

static const struct wp_outbox_options *outbox(const struct fixture *f, size_t index)
{
	CHECK(index < f->config.outboxes.count);
	return &f->config.outboxes.items[index];
}

static void without_a_named_one_there_is_the_plain(void **state)
{
	struct fixture f;

	load_file(&f, "[outbox]\nheaders = tenant\n");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_EQ(f.config.outboxes.count, 1);
	CHECK_TEXT(outbox(&f, 0)->name, "");
	CHECK_TEXT(outbox(&f, 0)->table, "public.outbox");
	CHECK_TEXT(outbox(&f, 0)->headers, "tenant");
	fixture_release(&f);
}

static void a_named_one_inherits_what_it_does_not_set(void **state)
{
	struct fixture f;

	load_file(&f, "[outbox.orders]\ntable = sales.orders\nheaders.standard = id\n"
		      "[outbox]\nheaders = tenant\nkey.null = allow\nheaders.standard = type\n"
		      "[outbox.bills]\ntable = sales.bills\nenvelope = protobuf\n");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_EQ(f.config.outboxes.count, 2);
	CHECK_TEXT(outbox(&f, 0)->name, "orders");
	CHECK_TEXT(outbox(&f, 0)->table, "sales.orders");
	CHECK_TEXT(outbox(&f, 0)->headers, "tenant");
	CHECK_TEXT(outbox(&f, 0)->headers_standard, "id");
	CHECK_EQ(outbox(&f, 0)->key_null, WP_KEY_NULL_ALLOW);
	CHECK_EQ(outbox(&f, 0)->envelope, WP_ENVELOPE_RAW);
	CHECK_TEXT(outbox(&f, 1)->table, "sales.bills");
	CHECK_TEXT(outbox(&f, 1)->headers_standard, "type");
	CHECK_EQ(outbox(&f, 1)->envelope, WP_ENVELOPE_PROTOBUF);
	fixture_release(&f);
}

static void the_plain_one_is_one_of_several_when_it_names_its_source(void **state)
{
	struct fixture f;

	load_file(&f, "[outbox]\ntable = a\n[outbox.other]\nmessage.prefix = event\n");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_EQ(f.config.outboxes.count, 2);
	CHECK_TEXT(outbox(&f, 0)->table, "a");
	CHECK_TEXT(outbox(&f, 1)->table, "");
	CHECK_TEXT(outbox(&f, 1)->message_prefix, "event");
	fixture_release(&f);
}

static void table_leaves_and_prefix_are_not_inherited(void **state)
{
	struct fixture f;

	load_file(&f, "[outbox]\ntable = a\nleaves = a_*\nmessage.prefix = event\n"
		      "[outbox.other]\nheaders = x\n");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_TEXT(outbox(&f, 1)->table, "");
	CHECK_TEXT(outbox(&f, 1)->leaves, "");
	CHECK_TEXT(outbox(&f, 1)->message_prefix, "");
	fixture_release(&f);
}

static void environment_and_command_line_name_them_too(void **state)
{
	char *environment[] = { "WALPOST__OUTBOX__ORDERS_EU__TABLE=eu.orders",
				"WALPOST__OUTBOX__ORDERS_EU__COLUMN_ID=event", NULL };
	struct fixture f;

	load_all(&f, "[outbox.orders_eu]\ntable = old\n", environment,
		 "outbox.orders_eu.column.key=customer");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_EQ(f.config.outboxes.count, 1);
	CHECK_TEXT(outbox(&f, 0)->table, "eu.orders");
	CHECK_TEXT(outbox(&f, 0)->column_id, "event");
	CHECK_TEXT(outbox(&f, 0)->column_key, "customer");
	CHECK_TEXT(wp_config_where(&f.config, "outbox.orders_eu.column.key"), "--set");
	CHECK_TEXT(wp_config_where(&f.config, "outbox.orders_eu.column.type"), "default");
	fixture_release(&f);
}

static void what_each_sets_is_shown(void **state)
{
	struct fixture f;

	load_set(&f, "outbox.orders.table=sales.orders");
	char *text = shown(&f);
	CHECK_HAS(text, "\noutbox.orders.table = sales.orders    (--set)\n");
	CHECK(strstr(text, "outbox.orders.column") == NULL);
	free(text);
	fixture_release(&f);
}

static void wrong_file(const char *text, const char *said)
{
	struct fixture f;

	load_file(&f, text);
	one_error(&f, said);
	fixture_release(&f);
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

static void there_are_64_at_most(void **state)
{
	char text[8192];
	size_t size = 0;

	for (int i = 0; i < WP_OUTBOXES_MAX; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size,
					 "[outbox.o%d]\ntable = t%d\n", i, i);
	struct fixture f;
	load_file(&f, text);
	CHECK_EQ(f.rc, WP_OK);
	CHECK_EQ(f.config.outboxes.count, WP_OUTBOXES_MAX);
	fixture_release(&f);
	(void)snprintf(text + size, sizeof(text) - size, "[outbox.more]\ntable = x\n");
	wrong_file(text, "outbox.more.table: there are more than 64 outboxes");
}

static void wrong(const char *text, const char *said)
{
	struct fixture f;

	check_file(&f, text);
	one_error(&f, said);
	fixture_release(&f);
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
		PLAIN(without_a_named_one_there_is_the_plain),
		PLAIN(a_named_one_inherits_what_it_does_not_set),
		PLAIN(the_plain_one_is_one_of_several_when_it_names_its_source),
		PLAIN(table_leaves_and_prefix_are_not_inherited),
		PLAIN(environment_and_command_line_name_them_too), PLAIN(what_each_sets_is_shown),
		PLAIN(a_name_is_no_word_of_a_key_and_has_no_odd_letters),
		PLAIN(what_is_one_for_all_stands_under_the_plain_one),
		PLAIN(a_wrong_key_or_value_is_named_with_its_outbox), PLAIN(there_are_64_at_most),
		PLAIN(each_has_a_source_of_its_own), PLAIN(each_is_checked_by_its_own_values));
}

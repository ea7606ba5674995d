#include "support/check.h"

#include <stdio.h>
#include <string.h>

#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_preflight/slot.h"

static PGconn *pg; /* never connects; quoting needs none */
static struct wp_buffer buffer;
static struct wp_sql sql;
static struct wp_error error;

static int tear_down(void **state)
{
	wp_buffer_release(&buffer);
	PQfinish(pg);
	pg = NULL;
	return 0;
}

static void begin(size_t size_max)
{
	(void)tear_down(NULL);
	pg = PQconnectStart("hostaddr=none");
	wp_buffer_init(&buffer, size_max);
	wp_sql_init(&sql, pg, &buffer);
}

static int set_up(void **state)
{
	begin(1000);
	return 0;
}

static const char *text_of_sql(void)
{
	CHECK_EQ(wp_sql_end(&sql, &error), WP_OK);
	return (const char *)buffer.data;
}

static void names_and_values_are_quoted(void **state)
{
	wp_sql_add(&sql, "A %I.%I = %L, %s 100%%", "Sch\"ema", "tä.ble", "it's", "raw");
	CHECK_TEXT(text_of_sql(), "A \"Sch\"\"ema\".\"tä.ble\" = 'it''s', raw 100%");
}

static void no_name_ends_a_comment(void **state)
{
	wp_sql_add(&sql, "-- set x = %C", "a\nDROP TABLE b;\r\tä");
	CHECK_TEXT(text_of_sql(), "-- set x = a DROP TABLE b;  ä");
}

static void a_backslash_makes_an_escape_string_without_a_leading_blank(void **state)
{
	wp_sql_add(&sql, "(%L)", "a\\b");
	CHECK_TEXT(text_of_sql(), "(E'a\\\\b')");
}

static void text_up_to_the_limit_fits(void **state)
{
	begin(4); /* with its NUL */
	wp_sql_add(&sql, "abc");
	CHECK_TEXT(text_of_sql(), "abc");
	begin(4);
	wp_sql_add(&sql, "abcd");
	CHECK_EQ(wp_sql_end(&sql, &error), WP_FULL);
	CHECK_HAS(error.text, "longer than 4 bytes");
}

static void a_name_that_cannot_be_quoted_is_named(void **state)
{
	PQfinish(pg);
	pg = sql.pg = NULL; /* libpq quotes nothing without one */
	wp_sql_add(&sql, "%I", "name");
	CHECK_EQ(wp_sql_end(&sql, &error), WP_CONFIG);
	CHECK_HAS(error.text, "\"name\" cannot be quoted");
}

static void the_first_error_stays(void **state)
{
	begin(4);
	wp_sql_add(&sql, "abcdefgh");
	wp_sql_add(&sql, "x");
	CHECK_EQ(wp_sql_end(&sql, &error), WP_FULL);
}

static void a_slot_is_made_for_failover_where_the_server_can(void **state)
{
	CHECK_EQ(wp_slot_failover(169999), WP_SLOT_LOCAL);
	CHECK_EQ(wp_slot_failover(170000), WP_SLOT_FAILOVER);
	wp_slot_create_sql(&sql, "s", WP_SLOT_LOCAL);
	wp_slot_create_sql(&sql, "s", WP_SLOT_FAILOVER);
	const char *text = text_of_sql();
	CHECK_HAS(text, "('s', 'pgoutput');");
	CHECK_HAS(text, "('s', 'pgoutput', false, false, true);");
}

static void slot_names_are_those_the_server_takes(void **state)
{
	char name[65];
	memset(name, 'a', 64);
	name[64] = '\0';
	CHECK_EQ(wp_slot_name_check(name, &error), WP_CONFIG);
	CHECK_HAS(error.text, "1 to 63");
	name[63] = '\0';
	CHECK_EQ(wp_slot_name_check(name, &error), WP_OK);
	CHECK_EQ(wp_slot_name_check("a_1", &error), WP_OK);
	CHECK_EQ(wp_slot_name_check("", &error), WP_CONFIG);
	CHECK_EQ(wp_slot_name_check("A", &error), WP_CONFIG);
	CHECK_EQ(wp_slot_name_check("a-b", &error), WP_CONFIG);
}

static void the_outbox_is_made_from_the_wanted_columns(void **state)
{
	static const char *const columns[] = { "id", "Pay\"load" };
	static const char *const definitions[] = { "uuid PRIMARY KEY", "jsonb" };
	struct wp_requirements_table table = {
		.schema = "s",
		.name = "t",
		.columns = columns,
		.definitions = definitions,
		.column_count = 2,
	};
	wp_outbox_create_sql(&sql, &table);
	CHECK_TEXT(text_of_sql(), "CREATE TABLE IF NOT EXISTS \"s\".\"t\" (\n"
				  "  \"id\" uuid PRIMARY KEY,\n"
				  "  \"Pay\"\"load\" jsonb,\n"
				  "  \"created_at\" timestamptz NOT NULL DEFAULT "
				  "clock_timestamp()\n);\n");
}

static void a_wanted_time_of_the_insert_is_not_made_twice(void **state)
{
	static const char *const columns[] = { "id", "created_at" };
	static const char *const definitions[] = { "uuid PRIMARY KEY", "timestamp" };
	struct wp_requirements_table table = {
		.schema = "s",
		.name = "t",
		.columns = columns,
		.definitions = definitions,
		.column_count = 2,
	};
	wp_outbox_create_sql(&sql, &table);
	CHECK_TEXT(text_of_sql(), "CREATE TABLE IF NOT EXISTS \"s\".\"t\" (\n"
				  "  \"id\" uuid PRIMARY KEY,\n"
				  "  \"created_at\" timestamp\n);\n");
}

static void the_publication_has_the_inserts_of_the_outbox_alone(void **state)
{
	struct wp_requirements_table table = { .schema = "s", .name = "t" };
	struct wp_requirements wanted = { .tables = &table, .count = 1, .ignore = "" };
	wp_publication_create_sql(&sql, "P", &wanted);
	CHECK_TEXT(text_of_sql(),
		   "CREATE PUBLICATION \"P\" FOR TABLE ONLY \"s\".\"t\"\n"
		   "  WITH (publish = 'insert', publish_via_partition_root = true);\n");
}

int main(void)
{
	return RUN(TEST(names_and_values_are_quoted), TEST(no_name_ends_a_comment),
		   TEST(a_backslash_makes_an_escape_string_without_a_leading_blank),
		   TEST(text_up_to_the_limit_fits), TEST(a_name_that_cannot_be_quoted_is_named),
		   TEST(the_first_error_stays),
		   TEST(a_slot_is_made_for_failover_where_the_server_can),
		   TEST(slot_names_are_those_the_server_takes),
		   TEST(the_outbox_is_made_from_the_wanted_columns),
		   TEST(a_wanted_time_of_the_insert_is_not_made_twice),
		   TEST(the_publication_has_the_inserts_of_the_outbox_alone));
}

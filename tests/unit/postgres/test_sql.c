#include "support/check.h"

#include <stdio.h>
#include <string.h>

#include "walpost/postgres/publication.h"
#include "walpost/postgres/slot.h"

struct fixture {
	PGconn *pg; /* never connects; quoting needs none */
	struct wp_buffer text;
	struct wp_sql sql;
	struct wp_error error;
};

static void begin(struct fixture *f, size_t size_max)
{
	*f = (struct fixture){ .pg = PQconnectStart("hostaddr=none") };
	wp_buffer_init(&f->text, size_max);
	wp_sql_init(&f->sql, f->pg, &f->text);
}

static void end(struct fixture *f)
{
	wp_buffer_release(&f->text);
	PQfinish(f->pg);
}

static const char *text_of(struct fixture *f)
{
	CHECK_EQ(wp_sql_end(&f->sql, &f->error), WP_OK);
	return (const char *)f->text.data;
}

static void names_and_values_are_quoted(void **state)
{
	struct fixture f;
	begin(&f, 1000);
	wp_sql_add(&f.sql, "A %I.%I = %L, %s 100%%", "Sch\"ema", "tä.ble", "it's", "raw");
	CHECK_TEXT(text_of(&f), "A \"Sch\"\"ema\".\"tä.ble\" = 'it''s', raw 100%");
	end(&f);
}

static void no_name_ends_a_comment(void **state)
{
	struct fixture f;
	begin(&f, 1000);
	wp_sql_add(&f.sql, "-- set x = %C", "a\nDROP TABLE b;\r\tä");
	CHECK_TEXT(text_of(&f), "-- set x = a DROP TABLE b;  ä");
	end(&f);
}

static void a_backslash_makes_an_escape_string_without_a_leading_blank(void **state)
{
	struct fixture f;
	begin(&f, 1000);
	wp_sql_add(&f.sql, "(%L)", "a\\b");
	CHECK_TEXT(text_of(&f), "(E'a\\\\b')");
	end(&f);
}

static void text_up_to_the_limit_fits(void **state)
{
	struct fixture f;
	begin(&f, 4); /* with its NUL */
	wp_sql_add(&f.sql, "abc");
	CHECK_TEXT(text_of(&f), "abc");
	end(&f);
	begin(&f, 4);
	wp_sql_add(&f.sql, "abcd");
	CHECK_EQ(wp_sql_end(&f.sql, &f.error), WP_FULL);
	CHECK_HAS(f.error.text, "longer than 4 bytes");
	end(&f);
}

static void a_name_that_cannot_be_quoted_is_named(void **state)
{
	struct fixture f;
	begin(&f, 1000);
	PQfinish(f.pg);
	f.pg = f.sql.pg = NULL; /* libpq quotes nothing without one */
	wp_sql_add(&f.sql, "%I", "name");
	CHECK_EQ(wp_sql_end(&f.sql, &f.error), WP_CONFIG);
	CHECK_HAS(f.error.text, "\"name\" cannot be quoted");
	end(&f);
}

static void the_first_error_stays(void **state)
{
	struct fixture f;
	begin(&f, 4);
	wp_sql_add(&f.sql, "abcdefgh");
	wp_sql_add(&f.sql, "x");
	CHECK_EQ(wp_sql_end(&f.sql, &f.error), WP_FULL);
	end(&f);
}

static void a_slot_is_made_for_failover_where_the_server_can(void **state)
{
	struct fixture f;
	CHECK_EQ(wp_slot_failover(169999), WP_SLOT_LOCAL);
	CHECK_EQ(wp_slot_failover(170000), WP_SLOT_FAILOVER);
	begin(&f, 1000);
	wp_slot_create_sql(&f.sql, "s", WP_SLOT_LOCAL);
	wp_slot_create_sql(&f.sql, "s", WP_SLOT_FAILOVER);
	const char *text = text_of(&f);
	CHECK_HAS(text, "('s', 'pgoutput');");
	CHECK_HAS(text, "('s', 'pgoutput', false, false, true);");
	end(&f);
}

static void slot_names_are_those_the_server_takes(void **state)
{
	struct wp_error error;
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
	struct fixture f;
	static const char *const columns[] = { "id", "Pay\"load" };
	static const char *const definitions[] = { "uuid PRIMARY KEY", "jsonb" };
	struct wp_requirements_table table = {
		.schema = "s",
		.name = "t",
		.columns = columns,
		.definitions = definitions,
		.column_count = 2,
	};
	begin(&f, 1000);
	wp_outbox_create_sql(&f.sql, &table);
	CHECK_TEXT(text_of(&f), "CREATE TABLE IF NOT EXISTS \"s\".\"t\" (\n"
				"  \"id\" uuid PRIMARY KEY,\n"
				"  \"Pay\"\"load\" jsonb\n);\n");
	end(&f);
}

static void the_publication_has_the_inserts_of_the_outbox_alone(void **state)
{
	struct fixture f;
	struct wp_requirements_table table = { .schema = "s", .name = "t" };
	struct wp_requirements wanted = { .tables = &table, .count = 1, .ignore = "" };
	begin(&f, 1000);
	wp_publication_create_sql(&f.sql, "P", &wanted);
	CHECK_TEXT(text_of(&f),
		   "CREATE PUBLICATION \"P\" FOR TABLE ONLY \"s\".\"t\"\n"
		   "  WITH (publish = 'insert', publish_via_partition_root = true);\n");
	end(&f);
}

static void the_checkpoint_table_is_the_one_of_the_file(void **state)
{
	char text[4096];
	FILE *file = fopen(WALPOST_SOURCE "/sql/slot_checkpoint.sql", "r");
	assert_non_null(file);
	size_t size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';
	(void)fclose(file); /* only read */
	CHECK_TEXT(wp_checkpoint_sql, text);
}

int main(void)
{
	return RUN(PLAIN(names_and_values_are_quoted), PLAIN(no_name_ends_a_comment),
		   PLAIN(a_backslash_makes_an_escape_string_without_a_leading_blank),
		   PLAIN(text_up_to_the_limit_fits), PLAIN(a_name_that_cannot_be_quoted_is_named),
		   PLAIN(the_first_error_stays),
		   PLAIN(a_slot_is_made_for_failover_where_the_server_can),
		   PLAIN(slot_names_are_those_the_server_takes),
		   PLAIN(the_outbox_is_made_from_the_wanted_columns),
		   PLAIN(the_publication_has_the_inserts_of_the_outbox_alone),
		   PLAIN(the_checkpoint_table_is_the_one_of_the_file));
}

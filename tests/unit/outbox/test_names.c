#include <stdio.h>
#include <string.h>

#include "support/memory.h"
#include "support/check.h"
#include "walpost/outbox/names.h"

static struct wp_error error;

static struct wp_table_name parsed(const char *text)
{
	struct wp_table_name name;

	CHECK_EQ(wp_table_name_parse(text, &name, &error), WP_OK);
	return name;
}

static void check_name(const char *text, const char *schema, const char *name)
{
	struct wp_table_name got = parsed(text);

	CHECK_TEXT(got.schema, schema);
	CHECK_TEXT(got.name, name);
}

static void refused(const char *text, const char *reason)
{
	struct wp_table_name name;

	error.text[0] = '\0';
	CHECK_EQ(wp_table_name_parse(text, &name, &error), WP_CONFIG);
	CHECK_HAS(error.text, "is not a table name");
	CHECK_HAS(error.text, reason);
	CHECK_HAS(error.text, "allowed is table or schema.table");
	CHECK_EQ(wp_table_name_parse(text, &name, NULL), WP_CONFIG);
}

static void check_text(const char *schema, const char *name, const char *text)
{
	struct wp_table_name table;
	char got[WP_TABLE_NAME_TEXT_SIZE];

	(void)snprintf(table.schema, sizeof(table.schema), "%s", schema);
	(void)snprintf(table.name, sizeof(table.name), "%s", name);
	CHECK_TEXT(wp_table_name_text(&table, got, sizeof(got)), text);
}

static struct wp_patterns *patterns_of(const char *list)
{
	struct wp_patterns *p = NULL;

	CHECK_EQ(wp_patterns_new(list, &p, &error), WP_OK);
	return p;
}

static void check_match(const char *list, const char *schema, const char *name, bool wanted)
{
	struct wp_patterns *p = patterns_of(list);

	CHECK_EQ(wp_patterns_match(p, wp_span_of(schema), wp_span_of(name)), wanted);
	wp_patterns_free(p);
}

static void patterns_refused(const char *list, const char *reason)
{
	struct wp_patterns *p = NULL;

	error.text[0] = '\0';
	CHECK_EQ(wp_patterns_new(list, &p, &error), WP_CONFIG);
	CHECK(p == NULL);
	CHECK_HAS(error.text, "is not a list of table patterns");
	CHECK_HAS(error.text, reason);
	CHECK_HAS(error.text, "allowed is a comma-separated list");
}

static void without_a_schema_it_is_public(void **state)
{
	check_name("outbox", "public", "outbox");
	check_name("app.outbox", "app", "outbox");
}

static void an_unquoted_part_is_folded_and_a_quoted_one_is_not(void **state)
{
	check_name("App.OutBox", "app", "outbox");
	check_name("\"App\".OutBox", "App", "outbox");
	check_name("App.\"OutBox\"", "app", "OutBox");
	check_name("caf\xC3\x89", "public", "caf\xC3\x89"); /* as PostgreSQL: ASCII only */
}

static void quotes_protect_dots_quotes_and_spaces(void **state)
{
	check_name("\"my.app\".\"out \"\"box\"\" \"", "my.app", "out \"box\" ");
	check_name("\"\"\"\"", "public", "\"");
}

static void spaces_around_parts_do_not_count(void **state)
{
	check_name("  app . outbox\t", "app", "outbox");
}

static void what_sql_would_not_take_is_refused(void **state)
{
	refused("", "a part is empty");
	refused("  ", "a part is empty");
	refused(".outbox", "a part is empty");
	refused("app.", "a part is empty");
	refused("\"\"", "a part is empty");
	refused("db.app.outbox", "more than two parts");
	refused("\"outbox", "a double quote is not closed");
	refused("app.\"outbox\"\"", "a double quote is not closed");
	refused("1outbox", "starts with a digit");
	refused("$outbox", "starts with a digit");
	refused("out-box", "requires quotes");
	refused("-outbox", "requires quotes");
	refused("out box", "requires quotes");
	refused("outbox,", "requires quotes");
	refused("outbox_*", "requires quotes");
	refused("\"out\"box", "text follows its end");
}

static void a_part_of_255_bytes_is_taken_and_one_more_is_refused(void **state)
{
	char text[WP_NAME_SIZE + 1];

	memset(text, 'x', sizeof(text));
	text[WP_NAME_SIZE - 2] = '\0';
	check_name(text, "public", text);
	text[WP_NAME_SIZE - 2] = 'x';
	text[WP_NAME_SIZE - 1] = '\0';
	check_name(text, "public", text);
	text[WP_NAME_SIZE - 1] = 'x';
	text[WP_NAME_SIZE] = '\0';
	refused(text, "longer than 255 bytes");
}

static void a_name_is_quoted_where_sql_needs_it_and_only_there(void **state)
{
	check_text("public", "outbox", "public.outbox");
	check_text("public", "out_box$1", "public.out_box$1");
	check_text("public", "OutBox", "public.\"OutBox\"");
	check_text("my.app", "say \"hi\"", "\"my.app\".\"say \"\"hi\"\"\"");
	check_text("1st", "$x", "\"1st\".\"$x\"");
	check_text("app", "caf\xC3\xA9", "app.caf\xC3\xA9");
}

static void a_keyword_is_quoted_as_a_schema_and_free_behind_the_dot(void **state)
{
	check_text("user", "order", "\"user\".order");
	check_text("order", "x", "\"order\".x");
	check_text("with", "x", "\"with\".x");
	check_text("all", "x", "\"all\".x");
	check_text("users", "x", "users.x");
	check_text("current_timestamp_of_the_application", "x",
		   "current_timestamp_of_the_application.x");
}

static void the_longest_text_fits_and_a_small_room_cuts_it(void **state)
{
	struct wp_table_name name;
	char text[WP_TABLE_NAME_TEXT_SIZE];

	memset(name.schema, '"', sizeof(name.schema) - 1);
	name.schema[sizeof(name.schema) - 1] = '\0';
	memcpy(name.name, name.schema, sizeof(name.name));
	CHECK_EQ(strlen(wp_table_name_text(&name, text, sizeof(text))), 2 * (2 * 255 + 2) + 1);
	CHECK(parsed(text).name[254] == '"');
	CHECK_TEXT(wp_table_name_text(&(struct wp_table_name){ "public", "outbox" }, text, 10),
		   "public.ou");
	CHECK_TEXT(wp_table_name_text(&(struct wp_table_name){ "public", "outbox" }, text, 1), "");
}

static void a_table_with_an_unquoted_star_is_a_pattern(void **state)
{
	CHECK(wp_table_is_pattern("tenant_*.outbox"));
	CHECK(wp_table_is_pattern("\"Ten\"*.outbox"));
	CHECK(!wp_table_is_pattern("tenant.outbox"));
	CHECK(!wp_table_is_pattern("\"tenant_*\".outbox"));
	CHECK(!wp_table_is_pattern(""));
}

static void check_like(const char *text, const char *schema, const char *name)
{
	struct wp_table_name like;

	CHECK_EQ(wp_table_pattern_parse(text, &like, NULL), WP_OK);
	CHECK_TEXT(like.schema, schema);
	CHECK_TEXT(like.name, name);
}

static void a_pattern_is_sqls_like(void **state)
{
	check_like("tenant_*.outbox", "tenant\\_%", "outbox");
	check_like("outbox*", "public", "outbox%");
	check_like("\"50%\"*.\"a\\b\"", "50\\%%", "a\\\\b");
	check_like("*", "%", "%");
}

static void what_is_not_one_pattern_is_refused(void **state)
{
	static char wide[300];
	struct wp_table_name like;

	CHECK_EQ(wp_table_pattern_parse("a*.b, c*.d", &like, &error), WP_CONFIG);
	CHECK_HAS(error.text, "not one pattern");
	CHECK_EQ(wp_table_pattern_parse("a*.b.c", &like, &error), WP_CONFIG);
	memset(wide, '_', sizeof(wide) - 1);
	memcpy(wide + 200, "*", 2);
	CHECK_EQ(wp_table_pattern_parse(wide, &like, &error), WP_CONFIG);
	CHECK_HAS(error.text, "too long");
}

static void the_empty_list_matches_nothing(void **state)
{
	check_match("", "public", "outbox", false);
	check_match("  ", "public", "outbox", false);
}

static void a_pattern_without_a_star_is_a_name(void **state)
{
	check_match("outbox", "public", "outbox", true);
	check_match("Outbox", "public", "outbox", true);
	check_match("\"Outbox\"", "public", "outbox", false);
	check_match("outbox", "app", "outbox", false);
	check_match("outbox", "public", "outbox2", false);
	check_match("outbox", "public", "outbo", false);
}

static void a_star_stands_for_any_run_of_its_part(void **state)
{
	check_match("outbox_*", "public", "outbox_2024", true);
	check_match("outbox_*", "public", "outbox_", true);
	check_match("outbox_*", "public", "outbox", false);
	check_match("outbox_*", "app", "outbox_1", false);
	check_match("app*.*_outbox", "app1", "order_outbox", true);
	check_match("app*.*_outbox", "app1", "order_outbox_", false);
	check_match("a*b*c", "public", "abcbc", true);
	check_match("a*b*c", "public", "abcb", false);
	check_match("a**c", "public", "ac", true);
	check_match("*2024", "public", "outbox_2024", true);
}

static void a_single_star_matches_every_table(void **state)
{
	check_match("*", "public", "outbox", true);
	check_match("*", "app", "x", true);
	check_match("*.*", "app", "x", true);
	check_match("*.outbox", "app", "outbox", true);
	check_match("*.outbox", "app", "x", false);
}

static void a_quoted_star_is_a_star(void **state)
{
	check_match("\"out*\"", "public", "out*", true);
	check_match("\"out*\"", "public", "outbox", false);
	check_match("\"*\"", "public", "x", false);
	check_match("\"Out.\"*", "public", "Out.box", true);
	check_match("\"Out.\"*", "public", "outbox", false);
	check_match("*\"Box\"", "public", "OutBox", true);
}

static void one_of_a_list_is_enough(void **state)
{
	check_match("a, app.b ,\"c,d\"", "public", "a", true);
	check_match("a, app.b ,\"c,d\"", "app", "b", true);
	check_match("a, app.b ,\"c,d\"", "public", "c,d", true);
	check_match("a, app.b ,\"c,d\"", "public", "b", false);
}

static void what_is_no_list_is_refused(void **state)
{
	patterns_refused("a,,b", "a part is empty");
	patterns_refused("a,", "a part is empty");
	patterns_refused(",", "a part is empty");
	patterns_refused("a.b.c", "more than two parts");
	patterns_refused("a b", "requires quotes");
	patterns_refused("a-*", "requires quotes");
	patterns_refused("a, \"b", "a double quote is not closed");
}

static void a_list_holds_256_patterns_and_not_one_more(void **state)
{
	char list[2 * WP_PATTERNS_MAX + 2];

	for (size_t i = 0; i <= WP_PATTERNS_MAX; i++)
		memcpy(list + 2 * i, "a,", 2);
	list[2 * WP_PATTERNS_MAX + 1] = '\0';
	patterns_refused(list, "more than 256 patterns");
	list[2 * WP_PATTERNS_MAX - 1] = '\0';
	check_match(list, "public", "a", true);
	list[2 * WP_PATTERNS_MAX - 3] = '\0';
	check_match(list, "public", "a", true);
}

static void a_pattern_of_many_stars_ends_soon(void **state)
{
	char name[256];

	memset(name, 'a', sizeof(name));
	name[255] = '\0';
	check_match("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "public", name, false);
}

static void out_of_memory_is_said(void **state)
{
	struct wp_patterns *p = NULL;

	memory_fails_after(0);
	CHECK_EQ(wp_patterns_new("a", &p, &error), WP_NOMEM);
	memory_works();
	CHECK(p == NULL);
	wp_patterns_free(p);
}

int main(void)
{
	return RUN(PLAIN(without_a_schema_it_is_public),
		   PLAIN(an_unquoted_part_is_folded_and_a_quoted_one_is_not),
		   PLAIN(quotes_protect_dots_quotes_and_spaces),
		   PLAIN(spaces_around_parts_do_not_count),
		   PLAIN(what_sql_would_not_take_is_refused),
		   PLAIN(a_part_of_255_bytes_is_taken_and_one_more_is_refused),
		   PLAIN(a_name_is_quoted_where_sql_needs_it_and_only_there),
		   PLAIN(a_keyword_is_quoted_as_a_schema_and_free_behind_the_dot),
		   PLAIN(the_longest_text_fits_and_a_small_room_cuts_it),
		   PLAIN(a_table_with_an_unquoted_star_is_a_pattern), PLAIN(a_pattern_is_sqls_like),
		   PLAIN(what_is_not_one_pattern_is_refused), PLAIN(the_empty_list_matches_nothing),
		   PLAIN(a_pattern_without_a_star_is_a_name),
		   PLAIN(a_star_stands_for_any_run_of_its_part),
		   PLAIN(a_single_star_matches_every_table), PLAIN(a_quoted_star_is_a_star),
		   PLAIN(one_of_a_list_is_enough), PLAIN(what_is_no_list_is_refused),
		   PLAIN(a_list_holds_256_patterns_and_not_one_more),
		   PLAIN(a_pattern_of_many_stars_ends_soon), PLAIN(out_of_memory_is_said));
}

/* Names, patterns and lists against the simplest thing that could be right. Seeded. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/base/backoff.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/names.h"

#define ROUNDS 20000

static uint64_t seed = 4711;

static size_t random_below(size_t bound)
{
	return (size_t)(wp_random_next(&seed) % bound);
}

/* `size` counts the NUL; never empty. */
static void random_text(char *text, size_t size, const char *alphabet)
{
	size_t length = 1 + random_below(size - 1);

	for (size_t i = 0; i < length; i++)
		text[i] = alphabet[random_below(strlen(alphabet))];
	text[length] = '\0';
}

static void a_name_comes_back_from_its_text(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct wp_table_name name;
		struct wp_table_name again;
		char text[WP_TABLE_NAME_TEXT_SIZE];
		random_text(name.schema, 8, "ab1_$.\" ,*A\xC3\xA9-");
		random_text(name.name, 8, "ab1_$.\" ,*A\xC3\xA9-");
		(void)wp_table_name_text(&name, text, sizeof(text));
		CHECK_EQ(wp_table_name_parse(text, &again, NULL), WP_OK);
		CHECK_TEXT(again.schema, name.schema);
		CHECK_TEXT(again.name, name.name);
	}
}

static void the_text_of_a_name_is_a_pattern_that_matches_it(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct wp_table_name name;
		struct wp_patterns *p = NULL;
		char text[WP_TABLE_NAME_TEXT_SIZE];
		random_text(name.schema, 6, "ab1.\" ,*A");
		random_text(name.name, 6, "ab1.\" ,*A");
		(void)wp_table_name_text(&name, text, sizeof(text));
		CHECK_EQ(wp_patterns_new(text, &p, NULL), WP_OK);
		CHECK(wp_patterns_match(p, wp_span_of(name.schema), wp_span_of(name.name)));
		wp_patterns_free(p);
	}
}

static bool naive_match(const char *pattern, const char *text)
{
	if (*pattern == '\0')
		return *text == '\0';
	if (*pattern == '*')
		return naive_match(pattern + 1, text) ||
		       (*text != '\0' && naive_match(pattern, text + 1));
	return *pattern == *text && naive_match(pattern + 1, text + 1);
}

static void a_pattern_matches_what_the_naive_one_does(void **state)
{
	int matched = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char pattern[8];
		char text[10];
		char list[16];
		struct wp_patterns *p = NULL;
		random_text(pattern, sizeof(pattern), "ab*");
		random_text(text, sizeof(text), "ab");
		(void)snprintf(list, sizeof(list), "x.%s", pattern);
		CHECK_EQ(wp_patterns_new(list, &p, NULL), WP_OK);
		bool got = wp_patterns_match(p, wp_span_of("x"), wp_span_of(text));
		CHECK_EQ(got, naive_match(pattern, text));
		matched += got;
		wp_patterns_free(p);
	}
	CHECK(matched > ROUNDS / 20);
}

static size_t quote(char *to, const char *name)
{
	size_t size = 0;

	to[size++] = '"';
	for (; *name != '\0'; name++) {
		if (*name == '"')
			to[size++] = '"';
		to[size++] = *name;
	}
	to[size++] = '"';
	to[size] = '\0';
	return size;
}

static void a_quoted_list_of_columns_comes_back(void **state)
{
	static struct wp_column_list columns;

	for (int i = 0; i < ROUNDS / 10; i++) {
		char names[6][8];
		char list[256];
		size_t size = 0;
		for (size_t n = 0; n < 6; n++) {
			random_text(names[n], sizeof(names[n]), "a:,\" b*");
			size += quote(list + size, names[n]);
			list[size++] = n % 2 == 0 ? ':' : ',';
		}
		list[size - 1] = '\0';
		CHECK_EQ(wp_column_list_parse(list, "outbox.headers", &columns, NULL), WP_OK);
		CHECK_EQ(columns.count, 3);
		for (size_t n = 0; n < 3; n++) {
			CHECK_TEXT(columns.items[n].column, names[2 * n]);
			CHECK_TEXT(columns.items[n].name, names[2 * n + 1]);
		}
	}
}

static void garbage_is_taken_or_refused_and_nothing_else(void **state)
{
	static struct wp_column_list columns;
	int taken = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char text[12];
		struct wp_table_name name;
		struct wp_patterns *p = NULL;
		random_text(text, sizeof(text), "aB1.\",:* \t$-\xFF");
		enum wp_rc of_name = wp_table_name_parse(text, &name, NULL);
		enum wp_rc of_patterns = wp_patterns_new(text, &p, NULL);
		enum wp_rc of_columns =
			wp_column_list_parse(text, "outbox.headers", &columns, NULL);
		CHECK(of_name == WP_OK || of_name == WP_CONFIG);
		CHECK(of_patterns == WP_OK || of_patterns == WP_CONFIG);
		CHECK(of_columns == WP_OK || of_columns == WP_CONFIG);
		/* What is a name is a pattern too. */
		CHECK(of_name != WP_OK || of_patterns == WP_OK);
		if (of_name == WP_OK) {
			CHECK(wp_patterns_match(p, wp_span_of(name.schema), wp_span_of(name.name)));
			taken++;
		}
		wp_patterns_free(p);
	}
	CHECK(taken > 100);
}

int main(void)
{
	return RUN(PLAIN(a_name_comes_back_from_its_text),
		   PLAIN(the_text_of_a_name_is_a_pattern_that_matches_it),
		   PLAIN(a_pattern_matches_what_the_naive_one_does),
		   PLAIN(a_quoted_list_of_columns_comes_back),
		   PLAIN(garbage_is_taken_or_refused_and_nothing_else));
}

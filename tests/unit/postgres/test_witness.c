#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/postgres/witness.h"

/* An answer as the server would give it. NULL values end the row early. */
static PGresult *answer(int columns, int rows, const char *const *values)
{
	static char names[8][8] = { "a", "b", "c", "d", "e", "f" };
	PGresAttDesc descriptions[8] = { { 0 } };
	for (int i = 0; i < columns; i++)
		descriptions[i].name = names[i];
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	CHECK(result);
	CHECK(PQsetResultAttrs(result, columns, descriptions));
	for (int row = 0; row < rows; row++)
		for (int i = 0; i < columns; i++) {
			char value[256];
			(void)snprintf(value, sizeof(value), "%s", values[i]);
			CHECK(PQsetvalue(result, row, i, value, (int)strlen(value)));
		}
	return result;
}

static void check_row(const char *const values[5], enum wp_rc rc)
{
	struct wp_source_facts facts = { 0 };
	struct wp_why why = { "" };
	PGresult *result = answer(5, 1, values);
	CHECK_EQ(wp_witness_read(result, &facts, &why), rc);
	CHECK_EQ(facts.witness_readable, rc == WP_OK);
	CHECK_EQ(*why.text != '\0', rc != WP_OK);
	PQclear(result);
}

static void check_read(const char *owner, const char *system_id, const char *epoch, enum wp_rc rc)
{
	const char *const values[] = { owner, system_id, epoch, "0/1", "1" };

	check_row(values, rc);
}

static void a_row_tells_owner_system_epoch_and_timeline(void **state)
{
	(void)state;
	static const char *const values[] = { "relay on a", "18446744073709551615", "65535",
					      "16/B374D848", "4294967295" };
	struct wp_source_facts facts = { 0 };
	PGresult *result = answer(5, 1, values);
	CHECK_EQ(wp_witness_read(result, &facts, NULL), WP_OK);
	CHECK(facts.witness_readable);
	CHECK_TEXT(facts.witness_owner, "relay on a");
	CHECK_EQ(facts.witness_system_id, UINT64_MAX);
	CHECK_EQ(facts.witness_epoch, 65535);
	CHECK_EQ(facts.witness_taken_at, 0x16B374D848);
	CHECK_EQ(facts.witness_timeline, UINT32_MAX);
	PQclear(result);
}

static void no_row_means_no_owner(void **state)
{
	(void)state;
	struct wp_source_facts facts = { .witness_owner = "old", .witness_epoch = 3 };
	PGresult *result = answer(5, 0, NULL);
	CHECK_EQ(wp_witness_read(result, &facts, NULL), WP_OK);
	CHECK(facts.witness_readable);
	CHECK_TEXT(facts.witness_owner, "");
	CHECK_EQ(facts.witness_epoch, 0);
	PQclear(result);
}

static void a_longer_owner_is_cut_and_stays_a_stranger(void **state)
{
	(void)state;
	char owner[100];
	memset(owner, 'x', sizeof(owner) - 1);
	owner[sizeof(owner) - 1] = '\0';
	const char *const values[] = { owner, "1", "0", "0/1", "1" };
	struct wp_source_facts facts = { 0 };
	PGresult *result = answer(5, 1, values);
	CHECK_EQ(wp_witness_read(result, &facts, NULL), WP_OK);
	CHECK_EQ(strlen(facts.witness_owner), WP_OWNER_SIZE - 1);
	PQclear(result);
}

static void numbers_out_of_range_are_not_believed(void **state)
{
	(void)state;
	check_read("o", "0", "0", WP_OK);
	check_read("o", "18446744073709551616", "0", WP_PROTO);
	check_read("o", "-1", "0", WP_PROTO);
	check_read("o", "x", "0", WP_PROTO);
	check_read("o", "", "0", WP_PROTO);
	check_read("o", "1", "65536", WP_PROTO);
	check_read("o", "1", "1x", WP_PROTO);
	check_row((const char *const[]){ "o", "1", "0", "0/1", "4294967296" }, WP_PROTO);
	check_row((const char *const[]){ "o", "1", "0", "0/1", "" }, WP_PROTO);
}

static void a_position_that_is_none_is_not_believed(void **state)
{
	(void)state;
	static const char *const values[] = { "o", "1", "0", "nowhere", "1" };
	struct wp_source_facts facts = { 0 };
	PGresult *result = answer(5, 1, values);
	CHECK_EQ(wp_witness_read(result, &facts, NULL), WP_PROTO);
	PQclear(result);
}

static void another_shape_is_not_believed(void **state)
{
	(void)state;
	static const char *const values[] = { "o", "1", "0", "0/1", "0", "0" };
	struct wp_source_facts facts = { 0 };
	for (int columns = 4; columns <= 6; columns += 2) {
		PGresult *result = answer(columns, 1, values);
		CHECK_EQ(wp_witness_read(result, &facts, NULL), WP_PROTO);
		PQclear(result);
	}
	PGresult *result = answer(5, 2, values);
	CHECK_EQ(wp_witness_read(result, &facts, NULL), WP_PROTO);
	PQclear(result);
	CHECK(!facts.witness_readable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_tells_owner_system_epoch_and_timeline),
		cmocka_unit_test(no_row_means_no_owner),
		cmocka_unit_test(a_longer_owner_is_cut_and_stays_a_stranger),
		cmocka_unit_test(numbers_out_of_range_are_not_believed),
		cmocka_unit_test(a_position_that_is_none_is_not_believed),
		cmocka_unit_test(another_shape_is_not_believed),
	};
	return cmocka_run_group_tests_name("witness", tests, NULL, NULL);
}

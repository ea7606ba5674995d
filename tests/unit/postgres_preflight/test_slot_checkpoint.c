#include <string.h>

#include "support/check.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"

enum { COLUMNS = 15 };

/* An answer as the server would give it; NULL is SQL's. */
static PGresult *answer(int columns, int rows, const char *const *values)
{
	PGresAttDesc descriptions[COLUMNS + 1] = { { 0 } };
	for (int i = 0; i < columns; i++)
		descriptions[i].name = (char *)"column";
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	CHECK(result);
	CHECK(PQsetResultAttrs(result, columns, descriptions));
	for (int row = 0; row < rows; row++)
		for (int i = 0; i < columns; i++) {
			const char *value = values[i];
			CHECK(PQsetvalue(result, row, i, (char *)value,
					 value ? (int)strlen(value) : -1));
		}
	return result;
}

/* A row on which all is well; a test changes what it is about. */
struct row {
	const char *values[COLUMNS + 1];
};

static struct row whole(void)
{
	return (struct row){ { "relay on a", "18446744073709551615", "65535", "16/B374D848", "3",
			       "16/B374D849", "2026-01-02 03:04:05 UTC", "true", "a,b", "41", "42",
			       "16/B374D900", "712", NULL } };
}

/* Where a value stands. */
enum {
	OWNER,
	SYSTEM_ID,
	EPOCH,
	TAKEN_AT,
	TIMELINE,
	CONFIRMED,
	CONFIRMED_AT,
	STOPPED,
	TOPICS,
	THEN,
	NOW,
	LOG_END,
	VERSION,
	END
};

static enum wp_rc read_row(const struct row *row, struct wp_source_facts *facts)
{
	struct wp_error error = { "" };
	PGresult *result = answer(END + 1, 1, row->values);
	enum wp_rc rc = wp_slot_checkpoint_read(result, facts, &error);
	CHECK_EQ(*error.text != '\0', rc != WP_OK);
	PQclear(result);
	return rc;
}

static void check_read(int column, const char *value, enum wp_rc rc)
{
	struct row row = whole();
	struct wp_source_facts facts = { 0 };
	row.values[column] = value;
	CHECK_EQ(read_row(&row, &facts), rc);
	CHECK_EQ(facts.slot_checkpoint_readable, rc == WP_OK);
}

static void a_row_tells_all_that_its_owner_wrote(void **state)
{
	struct row row = whole();
	struct wp_source_facts facts = { 0 };
	CHECK_EQ(read_row(&row, &facts), WP_OK);
	CHECK(facts.slot_checkpoint_readable);
	CHECK_TEXT(facts.slot_checkpoint_owner, "relay on a");
	CHECK_EQ(facts.slot_checkpoint_system_id, UINT64_MAX);
	CHECK_EQ(facts.slot_checkpoint_epoch, 65535);
	CHECK_EQ(facts.slot_checkpoint_taken_at, 0x16B374D848);
	CHECK_EQ(facts.slot_checkpoint_timeline, 3);
	CHECK_EQ(facts.slot_checkpoint_confirmed, 0x16B374D849);
	CHECK_TEXT(facts.slot_checkpoint_confirmed_at, "2026-01-02 03:04:05 UTC");
	CHECK(facts.slot_checkpoint_stopped);
	CHECK_EQ(facts.server_lsn, 0x16B374D900);
	CHECK_TEXT(facts.slot_checkpoint_topics, "a,b");
	CHECK_EQ(facts.slot_checkpoint_transactions, 41);
	CHECK_EQ(facts.slot_transactions, 42);
}

static void a_row_of_the_first_shape_tells_what_it_can(void **state)
{
	struct row row = whole();
	struct wp_source_facts facts = { .slot_checkpoint_stopped = true,
					 .slot_checkpoint_confirmed = 7 };
	row.values[CONFIRMED] = row.values[CONFIRMED_AT] = row.values[THEN] = row.values[NOW] =
		row.values[TOPICS] = NULL;
	row.values[STOPPED] = "false";
	CHECK_EQ(read_row(&row, &facts), WP_OK);
	CHECK_TEXT(facts.slot_checkpoint_owner, "relay on a");
	CHECK_EQ(facts.slot_checkpoint_confirmed, 0);
	CHECK_TEXT(facts.slot_checkpoint_confirmed_at, "");
	CHECK(!facts.slot_checkpoint_stopped);
	CHECK_EQ(facts.slot_checkpoint_transactions, -1);
	CHECK_EQ(facts.slot_transactions, -1);
}

static void no_row_means_no_owner(void **state)
{
	struct wp_source_facts facts = { .slot_checkpoint_owner = "old",
					 .slot_checkpoint_epoch = 3,
					 .slot_checkpoint_stopped = true,
					 .slot_checkpoint_confirmed = 9 };
	PGresult *result = answer(END + 1, 0, NULL);
	CHECK_EQ(wp_slot_checkpoint_read(result, &facts, NULL), WP_OK);
	CHECK(facts.slot_checkpoint_readable);
	CHECK_TEXT(facts.slot_checkpoint_owner, "");
	CHECK_EQ(facts.slot_checkpoint_epoch, 0);
	CHECK_EQ(facts.slot_checkpoint_confirmed, 0);
	CHECK(!facts.slot_checkpoint_stopped);
	CHECK_EQ(facts.slot_checkpoint_transactions, -1);
	PQclear(result);
}

static void a_longer_owner_is_cut_and_stays_a_stranger(void **state)
{
	char owner[100];
	memset(owner, 'x', sizeof(owner) - 1);
	owner[sizeof(owner) - 1] = '\0';
	struct row row = whole();
	struct wp_source_facts facts = { 0 };
	row.values[OWNER] = owner;
	CHECK_EQ(read_row(&row, &facts), WP_OK);
	CHECK_EQ(strlen(facts.slot_checkpoint_owner), WP_OWNER_SIZE - 1);
}

static void numbers_out_of_range_are_not_believed(void **state)
{
	check_read(SYSTEM_ID, "0", WP_OK);
	check_read(SYSTEM_ID, "18446744073709551616", WP_PROTO);
	check_read(SYSTEM_ID, "-1", WP_PROTO);
	check_read(SYSTEM_ID, "x", WP_PROTO);
	check_read(SYSTEM_ID, "", WP_PROTO);
	check_read(EPOCH, "65536", WP_PROTO);
	check_read(EPOCH, "1x", WP_PROTO);
	check_read(TIMELINE, "4294967296", WP_PROTO);
	check_read(THEN, "-1", WP_PROTO);
	check_read(NOW, "9223372036854775808", WP_PROTO);
}

static void a_position_that_is_none_is_not_believed(void **state)
{
	check_read(TAKEN_AT, "nowhere", WP_PROTO);
	check_read(CONFIRMED, "nowhere", WP_PROTO);
	check_read(LOG_END, "nowhere", WP_PROTO);
}

static void another_shape_is_not_believed(void **state)
{
	struct row row = whole();
	struct wp_source_facts facts = { .slot_checkpoint_owner = "before" };
	row.values[END + 1] = "one too many";
	for (int columns = END; columns <= END + 2; columns += 2) {
		PGresult *result = answer(columns, 1, row.values);
		CHECK_EQ(wp_slot_checkpoint_read(result, &facts, NULL), WP_PROTO);
		PQclear(result);
	}
	PGresult *result = answer(END + 1, 2, row.values);
	CHECK_EQ(wp_slot_checkpoint_read(result, &facts, NULL), WP_PROTO);
	PQclear(result);
	CHECK(!facts.slot_checkpoint_readable);
	CHECK_TEXT(facts.slot_checkpoint_owner, "before");
}

/* -- what is written ---------------------------------------------------------- */

static const struct wp_requirements_table tables[] = {
	{ .schema = "shop", .name = "plain" },
	{ .schema = "shop", .name = "drops", .drops = true },
	{ .schema = "shop", .name = "cleaned", .drops = true, .is_timed = true },
	{ .schema = "t\\_%", .name = "outbox", .is_pattern = true },
};
static const struct wp_requirements wanted = { .tables = tables, .count = 4 };
static const struct wp_slot_checkpoint_row ours = { .sent = &wanted,
						    .publication = "p",
						    .unclaimed = true,
						    .before = "712",
						    .slot = "s",
						    .owner = "it's us",
						    .topics = "a,b",
						    .system_id = 77,
						    .timeline = 2,
						    .epoch = 5 };

static void what_is_written_waits_for_no_lock(void **state)
{
	struct wp_error error;
	PGconn *pg = PQconnectStart("hostaddr=none"); /* for quoting */
	for (int i = 0; i < 4; i++) {
		struct wp_buffer sql;
		wp_buffer_init(&sql, 16384);
		enum wp_rc rc =
			i == 0	 ? wp_slot_checkpoint_read_sql(pg, "s", &sql, &error)
			: i == 1 ? wp_slot_checkpoint_write_sql(pg, &ours, 0x10, &sql, &error)
			: i == 2 ? wp_slot_checkpoint_note_sql(pg, &ours, "123", 0x10, &sql, &error)
				 : wp_slot_checkpoint_end_sql(pg, &ours, "123", 0x10, &sql, &error);
		CHECK_EQ(rc, WP_OK);
		CHECK_HAS((const char *)sql.data, "'lock_timeout', '1000', true");
		CHECK_HAS((const char *)sql.data, "'synchronous_commit', 'local', true");
		wp_buffer_release(&sql);
	}
	PQfinish(pg);
}

static void an_end_says_where_the_slot_stands(void **state)
{
	struct wp_error error;
	struct wp_buffer sql;
	PGconn *pg = PQconnectStart("hostaddr=none");
	wp_buffer_init(&sql, 16384);
	CHECK_EQ(wp_slot_checkpoint_end_sql(pg, &ours, "123", 0x10, &sql, &error), WP_OK);
	CHECK_HAS((const char *)sql.data, "confirmed_lsn = '0/10'");
	CHECK_HAS((const char *)sql.data, "stopped = true");
	CHECK_HAS((const char *)sql.data, "total_txns");
	CHECK_HAS((const char *)sql.data, "owner = 'it''s us'");
	CHECK_HAS((const char *)sql.data, "(owner = 'it''s us' OR EXISTS (");
	CHECK_HAS((const char *)sql.data,
		  "m.slot_name = 's' AND m.confirmed_flush_lsn > "
		  "w.taken_at_lsn\n    AND m.confirmed_flush_lsn <= '0/10'");
	struct wp_slot_checkpoint_row claimed = ours;
	claimed.unclaimed = false;
	wp_buffer_reset(&sql);
	CHECK_EQ(wp_slot_checkpoint_end_sql(pg, &claimed, "123", 0x10, &sql, &error), WP_OK);
	CHECK_HAS((const char *)sql.data, "WHERE slot = 's' AND (owner = 'it''s us') AND NOT");
	CHECK_HAS((const char *)sql.data, "h.slot_name = 's' AND h.active_pid <> '123'");
	wp_buffer_release(&sql);
	PQfinish(pg);
}

static void check_sent(bool removes_dropped, bool prints, const char *expected)
{
	struct wp_error error;
	struct wp_buffer sql;
	PGconn *pg = PQconnectStart("hostaddr=none");
	struct wp_slot_checkpoint_row row = ours;

	row.removes_dropped = removes_dropped;
	row.prints = prints;
	wp_buffer_init(&sql, 16384);
	CHECK_EQ(wp_slot_checkpoint_write_sql(pg, &row, 0x10, &sql, &error), WP_OK);
	CHECK_HAS((const char *)sql.data, expected);
	wp_buffer_reset(&sql);
	CHECK_EQ(wp_slot_checkpoint_note_sql(pg, &row, "123", 0x10, &sql, &error), WP_OK);
	CHECK_HAS((const char *)sql.data, expected);
	wp_buffer_reset(&sql);
	CHECK_EQ(wp_slot_checkpoint_end_sql(pg, &row, "123", 0x10, &sql, &error), WP_OK);
	CHECK_HAS((const char *)sql.data, expected);
	wp_buffer_release(&sql);
	PQfinish(pg);
}

static void a_row_tells_which_outboxes_are_sent(void **state)
{
	check_sent(false, false, "IN ((NULL, NULL), ('shop', 'plain'))");
	check_sent(true, false, "IN ((NULL, NULL), ('shop', 'plain'), ('shop', 'cleaned'))");
	check_sent(false, true, "IN ((NULL, NULL))");
}

int main(void)
{
	return RUN(PLAIN(a_row_tells_all_that_its_owner_wrote),
		   PLAIN(a_row_of_the_first_shape_tells_what_it_can), PLAIN(no_row_means_no_owner),
		   PLAIN(a_longer_owner_is_cut_and_stays_a_stranger),
		   PLAIN(numbers_out_of_range_are_not_believed),
		   PLAIN(a_position_that_is_none_is_not_believed),
		   PLAIN(another_shape_is_not_believed), PLAIN(what_is_written_waits_for_no_lock),
		   PLAIN(a_row_tells_which_outboxes_are_sent),
		   PLAIN(an_end_says_where_the_slot_stands));
}

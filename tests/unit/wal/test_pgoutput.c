#include "bytes.h"
#include "messages.h"
#include "walpost/wal/pgoutput.h"

static struct wp_pgoutput decoder;
static struct wp_span message;
static struct wp_change change;
static struct wp_error error;

/* What it gives is valid until the next call or tear_down(). */
static enum wp_rc read_hex(const char *hex)
{
	free_bytes(message);
	message = bytes_of(hex);
	return wp_pgoutput_read(&decoder, message, &change, &error);
}

static int tear_down(void **state)
{
	free_bytes(message);
	message = (struct wp_span){ 0 };
	return 0;
}

static void refused(const char *hex, const char *because)
{
	error.text[0] = '\0';
	CHECK_EQ(read_hex(hex), WP_PROTO);
	CHECK_HAS(error.text, because);
}

static void begin_tells_the_commit_to_come(void **state)
{
	CHECK_EQ(read_hex(BEGIN), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_BEGIN);
	CHECK_EQ(change.as.begin.commit_lsn, 0x1548D70);
	CHECK_EQ(change.as.begin.commit_time_us, 0x000303C66F11FDD2);
	CHECK_EQ(change.as.begin.xid, 731);
}

static void commit_tells_what_to_confirm(void **state)
{
	CHECK_EQ(read_hex(COMMIT), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_COMMIT);
	CHECK_EQ(change.as.commit.commit_lsn, 0x1548D70);
	CHECK_EQ(change.as.commit.end_lsn, 0x1548DA0);
	CHECK_EQ(change.as.commit.commit_time_us, 0x000303C66F11FDD2);
}

static void origin_is_a_position_and_a_name(void **state)
{
	CHECK_EQ(read_hex(ORIGIN), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_ORIGIN);
	CHECK_EQ(change.as.origin.commit_lsn, 0xABCDEF);
	CHECK_SPAN(change.as.origin.name, "far");
}

static void relation_lists_its_columns(void **state)
{
	static const char *const names[] = { "id", "aggregatetype", "aggregateid", "type",
					     "payload" };
	static const uint32_t types[] = { 2950, 25, 25, 25, 3802 };

	CHECK_EQ(read_hex(RELATION_OUTBOX), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_RELATION);
	CHECK_EQ(change.as.relation.oid, 16391);
	CHECK_SPAN(change.as.relation.schema, "public");
	CHECK_SPAN(change.as.relation.name, "outbox");
	CHECK_EQ(change.as.relation.replica_identity, 'd');
	CHECK_EQ(change.as.relation.column_count, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct wp_column *column = &change.as.relation.columns[i];
		CHECK_SPAN(column->name, names[i]);
		CHECK_EQ(column->name.data[column->name.size], 0);
		CHECK_EQ(column->type_oid, types[i]);
		CHECK_EQ(column->type_modifier, -1);
		CHECK_EQ(column->is_key, i == 0);
	}
}

static void names_are_any_utf8(void **state)
{
	CHECK_EQ(read_hex(RELATION_UNICODE), WP_OK);
	CHECK_SPAN(change.as.relation.name, "\xC3\x9Cn\xC3\xAF"
					    "code.\"t\"");
	CHECK_SPAN(change.as.relation.columns[0].name, "\xC3\x84");
}

static void an_empty_schema_is_pg_catalog(void **state)
{
	CHECK_EQ(read_hex("52 00000001 00 7400 64 0000"), WP_OK);
	CHECK_SPAN(change.as.relation.schema, "pg_catalog");
	CHECK_EQ(change.as.relation.column_count, 0);
	CHECK_EQ(read_hex(TYPE_RAW), WP_OK);
	CHECK_SPAN(change.as.type.schema, "pg_catalog");
}

static void type_names_an_oid(void **state)
{
	CHECK_EQ(read_hex(TYPE_MOOD), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_TYPE);
	CHECK_EQ(change.as.type.oid, 16387);
	CHECK_SPAN(change.as.type.schema, "public");
	CHECK_SPAN(change.as.type.name, "mood");
}

static void insert_gives_the_row_as_text(void **state)
{
	CHECK_EQ(read_hex(INSERT_TEXT), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_INSERT);
	CHECK_EQ(change.as.insert.relation_oid, 16391);
	CHECK_EQ(change.as.insert.tuple.count, 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_EQ(change.as.insert.tuple.values[i].kind, WP_VALUE_TEXT);
	CHECK_SPAN(change.as.insert.tuple.values[0].bytes, "00000000-0000-0000-0000-000000000001");
	CHECK_SPAN(change.as.insert.tuple.values[4].bytes, "{\"a\": 1}");
}

static void null_and_empty_are_not_the_same(void **state)
{
	CHECK_EQ(read_hex(INSERT_NULL), WP_OK);
	const struct wp_value *values = change.as.insert.tuple.values;
	CHECK_EQ(values[2].kind, WP_VALUE_NULL);
	CHECK(wp_span_is_null(values[2].bytes));
	CHECK_EQ(values[3].kind, WP_VALUE_TEXT);
	CHECK(!wp_span_is_null(values[3].bytes));
	CHECK_EQ(values[3].bytes.size, 0);
	CHECK_SPAN(values[4].bytes, "null");
}

static void insert_gives_binary_values_as_they_are(void **state)
{
	static const uint8_t id[] = { 0, 0, 0, 0, 0, 0, 0, 1 };
	static const uint8_t b[] = { 0x00, 0xFF, 0x41 };

	CHECK_EQ(read_hex(INSERT_BINARY), WP_OK);
	const struct wp_value *values = change.as.insert.tuple.values;
	CHECK_EQ(values[0].kind, WP_VALUE_BINARY);
	CHECK(wp_span_equal(values[0].bytes, (struct wp_span){ id, sizeof(id) }));
	CHECK(wp_span_equal(values[1].bytes, (struct wp_span){ b, sizeof(b) }));
	CHECK_SPAN(values[2].bytes, "AB");
	CHECK_SPAN(values[3].bytes, "ok");
}

static void text_and_binary_may_be_mixed(void **state)
{
	CHECK_EQ(read_hex("49 00000001 4E 0003 74 00000001 41 62 00000001 42 6E"), WP_OK);
	CHECK_EQ(change.as.insert.tuple.values[0].kind, WP_VALUE_TEXT);
	CHECK_EQ(change.as.insert.tuple.values[1].kind, WP_VALUE_BINARY);
	CHECK_EQ(change.as.insert.tuple.values[2].kind, WP_VALUE_NULL);
}

static void a_value_that_was_text_before_is_null_now(void **state)
{
	CHECK_EQ(read_hex("49 00000001 4E 0001 74 00000001 41"), WP_OK);
	CHECK_EQ(read_hex("49 00000001 4E 0001 6E"), WP_OK);
	CHECK(wp_span_is_null(change.as.insert.tuple.values[0].bytes));
}

static void an_insert_with_an_unchanged_value_is_not_whole(void **state)
{
	refused("49 00004007 4E 0002 75 6E", "16391");
	refused("49 00004007 4E 0002 6E 75", "row filter");
}

static void update_gives_the_new_row(void **state)
{
	CHECK_EQ(read_hex(UPDATE), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_UPDATE);
	CHECK(!change.as.update.has_old);
	CHECK_SPAN(change.as.update.tuple.values[3].bytes, "changed");

	CHECK_EQ(read_hex(UPDATE_OLD), WP_OK);
	CHECK(change.as.update.has_old);
	CHECK_EQ(change.as.update.relation_oid, 16398);
	CHECK_EQ(change.as.update.tuple.count, 2);
	CHECK_SPAN(change.as.update.tuple.values[0].bytes, "1");
	CHECK_EQ(change.as.update.tuple.values[1].kind, WP_VALUE_UNCHANGED);
	CHECK_EQ(read_hex("55 00000001 4B 0001 6E 4E 0001 6E"), WP_OK);
}

static void delete_gives_the_old_row_or_its_key(void **state)
{
	CHECK_EQ(read_hex(DELETE_KEY), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_DELETE);
	CHECK_EQ(change.as.del.relation_oid, 16391);
	CHECK_SPAN(change.as.del.tuple.values[0].bytes, "00000000-0000-0000-0000-000000000001");
	CHECK_EQ(change.as.del.tuple.values[1].kind, WP_VALUE_NULL);
	CHECK_EQ(read_hex(DELETE_OLD), WP_OK);
	CHECK_SPAN(change.as.del.tuple.values[4].bytes, "xxxxxxxxxx");
}

static void truncate_counts_its_tables(void **state)
{
	CHECK_EQ(read_hex(TRUNCATE), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_TRUNCATE);
	CHECK_EQ(change.as.truncate.relation_count, 2);
	CHECK_EQ(change.as.truncate.flags, 1);
	CHECK_EQ(read_hex("54 00000000 00"), WP_OK);
	refused("54 40000000 00", "shorter");
	refused("54 FFFFFFFF 00 00000001", "shorter");
	refused("54 00000001 00 00000001 00000002", "");
}

static void a_message_is_in_a_transaction_or_not(void **state)
{
	CHECK_EQ(read_hex(MESSAGE_INSIDE), WP_OK);
	CHECK_EQ(change.kind, WP_CHANGE_MESSAGE);
	CHECK(change.as.message.transactional);
	CHECK_EQ(change.as.message.lsn, 0x1548D70);
	CHECK_SPAN(change.as.message.prefix, "walpost");
	CHECK_SPAN(change.as.message.content, "inside");
	CHECK_EQ(read_hex(MESSAGE_OUTSIDE), WP_OK);
	CHECK(!change.as.message.transactional);
	CHECK_EQ(read_hex("4D 00 0000000000000001 00 00000000"), WP_OK);
	CHECK_SPAN(change.as.message.prefix, "");
	CHECK_SPAN(change.as.message.content, "");
	CHECK_EQ(read_hex("4D 00 0000000000000001 00 00000002 0041"), WP_OK);
	CHECK_EQ(change.as.message.content.size, 2);
}

static const char *const all[] = {
	BEGIN,	    COMMIT,	ORIGIN,	     RELATION_OUTBOX, RELATION_WIDE,  RELATION_UNICODE,
	TYPE_RAW,   TYPE_MOOD,	INSERT_TEXT, INSERT_NULL,     INSERT_BINARY,  UPDATE,
	UPDATE_OLD, DELETE_OLD, DELETE_KEY,  TRUNCATE,	      MESSAGE_INSIDE, MESSAGE_OUTSIDE,
};

static void a_message_cut_anywhere_is_refused(void **state)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct wp_span whole = bytes_of(all[i]);
		CHECK_EQ(read_hex(all[i]), WP_OK);
		for (size_t size = 0; size < whole.size; size++) {
			struct wp_span cut = bytes_with(whole, size, "");
			change.kind = WP_CHANGE_ORIGIN;
			CHECK_EQ(wp_pgoutput_read(&decoder, cut, &change, NULL), WP_PROTO);
			CHECK_EQ(change.kind, WP_CHANGE_ORIGIN);
			free_bytes(cut);
		}
		free_bytes(whole);
	}
}

static void a_message_with_a_byte_too_many_is_refused(void **state)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct wp_span whole = bytes_of(all[i]);
		struct wp_span more = bytes_with(whole, whole.size, "x");
		CHECK_EQ(wp_pgoutput_read(&decoder, more, &change, &error), WP_PROTO);
		CHECK_HAS(error.text, "has trailing bytes");
		free_bytes(more);
		free_bytes(whole);
	}
}

static void sizes_that_lie_are_refused(void **state)
{
	refused("49 00000001 4E 0001 74 00000002 41", "shorter");
	refused("49 00000001 4E 0001 74 FFFFFFFF 41", "shorter");
	refused("49 00000001 4E 0001 74 7FFFFFFF 41", "shorter");
	refused("49 00000001 4E 0002 6E", "shorter");
	refused("4D 01 0000000000000001 7000 00000002 41", "shorter");
	refused("59 00000001 00 6162", "shorter");
}

static void unknown_bytes_are_refused_and_named(void **state)
{
	refused("", "empty");
	refused("58", "'X'");
	refused("07 00", "0x07");
	refused("20", "0x20");
	refused("FF", "0xFF");
	refused("49 00000001 4B 0000", "Insert contains an unknown byte 'K'");
	refused("49 00000001 4E 0001 78", "value's kind contains an unknown byte 'x'");
	refused("49 00000001 4E 0001 00", "unknown byte 0x00");
	refused("55 00000001 58 0000", "Update contains an unknown byte 'X'");
	refused("55 00000001 4F 0000 4F 0000", "Update contains an unknown byte 'O'");
	refused("55 00000001 4F 0001 78", "value's kind");
	refused("44 00000001 4E 0000", "Delete contains an unknown byte 'N'");
	refused("44 00000001 4B 0001 78", "value's kind");
	refused("43 01 0000000000000001 0000000000000002 0000000000000003", "Commit's flags");
	refused("4D 02 0000000000000001 7000 00000000", "Message's flags");
}

static void messages_of_later_protocols_are_refused(void **state)
{
	refused("62 00", "two_phase");
	refused("50 00", "two_phase");
	refused("4B 00", "two_phase");
	refused("72 00", "two_phase");
	refused("53 00", "streamed");
	refused("45", "streamed");
	refused("41 00", "streamed");
	refused("63 00", "streamed");
	refused("70 00", "streamed");
}

static void a_begin_without_its_commit_lsn_is_refused(void **state)
{
	refused("42 0000000000000000 0000000000000001 00000001", "commit LSN");
}

/* A row, or a relation when `column` says so, of `count` columns. */
static enum wp_rc read_columns(const char *head, const char *column, unsigned count)
{
	static char hex[2 * WP_COLUMNS_MAX * 32];
	size_t size = (size_t)snprintf(hex, sizeof(hex), "%s%04X", head, count);

	for (unsigned i = 0; i < count; i++)
		size += (size_t)snprintf(hex + size, sizeof(hex) - size, "%s", column);
	return read_hex(hex);
}

static void as_many_columns_as_a_table_may_have_are_read(void **state)
{
	static const char row[] = "49 00000001 4E ";
	static const char relation[] = "52 00000001 00 7400 64 ";
	static const char column[] = "00 6100 00000019 FFFFFFFF";

	CHECK_EQ(read_columns(row, "6E", WP_COLUMNS_MAX - 1), WP_OK);
	CHECK_EQ(read_columns(row, "6E", WP_COLUMNS_MAX), WP_OK);
	CHECK_EQ(change.as.insert.tuple.count, WP_COLUMNS_MAX);
	CHECK_EQ(read_columns(row, "6E", WP_COLUMNS_MAX + 1), WP_PROTO);
	CHECK_HAS(error.text, "1665 columns");
	CHECK_EQ(read_columns(relation, column, WP_COLUMNS_MAX - 1), WP_OK);
	CHECK_EQ(read_columns(relation, column, WP_COLUMNS_MAX), WP_OK);
	CHECK_EQ(change.as.relation.column_count, WP_COLUMNS_MAX);
	CHECK_EQ(read_columns(relation, column, WP_COLUMNS_MAX + 1), WP_PROTO);
	CHECK_HAS(error.text, "1665 columns");
	refused("49 00000001 4E FFFF 6E", "65535 columns");
	refused("52 00000001 00 7400 64 FFFF", "65535 columns");
}

int main(void)
{
	return RUN(CLEAN(begin_tells_the_commit_to_come), CLEAN(commit_tells_what_to_confirm),
		   CLEAN(origin_is_a_position_and_a_name), CLEAN(relation_lists_its_columns),
		   CLEAN(names_are_any_utf8), CLEAN(an_empty_schema_is_pg_catalog),
		   CLEAN(type_names_an_oid), CLEAN(insert_gives_the_row_as_text),
		   CLEAN(null_and_empty_are_not_the_same),
		   CLEAN(insert_gives_binary_values_as_they_are),
		   CLEAN(text_and_binary_may_be_mixed),
		   CLEAN(a_value_that_was_text_before_is_null_now),
		   CLEAN(an_insert_with_an_unchanged_value_is_not_whole),
		   CLEAN(update_gives_the_new_row), CLEAN(delete_gives_the_old_row_or_its_key),
		   CLEAN(truncate_counts_its_tables), CLEAN(a_message_is_in_a_transaction_or_not),
		   CLEAN(a_message_cut_anywhere_is_refused),
		   CLEAN(a_message_with_a_byte_too_many_is_refused),
		   CLEAN(sizes_that_lie_are_refused), CLEAN(unknown_bytes_are_refused_and_named),
		   CLEAN(messages_of_later_protocols_are_refused),
		   CLEAN(a_begin_without_its_commit_lsn_is_refused),
		   CLEAN(as_many_columns_as_a_table_may_have_are_read));
}

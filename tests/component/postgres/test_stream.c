/* What the contract suite cannot ask of a fake: PostgreSQL's own ways. */
#define _GNU_SOURCE /* memmem */
#include "harness.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "walpost/base/wire.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/source/slot_cure.h"

static struct harness harness;

static int set_up(void **state)
{
	(void)state; /* one harness for all */
	harness_init(&harness);
	return 0;
}

static int tear_down(void **state)
{
	(void)state; /* one harness for all */
	harness_release(&harness);
	return 0;
}

static bool has(struct wp_span bytes, const char *text)
{
	return memmem(bytes.data, bytes.size, text, strlen(text)) != NULL;
}

static int server_version(void)
{
	return (int)strtol(harness_value(&harness, "SHOW server_version_num"), NULL, 10) / 10000;
}

static void insert(const char *payload)
{
	harness_sql(&harness, "INSERT INTO outbox VALUES ('1', 'order', 'a', 'made', '%s')",
		    payload);
}

static const struct wp_source_view *view(void)
{
	return harness_view(&harness);
}

static pid_t walsender(void)
{
	return (pid_t)strtol(harness_value(&harness, "SELECT active_pid FROM pg_replication_slots"),
			     NULL, 10);
}

/* Reads what comes until it fails. */
static const struct wp_source_failure *read_until_failure(void)
{
	struct wp_frame frame;
	while (harness_next(&harness, &frame) == WP_OK)
		continue;
	return harness_failure(&harness);
}

/* ---- values ---- */

static void the_stream_prints_values_alike_for_hostile_roles(void **state)
{
	struct wp_frame frame;
	harness_sql(&harness, "DROP ROLE IF EXISTS hostile");
	harness_sql(&harness, "CREATE ROLE hostile LOGIN REPLICATION");
	harness_sql(&harness, "ALTER ROLE hostile SET datestyle = 'German'");
	harness_sql(&harness, "ALTER ROLE hostile SET bytea_output = 'escape'");
	harness_sql(&harness, "ALTER ROLE hostile SET timezone = 'Asia/Tokyo'");
	harness_sql(&harness, "ALTER ROLE hostile SET intervalstyle = 'iso_8601'");
	harness_sql(&harness, "ALTER TABLE outbox ADD b bytea, ADD t timestamptz, ADD i interval");
	harness_connect_by(&harness, NULL, "dbname=relay user=hostile");
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness_sql(&harness, "INSERT INTO outbox VALUES ('1', 'o', 'a', 'm', 'x', '\\x00ff41', "
			      "'2026-01-02 03:04:05+00', '26 hours')");
	harness_await_message(&harness, 'I', &frame);
	CHECK(has(frame.body, "\\x00ff41"));
	CHECK(has(frame.body, "2026-01-02 03:04:05+00"));
	CHECK(has(frame.body, "26:00:00"));
}

static void an_sql_ascii_database_streams_bytes_that_are_not_utf8(void **state)
{
	struct wp_frame frame;
	harness_sql(&harness, "SELECT pg_drop_replication_slot('s')");
	harness_sql(&harness, "CREATE DATABASE other ENCODING 'SQL_ASCII' TEMPLATE template0 "
			      "LC_COLLATE 'C' LC_CTYPE 'C'");
	harness_prepare(&harness, "other");
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness_sql(&harness, "SET client_encoding = 'SQL_ASCII'");
	insert("caf\xe9");
	harness_await_message(&harness, 'I', &frame);
	CHECK(has(frame.body, "caf\xe9"));
}

static void names_of_any_kind_are_quoted(void **state)
{
	struct wp_frame frame;
	harness.options.publication = "Pub \"x\", 'y' \\ z";
	harness_sql(&harness,
		    "CREATE PUBLICATION \"Pub \"\"x\"\", 'y' \\ z\" FOR TABLE outbox WITH "
		    "(publish = 'insert')");
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	insert("x");
	harness_await_message(&harness, 'I', &frame);
}

static void a_large_row_comes_whole(void **state)
{
	struct wp_frame frame;
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness_sql(&harness,
		    "INSERT INTO outbox VALUES ('1', 'o', 'a', 'm', repeat('y', 5000000))");
	harness_await_message(&harness, 'I', &frame);
	CHECK(frame.body.size > 5000000);
}

static void tls_carries_large_and_small_rows(void **state)
{
	struct wp_frame frame;
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/server.crt", harness_env("WALPOST_TEST_DIR"));
	harness_sql(&harness, "ALTER SYSTEM SET ssl = on");
	harness_kill_server(&harness);
	harness_start_server(&harness);
	char words[600];
	(void)snprintf(words, sizeof(words), "dbname=relay sslmode=verify-ca sslrootcert=%s", path);
	harness_connect_by(&harness, "127.0.0.1", words);
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	/* Sizes around those of TLS records and of libpq's buffer. */
	harness_sql(&harness,
		    "INSERT INTO outbox SELECT i, 'o', 'a', 'm', repeat('y', 15000 + i * 37) "
		    "FROM generate_series(1, 200) i");
	harness_sql(&harness,
		    "INSERT INTO outbox VALUES ('1', 'o', 'a', 'm', repeat('y', 3000000))");
	harness_sql(&harness, "INSERT INTO outbox SELECT i, 'o', 'a', 'm', 'y' FROM "
			      "generate_series(1, 5000) i");
	for (int i = 0; i < 200 + 1 + 5000; i++)
		harness_await_message(&harness, 'I', &frame);
	harness_await_message(&harness, 'C', &frame);
	/* The end of each comes at once, however its records lie in OpenSSL and libpq. */
	for (int i = 0; i < 100; i++) {
		harness_sql(&harness,
			    "INSERT INTO outbox SELECT j, 'o', 'a', 'm', repeat('y', %d + j * 997) "
			    "FROM generate_series(1, 40) j",
			    100 + i * 331);
		double since = ev_time();
		harness_await_message(&harness, 'C', &frame);
		CHECK_IN_TIME(ev_time() - since, 10); /* a rest that nobody reads waits for 30 s */
	}
	harness_confirm(&harness, frame.end);
}

/* ---- failures before the stream ---- */

static void check_says_no_slot(const struct wp_source_failure *f)
{
	char said[sizeof(f->error.text)];

	(void)snprintf(said, sizeof(said), WP_SLOT_MISSING, "s");
	CHECK_HAS(f->error.text, said);
}

static void a_missing_slot_is_refused_with_its_cure(void **state)
{
	harness_sql(&harness, "SELECT pg_drop_replication_slot('s')");
	harness_stream(&harness);
	harness.source->ops->connect(harness.source);
	const struct wp_source_failure *f = harness_failure(&harness);
	CHECK_EQ(f->reaction, WP_REACT_STOP_HUMAN);
	check_says_no_slot(f);
	CHECK_HAS(f->error.text, "cure: ");
}

static void a_missing_publication_is_refused_before_the_stream(void **state)
{
	harness.options.publication = "nowhere";
	harness_stream(&harness);
	harness.source->ops->connect(harness.source);
	const struct wp_source_failure *f = harness_failure(&harness);
	CHECK_EQ(f->reaction, WP_REACT_STOP_HUMAN);
	CHECK_HAS(f->error.text, "nowhere");
}

static void a_slot_dropped_while_looking_is_refused(void **state)
{
	harness_ready(&harness);
	harness_sql(&harness, "SELECT pg_drop_replication_slot('s')");
	harness.source->ops->refresh(harness.source);
	CHECK_EQ(harness_failure(&harness)->reaction, WP_REACT_STOP_HUMAN);
	check_says_no_slot(harness_failure(&harness));
}

static void a_slot_dropped_before_the_stream_starts_is_refused(void **state)
{
	harness_ready(&harness);
	harness_sql(&harness, "SELECT pg_drop_replication_slot('s')");
	harness.source->ops->start(harness.source, 0, harness_view(&harness)->facts.transfer,
				   WP_SLOT_CHECKPOINT_KEEP);
	CHECK_EQ(harness_failure(&harness)->reaction, WP_REACT_STOP_HUMAN);
	CHECK_TEXT(harness_failure(&harness)->sqlstate, "42704");
	check_says_no_slot(harness_failure(&harness));
}

static void a_conninfo_that_libpq_does_not_take_is_refused_at_once(void **state)
{
	static const char *const conninfos[] = { "relay", "hots=x", "host=x sslmode=maybe",
						 "host=x port=nine", "service=nowhere" };
	for (size_t i = 0; i < sizeof(conninfos) / sizeof(conninfos[0]); i++) {
		struct wp_error error = { "" };
		struct wp_source *source = NULL;
		harness.options.conninfo = conninfos[i];
		struct wp_stream_setup setup = { .options = &harness.options, .owner = "o" };
		CHECK_EQ(wp_stream_new(harness.loop, &setup, &source, &error), WP_CONFIG);
		CHECK_HAS(error.text, "postgres.conninfo");
	}
}

/* ---- the slot checkpoint ---- */

static void without_a_slot_checkpoint_table_it_streams_all_the_same(void **state)
{
	struct wp_frame frame;
	harness_sql(&harness, "DROP TABLE walpost.slot_checkpoint");
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	CHECK(!view()->facts.slot_checkpoint_readable);
	insert("x");
	harness_await_message(&harness, 'I', &frame);
}

static void without_the_privilege_it_streams_all_the_same(void **state)
{
	struct wp_frame frame;
	harness_sql(&harness, "DROP ROLE IF EXISTS plain");
	harness_sql(&harness, "CREATE ROLE plain LOGIN REPLICATION");
	harness_connect_by(&harness, NULL, "dbname=relay user=plain");
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	CHECK(!view()->facts.slot_checkpoint_readable);
	insert("x");
	harness_await_message(&harness, 'I', &frame);
}

static void a_slot_checkpoint_that_is_only_readable_is_read(void **state)
{
	harness_sql(&harness, "DROP ROLE IF EXISTS plain");
	harness_sql(&harness, "CREATE ROLE plain LOGIN REPLICATION");
	harness_sql(&harness, "GRANT USAGE ON SCHEMA walpost TO plain");
	harness_sql(&harness, "GRANT SELECT ON walpost.slot_checkpoint TO plain");
	harness_sql(
		&harness,
		"INSERT INTO walpost.slot_checkpoint VALUES ('s', 'someone', '42', 1, 3, '0/1')");
	harness_connect_by(&harness, NULL, "dbname=relay user=plain");
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	CHECK(view()->facts.slot_checkpoint_readable);
	CHECK_TEXT(view()->facts.slot_checkpoint_owner, "someone");
	CHECK_EQ(view()->facts.slot_checkpoint_system_id, 42);
	CHECK_EQ(view()->facts.slot_checkpoint_epoch, 3);
	harness_sql(&harness, "DROP OWNED BY plain");
}

static void a_slot_checkpoint_of_another_shape_is_not_believed(void **state)
{
	harness_sql(&harness,
		    "INSERT INTO walpost.slot_checkpoint VALUES ('s', 'o', 'x', 1, 3, '0/1')");
	harness_ready(&harness);
	CHECK(!view()->facts.slot_checkpoint_readable);
	harness_sql(&harness, "ALTER TABLE walpost.slot_checkpoint RENAME owner TO possessor");
	harness.source->ops->refresh(harness.source);
	AWAIT(&harness, view()->state == WP_SOURCE_READY);
	CHECK(!view()->facts.slot_checkpoint_readable);
}

static void the_slot_checkpoint_row_tells_all_of_it(void **state)
{
	char confirmed[WP_LSN_TEXT_SIZE];
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	(void)wp_lsn_text(view()->facts.slot_confirmed, confirmed);
	CHECK_TEXT(harness_value(&harness, "SELECT concat_ws(' ', slot, owner, timeline, epoch) "
					   "FROM walpost.slot_checkpoint"),
		   "s walpost on test 1 1 7");
	CHECK_TEXT(harness_value(&harness, "SELECT taken_at_lsn FROM walpost.slot_checkpoint"),
		   confirmed);
	CHECK_TEXT(harness_value(&harness,
				 "SELECT system_identifier = (SELECT system_identifier::text FROM "
				 "pg_control_system()) AND now() - taken_at < '1 minute' "
				 "FROM walpost.slot_checkpoint"),
		   "t");
}

static void the_slot_checkpoint_is_written_though_a_synchronous_standby_is_awaited(void **state)
{
	harness_set(&harness, "synchronous_standby_names = 'nobody'");
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	CHECK_TEXT(harness_value(&harness, "SELECT owner FROM walpost.slot_checkpoint"),
		   "walpost on test 1");
}

#define SLOT_CHECKPOINT_OF_ANOTHER                                                                \
	"INSERT INTO walpost.slot_checkpoint (slot, owner, system_identifier, timeline, epoch, "  \
	"taken_at_lsn, "                                                                          \
	"confirmed_lsn) SELECT slot_name, 'another', '42', 1, 7, confirmed_flush_lsn, "           \
	"confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 's' ON CONFLICT (slot) " \
	"DO "                                                                                     \
	"UPDATE SET owner = excluded.owner"
#define SLOT_CHECKPOINT_ROW                                                      \
	"SELECT concat_ws(' ', owner, stopped, confirmed_lsn = (SELECT "         \
	"confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 's')) " \
	"FROM walpost.slot_checkpoint"

/* Both found the slot free and wrote the row; the one that did not get the slot wrote it last. */
static void a_last_word_is_written_over_the_row_of_a_relay_that_did_not_get_the_slot(void **state)
{
	struct wp_frame frame;
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	harness_sql(&harness, SLOT_CHECKPOINT_OF_ANOTHER);
	insert("x");
	harness_await_message(&harness, 'C', &frame);
	harness_confirm(&harness, frame.end);
	harness.source->ops->finish(harness.source, "t");
	AWAIT(&harness, view()->state == WP_SOURCE_FINISHED);
	CHECK_TEXT(harness_value(&harness, SLOT_CHECKPOINT_ROW), "walpost on test 1 t t");
}

/* It is about to start: the slot has not moved since it wrote the row. */
static void a_last_word_is_not_written_over_the_row_of_a_relay_that_comes_next(void **state)
{
	struct wp_frame frame;
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	insert("x");
	harness_await_message(&harness, 'C', &frame);
	harness_confirm(&harness, frame.end);
	harness_sql(&harness, "DELETE FROM walpost.slot_checkpoint");
	harness_sql(&harness, SLOT_CHECKPOINT_OF_ANOTHER);
	harness.source->ops->finish(harness.source, "t");
	AWAIT(&harness, view()->state == WP_SOURCE_FINISHED);
	CHECK_TEXT(harness_value(&harness, SLOT_CHECKPOINT_ROW), "another f t");
}

static void a_stream_that_did_not_get_the_slot_has_no_last_word(void **state)
{
	harness_ready(&harness);
	harness_hold_slot(&harness);
	harness.source->ops->start(harness.source, view()->facts.slot_confirmed,
				   view()->facts.transfer, WP_SLOT_CHECKPOINT_WRITE);
	CHECK_TEXT(harness_failure(&harness)->sqlstate, "55006");
	harness_sql(&harness, SLOT_CHECKPOINT_OF_ANOTHER);
	harness_sql(&harness, "UPDATE walpost.slot_checkpoint SET owner = 'walpost on test 1'");
	harness_release_slot(&harness);
	harness.source->ops->part(harness.source, "t");
	CHECK_EQ(view()->state, WP_SOURCE_CLOSED);
}

/* ---- ends of the stream ---- */

static void a_terminated_walsender_is_a_new_connection(void **state)
{
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness_sql(&harness, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots");
	const struct wp_source_failure *f = read_until_failure();
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK_TEXT(f->sqlstate, "57P01");
	CHECK_HAS(f->error.text, "terminating connection");
}

static void a_terminated_walsender_is_noticed_by_statuses_while_paused(void **state)
{
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness.source->ops->reading(harness.source, WP_READING_OFF);
	harness_sql(&harness,
		    "SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots");
	struct wp_status status = { 0 };
	AWAIT(&harness, view()->state == WP_SOURCE_FAILED ||
				harness.source->ops->status(harness.source, &status) == WP_IO);
	CHECK_EQ(harness_failure(&harness)->reaction, WP_REACT_RECONNECT);
	CHECK_TEXT(harness_failure(&harness)->sqlstate, "57P01");
}

/* The connection stays, and takes statuses for ever. */
static void a_walsender_that_failed_while_paused_is_heard_out(void **state)
{
	struct wp_status status = { 0 };
	struct wp_frame frame;

	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	insert("first");
	harness_await_message(&harness, 'I', &frame);
	harness.source->ops->reading(harness.source, WP_READING_OFF);
	insert("second");
	harness_sql(&harness, "SELECT pg_cancel_backend(active_pid) FROM pg_replication_slots");
	AWAIT(&harness,
	      !strcmp(harness_value(&harness, "SELECT active FROM pg_replication_slots"), "f"));
	for (int i = 0; i < 3; i++)
		CHECK_EQ(harness.source->ops->status(harness.source, &status), WP_OK);
	CHECK_EQ(view()->state, WP_SOURCE_STREAMING);
	harness.source->ops->reading(harness.source, WP_READING_LAST_WORD);
	CHECK_EQ(harness_failure(&harness)->reaction, WP_REACT_TRY_THRICE);
	CHECK_TEXT(harness_failure(&harness)->sqlstate, "57014");
}

static void one_that_says_nothing_is_not_waited_for(void **state)
{
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness.source->ops->reading(harness.source, WP_READING_OFF);
	harness.source->ops->reading(harness.source, WP_READING_LAST_WORD);
	CHECK_EQ(view()->state, WP_SOURCE_FAILED);
	CHECK_EQ(view()->failure.reaction, WP_REACT_RECONNECT);
	CHECK_HAS(view()->failure.error.text, "is not in use by this stream any more");
}

static void a_walsender_timeout_is_told_as_what_it_may_be(void **state)
{
	harness_connect_by(&harness, NULL, "dbname=relay options='-c wal_sender_timeout=2s'");
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	CHECK_EQ(view()->facts.wal_sender_timeout_ms, 2000);
	const struct wp_source_failure *f = read_until_failure();
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK_TEXT(f->sqlstate, "");
	CHECK_HAS(f->error.text, "wal_sender_timeout");
}

static void a_crash_is_a_new_connection(void **state)
{
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness_kill_server(&harness);
	CHECK_EQ(read_until_failure()->reaction, WP_REACT_RECONNECT);
	harness_start_server(&harness);
}

/* A typo that preflight cannot see: the publication is younger than the row. */
static void a_publication_younger_than_a_row_stops_before_anything_is_confirmed(void **state)
{
	harness_sql(&harness, "DROP PUBLICATION p");
	insert("x");
	harness_sql(&harness, "CREATE PUBLICATION p FOR TABLE outbox WITH (publish = 'insert')");
	wp_lsn end = 0;
	CHECK_EQ(wp_lsn_parse(wp_span_of(harness_value(&harness, "SELECT pg_current_wal_lsn()")),
			      &end),
		 WP_OK);
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	struct wp_frame frame;
	enum wp_rc rc;
	while ((rc = harness_next(&harness, &frame)) == WP_OK)
		CHECK(frame.end < end);
	const struct wp_source_failure *f = harness_failure(&harness);
	CHECK_EQ(f->reaction, WP_REACT_STOP_HUMAN);
	CHECK_TEXT(f->sqlstate, server_version() >= 18 ? "55000" : "42704");
	CHECK_HAS(f->error.text, "publication \"p\" does not exist at this position of the WAL");
	CHECK_HAS(f->error.text, "postgres.publication");
	CHECK_HAS(f->error.text, WP_SLOT_REPLACE);
}

/* ---- walpost.reissue, whose publication is read as well ---- */

static void make_reissue(void)
{
	harness_sql(&harness, "%s", wp_reissue_sql);
}

static void drop_reissue(void)
{
	harness_sql(&harness, "DROP PUBLICATION walpost_reissue; DROP TABLE walpost.reissue");
}

static void send_again(void)
{
	harness_sql(&harness, "SELECT walpost.reissue('s', 'outbox', o, 'r') FROM outbox o");
}

static void rows_of_reissue_come_by_a_publication_of_its_own(void **state)
{
	(void)state;
	struct wp_frame frame;
	make_reissue();
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	CHECK(view()->facts.reissue_lsn != 0);
	CHECK_EQ(view()->reissue_from, 0);
	insert("x");
	harness_await_message(&harness, 'I', &frame);
	send_again();
	harness_await_message(&harness, 'I', &frame);
	CHECK(has(frame.body, "\"name\": \"id\""));
	drop_reissue();
}

static void a_stream_from_before_that_publication_is_refused_once_and_begins_again(void **state)
{
	(void)state;
	struct wp_frame frame;
	insert("x");
	make_reissue();
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	const struct wp_source_failure *f = read_until_failure();
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK(f->reissue_missing);
	CHECK_TEXT(f->sqlstate, server_version() >= 18 ? "55000" : "42704");
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	CHECK(view()->reissue_from > view()->facts.slot_confirmed);
	CHECK(view()->reissue_from <= view()->facts.reissue_lsn);
	harness_await_message(&harness, 'I', &frame);
	CHECK(has(frame.body, "x"));
	drop_reissue();
}

static void a_publication_that_comes_beside_the_stream_is_seen(void **state)
{
	(void)state;
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	CHECK_EQ(view()->facts.reissue_lsn, 0);
	CHECK_EQ(view()->reissue_from, 0);
	make_reissue();
	harness.source->ops->watch(harness.source);
	AWAIT(&harness, view()->slot_state.answers == 1);
	CHECK(view()->reissue_from != 0);
	CHECK_EQ(view()->reissue_from, view()->slot_state.reissue_lsn);
	drop_reissue();
}

static void one_that_is_dropped_beside_the_stream_ends_it_and_the_next_goes_on(void **state)
{
	(void)state;
	struct wp_frame frame;
	make_reissue();
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	drop_reissue();
	insert("x");
	const struct wp_source_failure *f = read_until_failure();
	CHECK_EQ(f->reaction, WP_REACT_RECONNECT);
	CHECK(f->reissue_missing);
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	CHECK_EQ(view()->reissue_from, 0);
	harness_await_message(&harness, 'I', &frame);
}

static void that_publication_may_be_the_configured_one(void **state)
{
	(void)state;
	struct wp_frame frame;
	make_reissue();
	harness_sql(&harness, "ALTER PUBLICATION walpost_reissue ADD TABLE outbox");
	harness.options.publication = "walpost_reissue";
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	insert("x");
	harness_await_message(&harness, 'I', &frame);
	harness.source->ops->watch(harness.source);
	AWAIT(&harness, view()->slot_state.answers == 1);
	CHECK_EQ(view()->reissue_from, 0);
	drop_reissue();
}

static void a_slot_moved_beyond_our_position_is_told(void **state)
{
	harness_ready(&harness);
	wp_lsn before = view()->facts.slot_confirmed;
	insert("x");
	harness_sql(&harness, "SELECT pg_replication_slot_advance('s', pg_current_wal_lsn())");
	harness.source->ops->refresh(harness.source);
	AWAIT(&harness, view()->state == WP_SOURCE_READY);
	CHECK(view()->facts.slot_confirmed > before);
}

static void our_old_walsender_is_ended_when_it_hangs_on(void **state)
{
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	pid_t pid = walsender();
	/* It sees the end of its connection only when it runs again. */
	CHECK_EQ(kill(pid, SIGSTOP), 0);
	harness.source->ops->close(harness.source);
	harness.source->ops->connect(harness.source);
	AWAIT(&harness, view()->state == WP_SOURCE_CONNECTING);
	for (int i = 0; i < 30; i++)
		harness_pump(&harness);
	CHECK_EQ(kill(pid, SIGCONT), 0);
	AWAIT(&harness, view()->state == WP_SOURCE_READY);
	CHECK(!view()->facts.slot_active);
}

static void statuses_that_the_server_does_not_read_do_not_pile_up(void **state)
{
	struct wp_frame frame;
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	insert("x");
	harness_await_message(&harness, 'C', &frame);
	pid_t pid = walsender();
	CHECK_EQ(kill(pid, SIGSTOP), 0);
	struct rusage before, after;
	CHECK_EQ(getrusage(RUSAGE_SELF, &before), 0);
	/* Some 30 MB, if they were all kept. */
	struct wp_status status = { .flush = 1 };
	for (int i = 0; i < 800000; i++)
		CHECK_EQ(harness.source->ops->status(harness.source, &status), WP_OK);
	status.flush = frame.end;
	CHECK_EQ(harness.source->ops->status(harness.source, &status), WP_OK);
	CHECK_EQ(getrusage(RUSAGE_SELF, &after), 0);
	CHECK(after.ru_maxrss - before.ru_maxrss < 8192);
	CHECK_EQ(kill(pid, SIGCONT), 0);
	AWAIT(&harness, harness_confirmed(&harness) == frame.end);
}

/* ---- timelines ---- */

static void write_file(const char *name)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/data/%s", harness_env("WALPOST_TEST_DIR"), name);
	FILE *file = fopen(path, "w");
	CHECK(file);
	CHECK_EQ(fclose(file), 0);
}

/* Recovers from an archive that holds nothing, which begins a new timeline. */
static void begin_a_new_timeline(void)
{
	harness_sql(&harness, "ALTER SYSTEM SET restore_command = 'false'");
	harness_server("stop", "fast");
	write_file("recovery.signal");
	harness_start_server(&harness);
	AWAIT(&harness, !strcmp(harness_value(&harness, "SELECT pg_is_in_recovery()"), "f"));
}

static void after_a_promotion_the_history_is_known(void **state)
{
	struct wp_frame frame;
	harness_ready(&harness);
	uint32_t before = view()->facts.timelines.current;
	wp_lsn then = view()->facts.server_lsn;
	harness.source->ops->close(harness.source);
	begin_a_new_timeline();
	insert("x");
	harness_start(&harness, WP_SLOT_CHECKPOINT_WRITE);
	const struct wp_timelines *t = &view()->facts.timelines;
	CHECK(t->current > before);
	CHECK_EQ(wp_timelines_at(t, then), before);
	CHECK_EQ(wp_timelines_at(t, view()->facts.server_lsn), t->current);
	harness_await_message(&harness, 'I', &frame);
}

static void without_the_history_file_it_streams_all_the_same(void **state)
{
	begin_a_new_timeline();
	harness_ready(&harness);
	uint32_t current = view()->facts.timelines.current;
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/data/pg_wal/%08X.history",
		       harness_env("WALPOST_TEST_DIR"), current);
	CHECK_EQ(unlink(path), 0);
	harness.source->ops->close(harness.source);
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	CHECK_EQ(view()->facts.timelines.current, current);
}

/* ---- beside the stream ---- */

static uint32_t oid_of(const char *table)
{
	const char *oid = harness_value(&harness, "SELECT '%s'::regclass::oid", table);

	return (uint32_t)strtoul(oid, NULL, 10);
}

static const struct wp_partition *partition(const char *table)
{
	return wp_partitions_find(&view()->partitions, oid_of(table));
}

static void ask_partitions(void)
{
	harness.source->ops->ask_partitions(harness.source);
	CHECK_EQ(view()->partitions_asked, WP_ASKED_OPEN);
	AWAIT(&harness, view()->partitions_asked != WP_ASKED_OPEN);
}

static const char tree_sql[] =
	"CREATE TABLE plain (LIKE outbox); DROP TABLE outbox; "
	"CREATE TABLE outbox (LIKE plain) PARTITION BY LIST (id); "
	"ALTER PUBLICATION p ADD TABLE outbox; "
	"CREATE TABLE mid (LIKE plain) PARTITION BY LIST (id); "
	"CREATE TABLE leaf PARTITION OF mid FOR VALUES IN ('1'); "
	"CREATE TABLE parent (i int); CREATE TABLE child () INHERITS (parent)";

/* Locked: the question waits for none of them. */
static void partitions_are_told_at_all_levels_before_a_stream_and_anew(void **state)
{
	harness_sql(&harness, tree_sql);
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	CHECK(view()->partitions.known);
	CHECK(partition("leaf") == NULL);
	harness_sql(&harness, "ALTER TABLE outbox ATTACH PARTITION mid FOR VALUES IN ('1')");
	ask_partitions();
	CHECK_EQ(view()->partitions_asked, WP_ASKED_ANSWERED);
	CHECK(partition("leaf") != NULL);
	CHECK_EQ(partition("leaf")->table, 0);
	CHECK(partition("mid") != NULL);
	CHECK(partition("plain") == NULL);
	CHECK(partition("child") == NULL);
	CHECK(!partition("leaf")->inherits);
	harness_sql(&harness, "BEGIN; LOCK TABLE leaf IN ACCESS EXCLUSIVE MODE");
	ask_partitions();
	harness_sql(&harness, "COMMIT");
	CHECK_EQ(view()->partitions_asked, WP_ASKED_ANSWERED);
	harness_sql(&harness, "ALTER TABLE outbox DETACH PARTITION mid");
	ask_partitions();
	CHECK(partition("leaf") == NULL);
}

static void children_by_inheritance_are_told_at_all_levels(void **state)
{
	harness_sql(&harness,
		    "CREATE TABLE later (LIKE outbox); "
		    "CREATE TABLE parent (i int); CREATE TABLE other () INHERITS (parent)");
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness_sql(&harness, "CREATE TABLE child () INHERITS (outbox); "
			      "CREATE TABLE grandchild () INHERITS (child)");
	ask_partitions();
	CHECK(partition("child") != NULL && partition("child")->inherits);
	CHECK_EQ(partition("child")->table, 0);
	CHECK(partition("grandchild") != NULL && partition("grandchild")->inherits);
	CHECK(partition("outbox") == NULL);
	CHECK(partition("other") == NULL);
	CHECK(partition("later") == NULL);
	harness_sql(&harness,
		    "ALTER TABLE child NO INHERIT outbox; ALTER TABLE later INHERIT outbox");
	ask_partitions();
	CHECK(partition("child") == NULL);
	CHECK(partition("grandchild") == NULL);
	CHECK(partition("later") != NULL && partition("later")->inherits);
}

static bool somebody_waits_for_a_lock(void)
{
	return strcmp(harness_value(&harness, "SELECT count(*) FROM pg_locks WHERE NOT granted"),
		      "0") != 0;
}

static void partitions_are_told_while_a_lock_holds_up_the_answer_about_the_slot(void **state)
{
	harness_sql(&harness, tree_sql);
	harness_sql(&harness, "ALTER TABLE outbox ATTACH PARTITION mid FOR VALUES IN ('1')");
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness_sql(&harness, "BEGIN; LOCK TABLE leaf IN ACCESS EXCLUSIVE MODE");
	harness.source->ops->watch(harness.source);
	AWAIT(&harness, somebody_waits_for_a_lock());
	ask_partitions();
	CHECK_EQ(view()->partitions_asked, WP_ASKED_ANSWERED);
	CHECK(view()->slot_state.unanswered);
	CHECK(!view()->slot_state.asking);
	harness_sql(&harness, "COMMIT");
}

static void partitions_that_nobody_can_tell_fail(void **state)
{
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness_sql(&harness,
		    "UPDATE pg_database SET datallowconn = false WHERE datname = 'relay'");
	ask_partitions();
	harness_sql(&harness, "UPDATE pg_database SET datallowconn = true WHERE datname = 'relay'");
	CHECK_EQ(view()->partitions_asked, WP_ASKED_FAILED);
	CHECK(view()->partitions.known);
	ask_partitions();
	CHECK_EQ(view()->partitions_asked, WP_ASKED_ANSWERED);
}

static void a_server_that_refuses_us_is_alive(void **state)
{
	harness_connect_by(&harness, NULL, "dbname=nowhere");
	harness_stream(&harness);
	harness.source->ops->probe(harness.source);
	CHECK_EQ(view()->probe, WP_PROBE_RUNNING);
	AWAIT(&harness, view()->probe != WP_PROBE_RUNNING);
	CHECK_EQ(view()->probe, WP_PROBE_ALIVE);
}

static void the_probe_asks_the_server_we_stream_from(void **state)
{
	/* Two ways; the first leads nowhere, and the stream has taken the second. */
	char conninfo[300];
	(void)snprintf(conninfo, sizeof(conninfo),
		       "host=127.0.0.1,127.0.0.1 port=1,%s user=postgres dbname=relay "
		       "target_session_attrs=any",
		       harness_env("WALPOST_TEST_PORT"));
	harness.options.conninfo = conninfo;
	harness_start(&harness, WP_SLOT_CHECKPOINT_KEEP);
	harness.source->ops->probe(harness.source);
	AWAIT(&harness, view()->probe != WP_PROBE_RUNNING);
	CHECK_EQ(view()->probe, WP_PROBE_ALIVE);
}

int main(void)
{
	if (runs_alone())
		return RUN(TEST(tls_carries_large_and_small_rows));
	return RUN(TEST(the_stream_prints_values_alike_for_hostile_roles),
		   TEST(an_sql_ascii_database_streams_bytes_that_are_not_utf8),
		   TEST(names_of_any_kind_are_quoted), TEST(a_large_row_comes_whole),
		   TEST(a_missing_slot_is_refused_with_its_cure),
		   TEST(a_slot_dropped_before_the_stream_starts_is_refused),
		   TEST(a_missing_publication_is_refused_before_the_stream),
		   TEST(a_slot_dropped_while_looking_is_refused),
		   TEST(a_conninfo_that_libpq_does_not_take_is_refused_at_once),
		   TEST(without_a_slot_checkpoint_table_it_streams_all_the_same),
		   TEST(without_the_privilege_it_streams_all_the_same),
		   TEST(a_slot_checkpoint_that_is_only_readable_is_read),
		   TEST(a_slot_checkpoint_of_another_shape_is_not_believed),
		   TEST(the_slot_checkpoint_row_tells_all_of_it),
		   TEST(the_slot_checkpoint_is_written_though_a_synchronous_standby_is_awaited),
		   TEST(a_last_word_is_written_over_the_row_of_a_relay_that_did_not_get_the_slot),
		   TEST(a_last_word_is_not_written_over_the_row_of_a_relay_that_comes_next),
		   TEST(a_stream_that_did_not_get_the_slot_has_no_last_word),
		   TEST(a_terminated_walsender_is_a_new_connection),
		   TEST(a_terminated_walsender_is_noticed_by_statuses_while_paused),
		   TEST(a_walsender_that_failed_while_paused_is_heard_out),
		   TEST(one_that_says_nothing_is_not_waited_for),
		   TEST(a_walsender_timeout_is_told_as_what_it_may_be),
		   TEST(a_crash_is_a_new_connection),
		   TEST(a_publication_younger_than_a_row_stops_before_anything_is_confirmed),
		   TEST(rows_of_reissue_come_by_a_publication_of_its_own),
		   TEST(a_stream_from_before_that_publication_is_refused_once_and_begins_again),
		   TEST(a_publication_that_comes_beside_the_stream_is_seen),
		   TEST(one_that_is_dropped_beside_the_stream_ends_it_and_the_next_goes_on),
		   TEST(that_publication_may_be_the_configured_one),
		   TEST(a_slot_moved_beyond_our_position_is_told),
		   TEST(our_old_walsender_is_ended_when_it_hangs_on),
		   TEST(statuses_that_the_server_does_not_read_do_not_pile_up),
		   TEST(after_a_promotion_the_history_is_known),
		   TEST(without_the_history_file_it_streams_all_the_same),
		   TEST(partitions_are_told_at_all_levels_before_a_stream_and_anew),
		   TEST(children_by_inheritance_are_told_at_all_levels),
		   TEST(partitions_are_told_while_a_lock_holds_up_the_answer_about_the_slot),
		   TEST(partitions_that_nobody_can_tell_fail),
		   TEST(a_server_that_refuses_us_is_alive),
		   TEST(the_probe_asks_the_server_we_stream_from));
}

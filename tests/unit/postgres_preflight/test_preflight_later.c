#include "support/check.h"

#include <string.h>

#include "preflight_later_answer.h"
#include "walpost/postgres_preflight/preflight_later.h"

/* A server on which all is well; a test changes what it is about. NULL is SQL's. */
struct server {
	const char *values[D_COUNT];
	struct wp_postgres_options options;
	struct wp_requirements wanted;
	enum wp_publication_age age;
};

static struct wp_preflight found; /* large; what judge() found last */

static struct server s;

static int set_up(void **state)
{
	s = (struct server){
		.values = {
			[D_IN_RECOVERY] = "f",
			[D_VERSION] = "180004",
			[D_ROLE] = "relay",
			[D_ENCODING] = "UTF8",
			[D_EMIT] = "f",
			[D_DATABASE] = "shop",
			[D_PLUGINS] = "pgoutput, test_decoding",
			[D_PLUGINS_HAVE_OURS] = "t",
			[D_KEEP_MB] = "65536",
			[D_WAL_RATE] = "1048576",
			[D_WAL_RATE_SINCE] = "90000",
			[D_SLOT] = "s",
			[D_SLOT_WAL_STATUS] = "reserved",
			[D_SLOT_FAILOVER] = "true",
			[D_SLOT_SYNCED] = "false",
			[D_SLOT_RETAINED] = "3 GB",
			[D_SLOT_LAGS] = "f",
			[D_SYNC_WORKER] = "f",
			[D_STANDBYS_REST] = "",
			[D_PUB_IS_YOUNGER] = "f",
		},
		.options = { .conninfo = "dbname=shop", .slot = "s", .publication = "Pub" },
		.wanted = { .ignore = "" },
	};
	return 0;
}

static PGresult *answer_of(int count)
{
	PGresult *answer = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc names[D_COUNT];
	for (int i = 0; i < count; i++)
		names[i] = (PGresAttDesc){ .name = (char *)"column" };
	CHECK(PQsetResultAttrs(answer, count, names));
	for (int i = 0; i < count; i++) {
		const char *value = s.values[i];
		CHECK(PQsetvalue(answer, 0, i, (char *)value, value ? (int)strlen(value) : -1));
	}
	return answer;
}

static void judge(void)
{
	struct wp_error error;
	PGconn *pg = PQconnectStart("hostaddr=none"); /* never connects; for quoting */
	PGresult *answer = answer_of(D_COUNT);
	found.findings.count = 0;
	CHECK_EQ(
		wp_preflight_later_judge(pg, answer, &s.options, &s.wanted, &found, &s.age, &error),
		WP_OK);
	PQclear(answer);
	PQfinish(pg);
}

static const struct wp_finding *finding(const char *name)
{
	for (size_t i = 0; i < found.findings.count; i++)
		if (!strcmp(found.findings.items[i].name, name))
			return &found.findings.items[i];
	return NULL;
}

static void check_finding(const char *name, enum wp_finding_level level, const char *what,
			  const char *cure)
{
	judge();
	const struct wp_finding *f = finding(name);
	assert_non_null(f);
	CHECK_EQ(f->level, level);
	CHECK_HAS(f->what, what);
	CHECK_HAS(f->cure, cure);
	CHECK_EQ(*f->cure == '\0', level == WP_FINDING_OK); /* whoever warns helps */
}

#define OK WP_FINDING_OK
#define WARNS WP_FINDING_WARN
#define FAILS WP_FINDING_FAIL

static void a_healthy_server_has_nothing_to_cure(void **state)
{
	judge();
	CHECK(found.findings.count > 2);
	for (size_t i = 0; i < found.findings.count; i++) {
		CHECK_EQ(found.findings.items[i].level, WP_FINDING_OK);
		CHECK_TEXT(found.findings.items[i].cure, "");
	}
	CHECK_EQ(s.age, WP_PUBLICATION_OLDER);
}

static void an_answer_of_another_shape_is_refused(void **state)
{
	struct wp_error error;
	PGresult *narrow = answer_of(D_COUNT - 1);
	CHECK_EQ(wp_preflight_later_judge(NULL, narrow, &s.options, &s.wanted, &found, &s.age,
					  &error),
		 WP_PROTO);
	PQclear(narrow);
	PGresult *empty = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	CHECK_EQ(wp_preflight_later_judge(NULL, empty, &s.options, &s.wanted, &found, &s.age,
					  &error),
		 WP_PROTO);
	PQclear(empty);
}

static void unlimited_wal_is_warned_of_with_no_more_than_is_needed(void **state)
{
	s.values[D_KEEP_MB] = "-1";
	check_finding("slot_retention", WARNS, "unlimited",
		      "max_slot_wal_keep_size = '10GB'"); /* 1 MB/s for two hours */
	CHECK_HAS(finding("slot_retention")->cure,
		  "-- use less than the free space of pg_wal's disk (see df)");
	CHECK_HAS(finding("slot_retention")->cure, "writes 85GB a day");
	s.values[D_WAL_RATE] = "10485760";
	check_finding("slot_retention", WARNS, "unlimited", "= '71GB'");
	s.values[D_WAL_RATE] = "1024";
	check_finding("slot_retention", WARNS, "unlimited", "= '10GB'");
	s.values[D_WAL_RATE] = NULL; /* counted from now on */
	check_finding("slot_retention", WARNS, "unlimited", "= '10GB'");
}

static void a_rate_of_wal_is_not_told_from_seconds(void **state)
{
	s.values[D_KEEP_MB] = "-1";
	s.values[D_WAL_RATE] = "500000000"; /* initdb */
	s.values[D_WAL_RATE_SINCE] = "3599";
	check_finding("slot_retention", WARNS, "unlimited", "= '10GB'");
	assert_null(strstr(finding("slot_retention")->cure, "a day"));
	s.values[D_KEEP_MB] = "100";
	check_finding("slot_retention", OK, "more than 100 MB of WAL behind", "");
	s.values[D_WAL_RATE_SINCE] = "3600";
	check_finding("slot_retention", WARNS, "loses its slot", "");
}

static void a_limit_that_lasts_less_than_an_hour_is_warned_of(void **state)
{
	check_finding("slot_retention", OK, "65536 MB of WAL behind", "");
	s.values[D_KEEP_MB] = "3599";
	check_finding("slot_retention", WARNS, "is down for 59 min loses its slot", "'10GB'");
	CHECK_HAS(finding("slot_retention")->what, "average of the last 25 h");
	s.values[D_KEEP_MB] = "3600";
	check_finding("slot_retention", OK, "", "");
	s.values[D_KEEP_MB] = "0";
	check_finding("slot_retention", WARNS, "is down for 0 s", "");
	s.values[D_WAL_RATE] = "0";
	check_finding("slot_retention", OK, "", "");
}

static void slots_of_nobody_are_named_and_may_be_dropped(void **state)
{
	s.values[D_ORPHANS] = "old (keeps 5 GB)";
	s.values[D_ORPHANS_DROP] = "SELECT pg_drop_replication_slot('old');";
	check_finding("other_slots", WARNS, "old (keeps 5 GB)",
		      "\nSELECT pg_drop_replication_slot('old');");
}

static void a_slot_that_is_nearly_lost_is_warned_of_whatever_the_rate(void **state)
{
	s.values[D_WAL_RATE] = "1024";
	s.values[D_KEEP_MB] = "1000";
	s.values[D_SLOT_SAFE_MB] = "250";
	check_finding("slot_retention", OK, "", "");
	assert_null(finding("slot_wal"));
	s.values[D_SLOT_SAFE_MB] = "249";
	check_finding("slot_wal", WARNS, "an open transaction holds it back",
		      "CHECKPOINT;\n-- and raise");
	s.values[D_SLOT_LAGS] = "t";
	check_finding("slot_wal", WARNS,
		      "keeps 3 GB of WAL, and is lost with its events after 249 MB more",
		      "-- start the relay");
	CHECK_HAS(finding("slot_wal")->cure, "raise max_slot_wal_keep_size");
	s.values[D_SLOT_WAL_STATUS] = "unreserved";
	s.values[D_SLOT_SAFE_MB] = "-16";
	judge();
	assert_null(finding("slot_wal"));
	s.values[D_SLOT_SAFE_MB] = "249";
	s.values[D_SLOT_WAL_STATUS] = "extended";
	s.values[D_SLOT_ACTIVE_PID] = "17";
	check_finding("slot_wal", WARNS,
		      "(max_slot_wal_keep_size is 1000 MB): its relay is far behind", "--watch");
	s.values[D_KEEP_MB] = "-1"; /* the server then says nothing of what is safe */
	s.values[D_SLOT_SAFE_MB] = NULL;
	check_finding("slot_wal", WARNS, "the disk is filling up", "");
}

static void wal_above_the_servers_measure_is_explained(void **state)
{
	s.values[D_SLOT_WAL_STATUS] = "extended";
	s.values[D_SLOT_LAGS] = "t";
	check_finding("slot_wal", WARNS, "3 GB of WAL, more than max_wal_size: no relay",
		      "-- start the relay");
	s.values[D_SLOT_ACTIVE_PID] = "17";
	check_finding("slot_wal", WARNS, "far behind", "-- see the relay's log for the cause");
	s.values[D_SLOT_LAGS] = "f";
	s.values[D_OLD_PID] = "99";
	check_finding("slot_wal", WARNS, "process 99", "SELECT pg_terminate_backend(99);");
	s.values[D_OLD_PREPARED] = "it's";
	s.values[D_OLD_PREPARED_S] = "7200";
	check_finding("slot_wal", WARNS, "a prepared transaction of 2 h",
		      "ROLLBACK PREPARED 'it''s';");
	s.values[D_OLD_PREPARED] = s.values[D_OLD_PID] = NULL;
	check_finding("slot_wal", WARNS, "none visible", "CHECKPOINT;");
}

static void a_slot_that_no_failover_keeps_is_warned_of_where_others_are_kept(void **state)
{
	s.values[D_SLOT_FAILOVER] = "false";
	check_finding("slot_failover", OK, "no standby that needs a copy of the slot is visible",
		      "");
	CHECK(strstr(finding("slot_failover")->what, "loses") == NULL);
	s.values[D_STANDBYS_ACTIVE] = "a, b";
	check_finding("slot_failover", WARNS,
		      "loses slot s: it lacks the failover flag, although standbys replicate from "
		      "this server: a, b",
		      "ALTER_REPLICATION_SLOT");
	s.values[D_OTHER_FAILOVER] = "other";
	check_finding("slot_failover", WARNS, "a slot with the flag exists: other",
		      "ALTER_REPLICATION_SLOT \"s\" (FAILOVER true);");
	s.values[D_STANDBYS] = "a";
	check_finding("slot_failover", WARNS, "synchronized_standby_slots is set", "");
	s.values[D_SYNC_WORKER] = "t";
	check_finding("slot_failover", WARNS, "a standby copies slots", "");
	s.values[D_VERSION] = "160014";
	check_finding("slot_failover", WARNS,
		      "before 17 does not copy slots to standbys, and some replicate from this "
		      "server: a, b",
		      "walpost init on a promoted server");
	s.values[D_STANDBYS_ACTIVE] = NULL;
	check_finding("slot_failover", OK, "PostgreSQL before 17 does not copy slots", "");
	CHECK(strstr(finding("slot_failover")->what, "loses") == NULL);
}

static void a_slot_that_is_copied_wants_its_standby_waited_for(void **state)
{
	check_finding("slot_failover", OK, "is copied", "");
	s.values[D_SLOT_SYNCED] = "true";
	check_finding("slot_failover", OK, "; it was itself copied to this server", "");
	s.values[D_SYNC_WORKER] = "t";
	check_finding("slot_failover", OK, "", ""); /* by no slot that could be named */
	s.values[D_STANDBYS_ACTIVE] = "a, b";
	check_finding("slot_failover", WARNS, "synchronized_standby_slots is empty",
		      "ALTER SYSTEM SET synchronized_standby_slots = a, b;");
	s.values[D_STANDBYS] = "a,b";
	check_finding("slot_failover", OK, "is copied", "");
	check_finding("standby_slots", OK, "events wait for the standbys of a,b", "");
	s.values[D_IN_RECOVERY] = "t";
	check_finding("slot_failover", OK, "copy of the primary's", "");
	s.values[D_SLOT_SYNCED] = "false";
	check_finding("slot_failover", OK, "the slot belongs to this standby itself", "");
}

static void a_former_primarys_slot_is_told_on_either_server(void **state)
{
	s.values[D_SLOT_SYNCED] = "true";
	s.values[D_SLOT_SYNC] = "not_copied";
	s.values[D_STANDBYS_ACTIVE] = "a, b";
	check_finding(
		"slot_failover", WARNS,
		"this server was promoted, and no standby copies slot s from it, although some "
		"replicate (a, b)",
		"WHERE slot_name = 's' AND NOT synced;");
	s.values[D_IN_RECOVERY] = "t";
	s.values[D_SLOT_SYNCED] = "false";
	s.values[D_SLOT_SYNC] = "in_the_way";
	check_finding("slot_failover", WARNS, "slot s of this standby is not a copy",
		      "pg_drop_replication_slot('s')");
}

static void a_cure_of_what_hurts_later_is_the_providers(void **state)
{
	found.provider = WP_PROVIDER_RDS;
	s.values[D_KEEP_MB] = "-1";
	check_finding("slot_retention", WARNS, "", "max_slot_wal_keep_size = 10240");
	s.values[D_STANDBYS] = "a, b";
	s.values[D_STANDBYS_IDLE] = "b";
	s.values[D_STANDBYS_REST] = "a";
	check_finding("standby_slots", FAILS, "", "parameter group of the instance");
	found.provider = WP_PROVIDER_CNPG;
	check_finding("standby_slots", FAILS, "", "synchronizeLogicalDecoding: true");
	found.provider = WP_PROVIDER_PATRONI;
	check_finding("standby_slots", FAILS, "", "on_role_change callback");
	found.provider = WP_PROVIDER_NONE;
}

static void standbys_that_are_not_there_hold_everything_up(void **state)
{
	s.values[D_STANDBYS] = "a, b, c";
	s.values[D_STANDBYS_IDLE] = "b";
	s.values[D_STANDBYS_REST] = "a, c";
	check_finding("standby_slots", FAILS, "no standby is reading: b",
		      "ALTER SYSTEM SET synchronized_standby_slots = a, c;");
	s.values[D_STANDBYS_MISSING] = "c";
	s.values[D_STANDBYS_REST] = "";
	check_finding("standby_slots", FAILS, "not physical slots of this server: c",
		      "synchronized_standby_slots = '';");
	s.values[D_SLOT_FAILOVER] = "false"; /* then it does not wait */
	judge();
	CHECK(finding("standby_slots") == NULL);
}

static void a_client_that_is_no_walpost_and_has_the_slot_is_named(void **state)
{
	s.values[D_SLOT_ACTIVE_PID] = "17";
	s.values[D_SLOT_HOLDER] = "process 17 (walpost, user app)";
	s.values[D_SLOT_HOLDER_IS_WALPOST] = "t";
	judge();
	CHECK(finding("slot_foreign") == NULL);
	s.values[D_SLOT_HOLDER] = "process 17 (pg_recvlogical, user app)";
	s.values[D_SLOT_HOLDER_IS_WALPOST] = "f";
	check_finding("slot_foreign", WARNS, "is held by process 17 (pg_recvlogical, user app)",
		      "SELECT pg_terminate_backend(17);");
}

static void the_plugin_must_be_allowed(void **state)
{
	s.values[D_PLUGINS] = "test_decoding, my";
	s.values[D_PLUGINS_HAVE_OURS] = "f";
	s.values[D_PLUGINS_QUOTED] = "'test_decoding', 'my'";
	check_finding("output_plugin_libraries", FAILS, "lacks pgoutput",
		      "SET output_plugin_libraries = 'test_decoding', 'my', pgoutput;");
	s.values[D_PLUGINS] = "";
	s.values[D_PLUGINS_QUOTED] = NULL;
	check_finding("output_plugin_libraries", FAILS, "",
		      "SET output_plugin_libraries = pgoutput;");
	s.values[D_PLUGINS] = s.values[D_PLUGINS_HAVE_OURS] = NULL; /* older minors */
	judge();
	CHECK(finding("output_plugin_libraries") == NULL);
}

static void messages_of_everybody_are_warned_of_when_they_are_events(void **state)
{
	s.values[D_EMIT_REVOKE] = "REVOKE EXECUTE ON FUNCTION f FROM PUBLIC;";
	judge();
	CHECK(finding("message_rights") == NULL);
	s.wanted.messages = true;
	check_finding("message_rights", WARNS, "every role", "REVOKE EXECUTE");
}

static void messages_that_are_text_want_walpost_emit_in_another_encoding(void **state)
{
	s.wanted.messages = s.wanted.text_messages = true;
	judge();
	CHECK(finding("message_encoding") == NULL);
	s.values[D_ENCODING] = "LATIN1";
	check_finding("message_encoding", FAILS, "LATIN1", "sql/outbox_emit.sql");
	s.values[D_EMIT] = "t";
	check_finding("message_encoding", OK, "LATIN1", "");
	s.values[D_EMIT_OLD] = "walpost.emit()";
	check_finding("message_encoding", FAILS, "walpost.emit() of an earlier version",
		      "sql/outbox_emit.sql");
	s.wanted.text_messages = false; /* protobuf */
	judge();
	CHECK(finding("message_encoding") == NULL);
}

static void a_younger_publication_is_told_to_the_caller(void **state)
{
	s.values[D_PUB_IS_YOUNGER] = "t";
	judge();
	CHECK_EQ(s.age, WP_PUBLICATION_YOUNGER);
	s.values[D_SLOT] = NULL;
	judge();
	CHECK_EQ(s.age, WP_PUBLICATION_OLDER);
	CHECK(finding("slot_failover") == NULL);
}

static void tables_that_came_later_are_warned_of(void **state)
{
	s.values[D_PUB_TABLES_YOUNGER] = "public.outbox";
	check_finding("publication_since", WARNS, "received public.outbox after", "walpost diff");
}

static void what_cannot_be_decoded_needs_a_new_slot(void **state)
{
	PGconn *pg = PQconnectStart("hostaddr=none");
	found.findings.count = 0;
	wp_preflight_later_decoded(pg, &s.options, NULL, &found);
	CHECK_EQ(finding("slot_decodes")->level, OK);
	found.findings.count = 0;
	wp_preflight_later_decoded(pg, &s.options, "publication \"Pub\" does not exist", &found);
	CHECK_EQ(finding("slot_decodes")->level, FAILS);
	CHECK_EQ(finding("slot_decodes")->reaction, WP_REACT_STOP_HUMAN);
	CHECK_HAS(finding("slot_decodes")->what, "does not exist");
	CHECK_TEXT(finding("slot_decodes")->cure, "-- walpost backfill --missing --force");
	PQfinish(pg);
}

int main(void)
{
	return RUN(FRESH(a_healthy_server_has_nothing_to_cure),
		   FRESH(an_answer_of_another_shape_is_refused),
		   FRESH(unlimited_wal_is_warned_of_with_no_more_than_is_needed),
		   FRESH(a_rate_of_wal_is_not_told_from_seconds),
		   FRESH(a_limit_that_lasts_less_than_an_hour_is_warned_of),
		   FRESH(slots_of_nobody_are_named_and_may_be_dropped),
		   FRESH(wal_above_the_servers_measure_is_explained),
		   FRESH(a_slot_that_is_nearly_lost_is_warned_of_whatever_the_rate),
		   FRESH(a_slot_that_no_failover_keeps_is_warned_of_where_others_are_kept),
		   FRESH(a_slot_that_is_copied_wants_its_standby_waited_for),
		   FRESH(a_former_primarys_slot_is_told_on_either_server),
		   FRESH(a_cure_of_what_hurts_later_is_the_providers),
		   FRESH(standbys_that_are_not_there_hold_everything_up),
		   FRESH(a_client_that_is_no_walpost_and_has_the_slot_is_named),
		   FRESH(the_plugin_must_be_allowed),
		   FRESH(messages_of_everybody_are_warned_of_when_they_are_events),
		   FRESH(messages_that_are_text_want_walpost_emit_in_another_encoding),
		   FRESH(a_younger_publication_is_told_to_the_caller),
		   FRESH(tables_that_came_later_are_warned_of),
		   FRESH(what_cannot_be_decoded_needs_a_new_slot));
}

#include "support/check.h"

#include <string.h>

#include "preflight_answer.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres_preflight/preflight.h"
#include "walpost/source/slot_cure.h"

static const char *const columns[] = { "id", "key", "payload" };
static const char *const definitions[] = { "uuid PRIMARY KEY", "varchar(255) NOT NULL", "jsonb" };

/* A server on which all is well; a test changes what it is about. NULL is SQL's. */
struct server {
	const char *values[A_COUNT];
	struct wp_postgres_options options;
	struct wp_requirements_table table;
	const char *ignore;
	bool by_pattern;
	struct wp_requirements wanted;
	PGconn *pg; /* never connects; for quoting */
	const char *conninfo;
};

static struct wp_preflight found; /* large; what judge() found last */

static struct server s;

static int set_up(void **state)
{
	s = (struct server){
		.values = {
			[A_VERSION] = "180004",
			[A_VERSION_TEXT] = "18.4",
			[A_IN_RECOVERY] = "f",
			[A_DATABASE] = "shop",
			[A_ENCODING] = "UTF8",
			[A_WAL_LEVEL] = "logical",
			[A_MAX_SENDERS] = "10",
			[A_SENDERS] = "0",
			[A_MAX_SLOTS] = "10",
			[A_SLOTS] = "1",
			[A_SENDER_TIMEOUT] = "60000",
			[A_SENDER_TIMEOUT_SOURCE] = "default",
			[A_SYNC_NAMES] = "",
			[A_APPLICATION] = "walpost",
			[A_ROLE] = "re\"lay",
			[A_ROLE_MAY] = "t",
			[A_SLOT_TYPE] = "logical",
			[A_SLOT_PLUGIN] = "pgoutput",
			[A_SLOT_DATABASE] = "shop",
			[A_SLOT_TEMPORARY] = "false",
			[A_SLOT_TWO_PHASE] = "false",
			[A_SLOT_WAL_STATUS] = "reserved",
			[A_SLOT_RESTART] = "0/1F00000",
			[A_SERVER_LSN] = "0/2000000",
			[A_SLOT_CONFIRMED] = "0/15A3F28",
			[A_PUB] = "16390",
			[A_PUB_ALL] = "false",
			[A_PUB_INSERT] = "true",
			[A_PUB_UPDATE] = "false",
			[A_PUB_DELETE] = "false",
			[A_PUB_TRUNCATE] = "false",
			[A_PUB_VIA_ROOT] = "true",
			[A_PUB_NAMES_TABLE] = "t",
			[A_PUB_LISTED] = "1",
			[A_PUB_OTHERS] = "0",
			[A_TABLE_KIND] = "r",
			[A_TABLE_PERSISTENCE] = "p",
			[A_TABLE_COLUMNS] = "id, key, payload",
			[A_TABLE_LEAVES] = "1",
			[A_NO_IDENTITY] = "f",
			[A_SLOT_CHECKPOINT] = "t",
			[A_SLOT_CHECKPOINT_MAY] = "t",
			[A_SLOT_CHECKPOINT_WHOLE] = "t",
		},
		.options = { .conninfo = "dbname=shop", .slot = "s", .publication = "Pub" },
		.table = { .schema = "public", .name = "outbox", .columns = columns, .column_count = 3,
			   .definitions = definitions },
		.ignore = "",
		.conninfo = "hostaddr=none",
	};
	return 0;
}

static PGresult *answer_of(int count)
{
	PGresult *answer = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc names[A_COUNT + 1];
	for (int i = 0; i < count; i++)
		names[i] = (PGresAttDesc){ .name = (char *)"column" };
	CHECK(PQsetResultAttrs(answer, count, names));
	for (int i = 0; i < count; i++) {
		const char *value = i < A_COUNT ? s.values[i] : "0";
		CHECK(PQsetvalue(answer, 0, i, (char *)value, value ? (int)strlen(value) : -1));
	}
	return answer;
}

static const struct wp_requirements *wanted_of(void)
{
	s.wanted = (struct wp_requirements){ .tables = &s.table,
					     .count = 1,
					     .ignore = s.ignore,
					     .ignores_by_pattern = s.by_pattern };
	return &s.wanted;
}

static const struct wp_preflight *judge(void)
{
	struct wp_error error;
	s.pg = PQconnectStart(s.conninfo);
	PGresult *answer = answer_of(A_COUNT + 1);
	CHECK_EQ(wp_preflight_judge(s.pg, answer, &s.options, wanted_of(), &found, &error), WP_OK);
	PQclear(answer);
	PQfinish(s.pg);
	return &found;
}

/* The one of that name; there must be one. */
static const struct wp_finding *in(const struct wp_findings *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->items[i].name, name))
			return &f->items[i];
	fail_msg("no finding %s", name);
	return NULL;
}

static const struct wp_finding *finding(const struct wp_preflight *p, const char *name)
{
	return in(&p->findings, name);
}

static void check_nothing(const char *name)
{
	const struct wp_findings *f = &judge()->findings;
	for (size_t i = 0; i < f->count; i++)
		CHECK(strcmp(f->items[i].name, name) != 0);
}

static void check_finding(const char *name, enum wp_finding_level level, const char *what,
			  const char *cure)
{
	const struct wp_finding *f = finding(judge(), name);
	CHECK_EQ(f->level, level);
	CHECK_HAS(f->what, what);
	CHECK_HAS(f->cure, cure);
	if (level != WP_FINDING_FAIL)
		CHECK_EQ(f->reaction, WP_REACT_NONE);
}

static void check_fails(const char *name, enum wp_reaction reaction, const char *what,
			const char *cure)
{
	check_finding(name, WP_FINDING_FAIL, what, cure);
	const struct wp_finding *first = wp_findings_failure(&found.findings);
	assert_non_null(first);
	CHECK_TEXT(first->name, name);
	CHECK_EQ(first->reaction, reaction);
}

#define WARNS WP_FINDING_WARN
#define OK WP_FINDING_OK

static void a_healthy_server_has_nothing_to_cure(void **state)
{
	const struct wp_preflight *p = judge();
	CHECK(!wp_findings_failure(&p->findings));
	CHECK(p->slot_exists && p->publication_exists && p->table_exists[0] &&
	      p->slot_checkpoint_ready && !p->slot_active);
	for (size_t i = 0; i < p->findings.count; i++) {
		CHECK_EQ(p->findings.items[i].level, WP_FINDING_OK);
		CHECK_TEXT(p->findings.items[i].cure, "");
	}
}

static void an_answer_of_another_shape_is_refused(void **state)
{
	struct wp_error error;
	PGresult *narrow = answer_of(A_COUNT);
	CHECK_EQ(wp_preflight_judge(NULL, narrow, &s.options, wanted_of(), &found, &error),
		 WP_PROTO);
	PQclear(narrow);
	PGresult *empty = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	CHECK_EQ(wp_preflight_judge(NULL, empty, &s.options, wanted_of(), &found, &error),
		 WP_PROTO);
	PQclear(empty);
	PGresult *failed = PQmakeEmptyPGresult(NULL, PGRES_FATAL_ERROR);
	CHECK_EQ(wp_preflight_judge(NULL, failed, &s.options, wanted_of(), &found, &error),
		 WP_PROTO);
	PQclear(failed);
}

static void the_server_must_be_14_or_newer(void **state)
{
	s.values[A_VERSION] = "130020";
	check_fails("server_version", WP_REACT_STOP_CONFIG,
		    "is too old: walpost requires 14 or newer", "-- upgrade the server");
	set_up(state);
	s.values[A_VERSION] = "140021";
	check_finding("server_version", OK, "", "");
	s.values[A_VERSION] = "990000";
	s.values[A_VERSION_TEXT] = "99.0";
	check_finding("server_version", OK, "PostgreSQL 99.0 is newer than", "");
}

static void minors_with_known_bugs_are_warned_of(void **state)
{
	s.values[A_VERSION] = "150013";
	s.values[A_VERSION_TEXT] = "15.13 (Debian)";
	check_finding("server_version", WARNS, "PostgreSQL 15.13 (Debian) can run out of",
		      "-- upgrade the server to PostgreSQL 15.20 or newer");
	CHECK_HAS(finding(&found, "server_version")->what, "; can invalidate a new slot");
	assert_null(strstr(finding(&found, "server_version")->what, "lose rows"));
}

static void a_standby_may_become_a_primary(void **state)
{
	s.values[A_IN_RECOVERY] = "t";
	check_fails("primary", WP_REACT_RECONNECT, "standby", "target_session_attrs=read-write");
}

static void wal_level_must_be_logical(void **state)
{
	s.values[A_WAL_LEVEL] = "replica";
	check_fails("wal_level", WP_REACT_STOP_CONFIG, "restart",
		    "ALTER SYSTEM SET wal_level = 'logical';");
}

/* PostgreSQL 19: wal_level = replica is enough, for the first logical slot raises it. */
static void the_effective_wal_level_counts(void **state)
{
	s.values[A_WAL_LEVEL] = "replica";
	s.values[A_WAL_LEVEL_EFFECTIVE] = "logical";
	check_finding("wal_level", OK, "logical", "");
	s.values[A_WAL_LEVEL_EFFECTIVE] = "replica";
	check_fails("wal_level", WP_REACT_STOP_CONFIG, "wal_level is replica", "ALTER SYSTEM");
	s.values[A_SLOT_TYPE] = NULL;
	check_finding("wal_level", OK, "raises it to logical with the slot", "");
	s.values[A_WAL_LEVEL] = s.values[A_WAL_LEVEL_EFFECTIVE] = "minimal";
	check_finding("wal_level", WP_FINDING_FAIL, "wal_level is minimal", "ALTER SYSTEM");
}

/* PostgreSQL 19. */
static void a_publication_of_all_tables_may_except_the_outbox(void **state)
{
	s.values[A_PUB_ALL] = "true";
	check_finding("publication_table", OK, "", "");
	s.values[A_PUB_EXCEPTED] = "public.outbox";
	check_finding("publication_table", WP_FINDING_FAIL,
		      "for all tables except some, among them public.outbox", "SET ALL TABLES;");
}

static void check_provider(const char *signs, const char *name, const char *logical,
			   const char *senders, const char *role)
{
	set_up(NULL);
	s.values[A_PROVIDER_SIGNS] = signs;
	check_finding("provider", OK, name, "");
	s.values[A_ROLE_MAY] = "f";
	check_fails("role", WP_REACT_STOP_CONFIG, "", role);
	s.values[A_SENDERS] = "10";
	check_finding("max_wal_senders", WP_FINDING_FAIL, "", senders);
	s.values[A_WAL_LEVEL] = "replica";
	check_fails("wal_level", WP_REACT_STOP_CONFIG, "", logical);
}

static void a_cure_is_the_providers(void **state)
{
	check_provider("role:rds_replication", "Amazon RDS",
		       "rds.logical_replication = 1\n-- then reboot",
		       "max_wal_senders = 15\n-- then reboot the instance",
		       "GRANT rds_replication TO \"re\"\"lay\";");
	check_provider("function:aurora_version", "Amazon Aurora", "DB cluster parameter group",
		       "max_wal_senders = 15\n-- then reboot the writer",
		       "GRANT rds_replication TO \"re\"\"lay\";");
	check_provider("role:cloudsqlsuperuser", "Google Cloud SQL", "cloudsql.logical_decoding=on",
		       "max_wal_senders=15 to the instance",
		       "ALTER USER \"re\"\"lay\" WITH REPLICATION;");
	check_provider("role:alloydbsuperuser", "Google AlloyDB", "alloydb.logical_decoding=on",
		       "max_wal_senders=15", "ALTER USER \"re\"\"lay\" WITH REPLICATION;");
	check_provider("role:azure_pg_admin", "Azure", "--name wal_level --value logical",
		       "--name max_wal_senders --value 15",
		       "-- as the administrator of the server:\nALTER ROLE \"re\"\"lay\" WITH "
		       "REPLICATION;");
	check_provider("role:supabase_admin", "Supabase", "wal_level=logical",
		       "--config max_wal_senders=15", "-- as the role postgres:\nALTER ROLE");
	check_provider("role:neon_superuser", "Neon", "Settings, Logical Replication, Enable",
		       "max_wal_senders = 15: Neon's support", "created in the Neon console");
	check_provider("role:avnadmin", "Aiven", "ask its support", "-c pg.max_wal_senders=15",
		       "-- as the role avnadmin:\nALTER ROLE");
	check_provider("files:cnpg", "CloudNativePG", "wal_level: \"logical\"",
		       "max_wal_senders: \"15\"\n-- the operator restarts", "replication: true");
	check_provider("session:patroni", "Patroni", "--pg wal_level=logical",
		       "--pg max_wal_senders=15\n-- then: patronictl restart",
		       "ALTER ROLE \"re\"\"lay\" REPLICATION;");
}

static void a_value_has_the_unit_that_the_provider_takes(void **state)
{
	s.values[A_SENDER_TIMEOUT] = "100";
	s.values[A_PROVIDER_SIGNS] = "role:azure_pg_admin";
	check_finding("wal_sender_timeout", WARNS, "", "--name wal_sender_timeout --value 60000");
	s.values[A_PROVIDER_SIGNS] = "files:cnpg";
	check_finding("wal_sender_timeout", WARNS, "", "wal_sender_timeout: \"60s\"");
	s.values[A_SLOT_IDLE] = "60";
	s.values[A_SLOT_IDLE_TEXT] = "1h";
	check_finding("idle_replication_slot_timeout", WARNS, "1h",
		      "idle_replication_slot_timeout: \"0\"");
	s.values[A_SLOT_WAL_STATUS] = "unreserved";
	check_finding("slot", WARNS, "", "max_slot_wal_keep_size: \"-1\"");
}

static void neon_removes_slots(void **state)
{
	s.values[A_PROVIDER_SIGNS] = "role:neon_superuser";
	check_finding("provider_slots", WARNS, "about 40 hours", "-- keep a relay running");
}

static void a_pooler_is_known_by_its_name(void **state)
{
	s.conninfo = "host=ep-a-1-pooler.eu-central-1.aws.neon.tech hostaddr=none user=relay";
	check_finding("pooler", WARNS, "is a connection pooler of Neon",
		      "host=ep-a-1.eu-central-1.aws.neon.tech");
	check_finding("provider", OK, "Neon", "");
}

static void there_must_be_room_for_one_more(void **state)
{
	s.values[A_SENDERS] = "9";
	check_finding("max_wal_senders", OK, "9 of 10", "");
	s.values[A_SENDERS] = "10";
	check_fails("max_wal_senders", WP_REACT_RECONNECT, "all 10",
		    "ALTER SYSTEM SET max_wal_senders = 15;");
	s.values[A_SLOT_ACTIVE_PID] = "17"; /* a relay runs: it has one */
	check_finding("max_wal_senders", OK, "", "");
	set_up(state);
	s.values[A_SLOTS] = "10"; /* ours among them */
	check_finding("max_replication_slots", OK, "", "");
	s.values[A_SLOT_TYPE] = NULL;
	check_fails("max_replication_slots", WP_REACT_RECONNECT, "all 10",
		    "max_replication_slots = 15;");
}

static void the_role_must_be_able_to_replicate(void **state)
{
	s.values[A_ROLE_MAY] = "f";
	check_fails("role", WP_REACT_STOP_CONFIG, "REPLICATION",
		    "ALTER ROLE \"re\"\"lay\" REPLICATION;");
	s.values[A_ROLE_CLOUD] = "f"; /* there is such a role */
	s.values[A_PROVIDER_SIGNS] = "role:rds_replication";
	check_fails("role", WP_REACT_STOP_CONFIG, "", "GRANT rds_replication TO \"re\"\"lay\";");
	s.values[A_ROLE_CLOUD] = "t";
	check_finding("role", OK, "", "");
}

static void the_table_must_be_there_and_be_one(void **state)
{
	s.values[A_TABLE_KIND] = NULL;
	check_fails("table", WP_REACT_STOP_CONFIG, "there is no table", "\"id\" uuid PRIMARY KEY,");
	s.values[A_TABLE_KIND] = "v";
	s.values[A_TABLE_BENEATH] = "public.\"Base\"";
	check_fails("table", WP_REACT_STOP_CONFIG, "a view",
		    "-- set outbox.table = public.\"Base\"");
	s.values[A_TABLE_KIND] = "m";
	s.values[A_TABLE_BENEATH] = NULL;
	check_fails("table", WP_REACT_STOP_CONFIG, "materialized view", "-- set outbox.table");
	s.values[A_TABLE_KIND] = "S";
	check_fails("table", WP_REACT_STOP_CONFIG, "not a table", "-- set outbox.table");
	s.values[A_TABLE_KIND] = "f";
	check_fails("table", WP_REACT_STOP_CONFIG, "foreign table", "postgres.conninfo");
}

static void missing_columns_are_named_and_added(void **state)
{
	s.values[A_TABLE_MISSING] = "key, payload";
	s.values[A_TABLE_MISSING_AT] = "1,2";
	check_fails("table_columns", WP_REACT_STOP_CONFIG, "lacks key, payload",
		    "ALTER TABLE \"public\".\"outbox\" ADD COLUMN \"key\" varchar(255);\n"
		    "ALTER TABLE \"public\".\"outbox\" ADD COLUMN \"payload\" jsonb;");
}

static void rows_that_are_not_in_the_log_are_refused(void **state)
{
	s.values[A_LEAVES_UNLOGGED] = "ALTER TABLE public.outbox SET LOGGED;";
	check_fails("table_storage", WP_REACT_STOP_CONFIG, "unlogged",
		    "ALTER TABLE public.outbox SET LOGGED;");
	s.values[A_LEAVES_UNLOGGED] = NULL;
	s.values[A_LEAVES_FOREIGN] = "public.far";
	check_fails("table_storage", WP_REACT_STOP_CONFIG, "public.far", "public.far");
	s.values[A_TABLE_PERSISTENCE] = "t";
	check_fails("table_storage", WP_REACT_STOP_CONFIG, "temporary", "outbox.table");
}

static void a_missing_publication_needs_a_new_slot_as_well(void **state)
{
	s.values[A_PUB] = NULL;
	check_fails("publication", WP_REACT_STOP_HUMAN, "there is no publication Pub",
		    "CREATE PUBLICATION \"Pub\" FOR TABLE ONLY \"public\".\"outbox\"");
	CHECK_HAS(wp_findings_failure(&found.findings)->cure, "walpost backfill --missing --force");
	s.values[A_SLOT_PLUGIN] = "test_decoding"; /* someone else's: stays */
	judge();
	assert_null(strstr(wp_findings_failure(&found.findings)->cure, "backfill"));
}

static void the_publication_must_have_the_table(void **state)
{
	s.values[A_PUB_NAMES_TABLE] = "f";
	s.values[A_PUB_LISTED] = "0";
	check_fails("publication_table", WP_REACT_STOP_HUMAN, "lacks \"public\".\"outbox\"",
		    "ALTER PUBLICATION \"Pub\" ADD TABLE ONLY \"public\".\"outbox\";");
}

static void a_name_that_differs_in_case_only_is_refused_by_name(void **state)
{
	s.values[A_CASE_IN_PUB] = "public.\"Outbox\"";
	check_finding("table_case", WARNS, "also has public.\"Outbox\", whose name differs",
		      "-- set outbox.table = public.\"Outbox\"");
	s.values[A_PUB_NAMES_TABLE] = "f";
	s.values[A_PUB_LISTED] = "0";
	check_fails("publication_table", WP_REACT_STOP_HUMAN,
		    "lacks \"public\".\"outbox\" but has public.\"Outbox\", whose name differs "
		    "only in case",
		    "-- set outbox.table = public.\"Outbox\"");
	s.values[A_TABLE_KIND] = NULL;
	s.values[A_CASE_THERE] = "public.\"Outbox\"";
	check_fails("table_case", WP_REACT_STOP_CONFIG,
		    "there is public.\"Outbox\", whose name differs only in case",
		    "-- set outbox.table = public.\"Outbox\"");
}

static void partitions_must_all_be_published(void **state)
{
	s.values[A_TABLE_KIND] = "p";
	s.values[A_TABLE_LEAVES] = "3";
	s.values[A_PUB_LISTED] = "3";
	check_finding("publication_table", OK, "", "");
	s.values[A_PUB_NAMES_TABLE] = "f";
	check_finding("publication_table", WARNS, "later partitions", "ADD TABLE ONLY");
	s.values[A_PUB_LISTED] = "2";
	s.values[A_PUB_UNLISTED] = "public.p3";
	check_fails("publication_table", WP_REACT_STOP_HUMAN, "lacks public.p3", "ADD TABLE ONLY");
}

static void a_partitioned_outbox_without_partitions_is_fine(void **state)
{
	s.values[A_TABLE_KIND] = "p";
	s.values[A_TABLE_LEAVES] = "0";
	s.values[A_PUB_LISTED] = "0";
	check_finding("publication_table", OK, "", "");
	s.values[A_PUB_NAMES_TABLE] = "f";
	check_fails("publication_table", WP_REACT_STOP_HUMAN, "lacks", "ADD TABLE ONLY");
	s.values[A_PUB_ALL] = "true";
	check_finding("publication_table", OK, "", "");
}

static void rows_should_come_under_the_name_of_the_outbox(void **state)
{
	s.values[A_TABLE_KIND] = "p";
	s.values[A_PUB_VIA_ROOT] = "false";
	check_finding("publication_root", WARNS, "names of the partitions",
		      "publish_via_partition_root = true");
	s.ignore = "audit";
	check_finding("publication_root", WARNS, "stops the relay, unless outbox.leaves covers it",
		      "publish_via_partition_root = true");
	set_up(state);
	s.values[A_PUB_ABOVE] = "public.all_events";
	check_fails("publication_root", WP_REACT_STOP_CONFIG, "public.all_events",
		    "publish_via_partition_root = false");
}

/* Where a pattern could take one that is gone for a table of no interest. */
static void partitions_by_name_are_refused_beside_a_pattern_of_ignored_tables(void **state)
{
	s.values[A_TABLE_KIND] = "p";
	s.values[A_PUB_VIA_ROOT] = "false";
	s.ignore = "*";
	s.by_pattern = true;
	check_fails("publication_root", WP_REACT_STOP_HUMAN, "outbox.ignore (*) has a pattern",
		    "publish_via_partition_root = true");
	s.table.leaves = "[]";
	check_fails("publication_root", WP_REACT_STOP_HUMAN,
		    "outbox.leaves does not cover:", "make outbox.leaves cover all");
	s.table.leaves = "[[\"public\",\"p%\"]]";
	s.values[A_LEAVES_UNCOVERED] = "public.other";
	check_fails("publication_root", WP_REACT_STOP_HUMAN, "such as public.other",
		    "make outbox.leaves cover all");
	s.values[A_LEAVES_UNCOVERED] = NULL;
	check_finding("publication_root", WARNS, "names of the partitions", "");
	s.table.leaves = NULL;
	s.values[A_TABLE_KIND] = "r";
	s.values[A_FITTING_PARTITIONED] = "t"; /* not the newest */
	check_fails("publication_root", WP_REACT_STOP_HUMAN, "has a pattern", "");
	s.values[A_PUB_VIA_ROOT] = "true";
	check_nothing("publication_root");
}

static void children_that_are_not_published_fail(void **state)
{
	check_nothing("publication_children");
	s.values[A_CHILD_UNLISTED] = "public.a, public.b";
	s.values[A_CHILD_TO_LIST] = "ONLY public.a, ONLY public.b";
	s.values[A_CHILD_UNCONFIGURED] = "public.b";
	check_fails("publication_children", WP_REACT_STOP_HUMAN,
		    "\"public\".\"outbox\": public.a, public.b. Their rows are not relayed",
		    "ALTER PUBLICATION \"Pub\" ADD TABLE ONLY public.a, ONLY public.b;\n"
		    "-- then set outbox.leaves = public.b\n"
		    "-- or, if their rows are not events");
	CHECK_HAS(found.slot_state.loss.text, "public.a, public.b");
	s.values[A_CHILD_UNCONFIGURED] = NULL;
	check_fails("publication_children", WP_REACT_STOP_HUMAN, "lacks",
		    "ONLY public.b;\n-- or, if their rows are not events");
	s.values[A_CHILD_TO_LOG] = "ALTER TABLE public.a SET LOGGED;";
	check_fails("publication_children", WP_REACT_STOP_HUMAN,
		    "unlogged ones cannot be published", "SET LOGGED;\nALTER PUBLICATION");
	s.values[A_PUB_ALL] = "true";
	check_fails("publication_children", WP_REACT_STOP_HUMAN, "lacks",
		    "SET LOGGED;\n-- or, if their rows are not events");
}

static void children_that_are_published_and_not_configured_fail(void **state)
{
	s.values[A_CHILD_UNCONFIGURED] = "public.child";
	check_fails("publication_children", WP_REACT_STOP_HUMAN, "Their first row stops the relay",
		    "-- set outbox.leaves = public.child\n-- or, ");
	s.table.section = "orders";
	s.table.leaves_written = "a_*, b";
	check_fails("publication_children", WP_REACT_STOP_HUMAN, "public.child",
		    "-- set outbox.orders.leaves = a_*, b, public.child\n");
	char long_leaves[600];
	memset(long_leaves, 'a', sizeof(long_leaves) - 1);
	long_leaves[sizeof(long_leaves) - 1] = '\0';
	s.table.leaves_written = long_leaves;
	check_fails("publication_children", WP_REACT_STOP_HUMAN, "public.child",
		    "-- add to outbox.orders.leaves: public.child\n");
}

static void children_of_which_no_publication_is_a_cure_fail(void **state)
{
	s.values[A_CHILD_UNLISTED] = s.values[A_CHILD_CHUNK] =
		"_timescaledb_internal._hyper_1_2_chunk";
	check_fails("publication_children", WP_REACT_STOP_HUMAN,
		    "\"outbox\" is a TimescaleDB hypertable",
		    "a plain table, or one that PostgreSQL");
	s.values[A_CHILD_CHUNK] = NULL;
	s.values[A_CHILD_FOREIGN] = "public.far";
	check_fails("publication_children", WP_REACT_STOP_HUMAN, "another server's WAL: public.far",
		    "-- make them tables of this server: public.far");
}

static void tables_like_an_outbox_that_a_pattern_covers_are_named(void **state)
{
	check_nothing("publication_lookalikes");
	s.values[A_PUB_LOOKALIKES] = "1";
	s.values[A_PUB_LOOKALIKE_NAMES] = "public.child";
	check_finding("publication_lookalikes", WARNS, "1 more table with the id",
		      "exact names to outbox.ignore: public.child");
	s.values[A_PUB_LOOKALIKES] = "6";
	check_finding("publication_lookalikes", WARNS, "(public.child, ...)", "");
}

static void needed_columns_must_not_be_hidden(void **state)
{
	s.values[A_PUB_HIDDEN] = "payload";
	s.values[A_PUB_LIMITED] = "public.outbox";
	check_fails("publication_columns", WP_REACT_STOP_HUMAN, "omits required columns: payload",
		    "BEGIN;\nALTER PUBLICATION \"Pub\" DROP TABLE public.outbox;\n"
		    "ALTER PUBLICATION \"Pub\" ADD TABLE public.outbox;\nCOMMIT;");
}

static void generated_columns_are_published_since_18_only(void **state)
{
	s.values[A_PUB_GENERATED] = "\"Pay\"\",load\", key";
	check_fails("publication_generated", WP_REACT_STOP_HUMAN, "generated",
		    "publish_generated_columns = stored");
	s.values[A_VERSION] = "170010";
	check_fails("publication_generated", WP_REACT_STOP_HUMAN,
		    "PostgreSQL before 18 does not publish generated columns:",
		    "ALTER COLUMN \"Pay\"\",load\" DROP EXPRESSION;\n"
		    "ALTER TABLE \"public\".\"outbox\" ALTER COLUMN key DROP EXPRESSION;");
}

static void rows_must_not_be_filtered(void **state)
{
	s.values[A_PUB_FILTER] = "(key > 'a')";
	s.values[A_PUB_LIMITED] = "public.outbox";
	check_fails("publication_filter", WP_REACT_STOP_HUMAN, "(key > 'a')",
		    "DROP TABLE public.outbox");
}

static void inserts_must_be_published_and_other_kinds_stay(void **state)
{
	s.values[A_PUB_INSERT] = "false";
	s.values[A_PUB_DELETE] = "true";
	check_fails("publication_inserts", WP_REACT_STOP_HUMAN, "inserts",
		    "SET (publish = 'insert, delete');");
}

static void deletes_of_a_table_without_identity_are_warned_of(void **state)
{
	s.values[A_PUB_DELETE] = "true";
	s.values[A_NO_IDENTITY] = "t";
	check_finding("publication_deletes", WARNS,
		      "has no replica identity: updates or deletes by the application fail",
		      "SET (publish = 'insert');");
}

static void other_tables_are_warned_of(void **state)
{
	s.values[A_PUB_OTHERS] = "5";
	s.values[A_PUB_OTHER_NAMES] = "a.b, c.d";
	check_finding("publication_others", WARNS, "5 more",
		      "only rows of others may be dropped:\n-- set outbox.ignore = a.b, c.d");
	s.values[A_PUB_OTHERS] = "6";
	check_finding("publication_others", WARNS, "6 more tables (a.b, c.d, ...)",
		      "list only others in outbox.ignore, which drops their rows");
	s.ignore = "a.*";
	check_finding("publication_others", WP_FINDING_OK, "outbox.ignore (a.*)", "");
}

static void a_missing_slot_is_made(void **state)
{
	s.values[A_SLOT_TYPE] = NULL;
	check_fails("slot", WP_REACT_STOP_HUMAN, "there is no slot s",
		    "-- if a relay has used it: walpost backfill --missing\n"
		    "-- for a first start: walpost init");
	CHECK(!found.slot_exists);
}

static void a_slot_of_someone_else_is_left_alone(void **state)
{
	s.values[A_SLOT_TYPE] = "physical";
	check_fails("slot", WP_REACT_STOP_HUMAN, "physical", "('s_new', 'pgoutput'");
	set_up(state);
	s.values[A_SLOT_PLUGIN] = "wal2json";
	check_fails("slot", WP_REACT_STOP_HUMAN, "wal2json", "-- then set postgres.slot = s_new");
	set_up(state);
	s.values[A_SLOT_DATABASE] = "other";
	check_fails("slot", WP_REACT_STOP_HUMAN, "belongs to database other", "s_new");
	set_up(state);
	s.values[A_SLOT_TEMPORARY] = "true";
	check_fails("slot", WP_REACT_STOP_HUMAN, "temporary", "s_new");
}

static void a_slot_that_cannot_be_used_is_made_anew(void **state)
{
	static const struct {
		enum wp_preflight_column column;
		const char *value, *what;
	} cases[] = {
		{ A_SLOT_TWO_PHASE, "true", "two_phase" },
		{ A_SLOT_WAL_STATUS, "lost", "WAL removed" },
		{ A_SLOT_INVALIDATION, "idle_timeout", "idle_timeout" },
		{ A_SLOT_CONFLICTING, "true", "conflict" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up(state);
		s.values[cases[i].column] = cases[i].value;
		check_fails("slot", WP_REACT_STOP_HUMAN, cases[i].what,
			    "walpost backfill --missing --force");
		CHECK_HAS(wp_findings_failure(&found.findings)->what, "0/15A3F28");
	}
}

static void a_slot_about_to_be_lost_is_warned_of(void **state)
{
	s.values[A_SLOT_WAL_STATUS] = "unreserved";
	check_finding("slot", WARNS, "will be lost", "max_slot_wal_keep_size = '-1'");
}

static void a_slot_in_use_is_fine(void **state)
{
	s.values[A_SLOT_ACTIVE_PID] = "4711";
	check_finding("slot", OK, "process 4711", "");
	CHECK(found.slot_active);
}

static void commits_must_not_wait_for_us_unless_allowed(void **state)
{
	s.values[A_SYNC_NAMES] = "ANY 1 (s1, WALPOST)";
	check_fails("synchronous_standby_names", WP_REACT_STOP_CONFIG, "lists walpost",
		    "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (\"s1\")'; SELECT "
		    "pg_reload_conf();");
	s.options.allow_synchronous = true;
	check_finding("synchronous_standby_names", OK, "as allowed", "");
}

static void the_name_of_conninfo_counts(void **state)
{
	s.values[A_SYNC_NAMES] = "relay1";
	check_finding("synchronous_standby_names", OK, "walpost is not listed", "");
	s.options.conninfo = "dbname=shop application_name=Relay1";
	check_fails("synchronous_standby_names", WP_REACT_STOP_CONFIG, "application_name Relay1",
		    "= '';");
	s.values[A_SYNC_NAMES] = "walpost";
	check_finding("synchronous_standby_names", OK, "walpost is not listed", "");
	s.options.conninfo = "";
	s.values[A_APPLICATION] = "of a service file";
	check_fails("synchronous_standby_names", WP_REACT_STOP_CONFIG, "application_name walpost",
		    "= '';");
}

static void a_short_sender_timeout_is_warned_of(void **state)
{
	s.values[A_SENDER_TIMEOUT] = "4999";
	check_finding("wal_sender_timeout", WARNS, "4999 ms",
		      "ALTER SYSTEM SET wal_sender_timeout = '60s'");
	s.values[A_SENDER_TIMEOUT] = "5000";
	check_finding("wal_sender_timeout", OK, "5000 ms", "");
	s.values[A_SENDER_TIMEOUT] = "0";
	check_finding("wal_sender_timeout", WARNS, "0 (disabled)", "wal_sender_timeout = '60s'");
}

static void a_sender_timeout_is_cured_where_it_is_set(void **state)
{
	static const struct {
		const char *source, *cure;
	} cases[] = {
		{ "configuration file", "ALTER SYSTEM SET" },
		{ "database", "ALTER DATABASE \"shop\" SET" },
		{ "user", "ALTER ROLE \"re\"\"lay\" SET" },
		{ "database user", "ALTER ROLE \"re\"\"lay\" IN DATABASE \"shop\" SET" },
		{ "client", "wal_sender_timeout from postgres.conninfo" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up(state);
		s.values[A_SENDER_TIMEOUT] = "0";
		s.values[A_SENDER_TIMEOUT_SOURCE] = cases[i].source;
		check_finding("wal_sender_timeout", WARNS, "", cases[i].cure);
	}
}

static void a_limit_on_idle_slots_is_warned_of(void **state)
{
	s.values[A_SLOT_IDLE] = "86400";
	s.values[A_SLOT_IDLE_TEXT] = "1d";
	check_finding("idle_replication_slot_timeout", WARNS, "1d: a relay that is stopped",
		      "SET idle_replication_slot_timeout = 0");
}

static void updates_that_are_looked_for_must_be_published(void **state)
{
	s.table.updates = "outbox.on_update = stop";
	check_finding("publication_updates", WARNS, "outbox.on_update = stop has no effect",
		      "SET (publish = 'insert, update');");
	s.values[A_PUB_UPDATE] = "true";
	judge();
	for (size_t i = 0; i < found.findings.count; i++)
		CHECK(strcmp(found.findings.items[i].name, "publication_updates") != 0);
}

static void a_role_that_settings_give_and_that_may_more_is_a_failure(void **state)
{
	s.values[A_ROLE_BEFORE] = "app_owner";
	check_nothing("rights");
	s.values[A_ROLE_LACKS] = "checkpoint, parked";
	s.values[A_ROLE_GRANTS] = "GRANT INSERT ON walpost.slot_checkpoint TO relay;\n"
				  "GRANT SELECT ON walpost.parked TO relay;";
	check_fails("rights", WP_REACT_STOP_CONFIG,
		    "role app_owner may use in schema walpost (checkpoint, parked)",
		    s.values[A_ROLE_GRANTS]);
}

static void rights_that_a_relay_can_do_without_are_a_warning(void **state)
{
	s.values[A_ROLE_BEFORE] = "app_owner";
	s.values[A_ROLE_LACKS] = "parked, schedule";
	s.values[A_ROLE_GRANTS] = "GRANT SELECT ON walpost.parked TO relay;";
	check_finding("rights", WARNS, "(parked, schedule)", s.values[A_ROLE_GRANTS]);
	s.values[A_POLICIES_BESIDE] = "walpost.inbox";
	check_finding("row_security_beside", WARNS, "in walpost.inbox", "");
}

static void policies_on_our_own_tables_are_a_failure(void **state)
{
	s.values[A_POLICIES] = "walpost.parked, walpost.slot_checkpoint";
	check_fails("row_security", WP_REACT_STOP_CONFIG,
		    "in walpost.parked, walpost.slot_checkpoint",
		    "ALTER ROLE \"re\"\"lay\" BYPASSRLS;");
}

static void of_a_thousand_outboxes_only_what_is_wrong_is_listed(void **state)
{
	static struct wp_requirements_table tables[WP_WANTED_MAX];
	struct wp_error error;
	PGconn *pg = PQconnectStart(s.conninfo);

	s.values[A_LEAVES_UNLOGGED] = "ALTER TABLE public.outbox SET LOGGED;";
	for (size_t i = 0; i < WP_WANTED_MAX; i++)
		tables[i] = s.table;
	const struct wp_requirements wanted = { .tables = tables,
						.count = WP_WANTED_MAX,
						.ignore = "" };
	PGresult *answer = answer_of(A_COUNT + 1);
	for (int row = 1; row < WP_WANTED_MAX; row++)
		for (int i = 0; i <= A_COUNT; i++) {
			const char *value = i < A_COUNT ? s.values[i] : "0";
			CHECK(PQsetvalue(answer, row, i, (char *)value,
					 value ? (int)strlen(value) : -1));
		}
	CHECK_EQ(wp_preflight_judge(pg, answer, &s.options, &wanted, &found, &error), WP_OK);
	size_t about_tables = 0;
	for (size_t i = 0; i < found.findings.count; i++)
		about_tables += *found.findings.items[i].about != '\0';
	CHECK_EQ(about_tables, WP_WANTED_MAX);
	CHECK_HAS(finding(&found, "tables")->what, "1024 outboxes");
	CHECK_EQ(finding(&found, "table_storage")->level, WP_FINDING_FAIL);
	PQclear(answer);
	PQfinish(pg);
}

static void a_slot_checkpoint_that_cannot_be_written_is_warned_of(void **state)
{
	s.values[A_SLOT_CHECKPOINT_MAY] = "f";
	check_finding("checkpoint", WARNS, "is not readable and writable",
		      "GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO \"re\"\"lay\";");
	assert_null(strstr(finding(&found, "checkpoint")->cure, "CREATE"));
	s.values[A_SLOT_CHECKPOINT_MAY] = "t";
	s.values[A_SLOT_CHECKPOINT_WHOLE] = "f";
	check_finding("checkpoint", WARNS, "lacks columns",
		      "DROP TABLE walpost.slot_checkpoint;\nCREATE SCHEMA");
	s.values[A_SLOT_CHECKPOINT] = "f";
	s.values[A_SLOT_CHECKPOINT_MAY] = NULL;
	s.values[A_SLOT_CHECKPOINT_WHOLE] = "f";
	check_finding("checkpoint", WARNS, "is missing",
		      "CREATE TABLE IF NOT EXISTS walpost.slot_checkpoint");
	CHECK(!found.slot_checkpoint_ready);
}

static void how_the_log_is_kept_is_read(void **state)
{
	const struct wp_slot_state *slot = &judge()->slot_state;
	CHECK_EQ(slot->keeping, WP_KEEPING_RESERVED);
	CHECK(!slot->limited);
	CHECK_EQ(slot->server_lsn, 0x2000000);
	CHECK_EQ(slot->retained, 0x100000);
	CHECK_TEXT(slot->loss.text, "");
	s.values[A_SLOT_RESTART] = NULL; /* an invalidated slot has none */
	CHECK_EQ(judge()->slot_state.retained, -1);
	s.values[A_SLOT_WAL_STATUS] = "unreserved";
	s.values[A_SLOT_SAFE_SIZE] = "-12345";
	slot = &judge()->slot_state;
	CHECK_EQ(slot->keeping, WP_KEEPING_UNRESERVED);
	CHECK(slot->limited);
	CHECK_EQ(slot->safe_size, -12345);
	CHECK_TEXT(slot->loss.text, ""); /* not yet */
	s.values[A_SLOT_WAL_STATUS] = "extended";
	CHECK_EQ(judge()->slot_state.keeping, WP_KEEPING_EXTENDED);
	s.values[A_SLOT_WAL_STATUS] = "lost";
	slot = &judge()->slot_state;
	CHECK_EQ(slot->keeping, WP_KEEPING_LOST);
	CHECK_HAS(slot->loss.text, "invalidated");
	CHECK_HAS(slot->loss.text, "cure: -- walpost backfill --missing --force");
	s.values[A_SLOT_WAL_STATUS] = NULL;
	s.values[A_SERVER_LSN] = NULL;
	slot = &judge()->slot_state;
	CHECK_EQ(slot->keeping, WP_KEEPING_UNKNOWN);
	CHECK_EQ(slot->server_lsn, 0);
}

static void what_loses_events_while_it_runs_is_a_loss(void **state)
{
	static const struct {
		enum wp_preflight_column column;
		const char *value;
		const char *part;
	} cases[] = {
		{ A_PUB, NULL, "no publication" },
		{ A_PUB_LISTED, "0", "lacks" },
		{ A_PUB_INSERT, "false", "does not publish inserts" },
		{ A_PUB_HIDDEN, "payload", "omits required columns:" },
		{ A_PUB_GENERATED, "payload", "generated" },
		{ A_PUB_FILTER, "(id > 1)", "filters rows" },
		{ A_TABLE_PERSISTENCE, "t", "temporary" },
		{ A_SLOT_TYPE, NULL, "no slot" },
		{ A_SLOT_CONFLICTING, "true", "conflict" },
		{ A_SLOT_INVALIDATION, "idle_timeout", "idle_timeout" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up(state);
		s.values[cases[i].column] = cases[i].value;
		CHECK_HAS(judge()->slot_state.loss.text, cases[i].part);
		s.values[A_IN_RECOVERY] = "t"; /* what a standby shows is not ours to judge */
		CHECK_TEXT(judge()->slot_state.loss.text, "");
	}
}

static void what_fails_only_at_a_start_is_no_loss(void **state)
{
	s.values[A_WAL_LEVEL] = "replica";
	s.values[A_ROLE_MAY] = "f";
	s.values[A_SYNC_NAMES] = "*";
	s.values[A_TABLE_KIND] = NULL; /* a row of the renamed one tells more */
	CHECK(wp_findings_failure(&judge()->findings));
	CHECK_TEXT(found.slot_state.loss.text, "");
}

static void a_slot_that_cannot_be_used_is_replaced_by_backfill(void **state)
{
	s.values[A_SLOT_WAL_STATUS] = "lost";
	CHECK_HAS(finding(judge(), "slot")->what, WP_SLOT_REPLACE);
	CHECK_TEXT(finding(judge(), "slot")->cure, "-- walpost backfill --missing --force");
	set_up(state);
	s.values[A_PUB] = NULL;
	CHECK_HAS(finding(judge(), "publication")->what, WP_SLOT_REPLACE);
	CHECK_HAS(finding(judge(), "publication")->cure,
		  ";\n-- walpost backfill --missing --force");
	CHECK(strstr(finding(judge(), "publication")->cure, "pg_drop") == NULL);
}

static void sql_ascii_is_told(void **state)
{
	s.values[A_ENCODING] = "SQL_ASCII";
	check_finding("encoding", OK, "bytes are passed on unchecked and may not be valid UTF-8",
		      "");
}

static void weak_transport_to_a_far_host_is_warned_of(void **state)
{
	static struct wp_findings f;
	wp_preflight_connection(
		&f, &(struct wp_connection_facts){ .sslmode = "prefer", .sslmode_written = true });
	CHECK_EQ(in(&f, "sslmode")->level, WP_FINDING_WARN);
	CHECK_HAS(in(&f, "sslmode")->cure, "sslmode=verify-full");
	f.count = 0;
	wp_preflight_connection(
		&f, &(struct wp_connection_facts){ .sslmode = "prefer", .local = true });
	CHECK_EQ(in(&f, "sslmode")->level, WP_FINDING_OK);
	f.count = 0;
	wp_preflight_connection(&f, &(struct wp_connection_facts){ .sslmode = "require" });
	CHECK_EQ(in(&f, "sslmode")->level, WP_FINDING_OK);
}

static void the_longest_names_fit(void **state)
{
	char quotes[64];
	memset(quotes, '"', 63);
	quotes[63] = '\0';
	s.values[A_PUB_NAMES_TABLE] = "f";
	s.values[A_PUB_LISTED] = "0";
	s.table.schema = s.table.name = s.options.publication = quotes;
	const struct wp_finding *f = finding(judge(), "publication_table");
	CHECK_EQ(f->level, WP_FINDING_FAIL);
	CHECK_TEXT(f->cure + strlen(f->cure) - 3, "\"\";");
}

int main(void)
{
	return RUN(
		FRESH(a_healthy_server_has_nothing_to_cure),
		FRESH(an_answer_of_another_shape_is_refused), FRESH(the_server_must_be_14_or_newer),
		FRESH(minors_with_known_bugs_are_warned_of), FRESH(a_standby_may_become_a_primary),
		FRESH(wal_level_must_be_logical), FRESH(the_effective_wal_level_counts),
		FRESH(a_publication_of_all_tables_may_except_the_outbox),
		FRESH(a_cure_is_the_providers), FRESH(a_value_has_the_unit_that_the_provider_takes),
		FRESH(neon_removes_slots), FRESH(a_pooler_is_known_by_its_name),
		FRESH(there_must_be_room_for_one_more), FRESH(the_role_must_be_able_to_replicate),
		FRESH(the_table_must_be_there_and_be_one),
		FRESH(missing_columns_are_named_and_added),
		FRESH(rows_that_are_not_in_the_log_are_refused),
		FRESH(a_missing_publication_needs_a_new_slot_as_well),
		FRESH(the_publication_must_have_the_table),
		FRESH(a_name_that_differs_in_case_only_is_refused_by_name),
		FRESH(partitions_must_all_be_published),
		FRESH(a_partitioned_outbox_without_partitions_is_fine),
		FRESH(rows_should_come_under_the_name_of_the_outbox),
		FRESH(partitions_by_name_are_refused_beside_a_pattern_of_ignored_tables),
		FRESH(tables_like_an_outbox_that_a_pattern_covers_are_named),
		FRESH(children_that_are_not_published_fail),
		FRESH(children_that_are_published_and_not_configured_fail),
		FRESH(children_of_which_no_publication_is_a_cure_fail),
		FRESH(needed_columns_must_not_be_hidden),
		FRESH(generated_columns_are_published_since_18_only),
		FRESH(rows_must_not_be_filtered),
		FRESH(inserts_must_be_published_and_other_kinds_stay),
		FRESH(deletes_of_a_table_without_identity_are_warned_of),
		FRESH(other_tables_are_warned_of), FRESH(a_missing_slot_is_made),
		FRESH(a_slot_of_someone_else_is_left_alone),
		FRESH(a_slot_that_cannot_be_used_is_made_anew),
		FRESH(a_slot_about_to_be_lost_is_warned_of), FRESH(a_slot_in_use_is_fine),
		FRESH(commits_must_not_wait_for_us_unless_allowed),
		FRESH(the_name_of_conninfo_counts), FRESH(a_short_sender_timeout_is_warned_of),
		FRESH(a_sender_timeout_is_cured_where_it_is_set),
		FRESH(a_limit_on_idle_slots_is_warned_of),
		FRESH(updates_that_are_looked_for_must_be_published),
		FRESH(a_role_that_settings_give_and_that_may_more_is_a_failure),
		FRESH(rights_that_a_relay_can_do_without_are_a_warning),
		FRESH(policies_on_our_own_tables_are_a_failure),
		FRESH(of_a_thousand_outboxes_only_what_is_wrong_is_listed),
		FRESH(a_slot_checkpoint_that_cannot_be_written_is_warned_of),
		FRESH(how_the_log_is_kept_is_read),
		FRESH(what_loses_events_while_it_runs_is_a_loss),
		FRESH(what_fails_only_at_a_start_is_no_loss),
		FRESH(a_slot_that_cannot_be_used_is_replaced_by_backfill), FRESH(sql_ascii_is_told),
		FRESH(weak_transport_to_a_far_host_is_warned_of), FRESH(the_longest_names_fit));
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "support/check.h"

static void right(const char *text)
{
	check_file(text);
	if (got.notes.count > 0)
		CHECK_TEXT(got.notes.notes[0].error.text, "nothing");
	CHECK_EQ(got.rc, WP_OK);
}

static void wrong(const char *text, const char *said)
{
	check_file(text);
	one_error(said);
}

static void the_least_that_is_needed_is_right(void **state)
{
	right(RIGHT);
	right("[postgres]\nconninfo =\n[kafka]\nmetadata.broker.list = k\n");
	right("[postgres]\nconninfo = dbname=app\n[relay]\nsink = stdout\n");
}

static void what_is_missing_is_named_with_both_ways_to_set_it(void **state)
{
	wrong("[kafka]\nbootstrap.servers = k\n",
	      "postgres.conninfo is missing: write `conninfo = host=/var/run/postgresql dbname=app "
	      "user=walpost` under [postgres] in the file, or set WALPOST__POSTGRES__CONNINFO");
	wrong("[postgres]\nconninfo =\n",
	      "kafka.bootstrap.servers is missing: write `bootstrap.servers = host:9092` under "
	      "[kafka] of the "
	      "file, or set WALPOST__KAFKA__BOOTSTRAP_SERVERS; or relay.sink = stdout");
}

static void a_conninfo_that_libpq_refuses_is_wrong(void **state)
{
	wrong("[kafka]\nbootstrap.servers = k\n[postgres]\nconninfo = hots=db\n",
	      ":4: postgres.conninfo = ********: libpq cannot parse it: invalid connection option "
	      "\"hots\"");
	wrong("[kafka]\nbootstrap.servers = k\n[postgres]\nconninfo = password=a b\n",
	      ":4: postgres.conninfo = ********: libpq cannot parse it (the message is withheld");
}

static void a_password_in_the_wrong_place_of_a_uri_is_not_repeated(void **state)
{
	check_file("[kafka]\nbootstrap.servers = k\n[postgres]\n"
		   "conninfo = postgres://u:12/hush@db/app\n");
	one_error(":4: postgres.conninfo = ********: libpq finds an @ in the host or database");
	assert_null(strstr(got.notes.notes[0].error.text, "hush"));
}

static void one_password_is_enough(void **state)
{
	static const char *const rest = "[kafka]\nbootstrap.servers = k\n[postgres]\n"
					"password_command = get\n";
	char text[200];

	right(RIGHT "[postgres]\npassword_command = get\n");
	wrong(RIGHT "[postgres]\npassword_command = get\npassword = hush\n",
	      "postgres.password is set beside postgres.login or postgres.password_command");
	(void)snprintf(text, sizeof(text), "%sconninfo = host=db sslpassword=hush\n", rest);
	right(text);
	(void)snprintf(text, sizeof(text), "%sconninfo = host=db password=hush\n", rest);
	wrong(text, "postgres.conninfo holds a password beside postgres.login or "
		    "postgres.password_command: each gives the password; remove one");
}

static void a_slot_has_a_name_that_postgres_allows(void **state)
{
	wrong(RIGHT "[postgres]\nslot = My-Slot\n",
	      "postgres.slot = My-Slot: a slot's name consists of");
	right(RIGHT "[postgres]\nslot = my_slot_2\n");
}

static void the_decoding_memory_is_a_size_that_postgres_takes(void **state)
{
	static const char *const good[] = { "64", "64kB", "256MB", "2047GB", "2147483647" };
	static const char *const bad[] = { "63",     "63kB", "2048GB", "MB",
					   "256MiB", "1TB",  "-1",     "2147483648" };
	char text[256];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		(void)snprintf(text, sizeof(text), RIGHT "[postgres]\ndecoding_work_mem = %s\n",
			       good[i]);
		right(text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)snprintf(text, sizeof(text), RIGHT "[postgres]\ndecoding_work_mem = %s\n",
			       bad[i]);
		wrong(text, "it must be a size as in postgresql.conf");
	}
}

static void names_are_read_by_who_will_use_them(void **state)
{
	wrong(RIGHT "[outbox]\ntable = a.b.c\n", ":6: outbox.table");
	wrong(RIGHT "[outbox]\ntable = \"open\n", ":6: outbox.table");
	wrong(RIGHT "[outbox]\nignore = a,,b\n", ":6: outbox.ignore");
	wrong(RIGHT "[outbox]\nleaves = a.b.c\n", ":6: outbox.leaves");
	wrong(RIGHT "[outbox]\nleaves = a_*\n[outbox.orders]\ntable = a\n",
	      ":6: outbox.leaves applies to one table and is not inherited: set it in the section "
	      "that names the table, as outbox.orders.leaves");
	wrong(RIGHT
	      "[outbox]\nmessage.prefix = p\n[outbox.more]\nmessage.prefix = q\nleaves = a_*\n",
	      "outbox.more.leaves names leaves of a partitioned table, but no table is named");
	right(RIGHT
	      "[outbox]\ntable = \"My\".\"Out.box\"\nignore = audit.*, \"x\"\nleaves = outbox_*\n");
}

static void the_right_one_of_expression_and_replacement_is_blamed(void **state)
{
	wrong(RIGHT "[outbox]\ntopic.regex = (open\n", ":6: outbox.topic.regex");
	wrong(RIGHT "[outbox]\ntopic.replacement = ${nobody}\n", ":6: outbox.topic.replacement");
	wrong(RIGHT "[outbox]\ntopic.regex = (.*)\n", "outbox.topic.replacement");
	right(RIGHT "[outbox]\ntopic.regex = (.*)\ntopic.replacement = t.$1\n");
}

static void header_lists_are_checked_too(void **state)
{
	wrong(RIGHT "[outbox]\nheaders.standard = id,kind\n", ":6: outbox.headers.standard");
	wrong(RIGHT "[outbox]\nheaders = a,,b\n", ":6: outbox.headers");
	right(RIGHT "[outbox]\nheaders = tenant, trace:traceparent\nheaders.standard =\n");
}

static void all_that_is_wrong_is_told_at_once(void **state)
{
	check_file("[outbox]\ntable = a.b.c\ntopic.regex = (\n[postgres]\nslot = X\n");
	CHECK_EQ(got.rc, WP_CONFIG);
	CHECK_EQ(got.notes.error_count, 5);
}

static void cleanup_needs_its_columns_and_kafka(void **state)
{
	wrong(RIGHT "[cleanup]\nmode = delete\n", "cleanup.mode needs outbox.column.inserted");
	right(RIGHT "[outbox]\ncolumn.inserted = at\n[cleanup]\nmode = delete\n");
	wrong(RIGHT "[outbox]\ncolumn.inserted = at\n[cleanup]\nmode = mark\n",
	      "outbox.column.processed");
	wrong(RIGHT
	      "[outbox]\ncolumn.inserted = at\ncolumn.processed = at\n[cleanup]\nmode = mark\n",
	      "must not change");
	wrong(RIGHT "[outbox]\ncolumn.inserted = at\ncolumn.processed = done\non_update = stop\n"
		    "[cleanup]\nmode = mark\n",
	      "outbox.on_update");
	right(RIGHT
	      "[outbox]\ncolumn.inserted = at\ncolumn.processed = done\n[cleanup]\nmode = mark\n");
	wrong(RIGHT
	      "[outbox]\ncolumn.inserted = at\n[relay]\nsink = stdout\n[cleanup]\nmode = delete\n",
	      "cleanup.mode needs relay.sink = kafka");
}

#define CLEANED RIGHT "[cleanup]\nmode = delete\n"
#define TIMED "[outbox]\ncolumn.inserted = at\n"

static void rows_of_dropped_events_are_removed_only_if_that_is_said(void **state)
{
	wrong(CLEANED TIMED "skip.types = Debug*\n",
	      "outbox.skip.types = Debug*: cleanup would remove");
	wrong(CLEANED TIMED "column.expires = until\n",
	      "outbox.expired = drop: cleanup would remove");
	right(CLEANED "dropped = remove\n" TIMED "skip.types = Debug*\ncolumn.expires = until\n");
	right(CLEANED TIMED "column.expires = until\nexpired = send\n");
	right(RIGHT "[relay]\ndead_letter.topic = dead\n[cleanup]\nmode = delete\n" TIMED
		    "column.expires = until\nexpired = dead-letter\n");
	right(RIGHT TIMED "skip.types = Debug*\n");
	right(CLEANED TIMED "[outbox.a]\ntable = a\n[outbox.b]\ntable = b\ncolumn.inserted =\n"
			    "skip.types = Debug*\n");
}

static void dead_letters_need_a_topic_that_can_be_one(void **state)
{
	wrong(RIGHT "[relay]\npoison = dead-letter\n", "relay.dead_letter.topic");
	wrong(RIGHT "[relay]\ndead_letter.topic = two words\n",
	      ":6: relay.dead_letter.topic = two words: the name of the topic contains");
	right(RIGHT "[relay]\npoison = dead-letter\ndead_letter.topic = dead\n");
	right(RIGHT "[relay]\ndead_letter.topic = dead\n");
}

int main(void)
{
	return RUN(CLEAN(the_least_that_is_needed_is_right),
		   CLEAN(what_is_missing_is_named_with_both_ways_to_set_it),
		   CLEAN(a_conninfo_that_libpq_refuses_is_wrong),
		   CLEAN(a_password_in_the_wrong_place_of_a_uri_is_not_repeated),
		   CLEAN(one_password_is_enough), CLEAN(a_slot_has_a_name_that_postgres_allows),
		   CLEAN(the_decoding_memory_is_a_size_that_postgres_takes),
		   CLEAN(names_are_read_by_who_will_use_them),
		   CLEAN(the_right_one_of_expression_and_replacement_is_blamed),
		   CLEAN(header_lists_are_checked_too), CLEAN(all_that_is_wrong_is_told_at_once),
		   CLEAN(cleanup_needs_its_columns_and_kafka),
		   CLEAN(rows_of_dropped_events_are_removed_only_if_that_is_said),
		   CLEAN(dead_letters_need_a_topic_that_can_be_one));
}

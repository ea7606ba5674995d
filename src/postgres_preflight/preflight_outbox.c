/*
 * Judges the outbox tables, and what the publication has of them.
 */
#include "preflight_judge.h"

#include "walpost/postgres_preflight/publication.h"
#include "walpost/source/slot_cure.h"
#include "walpost/wal/relations.h"

static bool is_table(const struct judge *j)
{
	return answer_is(j, A_TABLE_KIND, "r") || answer_is(j, A_TABLE_KIND, "p");
}

static bool is_partitioned(const struct judge *j)
{
	return answer_is(j, A_TABLE_KIND, "p");
}

static void judge_kind(struct judge *j)
{
	const char *kind = answer_text(j, A_TABLE_KIND);
	if (*kind == 'f') {
		wp_sql_add(&j->cure,
			   "-- in postgres.conninfo name the server that holds the table itself");
		FOUND_WRONG(j, "table",
			    "%s is a foreign table: its rows are in another server's WAL",
			    j->quoted);
		return;
	}
	if (!answer_null(j, A_TABLE_BENEATH))
		wp_sql_add(&j->cure, "-- set outbox.table = %C", answer_text(j, A_TABLE_BENEATH));
	else
		wp_sql_add(&j->cure, "-- set outbox.table to a table");
	FOUND_WRONG(j, "table", "%s is %s: only tables have rows in the WAL", j->quoted,
		    *kind == 'v' ? "a view"
				 : (*kind == 'm' ? "a materialized view" : "not a table"));
}

/* Adds the definition without what only a new or empty table can have. */
static void add_column(struct judge *j, size_t index)
{
	const char *definition = j->table->definitions[index];
	const char *end = strstr(definition, " NOT NULL");
	char type[64] = "";
	size_t size = end ? (size_t)(end - definition) : strlen(definition);
	if (size >= sizeof(type))
		size = sizeof(type) - 1;
	memcpy(type, definition, size);
	wp_sql_add(&j->cure, "ALTER TABLE %s ADD COLUMN %I %s;\n", j->quoted,
		   j->table->columns[index], type);
}

/* The newest table has all columns, or its lack has been told. */
static void judge_columns_of_others(struct judge *j)
{
	long count = answer_number(j, A_FITTING_LACKING);

	wp_sql_add(&j->cure, "-- add the missing columns to each, or name each in a section "
			     "[outbox.NAME] with columns of its own");
	FOUND_WRONG(j, "table_columns",
		    "%ld of the %ld tables that fit the pattern lack required columns, such as %s: "
		    "their events cannot be delivered",
		    count, answer_number(j, A_TABLE_FITTING), answer_text(j, A_FITTING_LACKS));
}

static void judge_columns(struct judge *j)
{
	if (answer_null(j, A_TABLE_MISSING) && answer_number(j, A_FITTING_LACKING) > 0) {
		judge_columns_of_others(j);
		return;
	}
	if (answer_null(j, A_TABLE_MISSING)) {
		FOUND_OK(j, "table_columns", "all %zu required columns exist",
			 j->table->column_count);
		return;
	}
	const char *at = answer_text(j, A_TABLE_MISSING_AT);
	while (*at) {
		char *end;
		unsigned long index = strtoul(at, &end, 10);
		if (end == at || index >= j->table->column_count)
			break;
		add_column(j, index);
		at = *end ? end + 1 : end;
	}
	FOUND_WRONG(
		j, "table_columns",
		"%s lacks %s (it has %s): add the missing columns, or name others under [outbox]",
		j->quoted, answer_text(j, A_TABLE_MISSING), answer_text(j, A_TABLE_COLUMNS));
}

/* Can values/binary print their types? The relay judges rows of an older shape as they come. */
static void judge_binary(struct judge *j)
{
	if (j->options->binary != WP_BINARY_ON || answer_null(j, A_TABLE_NOT_BINARY))
		return;
	wp_sql_add(&j->cure, "-- set postgres.binary = off");
	FOUND_WRONG(
		j, "table_binary",
		"%s has columns of types that are not read in binary: %s; " WP_TYPES_READ_IN_BINARY
		" are",
		j->quoted, answer_text(j, A_TABLE_NOT_BINARY));
}

static void judge_storage(struct judge *j)
{
	if (answer_is(j, A_TABLE_PERSISTENCE, "t")) {
		wp_sql_add(&j->cure, "-- set outbox.table to a table that is not temporary");
		FOUND_WRONG(j, "table_storage", "%s is temporary: its rows are not in the WAL",
			    j->quoted);
	} else if (!answer_null(j, A_LEAVES_UNLOGGED)) {
		wp_sql_add(&j->cure, "%s", answer_text(j, A_LEAVES_UNLOGGED));
		FOUND_WRONG(j, "table_storage", "%s is unlogged: its rows are not in the WAL",
			    j->table->is_pattern ? "a table that fits the pattern"
			    : is_partitioned(j)	 ? "a partition of the outbox"
						 : j->quoted);
	} else if (!answer_null(j, A_LEAVES_FOREIGN)) {
		wp_sql_add(&j->cure, "-- make them tables of this server: %C",
			   answer_text(j, A_LEAVES_FOREIGN));
		FOUND_WRONG(j, "table_storage",
			    "partitions of %s are foreign tables, whose rows are in another "
			    "server's WAL: %s",
			    j->quoted, answer_text(j, A_LEAVES_FOREIGN));
	} else {
		FOUND_OK(j, "table_storage", "its rows are in the WAL");
	}
}

/* An empty table made beside it would get no event, and nobody would notice. */
static void judge_case(struct judge *j)
{
	const char *other = answer_text(j, A_CASE_THERE);

	wp_sql_add(&j->cure, "-- set outbox.table = %C", other);
	FOUND_WRONG(j, "table_case",
		    "there is no table %s in database %s, but there is %s, whose name differs only "
		    "in case. Like PostgreSQL, outbox.table folds a name to lower case unless it "
		    "is in double quotes",
		    j->quoted, answer_text(j, A_DATABASE), other);
}

/* Returns true when the pattern has a table, which then stands for all. */
static bool judge_pattern(struct judge *j)
{
	long count = answer_number(j, A_TABLE_FITTING);

	if (count == 0)
		FOUND_WARN(j, "table",
			   "database %s has no table yet for a pattern in outbox.table; those that "
			   "are created later are relayed if publication %s has them",
			   answer_text(j, A_DATABASE), j->options->publication);
	else
		FOUND_OK(j, "table", "%ld table%s; the newest is %s", count,
			 count == 1 ? " fits the pattern" : "s fit the pattern", j->quoted);
	return count > 0;
}

void wp_judge_table(struct judge *j)
{
	if (j->table->is_pattern) {
		if (judge_pattern(j)) {
			judge_columns(j);
			judge_binary(j);
			judge_storage(j);
		}
		return;
	}
	if (answer_null(j, A_TABLE_KIND) && !answer_null(j, A_CASE_THERE)) {
		judge_case(j);
		return;
	}
	if (answer_null(j, A_TABLE_KIND)) {
		wp_sql_add(&j->cure, WP_INIT_MAKES_IT);
		wp_outbox_create_sql(&j->cure, j->table);
		FOUND_WRONG(j, "table", "there is no table %s in database %s", j->quoted,
			    answer_text(j, A_DATABASE));
		return;
	}
	if (!is_table(j)) {
		judge_kind(j);
		return;
	}
	FOUND_OK(j, "table", "%s exists%s", j->quoted, is_partitioned(j) ? ", partitioned" : "");
	judge_columns(j);
	judge_binary(j);
	judge_storage(j);
}

/* Rows that came before the publication was as it is now do not come later. */
#define NOT_BEFORE                                                                            \
	"; rows committed before the cure are not relayed: walpost diff finds them, walpost " \
	"replay sends them"

static void judge_missing_publication(struct judge *j)
{
	const char *publication = j->options->publication;
	bool ours = answer_is(j, A_SLOT_PLUGIN, "pgoutput") &&
		    answer_is(j, A_SLOT_DATABASE, answer_text(j, A_DATABASE));
	if (!answer_null(j, A_PUB_THERE))
		wp_sql_add(&j->cure,
			   "-- if another publication is meant, set postgres.publication instead; "
			   "existing ones: %C\n",
			   answer_text(j, A_PUB_THERE));
	/* walpost init makes none for a slot that is older. */
	if (answer_null(j, A_SLOT_TYPE))
		wp_sql_add(&j->cure, WP_INIT_MAKES_IT);
	wp_publication_create_sql(&j->cure, publication, j->wanted);
	if (ours)
		wp_sql_add(&j->cure, WP_SLOT_REPLACED);
	FOUND_LOST(j, "publication", "there is no publication %s in database %s%s", publication,
		   answer_text(j, A_DATABASE),
		   ours ? ": correct postgres.publication; or, if it was dropped, create it. The "
			  "server cannot decode the slot with a newer publication, so the slot "
			  "must be replaced, too. " WP_SLOT_REPLACE
			: "");
}

static void judge_case_in_publication(struct judge *j, bool has_ours)
{
	const char *publication = j->options->publication;
	const char *other = answer_text(j, A_CASE_IN_PUB);

	wp_sql_add(&j->cure, "-- set outbox.table = %C", other);
	if (has_ours)
		FOUND_WARN(j, "table_case",
			   "publication %s also has %s, whose name differs from %s only in case: "
			   "if events are there, their rows would be ignored or stop the relay",
			   publication, other, j->quoted);
	else
		FOUND_LOST(j, "publication_table",
			   "publication %s lacks %s but has %s, whose name differs only in case",
			   publication, j->quoted, other);
}

/* PostgreSQL 19 has this. SET ALL TABLES replaces the list: other exceptions must be listed
 * again. */
static void judge_excepted(struct judge *j)
{
	const char *publication = j->options->publication;

	wp_sql_add(&j->cure,
		   "ALTER PUBLICATION %I SET ALL TABLES; -- with the rest of its list, if there is "
		   "any: SET ALL TABLES EXCEPT (TABLE ...)",
		   publication);
	FOUND_LOST(j, "publication_table",
		   "publication %s is for all tables except some, among them %s" NOT_BEFORE,
		   publication, answer_text(j, A_PUB_EXCEPTED));
}

static void judge_membership(struct judge *j)
{
	const char *publication = j->options->publication;
	long listed = answer_number(j, A_PUB_LISTED), leaves = answer_number(j, A_TABLE_LEAVES);
	/* FOR ALL TABLES has all but those that are not in the log, which judge_storage() tells. */
	bool all = answer_yes(j, A_PUB_ALL), named = all || answer_yes(j, A_PUB_NAMES_TABLE);
	bool lacks = !all && (listed < leaves || (leaves == 0 && !named));
	if (!answer_null(j, A_CASE_IN_PUB))
		judge_case_in_publication(j, !lacks);
	if (lacks && !answer_null(j, A_CASE_IN_PUB))
		return;
	if (lacks) {
		wp_sql_add(&j->cure, "ALTER PUBLICATION %I ADD TABLE ONLY %s;", publication,
			   j->quoted);
		FOUND_LOST(j, "publication_table", "publication %s lacks %s" NOT_BEFORE,
			   publication, listed ? answer_text(j, A_PUB_UNLISTED) : j->quoted);
	} else if (!named) {
		wp_sql_add(&j->cure, "ALTER PUBLICATION %I ADD TABLE ONLY %s;", publication,
			   j->quoted);
		FOUND_WARN(j, "publication_table",
			   "publication %s has each partition of %s but not the table itself: rows "
			   "of later partitions would not be relayed",
			   publication, j->quoted);
	} else {
		FOUND_OK(j, "publication_table", "publication %s has %s", publication, j->quoted);
	}
}

#define NOT_EVENTS "-- or, if their rows are not events, add their exact names to outbox.ignore"

/* What is set already stays, and is repeated unless it is long. */
static void cure_leaves(struct judge *j, const char *then)
{
	const struct wp_requirements_table *t = j->table;
	const char *children = answer_text(j, A_CHILD_UNCONFIGURED);
	const char *section = t->section ? t->section : "";
	const char *leaves = t->leaves_written ? t->leaves_written : "";

	if (!*children)
		return;
	if (strlen(leaves) < CURE_SIZE / 4)
		wp_sql_add(&j->cure, "-- %sset outbox.%C%sleaves = %C%s%C\n", then, section,
			   *section ? "." : "", leaves, *leaves ? ", " : "", children);
	else
		wp_sql_add(&j->cure, "-- %sadd to outbox.%C%sleaves: %C\n", then, section,
			   *section ? "." : "", children);
}

/* With a pattern the row tells one table, which may not be the one that the child is of. */
static const char *parent_of(const struct judge *j)
{
	return j->table->is_pattern ? j->table->written : j->quoted;
}

/* The next chunk of a hypertable would be as unknown. */
static void judge_hypertable(struct judge *j)
{
	wp_sql_add(&j->cure,
		   "-- make %C a plain table, or one that PostgreSQL itself partitions (PARTITION "
		   "BY RANGE): sql/outbox_partitioned.sql creates one",
		   parent_of(j));
	FOUND_LOST(j, "publication_children",
		   "%s is a TimescaleDB hypertable: its rows are in chunks, which are tables that "
		   "inherit from it and are created all the time. Rows of a chunk that publication "
		   "%s lacks are not relayed, and the first row of one that outbox.leaves does not "
		   "cover stops the relay: %s",
		   parent_of(j), j->options->publication, answer_text(j, A_CHILD_CHUNK));
}

static void judge_foreign_children(struct judge *j)
{
	const char *children = answer_text(j, A_CHILD_FOREIGN);

	wp_sql_add(&j->cure, "-- make them tables of this server: %C\n" NOT_EVENTS, children);
	FOUND_LOST(j, "publication_children",
		   "foreign tables inherit from %s, and their rows are in another server's WAL: %s",
		   parent_of(j), children);
}

/* A query of the outbox shows their rows, and the log of the publication does not. */
static void judge_unlisted_children(struct judge *j)
{
	const char *children = answer_text(j, A_CHILD_UNLISTED);
	const char *publication = j->options->publication;
	bool is_unlogged = !answer_null(j, A_CHILD_TO_LOG);

	if (is_unlogged)
		wp_sql_add(&j->cure, "%s\n", answer_text(j, A_CHILD_TO_LOG));
	/* FOR ALL TABLES has each that is logged, and none can be added. */
	if (!answer_yes(j, A_PUB_ALL))
		wp_sql_add(&j->cure, "ALTER PUBLICATION %I ADD TABLE %s;\n", publication,
			   answer_text(j, A_CHILD_TO_LIST));
	cure_leaves(j, "then ");
	wp_sql_add(&j->cure, NOT_EVENTS);
	FOUND_LOST(j, "publication_children",
		   "publication %s lacks tables that inherit from %s: %s%s. Their rows are not "
		   "relayed" NOT_BEFORE,
		   publication, parent_of(j), children,
		   is_unlogged ? ", of which unlogged ones cannot be published" : "");
}

static void judge_unconfigured_children(struct judge *j)
{
	const char *children = answer_text(j, A_CHILD_UNCONFIGURED);

	cure_leaves(j, "");
	wp_sql_add(&j->cure, NOT_EVENTS);
	FOUND_LOST(j, "publication_children",
		   "publication %s has tables that inherit from %s, and neither outbox.leaves nor "
		   "a section [outbox.NAME] covers them: %s. Their first row stops the relay",
		   j->options->publication, parent_of(j), children);
}

static void judge_children(struct judge *j)
{
	if (!answer_null(j, A_CHILD_CHUNK))
		judge_hypertable(j);
	else if (!answer_null(j, A_CHILD_FOREIGN))
		judge_foreign_children(j);
	else if (!answer_null(j, A_CHILD_UNLISTED))
		judge_unlisted_children(j);
	else if (!answer_null(j, A_CHILD_UNCONFIGURED))
		judge_unconfigured_children(j);
}

/* The catalog does not say of a partition that is gone that it was one: a pattern would take it
 * for another's. */
static void judge_partitions_by_name(struct judge *j)
{
	const char *publication = j->options->publication;
	const char *uncovered = answer_text(j, A_LEAVES_UNCOVERED);
	bool are_covered = j->table->leaves && strcmp(j->table->leaves, "[]") != 0 && !*uncovered;

	wp_sql_add(&j->cure, "ALTER PUBLICATION %I SET (publish_via_partition_root = true);",
		   publication);
	if (!j->wanted->ignores_by_pattern || are_covered) {
		FOUND_WARN(j, "publication_root",
			   "rows arrive under the names of the partitions: walpost looks up the "
			   "root of each. A row of a partition that was detached or dropped before "
			   "it is read stops the relay, unless outbox.leaves covers it");
		return;
	}
	wp_sql_add(&j->cure,
		   "\n-- or make outbox.leaves cover all partitions, also those that are gone; or "
		   "list exact names only in outbox.ignore");
	FOUND_LOST(j, "publication_root",
		   "rows arrive under the names of the partitions, which outbox.leaves does not "
		   "cover%s%s: of one that was detached or dropped before its rows are read, it "
		   "cannot be told whether it was an outbox's or is ignored, because outbox.ignore "
		   "(%s) has a pattern. Set publish_via_partition_root, or outbox.leaves",
		   *uncovered ? ", such as " : "", uncovered, j->wanted->ignore);
}

static void judge_root(struct judge *j)
{
	const char *publication = j->options->publication;
	if (!answer_null(j, A_PUB_ABOVE)) {
		wp_sql_add(&j->cure,
			   "ALTER PUBLICATION %I SET (publish_via_partition_root = false);",
			   publication);
		FOUND_WRONG(j, "publication_root",
			    "%s is a partition, but publication %s publishes its rows under the "
			    "name of %s",
			    j->quoted, publication, answer_text(j, A_PUB_ABOVE));
	} else if ((is_partitioned(j) || answer_yes(j, A_FITTING_PARTITIONED)) &&
		   !answer_yes(j, A_PUB_VIA_ROOT)) {
		judge_partitions_by_name(j);
	}
}

/* Adding the table anew, in one transaction, leaves column list and filter behind. */
static void cure_limits(struct judge *j)
{
	const char *publication = j->options->publication, *limited = answer_text(j, A_PUB_LIMITED);
	if (!*limited)
		return;
	wp_sql_add(&j->cure, "BEGIN;\nALTER PUBLICATION %I DROP TABLE %s;\n", publication, limited);
	wp_sql_add(&j->cure, "ALTER PUBLICATION %I ADD TABLE %s;\nCOMMIT;", publication, limited);
}

/* Takes the first of a list of quoted columns; returns the rest of the list. */
static const char *add_drop_expression(struct judge *j, const char *list)
{
	char column[200];
	size_t size = 0;
	bool quoted = false;
	for (; list[size] && (quoted || list[size] != ',') && size < sizeof(column) - 1; size++)
		quoted = quoted != (list[size] == '"');
	memcpy(column, list, size);
	column[size] = '\0';
	wp_sql_add(&j->cure, "ALTER TABLE %s ALTER COLUMN %s DROP EXPRESSION;\n", j->quoted,
		   column);
	list += size;
	return list + strspn(list, ", ");
}

static void judge_generated(struct judge *j)
{
	const char *generated = answer_text(j, A_PUB_GENERATED);
	if (j->version >= 180000) {
		wp_sql_add(&j->cure,
			   "ALTER PUBLICATION %I SET (publish_generated_columns = stored);",
			   j->options->publication);
		FOUND_LOST(j, "publication_generated",
			   "publication %s does not publish generated columns: %s (only stored "
			   "ones can be published)" NOT_BEFORE,
			   j->options->publication, generated);
		return;
	}
	for (const char *at = generated; *at;)
		at = add_drop_expression(j, at);
	FOUND_LOST(j, "publication_generated",
		   "PostgreSQL before 18 does not publish generated columns: %s; after the cure "
		   "the application must fill them" NOT_BEFORE,
		   generated);
}

static void judge_columns_published(struct judge *j)
{
	if (!answer_null(j, A_PUB_HIDDEN)) {
		cure_limits(j);
		FOUND_LOST(j, "publication_columns",
			   "publication %s omits required columns: %s" NOT_BEFORE,
			   j->options->publication, answer_text(j, A_PUB_HIDDEN));
	}
	if (!answer_null(j, A_PUB_GENERATED))
		judge_generated(j);
	if (answer_null(j, A_PUB_HIDDEN) && answer_null(j, A_PUB_GENERATED))
		FOUND_OK(j, "publication_columns", "it publishes all required columns");
}

static void judge_filter(struct judge *j)
{
	if (answer_null(j, A_PUB_FILTER)) {
		FOUND_OK(j, "publication_filter", "none");
		return;
	}
	cure_limits(j);
	FOUND_LOST(j, "publication_filter",
		   "publication %s filters rows: %s. Filtered rows are not relayed, and an update "
		   "can arrive as an insert" NOT_BEFORE,
		   j->options->publication, answer_text(j, A_PUB_FILTER));
}

static void judge_kinds_of_change(struct judge *j)
{
	const char *publication = j->options->publication;
	if (!answer_yes(j, A_PUB_INSERT)) {
		wp_sql_add(&j->cure, "ALTER PUBLICATION %I SET (publish = 'insert%s%s%s');",
			   publication, answer_yes(j, A_PUB_UPDATE) ? ", update" : "",
			   answer_yes(j, A_PUB_DELETE) ? ", delete" : "",
			   answer_yes(j, A_PUB_TRUNCATE) ? ", truncate" : "");
		FOUND_LOST(j, "publication_inserts",
			   "publication %s does not publish inserts" NOT_BEFORE, publication);
	} else {
		FOUND_OK(j, "publication_inserts", "it publishes inserts");
	}
	if ((answer_yes(j, A_PUB_UPDATE) || answer_yes(j, A_PUB_DELETE)) &&
	    answer_yes(j, A_NO_IDENTITY)) {
		wp_sql_add(&j->cure, "ALTER PUBLICATION %I SET (publish = 'insert');", publication);
		FOUND_WARN(j, "publication_deletes",
			   "publication %s publishes updates or deletes, but %s has no replica "
			   "identity: updates or deletes by the application fail",
			   publication, j->quoted);
	}
}

/* What looks for updates sees none where none are published. */
static void judge_updates(struct judge *j)
{
	const char *wanted = j->table->updates;
	if (!wanted || answer_yes(j, A_PUB_UPDATE))
		return;
	wp_sql_add(&j->cure, "ALTER PUBLICATION %I SET (publish = '%supdate%s%s');",
		   j->options->publication, answer_yes(j, A_PUB_INSERT) ? "insert, " : "",
		   answer_yes(j, A_PUB_DELETE) ? ", delete" : "",
		   answer_yes(j, A_PUB_TRUNCATE) ? ", truncate" : "");
	FOUND_WARN(j, "publication_updates",
		   "%s has no effect: publication %s does not publish updates. After the cure %s "
		   "needs a replica identity (a primary key suffices), or its updates fail",
		   wanted, j->options->publication, j->quoted);
}

static void judge_others(struct judge *j)
{
	long count = answer_number(j, A_PUB_OTHERS);
	if (count == 0) {
		FOUND_OK(j, "publication_others", "it publishes nothing else");
		return;
	}
	if (*j->wanted->ignore) {
		FOUND_OK(j, "publication_others",
			 "publication %s has %ld more table%s (%s%s); a row of a table that "
			 "outbox.ignore (%s) does not cover stops the relay",
			 j->options->publication, count, count == 1 ? "" : "s",
			 answer_text(j, A_PUB_OTHER_NAMES), count > 5 ? ", ..." : "",
			 j->wanted->ignore);
		return;
	}
	if (count <= 5)
		wp_sql_add(&j->cure,
			   "-- if one holds events, add a section [outbox.NAME] with that table; "
			   "only rows of others may be dropped:\n"
			   "-- set outbox.ignore = %C",
			   answer_text(j, A_PUB_OTHER_NAMES));
	else
		wp_sql_add(&j->cure,
			   "-- if one holds events, add a section [outbox.NAME] with that table; "
			   "list only others in outbox.ignore, which drops their rows, or create "
			   "a separate publication for walpost");
	FOUND_WARN(j, "publication_others",
		   "publication %s has %ld more table%s (%s%s): a row of one stops the relay, "
		   "unless outbox.ignore covers the table",
		   j->options->publication, count, count == 1 ? "" : "s",
		   answer_text(j, A_PUB_OTHER_NAMES), count > 5 ? ", ..." : "");
}

/* These are partitions that are detached by now, or outboxes of other relays. */
static void judge_lookalikes(struct judge *j)
{
	long count = answer_number(j, A_PUB_LOOKALIKES);

	if (count == 0)
		return;
	wp_sql_add(&j->cure,
		   "-- if their rows are events, add a section [outbox.NAME], or cover them by "
		   "outbox.leaves; else add their exact names to outbox.ignore: %C",
		   answer_text(j, A_PUB_LOOKALIKE_NAMES));
	FOUND_WARN(j, "publication_lookalikes",
		   "publication %s has %ld more table%s with the id, key and payload columns of an "
		   "outbox (%s%s): a row of one stops the relay, because a pattern in "
		   "outbox.ignore does not cover such a table",
		   j->options->publication, count, count == 1 ? "" : "s",
		   answer_text(j, A_PUB_LOOKALIKE_NAMES), count > 5 ? ", ..." : "");
}

void wp_judge_publication(struct judge *j)
{
	if (answer_null(j, A_PUB)) {
		judge_missing_publication(j);
		return;
	}
	FOUND_OK(j, "publication", "publication %s exists", j->options->publication);
	judge_others(j);
	judge_lookalikes(j);
}

/* Judges all tables of a pattern: are they published, and will those to come be? */
static void judge_memberships(struct judge *j)
{
	long count = answer_number(j, A_TABLE_FITTING);
	long lacking = answer_yes(j, A_PUB_ALL) ? 0 : answer_number(j, A_TABLE_FITTING_UNLISTED);
	const char *publication = j->options->publication;

	if (lacking > 0) {
		wp_sql_add(
			&j->cure,
			"-- add each to the publication (ALTER PUBLICATION %I ADD TABLE ONLY ...), "
			"or publish whole schemas or all tables, which includes later ones",
			publication);
		FOUND_LOST(j, "publication_table",
			   "publication %s lacks %ld of the %ld tables that fit the pattern "
			   "(the newest is %s)" NOT_BEFORE,
			   publication, lacking, count, j->quoted);
	} else if (answer_yes(j, A_PUB_ALL)) {
		FOUND_OK(j, "publication_table", "publication %s has all tables, also later ones",
			 publication);
	} else {
		FOUND_OK(j, "publication_table",
			 "publication %s has the %ld tables that fit the pattern; a later one is "
			 "relayed only if its schema is published (FOR TABLES IN SCHEMA), or after "
			 "ALTER PUBLICATION ... ADD TABLE",
			 publication, count);
	}
}

void wp_judge_published_table(struct judge *j)
{
	if (answer_null(j, A_PUB) || !is_table(j))
		return;
	if (!answer_null(j, A_PUB_EXCEPTED))
		judge_excepted(j);
	else if (j->table->is_pattern)
		judge_memberships(j);
	else
		judge_membership(j);
	judge_root(j);
	judge_children(j);
	judge_columns_published(j);
	judge_filter(j);
	judge_kinds_of_change(j);
	judge_updates(j);
}

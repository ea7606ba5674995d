/* Which tables Debezium captures, and which of them an EventRouter gets. */
#ifndef WALPOST_SRC_IMPORT_TABLES_H
#define WALPOST_SRC_IMPORT_TABLES_H

#include "walpost/config/option.h"
#include "walpost/outbox/names.h"

#include "translate.h"

#define WP_IMPORT_TABLES_MAX 32
#define WP_IMPORT_TOPIC_SIZE (WP_IMPORT_WORD_SIZE + 2 * WP_NAME_SIZE)

struct wp_import_table {
	struct wp_table_name name;	       /* letters as they stand in the list */
	char text[WP_TABLE_NAME_TEXT_SIZE];    /* as outbox.table takes it */
	char topic[WP_IMPORT_TOPIC_SIZE];      /* as a predicate sees it: prefix.schema.table */
	char section[WP_OUTBOX_NAME_SIZE + 8]; /* "outbox", or a name of its own */
	bool capitals; /* in its name, of which Debezium takes no notice: it may be another */
	bool routed;   /* by some router */
};

enum wp_import_listed {
	WP_IMPORT_LISTED,     /* `items` are all of them */
	WP_IMPORT_NOT_LISTED, /* there is no list: all tables */
	WP_IMPORT_UNCLEAR,    /* there are expressions among them that could be any */
};

struct wp_import_tables {
	struct wp_import_table items[WP_IMPORT_TABLES_MAX];
	size_t count;
	enum wp_import_listed listed;
};

/* schema.table, a dot escaped or not between two plain names: an expression that means one table. */
bool wp_import_table_name(const char *word, struct wp_table_name *ret);
void wp_import_tables_find(struct wp_translation *t, struct wp_import_tables *ret);
/* [outbox.NAME] for each, after its name. */
void wp_import_tables_name(struct wp_import_tables *tables);

enum wp_import_match { WP_IMPORT_MATCH, WP_IMPORT_NO_MATCH, WP_IMPORT_UNKNOWN };
/* Does the predicate of this transform let the table's rows through? */
enum wp_import_match wp_import_predicate(struct wp_translation *t, const char *alias,
					 const struct wp_import_table *table);

#endif

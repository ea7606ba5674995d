/*
 * Makes events of the rows of one outbox table: which column means what, by name, for one
 * Relation message. A new Relation asks for a new mapping.
 *
 * Owns: copies of what it needs of the relation. Borrows: options and facts. Pure.
 */
#ifndef WALPOST_OUTBOX_TABLE_H
#define WALPOST_OUTBOX_TABLE_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/options.h"
#include "walpost/wal/column_facts.h"
#include "walpost/wal/relations.h"

struct wp_mapping;

enum wp_columns {
	WP_COLUMNS_ALL,	  /* a missing one is an error */
	WP_COLUMNS_KNOWN, /* each row then is WP_DATA, with what there is */
};

/* These say what a column is not. Without a missing one an event may still be set aside; not without its type. */
enum wp_mapping_fault_kind {
	WP_COLUMN_NONE,
	WP_COLUMN_MISSING,
	WP_COLUMN_NOT_BINARY, /* from here on it is of a type that does not do */
	WP_COLUMN_NOT_RENDERED,
	WP_COLUMN_NO_MODIFIER, /* a domain's, which its form depends on */
	WP_COLUMN_NOT_A_TIME,
	WP_COLUMN_NOT_A_NUMBER,
	WP_COLUMN_NOT_JSON, /* and a member of it is asked for */
};

struct wp_mapping_fault {
	enum wp_mapping_fault_kind kind;
	char column[WP_NAME_SIZE]; /* cut, as no column of a server's can be so long */
	const char *option;	   /* that asked for it; lives for ever */
	uint32_t type_oid;
};

struct wp_mapping_setup {
	const struct wp_outbox_options *options;
	const struct wp_relation *relation;
	const struct wp_relations *types;
	const struct wp_column_facts *facts; /* lives as long as the mapping; NULL: none */
	size_t table;			     /* which of the facts are its */
	struct wp_origin origin;	     /* copied; parts are NUL-terminated, or null */
	enum wp_columns columns;
	enum wp_transfer transfer;
	struct wp_mapping_fault *fault; /* NULL, or to be told what WP_CONFIG came of */
};

/*
 * WP_CONFIG with the error: a required column is missing (names it, and those there are), and all
 * were asked for; or one is of a type that has not the form it needs: in binary, when transfer
 * is; as a timestamp or a partition's number; as Debezium writes it. WP_NOMEM.
 */
enum wp_rc wp_mapping_new(const struct wp_mapping_setup *setup, struct wp_mapping **ret,
			  struct wp_error *error) WP_MUST_CHECK;
/*
 * Was it refused for a type that the catalog was not asked about: made since, or dropped before? Fresh facts may tell.
 * Otherwise what they say is all there is.
 */
bool wp_mapping_wants_facts(const struct wp_mapping_setup *setup);
void wp_mapping_free(struct wp_mapping *m);
/*
 * Fills all of `ret` but commit_time_us and position. WP_PROTO: the row has
 * another number of columns than its relation, or a value in a form that was not
 * asked for. WP_CONFIG: a binary form that is not known, or more to be printed than
 * `texts` may hold. WP_DATA: a NULL where none may be (id, route, key unless there is a
 * fallback or key.null = allow), or a required column is missing; `ret` is filled all the
 * same, so that the event can be named. Its table, names and types live as long as the
 * mapping; what was printed from binary lives in `texts`, until its next use. WP_NOMEM.
 */
enum wp_rc wp_mapping_event(const struct wp_mapping *m, const struct wp_tuple *row,
			    struct wp_buffer *texts, struct wp_event *ret,
			    struct wp_error *error) WP_MUST_CHECK;

enum { WP_NEEDED_COLUMNS_MAX = 200, WP_NEEDED_LISTS = 3, WP_NEEDED_ROLES = 14 };

/*
 * The columns that a publication must not hide, each once, and behind them those that a table
 * may lack. Names are borrowed from `options` or point into `storage`: not to be copied.
 */
struct wp_needed_columns {
	const char *names[WP_NEEDED_COLUMNS_MAX];
	/* Each has this in a CREATE TABLE: "uuid PRIMARY KEY". They are static. */
	const char *definitions[WP_NEEDED_COLUMNS_MAX];
	size_t count;	  /* that must be there */
	size_t all_count; /* and those that may */
	char storage[WP_NEEDED_LISTS][8192];
	char columns[WP_NEEDED_ROLES][64]; /* of members of JSON columns */
};
/* WP_CONFIG with the error: a list of columns is none. */
enum wp_rc wp_needed_columns(const struct wp_outbox_options *options, struct wp_needed_columns *ret,
			     struct wp_error *error) WP_MUST_CHECK;

/* A table of this outbox has had these columns at all times: id, key and payload. Borrowed of `options`. */
enum { WP_LASTING_COLUMNS = 3 };
struct wp_lasting_columns {
	struct wp_span names[WP_LASTING_COLUMNS]; /* of a member of a JSON column, the column's */
};
struct wp_lasting_columns wp_lasting_columns(const struct wp_outbox_options *options);

#endif

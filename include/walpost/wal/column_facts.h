/*
 * The stream does not tell this of a table's columns and their types, and the catalog does,
 * as of the time at which it was asked: may they be NULL, what lies under a domain, which
 * types are enums and with which labels, which are an extension's, and constant defaults.
 *
 * Types are kept beside the columns, for a column may come to be of another, or was of another
 * when a row was written.
 *
 * Owns: its texts. Pure. Bounded: WP_COLUMN_FACTS_MAX columns, WP_TYPE_FACTS_MAX types,
 * WP_TYPE_LABELS_SIZE bytes of labels and defaults; what finds no room is as not known.
 */
#ifndef WALPOST_WAL_COLUMN_FACTS_H
#define WALPOST_WAL_COLUMN_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/span.h"

#define WP_COLUMN_FACTS_MAX 1536 /* of each of 64 tables 24 */
#define WP_TYPE_FACTS_MAX 4096
#define WP_TYPE_LABELS_SIZE 65536

struct wp_column_fact {
	size_t table; /* which of those that were asked about */
	char name[64];
	uint32_t type_oid;
	bool is_not_null;   /* by itself, whatever its type says */
	size_t constant_at; /* its DEFAULT, in `labels`; 0: it has none, or one that is computed */
};

/* A type is a domain, an enum, or one of an extension that we know. */
struct wp_type_fact {
	uint32_t oid;
	uint32_t base_oid; /* under all domains; of no domain the same */
	int32_t modifier;  /* of the domains; -1: none */
	bool is_not_null;  /* by a domain */
	/* Names the base type of those that no built-in oid shows: "enum", or an extension's type by its name,
	 * "citext"; else "". */
	char known_as[16];
	size_t labels_at; /* of an enum, comma-separated, in `labels`; 0: not known */
};

struct wp_column_facts {
	struct wp_column_fact items[WP_COLUMN_FACTS_MAX];
	size_t count;
	struct wp_type_fact types[WP_TYPE_FACTS_MAX]; /* by oid */
	size_t type_count;
	size_t unlabelled; /* enums of these columns whose labels found no room */
	char labels[WP_TYPE_LABELS_SIZE];
	size_t labels_size; /* the first byte stands for none */
};

void wp_column_facts_begin(struct wp_column_facts *f);
/* Copies no more than there is: the most of them are few. */
void wp_column_facts_copy(struct wp_column_facts *to, const struct wp_column_facts *from);
/* What does not fit is left out. `expression` is the column's DEFAULT as SQL, by pg_get_expr(); NULL: it has none. */
void wp_column_facts_add(struct wp_column_facts *f, const struct wp_column_fact *fact,
			 const char *expression);
/* Types that matter most are to come first. `labels` may be NULL. False: the type or its labels did not fit. */
bool wp_column_facts_add_type(struct wp_column_facts *f, const struct wp_type_fact *fact,
			      const char *labels);
/* NULL: nothing is known of the column. */
const struct wp_column_fact *wp_column_facts_find(const struct wp_column_facts *f, size_t table,
						  struct wp_span name);
const struct wp_type_fact *wp_column_facts_type(const struct wp_column_facts *f, uint32_t oid);
/* Returns the text of a default that is a constant, without quotes; NULL: there is none, or it is not known. */
const char *wp_column_facts_constant(const struct wp_column_facts *f,
				     const struct wp_column_fact *fact);
/* NULL: they are not known, or it is no enum. */
const char *wp_column_facts_labels(const struct wp_column_facts *f,
				   const struct wp_type_fact *fact);

#endif

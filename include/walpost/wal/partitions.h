/*
 * Which tables are partitions of the outboxes' tables, or inherit from them, and as of when? The log
 * does not say: a row of either comes under the table's own name and oid.
 *
 * An answer of the catalog covers the transactions that had ended in the snapshot it was read
 * with. A later transaction may have attached a partition, also the one whose row has just come,
 * so an oid that is not in the answer is no proof about its rows.
 *
 * A transaction whose commit waits for a synchronous standby is in the log, and has not ended. If
 * it waits for us, it never will before its rows are confirmed; so an answer may tell too which
 * of those that run hold no lock that attaching takes. Of one that had committed before the
 * question was asked, that says that it has attached nothing.
 *
 * Owns: its lists. Pure. Bounded: WP_PARTITIONS_MAX, and the transactions a server can run.
 */
#ifndef WALPOST_WAL_PARTITIONS_H
#define WALPOST_WAL_PARTITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"

#define WP_PARTITIONS_MAX (1 << 20)

/* A pattern of tables stands for this table, which is partitioned. Names are NUL-terminated. */
struct wp_partition_root {
	uint32_t oid;
	const char *schema;
	const char *name;
};

struct wp_partition {
	uint32_t oid;
	uint32_t table;			      /* which of all outboxes' tables it is of */
	const struct wp_partition_root *root; /* NULL: of the one that has that name */
	bool inherits;			      /* no partition, but a child by inheritance */
};

/* All zeroes, it covers no transaction. */
struct wp_partitions {
	struct wp_partition *items; /* owned; by oid, at all levels */
	size_t count;
	struct wp_partition_root *roots; /* owned; by oid */
	size_t root_count;
	struct wp_buffer names; /* theirs */
	bool known;
	uint32_t xmin;	   /* all before it had ended */
	uint32_t xmax;	   /* from it on none had */
	uint32_t *running; /* owned: those between that had not */
	size_t running_count;
	uint32_t *harmless; /* owned: those of them that held no such lock */
	size_t harmless_count;
};

/*
 * `partitions` is "16390 0,16393 1 16380,16395 0 c": oid, table, and the oid of its root unless that has
 * the outbox's name, or c for a child by inheritance, ascending by oid; `roots` is JSON,
 * {"16380": ["schema", "name"], ...}, ascending too; `snapshot` a pg_snapshot as text; `harmless`
 * transaction ids, with commas between. WP_PROTO: one is not. WP_FULL, WP_NOMEM. `ret` need not be empty before.
 */
struct wp_partitions_text {
	const char *partitions;
	const char *roots;
	const char *snapshot;
	const char *harmless;
};
enum wp_rc wp_partitions_read(struct wp_partitions *ret,
			      const struct wp_partitions_text *text) WP_MUST_CHECK;
void wp_partitions_release(struct wp_partitions *p);
/* Does it say whose partition or child a table was that this transaction wrote to? */
bool wp_partitions_cover(const struct wp_partitions *p, uint32_t xid);
/* Does it say the same of one that had committed before this was asked? Of a child it may say nothing yet. */
bool wp_partitions_cover_committed(const struct wp_partitions *p, uint32_t xid);
/* NULL: the table is none of ours. */
const struct wp_partition *wp_partitions_find(const struct wp_partitions *p, uint32_t oid);

#endif

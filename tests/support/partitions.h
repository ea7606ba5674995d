/* What the catalog said of partitions, as a test wants it. */
#ifndef WALPOST_TESTS_PARTITIONS_H
#define WALPOST_TESTS_PARTITIONS_H

#include <stdio.h>

#include "support/check.h"
#include "support/wire_writer.h"
#include "walpost/wal/partitions.h"

static inline enum wp_rc read_partitions(struct wp_partitions *p, const char *list,
					 const char *snapshot, const char *harmless)
{
	return wp_partitions_read(p, &(struct wp_partitions_text){
					     .partitions = list,
					     .roots = "{}",
					     .snapshot = snapshot,
					     .harmless = harmless,
				     });
}

/* `list` as in wp_partitions_read(); all transactions before `xid` had ended. */
static inline void know_partitions(struct wp_partitions *p, const char *list, unsigned xid)
{
	char snapshot[40];

	(void)snprintf(snapshot, sizeof(snapshot), "%u:%u:", xid, xid);
	CHECK_EQ(read_partitions(p, list, snapshot, ""), WP_OK);
}

#endif

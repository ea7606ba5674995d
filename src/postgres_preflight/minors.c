/* Which bugs of PostgreSQL a minor release still has, and which one cures them all. */
#include "preflight_judge.h"

#include <stdio.h>
#include <string.h>

enum { MAJOR_FIRST = 14, MAJORS = 5 };

/*
 * The facts are from the release notes, up to those of 15.20 (2026-11-12), 17.12 (2026-11-12) and
 * 18.6 (2026-08-13). Minors of 16 are those of the same day where 15 and 17 have the same fix; of
 * 14 only those that could be read. What concerns subscribers, streamed or prepared transactions
 * only is left out: walpost has none.
 */
static const struct {
	const char *what;
	int cured[MAJORS]; /* the first without; 0: this major never had it, or it is not known */
	int since[MAJORS]; /* the first minor with it */
} bugs[] = {
	{ "sends NULL for a column that was added with a default", .cured = { 0, 6, 2, 0, 0 } },
	{ "can begin a new slot in the middle of a transaction and decode it wrongly",
	  .cured = { 13, 8, 4, 0, 0 } },
	{ "can fail to decode a row with a column's default (unexpected table_index_fetch_tuple "
	  "call)",
	  .cured = { 0, 9, 5, 1, 0 } },
	{ "can move a slot's restart_lsn back to WAL that was removed",
	  .cured = { 15, 10, 6, 2, 0 } },
	{ "can lose rows of transactions that are open while a publication is altered",
	  .cured = { 18, 13, 9, 5, 0 } },
	{ "can run out of memory when tables or publications are altered",
	  .cured = { 19, 14, 10, 6, 0 }, .since = { 18, 13, 9, 5, 0 } },
	{ "can wait forever for a WAL record that a crash cut off", .cured = { 0, 14, 10, 6, 0 } },
	{ "can crash the walsender at INSERT ... ON CONFLICT", .cured = { 0, 0, 0, 6, 0 } },
	{ "can invalidate a new slot by a race with a checkpoint", .cured = { 21, 16, 12, 8, 2 } },
	{ "can wait forever for its walsenders at a shutdown", .cured = { 0, 18, 14, 10, 4 } },
	{ "can begin a new slot without a transaction that is committing just then",
	  .cured = { 0, 20, 16, 12, 0 } },
	{ "can decode wrongly after a savepoint with ALTER TABLE in it was rolled back",
	  .cured = { 0, 20, 16, 12, 0 } },
};

struct wp_minor_bugs wp_minor_bugs(int major, int minor)
{
	struct wp_minor_bugs found = { .count = 0 };
	size_t size = 0;
	int at = major - MAJOR_FIRST;

	if (at < 0 || at >= MAJORS)
		return found;
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
		if (minor < bugs[i].since[at] || minor >= bugs[i].cured[at])
			continue;
		size += (size_t)snprintf(found.text + size, sizeof(found.text) - size, "%s%s",
					 found.count++ > 0 ? "; " : "", bugs[i].what);
		if (bugs[i].cured[at] > found.cured)
			found.cured = bugs[i].cured[at];
	}
	return found;
}

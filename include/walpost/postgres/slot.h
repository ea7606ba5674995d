/*
 * Logical replication slots, as SQL: creating, dropping, looking. Slots are made
 * for pgoutput, without two_phase, and survive a failover where the server can do
 * that (PostgreSQL 17 or newer).
 */
#ifndef WALPOST_POSTGRES_SLOT_H
#define WALPOST_POSTGRES_SLOT_H

#include "walpost/postgres/sql.h"

enum wp_slot_failover { WP_SLOT_LOCAL, WP_SLOT_FAILOVER };

/* WP_SLOT_FAILOVER where a server of this version can; a standby cannot. */
enum wp_slot_failover wp_slot_failover(int server_version);
/* One row: slot_name, lsn. Waits for all transactions that run when it begins. */
void wp_slot_create_sql(struct wp_sql *sql, const char *slot, enum wp_slot_failover failover);
/* Likewise; the server drops it as the session that made it ends. */
void wp_slot_create_temporary_sql(struct wp_sql *sql, const char *slot);
/* Likewise, holding what slot `from` holds now, which may be in use. Waits for nobody. */
void wp_slot_copy_temporary_sql(struct wp_sql *sql, const char *slot, const char *from);
void wp_slot_drop_sql(struct wp_sql *sql, const char *slot);
/*
 * One row per transaction that slot creation may wait for: kind ('backend' or
 * 'prepared'), pid or gid, seconds, state, application, user. `waiter` is the
 * backend that creates.
 */
void wp_slot_waits_sql(struct wp_sql *sql, int waiter);

/* Lower-case letters, digits and underscores, 1 to 63: WP_CONFIG with the error. */
enum wp_rc wp_slot_name_check(const char *slot, struct wp_error *error) WP_MUST_CHECK;

#endif

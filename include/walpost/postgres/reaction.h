/* One table: what an SQLSTATE calls for. Pure. */
#ifndef WALPOST_POSTGRES_REACTION_H
#define WALPOST_POSTGRES_REACTION_H

#include "walpost/wal/source.h"

enum wp_phase { WP_PHASE_CONNECT, WP_PHASE_SQL, WP_PHASE_START, WP_PHASE_COPY };

/* `sqlstate` "" : none was given (connection lost). Unknown ones:
 * WP_REACT_RECONNECT, in the copy WP_REACT_TRY_THRICE. */
enum wp_reaction wp_postgres_reaction(enum wp_phase phase, const char *sqlstate);

#endif

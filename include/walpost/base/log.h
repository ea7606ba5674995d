/*
 * One line per event: a name and facts, as logfmt or JSON, to standard error.
 * Only the edges log (run, cli, postgres, kafka), once, where the decision is
 * taken. Never payloads, keys or secrets.
 *
 *   wp_log(WP_LOG_WARN, "stream_broken", "why=%s lsn=%X/%X retry_ms=%d", ...)
 * is not how it goes; facts are a list, so that both formats are right:
 *   wp_log(WP_LOG_WARN, "stream_broken",
 *          WP_TEXT("why", why.text), WP_LSN("lsn", lsn), WP_INT("retry_ms", ms));
 *
 * Never blocks: standard error is reopened non-blocking (a pipe, a terminal)
 * or sent to with MSG_DONTWAIT (a socket); a line that does not fit is dropped
 * and counted, and the next line that gets through says how many were.
 * The one global of the program. Thread-safe. A line is at most 4,096 bytes.
 */
#ifndef WALPOST_BASE_LOG_H
#define WALPOST_BASE_LOG_H

#include "walpost/base/log_types.h"

void wp_log_setup(const struct wp_log_options *options);
/* The facts end with a WP_FACT_END; at most 24. */
void wp_log_facts(enum wp_log_level level, const char *event, const struct wp_fact *facts);
#define wp_log(level_, event_, ...)      \
	wp_log_facts((level_), (event_), \
		     (const struct wp_fact[]){ __VA_ARGS__, { WP_FACT_END, 0, 0, 0 } })
/* From now on; the format stays. */
void wp_log_set_level(enum wp_log_level level);
enum wp_log_level wp_log_level(void);
/* A copy of what is remembered (base/log_memory.h), of level info and above whatever the level is. */
struct wp_log_memory;
void wp_log_recall(struct wp_log_memory *ret);
/* Lines dropped so far because standard error was full. */
uint64_t wp_log_dropped(void);

#endif

/*
 * Writes one line per event: a name and facts, as logfmt or JSON, to standard error.
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

#include <stdbool.h>
#include <stddef.h>

#include "walpost/base/log_memory.h"

void wp_log_setup(const struct wp_log_options *options);
/* The facts end with a WP_FACT_END; at most 24. */
void wp_log_facts(enum wp_log_level level, const char *event, const struct wp_fact *facts);
#define wp_log(level_, event_, ...)      \
	wp_log_facts((level_), (event_), \
		     (const struct wp_fact[]){ __VA_ARGS__, { WP_FACT_END, 0, 0, 0 } })
/* What was said before, with the same facts but for numbers, is only counted. */
void wp_log_facts_once(enum wp_log_level level, const char *event, const struct wp_fact *facts);
#define wp_log_once(level_, event_, ...)      \
	wp_log_facts_once((level_), (event_), \
			  (const struct wp_fact[]){ __VA_ARGS__, { WP_FACT_END, 0, 0, 0 } })
/* The level holds from now on; the format stays. */
void wp_log_set_level(enum wp_log_level level);
enum wp_log_level wp_log_level(void);
/* Gives a copy of what is remembered (base/log_memory.h), of level info and above whatever the level is. */
void wp_log_recall(struct wp_log_memory *ret);
/* Counts the lines dropped so far because standard error was full. */
uint64_t wp_log_dropped(void);

/*
 * Writes the text of one log line, in either format. Pure: the time is passed in.
 *
 *   time=2026-01-02T03:04:05.678Z level=info event=stream_started slot=walpost
 *   {"time":"2026-01-02T03:04:05.678Z","level":"info","event":"stream_started","slot":"walpost"}
 *
 * A text value may be any bytes: what is not UTF-8 becomes U+FFFD, control
 * characters and bidirectional marks are escaped (base/display.h). Bounded: a line that would pass WP_LOG_LINE_MAX is
 * cut between characters and ends with cut=1; it stays well formed.
 */
#define WP_LOG_LINE_MAX \
	4096 /* with the newline; not above PIPE_BUF: a pipe takes it whole or not at all */
#define WP_LOG_FACTS_MAX 24

struct wp_log_line {
	char text[WP_LOG_LINE_MAX]; /* not NUL-terminated */
	size_t size;
	bool cut;
};

void wp_log_line_write(struct wp_log_line *line, enum wp_log_format format, int64_t time_ms,
		       enum wp_log_level level, const char *event, const struct wp_fact *facts);

#endif

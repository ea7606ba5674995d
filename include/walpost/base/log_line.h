/*
 * The text of one log line, in either format; log.h writes it. Pure: the time
 * is passed in. Nothing outside base includes this.
 *
 *   time=2026-01-02T03:04:05.678Z level=info event=stream_started slot=walpost
 *   {"time":"2026-01-02T03:04:05.678Z","level":"info","event":"stream_started","slot":"walpost"}
 *
 * A text value may be any bytes: what is not UTF-8 becomes U+FFFD, control
 * characters and bidirectional marks are escaped (base/display.h). Bounded: a line that would pass WP_LOG_LINE_MAX is
 * cut between characters and ends with cut=1; it stays well formed.
 */
#ifndef WALPOST_BASE_LOG_LINE_H
#define WALPOST_BASE_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "walpost/base/log.h"

/* With the newline. Not above PIPE_BUF: a pipe takes it whole or not at all. */
#define WP_LOG_LINE_MAX 4096
#define WP_LOG_FACTS_MAX 24

struct wp_log_line {
	char text[WP_LOG_LINE_MAX]; /* not NUL-terminated */
	size_t size;
	bool cut;
};

void wp_log_line_write(struct wp_log_line *line, enum wp_log_format format, int64_t time_ms,
		       enum wp_log_level level, const char *event, const struct wp_fact *facts);

#endif

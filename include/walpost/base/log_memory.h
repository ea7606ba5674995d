/*
 * Remembers of the log what people ask for later: how often each event of level warn or error was logged, and
 * the last lines of note; and what is not to be said again.
 *
 * Owns: nothing but itself. Bounded: WP_LOG_EVENTS_MAX events (more are counted as "other"), WP_LOG_LINES_MAX
 * lines and WP_LOG_SAID_MAX that are said once, the oldest go first. Pure.
 */
#ifndef WALPOST_BASE_LOG_MEMORY_H
#define WALPOST_BASE_LOG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A log line is made of these: its level, and facts. They are shapes only. */
enum wp_log_level { WP_LOG_DEBUG, WP_LOG_INFO, WP_LOG_WARN, WP_LOG_ERROR };
enum wp_log_format { WP_LOG_LOGFMT, WP_LOG_JSON };

struct wp_log_options {
	enum wp_log_level level;
	enum wp_log_format format;
};

enum wp_fact_kind { WP_FACT_END, WP_FACT_TEXT, WP_FACT_INT, WP_FACT_LSN };

struct wp_fact {
	enum wp_fact_kind kind;
	const char *name;
	const char *text;
	int64_t number;
};

#define WP_TEXT(name_, text_) ((struct wp_fact){ WP_FACT_TEXT, (name_), (text_), 0 })
#define WP_INT(name_, number_) ((struct wp_fact){ WP_FACT_INT, (name_), 0, (int64_t)(number_) })
#define WP_LSN(name_, lsn_) ((struct wp_fact){ WP_FACT_LSN, (name_), 0, (int64_t)(lsn_) })

#define WP_LOG_EVENTS_MAX 128
#define WP_LOG_LINES_MAX 32
#define WP_LOG_SAID_MAX 32
#define WP_LOG_EVENT_SIZE 48
#define WP_LOG_WHY_SIZE 2048 /* an error with its cure */

struct wp_log_count {
	char event[WP_LOG_EVENT_SIZE];
	enum wp_log_level level; /* warn or error */
	uint64_t count;
};

struct wp_log_remembered {
	int64_t wall_ms; /* since 1970 */
	enum wp_log_level level;
	char event[WP_LOG_EVENT_SIZE];
	char error
		[WP_LOG_WHY_SIZE]; /* its fact of that name, else text or what; perhaps cut; "": none */
};

struct wp_log_memory {
	struct wp_log_count counts[WP_LOG_EVENTS_MAX];
	size_t count_count;
	struct wp_log_remembered lines[WP_LOG_LINES_MAX]; /* a ring */
	size_t first;
	size_t line_count;
	uint64_t said[WP_LOG_SAID_MAX]; /* a ring of hashes; 0: none */
	size_t next_said;
};

/* All of level info but `progress` is of note; nothing of debug is. */
void wp_log_memory_add(struct wp_log_memory *m, int64_t wall_ms, enum wp_log_level level,
		       const char *event, const struct wp_fact *facts);
/* Returns false when it was said before, with the same facts but for numbers, and is counted now; true
 * when it is to be added. */
bool wp_log_memory_is_new(struct wp_log_memory *m, enum wp_log_level level, const char *event,
			  const struct wp_fact *facts);
/* The line with index 0 is the oldest. */
const struct wp_log_remembered *wp_log_memory_line(const struct wp_log_memory *m, size_t index);
const char *wp_log_level_name(enum wp_log_level level);

#endif

/* What a log line is made of: its level, and facts. Shapes only. */
#ifndef WALPOST_BASE_LOG_TYPES_H
#define WALPOST_BASE_LOG_TYPES_H

#include <stdint.h>

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

#endif

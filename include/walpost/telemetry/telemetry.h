/*
 * This is what can be told of a running relay, as it is at one moment: the metrics, /status, the page
 * and the judgement of its health are all made of this, and of nothing else.
 *
 * Owns: nothing; strings and pointers are borrowed from who fills it (run/). Pure.
 */
#ifndef WALPOST_TELEMETRY_TELEMETRY_H
#define WALPOST_TELEMETRY_TELEMETRY_H

#include "walpost/base/calendar.h"
#include "walpost/base/log_memory.h"
#include "walpost/relay/relay.h"
#include "walpost/sink/sink.h"
#include "walpost/source/scheduled.h"

/* The last minutes are kept for the charts of the page, in a ring of samples. */
#define WP_HISTORY_SAMPLES 150
#define WP_HISTORY_EVERY_MS 2000

struct wp_history_sample {
	int64_t at_ms;	  /* monotonic */
	double events_s;  /* confirmed a second, since the sample before */
	double lag_bytes; /* below 0: not known */
	double in_flight; /* events */
};

struct wp_history {
	struct wp_history_sample samples[WP_HISTORY_SAMPLES];
	size_t first;
	size_t count;
	uint64_t confirmed; /* as of the last */
	int64_t at_ms;	    /* likewise; 0: none yet */
};

void wp_history_add(struct wp_history *h, int64_t now_ms, const struct wp_relay_snapshot *s);
/* The sample with index 0 is the oldest. */
const struct wp_history_sample *wp_history_at(const struct wp_history *h, size_t index);

struct wp_telemetry_process {
	uint64_t resident_bytes;
	uint64_t cpu_ms; /* user and system */
	uint64_t open_fds;
	uint64_t max_fds;
	uint64_t threads;
	int64_t started_s; /* since 1970 */
};

/* Counts requests to our own HTTP server, by the code they were answered with. */
struct wp_telemetry_requests {
	uint64_t ok;	    /* 200 */
	uint64_t not_found; /* 404 */
	uint64_t refused;   /* 405: not GET or HEAD */
	uint64_t unhealthy; /* 503: /livez or /readyz */
};

/* Counts reloads of the configuration, by SIGHUP. */
struct wp_telemetry_reloads {
	uint64_t done;
	uint64_t refused;  /* wrong, or taken back by the relay */
	bool last_refused; /* the last one was */
};

/* Tells how questions to a schema registry went. */
struct wp_telemetry_schemas {
	bool is_used; /* one was asked; else the rest means nothing */
	bool is_reachable;
	uint64_t subjects; /* whose ids are known */
	uint64_t failures; /* questions without an answer, or refused */
};

/* Each reason is with its value, or without one. */
#define WP_VITALS_REASONS_MAX 8
/* There is room for an error with its cure (base/error.h), which is to be pasted, and for what stands before it. */
#define WP_VITALS_REASON_SIZE 2560

struct wp_health_verdict {
	bool live;
	bool ready;
	/* These say why it is not, or what else to know of it when it is. */
	char reasons[WP_VITALS_REASONS_MAX][WP_VITALS_REASON_SIZE];
	size_t reason_count;
};

struct wp_telemetry {
	struct wp_now now;
	int64_t step_due_ms; /* when the relay wanted its next turn, monotonic */
	const char *version;
	const char *libpq;
	const char *librdkafka;
	const char *owner;
	const char *slot;
	const char *publication;
	const char *sink;
	const char *configuration; /* as `config show` prints it: without secrets */
	struct wp_relay_snapshot relay;
	const struct wp_meter *meter;
	struct wp_scheduled_figures scheduled;
	struct wp_sink_figures kafka;
	struct wp_telemetry_process process;
	struct wp_telemetry_requests requests;
	struct wp_telemetry_reloads reloads;
	struct wp_telemetry_schemas schemas;
	const struct wp_log_memory *log;
	uint64_t log_dropped;
	const struct wp_history *history;
	struct wp_health_verdict verdict; /* wp_verdict_of(), of all above */
};

/*
 * Writes the status page: one HTML document without foreign assets, whose figures and charts stand in it as
 * text and SVG; a few lines of script put a fresh one in its place while they are let. It never shows keys or
 * payloads. WP_FULL, WP_NOMEM leave a part of it behind.
 */
enum wp_rc wp_page_html(struct wp_buffer *into, const struct wp_telemetry *v) WP_MUST_CHECK;
/* Writes /status: all that can be told, as one JSON object. Its members are a contract; new ones may come. */
enum wp_rc wp_status_json(struct wp_buffer *into, const struct wp_telemetry *v) WP_MUST_CHECK;

/* /status and the page share these words and figures. A time is 2026-11-23T01:02:03Z. */
char *wp_telemetry_time(int64_t wall_ms, char text[WP_CALENDAR_TEXT_SIZE]);
const char *wp_telemetry_keeping(enum wp_keeping keeping);
/* Gives the seconds since then; below 0 for never. */
double wp_telemetry_age(const struct wp_telemetry *v, int64_t at_ms);
/* Gives the age of the oldest commit that is not confirmed, in seconds; 0 when there is none. */
double wp_telemetry_oldest(const struct wp_telemetry *v);
/* Returns NULL when it is not known, as with another relay.poison, without a stream or on a standby. */
const struct wp_parking_figures *wp_telemetry_parked(const struct wp_telemetry *v);
/* Gives the seconds since the oldest event that is parked was parked; 0 when none is. */
double wp_telemetry_parked_age(const struct wp_telemetry *v);
double wp_telemetry_uptime(const struct wp_telemetry *v);
/* Names it, or returns "" when there is none. */
const char *wp_telemetry_missing_topic(const struct wp_telemetry *v);

#endif

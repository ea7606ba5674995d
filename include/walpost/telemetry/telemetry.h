/*
 * What can be told of a running relay, as it is at one moment: the metrics, /status, the page
 * and the judgement of its health are all made of this, and of nothing else.
 *
 * Owns: nothing; strings and pointers are borrowed from who fills it (run/). Pure.
 */
#ifndef WALPOST_TELEMETRY_TELEMETRY_H
#define WALPOST_TELEMETRY_TELEMETRY_H

#include "walpost/base/log_memory.h"
#include "walpost/relay/relay.h"
#include "walpost/sink/sink_figures.h"
#include "walpost/telemetry/history.h"

struct wp_telemetry_process {
	uint64_t resident_bytes;
	uint64_t cpu_ms; /* user and system */
	uint64_t open_fds;
	uint64_t max_fds;
	uint64_t threads;
	int64_t started_s; /* since 1970 */
};

/* Requests to our own HTTP server, by the code they were answered with. */
struct wp_telemetry_requests {
	uint64_t ok;	    /* 200 */
	uint64_t not_found; /* 404 */
	uint64_t refused;   /* 405: not GET or HEAD */
	uint64_t unhealthy; /* 503: /livez or /readyz */
};

/* Of the configuration, by SIGHUP. */
struct wp_telemetry_reloads {
	uint64_t done;
	uint64_t refused;  /* wrong, or taken back by the relay */
	bool last_refused; /* the last one was */
};

/* Each with its value, or without one. */
#define WP_VITALS_REASONS_MAX 8
#define WP_VITALS_REASON_SIZE 512

struct wp_verdict {
	bool live;
	bool ready;
	/* Why it is not, or what else to know of it when it is. */
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
	struct wp_sink_figures kafka;
	struct wp_telemetry_process process;
	struct wp_telemetry_requests requests;
	struct wp_telemetry_reloads reloads;
	const struct wp_log_memory *log;
	uint64_t log_dropped;
	const struct wp_history *history;
	struct wp_verdict verdict; /* wp_verdict_of(), of all above */
};

#endif

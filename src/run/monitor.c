#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ev.h>

#include "monitor.h"
#include "reloader.h"
#include "walpost/base/calendar.h"
#include "walpost/base/clock.h"
#include "walpost/base/log.h"
#include "walpost/base/notify.h"
#include "walpost/http/server.h"
#include "walpost/postgres_stream/scheduler.h"
#include "walpost/registry/registry.h"
#include "walpost/telemetry/health.h"
#include "walpost/telemetry/metrics.h"
#include "walpost/telemetry/telemetry.h"

/* Reads /proc/self/statm, proc(5): size resident shared ..., in pages. */
static uint64_t read_resident(void)
{
	unsigned long long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	(void)fclose(file); /* read only */
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t count_entries(const char *path)
{
	DIR *folder = opendir(path);
	uint64_t count = 0;

	if (folder == NULL)
		return 0;
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
		count += entry->d_name[0] != '.';
	(void)closedir(folder);
	return count;
}

static uint64_t cpu_ms_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_usec / 1000;
}

/* What can not be read is 0. `started_s` is left as it is. */
static void process_read(struct wp_telemetry_process *ret)
{
	struct rusage usage = { 0 };
	struct rlimit limit = { 0 };

	(void)getrusage(RUSAGE_SELF, &usage);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	ret->resident_bytes = read_resident();
	ret->cpu_ms = cpu_ms_of(&usage.ru_utime) + cpu_ms_of(&usage.ru_stime);
	ret->open_fds = count_entries("/proc/self/fd");
	if (ret->open_fds > 0)
		ret->open_fds--; /* the one it was counted with */
	ret->max_fds = limit.rlim_cur;
	ret->threads = count_entries("/proc/self/task");
}

#define STATE_TOLD_EVERY_S 1.
#define TEXT "text/plain; charset=utf-8"

struct wp_monitor {
	struct ev_loop *loop; /* borrowed */
	struct wp_monitor_setup setup;
	struct wp_relay *relay;		      /* borrowed; NULL: not begun */
	struct wp_sink *sink;		      /* likewise */
	const struct wp_scheduler *scheduler; /* borrowed; NULL: none */
	struct wp_http *http;		      /* NULL: nobody can ask */
	int64_t started_s;

	struct wp_history history;
	struct wp_telemetry_requests requests;
	struct wp_log_memory log;
	struct wp_telemetry telemetry; /* of the question that is being answered */
	ev_timer sample;
	ev_timer watchdog;
	ev_timer status;
	bool has_manager;
	enum wp_state state; /* of the last turn */
	enum wp_state told;
};

/* ---- the telemetry ---- */

static const struct wp_sink_figures *figures_of(struct wp_sink *sink)
{
	static const struct wp_sink_figures none;

	return sink->ops->figures != NULL ? sink->ops->figures(sink) : &none;
}

static struct wp_telemetry_schemas schemas_of(const struct wp_registry *registry)
{
	struct wp_registry_figures f;

	wp_registry_figures(registry, &f);
	return (struct wp_telemetry_schemas){
		.is_used = f.is_used,
		.is_reachable = f.is_reachable,
		.subjects = f.subjects,
		.failures = f.failures,
	};
}

static const struct wp_telemetry *look(struct wp_monitor *t)
{
	const struct wp_run_options *o = t->setup.options;
	struct wp_telemetry *v = &t->telemetry;

	wp_log_recall(&t->log);
	*v = (struct wp_telemetry){
		.now = t->setup.clock(),
		.step_due_ms = wp_relay_due(t->relay),
		.version = WALPOST_VERSION,
		.libpq = o->libpq_version,
		.librdkafka = o->librdkafka_version,
		.owner = t->setup.owner,
		.slot = o->postgres->slot,
		.publication = o->postgres->publication,
		.sink = o->relay->sink == WP_SINK_KIND_KAFKA ? "kafka" : "stdout",
		.configuration = wp_reloader_configuration(t->setup.reloader),
		.reloads = wp_reloader_counts(t->setup.reloader),
		.schemas = schemas_of(t->setup.registry),
		.meter = wp_relay_meter(t->relay),
		.kafka = *figures_of(t->sink),
		.process.started_s = t->started_s,
		.requests = t->requests,
		.log = &t->log,
		.log_dropped = wp_log_dropped(),
		.history = &t->history,
	};
	wp_relay_take_snapshot(t->relay, &v->relay);
	if (t->scheduler != NULL)
		v->scheduled = *wp_scheduler_figures(t->scheduler);
	wp_verdict_of(v, &v->verdict);
	return v;
}

/* ---- HTTP ---- */

static enum wp_rc answer_metrics(struct wp_monitor *t, struct wp_http_answer *a)
{
	a->type = WP_METRICS_TYPE;
	process_read(&t->telemetry.process);
	return wp_metrics_write(a->body, &t->telemetry);
}

static enum wp_rc answer_livez(struct wp_monitor *t, struct wp_http_answer *a)
{
	a->code = t->telemetry.verdict.live ? 200 : 503;
	return wp_livez_text(a->body, &t->telemetry.verdict);
}

static enum wp_rc answer_readyz(struct wp_monitor *t, struct wp_http_answer *a)
{
	a->code = t->telemetry.verdict.ready ? 200 : 503;
	return wp_readyz_text(a->body, &t->telemetry.verdict);
}

static enum wp_rc answer_status(struct wp_monitor *t, struct wp_http_answer *a)
{
	a->type = "application/json";
	process_read(&t->telemetry.process);
	return wp_status_json(a->body, &t->telemetry);
}

static enum wp_rc answer_page(struct wp_monitor *t, struct wp_http_answer *a)
{
	a->type = "text/html; charset=utf-8";
	process_read(&t->telemetry.process);
	return wp_page_html(a->body, &t->telemetry);
}

static enum wp_rc answer(void *arg, const char *path, struct wp_http_answer *a)
{
	static const struct {
		const char *path;
		enum wp_rc (*answer)(struct wp_monitor *, struct wp_http_answer *);
	} pages[] = {
		{ "/", answer_page },	      { "/metrics", answer_metrics },
		{ "/livez", answer_livez },   { "/readyz", answer_readyz },
		{ "/status", answer_status },
	};
	struct wp_monitor *t = arg;

	a->type = TEXT;
	if (t->relay == NULL) {
		a->code = 503;
		return wp_buffer_append_text(a->body, "starting\n");
	}
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (strcmp(pages[i].path, path) != 0)
			continue;
		(void)look(t);
		return pages[i].answer(t, a);
	}
	a->code = 404;
	return wp_buffer_append_text(a->body,
				     "available: /, /metrics, /livez, /readyz and /status\n");
}

static void answered(void *arg, unsigned code)
{
	struct wp_telemetry_requests *r = &((struct wp_monitor *)arg)->requests;

	r->ok += code == 200;
	r->not_found += code == 404;
	r->refused += code == 405;
	r->unhealthy += code == 503;
}

static void sample_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	struct wp_monitor *t = w->data;
	struct wp_relay_snapshot s;

	if (t->relay == NULL)
		return;
	wp_relay_take_snapshot(t->relay, &s);
	wp_history_add(&t->history, t->setup.clock().ms, &s);
}

static enum wp_rc serve(struct wp_monitor *t, struct wp_error *error)
{
	struct wp_http_setup setup = { .answer = answer, .answered = answered, .arg = t };
	const char *listen = t->setup.options->http->listen;

	if (listen[0] == '\0')
		return WP_OK;
	enum wp_rc rc = wp_http_address_parse(listen, &setup.address, error);
	if (rc == WP_OK)
		rc = wp_http_new(t->loop, &setup, &t->http, error);
	if (rc != WP_OK)
		return rc;
	wp_log(WP_LOG_INFO, "http_listens", WP_TEXT("address", setup.address.host),
	       WP_INT("port", wp_http_port(t->http)));
	ev_timer_start(t->loop, &t->sample);
	return WP_OK;
}

/* ---- the service manager ---- */

/* A process that does not live by its own judgement is left to the watchdog. */
static void watchdog_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	struct wp_monitor *t = w->data;

	if (t->relay == NULL || look(t)->verdict.live)
		wp_notify("WATCHDOG=1");
}

/* It is told at most once a second, for it flits. */
static void status_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	struct wp_monitor *t = w->data;
	char lines[128];

	if (t->told == t->state)
		return;
	t->told = t->state;
	(void)snprintf(lines, sizeof(lines), "STATUS=%s", wp_state_name(t->state));
	wp_notify(lines);
}

static void watch_manager(struct wp_monitor *t)
{
	int64_t watchdog_ms = wp_notify_watchdog_ms();

	t->has_manager = wp_notify_is_wanted();
	if (!t->has_manager)
		return;
	wp_notify("READY=1\nSTATUS=connecting");
	if (watchdog_ms > 0) {
		ev_timer_set(&t->watchdog, 0., (double)watchdog_ms / 2e3);
		ev_timer_start(t->loop, &t->watchdog);
	}
}

void wp_monitor_turned(struct wp_monitor *t, enum wp_state state)
{
	t->state = state;
	if (t->has_manager && t->told != state && !ev_is_active(&t->status)) {
		ev_timer_set(&t->status, STATE_TOLD_EVERY_S, 0.);
		ev_timer_start(t->loop, &t->status);
	}
}

void wp_monitor_stopping(struct wp_monitor *t)
{
	if (t->has_manager)
		wp_notify("STOPPING=1");
}

/* sd_notify(3) wants the monotonic time, lest an older READY be taken for that of this reload. */
void wp_monitor_reloading(struct wp_monitor *t)
{
	char lines[64];

	if (!t->has_manager)
		return;
	(void)snprintf(lines, sizeof(lines), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, wp_clock_us());
	wp_notify(lines);
}

void wp_monitor_reloaded(struct wp_monitor *t)
{
	if (t->has_manager)
		wp_notify("READY=1");
}

/* ---- life ---- */

enum wp_rc wp_monitor_new(struct ev_loop *loop, const struct wp_monitor_setup *setup,
			  struct wp_monitor **ret, struct wp_error *error)
{
	struct wp_monitor *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return WP_NOMEM;
	t->loop = loop;
	t->setup = *setup;
	t->told = t->state = WP_CONNECTING;
	t->started_s = setup->clock().wall_us / 1000000 + WP_POSTGRES_EPOCH_S;
	ev_timer_init(&t->sample, sample_cb, 0., WP_HISTORY_EVERY_MS / 1e3);
	ev_timer_init(&t->watchdog, watchdog_cb, 0., 0.);
	ev_timer_init(&t->status, status_cb, 0., 0.);
	t->sample.data = t->watchdog.data = t->status.data = t;
	enum wp_rc rc = serve(t, error);
	if (rc != WP_OK) {
		wp_monitor_free(t);
		return rc;
	}
	*ret = t;
	return WP_OK;
}

void wp_monitor_begin(struct wp_monitor *t, struct wp_relay *relay, struct wp_sink *sink)
{
	t->relay = relay;
	t->sink = sink;
	watch_manager(t);
}

void wp_monitor_watch_scheduler(struct wp_monitor *t, const struct wp_scheduler *scheduler)
{
	t->scheduler = scheduler;
}

void wp_monitor_free(struct wp_monitor *t)
{
	if (t == NULL)
		return;
	ev_timer_stop(t->loop, &t->sample);
	ev_timer_stop(t->loop, &t->watchdog);
	ev_timer_stop(t->loop, &t->status);
	wp_http_free(t->http);
	free(t);
}

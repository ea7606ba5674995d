#include <ev.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "walpost/base/calendar.h"
#include "walpost/base/clock.h"
#include "walpost/base/error.h"
#include "walpost/base/heap.h"
#include "walpost/base/log.h"
#include "walpost/base/worker.h"
#include "walpost/kafka_send/producer.h"
#include "walpost/kafka/statistics.h"
#include "walpost/kafka/throttle.h"
#include "walpost/login/login.h"
#include "walpost/postgres_stream/cleaner.h"
#include "walpost/postgres_stream/parked_store.h"
#include "walpost/postgres_stream/scheduler.h"
#include "walpost/postgres_stream/stream.h"
#include "walpost/registry/registry.h"
#include "walpost/relay/relay.h"
#include "walpost/relay/options.h"
#include "walpost/run/requirements.h"
#include "walpost/run/run.h"
#include "walpost/sink/stdout.h"

#include "reloader.h"
#include "monitor.h"

enum {
	PROGRESS_EVERY_S = 60,
	TRIM_LOOK_EVERY_S = 5,
	TRIM_FROM_BYTES = 1024 * 1024,
	DUE_WAIT_MAX_MS = 60 * 1000,
	REPORTS_GATHER_MS = 5,
	SAME_SIGNAL_MS = 500,
	SINK_FREE_MS = 1000,
	WORKER_FREE_MS = 500,
};

struct run {
	const struct wp_run_options *options;
	struct ev_loop *loop;	  /* borrowed: the default one */
	struct wp_worker *worker; /* owned, as all below */
	struct wp_source *source;
	struct wp_sink *sink;
	struct wp_parked_store *parked;	   /* NULL unless relay.poison = park */
	struct wp_cleanup_store *cleaner;  /* NULL with cleanup.mode = none */
	const struct wp_outboxes *cleaned; /* what it has been told; only compared */
	struct wp_scheduler *scheduler;	   /* NULL unless relay.schedule */
	struct wp_relay *relay;
	struct wp_monitor *monitor;
	struct wp_registry *registry;
	struct wp_kafka_options kafka; /* with what we add to the user's */
	struct wp_throttle throttle;   /* told by the producer's client */
	struct wp_reloader *reloader;
	char run_id[37];
	char owner[WP_OWNER_SIZE];

	ev_timer step;	      /* 0 s: a step is due now */
	bool turning;	      /* one is being done */
	uint64_t events_sent; /* by the last */
	int64_t sent_ms;      /* when there were any, last */
	bool often;	      /* the ones before came shortly before */
	ev_timer due;	      /* the relay's own time */
	ev_timer progress;
	ev_timer trim;
	size_t heap_highest; /* of the bytes in flight, since memory was given back */
	uint64_t renewals;   /* of the stream's connection, likewise */
	ev_io sink_io;
	ev_io worker_io;
	int clock_fd; /* -1: none */
	ev_io clock_io;
	ev_signal terminate;
	ev_signal interrupt;
	ev_signal hangup;
	bool signalled;
	int64_t signalled_ms;
	bool is_refused; /* by the schema registry, at the start */
	bool over;
	int exit_code;
	uint64_t events_told;
};

static struct wp_now clock_now(void)
{
	struct timespec wall;

	(void)clock_gettime(CLOCK_REALTIME, &wall); /* cannot fail on Linux */
	return (struct wp_now){
		.ms = wp_clock_us() / 1000,
		.boot_ms = wp_clock_boot_us() / 1000,
		.wall_us = ((int64_t)wall.tv_sec - WP_POSTGRES_EPOCH_S) * 1000000 +
			   wall.tv_nsec / 1000,
	};
}

/* -- log ------------------------------------------------------------------ */

static enum wp_log_level level_of(enum wp_note_level level)
{
	static const enum wp_log_level LEVELS[] = {
		[WP_NOTE_DEBUG] = WP_LOG_DEBUG,
		[WP_NOTE_INFO] = WP_LOG_INFO,
		[WP_NOTE_WARN] = WP_LOG_WARN,
		[WP_NOTE_ERROR] = WP_LOG_ERROR,
	};

	return LEVELS[level];
}

static void log_notes(struct run *run)
{
	struct wp_note n;

	while (wp_relay_take_note(run->relay, &n)) {
		struct wp_fact facts[4] = { WP_LSN("lsn", n.lsn) };
		size_t count = 1;
		if (n.error.text[0] != '\0')
			facts[count++] = WP_TEXT("reason", n.error.text);
		if (n.wait_ms >= 0)
			facts[count++] = WP_INT("retry_ms", n.wait_ms);
		facts[count] = (struct wp_fact){ .kind = WP_FACT_END };
		wp_log_facts(level_of(n.level), n.event, facts);
	}
}

/* What is not known is left out. */
static size_t add_positions(const struct wp_relay_snapshot *s, struct wp_fact *facts)
{
	size_t count = 0;
	uint64_t lag;

	if (wp_relay_lag(s, &lag)) {
		facts[count++] = WP_LSN("confirmed_lsn", s->confirmed_lsn);
		facts[count++] = WP_LSN("read", s->read);
		facts[count++] = WP_INT("lag_bytes", (int64_t)lag);
	}
	if (s->server != 0)
		facts[count++] = WP_LSN("server", s->server);
	if (s->holder[0] != '\0')
		facts[count++] = WP_TEXT("holder", s->holder);
	return count;
}

static void log_progress(struct run *run, const char *event)
{
	struct wp_relay_snapshot s;

	wp_relay_take_snapshot(run->relay, &s);
	struct wp_fact facts[24] = {
		WP_TEXT("state", wp_state_name(s.state)),
		WP_INT("events", s.confirmed),
		WP_INT("events_new", s.confirmed - run->events_told),
		WP_INT("dead_letters", s.counts.dead_letters),
		WP_INT("transactions", s.counts.transactions),
		WP_INT("bytes", s.counts.bytes),
		WP_INT("in_flight", s.in_flight),
		WP_INT("in_flight_bytes", s.in_flight_bytes),
		WP_INT("updates_ignored", s.counts.updates),
		WP_INT("deletes_ignored", s.counts.deletes),
		WP_INT("truncates_ignored", s.counts.truncates),
		WP_INT("rows_ignored", s.counts.ignored),
		WP_INT("messages_ignored", s.counts.messages),
		WP_INT("messages_refused", s.counts.messages_refused),
		WP_INT("reconnects", s.reconnects),
		WP_INT("rewinds", s.rewinds),
	};
	size_t count = 16;

	count += add_positions(&s, facts + count);
	if (run->over)
		facts[count++] = WP_INT("exit_code", run->exit_code);
	facts[count] = (struct wp_fact){ .kind = WP_FACT_END };
	/* Why it ended has been said; the last line says at least that something is left to do. */
	bool is_clean = run->exit_code == WP_EXIT_OK && s.in_flight == 0;
	wp_log_facts(run->over && !is_clean ? WP_LOG_WARN : WP_LOG_INFO, event, facts);
	run->events_told = s.confirmed;
}

/* -- the turn ------------------------------------------------------------- */

/*
 * While rows come often, reports need not wake us one by one: each turn collects those that have
 * come, and until the next nobody waits for them but Postgres, whose feedback has an interval.
 * A sink that wants to write must not wait.
 */
static bool reports_may_gather(struct run *run, short wanted, struct wp_now now)
{
	struct wp_relay_snapshot s;

	wp_relay_take_snapshot(run->relay, &s);
	bool recently = now.ms - run->sent_ms < REPORTS_GATHER_MS;
	if (s.counts.events != run->events_sent) {
		run->events_sent = s.counts.events;
		run->sent_ms = now.ms;
		run->often = recently;
	}
	/* A turn without rows, for a Begin that came alone say, changes nothing. */
	return run->often && recently && wanted == POLLIN && s.state == WP_STREAMING;
}

static void arm_sink(struct run *run, int fd, short wanted)
{
	int events = (wanted & POLLIN ? EV_READ : 0) | (wanted & POLLOUT ? EV_WRITE : 0);
	bool active = ev_is_active(&run->sink_io);

	if (active && run->sink_io.fd == fd &&
	    (run->sink_io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(run->loop, &run->sink_io);
	if (fd < 0 || events == 0)
		return;
	ev_io_set(&run->sink_io, fd, events);
	ev_io_start(run->loop, &run->sink_io);
}

static void arm_due(struct run *run, struct wp_now now, int64_t wait_max_ms)
{
	int64_t due = wp_relay_due(run->relay);
	int64_t wait_ms = due > now.ms ? due - now.ms : 0;

	if (wait_ms > wait_max_ms)
		wait_ms = wait_max_ms;
	ev_timer_stop(run->loop, &run->due);
	ev_timer_set(&run->due, (double)wait_ms / 1000. + 0.0005, 0.);
	ev_timer_start(run->loop, &run->due);
}

static void arm(struct run *run, struct wp_now now)
{
	short wanted = 0;
	int fd = run->sink->ops->fd(run->sink, &wanted);
	bool gather = reports_may_gather(run, wanted, now);

	arm_sink(run, fd, gather ? 0 : wanted);
	arm_due(run, now, gather ? REPORTS_GATHER_MS : DUE_WAIT_MAX_MS);
}

/* Steps once the loop has looked at all there is: a turn that wants another must not bar it. */
static void step_soon(struct run *run)
{
	if (ev_is_active(&run->step) || ev_is_pending(&run->step))
		return;
	ev_timer_set(&run->step, 0., 0.);
	ev_timer_start(run->loop, &run->step);
}

static void leave(struct run *run, int exit_code)
{
	run->over = true;
	run->exit_code = exit_code;
	ev_break(run->loop, EVBREAK_ALL);
}

/* The outboxes are those in force: by a reload they may be others. */
static void tell_cleaner(struct run *run)
{
	const struct wp_outboxes *all = wp_reloader_task(run->reloader).outboxes;
	static struct wp_cleaned cleaned; /* large */

	if (run->cleaner == NULL || all == run->cleaned)
		return;
	run->cleaned = all;
	wp_requirements_cleaned(all, &run->options->relay->cleanup, &cleaned);
	wp_cleaner_set_tables(run->cleaner, cleaned.tables, cleaned.count);
}

static void tell_state(struct run *run)
{
	struct wp_relay_snapshot s;

	wp_relay_take_snapshot(run->relay, &s);
	wp_reloader_watch(run->reloader, run->relay, &s);
	wp_monitor_turned(run->monitor, s.state);
	tell_cleaner(run);
	if (run->scheduler != NULL)
		/* Paused it holds the slot too, and may come and go many times a second. */
		wp_scheduler_turn(run->scheduler, s.state == WP_STREAMING || s.state == WP_PAUSED
							  ? WP_SCHEDULING_ON
							  : WP_SCHEDULING_OFF);
}

/* The configuration is wrong, as is found out at the start. */
static void watch_registry(struct run *run, struct wp_now now)
{
	const struct wp_error *refusal = wp_registry_refusal(run->registry);

	if (refusal == NULL || run->is_refused)
		return;
	run->is_refused = true;
	wp_log(WP_LOG_ERROR, "start_failed", WP_TEXT("reason", refusal->text));
	wp_relay_stop(run->relay, now);
}

static void turn(struct run *run)
{
	struct wp_now now = clock_now();

	run->turning = true;
	watch_registry(run, now);
	enum wp_step step = wp_relay_step(run->relay, now);
	log_notes(run);
	tell_state(run);
	if (step == WP_STEP_OVER) {
		leave(run, run->is_refused ? WP_EXIT_CONFIG : wp_relay_exit_code(run->relay));
		return;
	}
	arm(run, now);
	if (step == WP_STEP_MORE)
		step_soon(run);
	run->turning = false;
}

static void step_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	turn(w->data);
}

static void sink_cb(struct ev_loop *loop, ev_io *w, int events)
{
	struct run *run = w->data;

	if (run->sink->ops->woken != NULL)
		run->sink->ops->woken(run->sink);
	turn(run);
}

static void worker_cb(struct ev_loop *loop, ev_io *w, int events)
{
	struct run *run = w->data;

	wp_worker_collect(run->worker);
	step_soon(run);
}

/* The clock was set, or the machine suspended: the relay looks at the clock first. */
static void clock_cb(struct ev_loop *loop, ev_io *w, int events)
{
	struct run *run = w->data;

	wp_clock_set_reset(run->clock_fd);
	turn(run);
}

static void progress_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	struct run *run = w->data;
	struct wp_relay_snapshot s;

	wp_relay_take_snapshot(run->relay, &s);
	if (s.state != WP_HELD) /* it does not know how far the server is by now, and says `held` */
		log_progress(run, "progress");
}

/*
 * Memory is given back after a burst, when what was in flight has come down to half of what it was,
 * or less; or when the stream has a new connection, which is smaller.
 */
static void trim_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	struct run *run = w->data;
	size_t highest = wp_relay_take_highest(run->relay);
	struct wp_relay_snapshot s;

	wp_relay_take_snapshot(run->relay, &s);
	if (highest > run->heap_highest)
		run->heap_highest = highest;
	bool is_over = run->heap_highest >= TRIM_FROM_BYTES && highest <= run->heap_highest / 2;
	if (!is_over && s.renewals == run->renewals)
		return;
	run->heap_highest = highest;
	run->renewals = s.renewals;
	wp_heap_trim();
}

/* The step comes in this pass of the loop, without asking the kernel in between. */
static void wake_cb(void *arg)
{
	struct run *run = arg;

	if (run->turning)
		step_soon(run);
	else if (!ev_is_active(&run->step) && !ev_is_pending(&run->step))
		ev_feed_event(run->loop, &run->step, EV_CUSTOM);
}

/* The first signal asks, the second insists. */
static void signal_cb(struct ev_loop *loop, ev_signal *w, int events)
{
	struct run *run = w->data;

	int64_t now_ms = clock_now().ms;
	if (run->signalled) {
		/* GNU timeout, for one, signals its child and then its whole group. */
		if (now_ms - run->signalled_ms < SAME_SIGNAL_MS)
			return;
		wp_log(WP_LOG_WARN, "leaving",
		       WP_TEXT("reason", "a second signal; events in flight will be sent again"));
		leave(run, WP_EXIT_FAILED);
		return;
	}
	run->signalled = true;
	run->signalled_ms = now_ms;
	wp_log(WP_LOG_INFO, "stopping", WP_INT("signal", w->signum));
	wp_monitor_stopping(run->monitor);
	wp_relay_stop(run->relay, clock_now());
	step_soon(run);
}

/* A relay that is told to stop goes by what it knows. */
static void reload_cb(struct ev_loop *loop, ev_signal *w, int events)
{
	struct run *run = w->data;

	if (run->signalled)
		return;
	wp_monitor_reloading(run->monitor);
	wp_reloader_reload(run->reloader, run->relay);
	wp_monitor_reloaded(run->monitor);
	step_soon(run);
}

/* -- life ----------------------------------------------------------------- */

static uint64_t random_seed(void)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = (uint64_t)clock_now().wall_us ^ (uint64_t)getpid();
	return seed;
}

static void name_owner(struct run *run, uint64_t seed)
{
	char host[32] = "host";

	(void)gethostname(host, sizeof(host) - 1); /* a name for people; cut is fine */
	host[sizeof(host) - 1] = '\0';
	snprintf(run->owner, sizeof(run->owner), "%s:%ld:%08" PRIX32, host, (long)getpid(),
		 (uint32_t)(seed >> 16));
}

/* This is a random UUID (RFC 9562, version 4). */
static void name_run(struct run *run)
{
	static const char digits[] = "0123456789abcdef";
	static const char form[] = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
	uint64_t bits = 0;

	for (size_t i = 0; form[i] != '\0'; i++) {
		if (i % 16 == 0)
			bits = random_seed();
		unsigned nibble = bits & 15;
		bits >>= 4;
		if (form[i] == 'x')
			run->run_id[i] = digits[nibble];
		else
			run->run_id[i] = form[i] == 'y' ? digits[8 | (nibble & 3)] : form[i];
	}
}

static enum wp_rc make_source(struct run *run, struct wp_error *error)
{
	struct wp_stream_setup setup = {
		.options = run->options->postgres,
		.wanted = *wp_reloader_task(run->reloader).wanted,
		.owner = run->owner,
		.epoch = run->options->relay->epoch,
		.removes_dropped =
			run->options->relay->cleanup.dropped == WP_CLEANUP_DROPPED_REMOVE,
		.prints = run->options->relay->sink == WP_SINK_KIND_STDOUT,
		.wake = { wake_cb, run },
	};
	return wp_stream_new(run->loop, &setup, &run->source, error);
}

static enum wp_rc make_parked(struct run *run, struct wp_error *error)
{
	if (run->options->relay->poison != WP_POISON_PARK)
		return WP_OK;
	run->parked = wp_parked_store_new(run->loop, &(struct wp_parked_store_setup){
							     .options = run->options->postgres,
							     .owner = run->owner,
							     .stream = run->source,
							     .wake = { wake_cb, run },
						     });
	return run->parked != NULL ? WP_OK
				   : wp_error_set(error, WP_NOMEM,
						  "out of memory for the store of parked events");
}

static enum wp_rc make_cleaner(struct run *run, struct wp_error *error)
{
	if (run->options->relay->cleanup.mode == WP_CLEANUP_NONE)
		return WP_OK;
	run->cleaner = wp_cleaner_new(run->loop, &(struct wp_cleaner_setup){
							 .options = run->options->postgres,
							 .cleanup = &run->options->relay->cleanup,
							 .stream = run->source,
							 .wake = { wake_cb, run },
						 });
	if (run->cleaner == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for cleanup");
	return WP_OK;
}

static enum wp_rc make_scheduler(struct run *run, struct wp_error *error)
{
	if (!run->options->relay->schedule)
		return WP_OK;
	run->scheduler = wp_scheduler_new(run->loop, &(struct wp_scheduler_setup){
							     .options = run->options->postgres,
							     .stream = run->source,
						     });
	if (run->scheduler == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for scheduled events");
	wp_monitor_watch_scheduler(run->monitor, run->scheduler);
	return WP_OK;
}

/* Statistics are asked for unless the user says how often, or nobody can ask for them. */
static void ask_for_statistics(struct run *run)
{
	static const char name[] = "statistics.interval.ms";

	run->kafka = *run->options->kafka;
	if (run->options->http->listen[0] == '\0' ||
	    run->kafka.property_count == WP_PROPERTIES_MAX ||
	    wp_property_find(&run->kafka, name) != NULL)
		return;
	run->kafka.properties[run->kafka.property_count++] = (struct wp_property){
		.name = name,
		.value = WP_STATISTICS_EVERY_MS,
		.where = "http.listen",
	};
}

static enum wp_rc make_sink(struct run *run, struct wp_error *error)
{
	const struct wp_relay_options *relay = run->options->relay;
	struct wp_in_flight_limits widest = wp_in_flight_limits_for(relay, SIZE_MAX);
	struct wp_kafka_bounds bounds = { widest.events, widest.bytes };

	if (relay->sink == WP_SINK_KIND_STDOUT)
		return wp_stdout_new(STDOUT_FILENO, &run->sink, error);
	ask_for_statistics(run);
	run->kafka.throttle = &run->throttle;
	return wp_producer_new(&run->kafka, &bounds, run->worker, &run->sink, error);
}

static enum wp_rc make_parts(struct run *run, struct wp_error *error)
{
	uint64_t seed = random_seed();
	enum wp_rc rc = wp_worker_new(&run->worker, error);

	if (rc != WP_OK)
		return rc;
	name_owner(run, seed);
	name_run(run);
	run->registry = wp_registry_new(run->loop, (struct wp_wake){ wake_cb, run });
	if (run->registry == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for schemas");
	rc = wp_reloader_new(run->options, run->run_id, wp_registry_subjects(run->registry),
			     &run->reloader, error);
	if (rc != WP_OK)
		return rc;
	rc = wp_monitor_new(run->loop,
			    &(struct wp_monitor_setup){
				    .options = run->options,
				    .owner = run->owner,
				    .reloader = run->reloader,
				    .registry = run->registry,
				    .clock = clock_now,
			    },
			    &run->monitor, error);
	if (rc != WP_OK)
		return rc;
	rc = make_source(run, error);
	if (rc != WP_OK)
		return rc;
	rc = make_parked(run, error);
	if (rc != WP_OK)
		return rc;
	rc = make_cleaner(run, error);
	if (rc != WP_OK)
		return rc;
	rc = make_scheduler(run, error);
	if (rc != WP_OK)
		return rc;
	rc = make_sink(run, error);
	if (rc != WP_OK)
		return rc;
	struct wp_relay_setup setup = {
		.source = run->source,
		.sink = run->sink,
		.options = run->options->relay,
		.task = wp_reloader_task(run->reloader),
		.parked = run->parked,
		.cleanup = run->cleaner,
		.slot = run->options->postgres->slot,
		.owner = run->owner,
		.seed = seed,
	};
	return wp_relay_new(&setup, &run->relay, error);
}

static void mask_hangup(int how)
{
	sigset_t hangup;

	(void)sigemptyset(&hangup);
	(void)sigaddset(&hangup, SIGHUP);
	(void)pthread_sigmask(how, &hangup, NULL); /* fails only when misused */
}

void wp_run_hold_hangup(void)
{
	mask_hangup(SIG_BLOCK);
}

static void watch(struct run *run)
{
	ev_timer_init(&run->step, step_cb, 0., 0.);
	ev_timer_init(&run->due, step_cb, 0., 0.);
	ev_timer_init(&run->progress, progress_cb, PROGRESS_EVERY_S, PROGRESS_EVERY_S);
	ev_timer_init(&run->trim, trim_cb, TRIM_LOOK_EVERY_S, TRIM_LOOK_EVERY_S);
	ev_io_init(&run->sink_io, sink_cb, -1, 0);
	ev_io_init(&run->worker_io, worker_cb, wp_worker_fd(run->worker), EV_READ);
	run->clock_fd = wp_clock_set_fd();
	ev_io_init(&run->clock_io, clock_cb, run->clock_fd, EV_READ);
	run->clock_io.data = run;
	if (run->clock_fd >= 0)
		ev_io_start(run->loop, &run->clock_io);
	ev_signal_init(&run->terminate, signal_cb, SIGTERM);
	ev_signal_init(&run->interrupt, signal_cb, SIGINT);
	ev_signal_init(&run->hangup, reload_cb, SIGHUP);
	run->step.data = run->due.data = run->progress.data = run->trim.data = run;
	run->sink_io.data = run->worker_io.data = run;
	run->terminate.data = run->interrupt.data = run->hangup.data = run;
	ev_timer_start(run->loop, &run->progress);
	ev_timer_start(run->loop, &run->trim);
	ev_io_start(run->loop, &run->worker_io);
	ev_signal_start(run->loop, &run->terminate);
	ev_signal_start(run->loop, &run->interrupt);
	ev_signal_start(run->loop, &run->hangup);
	mask_hangup(SIG_UNBLOCK);
	step_soon(run);
}

static void unwatch(struct run *run)
{
	ev_timer_stop(run->loop, &run->step);
	ev_timer_stop(run->loop, &run->due);
	ev_timer_stop(run->loop, &run->progress);
	ev_timer_stop(run->loop, &run->trim);
	ev_io_stop(run->loop, &run->sink_io);
	ev_io_stop(run->loop, &run->worker_io);
	ev_io_stop(run->loop, &run->clock_io);
	if (run->clock_fd >= 0)
		(void)close(run->clock_fd);
	ev_signal_stop(run->loop, &run->terminate);
	ev_signal_stop(run->loop, &run->interrupt);
	wp_run_hold_hangup(); /* at the end, too, it must not end us */
	ev_signal_stop(run->loop, &run->hangup);
}

/* False: a thread still ends a Kafka client, or asks the schema registry. */
static bool release(struct run *run)
{
	bool all_ended = true;
	wp_monitor_free(run->monitor);
	wp_relay_free(run->relay);
	wp_parked_store_free(run->parked);
	wp_cleaner_free(run->cleaner);
	wp_scheduler_free(run->scheduler);
	if (run->source)
		wp_stream_free(run->source);
	wp_reloader_free(run->reloader);
	all_ended = wp_registry_free(run->registry);
	if (run->sink)
		run->sink->ops->free(run->sink, run->exit_code == 0 ? SINK_FREE_MS : 0);
	if (run->worker)
		all_ended = wp_worker_free(run->worker, WORKER_FREE_MS) && all_ended;
	return all_ended;
}

/* exit() frees what librdkafka's threads use, OpenSSL's tables for one. */
static int end(struct run *run)
{
	wp_login_stop(); /* what waits for one ends, and leaves nothing behind */
	if (!release(run))
		_exit(run->exit_code);
	return run->exit_code;
}

int wp_run(const struct wp_run_options *options)
{
	struct run run = { .options = options };
	struct wp_error error = { .text = "" };

	wp_heap_limit();
	(void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN },
			NULL); /* write() tells */
	/* libev's default loop would take the exit status of every child of this process. */
	run.loop = ev_loop_new(EVFLAG_AUTO);
	if (run.loop == NULL) {
		wp_log(WP_LOG_ERROR, "start_failed",
		       WP_TEXT("reason", "libev found no usable backend"));
		return WP_EXIT_FAILED;
	}
	enum wp_rc rc = make_parts(&run, &error);
	if (rc != WP_OK) {
		wp_log(WP_LOG_ERROR, "start_failed",
		       WP_TEXT("reason", rc == WP_NOMEM
						 ? error.text[0] ? error.text : "out of memory"
						 : error.text));
		run.exit_code = rc == WP_CONFIG ? WP_EXIT_CONFIG : WP_EXIT_FAILED;
		return end(&run);
	}
	watch(&run); /* who reads `started` may send a signal */
	wp_log(WP_LOG_INFO, "started", WP_TEXT("version", WALPOST_VERSION),
	       WP_TEXT("owner", run.owner), WP_TEXT("slot", options->postgres->slot),
	       WP_TEXT("publication", options->postgres->publication),
	       WP_TEXT("table", options->outboxes->items[0].table),
	       WP_INT("outboxes", (int64_t)options->outboxes->count),
	       WP_TEXT("sink", options->relay->sink == WP_SINK_KIND_KAFKA ? "kafka" : "stdout"));
	wp_monitor_begin(run.monitor, run.relay, run.sink);
	wp_registry_expect(run.registry, wp_reloader_task(run.reloader).outboxes);
	while (!run.over)
		(void)ev_run(run.loop, 0);
	unwatch(&run);
	log_progress(&run, "stopped");
	return end(&run);
}

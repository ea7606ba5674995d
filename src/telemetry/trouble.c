/* Finds what keeps events from being delivered, or soon will. */
#include "page_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "walpost/relay/wal_guard.h"
#include "walpost/telemetry/health.h"

enum level { LOOK, BAD };

static void add(struct wp_troubles *t, enum level level, const char *name, int64_t since_ms,
		const char *remedy, const char *format, ...) WP_PRINTF(6, 7);

static void add(struct wp_troubles *t, enum level level, const char *name, int64_t since_ms,
		const char *remedy, const char *format, ...)
{
	va_list arguments;

	if (t->count == WP_TROUBLES_MAX)
		return;
	struct wp_trouble *item = &t->items[t->count++];
	*item = (struct wp_trouble){
		.is_bad = level == BAD,
		.name = name,
		.remedy = remedy,
		.since_ms = since_ms,
	};
	va_start(arguments, format);
	(void)vsnprintf(item->what, sizeof(item->what), format, arguments);
	va_end(arguments);
}

static bool reads(const struct wp_relay_snapshot *r)
{
	return r->state == WP_STREAMING || r->state == WP_PAUSED;
}

/* ---- what ended it ---- */

static void find_halt(const struct wp_telemetry *v, struct wp_troubles *t)
{
	const struct wp_relay_snapshot *r = &v->relay;

	if (r->halt_event == NULL)
		return;
	add(t, BAD, r->state == WP_HELD ? "Halted" : "Halting",
	    r->state == WP_HELD ? r->entered_ms : INT64_MIN,
	    "Nothing is delivered until you have followed the instruction and restarted walpost.",
	    "%s: %s", r->halt_event, r->halt_error);
}

static void find_loss(const struct wp_telemetry *v, struct wp_troubles *t)
{
	const struct wp_relay_slot *s = &v->relay.slot;

	if (s->known && s->keeping == WP_KEEPING_LOST && v->relay.halt_event == NULL)
		add(t, BAD, "Slot lost", INT64_MIN, "Run walpost check for the cure.",
		    "The server has invalidated slot %s.", v->slot);
	if (s->suspect)
		add(t, BAD, "Events may be lost", INT64_MIN,
		    "Undo the change of the publication or the table; until then nothing more is "
		    "confirmed to the server.",
		    "The publication no longer publishes all events; see the last "
		    "events_may_be_lost line of the log.");
}

/* ---- Kafka ---- */

static void find_kafka(const struct wp_telemetry *v, struct wp_troubles *t)
{
	const struct wp_relay_snapshot *r = &v->relay;
	bool waits = r->oldest.any || r->in_flight > 0;

	if (!r->sink_reachable)
		add(t, waits || !r->sink_reached ? BAD : LOOK, "Kafka unreachable",
		    r->unreachable_ms,
		    "Check that the brokers are running and that this host reaches those of "
		    "bootstrap.servers. Nothing is lost: events wait in Postgres, which keeps its "
		    "WAL for them.",
		    "%s%s", r->sink_error[0] ? r->sink_error : "No broker answers",
		    waits ? "; events wait" : "");
	if (r->waiting_subject != NULL)
		add(t, BAD, "Schema id unknown", INT64_MIN,
		    "Register the subject's schema, or let this host reach the registry and read "
		    "the subject; delivery then resumes by itself. walpost stops when the registry "
		    "has refused for relay.topic.wait.",
		    "An event waits for the schema id of subject %s; see the last schema_waiting "
		    "line of the log.",
		    r->waiting_subject);
	if (r->waiting && r->waiting_topic[0] == '\0')
		add(t, BAD, "Permission missing", r->waiting_ms,
		    "Grant it; delivery then resumes by itself. walpost stops when "
		    "relay.topic.wait has passed.",
		    "The Kafka user has lost a permission; see the last permission_waiting line of "
		    "the log.");
	else if (r->waiting)
		add(t, BAD, "Topic missing", r->waiting_ms,
		    "Create the topic, or allow this client to describe and write it; delivery "
		    "then resumes by itself. walpost stops when relay.topic.wait has passed.",
		    "An event waits for topic %s, which is missing or forbidden.",
		    r->waiting_topic);
	else if (r->repeats)
		add(t, BAD, "Event refused again and again", r->stalled_ms,
		    "Look at the broker's log for the reason; walpost goes on trying.",
		    "Kafka refuses an event, and those around it are sent again each time; see the "
		    "last event_refused line of the log.");
	else if (r->sink_throttled)
		add(t, LOOK, "Kafka throttles", INT64_MIN,
		    "Raise the quota of this client or user (kafka-configs.sh), or send less. "
		    "Nothing is lost.",
		    "A quota slows delivery down; see the last kafka_throttles line of the log.");
	else if (r->sink_reachable && r->stalled_ms != INT64_MIN && r->parking.trouble[0] == '\0')
		add(t, BAD, "Kafka confirms nothing", r->stalled_ms,
		    "Find partitions without a leader or with too few in-sync replicas: "
		    "kafka-topics.sh --describe --unavailable-partitions, or "
		    "--under-min-isr-partitions.",
		    "Kafka answers, and has confirmed none of %zu events in flight.", r->in_flight);
	if (r->isolating)
		add(t, LOOK, "Event refused", INT64_MIN,
		    "No action needed: if it is refused alone too, relay.poison decides.",
		    "An event was refused: events are sent one by one until it is found.");
	if (r->sink_data_losses > 0)
		add(t, BAD, "Kafka lost records", INT64_MIN,
		    "List the rows whose records are missing with walpost diff.",
		    "Offsets went back %" PRIu64
		    " times: Kafka has lost records that it had confirmed.",
		    r->sink_data_losses);
}

/* ---- Postgres ---- */

static void find_postgres(const struct wp_telemetry *v, struct wp_troubles *t)
{
	const struct wp_relay_snapshot *r = &v->relay;
	bool heard = r->heard_ms != INT64_MIN;
	int64_t since_ms = heard ? r->heard_ms : r->entered_ms;
	bool is_over = r->halt_event != NULL || r->stopping || r->state == WP_STANDBY;

	if (is_over)
		return;
	if (!reads(r) && v->now.ms - since_ms >= WP_READY_AWAY_MS)
		add(t, BAD, "No stream from Postgres", heard ? since_ms : INT64_MIN,
		    "Check that the server is running and that this host reaches it (walpost "
		    "check); see the log below for the last error.",
		    heard ? "The stream has ended (%s)." : "No stream has started yet (%s).",
		    wp_state_name(r->state));
	else if (r->state == WP_STREAMING && heard && v->now.ms - since_ms >= WP_READY_DEAF_MS)
		add(t, BAD, "Postgres is silent", since_ms,
		    "Check the network between this host and the server.",
		    "The connection is open, but nothing arrives.");
}

static void find_parking(const struct wp_telemetry *v, struct wp_troubles *t)
{
	const struct wp_relay_snapshot *r = &v->relay;
	const struct wp_parking_figures *p = &r->parking;
	bool waits = (reads(r) && !p->ready) || r->stalled_ms != INT64_MIN;

	if (p->trouble[0] != '\0')
		add(t, waits ? BAD : LOOK, "Parking unavailable", p->trouble_ms,
		    "Remove what the reason names: a missing right or table, a lock, a full disk. "
		    "Nothing is lost; the relay then continues by itself.",
		    "walpost.parked cannot be read or written%s: %s",
		    waits ? ", and events wait for it" : "", p->trouble);
	if (wp_telemetry_parked(v) != NULL && p->events > 0)
		add(t, LOOK, "Events parked", p->since_ms,
		    "Run walpost parked list, and remove the cause. Then they are delivered by "
		    "themselves, or at once with walpost parked retry.",
		    "Aggregates parked: %" PRIu64 ", with events in walpost.parked: %" PRIu64
		    ". All others flow.",
		    p->aggregates, p->events);
}

static void find_slot(const struct wp_telemetry *v, struct wp_troubles *t)
{
	static const char raise[] = "Find out why walpost is behind, or raise "
				    "max_slot_wal_keep_size if the disk has room.";
	const struct wp_relay_slot *s = &v->relay.slot;

	if (!s->known || s->keeping == WP_KEEPING_LOST)
		return;
	if (s->keeping == WP_KEEPING_UNRESERVED)
		add(t, BAD, "Slot about to be lost", INT64_MIN, raise,
		    "Slot %s may be lost at the next checkpoint.", v->slot);
	else if (s->seconds < WP_WAL_GUARD_WARN_BELOW_S)
		add(t, BAD, "Slot about to be lost", INT64_MIN, raise,
		    "At the present rate slot %s may be lost in %" PRId64 " s.", v->slot,
		    s->seconds);
	else if (s->keeping == WP_KEEPING_EXTENDED)
		add(t, LOOK, "Postgres retains much WAL", INT64_MIN,
		    "Find out why walpost is behind: Kafka slow or unreachable, or a long open "
		    "transaction.",
		    "Slot %s holds more WAL than max_wal_size, and the server's disk is filling "
		    "up.",
		    v->slot);
}

/* ---- itself ---- */

/* A reason against readiness that is none of the above must not be silent. */
static void find_rest(const struct wp_telemetry *v, struct wp_troubles *t)
{
	if (v->reloads.last_refused)
		add(t, LOOK, "Reload refused", INT64_MIN,
		    "Correct the file and reload again; see the log below for the error.",
		    "The previous configuration stays in effect.");
	if (t->count > 0 || (v->verdict.ready && v->verdict.live) || v->relay.stopping)
		return;
	for (size_t i = 0; i < v->verdict.reason_count; i++)
		add(t, BAD, v->verdict.live ? "Not ready" : "Stuck", INT64_MIN, "", "%s",
		    v->verdict.reasons[i]);
}

void wp_troubles_of(const struct wp_telemetry *v, struct wp_troubles *ret)
{
	*ret = (struct wp_troubles){ .count = 0 };
	if (!v->verdict.live)
		add(ret, BAD, "Stuck", INT64_MIN,
		    "Restart the process: it does not recover by itself.", "%s",
		    v->verdict.reason_count > 0 ? v->verdict.reasons[0] : "");
	find_halt(v, ret);
	find_loss(v, ret);
	find_kafka(v, ret);
	find_postgres(v, ret);
	find_slot(v, ret);
	find_parking(v, ret);
	find_rest(v, ret);
}

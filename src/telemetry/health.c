#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "walpost/base/display.h"
#include "walpost/telemetry/health.h"
#include "walpost/relay/wal_guard.h"

static void say(struct wp_health_verdict *v, const char *format, ...) WP_PRINTF(2, 3);

static void say(struct wp_health_verdict *v, const char *format, ...)
{
	va_list arguments;

	if (v->reason_count == WP_VITALS_REASONS_MAX)
		return;
	va_start(arguments, format);
	(void)vsnprintf(v->reasons[v->reason_count++], WP_VITALS_REASON_SIZE, format, arguments);
	va_end(arguments);
}

static bool is_set(int64_t at_ms)
{
	return at_ms != INT64_MAX && at_ms != INT64_MIN;
}

static int64_t seconds_since(const struct wp_telemetry *v, int64_t at_ms)
{
	return (v->now.ms - at_ms) / 1000;
}

static bool is_late(const struct wp_telemetry *v, int64_t due_ms)
{
	return is_set(due_ms) && v->now.ms - due_ms >= WP_LIVE_LATE_MS;
}

static bool is_live(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	if (is_late(v, v->step_due_ms)) {
		say(ret, "the event loop is overdue by %" PRId64 " s: the relay is stuck",
		    seconds_since(v, v->step_due_ms));
		return false;
	}
	if (is_late(v, v->relay.deadline_ms)) {
		say(ret, "the state %s should have ended %" PRId64 " s ago: the relay is stuck",
		    wp_state_name(v->relay.state), seconds_since(v, v->relay.deadline_ms));
		return false;
	}
	return true;
}

static bool reads(const struct wp_relay_snapshot *r)
{
	return r->state == WP_STREAMING || r->state == WP_PAUSED;
}

static bool is_stopping(const struct wp_relay_snapshot *r)
{
	return r->stopping || r->state == WP_DRAINING || r->state == WP_FINISHING ||
	       r->state == WP_STOPPED;
}

/* The relay is held, or on its way out. */
static bool is_gone(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_snapshot *r = &v->relay;

	if (r->state == WP_HELD) {
		say(ret, "stopped, operator action is required (%s): %s",
		    r->halt_event ? r->halt_event : "", r->halt_error);
		return true;
	}
	if (!is_stopping(r))
		return false;
	if (r->halt_event)
		say(ret, "stopping (%s): %s", r->halt_event, r->halt_error);
	else
		say(ret, "stopping");
	return true;
}

/* It streamed a moment ago, and connects again. */
static bool is_back_soon(const struct wp_telemetry *v)
{
	return is_set(v->relay.heard_ms) && v->now.ms - v->relay.heard_ms < WP_READY_AWAY_MS;
}

static bool is_away(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_snapshot *r = &v->relay;

	if (reads(r) || r->state == WP_STANDBY || is_back_soon(v))
		return false;
	if (!is_set(r->heard_ms))
		say(ret, "%s: it has not streamed yet", wp_state_name(r->state));
	else
		say(ret, "%s: it has not streamed for %" PRId64 " s", wp_state_name(r->state),
		    seconds_since(v, r->heard_ms));
	return true;
}

static bool is_without_topic(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_snapshot *r = &v->relay;

	if (r->waiting_subject != NULL)
		say(ret,
		    "waiting for the schema id of subject %s: see the last schema_waiting line of "
		    "the log",
		    r->waiting_subject);
	if (!r->waiting)
		return r->waiting_subject != NULL;
	if (r->waiting_topic[0] != '\0')
		say(ret, "waiting for topic %s, which is missing or forbidden", r->waiting_topic);
	else
		say(ret, "the Kafka user lacks a permission: see the last permission_waiting line "
			 "of the log");
	return true;
}

/*
 * A new pod whose way to Kafka is barred must not replace one that works, whether it streams or
 * stands by.
 */
static bool is_unreached(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	if (v->relay.sink_reached)
		return false;
	say(ret, "Kafka has not been reached yet");
	return true;
}

/* Nothing is read before it is known what is parked. */
static bool cannot_read_parked(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_parking_figures *p = &v->relay.parking;

	if (p->trouble[0] == '\0' || p->ready || !reads(&v->relay) ||
	    v->now.ms - p->trouble_ms < WP_READY_STALLED_MS)
		return false;
	say(ret, "parked events have not been readable for %" PRId64 " s: %s",
	    seconds_since(v, p->trouble_ms), p->trouble);
	return true;
}

static bool is_foreign(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	if (!v->relay.foreign)
		return false;
	say(ret, "slot %s is held by a client that is no walpost relay: %s; nobody delivers events",
	    v->slot, v->relay.holder);
	return true;
}

static bool is_withheld(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_snapshot *r = &v->relay;

	if (r->withheld[0] == '\0' || !is_set(r->stalled_ms))
		return false;
	say(ret,
	    "the server has sent no event for %" PRId64 " s: it waits for the standbys of "
	    "synchronized_standby_slots (%s); start them, or change the setting",
	    seconds_since(v, r->stalled_ms), r->withheld);
	return true;
}

/* Reports that come then are no progress, as what is around it is sent again each time. */
static bool is_refused(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_snapshot *r = &v->relay;

	if (!r->repeats || r->waiting)
		return false;
	say(ret,
	    "Kafka has refused an event again and again for %" PRId64
	    " s: see the last event_refused line of the log",
	    seconds_since(v, r->stalled_ms));
	return true;
}

/* Reports that come are progress, however old the oldest event is. */
static bool is_stalled(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_snapshot *r = &v->relay;
	bool none_lately =
		!is_set(r->confirmed_ms) || v->now.ms - r->confirmed_ms >= WP_READY_STALLED_MS / 2;

	if (!r->oldest.any || r->oldest.waiting_ms < WP_READY_STALLED_MS || !none_lately)
		return false;
	if (r->parking.trouble[0] != '\0') {
		say(ret, "an event has been waiting for %" PRId64 " s to be parked: %s",
		    r->oldest.waiting_ms / 1000, r->parking.trouble);
		return true;
	}
	if (r->waiting_subject != NULL)
		return true; /* which has been said */
	if (r->in_flight == 0) {
		say(ret, "an event has been waiting for %" PRId64 " s to be sent: Kafka %s",
		    r->oldest.waiting_ms / 1000,
		    r->sink_reachable ? "does not accept it" : "is not reachable");
		return true;
	}
	say(ret,
	    "%zu events are in flight, the oldest for %" PRId64
	    " s, and no delivery report arrives%s",
	    r->in_flight, r->oldest.waiting_ms / 1000,
	    r->sink_reachable ? "" : ": Kafka is not reachable");
	return true;
}

/* A paused relay does not read, and so hears nothing. */
static bool is_deaf(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_snapshot *r = &v->relay;

	if (r->state != WP_STREAMING || !is_set(r->heard_ms) ||
	    v->now.ms - r->heard_ms < WP_READY_DEAF_MS ||
	    v->now.ms - r->entered_ms < WP_READY_DEAF_MS)
		return false;
	say(ret, "nothing was received from the server for %" PRId64 " s",
	    seconds_since(v, r->heard_ms));
	return true;
}

static bool is_suspect(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	if (!v->relay.slot.suspect)
		return false;
	say(ret, "events may be lost, so nothing more is confirmed to the server: see the last "
		 "events_may_be_lost line of the log");
	return true;
}

static bool is_to_be_lost(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_slot *s = &v->relay.slot;

	if (!s->known || s->keeping != WP_KEEPING_LOST)
		return false;
	say(ret, "the slot %s is lost", v->slot);
	return true;
}

/* Adds what is good to know, and is no reason against it. */
static void remark(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	const struct wp_relay_snapshot *r = &v->relay;

	if (r->state == WP_STANDBY && !r->foreign)
		say(ret, "standby: another process streams from slot %s%s%s", v->slot,
		    r->holder[0] != '\0' ? ": " : "", r->holder);
	else if (!reads(r) && r->state != WP_STANDBY)
		say(ret, "%s", wp_state_name(r->state));
	if (r->sink_reached && !r->sink_reachable)
		say(ret, "Kafka was not reachable at the last attempt");
	if (r->slot.known && r->slot.keeping == WP_KEEPING_UNRESERVED)
		say(ret, "the slot %s may be lost at the next checkpoint", v->slot);
	if (r->slot.known && r->slot.seconds < WP_WAL_GUARD_WARN_BELOW_S)
		say(ret, "the slot %s may be lost in about %" PRId64 " s", v->slot,
		    r->slot.seconds);
	if (r->isolating)
		say(ret, "an event was refused: events are sent one by one until it is found");
	if (wp_telemetry_parked(v) != NULL && r->parking.events > 0)
		say(ret,
		    "parked events: %" PRIu64 ", aggregates: %" PRIu64 " (walpost parked list)",
		    r->parking.events, r->parking.aggregates);
}

void wp_verdict_of(const struct wp_telemetry *v, struct wp_health_verdict *ret)
{
	*ret = (struct wp_health_verdict){ .live = true };
	ret->live = is_live(v, ret);
	/* All are asked: each that is wrong is told. */
	bool gone = is_gone(v, ret);
	bool away = !gone && is_away(v, ret);
	bool unreached = !gone && is_unreached(v, ret);
	bool without_topic = !gone && is_without_topic(v, ret);
	bool unread = !gone && cannot_read_parked(v, ret);
	bool stalled = !gone && (is_refused(v, ret) || is_stalled(v, ret));
	bool deaf = !gone && is_deaf(v, ret);
	bool foreign = !gone && is_foreign(v, ret);
	bool withheld = !gone && is_withheld(v, ret);
	bool suspect = is_suspect(v, ret);
	bool lost = is_to_be_lost(v, ret);

	ret->ready = ret->live && !gone && !away && !unreached && !without_topic && !unread &&
		     !stalled && !deaf && !foreign && !withheld && !suspect && !lost;
	if (!gone && !away && !unread && !stalled && v->relay.parking.trouble[0] != '\0')
		say(ret, "parked events cannot be read or written: %s", v->relay.parking.trouble);
	if (!gone && !away)
		remark(v, ret);
}

static enum wp_rc write_lines(struct wp_buffer *into, const char *first,
			      const struct wp_health_verdict *v)
{
	enum wp_rc rc = wp_buffer_printf(into, "%s\n", first);

	for (size_t i = 0; i < v->reason_count && rc == WP_OK; i++) {
		rc = wp_display_append(into, wp_span_of(v->reasons[i]));
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(into, '\n');
	}
	return rc;
}

enum wp_rc wp_livez_text(struct wp_buffer *into, const struct wp_health_verdict *v)
{
	const struct wp_health_verdict nothing = { .live = v->live };

	return write_lines(into, v->live ? "ok" : "stuck", v->live ? &nothing : v);
}

enum wp_rc wp_readyz_text(struct wp_buffer *into, const struct wp_health_verdict *v)
{
	return write_lines(into, v->ready ? "ready" : "not ready", v);
}

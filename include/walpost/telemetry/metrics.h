/*
 * Has the list of metrics, and writes their Prometheus text (exposition format 0.0.4). The list is the
 * one place that knows them: docs, dashboard, alerts are checked against what it prints.
 *
 * Cardinality is bounded: topics by WP_METER_TOPICS, events of the log by WP_LOG_EVENTS_MAX,
 * brokers by WP_SINK_BROKERS_MAX. Never keys, payloads or secrets. Pure.
 */
#ifndef WALPOST_TELEMETRY_METRICS_H
#define WALPOST_TELEMETRY_METRICS_H

#include "walpost/telemetry/telemetry.h"

#define WP_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* WP_FULL, WP_NOMEM leave a part of it behind. */
enum wp_rc wp_metrics_write(struct wp_buffer *into, const struct wp_telemetry *v) WP_MUST_CHECK;
/* Writes the list as a Markdown table: name, labels, type, meaning. */
enum wp_rc wp_metrics_reference(struct wp_buffer *into) WP_MUST_CHECK;

#endif

/*
 * /status: all that can be told, as one JSON object. Its members are a contract; new ones may
 * come. Pure.
 */
#ifndef WALPOST_TELEMETRY_STATUS_JSON_H
#define WALPOST_TELEMETRY_STATUS_JSON_H

#include "walpost/telemetry/telemetry.h"

/* WP_FULL, WP_NOMEM leave a part of it behind. */
enum wp_rc wp_status_json(struct wp_buffer *into, const struct wp_telemetry *v) WP_MUST_CHECK;

#endif

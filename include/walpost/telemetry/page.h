/*
 * The status page: one HTML document without foreign assets, whose figures and charts stand in
 * it as text and SVG; a few lines of script put a fresh one in its place while they are let.
 * Never keys or payloads. Pure.
 */
#ifndef WALPOST_TELEMETRY_PAGE_H
#define WALPOST_TELEMETRY_PAGE_H

#include "walpost/telemetry/telemetry.h"

/* WP_FULL, WP_NOMEM leave a part of it behind. */
enum wp_rc wp_page_html(struct wp_buffer *into, const struct wp_telemetry *v) WP_MUST_CHECK;

#endif

/* The page's files share this: writing HTML, and figures as people read them. */
#ifndef WALPOST_SRC_TELEMETRY_PAGE_PARTS_H
#define WALPOST_SRC_TELEMETRY_PAGE_PARTS_H

#include "walpost/base/buffer.h"
#include "walpost/telemetry/telemetry.h"

/* What may be markup becomes text, and what would turn that around is escaped. Lines stay lines. */
void wp_page_put_text(struct wp_writer *w, const char *text);

struct wp_page_shown {
	char text[48];
};

struct wp_page_shown wp_page_count(double count);
struct wp_page_shown wp_page_bytes(double bytes);
/* A rate above 0 and below 10 has a digit behind the point. */
struct wp_page_shown wp_page_rate(double per_second);

/* page_chart.c */
void wp_page_put_charts(struct wp_writer *w, const struct wp_telemetry *v);

/*
 * trouble.c finds what keeps events from being delivered, or soon will: each with a short name, a sentence,
 * since when, and what to do. The worst comes first; when there is none, all is well. Texts are borrowed from
 * the telemetry.
 */
#define WP_TROUBLES_MAX 16

struct wp_trouble {
	bool is_bad;	  /* nothing is delivered, or events may be lost; else: look at it */
	const char *name; /* a few words, in the order of what was found */
	char what[WP_VITALS_REASON_SIZE];
	const char *remedy; /* "": `what` tells */
	int64_t since_ms;   /* monotonic; INT64_MIN: not known */
};

struct wp_troubles {
	struct wp_trouble items[WP_TROUBLES_MAX];
	size_t count;
};

void wp_troubles_of(const struct wp_telemetry *v, struct wp_troubles *ret);

#endif

/* What the page's files share: writing HTML, and figures as people read them. */
#ifndef WALPOST_SRC_TELEMETRY_PAGE_PARTS_H
#define WALPOST_SRC_TELEMETRY_PAGE_PARTS_H

#include "walpost/base/buffer.h"
#include "walpost/telemetry/telemetry.h"

struct wp_page_writer {
	struct wp_buffer *into;
	enum wp_rc rc; /* the first that went wrong */
};

void wp_page_keep(struct wp_page_writer *w, enum wp_rc rc);
void wp_page_put(struct wp_page_writer *w, const char *html);
/* What may be markup becomes text, and what would turn that around is escaped. Lines stay lines. */
void wp_page_put_text(struct wp_page_writer *w, const char *text);

struct wp_page_shown {
	char text[48];
};

struct wp_page_shown wp_page_count(double count);
struct wp_page_shown wp_page_bytes(double bytes);
/* Above 0 and below 10 with a digit behind the point. */
struct wp_page_shown wp_page_rate(double per_second);

/* page_chart.c */
void wp_page_put_charts(struct wp_page_writer *w, const struct wp_telemetry *v);

#endif

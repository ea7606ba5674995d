/* Draws the charts of the page: the last five minutes, with axes and times. */
#include <stdio.h>

#include "page_parts.h"
#include "walpost/telemetry/telemetry.h"

#define WIDTH 300.
#define HEIGHT 72.
#define WINDOW_MS ((int64_t)(WP_HISTORY_SAMPLES - 1) * WP_HISTORY_EVERY_MS)

struct chart {
	const char *label;
	const char *id;
	double (*figure)(const struct wp_history_sample *s); /* below 0: not known */
	struct wp_page_shown (*show)(double figure);
	double base;  /* steps of the axis: 1, 2, 5 times a power of 10, or powers of 2 */
	double floor; /* the axis reaches so high at least: less is no news */
};

static double events_of(const struct wp_history_sample *s)
{
	return s->events_s;
}

static double lag_of(const struct wp_history_sample *s)
{
	return s->lag_bytes;
}

static double in_flight_of(const struct wp_history_sample *s)
{
	return s->in_flight;
}

static const struct chart charts[] = {
	{ "Events a second", "events-chart", events_of, wp_page_rate, 10, 10 },
	{ "Behind the server", "lag-chart", lag_of, wp_page_bytes, 2, 1024 * 1024 },
	{ "In flight", "in-flight-chart", in_flight_of, wp_page_count, 10, 100 },
};

/* Returns -1 when nothing is known. */
static double highest(const struct wp_history *h, const struct chart *c)
{
	double most = -1;

	for (size_t i = 0; i < h->count; i++) {
		double here = c->figure(wp_history_at(h, i));
		if (here > most)
			most = here;
	}
	return most;
}

/* Returns the end of the axis: a round figure, not below what is shown. */
static double top_of(const struct chart *c, double most)
{
	double top = c->floor;

	while (top < most && c->base == 2)
		top *= 2;
	while (top < most) {
		double step = top;
		static const double steps[] = { 2, 5, 10 };
		for (size_t i = 0; i < 3 && top < most; i++)
			top = step * steps[i];
	}
	return top;
}

static double x_of(const struct wp_history *h, size_t index)
{
	return WIDTH - (double)(h->count - 1 - index) * WIDTH / (WP_HISTORY_SAMPLES - 1);
}

/* Puts a piece of which all is known: the area below, then the line. The newest stands at the
 * right. */
static void put_piece(struct wp_writer *w, const struct wp_history *h, const struct chart *c,
		      double top, size_t from, size_t to)
{
	static const char *const shapes[] = { "polygon", "polyline" };

	for (size_t shape = 0; shape < 2; shape++) {
		wp_writer_printf(w, "<%s points=\"", shapes[shape]);
		if (shape == 0)
			wp_writer_printf(w, "%.1f,%.0f ", x_of(h, from), HEIGHT);
		for (size_t i = from; i < to; i++)
			wp_writer_printf(
				w, "%.1f,%.1f ", x_of(h, i),
				HEIGHT - 1 - c->figure(wp_history_at(h, i)) / top * (HEIGHT - 2));
		if (shape == 0)
			wp_writer_printf(w, "%.1f,%.0f", x_of(h, to - 1), HEIGHT);
		wp_writer_put(w, "\"/>");
	}
}

static void put_pieces(struct wp_writer *w, const struct wp_history *h, const struct chart *c,
		       double top)
{
	size_t from = 0;

	for (size_t i = 0; i <= h->count; i++) {
		if (i < h->count && c->figure(wp_history_at(h, i)) >= 0)
			continue;
		if (i > from + 1)
			put_piece(w, h, c, top, from, i);
		from = i + 1;
	}
}

static void put_heading(struct wp_writer *w, const struct wp_history *h, const struct chart *c,
			double most)
{
	double now = h->count > 0 ? c->figure(wp_history_at(h, h->count - 1)) : -1;

	wp_writer_printf(w, "<h2>%s <span class=\"soft\">", c->label);
	if (most < 0)
		wp_writer_put(w, "not known");
	else
		wp_writer_printf(w, "now %s, highest %s", now < 0 ? "not known" : c->show(now).text,
				 c->show(most).text);
	wp_writer_put(w, "</span></h2>");
}

/* Puts clock times below, in UTC as everywhere on the page. */
static void put_times(struct wp_writer *w, const struct wp_telemetry *v)
{
	char text[WP_CALENDAR_TEXT_SIZE];
	int64_t now_ms = v->now.wall_us / 1000 + WP_POSTGRES_EPOCH_S * 1000;

	wp_writer_put(w, "<div class=\"times\">");
	for (int64_t ago = 2; ago >= 0; ago--) {
		(void)wp_telemetry_time(now_ms - ago * WINDOW_MS / 2, text);
		wp_writer_printf(w, "<span>%.8s%s</span>", text + 11, ago == 0 ? " UTC" : "");
	}
	wp_writer_put(w, "</div>");
}

static void put_chart(struct wp_writer *w, const struct wp_telemetry *v, const struct chart *c)
{
	const struct wp_history *h = v->history;
	double most = highest(h, c);
	double top = top_of(c, most);

	wp_writer_printf(w, "<div class=\"card\" id=\"%s\">", c->id);
	put_heading(w, h, c, most);
	wp_writer_printf(w,
			 "<div class=\"chart\"><div class=\"scale\"><span>%s</span>"
			 "<span>%s</span><span>0</span></div>",
			 c->show(top).text, c->show(top / 2).text);
	wp_writer_printf(w,
			 "<svg viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" role=\"img\" "
			 "aria-label=\"%s, the last 5 minutes\">"
			 "<path d=\"M0 .5H300M0 36H300M0 71.5H300M150 0V72\"/>",
			 WIDTH, HEIGHT, c->label);
	put_pieces(w, h, c, top);
	wp_writer_put(w, "</svg>");
	put_times(w, v);
	wp_writer_put(w, "</div></div>\n");
}

void wp_page_put_charts(struct wp_writer *w, const struct wp_telemetry *v)
{
	wp_writer_put(w, "<div class=\"grid wide\">\n");
	for (size_t i = 0; i < sizeof(charts) / sizeof(charts[0]); i++)
		put_chart(w, v, &charts[i]);
	wp_writer_put(w, "</div>\n");
}

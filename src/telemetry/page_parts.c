#include "page_parts.h"

#include <stdio.h>
#include <string.h>

#include "walpost/base/display.h"

static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

void wp_page_put_text(struct wp_writer *w, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		struct wp_display shown;
		size_t size = wp_display_next((const uint8_t *)text, left, &shown);
		const char *entity = entity_of(*text);
		wp_writer_put(w, entity != NULL ? entity : *text == '\n' ? "\n" : shown.text);
		text += size;
		left -= size;
	}
}

/* ---- figures as people read them ---- */

struct wp_page_shown wp_page_count(double count)
{
	struct wp_page_shown s;

	if (count >= 1e9)
		(void)snprintf(s.text, sizeof(s.text), "%.2f G", count / 1e9);
	else if (count >= 1e6)
		(void)snprintf(s.text, sizeof(s.text), "%.2f M", count / 1e6);
	else if (count >= 1e4)
		(void)snprintf(s.text, sizeof(s.text), "%.1f k", count / 1e3);
	else
		(void)snprintf(s.text, sizeof(s.text), "%.0f", count);
	return s;
}

struct wp_page_shown wp_page_bytes(double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	struct wp_page_shown s;
	size_t i = 0;

	while (bytes >= 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
		bytes /= 1024;
		i++;
	}
	(void)snprintf(s.text, sizeof(s.text), i == 0 ? "%.0f %s" : "%.1f %s", bytes, units[i]);
	return s;
}

struct wp_page_shown wp_page_rate(double per_second)
{
	struct wp_page_shown s;

	if (per_second <= 0 || per_second >= 10)
		return wp_page_count(per_second);
	(void)snprintf(s.text, sizeof(s.text), "%.1f", per_second);
	return s;
}

#include "world.h"

#include <stdarg.h>
#include <stdio.h>

#include "walpost/base/backoff.h"

uint64_t any(struct world *w, uint64_t below)
{
	return wp_random_next(&w->random) % below;
}

bool chance(struct world *w, unsigned per_mille)
{
	return any(w, 1000) < per_mille;
}

void violate(struct world *w, const char *promise, const char *format, ...)
{
	va_list args;

	if (w->violation != NULL)
		return;
	w->violation = promise;
	va_start(args, format);
	vsnprintf(w->detail, sizeof(w->detail), format, args);
	va_end(args);
	trace(w, "VIOLATION %s: %s", promise, w->detail);
}

void trace(const struct world *w, const char *format, ...)
{
	va_list args;

	if (!w->trace)
		return;
	printf("%8.3f ", (double)w->now_ms / 1000.);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

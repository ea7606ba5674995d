/*
 * Reads librdkafka's statistics (STATISTICS.md of librdkafka), as far as they are worth having. Pure.
 */
#ifndef WALPOST_KAFKA_STATISTICS_H
#define WALPOST_KAFKA_STATISTICS_H

#include "walpost/sink/sink.h"

/* They come so often when nobody says otherwise. */
#define WP_STATISTICS_EVERY_MS "5000"

/* `text` is the JSON object; what it lacks is 0, what is no such object leaves `ret` as it was. */
void wp_statistics_read(const char *text, size_t size, struct wp_sink_figures *ret);

/* Calls `found` for each broker with a number that has let us in. */
void wp_statistics_each_up(const char *text, size_t size, void (*found)(void *arg, int32_t id),
			   void *arg);

#endif

/*
 * The monotonic clock, in microseconds. For edges only: what is pure has time passed in.
 */
#ifndef WALPOST_BASE_CLOCK_H
#define WALPOST_BASE_CLOCK_H

#include <stdint.h>

int64_t wp_clock_us(void);

#endif

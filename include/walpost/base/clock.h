/*
 * Reads the clocks that nobody sets, in microseconds, and the one on the wall. For edges only: what is pure
 * has time passed in.
 */
#ifndef WALPOST_BASE_CLOCK_H
#define WALPOST_BASE_CLOCK_H

#include <stdint.h>

int64_t wp_clock_us(void);
/* This is Unix time in milliseconds: the one clock here that people set. */
int64_t wp_clock_wall_ms(void);
/* This counts since the machine was booted: it goes on while it is suspended, as the other one does not. */
int64_t wp_clock_boot_us(void);
/*
 * Makes a descriptor that is readable once the wall clock was set, or the machine has gone on after it was
 * suspended, for which no timer of the loop wakes it. The caller closes it; -1 when none can be had.
 */
int wp_clock_set_fd(void);
/* Makes it readable only the next time that happens. */
void wp_clock_set_reset(int fd);

#endif

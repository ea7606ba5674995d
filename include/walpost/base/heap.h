/*
 * Keeps the C library's heap small: what its threads may hold for themselves, and memory given back to the
 * system after a burst. With another C library than glibc both do nothing.
 *
 * Sources: mallopt(3), malloc_trim(3).
 */
#ifndef WALPOST_BASE_HEAP_H
#define WALPOST_BASE_HEAP_H

/* To be called before the first thread. What MALLOC_ARENA_MAX says in the environment wins. */
void wp_heap_limit(void);
/* Gives free pages back; takes about a millisecond for 30 MB of small pieces. */
void wp_heap_trim(void);

#endif

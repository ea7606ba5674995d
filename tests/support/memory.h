/* The allocator of the code under test: counted, and failing on demand. */
#ifndef WALPOST_TESTS_OUTBOX_MEMORY_H
#define WALPOST_TESTS_OUTBOX_MEMORY_H

#include <stddef.h>

/* The one after `count` more fails, once. */
void memory_fails_after(size_t count);
void memory_works(void);
/* Calls so far. */
size_t memory_calls(void);

#endif

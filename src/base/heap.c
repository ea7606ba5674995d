#include "walpost/base/heap.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

/* There is one for the loop, whose thread makes and frees what is in flight, and one for
 * librdkafka's threads. */
#define ARENAS_MAX 2

void wp_heap_limit(void)
{
	if (getenv("MALLOC_ARENA_MAX") == NULL)
		(void)mallopt(M_ARENA_MAX, ARENAS_MAX); /* fails on unknown parameters only */
}

void wp_heap_trim(void)
{
	(void)malloc_trim(0);
}
#else
void wp_heap_limit(void)
{
}

void wp_heap_trim(void)
{
}
#endif

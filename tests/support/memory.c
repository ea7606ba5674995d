#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

static size_t calls;
static size_t fails_at = SIZE_MAX;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

void memory_fails_after(size_t count)
{
	fails_at = calls + count;
}

void memory_works(void)
{
	fails_at = SIZE_MAX;
}

size_t memory_calls(void)
{
	return calls;
}

static bool fails(void)
{
	return calls++ == fails_at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

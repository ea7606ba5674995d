/*
 * Where nothing else stands in for malloc(), we do: then the allocations of the
 * libraries (pcre2, libpq, the C library's own) fail too, and blocks are counted. Else
 * the linker wraps the calls of our own code.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "torture.h"

static bool armed;
static bool failed;
static size_t calls;
static size_t fails_at;
static enum shortage how;
static size_t blocks;

void memory_fails(size_t index, enum shortage shortage)
{
	calls = 0;
	failed = false;
	fails_at = index;
	how = shortage;
	armed = true;
}

bool memory_is_back(void)
{
	armed = false;
	return failed;
}

size_t memory_blocks(void)
{
	return blocks;
}

static bool fails(void)
{
	size_t index = calls++;
	bool now = armed && (index == fails_at || (index > fails_at && how == SHORT_FROM_THEN_ON));

	failed = failed || now;
	if (now)
		errno = ENOMEM;
	return now;
}

#ifdef TORTURE_LIBRARIES

/* The C library's own, under names that are left to those who replace the others. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *block);

static void *counted(void *block)
{
	blocks += block != NULL;
	return block;
}

void *malloc(size_t size)
{
	return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
	if (fails())
		return NULL;
	void *block = __libc_realloc(old, size);
	if (old == NULL)
		(void)counted(block);
	else if (size == 0 && block == NULL)
		blocks--;
	return block;
}

void free(void *block)
{
	blocks -= block != NULL;
	__libc_free(block);
}

#else

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

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

#endif

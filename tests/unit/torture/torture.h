/*
 * Scripts run again and again, each time with another allocation failing: the first,
 * the second, ... until a run ends without having come to it. Once it alone fails, once
 * all from it on, until the script says that memory is back.
 */
#ifndef WALPOST_TESTS_TORTURE_H
#define WALPOST_TESTS_TORTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "walpost/base/error.h"

enum shortage { SHORT_ONCE, SHORT_FROM_THEN_ON };

/*
 * A script does its work and cleans up, whatever happens; it answers WP_OK or WP_NOMEM
 * and demands by CHECK all else that must hold.
 */
typedef enum wp_rc (*script)(void);

void torture(script run);

/* Counting starts; the allocation of this index (from 0) fails. */
void memory_fails(size_t index, enum shortage shortage);
/* Memory is back; counting goes on. Was any allocation refused since memory_fails()? */
bool memory_is_back(void);
/* Blocks that are allocated and not freed; always 0 where a sanitizer looks for leaks. */
size_t memory_blocks(void);

#endif

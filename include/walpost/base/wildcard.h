/*
 * Patterns in which one byte stands for any run of bytes, none too. Pure.
 */
#ifndef WALPOST_BASE_WILDCARD_H
#define WALPOST_BASE_WILDCARD_H

#include <stdbool.h>

#include "walpost/base/span.h"

/* All of `text`? In at most pattern times text steps. */
bool wp_wildcard_matches(struct wp_span pattern, uint8_t any, struct wp_span text);

#endif

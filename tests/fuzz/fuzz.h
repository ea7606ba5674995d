/*
 * What a fuzz target gives: libFuzzer's entry point. Linked with standalone.c
 * instead of libFuzzer it runs with any compiler. What must hold is demanded
 * with NEED, which also stays in a build without assertions.
 */
#ifndef WALPOST_TESTS_FUZZ_FUZZ_H
#define WALPOST_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(condition_)                                                                 \
	do {                                                                             \
		if (!(condition_)) {                                                     \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, \
				#condition_);                                            \
			abort();                                                         \
		}                                                                        \
	} while (0)

#endif

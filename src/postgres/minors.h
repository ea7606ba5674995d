/*
 * Which bugs that a relay can run into does a minor release of the server still have, and
 * which minor has none of them any more?
 *
 * Owns: nothing. Pure.
 */
#ifndef WALPOST_SRC_POSTGRES_MINORS_H
#define WALPOST_SRC_POSTGRES_MINORS_H

#include <stddef.h>

/* What they do, one sentence after the other with "; " between, and the minor that cures all. */
struct wp_minor_bugs {
	char text[800];
	size_t count;
	int cured; /* 0: there is none to cure */
};

/* Of a major that is not known: none. */
struct wp_minor_bugs wp_minor_bugs(int major, int minor);

#endif

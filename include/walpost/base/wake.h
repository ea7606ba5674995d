/*
 * By this an edge (stream, sink) tells the loop that the relay should take a step. Thin: it may only note
 * that a step is due; it never runs the relay itself.
 */
#ifndef WALPOST_BASE_WAKE_H
#define WALPOST_BASE_WAKE_H

struct wp_wake {
	void (*call)(void *arg);
	void *arg;
};

#endif

/*
 * Tells the service manager: datagrams to $NOTIFY_SOCKET, as sd_notify(3) describes them ("a simple protocol
 * ... guaranteed to be stable"). Without that variable nothing is done.
 *
 * Not thread-safe. Never blocks: a datagram that is not taken is dropped.
 */
#ifndef WALPOST_BASE_NOTIFY_H
#define WALPOST_BASE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Is anybody there to be told? */
bool wp_notify_is_wanted(void);
/* Sends lines of NAME=value: "READY=1\nSTATUS=streaming". */
void wp_notify(const char *lines);
/* Says how often WATCHDOG=1 is expected, in milliseconds; 0 when it is not, or not of this process. */
int64_t wp_notify_watchdog_ms(void);

#endif

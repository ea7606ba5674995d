/* What the kernel tells of this process. */
#ifndef WALPOST_SRC_RUN_PROCESS_H
#define WALPOST_SRC_RUN_PROCESS_H

#include "walpost/telemetry/telemetry.h"

/* What can not be read is 0. `started_s` is left as it is. */
void wp_process_read(struct wp_telemetry_process *ret);

#endif

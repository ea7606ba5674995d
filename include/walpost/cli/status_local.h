/* `status --local`: asks the relay of this configuration, on this machine, whether it lives. */
#ifndef WALPOST_CLI_STATUS_LOCAL_H
#define WALPOST_CLI_STATUS_LOCAL_H

/* `listen` as http.listen has it. Prints the answer; returns the exit code. Within 5 seconds. */
int wp_status_local(const char *listen);

#endif

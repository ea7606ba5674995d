/* Finds the AWS region that a host's name tells. Pure. */
#ifndef WALPOST_LOGIN_AWS_REGION_H
#define WALPOST_LOGIN_AWS_REGION_H

#include <stdbool.h>

#define WP_AWS_REGION_SIZE 64

/* Knows the names of MSK and of RDS, in all partitions. Returns false when it tells none. */
bool wp_aws_region_of_host(const char *host, char ret[WP_AWS_REGION_SIZE]);
/* Can it stand in a host name? */
bool wp_aws_region_is_valid(const char *region);
/* Returns "amazonaws.com", or the same with ".cn". */
const char *wp_aws_domain(const char *region);

#endif

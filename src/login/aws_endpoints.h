/*
 * Gets keys of AWS from endpoints beside the program: of the container (ECS, EKS Pod Identity), and of the
 * EC2 instance by IMDSv2.
 */
#ifndef WALPOST_LOGIN_AWS_ENDPOINTS_H
#define WALPOST_LOGIN_AWS_ENDPOINTS_H

#include "aws_credentials.h"

/* Returns WP_AGAIN when none is set or reached, to look elsewhere; the error says what is missing.
 * WP_CONFIG, WP_IO, WP_NOMEM. */
enum wp_rc wp_aws_container(const struct wp_fetch *f, struct wp_aws_credentials *ret,
			    struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_aws_instance(const struct wp_fetch *f, struct wp_aws_credentials *ret,
			   struct wp_error *error) WP_MUST_CHECK;
/* Gives the region in which the instance runs, with the same codes. */
enum wp_rc wp_aws_instance_region(const struct wp_fetch *f, char ret[WP_AWS_REGION_SIZE],
				  struct wp_error *error) WP_MUST_CHECK;

/* May a container's endpoint be asked, which gets a token and is believed? Pure. */
bool wp_aws_container_is_allowed(const char *url);

#endif

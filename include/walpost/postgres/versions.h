/*
 * PostgreSQL's major versions that walpost is for. tests/lint/test_versions.py compares pages, scripts and
 * the tests with these.
 */
#ifndef WALPOST_POSTGRES_VERSIONS_H
#define WALPOST_POSTGRES_VERSIONS_H

#define WP_POSTGRES_OLDEST 14
#define WP_POSTGRES_NEWEST 18 /* that the tests run on; a newer one is not refused */

#endif

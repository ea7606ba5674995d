/* The options of an EventRouter: columns, topic, payload, placement. */
#ifndef WALPOST_SRC_IMPORT_ROUTER_H
#define WALPOST_SRC_IMPORT_ROUTER_H

#include "translate.h"

/* Into the section: all but the table. */
void wp_import_router(struct wp_translation *t, const char *alias, const char *section);
/* What its placements are about, before anything is said. */
void wp_import_router_look(struct wp_translation *t, const char *alias);

#endif

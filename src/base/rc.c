#include "walpost/base/rc.h"

#include <stddef.h>

const char *wp_reaction_name(enum wp_reaction reaction)
{
	static const char *const names[] = {
		[WP_REACT_NONE] = "none",
		[WP_REACT_AGAIN] = "again",
		[WP_REACT_WAIT_TOPIC] = "wait_topic",
		[WP_REACT_REWIND] = "rewind",
		[WP_REACT_ISOLATE] = "isolate",
		[WP_REACT_RECONNECT] = "reconnect",
		[WP_REACT_TRY_THRICE] = "try_thrice",
		[WP_REACT_STANDBY] = "standby",
		[WP_REACT_LET_GO] = "let_go",
		[WP_REACT_STOP_CONFIG] = "stop_config",
		[WP_REACT_STOP_HUMAN] = "stop_human",
	};
	size_t index = (size_t)reaction;

	return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown";
}

/* The user may say this about the HTTP server. */
#ifndef WALPOST_HTTP_OPTIONS_H
#define WALPOST_HTTP_OPTIONS_H

struct wp_http_options {
	const char *listen; /* "": there is none */
};

#endif

/*
 * A librtmp.so.1 without RTMP. Debian's libcurl is linked with librtmp for the protocol rtmp://, which walpost never
 * uses, and librtmp with GnuTLS and what that needs, 5 MB. In the image stands this one with the functions that libcurl
 * imports: its loader wants them all, but curl calls RTMP_Alloc first and fails when there is no session.
 */

#include <stddef.h>

#define UNREACHABLE(name) \
	int name(void);   \
	int name(void)    \
	{                 \
		return 0; \
	}

void *RTMP_Alloc(void);
void *RTMP_Alloc(void)
{
	return NULL;
}

UNREACHABLE(RTMP_Close)
UNREACHABLE(RTMP_Connect1)
UNREACHABLE(RTMP_ConnectStream)
UNREACHABLE(RTMP_Free)
UNREACHABLE(RTMP_Init)
UNREACHABLE(RTMP_Read)
UNREACHABLE(RTMP_SetBufferMS)
UNREACHABLE(RTMP_SetupURL)
UNREACHABLE(RTMP_Write)

/* SPDX-License-Identifier: MIT
 *
 * Notices: events outside any call that the user should know of. The library
 * prints nothing, so it passes them to the handler that the process has set.
 */
#include "notice.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gw_notice *listener;
static void *listener_context;

void gw_notice_to(gw_notice *receiver, void *context)
{
    pthread_mutex_lock(&lock);
    listener = receiver;
    listener_context = context;
    pthread_mutex_unlock(&lock);
}

void gw__notice(const char *format, ...)
{
    char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    pthread_mutex_lock(&lock);
    if (listener)
        listener(listener_context, text);
    pthread_mutex_unlock(&lock);
}

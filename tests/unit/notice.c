/* SPDX-License-Identifier: MIT
 *
 * See notice.h. The library calls it from threads of its own.
 */
#include "notice.h"

#include <gradwire/base.h>

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned received;
static char last[256];

static void on_notice(void *context, const char *sentence)
{
    (void)context;
    pthread_mutex_lock(&lock);
    received++;
    snprintf(last, sizeof last, "%s", sentence);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

const char *notice_listen(void)
{
    received = 0;
    last[0] = 0;
    gw_notice_to(on_notice, NULL);
    return last;
}

void notice_await(unsigned count)
{
    pthread_mutex_lock(&lock);
    while (received < count)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

unsigned notice_count(void)
{
    pthread_mutex_lock(&lock);
    unsigned count = received;
    pthread_mutex_unlock(&lock);
    return count;
}

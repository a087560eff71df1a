/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of attach share: attach.c (opening, asking), attach_runs.c
 * (the folders), attach_events.c (the stream).
 *
 * That a supervisor has died is a fact that the kernel tells: a pidfd becomes
 * readable. So nobody waits for an answer from the dead, however they ended.
 */
#ifndef ATTACH_PARTS_H
#define ATTACH_PARTS_H

#include "common/attach.h"

#include <zmq.h>

enum { ATTACH_ENDPOINT_MAX = 108, ATTACH_RUN_MAX = 64 };

struct attach {
    char run[ATTACH_RUN_MAX];
    char asks_at[ATTACH_ENDPOINT_MAX];
    char endpoint[ATTACH_ENDPOINT_MAX]; /* of its events */
    void *context;
    void *asks; /* DEALER */
    int pidfd;  /* of the supervisor; -1: it has not said hello yet */
    json_int_t asked;

    /* Once it listens: */
    void *events; /* SUB */
    int epoll;    /* over the stream and the pidfd; -1 before */
    zmq_msg_t batch;
    size_t taken; /* events of the batch that were given */
    bool over;    /* the supervisor said that nothing follows */
};

/* GW_OK: a process of this user listens at "ipc://@NAME". GW_EUNREACH: nobody
 * does, or another user. */
GW_MUST_CHECK enum gw_err attach_knock(const char *run, const char *endpoint,
                                       struct gw_error *why);
/* "run tiger has ended; start one by: ringctl up 4" */
enum gw_err attach_ended(const char *run, struct gw_error *why);
/* The supervisor has died. */
bool attach_dead(const struct attach *attach);
/* Milliseconds for poll from now to `deadline_ns`, rounded up, at most `most`.
 */
int attach_ms(uint64_t deadline_ns, int most);
/* A socket with the options that all of them have. */
GW_MUST_CHECK enum gw_err attach_connect(struct attach *attach, int type,
                                         const char *endpoint, void **socket,
                                         struct gw_error *why);
void attach_events_close(struct attach *attach);

#endif

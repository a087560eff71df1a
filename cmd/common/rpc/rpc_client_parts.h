/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of attach: attach.c (opening, requests),
 * rpc_client_runs.c (the folders), rpc_client_events.c (the stream).
 *
 * The kernel reports the death of a supervisor: its pidfd becomes readable. So
 * no request waits for a dead supervisor, whatever the cause of death.
 */
#ifndef RPC_CLIENT_PARTS_H
#define RPC_CLIENT_PARTS_H

#include "common/rpc_client.h"

#include <zmq.h>

enum { RPC_CLIENT_ENDPOINT_MAX = 108, RPC_CLIENT_RUN_MAX = 64 };

struct rpc_client {
    char run[RPC_CLIENT_RUN_MAX];
    char request_endpoint[RPC_CLIENT_ENDPOINT_MAX];
    char endpoint[RPC_CLIENT_ENDPOINT_MAX]; /* of its events */
    void *context;
    void *request_socket; /* DEALER */
    int pidfd;            /* of the supervisor; -1: no answer to hello yet */
    json_int_t request_id;

    /* From rpc_client_listen on: */
    void *events; /* SUB */
    int epoll;    /* over the stream and the pidfd; -1 before */
    zmq_msg_t batch;
    size_t returned; /* events of the batch already returned */
    bool over;       /* the farewell has arrived */
};

/* GW_OK: a process of this user listens at "ipc://@NAME". GW_EUNREACH: no
 * process does, or one of another user. */
GW_MUST_CHECK enum gw_err
rpc_client_knock(const char *run, const char *endpoint, struct gw_error *why);
/* "run tiger has ended; start one by: ringctl up 4" */
enum gw_err rpc_client_ended(const char *run, struct gw_error *why);
/* The supervisor has died. */
bool rpc_client_dead(const struct rpc_client *client);
/* Milliseconds for poll from now to `deadline_ns`, rounded up, at most `most`.
 */
int rpc_client_ms(uint64_t deadline_ns, int most);
/* A socket with the options common to all. */
GW_MUST_CHECK enum gw_err rpc_client_connect(struct rpc_client *client,
                                             int type, const char *endpoint,
                                             void **socket,
                                             struct gw_error *why);
void rpc_client_events_close(struct rpc_client *client);

#endif

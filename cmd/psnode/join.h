/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Being one process of a cluster that is put together by hand, on one host or
 * on several: where the controllers are, where this process listens, and the
 * token that all processes of a cluster share.
 */
#ifndef PSNODE_JOIN_H
#define PSNODE_JOIN_H

#include "common/key.h"

#include <cluster/registry/command.h>

enum { JOIN_CONTROLLERS_MAX = 5, JOIN_ENDPOINT_MAX = 112 };

/* Where options go. */
struct join_given {
    const char *controllers; /* --join, or --peers: endpoints with commas */
    const char *name, *token;
    const char *listen, *interface, *wire;
    unsigned node;
    bool insecure;
};
extern struct join_given join_given;

/* clang-format off */
#define JOIN_SECRET_SPECS                                                      \
    {"cluster", 0, OPTION_TEXT, &join_given.name, "NAME",                      \
     "processes of other clusters are not heard (default: gradwire)", NULL},   \
    {"token", 0, OPTION_TEXT, &join_given.token, "HEX",                        \
     "the same as a number of 16 digits, instead of --cluster", NULL},         \
    KEY_OPTION,                                                                \
    {"insecure", 0, OPTION_FLAG, &join_given.insecure, NULL,                   \
     "outside of loopback without a key", NULL}
#define JOIN_SPECS                                                             \
    {"join", 'j', OPTION_TEXT, &join_given.controllers, "ENDPOINT,...",        \
     "the controllers, all of them, in the order of their --peers", NULL},     \
    {"listen", 'l', OPTION_TEXT, &join_given.listen, "ENDPOINT",               \
     "where this process is to be reached (default: where one goes from here "  \
     "to the controllers)", NULL},                                              \
    {"wire", 'w', OPTION_CHOICE, &join_given.wire, "WIRE",                     \
     "of the rows: shm and ipc only where all are on one host",                \
     "shm|ipc|tcp"},                                                           \
    {"interface", 0, OPTION_TEXT, &join_given.interface, "ADDRESS",            \
     "tcp: of the rows (default: that of --listen)", NULL},                    \
    {"node", 0, OPTION_UNSIGNED, &join_given.node, "N",                        \
     "number in the cluster (default: the controllers choose)", NULL},         \
    JOIN_SECRET_SPECS
/* clang-format on */

/* What the options mean. */
struct join {
    uint64_t token;
    bool by_engine; /* the environment says where the controllers are */
    unsigned controller_count;
    unsigned controllers[JOIN_CONTROLLERS_MAX]; /* nodes */
    char endpoints[JOIN_CONTROLLERS_MAX][JOIN_ENDPOINT_MAX];
    const char *endpoint_list[JOIN_CONTROLLERS_MAX];
    char listen[GW__ENDPOINT_MAX]; /* this process, with its port */
    char interface[JOIN_ENDPOINT_MAX];
};

/* GW_EINVAL: what is missing or cannot be. */
GW_MUST_CHECK enum gw_err join_parse(struct join *join, struct gw_error *why);
/* The host of "tcp://host:port", "" when it is something else. */
void join_host(const char *endpoint, char host[JOIN_ENDPOINT_MAX]);

/* One sentence on stdout, or an object, when a process is ready. */
void join_ready(const char *role, const char *endpoint);

#endif

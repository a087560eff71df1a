/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Being one process of a manually started cluster, on one host or on several:
 * the endpoints of the controllers, the endpoint of this process, and the token
 * that all processes of a cluster share.
 */
#ifndef PSNODE_JOIN_H
#define PSNODE_JOIN_H

#include "common/key.h"

#include <cluster/registry/command.h>

enum { JOIN_CONTROLLERS_MAX = 5, JOIN_ENDPOINT_MAX = 112 };

/* The values of the options. */
struct join_options {
    const char *controllers; /* --join, or --peers: endpoints with commas */
    const char *name, *token;
    const char *listen, *interface, *wire;
    unsigned node;
    bool insecure;
};
extern struct join_options join_options;

/* clang-format off */
#define JOIN_SECRET_SPECS                                                      \
    {"cluster", 0, OPTION_TEXT, &join_options.name, "NAME",                    \
     "Name of the cluster; processes of other clusters are ignored. Default: " \
     "gradwire.", NULL},                                                       \
    {"token", 0, OPTION_TEXT, &join_options.token, "HEX",                      \
     "Cluster as a number of 16 hexadecimal digits, instead of --cluster.",    \
     NULL},                                                                    \
    KEY_OPTION,                                                                \
    {"insecure", 0, OPTION_FLAG, &join_options.insecure, NULL,                 \
     "Allow addresses other than loopback without a key.", NULL}
#define JOIN_SPECS                                                             \
    {"join", 'j', OPTION_TEXT, &join_options.controllers, "ENDPOINT,...",      \
     "All controllers, in the order of their --peers.", NULL},                 \
    {"listen", 'l', OPTION_TEXT, &join_options.listen, "ENDPOINT",             \
     "Address of this process. Default: the address of the interface that "    \
     "leads to the controllers.", NULL},                                       \
    {"wire", 'w', OPTION_CHOICE, &join_options.wire, "WIRE",                   \
     "Transport of the rows; shm and ipc need all processes on one host.",     \
     "shm|ipc|tcp"},                                                           \
    {"interface", 0, OPTION_TEXT, &join_options.interface, "ADDRESS",          \
     "Address or interface of the rows with tcp. Default: that of --listen.",  \
     NULL},                                                                    \
    {"node", 0, OPTION_UNSIGNED, &join_options.node, "N",                      \
     "Node number in the cluster. Default: chosen by the controllers.", NULL}, \
    JOIN_SECRET_SPECS
/* clang-format on */

/* The parsed options. */
struct join {
    uint64_t token;
    bool by_engine; /* the controllers' endpoints are from the environment */
    unsigned controller_count;
    unsigned controllers[JOIN_CONTROLLERS_MAX]; /* nodes */
    char endpoints[JOIN_CONTROLLERS_MAX][JOIN_ENDPOINT_MAX];
    const char *endpoint_list[JOIN_CONTROLLERS_MAX];
    char listen[GW__ENDPOINT_MAX]; /* this process, with its port */
    char interface[JOIN_ENDPOINT_MAX];
};

/* GW_EINVAL: a missing or invalid option. */
GW_MUST_CHECK enum gw_err join_parse(struct join *join, struct gw_error *why);
/* The host of "tcp://host:port"; "" for any other text. */
void join_host(const char *endpoint, char host[JOIN_ENDPOINT_MAX]);

/* Prints one sentence on stdout, or an object, when a process is ready. */
void join_ready(const char *role, const char *endpoint);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A set of control channels in one process, for tests of the control messages.
 * Only the test's thread uses them, unless a test hands them to other threads.
 */
#ifndef MESH_SET_H
#define MESH_SET_H

#include <wire/control_channel/control_channel.h>

#include <check.h>

enum { MESH_SET_MAX = 4, MESH_TOKEN = 4711 };

struct mesh_set {
    unsigned size;
    struct gw__control_channel *meshes[MESH_SET_MAX];
};

/* The configuration of node `node`, as incarnation (node, 1). */
struct gw__control_channel_config mesh_config(unsigned node,
                                              const char *endpoint);
/* "ipc://@gw-mesh-<pid>-<tag>" in static memory; the last 8 results are
 * valid. */
const char *mesh_name(const char *tag);
/* Opens it or fails the test. */
struct gw__control_channel *mesh_open(struct gw__control_channel_config config);

/* Nodes 0 to size - 1, over "ipc" or "tcp"; each knows all others. */
void mesh_set_open(struct mesh_set *set, const char *wire, unsigned size);
void mesh_set_know(struct mesh_set *set);
void mesh_set_close(struct mesh_set *set);

/* The next message; the test fails if none comes within seconds. */
struct gw__control_channel_message
mesh_await(struct gw__control_channel *channel);
/* It must come from `from` and be `text`. */
void mesh_expect(struct gw__control_channel *channel, unsigned from,
                 const char *text);
/* No message is there now. */
void mesh_expect_none(struct gw__control_channel *channel);
/* Sends a text, which must be accepted. */
void mesh_say(struct gw__control_channel *channel, unsigned node,
              const char *text);

#endif

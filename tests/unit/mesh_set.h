/* SPDX-License-Identifier: MIT
 *
 * A set of meshes in one process, for tests of the control messages. All are
 * used from the test's thread, unless a test gives them to threads.
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

/* What node `node` is opened with, as incarnation (node, 1). */
struct gw__control_channel_config mesh_config(unsigned node,
                                              const char *endpoint);
/* "ipc://@gw-mesh-<pid>-<tag>" in static memory, of the last 8 calls. */
const char *mesh_name(const char *tag);
/* Opens it or fails the test. */
struct gw__control_channel *mesh_open(struct gw__control_channel_config config);

/* Nodes 0 to size - 1, over "ipc" or "tcp", all known to all. */
void mesh_set_open(struct mesh_set *set, const char *wire, unsigned size);
void mesh_set_know(struct mesh_set *set);
void mesh_set_close(struct mesh_set *set);

/* The next message, which must come within seconds. */
struct gw__control_channel_message mesh_await(struct gw__control_channel *mesh);
/* It must come from `from` and be `text`. */
void mesh_expect(struct gw__control_channel *mesh, unsigned from,
                 const char *text);
/* Nothing is there now. */
void mesh_expect_none(struct gw__control_channel *mesh);
/* Sends a text, which must be taken. */
void mesh_say(struct gw__control_channel *mesh, unsigned node,
              const char *text);

#endif

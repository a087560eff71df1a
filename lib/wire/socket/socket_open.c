/* SPDX-License-Identifier: MIT
 *
 * Opening a socket wire: its state, the address where peers find it, and the
 * end of both.
 */
#include "socket_wire.h"

#include "wire/files.h"
#include "wire/interface.h"
#include "wire/zmq/zmq_key.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    SLICE_BYTES = 512 << 10,
    LANES = 1,
    ALIGNED = 64,
};

#define OPS(text)                                                              \
    {                                                                          \
        .name = (text), .slice_bytes = SLICE_BYTES,                            \
        .connect = gw__socket_connect, .send = gw__socket_send,                \
        .sends_done = gw__socket_sends_done, .expect = gw__socket_expect,      \
        .peek = gw__socket_peek, .release = gw__socket_release,                \
        .wait = gw__socket_wait, .check = gw__socket_check,                    \
        .abort = gw__socket_abort, .close = gw__socket_close,                  \
        .lost = gw__socket_lost                                                \
    }

static const struct gw__wire_ops ipc_ops = OPS("ipc"), tcp_ops = OPS("tcp");

static enum gw_err take_key(struct gw__socket *s, const char *key_file,
                            struct gw_error *why)
{
    enum gw_err err = gw__zmq_key_secret(key_file, s->secret, why);
    if (err)
        return err;
    s->address.secured = 1;
    s->seal = gw__socket_address_seal(&s->address, s->secret);
    return s->seal ? GW_OK : gw_fail(why, GW_ENOMEM, "the key of this rank");
}

static enum gw_err reserve_files(struct gw__socket *s, struct gw_error *why)
{
    enum { A_WIRE = 5, A_PEER = 2 }; /* epoll set, watch, doors; notes, pidfd */
    unsigned peers = s->wire.size - 1;
    unsigned need =
        A_WIRE + peers * (A_PEER + s->lanes) + (peers ? GW__SOCKET_GUESTS : 0);
    enum gw_err err = gw__files_reserve(need, why);
    if (err)
        return gw_wrap(why, err, "%u ranks", s->wire.size);
    s->files = need;
    return GW_OK;
}

/* ---- links ---- */

static bool make_lane(struct gw__socket *s, struct gw__socket_lane *lane)
{
    lane->fd = -1;
    lane->in.seal = s->seal;
    lane->in.buffer = aligned_alloc(ALIGNED, GW__SOCKET_BUFFER_BYTES);
    return lane->in.buffer;
}

static bool make_link(struct gw__socket *s, struct gw__socket_link *link)
{
    link->control_fd = -1;
    link->awaited = true;
    link->lanes = calloc(s->lanes, sizeof *link->lanes);
    link->calls = calloc(s->lanes + 1, sizeof *link->calls);
    for (unsigned l = 0; link->lanes && l < s->lanes; l++)
        if (!make_lane(s, &link->lanes[l]))
            return false;
    for (unsigned l = 0; link->calls && l <= s->lanes; l++)
        link->calls[l].fd = -1;
    return link->lanes && link->calls;
}

static enum gw_err make_links(struct gw__socket *s, struct gw_error *why)
{
    unsigned size = s->wire.size;
    s->links = calloc(size, sizeof *s->links);
    for (unsigned r = 0; r < size; r++)
        if (!s->links || (r != s->wire.rank && !make_link(s, &s->links[r])))
            return gw_fail(why, GW_ENOMEM, "links to %u ranks", size - 1);
    return GW_OK;
}

static void free_lane(struct gw__socket_lane *lane)
{
    gw__socket_out_drop(&lane->out);
    if (lane->fd >= 0)
        close(lane->fd);
    free(lane->out.block);
    free(lane->in.buffer);
    free(lane->in.back);
    free(lane->in.staging);
}

static void free_link(struct gw__socket *s, struct gw__socket_link *link)
{
    for (unsigned l = 0; link->calls && l <= s->lanes; l++)
        if (!link->calls[l].up && link->calls[l].fd >= 0)
            close(link->calls[l].fd);
    for (unsigned l = 0; link->lanes && l < s->lanes; l++)
        free_lane(&link->lanes[l]);
    if (link->calls && link->control_fd >= 0)
        close(link->control_fd);
    free(link->lanes);
    free(link->calls);
    gw__seal_free(&link->seal);
}

/* ---- the wire ---- */

static enum gw_err listen_for_higher(struct gw__socket *s,
                                     const struct gw_comm_config *config,
                                     struct gw_error *why)
{
    char number[GW__HOST_MAX];
    struct gw__socket_address *address = &s->address;
    if (address->transport == GW__SOCKET_TCP) {
        enum gw_err err =
            gw__interface(config->interface, config->rendezvous,
                          config->key_file || config->insecure, number, why);
        if (!err)
            err = gw__socket_address_at(address, number, why);
        if (err)
            return err;
    }
    enum gw_err err = gw__socket_door_open(&s->door, address, why);
    if (!err && (!gw__socket_listen_any(s, s->door.fd) ||
                 (s->door.local_fd >= 0 &&
                  !gw__socket_listen_any(s, s->door.local_fd))))
        err = gw_fail_errno(why, "listening to the door");
    return err;
}

static enum gw_err open_parts(struct gw__socket *s,
                              const struct gw_comm_config *config,
                              struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (s->lanes > GW__SOCKET_LANES_MAX)
        return gw_fail(why, GW_EINVAL, "%u lanes; use at most %d", s->lanes,
                       GW__SOCKET_LANES_MAX);
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll_fd < 0)
        err = gw_fail_errno(why, "epoll");
    s->address.lanes = (uint8_t)s->lanes;
    s->address.size = (uint16_t)s->wire.size;
    if (!err)
        err = gw__socket_address_make(&s->address, why);
    if (!err)
        err = listen_for_higher(s, config, why);
    if (!err && config->key_file)
        err = take_key(s, config->key_file, why);
    if (!err)
        err = gw__process_watch_init(&s->process_watch, s->wire.size, why);
    if (!err)
        err = reserve_files(s, why);
    if (!err)
        err = make_links(s, why);
    s->wire.address.bytes = sizeof s->address;
    memcpy(s->wire.address.blob, &s->address, sizeof s->address);
    return err;
}

enum gw_err gw__socket_open(const struct gw_comm_config *config,
                            struct gw__wire **wire, struct gw_error *why)
{
    bool ipc = strcmp(config->wire, "ipc") == 0;
    struct gw__socket *s = calloc(1, sizeof *s);
    *wire = NULL;
    if (!s)
        return gw_fail(why, GW_ENOMEM, "%s wire", config->wire);
    s->epoll_fd = s->process_watch.fd = -1;
    s->door.fd = s->door.local_fd = -1;
    s->wire.ops = ipc ? &ipc_ops : &tcp_ops;
    s->wire.rank = config->rank;
    s->wire.size = config->size;
    s->lanes = config->lanes ? config->lanes : LANES;
    s->address.transport = ipc ? GW__SOCKET_IPC : GW__SOCKET_TCP;
    enum gw_err err = open_parts(s, config, why);
    if (err) {
        gw__socket_free(s);
        return gw_wrap(why, err, "%s wire", config->wire);
    }
    *wire = &s->wire;
    return GW_OK;
}

void gw__socket_free(struct gw__socket *s)
{
    for (unsigned r = 0; s->links && r < s->wire.size; r++)
        if (r != s->wire.rank)
            free_link(s, &s->links[r]);
    gw__socket_door_close(&s->door);
    gw__process_watch_fini(&s->process_watch);
    if (s->epoll_fd >= 0)
        close(s->epoll_fd);
    gw__files_release(s->files);
    gw__seal_free(&s->seal);
    explicit_bzero(s->secret, sizeof s->secret);
    free(s->links);
    free(s);
}

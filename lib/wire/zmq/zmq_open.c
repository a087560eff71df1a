/* SPDX-License-Identifier: MIT
 *
 * Opening a ZeroMQ wire: a context of its own, the sockets for every peer,
 * their options, and the address where peers find them.
 */
#include "zmq_wire.h"

#include "wire/files.h"
#include "wire/interface.h"
#include "zmq_context.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

/* Chosen by alternating runs of 2 and 4 ranks on 2 cores. All-reduce of 16 MiB
 * over tcp: slices of 512 KiB and 1 MiB are equal, of 256 KiB 5 % and of 128
 * KiB 30 % slower. With 2 ranks a second lane costs 7 % of that and 10 to 25 %
 * of an exchange of 128 KiB (all-gather over ipc: 14 us with one, 19 with two),
 * since each lane wakes separately. Only a stream of 64 KiB messages over ipc
 * gains by it (59 and 70 % of a raw socket). Messages of 1 MiB reach 90 % over
 * tcp with a window of 2 MiB, 96 with 4 and 101 with 8 (over ipc 101, 111 and
 * 115), but an all-reduce of 16 MiB takes 6 % longer from 6 MiB on.
 *
 * libzmq's thread stays on the core of its rank, and the rank sleeps at once
 * when it has nothing to do. If the thread may run anywhere, an all-reduce of
 * 16 MiB takes 24 % longer, and a broadcast of 128 KiB with 2 ranks and an
 * all-to-all of it with 4 take twice as long. Yielding before the sleep costs a
 * stream of 64 KiB messages 25 %, and gains 2 % of a round trip. */
enum {
    IO_THREADS = 1,
    SLICE_BYTES = 512 << 10,
    LANES = 1,
};

#define OPS(text)                                                              \
    {                                                                          \
        .name = (text), .slice_bytes = SLICE_BYTES,                            \
        .connect = gw__zmq_connect, .send = gw__zmq_send,                      \
        .sends_done = gw__zmq_sends_done, .peek = gw__zmq_peek,                \
        .release = gw__zmq_release, .wait = gw__zmq_wait,                      \
        .check = gw__zmq_check, .abort = gw__zmq_abort,                        \
        .close = gw__zmq_close, .lost = gw__zmq_lost                           \
    }

static const struct gw__wire_ops zmq_ops = OPS("zmq"), ipc_ops = OPS("ipc"),
                                 tcp_ops = OPS("tcp");

/* libzmq allocates each large message with malloc, and glibc by default takes
 * blocks over 128 KiB from the kernel and returns them at once: every slice
 * would cost page faults. With these two limits the memory of released slices
 * is reused. They hold for the whole process, whose heap keeps as much memory
 * as it has ever needed. */
static void keep_large_blocks(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

static enum gw_err make_context(struct gw__zmq *zmq, struct gw_error *why)
{
    enum { A_PEER = 3, SPARE = 16 };
    int sockets = (int)(zmq->wire.size * (A_PEER + zmq->lanes) + SPARE);
    enum gw_err err =
        gw__zmq_context_new(IO_THREADS, sockets, 0, &zmq->context, why);
    if (err)
        return err;
    zmq->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    zmq->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (zmq->bell < 0 || zmq->epoll_fd < 0 ||
        !gw__zmq_listen(zmq, zmq->bell, false, NULL))
        return gw_fail_errno(why, "eventfd and epoll");
    return GW_OK;
}

static enum gw_err reserve_files(struct gw__zmq *zmq, struct gw_error *why)
{
    enum {
        A_WIRE = 13,  /* libzmq's threads, bell, watch, epoll set */
        A_PEER = 3,   /* its pidfd, and the two ends of the monitor */
        A_SOCKET = 2, /* its mailbox and its connection */
        A_LISTENER = 1,
    };
    unsigned peers = zmq->wire.size - 1;
    unsigned higher = peers - zmq->wire.rank, sockets = zmq->lanes + 1;
    unsigned need = A_WIRE + peers * (A_PEER + sockets * A_SOCKET) +
                    higher * sockets * A_LISTENER;
    enum gw_err err = gw__files_reserve(need, why);
    if (err)
        return gw_wrap(why, err, "%u ranks", zmq->wire.size);
    zmq->files = need;
    return GW_OK;
}

/* Everything but the sockets. */
static enum gw_err prepare_state(struct gw__zmq *zmq,
                                 const struct gw_comm_config *config,
                                 struct gw_error *why)
{
    unsigned size = config->size;
    struct gw__zmq_endpoint_address *address = &zmq->address;
    address->magic = GW__ZMQ_MAGIC;
    address->lanes = (uint8_t)zmq->lanes;
    gw__process_watch_self(&address->process);
    if (getrandom(&address->name, sizeof address->name, 0) !=
            sizeof address->name ||
        getrandom(address->token, sizeof address->token, 0) !=
            sizeof address->token)
        return gw_fail_errno(why, "getrandom");
    zmq->links = calloc(size, sizeof *zmq->links);
    if (!zmq->links)
        return gw_fail(why, GW_ENOMEM, "links to %u ranks", size - 1);
    enum gw_err err = gw__process_watch_init(&zmq->process_watch, size, why);
    if (!err && config->key_file) {
        address->secured = 1;
        err = gw__zmq_key_read(config->key_file, &zmq->key, why);
    }
    if (!err)
        err = reserve_files(zmq, why);
    return err ? err : make_context(zmq, why);
}

static enum gw_err open_all(struct gw__zmq *zmq,
                            const struct gw_comm_config *config,
                            struct gw_error *why)
{
    unsigned size = config->size, rank = config->rank;
    if (zmq->lanes > GW__ZMQ_LANES_MAX)
        return gw_fail(why, GW_EINVAL, "%u lanes; use at most %d", zmq->lanes,
                       GW__ZMQ_LANES_MAX);
    size_t bytes = gw__zmq_endpoint_address_bytes(rank, size, zmq->lanes,
                                                  zmq->address.transport);
    if (bytes == 0)
        return gw_fail(
            why, GW_EINVAL,
            "%u ranks with %u lanes need too many connections; use fewer lanes",
            size, zmq->lanes);
    char interface[GW__HOST_MAX];
    enum gw_err err =
        gw__interface(config->interface, config->rendezvous,
                      config->key_file || config->insecure, interface, why);
    if (!err)
        err = prepare_state(zmq, config, why);
    for (unsigned peer = 0; peer < size && !err; peer++)
        if (peer != rank)
            err = gw__zmq_make_link(zmq, peer, interface, why);
    zmq->wire.address.bytes = bytes;
    memcpy(zmq->wire.address.blob, &zmq->address, bytes);
    return err;
}

static size_t window_for(unsigned peers)
{
    size_t share = GW__ZMQ_WINDOWS_BYTES / (peers ? peers : 1);
    if (share > GW__ZMQ_WINDOW_BYTES_MAX)
        return GW__ZMQ_WINDOW_BYTES_MAX;
    return share > GW__ZMQ_WINDOW_BYTES_MIN ? share : GW__ZMQ_WINDOW_BYTES_MIN;
}

enum gw_err gw__zmq_open(const struct gw_comm_config *config,
                         struct gw__wire **wire, struct gw_error *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool ipc = strcmp(config->wire, "ipc") == 0;
    struct gw__zmq *zmq = calloc(1, sizeof *zmq);
    *wire = NULL;
    if (!zmq)
        return gw_fail(why, GW_ENOMEM, "%s wire", config->wire);
    pthread_once(&once, keep_large_blocks);
    zmq->bell = zmq->epoll_fd = zmq->process_watch.fd = -1;
    zmq->wire.ops = ipc                                ? &ipc_ops
                    : strcmp(config->wire, "tcp") == 0 ? &tcp_ops
                                                       : &zmq_ops;
    zmq->wire.rank = config->rank;
    zmq->wire.size = config->size;
    zmq->lanes = config->lanes ? config->lanes : LANES;
    zmq->address.transport = ipc ? GW__ZMQ_IPC : GW__ZMQ_TCP;
    zmq->window_bytes = window_for(config->size - 1);
    enum gw_err err = open_all(zmq, config, why);
    if (err) {
        gw__zmq_free(zmq);
        return gw_wrap(why, err, "%s wire", config->wire);
    }
    *wire = &zmq->wire;
    return GW_OK;
}

/* libzmq's threads may use memory until the context has ended, so it is freed
 * after that. */
void gw__zmq_free(struct gw__zmq *zmq)
{
    for (unsigned r = 0; zmq->links && r < zmq->wire.size; r++)
        gw__zmq_close_link(&zmq->links[r], zmq->lanes);
    while (zmq->context && zmq_ctx_term(zmq->context) != 0)
        assert(errno == EINTR);
    for (unsigned r = 0; zmq->links && r < zmq->wire.size; r++) {
        free(zmq->links[r].lanes);
        free(zmq->links[r].aligned);
    }
    gw__process_watch_fini(&zmq->process_watch);
    if (zmq->bell >= 0)
        close(zmq->bell);
    if (zmq->epoll_fd >= 0)
        close(zmq->epoll_fd);
    gw__files_release(zmq->files);
    free(zmq->links);
    free(zmq);
}

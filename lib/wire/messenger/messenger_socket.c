/* SPDX-License-Identifier: MIT
 *
 * Opening and closing the messenger over sockets, adding and forgetting peers.
 * See messenger_socket.h for the whole.
 */
#include "messenger_socket.h"

#include "wire/epoll_wait.h"
#include "wire/files.h"
#include "wire/interface.h"
#include "wire/zmq/zmq_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ADDRESS_MAGIC = 0x32737067 /* "gps2" */ };

/* The address blob for the peers. */
struct stream_address {
    uint32_t magic, node;
    uint64_t token, incarnation_high, incarnation_low;
    struct gw__socket_address at;
};
_Static_assert(sizeof(struct stream_address) <= GW__ADDRESS_MAX,
               "fits the blob");

/* ---- adding a peer ---- */

static enum gw_err read_address(const struct gw__messenger_socket *s,
                                unsigned node,
                                const struct gw__address *address,
                                struct stream_address *theirs,
                                struct gw_error *why)
{
    const struct gw__messenger_peer *peer = &s->messenger.peers[node];
    bool fits = address->bytes == sizeof *theirs;
    if (fits)
        memcpy(theirs, address->blob, sizeof *theirs);
    if (!fits || theirs->magic != ADDRESS_MAGIC ||
        theirs->at.magic != GW__SOCKET_MAGIC ||
        theirs->at.transport != s->address.transport)
        return gw_fail(why, GW_EDATA, "the address is not of the %s wire",
                       s->wire);
    if (theirs->token != s->messenger.token)
        return gw_fail(why, GW_EDATA, "the address is of another run");
    if (theirs->node != node ||
        theirs->incarnation_high != peer->incarnation_high ||
        theirs->incarnation_low != peer->incarnation_low)
        return gw_fail(why, GW_EDATA, "the address is of another node (%u)",
                       theirs->node);
    if (theirs->at.secured != s->address.secured)
        return gw_fail(
            why, GW_EUNREACH, "it has %s key file, but this process has %s",
            theirs->at.secured ? "a" : "no", s->seal ? "one" : "none");
    if (theirs->at.transport == GW__SOCKET_TCP &&
        !gw__socket_is_numeric(theirs->at.host))
        return gw_fail(why, GW_EDATA, "its address \"%.40s\" is invalid",
                       theirs->at.host);
    return GW_OK;
}

/* A peer needs a descriptor to send, and two to receive while it replaces its
 * former process. Most clusters are small, so more are reserved when they are
 * needed. */
static enum gw_err reserve_places(struct gw__messenger_socket *s,
                                  struct gw_error *why)
{
    enum { PLACES = 64, FILES = 3 * PLACES };
    enum gw_err err = gw__files_reserve(FILES, why);
    if (err)
        return err;
    s->files += FILES;
    s->places += PLACES;
    return GW_OK;
}

static enum gw_err socket_know(struct gw__messenger *messenger, unsigned node,
                               const struct gw__address *address,
                               struct gw_error *why)
{
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    struct gw__messenger_stream *out = &s->peers[node].out;
    struct stream_address theirs = {.magic = 0};
    enum gw_err err = read_address(s, node, address, &theirs, why);
    if (err)
        return err;
    if (gw__messenger_has_ended(&theirs.at.process))
        return gw_fail(why, GW_ELOST, "its process (%u) has ended",
                       theirs.at.process.pid);
    if (!s->peers[node].met && s->met == s->places)
        err = reserve_places(s, why);
    if (err)
        return err;
    s->met += !s->peers[node].met;
    s->peers[node].met = true;
    if (s->seal) {
        out->peer = gw__socket_address_seal(&theirs.at, s->secret);
        if (!out->peer)
            return gw_fail(why, GW_ENOMEM, "the key of node %u", node);
    }
    out->address = theirs.at;
    out->known = true;
    out->sequence = out->dial_ns = 0;
    out->pause_ns = gw__messenger_first_pause_ns;
    gw__messenger_conn_welcome(s, node);
    return GW_OK;
}

static void socket_forget(struct gw__messenger *messenger, unsigned node)
{
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    struct gw__messenger_socket_peer *peer = &s->peers[node];
    peer->was_known = true;
    peer->former_high = messenger->peers[node].incarnation_high;
    peer->former_low = messenger->peers[node].incarnation_low;
    gw__messenger_stream_close(s, &peer->out);
    gw__messenger_ready_drop(s, node);
}

/* ---- closing ---- */

static bool has_waiting(const struct gw__messenger_socket *s)
{
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++)
        if (s->peers[node].out.first)
            return true;
    return false;
}

/* Gives messages just sent some time to leave. */
static void flush(struct gw__messenger_socket *s)
{
    static const uint64_t ms = 1000000U, nap_ns = 5 * 1000000U;
    uint64_t until_ns = gw_now_ns() + GW__MESSENGER_CLOSE_MS * ms;
    while (has_waiting(s) && gw_now_ns() < until_ns) {
        gw__messenger_socket_tend(&s->messenger);
        gw__messenger_handle_events(s);
        for (unsigned node = 0; node < GW__MESSENGER_NODES; node++)
            gw__messenger_ready_drop(s, node);
        gw__messenger_socket_sleep(&s->messenger, gw_now_ns() + nap_ns);
    }
}

static void close_socket(struct gw__messenger *messenger)
{
    struct gw__messenger_socket *s = gw__messenger_socket_of(messenger);
    if (s->buffer)
        flush(s);
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++) {
        gw__messenger_stream_close(s, &s->peers[node].out);
        gw__messenger_ready_drop(s, node);
    }
    while (s->conn_count > 0)
        gw__messenger_conn_close(s, s->conns[s->conn_count - 1], false);
    int files[] = {s->door, s->bell, s->epoll_fd};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0)
            close(files[i]);
    gw__peers_close(&s->users);
    gw__files_release(s->files);
    gw__seal_free(&s->seal);
    explicit_bzero(s->secret, sizeof s->secret);
    free(s->buffer);
    free(s);
}

/* ---- opening ---- */

static const struct gw__messenger_ops ops = {
    .know = socket_know,
    .forget = socket_forget,
    .send = gw__messenger_socket_send,
    .pop = gw__messenger_socket_pop,
    .tend = gw__messenger_socket_tend,
    .ready = gw__messenger_socket_ready,
    .sleep = gw__messenger_socket_sleep,
    .rouse = gw__messenger_socket_rouse,
    .close = close_socket,
};

static enum gw_err take_key(struct gw__messenger_socket *s,
                            const char *key_file, struct gw_error *why)
{
    enum gw_err err = gw__zmq_key_secret(key_file, s->secret, why);
    if (err)
        return err;
    s->address.secured = 1;
    s->seal = gw__socket_address_seal(&s->address, s->secret);
    return s->seal ? GW_OK : gw_fail(why, GW_ENOMEM, "the key of this node");
}

static enum gw_err choose_host(struct gw__messenger_socket *s,
                               const struct gw__messenger_config *config,
                               struct gw_error *why)
{
    char number[GW__HOST_MAX];
    const struct gw__security *security = &config->security;
    if (s->address.transport == GW__SOCKET_IPC)
        return GW_OK;
    enum gw_err err =
        gw__interface(config->interface, NULL,
                      security->key_file || security->insecure, number, why);
    return err ? err : gw__socket_address_at(&s->address, number, why);
}

static enum gw_err open_files(struct gw__messenger_socket *s,
                              struct gw_error *why)
{
    enum { OWN = 3 + GW__PEERS_FILES };
    unsigned need = OWN + GW__MESSENGER_GUESTS + GW__MESSENGER_EARLY;
    enum gw_err err = gw__files_reserve(need, why);
    if (!err) {
        s->files = need;
        err = reserve_places(s, why);
    }
    if (err)
        return err;
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    s->bell_source = GW__MESSENGER_BELL;
    if (s->epoll_fd < 0 || s->bell < 0 ||
        !gw__messenger_listen(s, s->bell, &s->bell_source, EPOLLIN))
        return gw_fail_errno(why, "an epoll set");
    s->buffer = malloc(GW__MESSENGER_BUFFER_BYTES);
    return s->buffer ? GW_OK : gw_fail(why, GW_ENOMEM, "a buffer");
}

static enum gw_err open_parts(struct gw__messenger_socket *s,
                              const struct gw__messenger_config *config,
                              struct gw_error *why)
{
    enum gw_err err = gw__socket_address_make(&s->address, why);
    if (!err)
        err = choose_host(s, config, why);
    if (!err && config->security.key_file)
        err = take_key(s, config->security.key_file, why);
    if (!err)
        err = open_files(s, why);
    return err ? err : gw__messenger_door_open(s, why);
}

static void write_address(struct gw__messenger_socket *s,
                          const struct gw__messenger_config *config)
{
    bool tcp = s->address.transport == GW__SOCKET_TCP;
    struct stream_address own = {.magic = ADDRESS_MAGIC,
                                 .node = config->node,
                                 .token = config->security.token,
                                 .incarnation_high = config->incarnation_high,
                                 .incarnation_low = config->incarnation_low,
                                 .at = s->address};
    memcpy(s->messenger.address.blob, &own, sizeof own);
    s->messenger.address.bytes = sizeof own;
    if (tcp)
        snprintf(s->endpoint, sizeof s->endpoint, "tcp://%s:%u",
                 s->address.host, s->address.port);
    else
        snprintf(s->endpoint, sizeof s->endpoint, "ipc");
}

static struct gw__messenger_socket *
new_socket(const struct gw__messenger_config *config)
{
    struct gw__messenger_socket *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    bool ipc = strcmp(config->wire, "ipc") == 0;
    s->messenger.ops = &ops;
    s->epoll_fd = s->bell = s->door = s->users.table = s->users.hand = -1;
    s->wire = ipc ? "ipc" : "tcp";
    s->address.transport = ipc ? GW__SOCKET_IPC : GW__SOCKET_TCP;
    s->due_ns = UINT64_MAX;
    s->ready_end = &s->ready;
    s->own = (struct gw__messenger_head){.to = (uint16_t)config->node,
                                         .token = config->security.token,
                                         .to_high = config->incarnation_high,
                                         .to_low = config->incarnation_low};
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++) {
        struct gw__messenger_stream *out = &s->peers[node].out;
        *out = (struct gw__messenger_stream){
            .source = GW__MESSENGER_OUT, .fd = -1, .node = node};
        out->end = &out->first;
    }
    return s;
}

enum gw_err gw__messenger_socket_open(const struct gw__messenger_config *config,
                                      struct gw__messenger **messenger,
                                      struct gw_error *why)
{
    struct gw__messenger_socket *s = new_socket(config);
    if (!s)
        return gw_fail(why, GW_ENOMEM, "%s", config->wire);
    gw__messenger_keep_blocks();
    enum gw_err err = open_parts(s, config, why);
    if (err) {
        close_socket(&s->messenger);
        return gw_wrap(why, err, "%s", config->wire);
    }
    write_address(s, config);
    *messenger = &s->messenger;
    return GW_OK;
}

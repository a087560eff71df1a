/* SPDX-License-Identifier: MIT
 *
 * Opening and closing the messenger over ZeroMQ, adding and forgetting peers.
 * See messenger_zmq.h for the whole.
 *
 * An address is an endpoint: over ipc a random abstract name, over tcp the port
 * that the kernel chose. A restarted peer has another one, so a DEALER lives as
 * long as its peer is known.
 */
#include "messenger_zmq.h"

#include "wire/interface.h"
#include "wire/zmq/zmq_context.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    ADDRESS_MAGIC = 0x317a7067, /* "gpz1" */
    RECONNECT_MS = 10,
    RECONNECT_MOST_MS = 100,
    HANDSHAKE_MS = 2000, /* for connections that stay silent */
    RECEIVE_MARK = 1000, /* unread messages per connection */
    FORGETTING_MS = 100, /* for the return of lent memory */
    HALF_SENT_MS = 20,   /* for the rest of a message, see zmq_forget */
};

/* The address blob for the peers. */
struct endpoint_address {
    uint32_t magic, node;
    uint64_t token, incarnation_high, incarnation_low;
    struct gw__process_watch_id process;
    uint8_t secured;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
};
_Static_assert(sizeof(struct endpoint_address) <= GW__ADDRESS_MAX,
               "fits the blob");

/* ---- sockets ---- */

static bool set_option(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

/* The sender bounds its waiting messages; the receive mark keeps them there. */
static bool set_options(void *socket, const char *endpoint, bool listens)
{
    int64_t most = UINT32_MAX;
    bool ok =
        set_option(socket, ZMQ_SNDHWM, 0) &&
        set_option(socket, ZMQ_RCVHWM, listens ? RECEIVE_MARK : 1) &&
        set_option(socket, ZMQ_LINGER, listens ? 0 : GW__MESSENGER_CLOSE_MS) &&
        set_option(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS) &&
        set_option(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS) &&
        set_option(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MOST_MS) &&
        set_option(socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL) &&
        zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) == 0;
    return ok && (!listens || gw__zmq_own_user_only(socket, endpoint));
}

static enum gw_err make_socket(struct gw__messenger_zmq *zmq, bool listens,
                               const char *endpoint, void **socket,
                               struct gw_error *why)
{
    *socket = zmq_socket(zmq->context, listens ? ZMQ_ROUTER : ZMQ_DEALER);
    if (!*socket || !set_options(*socket, endpoint, listens))
        return gw_fail_errno(why, "a socket for %s", endpoint);
    return zmq->secured ? gw__zmq_key_set(*socket, &zmq->key, listens, why)
                        : GW_OK;
}

/* ---- adding a peer ---- */

static enum gw_err read_address(const struct gw__messenger_zmq *zmq,
                                unsigned node,
                                const struct gw__address *address,
                                struct endpoint_address *endpoint,
                                struct gw_error *why)
{
    const struct gw__messenger_peer *peer = &zmq->messenger.peers[node];
    if (address->bytes != sizeof *endpoint)
        return gw_fail(why, GW_EDATA, "the address is not of the %s wire",
                       zmq->wire);
    memcpy(endpoint, address->blob, sizeof *endpoint);
    if (endpoint->magic != ADDRESS_MAGIC ||
        strnlen(endpoint->endpoint, sizeof endpoint->endpoint) ==
            sizeof endpoint->endpoint ||
        strncmp(endpoint->endpoint, zmq->wire, 3) != 0)
        return gw_fail(why, GW_EDATA, "the address is not of the %s wire",
                       zmq->wire);
    if (endpoint->token != zmq->messenger.token)
        return gw_fail(why, GW_EDATA, "the address is of another run");
    if (endpoint->node != node ||
        endpoint->incarnation_high != peer->incarnation_high ||
        endpoint->incarnation_low != peer->incarnation_low)
        return gw_fail(why, GW_EDATA, "the address is of another node (%u)",
                       endpoint->node);
    if (endpoint->secured != zmq->secured)
        return gw_fail(
            why, GW_EUNREACH, "it has %s key file, but this process has %s",
            endpoint->secured ? "a" : "no", zmq->secured ? "one" : "none");
    if (gw__control_channel_check_endpoint(endpoint->endpoint, NULL))
        return gw_fail(why, GW_EDATA, "its address \"%.40s\" is invalid",
                       endpoint->endpoint);
    return GW_OK;
}

static enum gw_err zmq_know(struct gw__messenger *messenger, unsigned node,
                            const struct gw__address *address,
                            struct gw_error *why)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    struct endpoint_address endpoint = {.magic = 0};
    enum gw_err err = read_address(zmq, node, address, &endpoint, why);
    if (err)
        return err;
    if (gw__messenger_has_ended(&endpoint.process))
        return gw_fail(why, GW_ELOST, "its process (%u) has ended",
                       endpoint.process.pid);
    err = make_socket(zmq, false, endpoint.endpoint, &peer->dealer, why);
    if (!err && zmq_connect(peer->dealer, endpoint.endpoint) != 0)
        err = gw_fail(why, GW_EUNREACH, "%s: %s", endpoint.endpoint,
                      zmq_strerror(errno));
    if (err) {
        if (peer->dealer)
            zmq_close(peer->dealer);
        peer->dealer = NULL;
        return err;
    }
    peer->session++;
    peer->sequence = 0;
    gw__messenger_zmq_welcome(zmq, node);
    return GW_OK;
}

/* libzmq stops reading lent memory soon, in its own thread. Without a time to
 * linger it would abort if the connection broke in the middle of a message that
 * is being dropped (session_base.cpp, clean_pipes), as when both ends close. */
static void zmq_forget(struct gw__messenger *messenger, unsigned node)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    peer->was_known = true;
    peer->former_high = messenger->peers[node].incarnation_high;
    peer->former_low = messenger->peers[node].incarnation_low;
    set_option(peer->dealer, ZMQ_LINGER, HALF_SENT_MS);
    zmq_close(peer->dealer);
    peer->dealer = NULL;
    struct pollfd bell = {.fd = zmq->bell, .events = POLLIN};
    uint64_t until_ns = gw_now_ns() + FORGETTING_MS * 1000000ULL;
    eventfd_t rings;
    while (peer->borrowed > 0 && gw_now_ns() < until_ns) {
        atomic_store(&zmq->sleeping, true);
        atomic_thread_fence(memory_order_seq_cst);
        if (!atomic_load(&zmq->urgent) && poll(&bell, 1, 1) > 0)
            (void)eventfd_read(zmq->bell, &rings);
        atomic_store(&zmq->sleeping, false);
        gw__messenger_zmq_tend(messenger);
    }
}

/* ---- closing ---- */

/* Ending the context waits for lingering messages; then nothing is lent any
 * more. */
static void zmq_close_messenger(struct gw__messenger *messenger)
{
    struct gw__messenger_zmq *zmq = gw__messenger_zmq_of(messenger);
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++)
        if (zmq->peers[node].dealer)
            zmq_close(zmq->peers[node].dealer);
    gw__accept_filter_close(&zmq->filter);
    if (zmq->router)
        zmq_close(zmq->router);
    while (zmq->context && zmq_ctx_term(zmq->context) != 0)
        assert(errno == EINTR);
    gw__messenger_zmq_tend(messenger);
    gw__messenger_zmq_drop_early(zmq);
    if (zmq->bell >= 0)
        close(zmq->bell);
    free(zmq);
}

/* ---- opening ---- */

static const struct gw__messenger_ops ops = {
    .know = zmq_know,
    .forget = zmq_forget,
    .send = gw__messenger_zmq_send,
    .pop = gw__messenger_zmq_pop,
    .tend = gw__messenger_zmq_tend,
    .ready = gw__messenger_zmq_ready,
    .sleep = gw__messenger_zmq_sleep,
    .rouse = gw__messenger_zmq_rouse,
    .close = zmq_close_messenger,
};

static enum gw_err
choose_endpoint(const struct gw__messenger_config *config,
                char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX],
                struct gw_error *why)
{
    char interface[GW__HOST_MAX];
    uint64_t name;
    if (strcmp(config->wire, "ipc") == 0) {
        enum gw_err err = gw__messenger_nonce(&name, why);
        snprintf(endpoint, GW__CONTROL_CHANNEL_ENDPOINT_MAX,
                 "ipc://@gradwire-post-%016llx", (unsigned long long)name);
        return err;
    }
    const struct gw__security *security = &config->security;
    enum gw_err err =
        gw__interface(config->interface, NULL,
                      security->key_file || security->insecure, interface, why);
    if (err)
        return err;
    bool six = strchr(interface, ':') != NULL;
    snprintf(endpoint, GW__CONTROL_CHANNEL_ENDPOINT_MAX,
             six ? "tcp://[%.100s]:*" : "tcp://%.100s:*", interface);
    return GW_OK;
}

static enum gw_err listen_at(struct gw__messenger_zmq *zmq,
                             const char *endpoint, struct gw_error *why)
{
    size_t size = sizeof zmq->endpoint, fd_size = sizeof zmq->router_fd;
    enum gw_err err = make_socket(zmq, true, endpoint, &zmq->router, why);
    if (!err)
        err = gw__accept_filter_open(zmq->context, zmq->router, endpoint,
                                     zmq->secured, &zmq->filter, why);
    if (err)
        return err;
    if (zmq_bind(zmq->router, endpoint) != 0)
        return gw_fail(why, GW_EINVAL, "cannot listen at %s: %s", endpoint,
                       zmq_strerror(errno));
    if (zmq_getsockopt(zmq->router, ZMQ_LAST_ENDPOINT, zmq->endpoint, &size) !=
            0 ||
        zmq_getsockopt(zmq->router, ZMQ_FD, &zmq->router_fd, &fd_size) != 0)
        return gw_fail_errno(why, "reading the address of %s", endpoint);
    return GW_OK;
}

static enum gw_err open_all(struct gw__messenger_zmq *zmq,
                            const struct gw__messenger_config *config,
                            struct gw_error *why)
{
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    enum gw_err err = choose_endpoint(config, endpoint, why);
    if (!err && config->security.key_file) {
        zmq->secured = true;
        err = gw__zmq_key_read(config->security.key_file, &zmq->key, why);
    }
    if (err)
        return err;
    zmq->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (zmq->bell < 0)
        return gw_fail_errno(why, "eventfd");
    err = gw__zmq_context_new(1, 0, 0, &zmq->context, why);
    return err ? err : listen_at(zmq, endpoint, why);
}

static void write_address(struct gw__messenger_zmq *zmq,
                          const struct gw__messenger_config *config)
{
    struct endpoint_address endpoint = {
        .magic = ADDRESS_MAGIC,
        .node = config->node,
        .token = config->security.token,
        .incarnation_high = config->incarnation_high,
        .incarnation_low = config->incarnation_low,
        .secured = zmq->secured};
    gw__process_watch_self(&endpoint.process);
    memcpy(endpoint.endpoint, zmq->endpoint, sizeof endpoint.endpoint);
    memcpy(zmq->messenger.address.blob, &endpoint, sizeof endpoint);
    zmq->messenger.address.bytes = sizeof endpoint;
}

enum gw_err gw__messenger_zmq_open(const struct gw__messenger_config *config,
                                   struct gw__messenger **messenger,
                                   struct gw_error *why)
{
    struct gw__messenger_zmq *zmq = calloc(1, sizeof *zmq);
    if (!zmq)
        return gw_fail(why, GW_ENOMEM, "%s", config->wire);
    gw__messenger_keep_blocks();
    zmq->messenger.ops = &ops;
    zmq->bell = -1;
    zmq->early_end = &zmq->early;
    zmq->wire = config->wire[0] == 'i' ? "ipc" : "tcp";
    zmq->mine = (struct gw__messenger_head){.to = (uint16_t)config->node,
                                            .token = config->security.token,
                                            .to_high = config->incarnation_high,
                                            .to_low = config->incarnation_low};
    enum gw_err err = open_all(zmq, config, why);
    if (err) {
        zmq_close_messenger(&zmq->messenger);
        return gw_wrap(why, err, "%s", config->wire);
    }
    write_address(zmq, config);
    *messenger = &zmq->messenger;
    return GW_OK;
}

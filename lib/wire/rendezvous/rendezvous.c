/* SPDX-License-Identifier: MIT
 *
 * The rendezvous on the side of the other ranks, which connect to rank 0.
 *
 *     rank r                          rank 0
 *       | JOIN(r, size, address) ------> |
 *       | <------ WAIT(missing ranks)    |   again every 250 ms
 *       | <------ TABLE(all addresses)   |   when all are there
 *       | <------ REFUSE(code, message)  |   when it has failed
 *
 * A JOIN is repeated, because rank 0 may start later, and because the first one
 * may have reached a rank 0 of an earlier run that was about to end. A nonce
 * distinguishes a repetition from another process that claims the same rank.
 */
#include "rendezvous.h"

#include "rendezvous_parts.h"
#include "wire/rank_list.h"
#include "wire/zmq/zmq_context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const uint64_t again_ns = 250 * 1000000U;

enum gw_err gw__rendezvous_socket(struct gw__rendezvous *rendezvous, int type,
                                  bool server, struct gw_error *why)
{
    int linger = 0, reconnect_ms = 20, ipv6 = 1;
    int64_t most = GW__RENDEZVOUS_BYTES_MAX;
    void *socket = rendezvous->socket = zmq_socket(rendezvous->context, type);
    if (!socket ||
        zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_setsockopt(socket, ZMQ_IPV6, &ipv6, sizeof ipv6) != 0 ||
        zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &reconnect_ms,
                       sizeof reconnect_ms) != 0 ||
        zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) != 0)
        return gw_fail_errno(why, "a socket");
    return rendezvous->key
               ? gw__zmq_key_set(socket, rendezvous->key, server, why)
               : GW_OK;
}

bool gw__rendezvous_await(const struct gw__rendezvous *rendezvous,
                          uint64_t until_ns)
{
    uint64_t now = gw_now_ns();
    long ms = until_ns > now ? (long)((until_ns - now) / 1000000U + 1) : 0;
    zmq_pollitem_t item = {.socket = rendezvous->socket, .events = ZMQ_POLLIN};
    return zmq_poll(&item, 1, ms) > 0;
}

static void send_join(const struct gw__rendezvous *rendezvous,
                      const uint64_t nonce[2])
{
    struct gw__rendezvous_message head = {.kind = GW__RENDEZVOUS_JOIN,
                                          .rank = rendezvous->rank,
                                          .size = rendezvous->size,
                                          .nonce = {nonce[0], nonce[1]}};
    void *message;
    size_t bytes = gw__rendezvous_write(&head, rendezvous->mine->blob,
                                        rendezvous->mine->bytes, &message);
    if (bytes > 0)
        zmq_send(rendezvous->socket, message, bytes, ZMQ_DONTWAIT);
    free(message);
}

/* Reads the answer of rank 0, if there is one: GW_OK with the table, GW_PENDING
 * (*waits: the missing ranks), or the error of a REFUSE. */
static enum gw_err listen_to_host(const struct gw__rendezvous *rendezvous,
                                  char missing[GW__RANK_LIST_BYTES],
                                  struct gw_error *why)
{
    zmq_msg_t message;
    struct gw__rendezvous_message head;
    const void *payload;
    size_t bytes;
    enum gw_err result = GW_PENDING;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, rendezvous->socket, ZMQ_DONTWAIT) >= 0 &&
        gw__rendezvous_read(zmq_msg_data(&message), zmq_msg_size(&message),
                            &head, &payload, &bytes)) {
        if (head.kind == GW__RENDEZVOUS_TABLE &&
            gw__rendezvous_unpack(payload, bytes, rendezvous->table,
                                  rendezvous->size))
            result = GW_OK;
        else if (head.kind == GW__RENDEZVOUS_WAIT)
            snprintf(missing, GW__RANK_LIST_BYTES, "%.*s",
                     (int)(bytes < GW__RANK_LIST_BYTES ? bytes
                                                       : GW__RANK_LIST_BYTES),
                     (const char *)payload);
        else if (head.kind == GW__RENDEZVOUS_REFUSE)
            result = gw_fail(why, (enum gw_err)head.code, "%.*s",
                             (int)(bytes < 256 ? bytes : 256),
                             (const char *)payload);
    }
    zmq_msg_close(&message);
    return result;
}

static enum gw_err rendezvous_as_guest(struct gw__rendezvous *rendezvous,
                                       struct gw_error *why)
{
    char missing[GW__RANK_LIST_BYTES] = "";
    uint64_t nonce[2], next_join = 0;
    enum gw_err err = gw__rendezvous_socket(rendezvous, ZMQ_DEALER, false, why);
    int one = 1;
    if (err)
        return err;
    if (getrandom(nonce, sizeof nonce, 0) != sizeof nonce)
        return gw_fail_errno(why, "getrandom");
    /* Queue at most one JOIN that cannot be delivered yet. */
    zmq_setsockopt(rendezvous->socket, ZMQ_SNDHWM, &one, sizeof one);
    if (zmq_connect(rendezvous->socket, rendezvous->endpoint) != 0)
        return gw_fail(why, GW_EUNREACH, "%s", zmq_strerror(errno));
    for (;;) {
        uint64_t now = gw_now_ns();
        if (now >= rendezvous->deadline_ns)
            return gw__rendezvous_timed_out(
                rendezvous, missing[0] ? missing : "rank 0 did not answer",
                why);
        if (now >= next_join) {
            send_join(rendezvous, nonce);
            next_join = now + again_ns;
        }
        uint64_t until = next_join < rendezvous->deadline_ns
                             ? next_join
                             : rendezvous->deadline_ns;
        if (!gw__rendezvous_await(rendezvous, until))
            continue;
        err = listen_to_host(rendezvous, missing, why);
        if (err != GW_PENDING)
            return err;
    }
}

/* The endpoint is in use. If another rank 0 has it, that one will refuse a JOIN
 * as rank 0. */
static enum gw_err join_other_host(struct gw__rendezvous *rendezvous,
                                   struct gw_error *why)
{
    uint64_t limit = gw_now_ns() + 4 * again_ns;
    if (limit < rendezvous->deadline_ns)
        rendezvous->deadline_ns = limit;
    gw__accept_filter_close(&rendezvous->filter);
    zmq_close(rendezvous->socket);
    enum gw_err err = rendezvous_as_guest(rendezvous, why);
    return err == GW_EMISMATCH
               ? err
               : gw_fail(why, GW_EUNREACH, "the address is already in use");
}

enum gw_err gw__rendezvous_timed_out(const struct gw__rendezvous *rendezvous,
                                     const char *missing, struct gw_error *why)
{
    return gw_fail(
        why, GW_ETIMEOUT, "%.200s in %u ms%s", missing, rendezvous->timeout_ms,
        rendezvous->key ? " (check that all have the same key file)" : "");
}

static enum gw_err run_rendezvous(struct gw__rendezvous *rendezvous,
                                  struct gw_error *why)
{
    enum gw_err err = gw__zmq_context_new(1, 0, 0, &rendezvous->context, why);
    if (err)
        return err;
    err = rendezvous->rank == 0 ? gw__rendezvous_as_host(rendezvous, why)
                                : rendezvous_as_guest(rendezvous, why);
    if (err == GW_PENDING)
        err = join_other_host(rendezvous, why);
    gw__accept_filter_close(&rendezvous->filter);
    if (rendezvous->socket)
        zmq_close(rendezvous->socket);
    while (zmq_ctx_term(rendezvous->context) != 0 && errno == EINTR)
        ;
    return err;
}

enum gw_err gw__rendezvous_with_key(const char *endpoint, const char *key_file,
                                    unsigned rank, unsigned size,
                                    const struct gw__address *mine,
                                    struct gw__address *table,
                                    unsigned timeout_ms, struct gw_error *why)
{
    struct gw__zmq_key key;
    struct gw__rendezvous rendezvous = {
        .endpoint = endpoint,
        .rank = rank,
        .size = size,
        .mine = mine,
        .table = table,
        .timeout_ms = timeout_ms,
        .deadline_ns = gw_now_ns() + (uint64_t)timeout_ms * 1000000U};
    table[rank] = *mine;
    if (size == 1)
        return GW_OK;
    enum gw_err err = GW_OK;
    if (!endpoint)
        return gw_fail(why, GW_EINVAL,
                       "rank %u of %u: the rendezvous address is missing", rank,
                       size);
    if (key_file) {
        err = gw__zmq_key_read(key_file, &key, why);
        rendezvous.key = &key;
    }
    if (!err)
        err = run_rendezvous(&rendezvous, why);
    return err ? gw_wrap(why, err, "rendezvous %s", endpoint) : GW_OK;
}

enum gw_err gw__rendezvous(const char *endpoint, unsigned rank, unsigned size,
                           const struct gw__address *mine,
                           struct gw__address *table, unsigned timeout_ms,
                           struct gw_error *why)
{
    return gw__rendezvous_with_key(endpoint, NULL, rank, size, mine, table,
                                   timeout_ms, why);
}

bool gw__rendezvous_is_open(const char *endpoint)
{
    static const char *const closed[] = {"127.", "localhost:", "[::1]:"};
    if (strncmp(endpoint, "tcp://", 6) != 0)
        return false;
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (strncmp(endpoint + 6, closed[i], strlen(closed[i])) == 0)
            return false;
    return true;
}

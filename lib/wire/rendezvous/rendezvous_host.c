/* SPDX-License-Identifier: MIT
 *
 * The rendezvous on the side of rank 0. It collects addresses until all are
 * there, sends the list of missing ranks to those that wait, and finally sends
 * the table to all. An error that makes the rendezvous impossible (two
 * processes that claim one rank, different numbers of ranks) is sent to all
 * ranks that are there and ends it.
 */
#include "rendezvous_parts.h"

#include "wire/rank_list.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTE_BYTES_MAX = 255, FAREWELL_MS = 1000 };

struct guest {
    uint64_t nonce[2];
    size_t route_bytes;
    unsigned char route[ROUTE_BYTES_MAX]; /* ROUTER's id of the connection */
};

struct host {
    struct gw__rendezvous *rendezvous;
    struct guest *guests; /* by rank */
    bool *here;           /* by rank */
    unsigned missing;
};

/* One JOIN as received. */
struct join_request {
    struct guest guest;
    struct gw__rendezvous_message head;
    struct gw__address address;
};

/* GW_ENOMEM. A message that cannot be delivered is not an error. */
static enum gw_err send_to_guest(const struct host *host,
                                 const struct guest *guest,
                                 struct gw__rendezvous_message *head,
                                 const void *payload, size_t bytes)
{
    void *message, *socket = host->rendezvous->socket;
    head->size = host->rendezvous->size;
    size_t length = gw__rendezvous_write(head, payload, bytes, &message);
    if (length == 0)
        return GW_ENOMEM;
    if (zmq_send(socket, guest->route, guest->route_bytes,
                 ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(socket, message, length, ZMQ_DONTWAIT);
    free(message);
    return GW_OK;
}

static enum gw_err notify_all(const struct host *host,
                              struct gw__rendezvous_message *head,
                              const void *payload, size_t bytes)
{
    enum gw_err err = GW_OK;
    for (unsigned r = 1; r < host->rendezvous->size; r++)
        if (host->here[r] &&
            send_to_guest(host, &host->guests[r], head, payload, bytes))
            err = GW_ENOMEM;
    return err;
}

/* Receives one message. True: it is a JOIN. */
static bool receive_join(struct host *host, struct join_request *join)
{
    void *socket = host->rendezvous->socket;
    zmq_msg_t route, message;
    const void *payload;
    size_t bytes;
    bool good = false;
    zmq_msg_init(&route);
    zmq_msg_init(&message);
    if (zmq_msg_recv(&route, socket, ZMQ_DONTWAIT) >= 0 &&
        zmq_msg_more(&route) &&
        zmq_msg_recv(&message, socket, ZMQ_DONTWAIT) >= 0)
        good =
            zmq_msg_size(&route) <= ROUTE_BYTES_MAX &&
            gw__rendezvous_read(zmq_msg_data(&message), zmq_msg_size(&message),
                                &join->head, &payload, &bytes) &&
            join->head.kind == GW__RENDEZVOUS_JOIN;
    if (good) {
        join->address.bytes = bytes;
        memcpy(join->address.blob, payload, bytes);
        join->guest.route_bytes = zmq_msg_size(&route);
        memcpy(join->guest.route, zmq_msg_data(&route), zmq_msg_size(&route));
        memcpy(join->guest.nonce, join->head.nonce, sizeof join->head.nonce);
    }
    while (zmq_msg_more(&message) &&
           zmq_msg_recv(&message, socket, ZMQ_DONTWAIT) >= 0)
        good = false;
    zmq_msg_close(&route);
    zmq_msg_close(&message);
    return good;
}

static enum gw_err check_join(const struct host *host,
                              const struct join_request *join,
                              struct gw_error *why)
{
    unsigned rank = join->head.rank;
    if (join->head.size != host->rendezvous->size)
        return gw_fail(
            why, GW_EMISMATCH,
            "rank %u was started as one of %u ranks, but rank 0 as one of %u",
            rank, join->head.size, host->rendezvous->size);
    if (rank == 0 ||
        (host->here[rank] && memcmp(host->guests[rank].nonce, join->guest.nonce,
                                    sizeof join->guest.nonce) != 0))
        return gw_fail(why, GW_EMISMATCH, "two processes claim to be rank %u",
                       rank);
    return GW_OK;
}

static void admit_guest(struct host *host, const struct join_request *join)
{
    unsigned rank = join->head.rank;
    host->missing -= !host->here[rank];
    host->here[rank] = true;
    host->guests[rank] = join->guest;
    host->rendezvous->table[rank] = join->address;
}

/* Sends the list of missing ranks to one that is there. */
static void send_wait(const struct host *host, const struct guest *guest)
{
    char text[GW__RANK_LIST_BYTES], sentence[GW__RANK_LIST_BYTES + 16];
    struct gw__rendezvous_message head = {.kind = GW__RENDEZVOUS_WAIT};
    gw__rank_list(host->here, host->rendezvous->size, text);
    int length =
        snprintf(sentence, sizeof sentence, "%s did not connect", text);
    send_to_guest(host, guest, &head, sentence, (size_t)length);
}

static enum gw_err collect(struct host *host, struct join_request *join,
                           struct gw_error *why)
{
    while (host->missing > 0) {
        if (!gw__rendezvous_await(host->rendezvous,
                                  host->rendezvous->deadline_ns) &&
            gw_now_ns() >= host->rendezvous->deadline_ns) {
            char text[GW__RANK_LIST_BYTES + 16];
            gw__rank_list(host->here, host->rendezvous->size, text);
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     " did not connect");
            return gw__rendezvous_timed_out(host->rendezvous, text, why);
        }
        if (!receive_join(host, join))
            continue;
        enum gw_err err = check_join(host, join, why);
        if (err) {
            struct gw__rendezvous_message head = {.kind = GW__RENDEZVOUS_REFUSE,
                                                  .code = (int32_t)err};
            send_to_guest(host, &join->guest, &head, why->text,
                          strlen(why->text));
            return err;
        }
        admit_guest(host, join);
        if (host->missing > 0)
            send_wait(host, &join->guest);
    }
    return GW_OK;
}

/* Sends TABLE to all, or the reason why there is none. */
static enum gw_err answer_guests(const struct host *host, enum gw_err err,
                                 struct gw_error *why)
{
    int linger = FAREWELL_MS;
    struct gw__rendezvous_message head = {.kind = GW__RENDEZVOUS_REFUSE,
                                          .code = (int32_t)err};
    zmq_setsockopt(host->rendezvous->socket, ZMQ_LINGER, &linger,
                   sizeof linger);
    if (err) {
        notify_all(host, &head, why->text, strlen(why->text));
        return err;
    }
    void *payload;
    size_t bytes = gw__rendezvous_pack(host->rendezvous->table,
                                       host->rendezvous->size, &payload);
    if (bytes == 0)
        return gw_fail(why, GW_ENOMEM, "a table of all addresses");
    head.kind = GW__RENDEZVOUS_TABLE;
    err = notify_all(host, &head, payload, bytes);
    free(payload);
    return err ? gw_fail(why, err, "sending the table of addresses") : GW_OK;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* libzmq binds to numbers and interfaces, not to host names. A host may know
 * its own name as a loopback address (127.0.1.1 in /etc/hosts), which other
 * hosts cannot reach: then all of its addresses are bound. */
static bool bind_by_name(void *socket, const char *endpoint)
{
    char host[256], service[16], address[NI_MAXHOST], numeric[NI_MAXHOST + 40];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    bool bound = false;
    if (sscanf(endpoint, "tcp://%255[^:]:%15[0-9]", host, service) != 2 ||
        getaddrinfo(host, service, &hints, &list) != 0)
        return false;
    for (struct addrinfo *at = list; at && !bound; at = at->ai_next) {
        if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof address,
                        NULL, 0, NI_NUMERICHOST) != 0)
            continue;
        if (is_loopback(address) && strcmp(host, "localhost") != 0)
            snprintf(address, sizeof address, "*");
        bool six = strchr(address, ':') != NULL;
        snprintf(numeric, sizeof numeric, six ? "tcp://[%s]:%s" : "tcp://%s:%s",
                 address, service);
        bound = zmq_bind(socket, numeric) == 0;
    }
    freeaddrinfo(list);
    return bound;
}

static enum gw_err open_house(struct gw__rendezvous *rendezvous,
                              struct gw_error *why)
{
    enum gw_err err = gw__rendezvous_socket(rendezvous, ZMQ_ROUTER, true, why);
    if (!err)
        err = gw__accept_filter_open(
            rendezvous->context, rendezvous->socket, rendezvous->endpoint,
            rendezvous->key != NULL, &rendezvous->filter, why);
    if (!err &&
        !gw__zmq_own_user_only(rendezvous->socket, rendezvous->endpoint))
        err = gw_fail_errno(why, "a socket");
    if (err || zmq_bind(rendezvous->socket, rendezvous->endpoint) == 0)
        return err;
    if (errno == ENODEV &&
        bind_by_name(rendezvous->socket, rendezvous->endpoint))
        return GW_OK;
    if (errno == EADDRINUSE)
        return GW_PENDING;
    return gw_fail(why, GW_EUNREACH, "cannot be bound: %s",
                   zmq_strerror(errno));
}

enum gw_err gw__rendezvous_as_host(struct gw__rendezvous *rendezvous,
                                   struct gw_error *why)
{
    unsigned size = rendezvous->size;
    enum gw_err err = open_house(rendezvous, why);
    if (err)
        return err;
    struct gw_error reason; /* needed even when the caller does not want it */
    struct host host = {.rendezvous = rendezvous,
                        .guests = calloc(size, sizeof *host.guests),
                        .here = calloc(size, sizeof *host.here),
                        .missing = size - 1};
    struct join_request *join = malloc(sizeof *join);
    if (!host.guests || !host.here || !join)
        err = gw_fail(why, GW_ENOMEM, "a rendezvous of %u ranks", size);
    else {
        host.here[0] = true;
        err = collect(&host, join, &reason);
        err = answer_guests(&host, err, &reason);
        if (err)
            gw_fail(why, err, "%s", reason.text);
    }
    free(join);
    free(host.here);
    free(host.guests);
    return err;
}

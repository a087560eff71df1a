/* SPDX-License-Identifier: MIT
 *
 * Opening a ZeroMQ wire: a context of its own, the sockets for every peer, the
 * options, and the address that tells the peers where to find them.
 */
#include "zmq_wire.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    IO_THREADS = 1,
    LANES_IPC = 1,
    LANES_TCP = 1,
    SLICE_BYTES = 256 << 10,
    HEARTBEAT_MS = 200,
    HEARTBEAT_TIMEOUT_MS = 800,
    /* A peer that is lost stays lost: nobody reconnects within a run's life.
     * (Turning it off by -1 would throw away what has arrived.) */
    NEVER_MS = 1 << 30,
};

static const struct gw__wire_ops ipc_ops = {
    .name = "ipc",
    .slice_bytes = SLICE_BYTES,
    .connect = gw__zmq_connect,
    .send = gw__zmq_send,
    .sends_done = gw__zmq_sends_done,
    .peek = gw__zmq_peek,
    .release = gw__zmq_release,
    .wait = gw__zmq_wait,
    .check = gw__zmq_check,
    .abort = gw__zmq_abort,
    .close = gw__zmq_close,
};

static const struct gw__wire_ops tcp_ops = {
    .name = "tcp",
    .slice_bytes = SLICE_BYTES,
    .connect = gw__zmq_connect,
    .send = gw__zmq_send,
    .sends_done = gw__zmq_sends_done,
    .peek = gw__zmq_peek,
    .release = gw__zmq_release,
    .wait = gw__zmq_wait,
    .check = gw__zmq_check,
    .abort = gw__zmq_abort,
    .close = gw__zmq_close,
};

/* libzmq takes the memory of each large message from malloc, and glibc by
 * default takes what is over 128 KiB from the kernel and returns it at once:
 * every slice would cost its page faults. With these two limits the memory of
 * released slices is used again. They hold for the whole process; the price is
 * that its heap keeps up to as much as it once needed. */
static void keep_large_blocks(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

static unsigned open_files(void)
{
    unsigned count = 0;
    DIR *self = opendir("/proc/self/fd");
    while (self && readdir(self))
        count++;
    if (self)
        closedir(self);
    return count;
}

/* libzmq needs some descriptors a socket, and ends the program when some of
 * them cannot be had. So it is made sure that they can, raising the soft limit
 * where the hard one allows. */
static enum gw_err reserve_files(const struct gw__zmq *zmq, struct gw_error *why)
{
    enum { A_LANE = 3, A_PEER = 6, A_WIRE = 32 };
    struct rlimit files;
    unsigned need
        = A_WIRE + (zmq->wire.size - 1) * (A_PEER + zmq->lanes * A_LANE);
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return GW_OK;
    rlim_t want = open_files() + need;
    if (want <= files.rlim_cur)
        return GW_OK;
    rlim_t generous = 2 * want + 1024;
    files.rlim_cur = generous < files.rlim_max ? generous : files.rlim_max;
    if (want > files.rlim_cur || setrlimit(RLIMIT_NOFILE, &files) != 0)
        return gw_fail(why, GW_ESYS,
            "%u ranks need about %u open files, and the limit is %llu "
            "(ulimit -n)",
            zmq->wire.size, need, (unsigned long long)files.rlim_cur);
    return GW_OK;
}

static bool set(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

/* A lane's pipes never fill, the credits see to it; the marks only keep a
 * peer that ignores them from filling the memory. */
static bool set_options(
    const struct gw__zmq *zmq, void *socket, const char *host, bool notes)
{
    bool ok = set(socket, ZMQ_LINGER, 0)
        && set(socket, ZMQ_SNDHWM, 4 * GW__ZMQ_WINDOW_SLICES)
        && set(socket, ZMQ_RCVHWM, 4 * GW__ZMQ_WINDOW_SLICES)
        && set(socket, ZMQ_RECONNECT_IVL, NEVER_MS)
        && set(socket, ZMQ_IPV6, strchr(host, ':') != NULL);
    int64_t most = notes ? GW__NOTE_BYTES_MAX : UINT32_MAX;
    ok = ok && zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) == 0;
    /* Hosts vanish without a word only where there is a network between. Not
     * on the lanes: a beat would wait behind data that waits. */
    if (notes && zmq->card.transport == GW__ZMQ_TCP
        && strncmp(host, "127.", 4) != 0)
        ok = ok && set(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS)
            && set(socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
    return ok;
}

static enum gw_err watch_connection(
    struct gw__zmq *zmq, unsigned peer, struct gw_error *why)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    char name[40];
    size_t size = sizeof link->monitor_fd;
    snprintf(name, sizeof name, "inproc://notes-%u", peer);
    link->monitor = zmq_socket(zmq->context, ZMQ_PAIR);
    if (!link->monitor
        || zmq_socket_monitor(
               link->notes->socket, name, ZMQ_EVENT_DISCONNECTED)
            != 0
        || !set(link->monitor, ZMQ_LINGER, 0)
        || zmq_connect(link->monitor, name) != 0
        || zmq_getsockopt(link->monitor, ZMQ_FD, &link->monitor_fd, &size) != 0)
        return gw_fail_errno(why, "watching the connection to rank %u", peer);
    return GW_OK;
}

/* The sockets towards one peer, not yet bound or connected. */
static enum gw_err make_sockets(struct gw__zmq *zmq, unsigned peer,
    const char *host, struct gw_error *why)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    for (unsigned l = 0; l <= zmq->lanes; l++) {
        struct gw__zmq_lane *lane = &link->lanes[l];
        size_t size = sizeof lane->fd;
        lane->socket = zmq_socket(zmq->context, ZMQ_PAIR);
        if (!lane->socket
            || !set_options(zmq, lane->socket, host, lane == link->notes)
            || zmq_getsockopt(lane->socket, ZMQ_FD, &lane->fd, &size) != 0)
            return gw_fail_errno(why, "a socket for rank %u", peer);
        if (!zmq->card.secured)
            continue;
        enum gw_err err = gw__zmq_key_set(
            lane->socket, &zmq->key, peer > zmq->wire.rank, why);
        if (err)
            return err;
    }
    return watch_connection(zmq, peer, why);
}

/* "tcp://127.0.0.1:4711" -> card.host and the port. */
static bool take_endpoint(
    struct gw__zmq_card *card, const char *endpoint, uint16_t *port)
{
    const char *host = endpoint + strlen("tcp://");
    const char *colon = strrchr(host, ':');
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) != 0 || !colon
        || (size_t)(colon - host) >= sizeof card->host)
        return false;
    memset(card->host, 0, sizeof card->host);
    memcpy(card->host, host, (size_t)(colon - host));
    *port = (uint16_t)strtoul(colon + 1, NULL, 10);
    return true;
}

static enum gw_err check_exposure(const struct gw__zmq *zmq,
    const struct gw_comm_config *config, struct gw_error *why)
{
    const char *host = zmq->card.host;
    bool loopback
        = strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "[::]") == 0)
        return gw_fail(why, GW_EINVAL,
            "name one interface, not \"%s\": peers must know where to connect",
            config->interface);
    if (!loopback && !zmq->card.secured && !config->insecure)
        return gw_fail(why, GW_EINVAL,
            "%s is open to the network: give a key file, or allow it with "
            "--insecure",
            host);
    return GW_OK;
}

static enum gw_err bind_lane(struct gw__zmq *zmq, unsigned peer, unsigned lane,
    const struct gw_comm_config *config, struct gw_error *why)
{
    void *socket = zmq->links[peer].lanes[lane].socket;
    char endpoint[256];
    size_t size = sizeof endpoint;
    if (zmq->card.transport == GW__ZMQ_IPC) {
        gw__zmq_endpoint(&zmq->card, zmq->wire.rank, peer, lane, endpoint);
        return zmq_bind(socket, endpoint) == 0
            ? GW_OK
            : gw_fail_errno(why, "binding %s", endpoint);
    }
    const char *interface = config->interface ? config->interface : "127.0.0.1";
    unsigned port = (peer - zmq->wire.rank - 1) * (zmq->lanes + 1) + lane;
    snprintf(endpoint, sizeof endpoint, "tcp://%.200s:*", interface);
    if (zmq_bind(socket, endpoint) != 0)
        return gw_fail(why, GW_EUNREACH, "binding %s: %s", endpoint,
            zmq_strerror(errno));
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0
        || !take_endpoint(&zmq->card, endpoint, &zmq->card.ports[port]))
        return gw_fail(why, GW_EUNREACH, "binding %s: at %s?", interface,
            endpoint);
    return check_exposure(zmq, config, why);
}

static enum gw_err make_link(struct gw__zmq *zmq, unsigned peer,
    const struct gw_comm_config *config, struct gw_error *why)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    const char *host = zmq->card.transport == GW__ZMQ_IPC ? "127.0.0.1"
        : config->interface                               ? config->interface
                                                          : "127.0.0.1";
    link->lanes = calloc(zmq->lanes + 1, sizeof *link->lanes);
    link->aligned_bytes = GW__ZMQ_SMALL_BYTES;
    link->aligned = malloc(link->aligned_bytes);
    if (!link->lanes || !link->aligned)
        return gw_fail(why, GW_ENOMEM, "link to rank %u", peer);
    link->notes = &link->lanes[zmq->lanes];
    for (unsigned l = 0; l <= zmq->lanes; l++)
        link->lanes[l].zmq = zmq;
    enum gw_err err = make_sockets(zmq, peer, host, why);
    for (unsigned l = 0; l <= zmq->lanes && !err && peer > zmq->wire.rank; l++)
        err = bind_lane(zmq, peer, l, config, why);
    return err;
}

static enum gw_err make_context(struct gw__zmq *zmq, struct gw_error *why)
{
    enum { A_PEER = 3, SPARE = 16 };
    int sockets = (int)(zmq->wire.size * (A_PEER + zmq->lanes) + SPARE);
    zmq->context = zmq_ctx_new();
    if (!zmq->context
        || zmq_ctx_set(zmq->context, ZMQ_IO_THREADS, IO_THREADS) != 0
        || zmq_ctx_set(zmq->context, ZMQ_MAX_SOCKETS, sockets) != 0)
        return gw_fail_errno(why, "a ZeroMQ context of %d sockets", sockets);
    zmq->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return zmq->bell >= 0 ? GW_OK : gw_fail_errno(why, "eventfd");
}

/* Everything but the sockets. */
static enum gw_err prepare(struct gw__zmq *zmq,
    const struct gw_comm_config *config, struct gw_error *why)
{
    unsigned size = config->size;
    struct gw__zmq_card *card = &zmq->card;
    card->magic = GW__ZMQ_MAGIC;
    card->lanes = (uint8_t)zmq->lanes;
    gw__watch_self(&card->process);
    if (getrandom(&card->name, sizeof card->name, 0) != sizeof card->name
        || getrandom(card->token, sizeof card->token, 0) != sizeof card->token)
        return gw_fail_errno(why, "getrandom");
    /* lanes, notes, monitor of each peer; bell and watch */
    zmq->polled = calloc(size * (zmq->lanes + 2) + 2, sizeof *zmq->polled);
    zmq->links = calloc(size, sizeof *zmq->links);
    if (!zmq->links || !zmq->polled)
        return gw_fail(why, GW_ENOMEM, "links to %u ranks", size - 1);
    enum gw_err err = gw__watch_init(&zmq->watch, size, why);
    if (!err && config->key_file) {
        card->secured = 1;
        err = gw__zmq_key_read(config->key_file, &zmq->key, why);
    }
    if (!err)
        err = reserve_files(zmq, why);
    return err ? err : make_context(zmq, why);
}

static enum gw_err open_all(struct gw__zmq *zmq,
    const struct gw_comm_config *config, struct gw_error *why)
{
    unsigned size = config->size, rank = config->rank;
    if (zmq->lanes > GW__ZMQ_LANES_MAX)
        return gw_fail(why, GW_EINVAL, "%u lanes: at most %d", zmq->lanes,
            GW__ZMQ_LANES_MAX);
    size_t bytes
        = gw__zmq_card_bytes(rank, size, zmq->lanes, zmq->card.transport);
    if (bytes == 0)
        return gw_fail(why, GW_EINVAL, "%u ranks with %u lanes are too many",
            size, zmq->lanes);
    enum gw_err err = prepare(zmq, config, why);
    for (unsigned peer = 0; peer < size && !err; peer++)
        if (peer != rank)
            err = make_link(zmq, peer, config, why);
    zmq->wire.address.bytes = bytes;
    memcpy(zmq->wire.address.blob, &zmq->card, bytes);
    return err;
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
    zmq->bell = zmq->watch.fd = -1;
    zmq->wire.ops = ipc ? &ipc_ops : &tcp_ops;
    zmq->wire.rank = config->rank;
    zmq->wire.size = config->size;
    zmq->lanes = config->lanes ? config->lanes : ipc ? LANES_IPC : LANES_TCP;
    zmq->card.transport = ipc ? GW__ZMQ_IPC : GW__ZMQ_TCP;
    enum gw_err err = open_all(zmq, config, why);
    if (err) {
        gw__zmq_free(zmq);
        return gw_wrap(why, err, "%s wire", config->wire);
    }
    *wire = &zmq->wire;
    return GW_OK;
}

static void free_link(struct gw__zmq_link *link, unsigned lanes)
{
    for (unsigned l = 0; link->lanes && l <= lanes; l++)
        if (link->lanes[l].socket)
            zmq_close(link->lanes[l].socket);
    if (link->monitor)
        zmq_close(link->monitor);
    if (link->held) {
        zmq_msg_close(&link->head);
        zmq_msg_close(&link->body);
    }
}

/* What libzmq's threads still use is freed after the context has ended. */
void gw__zmq_free(struct gw__zmq *zmq)
{
    for (unsigned r = 0; zmq->links && r < zmq->wire.size; r++)
        free_link(&zmq->links[r], zmq->lanes);
    while (zmq->context && zmq_ctx_term(zmq->context) != 0)
        assert(errno == EINTR);
    for (unsigned r = 0; zmq->links && r < zmq->wire.size; r++) {
        free(zmq->links[r].lanes);
        free(zmq->links[r].aligned);
    }
    gw__watch_fini(&zmq->watch);
    if (zmq->bell >= 0)
        close(zmq->bell);
    free(zmq->links);
    free(zmq->polled);
    free(zmq);
}

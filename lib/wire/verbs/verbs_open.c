/* SPDX-License-Identifier: MIT
 *
 * Opening a verbs wire: the device, a protection domain and a completion queue
 * on it, the memory, and the address where peers connect. All of it belongs to
 * this wire alone and is freed with it.
 */
#include "verbs.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

static const struct gw__wire_ops ops = {
    .name = "verbs",
    .slice_bytes = GW__VERBS_SLICE_BYTES,
    .connect = gw__verbs_connect,
    .send = gw__verbs_send,
    .sends_done = gw__verbs_sends_done,
    .peek = gw__verbs_peek,
    .release = gw__verbs_release,
    .wait = gw__verbs_wait,
    .check = gw__verbs_check,
    .abort = gw__verbs_abort,
    .close = gw__verbs_close,
    .lost = gw__verbs_lost,
};

bool gw__verbs_is_built(void)
{
    return true;
}

/* librdmacm keeps its open devices, and a child cannot use those of its parent.
 */
static _Atomic bool used, inherited;

static void begin_as_child(void)
{
    inherited = used;
}

/* Older kernels copy pages on a fork that the device still writes into; there
 * libibverbs hides them from the child. */
static void expect_forks(void)
{
    (void)ibv_fork_init();
    (void)pthread_atfork(NULL, NULL, begin_as_child);
}

static bool poll_descriptor(struct gw__verbs *verbs, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(verbs->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool never_blocks(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* Room for all completions of requests in flight to and from all peers. */
static enum gw_err make_queue(struct gw__verbs *verbs, struct gw_error *why)
{
    enum { A_PEER = 3 * GW__VERBS_WINDOW_SLICES + GW__VERBS_CONTROLS + 32 };
    struct ibv_device_attr device;
    int places = (int)(verbs->wire.size * A_PEER);
    const char *name = ibv_get_device_name(verbs->device->device);
    if (ibv_query_device(verbs->device, &device) != 0)
        return gw_fail_errno(why, "querying %s", name);
    if (places > device.max_cqe)
        return gw_fail(
            why, GW_ENOTSUP,
            "%s has completion queues of %d entries, but %u ranks need %d",
            name, device.max_cqe, verbs->wire.size, places);
    gw__verbs_lay_over(verbs->device, &device);
    verbs->domain = ibv_alloc_pd(verbs->device);
    if (!verbs->domain)
        return gw_fail_errno(why, "a protection domain on %s", name);
    verbs->bell = ibv_create_comp_channel(verbs->device);
    if (!verbs->bell)
        return gw_fail_errno(why, "a completion channel on %s", name);
    verbs->queue = ibv_create_cq(verbs->device, places, NULL, verbs->bell, 0);
    if (!verbs->queue)
        return gw_fail_errno(why, "a completion queue of %d on %s", places,
                             name);
    verbs->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (verbs->epoll_fd < 0 || !never_blocks(verbs->bell->fd) ||
        !never_blocks(verbs->events->fd) ||
        !poll_descriptor(verbs, verbs->bell->fd) ||
        !poll_descriptor(verbs, verbs->events->fd))
        return gw_fail_errno(why, "epoll");
    return GW_OK;
}

static enum gw_err listen_there(struct gw__verbs *verbs, struct gw_error *why)
{
    struct gw__verbs_endpoint_address *address = &verbs->address;
    struct ibv_device *device = verbs->device->device;
    address->magic = GW__VERBS_MAGIC;
    verbs->iwarp = device->transport_type == IBV_TRANSPORT_IWARP;
    address->iwarp = verbs->iwarp;
    gw__process_watch_self(&address->process);
    if (getrandom(address->token, sizeof address->token, 0) !=
        sizeof address->token)
        return gw_fail_errno(why, "getrandom");
    if (rdma_listen(verbs->listener, (int)verbs->wire.size) != 0)
        return gw_fail_errno(why, "listening at %s", address->host);
    address->port = ntohs(rdma_get_src_port(verbs->listener));
    verbs->wire.address.bytes = sizeof *address;
    memcpy(verbs->wire.address.blob, address, sizeof *address);
    return GW_OK;
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static enum gw_err open_all(struct gw__verbs *verbs,
                            const struct gw_comm_config *config,
                            struct gw_error *why)
{
    if (verbs->slice_bytes > GW__VERBS_SLICE_BYTES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "slices of %zu bytes; use at most %d bytes",
                       verbs->slice_bytes, GW__VERBS_SLICE_BYTES_MAX);
    if (inherited)
        return gw_fail(why, GW_ENOTSUP,
                       "the parent of this process has opened the verbs wire; "
                       "a forked process cannot open it again");
    enum gw_err err = gw__verbs_bind(verbs, config->interface, why);
    used |= verbs->events != NULL;
    if (!err && !config->insecure && !is_loopback(verbs->address.host))
        err = gw_fail(why, GW_EINVAL,
                      "%s on %s is open to the network, and verbs traffic is "
                      "not encrypted; allow it with --insecure",
                      verbs->address.host,
                      ibv_get_device_name(verbs->device->device));
    if (err)
        return err;
    verbs->links = calloc(config->size, sizeof *verbs->links);
    if (!verbs->links)
        return gw_fail(why, GW_ENOMEM, "links to %u ranks", config->size - 1);
    err = gw__process_watch_init(&verbs->process_watch, config->size, why);
    if (!err)
        err = make_queue(verbs, why);
    if (!err)
        err = gw__verbs_make_memory(verbs, why);
    return err ? err : listen_there(verbs, why);
}

enum gw_err gw__verbs_open(const struct gw_comm_config *config,
                           struct gw__wire **wire, struct gw_error *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct gw__verbs *verbs = calloc(1, sizeof *verbs);
    *wire = NULL;
    if (!verbs)
        return gw_fail(why, GW_ENOMEM, "verbs wire");
    pthread_once(&once, expect_forks);
    verbs->epoll_fd = verbs->process_watch.fd = -1;
    verbs->wire.ops = &ops;
    verbs->wire.rank = config->rank;
    verbs->wire.size = config->size;
    verbs->slice_bytes =
        config->slice_bytes ? config->slice_bytes : GW__VERBS_SLICE_BYTES;
    enum gw_err err = open_all(verbs, config, why);
    if (err) {
        gw__verbs_free(verbs);
        return gw_wrap(why, err, "verbs wire");
    }
    *wire = &verbs->wire;
    return GW_OK;
}

/* Frees each object before those that it depends on. */
void gw__verbs_free(struct gw__verbs *verbs)
{
    for (unsigned r = 0; verbs->links && r < verbs->wire.size; r++) {
        struct rdma_cm_id *id = verbs->links[r].id;
        if (id && id->qp)
            rdma_destroy_qp(id);
        if (id)
            rdma_destroy_id(id);
    }
    if (verbs->listener)
        rdma_destroy_id(verbs->listener);
    gw__verbs_free_memory(verbs);
    if (verbs->queue)
        ibv_destroy_cq(verbs->queue);
    if (verbs->bell)
        ibv_destroy_comp_channel(verbs->bell);
    if (verbs->domain)
        ibv_dealloc_pd(verbs->domain);
    if (verbs->events)
        rdma_destroy_event_channel(verbs->events);
    if (verbs->epoll_fd >= 0)
        close(verbs->epoll_fd);
    gw__process_watch_fini(&verbs->process_watch);
    free(verbs->links);
    free(verbs);
}

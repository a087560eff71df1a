/* SPDX-License-Identifier: MIT
 *
 * Opening and closing the shm messenger, adding and forgetting peers. See
 * messenger_shm.h for the whole.
 */
#include "messenger_shm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ADDRESS_MAGIC = 0x31707367 }; /* "gsp1" */

/* The address blob for the peers. */
struct endpoint_address {
    uint32_t magic, node;
    uint64_t token, incarnation_high, incarnation_low;
    uint64_t nonce, segment_bytes;
    int32_t pid, fd;
    struct gw__process_watch_id process;
};
_Static_assert(sizeof(struct endpoint_address) <= GW__ADDRESS_MAX,
               "fits the blob");

/* ---- adding a peer ---- */

static enum gw_err read_address(const struct gw__messenger *messenger,
                                unsigned node,
                                const struct gw__address *address,
                                struct endpoint_address *endpoint,
                                struct gw_error *why)
{
    const struct gw__messenger_peer *peer = &messenger->peers[node];
    if (address->bytes != sizeof *endpoint)
        return gw_fail(why, GW_EDATA, "the address is not of the shm wire");
    memcpy(endpoint, address->blob, sizeof *endpoint);
    if (endpoint->magic != ADDRESS_MAGIC ||
        endpoint->segment_bytes < sizeof(struct gw__messenger_segment))
        return gw_fail(why, GW_EDATA, "the address is not of the shm wire");
    if (endpoint->token != messenger->token)
        return gw_fail(why, GW_EDATA, "the address is of another run");
    if (endpoint->node != node ||
        endpoint->incarnation_high != peer->incarnation_high ||
        endpoint->incarnation_low != peer->incarnation_low)
        return gw_fail(why, GW_EDATA, "the address is of another node (%u)",
                       endpoint->node);
    return GW_OK;
}

static enum gw_err unreachable(struct gw__messenger_shm_peer *peer,
                               const struct endpoint_address *endpoint,
                               struct gw_error *why)
{
    if (gw__messenger_shm_ended(peer))
        return gw_fail(why, GW_ELOST, "its process (%d) has ended",
                       endpoint->pid);
    struct gw_error cause = *why;
    return gw_fail(why, GW_EUNREACH,
                   "it is not on this host, or not of this user (try --wire "
                   "tcp): %.300s",
                   cause.text);
}

static struct gw__messenger_source *
make_source(struct gw__messenger_shm *shm, unsigned node,
            const struct endpoint_address *endpoint, struct gw_error *why)
{
    void *base = NULL;
    struct gw__messenger_source *source = calloc(1, sizeof *source);
    if (!source) {
        gw_fail(why, GW_ENOMEM, "a peer");
        return NULL;
    }
    if (gw__region_map(endpoint->pid, endpoint->fd, endpoint->segment_bytes,
                       true, &base, why)) {
        free(source);
        return NULL;
    }
    source->segment = base;
    source->segment_bytes = endpoint->segment_bytes;
    source->node = node;
    source->home = shm->home;
    atomic_fetch_add(&shm->home->refs, 1);
    atomic_init(&source->refs, 1);
    pthread_mutex_init(&source->lock, NULL);
    if (source->segment->nonce == endpoint->nonce)
        return source;
    gw_fail(why, GW_EUNREACH, "here, pid %d is another process", endpoint->pid);
    gw__messenger_source_release(source);
    return NULL;
}

/* Ends the link to the node's former process, which will return no more loans.
 */
static void detach(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    if (!peer->source)
        return;
    pthread_mutex_lock(&peer->source->lock);
    peer->source->detached = true;
    pthread_mutex_unlock(&peer->source->lock);
    gw__messenger_loans_forfeit(shm, node);
    gw__messenger_unmap_all(peer);
    gw__messenger_source_release(peer->source);
    peer->source = NULL;
    gw__nodes_remove(&shm->busy, node);
}

/* Resets both directions. The peer does not read our ring before `to` is set,
 * nor our counts before `from` is set. */
static void begin_link(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__messenger_link *ours = gw__messenger_link_to(shm, node);
    atomic_store(&ours->to, 0);
    atomic_store(&ours->from, 0);
    for (unsigned i = 0; i < GW__MESSENGER_SLOTS; i++)
        atomic_store(&ours->ring[i].sequence, 0);
    atomic_store(&ours->consumed, 0);
    atomic_store(&ours->returned, 0);
    peer->pushed = peer->consumed_seen = peer->returned_seen = 0;
    peer->consumed = 0;
    peer->copied_bytes = 0;
    atomic_store(&ours->from, peer->nonce);
    atomic_store(&ours->to, peer->nonce);
    gw__messenger_ring(peer->source->segment);
}

static enum gw_err monitor_peer(struct gw__messenger_shm_peer *peer,
                                const struct endpoint_address *endpoint,
                                struct gw_error *why)
{
    gw__process_watch_fini(&peer->process_watch);
    peer->ended = false;
    enum gw_err err = gw__process_watch_init(&peer->process_watch, 1, why);
    if (!err &&
        gw__process_watch_add(&peer->process_watch, 0, &endpoint->process, why))
        err = gw_fail(why, GW_EUNREACH,
                      "it is on another host or in another pid namespace (try "
                      "--wire tcp)");
    return err;
}

static enum gw_err shm_know(struct gw__messenger *messenger, unsigned node,
                            const struct gw__address *address,
                            struct gw_error *why)
{
    struct gw__messenger_shm *shm = gw__messenger_shm_of(messenger);
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct endpoint_address endpoint = {.magic = 0};
    struct gw_error local = {.code = GW_OK};
    why = why ? why : &local;
    enum gw_err err = read_address(messenger, node, address, &endpoint, why);
    if (err)
        return err;
    if (!peer->source || peer->nonce != endpoint.nonce) {
        detach(shm, node);
        err = monitor_peer(peer, &endpoint, why);
        if (!err)
            err = gw__messenger_loans_init(peer, why);
        if (err)
            return err;
        peer->source = make_source(shm, node, &endpoint, why);
        if (!peer->source)
            return why->code == GW_ENOMEM ? GW_ENOMEM
                                          : unreachable(peer, &endpoint, why);
        peer->nonce = endpoint.nonce;
        peer->pid = endpoint.pid;
        begin_link(shm, node);
    }
    if (gw__messenger_shm_ended(peer))
        return gw_fail(why, GW_ELOST, "its process (%d) has ended",
                       endpoint.pid);
    gw__nodes_add(&shm->known, node);
    return GW_OK;
}

/* The new session is set before lent memory is the user's again: a peer that
 * maps memory by its place checks the session afterwards. */
static void shm_forget(struct gw__messenger *messenger, unsigned node)
{
    struct gw__messenger_shm *shm = gw__messenger_shm_of(messenger);
    gw__messenger_shm_drop_waiting(shm, node);
    atomic_fetch_add(&gw__messenger_link_to(shm, node)->session, 1);
    atomic_thread_fence(memory_order_seq_cst);
    gw__messenger_loans_collect(shm, node);
    gw__messenger_loans_recall(&shm->peers[node]);
    gw__messenger_shm_drain(shm, node);
    gw__nodes_remove(&shm->known, node);
}

/* ---- closing ---- */

static bool has_loans(const struct gw__messenger_shm_peer *peer)
{
    for (unsigned i = 0; i < GW__MESSENGER_LOANS && peer->out > 0; i++)
        if (peer->loans[i].state == LOAN_OUT && peer->loans[i].back)
            return true;
    return false;
}

/* Does a peer that reads still need data of this node? */
static bool is_needed(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__messenger_link *theirs = gw__messenger_link_from(shm, node);
    return atomic_load(&theirs->from) == shm->home->segment->nonce &&
           (peer->first || atomic_load(&theirs->consumed) != peer->pushed ||
            has_loans(peer)) &&
           !gw__messenger_shm_ended(peer);
}

/* Messages from peers are ignored meanwhile: they would end each nap at once.
 */
static void linger(struct gw__messenger_shm *shm)
{
    static const uint64_t nap_ns = 5 * 1000000U;
    const struct gw_nodes known = shm->known;
    uint64_t now_ns = gw_now_ns();
    uint64_t deadline_ns = now_ns + GW__MESSENGER_CLOSE_MS * 1000000ULL;
    shm->known = (struct gw_nodes){{0}};
    atomic_store(&shm->messenger.woken, false);
    for (unsigned node = gw__nodes_next(&known, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&known, node + 1)) {
        atomic_store(&gw__messenger_link_to(shm, node)->wants_room, 1);
        while (is_needed(shm, node) && (now_ns = gw_now_ns()) < deadline_ns)
            if (!gw__messenger_shm_tend(&shm->messenger))
                gw__messenger_shm_sleep(&shm->messenger, now_ns + nap_ns);
    }
    shm->known = known;
}

static void shm_close(struct gw__messenger *messenger)
{
    struct gw__messenger_shm *shm = gw__messenger_shm_of(messenger);
    linger(shm);
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++) {
        struct gw__messenger_shm_peer *peer = &shm->peers[node];
        if (gw__nodes_has(&shm->known, node))
            shm_forget(messenger, node);
        gw__messenger_unmap_all(peer);
        if (peer->source)
            gw__messenger_source_release(peer->source);
        gw__process_watch_fini(&peer->process_watch);
        free(peer->loans);
    }
    gw__messenger_staging_fini(&shm->staging);
    gw__messenger_home_release(shm->home);
    free(shm);
}

/* ---- opening ---- */

static const struct gw__messenger_ops ops = {
    .know = shm_know,
    .forget = shm_forget,
    .send = gw__messenger_shm_send,
    .pop = gw__messenger_shm_pop,
    .tend = gw__messenger_shm_tend,
    .ready = gw__messenger_shm_ready,
    .sleep = gw__messenger_shm_sleep,
    .rouse = gw__messenger_shm_rouse,
    .close = shm_close,
};

static enum gw_err make_home(struct gw__messenger_shm *shm, unsigned node,
                             struct gw_error *why)
{
    struct gw__messenger_home *home = calloc(1, sizeof *home);
    if (!home)
        return gw_fail(why, GW_ENOMEM, "shm");
    enum gw_err err = gw__region_new(sizeof(struct gw__messenger_segment),
                                     &home->region, why);
    if (err) {
        free(home);
        return err;
    }
    home->segment = home->region.base;
    home->node = node;
    atomic_init(&home->refs, 1);
    err = gw__messenger_nonce(&home->segment->nonce, why);
    if (err)
        gw__messenger_home_release(home);
    else
        shm->home = home;
    return err;
}

static void write_address(struct gw__messenger_shm *shm,
                          const struct gw__messenger_config *config)
{
    struct endpoint_address endpoint = {
        .magic = ADDRESS_MAGIC,
        .node = config->node,
        .token = config->security.token,
        .incarnation_high = config->incarnation_high,
        .incarnation_low = config->incarnation_low,
        .nonce = shm->home->segment->nonce,
        .segment_bytes = shm->home->region.bytes,
        .pid = (int32_t)getpid(),
        .fd = shm->home->region.fd};
    gw__process_watch_self(&endpoint.process);
    memcpy(shm->messenger.address.blob, &endpoint, sizeof endpoint);
    shm->messenger.address.bytes = sizeof endpoint;
}

enum gw_err gw__messenger_shm_open(const struct gw__messenger_config *config,
                                   struct gw__messenger **messenger,
                                   struct gw_error *why)
{
    struct gw__messenger_shm *shm = calloc(1, sizeof *shm);
    if (!shm)
        return gw_fail(why, GW_ENOMEM, "shm");
    enum gw_err err = make_home(shm, config->node, why);
    if (!shm->home) {
        free(shm);
        return err;
    }
    write_address(shm, config);
    shm->messenger.ops = &ops;
    *messenger = &shm->messenger;
    return GW_OK;
}

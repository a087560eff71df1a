/* SPDX-License-Identifier: MIT
 *
 * The wire inside a host. Each rank owns one segment of shared memory, which
 * every peer maps. It holds
 *
 *   doorbell, state, abort     how peers wake the owner, and its state for all
 *   card                       its control block for window passes
 *   links[q]                   its ring of descriptors to rank q, and how far
 *                              it has read rank q's ring to it
 *
 * Every word but the doorbell has one writer. Segments and user data are
 * regions without names (memory.c). A rank opens its peers' regions through
 * /proc/PID/fd, so all ranks must share a pid namespace and a user. The data
 * path is in shm_link.c, waiting and failing in shm_wait.c, mapping in
 * shm_map.c, copying of memory that cannot be mapped in shm_copy.c.
 */
#include "shm.h"
#include "base/failpoint.h"
#include "wire/fence.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Of a segment of more than FEW ranks, those pages are mapped that are used: a
 * rank of a large communicator exchanges data with few others. */
enum { SLICE_BYTES = 128 << 10, FEW = 32 };

/* The address blob for the peers. */
struct address {
    uint64_t nonce;
    uint64_t segment_bytes;
    uint64_t slice_bytes;
    int32_t pid, fd;
    uint64_t no_windows;
    uint64_t segment_at; /* in its process */
    struct gw__process_watch_id process;
};
_Static_assert(sizeof(struct address) <= GW__ADDRESS_MAX, "fits the blob");

static void shm_close(struct gw__wire *wire);
static enum gw_err shm_connect(struct gw__wire *wire,
                               const struct gw__address *table,
                               uint64_t deadline_ns, struct gw_error *why);

static const struct gw__wire_ops ops = {
    .name = "shm",
    .slice_bytes = SLICE_BYTES,
    .connect = shm_connect,
    .send = gw__shm_send,
    .sends_done = gw__shm_sends_done,
    .peek = gw__shm_peek,
    .release = gw__shm_release,
    .wait = gw__shm_wait,
    .check = gw__shm_check,
    .abort = gw__shm_abort,
    .close = shm_close,
    .windows = gw__shm_windows,
    .lost = gw__shm_lost,
};

/* Spinning pays only if there is a core for every rank, and yielding up to 32
 * ranks per core: with 64 on 2 cores a ring's op takes 24 ms, and 45 without
 * yields; with 128 it takes 40 ms without yields, and seconds with them. */
static void set_limits(struct gw__shm *shm, unsigned ranks)
{
    enum { SPINS = 2000, YIELDS = 100, RANKS_PER_CORE = 32 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    shm->spin_limit = (long)ranks <= cores ? SPINS : 0;
    shm->yield_limit = (long)ranks <= RANKS_PER_CORE * cores ? YIELDS : 0;
}

static uint64_t make_nonce(const struct gw__shm *shm)
{
    uint64_t seed[4] = {(uint64_t)getpid(), gw_now_ns(), shm->region.id,
                        (uint64_t)(uintptr_t)shm};
    return gw_hash(seed, sizeof seed, 0);
}

enum gw_err gw__shm_open(const struct gw_comm_config *config,
                         struct gw__wire **wire, struct gw_error *why)
{
    *wire = NULL;
    struct gw__shm *shm = calloc(1, sizeof *shm);
    if (!shm)
        return gw_fail(why, GW_ENOMEM, "shm wire");
    shm->wire.ops = &ops;
    shm->wire.rank = config->rank;
    shm->wire.size = config->size;
    shm->slice_bytes = config->slice_bytes ? config->slice_bytes : SLICE_BYTES;
    shm->no_windows = config->no_windows;
    set_limits(shm, config->size);
    shm->registered = gw__fence_register();
    shm->peers = calloc(config->size, sizeof *shm->peers);
    size_t bytes =
        sizeof *shm->segment + config->size * sizeof *shm->segment->links;
    enum gw_err err = shm->peers ? gw__process_watch_init(&shm->process_watch,
                                                          config->size, why)
                                 : gw_fail(why, GW_ENOMEM, "shm wire");
    if (!err)
        err = gw__region_new(bytes, &shm->region, why);
    if (err) {
        gw__process_watch_fini(&shm->process_watch);
        free(shm->peers);
        free(shm);
        return err;
    }
    shm->segment = shm->region.base;
    shm->segment->nonce = make_nonce(shm);
    atomic_store(&shm->segment->state, SHM_OPEN);
    struct address mine = {.nonce = shm->segment->nonce,
                           .segment_bytes = shm->region.bytes,
                           .slice_bytes = shm->slice_bytes,
                           .pid = (int32_t)getpid(),
                           .fd = shm->region.fd,
                           .no_windows = shm->no_windows,
                           .segment_at = (uintptr_t)shm->segment};
    gw__process_watch_self(&mine.process);
    memcpy(shm->wire.address.blob, &mine, sizeof mine);
    shm->wire.address.bytes = sizeof mine;
    *wire = &shm->wire;
    return GW_OK;
}

static enum gw_err join_peer(struct gw__shm *shm, unsigned rank,
                             const struct address *theirs, struct gw_error *why)
{
    struct gw__shm_peer *peer = &shm->peers[rank];
    if (theirs->slice_bytes != shm->slice_bytes)
        return gw_fail(why, GW_EMISMATCH,
                       "shm: rank %u uses slices of %zu bytes, but rank %u "
                       "uses %llu; use the same size",
                       shm->wire.rank, shm->slice_bytes, rank,
                       (unsigned long long)theirs->slice_bytes);
    if (theirs->no_windows != shm->no_windows)
        return gw_fail(why, GW_EMISMATCH,
                       "shm: rank %u runs %s windows, but rank %u %s; use the "
                       "same setting",
                       rank, theirs->no_windows ? "without" : "with",
                       shm->wire.rank, shm->no_windows ? "without" : "with");
    void *base = NULL;
    enum gw_err err =
        gw__region_map(theirs->pid, theirs->fd, theirs->segment_bytes,
                       shm->wire.size <= FEW, &base, why);
    struct gw__shm_segment *segment = base;
    if (!err && segment->nonce != theirs->nonce) {
        gw__region_unmap(base, theirs->segment_bytes);
        err = gw_fail(why, GW_EUNREACH, "here, pid %d is another process",
                      theirs->pid);
    }
    if (err) {
        gw_wrap(why, err,
                "shm: rank %u is not on this host, or not of this user (try "
                "--wire tcp)",
                rank);
        return err;
    }
    peer->segment = segment;
    peer->segment_bytes = theirs->segment_bytes;
    peer->pid = theirs->pid;
    gw__shm_probe(shm, rank, theirs->segment_at);
    return gw__process_watch_add(&shm->process_watch, rank, &theirs->process,
                                 why);
}

/* A rank may close only after all have mapped it, so all wait for all. */
static enum gw_err await_joined(struct gw__shm *shm, uint64_t deadline_ns,
                                struct gw_error *why)
{
    const struct timespec pause = {
        .tv_nsec = shm->wire.size <= FEW ? 50000 : shm->wire.size * 5000};
    for (unsigned r = 0; r < shm->wire.size; r++)
        while (r != shm->wire.rank &&
               atomic_load(&shm->peers[r].segment->state) < SHM_JOINED) {
            enum gw_err err = gw__shm_check(&shm->wire, why);
            if (err)
                return gw_wrap(why, err, "shm: joining");
            if (gw__wire_interrupted(&shm->wire))
                return gw_fail(why, GW_EINTR,
                               "shm: interrupted before rank %u joined", r);
            if (gw_now_ns() > deadline_ns)
                return gw_fail(why, GW_ETIMEOUT,
                               "shm: rank %u did not join in time", r);
            nanosleep(&pause, NULL);
        }
    return GW_OK;
}

static enum gw_err shm_connect(struct gw__wire *wire,
                               const struct gw__address *table,
                               uint64_t deadline_ns, struct gw_error *why)
{
    struct gw__shm *shm = gw__shm_of(wire);
    enum gw_err err = gw__failpoints_begin(why);
    for (unsigned r = 0; !err && r < wire->size; r++) {
        struct address theirs;
        if (r == wire->rank)
            continue;
        if (table[r].bytes != sizeof theirs)
            return gw_fail(why, GW_EMISMATCH,
                           "shm: rank %u does not use this wire", r);
        memcpy(&theirs, table[r].blob, sizeof theirs);
        err = join_peer(shm, r, &theirs, why);
    }
    if (err)
        return err;
    atomic_store(&shm->segment->state, SHM_JOINED);
    err = await_joined(shm, deadline_ns, why);
    if (!err)
        gw__shm_agree_on_copies(shm);
    return err;
}

/* The peer reads a stage by its place until it has released the slice. So
 * linger for peers that live and still have slices to read. */
static bool reads_staging(struct gw__shm *shm, unsigned rank,
                          uint64_t waited_ns)
{
    struct gw__shm_peer *peer = &shm->peers[rank];
    return peer->segment && peer->staging.base &&
           !gw__shm_all_released(shm, rank) &&
           !gw__shm_gone(&shm->wire, rank) &&
           (waited_ns < GW__STOPPED_LINGER_NS ||
            !gw__process_watch_stopped(&shm->process_watch, rank));
}

static void linger(struct gw__shm *shm)
{
    static const uint64_t nap_ns = 2 * 1000000U;
    struct gw__wire *wire = &shm->wire;
    uint64_t begin_ns = gw_now_ns(), waited_ns = 0;
    for (unsigned r = 0; r < wire->size; r++)
        while (waited_ns < wire->linger_ns &&
               reads_staging(shm, r, waited_ns) &&
               gw__shm_check(wire, NULL) == GW_OK &&
               !atomic_load(&shm->segment->abort_code) &&
               !gw__wire_interrupted(wire)) {
            gw__shm_wait(wire, nap_ns);
            waited_ns = gw_now_ns() - begin_ns;
        }
}

static void shm_close(struct gw__wire *wire)
{
    struct gw__shm *shm = gw__shm_of(wire);
    linger(shm);
    atomic_store(&shm->segment->state, SHM_CLOSED);
    /* Before our memory changes; the counterpart is in gw__shm_release. */
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned r = 0; r < wire->size; r++) {
        struct gw__shm_peer *peer = &shm->peers[r];
        if (!peer->segment)
            continue;
        gw__shm_wake(wire, r);
        gw__shm_forget_mappings(peer);
        gw__region_free(&peer->staging);
        gw__region_unmap(peer->segment, peer->segment_bytes);
    }
    gw__process_watch_fini(&shm->process_watch);
    gw__region_free(&shm->region);
    free(shm->peers);
    free(shm);
}

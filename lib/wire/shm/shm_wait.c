/* SPDX-License-Identifier: MIT
 *
 * Waiting: spin, then yield, then sleep on a futex. A caller polls, finds
 * nothing, and calls `wait`. Each call goes one step further, and any progress
 * starts again from the spin.
 *
 *   spin_limit calls   a pause each (none when ranks outnumber the cores), and
 *                      now and then a yield: the peer may share our core
 *   yield_limit calls  sched_yield (none for so many ranks that the core would
 *                      pass through many before the one that is awaited); fewer
 *                      when one takes long, since then a process other than our
 *                      peers has the core
 *   one call           arm: set "sleeping" and note the doorbell; return, so
 *                      that the caller polls once more
 *   then               sleep until the doorbell moves
 *
 * Both limits are halved after a long sleep, which they could not have spared,
 * and doubled after a short wait. So a rank whose peers compute for long leaves
 * them its core. (A ring of 4 on 2 cores that computes 1 ms per op: 0.9 ms of
 * CPU per op, and 4.7 with constant limits.)
 *
 * On a crowded machine (crowd.h) a wait begins with the sleep.
 *
 * A peer that changes something we may wait for checks whether we are armed and
 * only then rings: store, fence, load on both sides (fence.h). So a ring cannot
 * be missed, and costs nothing while no rank sleeps.
 */
#include "shm.h"
#include "wire/fence.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    BURST = 256,
    LONG_YIELD_NS = 100000,
    UNFENCED_NS = 1000000, /* longest sleep when a ring may be missed */
    LONG_SLEEP_NS = 50000,
    HASTE_MAX = 5,
};

static void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000U),
                               .tv_nsec = (long)(ns % 1000000000U)};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static void slow_down(struct gw__shm *shm)
{
    if (shm->haste > 0)
        shm->haste--;
}

static void hurry(struct gw__shm *shm)
{
    if (shm->haste < HASTE_MAX)
        shm->haste++;
}

void gw__shm_moved(struct gw__wire *wire)
{
    struct gw__shm *shm = gw__shm_of(wire);
    if (!shm->armed && shm->yields > 0)
        slow_down(shm);
    shm->spins = 0;
    shm->yields = 0;
    if (shm->armed) {
        shm->armed = false;
        atomic_store_explicit(&shm->segment->sleeping, 0, memory_order_relaxed);
    }
}

/* Call it only after a fence that follows the change. */
static void ring(struct gw__shm_segment *theirs)
{
    if (!atomic_load_explicit(&theirs->sleeping, memory_order_relaxed))
        return;
    atomic_fetch_add(&theirs->doorbell, 1);
    syscall(SYS_futex, &theirs->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gw__shm_wake(struct gw__wire *wire, unsigned rank)
{
    struct gw__shm *shm = gw__shm_of(wire);
    gw__fence_light(shm->registered);
    ring(shm->peers[rank].segment);
}

void gw__shm_wake_all(struct gw__wire *wire)
{
    struct gw__shm *shm = gw__shm_of(wire);
    gw__fence_light(shm->registered);
    for (unsigned r = 0; r < wire->size; r++)
        if (shm->peers[r].segment)
            ring(shm->peers[r].segment);
}

bool gw__shm_relax(struct gw__wire *wire)
{
    struct gw__shm *shm = gw__shm_of(wire);
    unsigned most = shm->yield_limit >> shm->haste;
    if (gw__is_crowded(&shm->crowd))
        return false;
    if (shm->spins < shm->spin_limit >> shm->haste) {
        if (++shm->spins % BURST)
            cpu_pause();
        else
            sched_yield();
        return true;
    }
    if (shm->yields >= most)
        return false;
    shm->yields++;
    if (gw__crowd_yield(&shm->crowd, wire->size) > LONG_YIELD_NS)
        shm->yields = most;
    return true;
}

void gw__shm_wait(struct gw__wire *wire, uint64_t ns)
{
    struct gw__shm *shm = gw__shm_of(wire);
    if (gw__shm_relax(wire))
        return;
    if (!shm->armed) {
        shm->armed = true;
        shm->doorbell_seen = atomic_load(&shm->segment->doorbell);
        atomic_store(&shm->segment->sleeping, 1);
        shm->is_fenced = gw__fence_heavy();
    } else {
        if (!shm->is_fenced && ns > UNFENCED_NS)
            ns = UNFENCED_NS;
        uint64_t before = gw_now_ns();
        futex_wait(&shm->segment->doorbell, shm->doorbell_seen,
                   gw__wire_nap_ns(wire, ns));
        shm->doorbell_seen = atomic_load(&shm->segment->doorbell);
        gw__crowd_slept(&shm->crowd);
        if (gw_now_ns() - before > LONG_SLEEP_NS)
            hurry(shm);
        else
            slow_down(shm);
    }
}

/* The error of an abort that a peer has published. */
static enum gw_err aborted(struct gw__shm *shm, struct gw_error *why)
{
    for (unsigned r = 0; r < shm->wire.size; r++) {
        struct gw__shm_segment *theirs = shm->peers[r].segment;
        if (!theirs)
            continue;
        int32_t code =
            atomic_load_explicit(&theirs->abort_code, memory_order_acquire);
        if (code) {
            shm->wire.aborted_by_peer = true;
            const char *text = theirs->abort_text;
            size_t room = sizeof theirs->abort_text;
            return gw_fail(why, (enum gw_err)code, "%.*s", (int)room - 1, text);
        }
    }
    return GW_OK;
}

/* The process watch reports each death once; `error` keeps the first. */
static void receive_deaths(struct gw__shm *shm)
{
    int rank;
    while ((rank = gw__process_watch_poll(&shm->process_watch)) >= 0) {
        struct gw__shm_peer *peer = &shm->peers[rank];
        if (atomic_load(&peer->segment->state) == SHM_CLOSED)
            continue; /* it closed first */
        peer->lost = true;
        if (!shm->error.code)
            gw_fail(&shm->error, GW_ELOST, "rank %d (pid %d) died", rank,
                    peer->pid);
    }
}

bool gw__shm_gone(struct gw__wire *wire, unsigned rank)
{
    struct gw__shm *shm = gw__shm_of(wire);
    struct gw__shm_peer *peer = &shm->peers[rank];
    receive_deaths(shm);
    return peer->lost || atomic_load(&peer->segment->state) == SHM_CLOSED ||
           atomic_load(&peer->segment->abort_code);
}

bool gw__shm_lost(struct gw__wire *wire, unsigned rank)
{
    struct gw__shm *shm = gw__shm_of(wire);
    return shm->peers[rank].lost;
}

enum gw_err gw__shm_check(struct gw__wire *wire, struct gw_error *why)
{
    struct gw__shm *shm = gw__shm_of(wire);
    enum gw_err err = aborted(shm, why);
    if (!err)
        receive_deaths(shm);
    if (!err && shm->error.code)
        err = gw_fail(why, shm->error.code, "%s", shm->error.text);
    return err;
}

void gw__shm_abort(struct gw__wire *wire, const struct gw_error *error)
{
    struct gw__shm *shm = gw__shm_of(wire);
    if (atomic_load(&shm->segment->abort_code))
        return;
    memcpy(shm->segment->abort_text, error->text, sizeof error->text);
    atomic_store_explicit(&shm->segment->abort_code, (int32_t)error->code,
                          memory_order_release);
    gw__shm_wake_all(wire);
}

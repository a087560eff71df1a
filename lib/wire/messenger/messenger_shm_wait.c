/* SPDX-License-Identifier: MIT
 *
 * Doorbells. A process that changes something a peer may wait for rings only if
 * that peer sleeps: store, fence, load on both sides (Dekker). So a ring cannot
 * be missed, and costs nothing while no peer sleeps.
 */
#include "messenger_shm.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t longest_nap_ns = 3600 * 1000000000ULL;

void gw__messenger_ring(struct gw__messenger_segment *segment)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&segment->sleeping, memory_order_relaxed))
        return;
    atomic_fetch_add(&segment->doorbell, 1);
    syscall(SYS_futex, &segment->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gw__messenger_shm_rouse(struct gw__messenger *messenger)
{
    gw__messenger_ring(gw__messenger_shm_of(messenger)->home->segment);
}

bool gw__messenger_shm_ready(struct gw__messenger *messenger)
{
    struct gw__messenger_shm *shm = gw__messenger_shm_of(messenger);
    for (unsigned node = gw__nodes_next(&shm->known, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&shm->known, node + 1))
        if (gw__messenger_shm_has(shm, node))
            return true;
    for (unsigned node = gw__nodes_next(&shm->busy, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&shm->busy, node + 1))
        if (gw__messenger_shm_can_serve(shm, node))
            return true;
    return false;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000U),
                               .tv_nsec = (long)(ns % 1000000000U)};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

void gw__messenger_shm_sleep(struct gw__messenger *messenger,
                             uint64_t deadline_ns)
{
    struct gw__messenger_segment *ours =
        gw__messenger_shm_of(messenger)->home->segment;
    uint32_t seen = atomic_load(&ours->doorbell);
    atomic_store(&ours->sleeping, 1);
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t now_ns = gw_now_ns();
    if (!gw__messenger_shm_ready(messenger) &&
        !atomic_load(&messenger->woken) && now_ns < deadline_ns) {
        uint64_t left_ns = deadline_ns - now_ns;
        futex_wait(&ours->doorbell, seen,
                   left_ns < longest_nap_ns ? left_ns : longest_nap_ns);
    }
    atomic_store_explicit(&ours->sleeping, 0, memory_order_relaxed);
}

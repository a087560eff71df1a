/* SPDX-License-Identifier: MIT
 *
 * Dekker's handshake between processes ("I changed it; do you sleep?" against
 * "I sleep; did you change it?"), with its cost on the side that sleeps.
 *
 * Both sides store, fence and load. The side that changes data does so millions
 * of times a second, and a full fence waits each time until the cache line that
 * was just written has arrived from the other core: without it a broadcast of 8
 * bytes takes 53 ns instead of 60, a gather 53 instead of 66. The sleeping side
 * has time. So the waking side has a light fence, a mere compiler barrier, and
 * the sleeping side a heavy one: membarrier(2), which makes every running
 * thread of the registered processes execute a full fence.
 *
 * Where the kernel does not offer it, light fences are full ones. A process
 * whose heavy fence fails cannot rely on the light fences of others: it must
 * not sleep for long.
 */
#ifndef GW__FENCE_H
#define GW__FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

/* Registers this process, which it does once. True: its light fences may be
 * light. In a process of several threads the kernel waits for an RCU grace
 * period, that is until every CPU has switched tasks: 0.7 s on a busy machine,
 * and up to a minute where its thread for that gets no CPU. So a process with a
 * single thread registers when it loads the library. */
bool gw__fence_register(void);

static inline void gw__fence_light(bool registered)
{
    if (registered)
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

/* False: the light fences of other processes may not have been enough. */
bool gw__fence_heavy(void);

#endif

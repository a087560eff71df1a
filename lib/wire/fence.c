/* SPDX-License-Identifier: MIT
 *
 * The heavy fence of fence.h. A forked child registers itself.
 */
#include "fence.h"

#include "base/failpoint.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The pid of the process that has registered. */
static _Atomic int registered;

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool gw__fence_register(void)
{
    int pid = (int)getpid();
    if (atomic_load(&registered) == pid)
        return true;
    gw__failpoint(GW__AT_SHM_FENCE);
    if (!membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED))
        return false;
    atomic_store(&registered, pid);
    return true;
}

bool gw__fence_heavy(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

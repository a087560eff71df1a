/* SPDX-License-Identifier: MIT
 *
 * The heavy fence of fence.h. A process registers when it loads the library,
 * since with a single thread the kernel need not wait. A forked child registers
 * itself.
 */
#include "fence.h"

#include "base/failpoint.h"

#include <linux/membarrier.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The pid of the process that has registered. */
static _Atomic int registered;

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static bool register_once(void)
{
    int pid = (int)getpid();
    if (atomic_load(&registered) == pid)
        return true;
    if (!membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED))
        return false;
    atomic_store(&registered, pid);
    return true;
}

__attribute__((constructor)) static void register_early(void)
{
    if (__libc_single_threaded)
        (void)register_once();
}

bool gw__fence_register(void)
{
    static _Atomic int reached;
    int pid = (int)getpid();
    if (atomic_exchange(&reached, pid) != pid)
        gw__failpoint(GW__AT_SHM_FENCE);
    return register_once();
}

bool gw__fence_heavy(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

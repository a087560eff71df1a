/* SPDX-License-Identifier: MIT
 *
 * A workaround for Linux' software iWARP (siw).
 *
 * The kernel and its library in rdma-core share the queues of a process, which
 * are one after the other in a space of offsets, each in the first gap that
 * fits. To the library the offset 0x90000 means "none", from a time when
 * offsets could not grow so high, yet the kernel assigns it like any other. A
 * queue that would begin there cannot be made: of four ranks in one process it
 * was the tenth queue pair.
 *
 * So before any other queue is made, an unused one is placed across that
 * offset. It is never freed, for it must outlive each wire: the device is
 * shared by all.
 */
#include "verbs.h"

#include <pthread.h>

enum {
    SIW_VENDOR = 0x626d74,
    NO_OFFSET = 0x90000,
    PAGE_BYTES = 4096,
    PLACE_BYTES = 32, /* of a completion queue */
};

void gw__verbs_lay_over(struct ibv_context *device,
                        const struct ibv_device_attr *what)
{
    enum { PLACES = (NO_OFFSET + PAGE_BYTES) / PLACE_BYTES };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct ibv_context *done;
    static struct ibv_cq *across;
    if (what->vendor_id != SIW_VENDOR || what->max_cqe < PLACES)
        return;
    pthread_mutex_lock(&lock);
    if (done != device || !across)
        across = ibv_create_cq(device, PLACES, NULL, NULL, 0);
    done = device; /* without it most queues can still be made */
    pthread_mutex_unlock(&lock);
}

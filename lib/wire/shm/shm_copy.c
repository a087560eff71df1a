/* SPDX-License-Identifier: MIT
 *
 * Copies between the private memory of two processes: process_vm_readv and
 * process_vm_writev ("cross memory attach"). Memory of malloc cannot be mapped
 * by a peer, but the kernel copies it, without any buffer in between, if the
 * caller might also trace the process with ptrace(2). A security module (Yama's
 * ptrace_scope), another user or a seccomp filter may forbid it.
 *
 * Both sides of a transfer must know whether it is allowed. So each rank tests
 * all its peers when it connects, and publishes the first refusal in its
 * segment before it has joined. All ranks read all segments afterwards, and
 * come to the same answer.
 *
 * A copy of a process that has ended fails with ESRCH. The process is named by
 * its pid, which may belong to another process by then, so copied bytes only
 * count if the process watch has not reported a death since, and nothing is
 * stored after one. (Pids are assigned in turn: between that look and the copy
 * the kernel would have to assign all of them once.)
 */
#include "base/failpoint.h"
#include "shm.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* 0 or the error number. */
static int try_copies(const struct gw__shm_peer *peer, uint64_t at)
{
    uint64_t nonce = 0;
    struct iovec to = {&nonce, sizeof nonce};
    struct iovec from = {(void *)(uintptr_t)at, sizeof nonce};
    if (gw__failpoint_err(GW__AT_SHM_PROBE))
        return EPERM;
    if (process_vm_readv(peer->pid, &to, 1, &from, 1, 0) < 0)
        return errno;
    /* A seccomp filter may refuse one of the two calls. */
    from.iov_len = 0;
    to.iov_len = 0;
    if (process_vm_writev(peer->pid, &to, 1, &from, 1, 0) < 0)
        return errno;
    return nonce == peer->segment->nonce ? 0 : ESRCH;
}

void gw__shm_probe(struct gw__shm *shm, unsigned rank, uint64_t at)
{
    int error = try_copies(&shm->peers[rank], at);
    if (error && !shm->segment->refused_errno) {
        shm->segment->refused_rank = rank;
        shm->segment->refused_errno = error;
    }
}

static const struct gw__shm_segment *segment_of(const struct gw__shm *shm,
                                                unsigned rank)
{
    return rank == shm->wire.rank ? shm->segment : shm->peers[rank].segment;
}

void gw__shm_agree_on_copies(struct gw__shm *shm)
{
    shm->refusing_rank = -1;
    for (unsigned r = 0; r < shm->wire.size && shm->refusing_rank < 0; r++)
        if (segment_of(shm, r)->refused_errno)
            shm->refusing_rank = (int)r;
}

bool gw__shm_can_copy(struct gw__wire *wire, struct gw_error *why)
{
    struct gw__shm *shm = gw__shm_of(wire);
    if (shm->refusing_rank < 0)
        return true;
    const struct gw__shm_segment *s =
        segment_of(shm, (unsigned)shm->refusing_rank);
    gw_fail(why, GW_ENOTSUP, "rank %d cannot read the memory of rank %u: %s",
            shm->refusing_rank, s->refused_rank, strerror(s->refused_errno));
    return false;
}

/* The copy of a part has failed, with the error in errno. */
static void fail_copy(struct gw__shm *shm, unsigned rank, uint64_t at,
                      size_t bytes)
{
    struct gw_error why = {0};
    int error = errno;
    if (error != EFAULT) {
        gw_fail(&why, GW_ELOST, "its process ended during a copy: %s",
                strerror(error));
        gw__shm_lose(shm, rank, &why);
    } else if (!shm->error.code)
        gw_fail(&shm->error, GW_EINVAL,
                "shm: rank %u cannot copy %zu bytes of rank %u at %#llx: %s; a "
                "buffer must stay allocated until the call has ended",
                shm->wire.rank, bytes, rank, (unsigned long long)at,
                strerror(error));
}

/* process_vm_readv or process_vm_writev. */
typedef ssize_t (*copy_call)(pid_t pid, const struct iovec *here,
                             unsigned long here_count,
                             const struct iovec *there,
                             unsigned long there_count, unsigned long flags);

/* Continues after a partial copy. */
static bool copy_all(struct gw__shm *shm, unsigned rank, copy_call copy,
                     uint64_t at, void *memory, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        struct iovec here = {(unsigned char *)memory + done, bytes - done};
        struct iovec there = {(void *)(uintptr_t)(at + done), bytes - done};
        ssize_t n = copy(shm->peers[rank].pid, &here, 1, &there, 1, 0);
        if (n <= 0) {
            fail_copy(shm, rank, at + done, bytes - done);
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

bool gw__shm_load(struct gw__wire *wire, unsigned rank, uint64_t from, void *to,
                  size_t bytes)
{
    gw__failpoint(GW__AT_SHM_LOAD);
    return copy_all(gw__shm_of(wire), rank, process_vm_readv, from, to, bytes);
}

bool gw__shm_store(struct gw__wire *wire, unsigned rank, uint64_t to,
                   const void *from, size_t bytes)
{
    gw__failpoint(GW__AT_SHM_STORE);
    return copy_all(gw__shm_of(wire), rank, process_vm_writev, to,
                    (void *)(uintptr_t)from, bytes);
}

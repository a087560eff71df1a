/* SPDX-License-Identifier: MIT
 *
 * Decides when results are stored past the caches. A streamed store does not
 * first read the line that it overwrites, and evicts nothing; but the next
 * reader of the result finds it in memory. So it pays if the caches could not
 * hold the buffers of the call anyway: when the inputs and outputs of all ranks
 * together are larger than the last cache.
 *
 * Measured with 32 MiB of it (Zen 5, two cores; 2, 4 and 8 ranks; calls back to
 * back on the same buffers): time streamed / time not, by the size of all
 * buffers
 *
 *                            up to 24 MiB     32     36-40     48        64 up
 *     sums: all-reduce         1.8-2.7        1.8      -        -      .67-.89
 *     reduce, reduce-scatter   0.9-2.2         -     .69-.87  .82-.93  .70-.98
 *     copies: all ops          2.4-5.0      1.6-3.1  1.7-2.0  1.0-1.3  .41-1.0
 *
 * Copies stay in the caches longer, since memcpy's string instruction does not
 * read the lines that it overwrites either. The baseline
 * (tests/bench/peers/shm_ideal.c) streams results from 128 KiB on; that is why
 * gradwire is faster in between.
 */
#include "coll/comm.h"
#include "reduce.h"

#include <stdatomic.h>
#include <stdio.h>

/* The size of the third cache from the kernel's files: sysconf returns that of
 * all core complexes together on AMD. If it is unknown, a common size. */
static size_t read_cache_bytes(void)
{
    static const char path[] = "/sys/devices/system/cpu/cpu0/cache/index3/size";
    enum { COMMON_KIB = 32 << 10 };
    unsigned kib = 0;
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%uK", &kib) != 1 || kib == 0)
        kib = COMMON_KIB;
    if (file)
        fclose(file);
    return (size_t)kib << 10;
}

/* Concurrent threads read the same value. */
size_t gw__last_cache_bytes(void)
{
    static _Atomic size_t known;
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0) {
        bytes = read_cache_bytes();
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

size_t gw__bytes_of_all(const struct gw_comm *comm, const struct gw_call *call)
{
    size_t in = gw__bytes_in(comm, call), out = gw__bytes_out(comm, call);
    size_t larger = in > out ? in : out;
    bool leaf = (unsigned)call->root != comm->rank;
    switch (call->collective) {
    case GW_BROADCAST:
    case GW_REDUCE:
        return larger * (comm->size + 1);
    case GW_EXSCAN: /* rank 0 has no result */
        return 2 * larger * comm->size;
    case GW_GATHER:
    case GW_SCATTER: /* a leaf has one of the blocks */
        return 2 * larger * (leaf ? comm->size : 1);
    default:
        return (in + out) * comm->size;
    }
}

bool gw__reduce_past(const struct gw_comm *comm, const struct gw_call *call,
                     unsigned source_count)
{
    enum { NEVER_BYTES = 1 << 20 }; /* smaller is not worth a look */
    size_t bytes = gw__bytes_of_all(comm, call);
    if (bytes <= NEVER_BYTES)
        return false;
    size_t room = gw__last_cache_bytes();
    return bytes > (source_count == 1 ? room + room / 2 : room);
}

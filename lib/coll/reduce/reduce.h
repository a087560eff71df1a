/* SPDX-License-Identifier: MIT
 *
 * The interface between gw_reduce_local and its kernels. A level is the whole
 * set of kernels, compiled for one instruction set: reduce_scalar.c,
 * reduce_neon.c, reduce_avx2.c and reduce_avx512.c, all from the same text,
 * reduce_kernels.h. All levels give the same bits.
 */
#ifndef GW__REDUCE_H
#define GW__REDUCE_H

#include <gradwire/coll.h>

/* One call of a kernel: reduce the bytes [begin, end) of all sources, whole
 * elements, into all destinations. The first `streamed` destinations are stored
 * past the caches; their `begin` is aligned to a cache line. */
struct gw__reduce_args {
    const void *const *sources;
    void *const *dests;
    unsigned source_count, dest_count, streamed;
    unsigned ranks; /* avg divides by it */
    size_t begin, end;
};

typedef void gw__reduce_kernel(const struct gw__reduce_args *args);

struct gw__reduce_isa {
    const char *name;
    bool (*available)(void);
    gw__reduce_kernel *copy;                                    /* one source */
    gw__reduce_kernel *kernels[GW_DTYPE_COUNT][GW_REDOP_COUNT]; /* NULL: not
                                                                allowed */
};

/* The levels that this architecture has, best first. */
#if defined __x86_64__
#define GW__REDUCE_ISAS(X) X(avx512) X(avx2) X(scalar)
#elif defined __aarch64__
#define GW__REDUCE_ISAS(X) X(neon) X(scalar)
#else
#define GW__REDUCE_ISAS(X) X(scalar)
#endif

#define X(name) extern const struct gw__reduce_isa gw__reduce_##name;
GW__REDUCE_ISAS(X)
#undef X

/* The current level; the first call chooses it. Any thread. */
const struct gw__reduce_isa *gw__reduce_current(void);
/* Selects the named level; NULL: the level of the CPU and $GRADWIRE_CPU. If
 * this CPU does not have the level, returns false and changes nothing. For
 * tests. */
bool gw__reduce_select(const char *isa);

/* The size of the last cache, which the cores share. */
size_t gw__last_cache_bytes(void);
/* The approximate size of the inputs and outputs of all ranks. */
size_t gw__bytes_of_all(const struct gw_comm *comm, const struct gw_call *call);
/* Should a pass of this call, from that many sources, store past the caches? */
bool gw__reduce_past(const struct gw_comm *comm, const struct gw_call *call,
                     unsigned source_count);

#endif

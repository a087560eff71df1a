/* SPDX-License-Identifier: MIT
 *
 * Between gw_fold and its kernels. A level is the whole set of kernels,
 * compiled for one instruction set: fold_scalar.c, fold_neon.c, fold_avx2.c,
 * fold_avx512.c, all from the same text, fold_kernels.h. All
 * levels give the same bits.
 */
#ifndef GW__FOLD_H
#define GW__FOLD_H

#include <gradwire/coll.h>

/* One call of a kernel: fold the bytes [begin, end) of all sources, whole
 * elements, into all destinations. The first `streamed` destinations are stored
 * past the caches; their `begin` lies on a cache line. */
struct gw__fold_job {
    const void *const *sources;
    void *const *dests;
    unsigned source_count, dest_count, streamed;
    unsigned ranks; /* avg divides by it */
    size_t begin, end;
};

typedef void gw__fold_kernel(const struct gw__fold_job *job);

struct gw__fold_isa {
    const char *name;
    bool (*available)(void);
    gw__fold_kernel *copy;                                    /* one source */
    gw__fold_kernel *kernels[GW_DTYPE_COUNT][GW_REDOP_COUNT]; /* NULL: not
                                                                allowed */
};

/* The levels that this architecture has, best first. */
#if defined __x86_64__
#define GW__FOLD_ISAS(X) X(avx512) X(avx2) X(scalar)
#elif defined __aarch64__
#define GW__FOLD_ISAS(X) X(neon) X(scalar)
#else
#define GW__FOLD_ISAS(X) X(scalar)
#endif

#define X(name) extern const struct gw__fold_isa gw__fold_##name;
GW__FOLD_ISAS(X)
#undef X

/* The level in force; the first call chooses it. Any thread. */
const struct gw__fold_isa *gw__fold_current(void);
/* Puts the named level in force; NULL: what the CPU and $GRADWIRE_CPU say.
 * False, and nothing changes, when this CPU does not have it. For tests. */
bool gw__fold_use(const char *isa);

/* Should a pass of this call, from that many sources, store past the caches? */
bool gw__fold_past(const struct gw_comm *comm, const struct gw_call *call,
                   unsigned source_count);

#endif

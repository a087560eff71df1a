/* SPDX-License-Identifier: MIT
 *
 * Chooses the level of kernels that gw_reduce_local runs: the best one of this
 * CPU, or the one that $GRADWIRE_CPU names if the CPU has it.
 */
#include "reduce.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Best first. */
static const struct gw__reduce_isa *const levels[] = {
#define X(name) &gw__reduce_##name,
    GW__REDUCE_ISAS(X)
#undef X
};

static _Atomic(const struct gw__reduce_isa *) current;

static const struct gw__reduce_isa *find_level(const char *name)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (levels[i]->available() && (!name || !strcmp(levels[i]->name, name)))
            return levels[i];
    return NULL;
}

static const struct gw__reduce_isa *choose_level(void)
{
    const char *forced = getenv("GRADWIRE_CPU");
    const struct gw__reduce_isa *level = forced ? find_level(forced) : NULL;
    return level ? level : find_level(NULL);
}

const struct gw__reduce_isa *gw__reduce_current(void)
{
    const struct gw__reduce_isa *level =
        atomic_load_explicit(&current, memory_order_acquire);
    if (level)
        return level;
    /* Concurrent threads choose the same. */
    level = choose_level();
    atomic_store_explicit(&current, level, memory_order_release);
    return level;
}

bool gw__reduce_select(const char *isa)
{
    const struct gw__reduce_isa *level = isa ? find_level(isa) : choose_level();
    if (level)
        atomic_store_explicit(&current, level, memory_order_release);
    return level != NULL;
}

const char *gw_reduce_isa(void)
{
    return gw__reduce_current()->name;
}

/* SPDX-License-Identifier: MIT
 *
 * Checks that $GRADWIRE_CPU and $GRADWIRE_PRODUCT name available kernels. The
 * kernels themselves cannot report an error, so with a wrong name they use the
 * best level. A tool checks at its start, so that measurements and tests never
 * use another level than the one requested.
 */
#include "coll/reduce/reduce.h"
#include "learn/network/product.h"

#include <gradwire/parallel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The available names: "avx2, scalar". */
struct choice {
    char names[64];
    bool found; /* the name is in the list */
};

static void offer(struct choice *choice, const char *wanted, const char *name,
                  bool available)
{
    size_t used = strlen(choice->names);
    if (!available)
        return;
    snprintf(choice->names + used, sizeof choice->names - used, "%s%s",
             used ? ", " : "", name);
    choice->found |= strcmp(wanted, name) == 0;
}

static enum gw_err check_choice(const char *variable, const char *wanted,
                                const struct choice *choice,
                                struct gw_error *why)
{
    if (choice->found)
        return GW_OK;
    return gw_fail(
        why, GW_EINVAL,
        "%s: \"%s\" is not a vector level of this machine; use one of %s",
        variable, wanted, choice->names);
}

static enum gw_err check_reduce_kernels(struct gw_error *why)
{
    const char *wanted = getenv("GRADWIRE_CPU");
    struct choice choice = {{0}, false};
    if (!wanted)
        return GW_OK;
#define X(level)                                                               \
    offer(&choice, wanted, gw__reduce_##level.name,                            \
          gw__reduce_##level.available());
    GW__REDUCE_ISAS(X)
#undef X
    return check_choice("GRADWIRE_CPU", wanted, &choice, why);
}

enum gw_err gw_kernels_check(struct gw_error *why)
{
    const char *wanted = getenv("GRADWIRE_PRODUCT");
    struct choice choice = {{0}, false};
    enum gw_err err = check_reduce_kernels(why);
    if (err || !wanted)
        return err;
    const struct gw__product_kind *const *kind = gw__product_kinds();
    for (; *kind; kind++)
        offer(&choice, wanted, (*kind)->name, (*kind)->available());
    return check_choice("GRADWIRE_PRODUCT", wanted, &choice, why);
}

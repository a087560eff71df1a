/* SPDX-License-Identifier: MIT
 *
 * The element types and the reductions: names, sizes and valid combinations.
 */
#include <gradwire/coll.h>

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[GW_DTYPE_COUNT] = {
#define X(type, text, size) [type] = {text, size},
    GW_DTYPES(X)
#undef X
};

static const char *const ops[GW_REDOP_COUNT] = {
#define X(op, text) [op] = text,
    GW_REDOPS(X)
#undef X
};

size_t gw_dtype_size(enum gw_dtype type)
{
    return type < GW_DTYPE_COUNT ? types[type].bytes : 0;
}

const char *gw_dtype_name(enum gw_dtype type)
{
    return type < GW_DTYPE_COUNT ? types[type].name : "?";
}

const char *gw_redop_name(enum gw_redop op)
{
    return op < GW_REDOP_COUNT ? ops[op] : "?";
}

enum gw_err gw_dtype_parse(const char *name, enum gw_dtype *type,
                           struct gw_error *why)
{
    for (unsigned i = 0; i < GW_DTYPE_COUNT; i++)
        if (strcmp(name, types[i].name) == 0) {
            *type = (enum gw_dtype)i;
            return GW_OK;
        }
    return gw_fail(why, GW_EINVAL,
                   "\"%s\" is not an element type; use one of"
#define X(type, text, size) " " text
                   GW_DTYPES(X),
#undef X
                   name);
}

enum gw_err gw_redop_parse(const char *name, enum gw_redop *op,
                           struct gw_error *why)
{
    for (unsigned i = 0; i < GW_REDOP_COUNT; i++)
        if (strcmp(name, ops[i]) == 0) {
            *op = (enum gw_redop)i;
            return GW_OK;
        }
    return gw_fail(why, GW_EINVAL,
                   "\"%s\" is not a reduction; use one of"
#define X(op, text) " " text
                   GW_REDOPS(X),
#undef X
                   name);
}

bool gw_redop_allowed(enum gw_redop op, enum gw_dtype type)
{
    switch (type) {
    case GW_F16:
    case GW_BF16:
    case GW_F32:
    case GW_F64:
        return op < GW_LAND;
    default:
        return op < GW_REDOP_COUNT && type < GW_DTYPE_COUNT;
    }
}

/* SPDX-License-Identifier: MIT
 *
 * The text form of meshes, and the names of shardings and data modes.
 */
#include <gradwire/layout.h>

#include <stdio.h>
#include <string.h>

/* Parses the digits at *text, a number from 1 to GW_RANKS_MAX, and advances
 * *text. */
static bool parse_axis(const char **text, unsigned *axis)
{
    unsigned value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        value = 10 * value + (unsigned)(**text - '0');
        if (value > GW_RANKS_MAX)
            return false;
    }
    *axis = value;
    return value > 0;
}

enum gw_err gw_mesh_parse(const char *text, struct gw_mesh *mesh,
                          struct gw_error *why)
{
    unsigned axes[3] = {1, 1, 1}, count = 0;
    const char *at = text;
    bool right = true;
    do {
        at += count > 0;
        right = parse_axis(&at, &axes[count++]);
    } while (right && count < 3 && *at == 'x');
    if (!right || *at)
        return gw_fail(why, GW_EINVAL,
                       "\"%.40s\" is not a mesh; write the ranks along data, "
                       "tensor and pipe, such as 2x2x1, or 4 for 4x1x1",
                       text);
    if ((uint64_t)axes[0] * axes[1] * axes[2] > GW_RANKS_MAX)
        return gw_fail(why, GW_EINVAL, "the mesh %.40s has more than %d ranks",
                       text, GW_RANKS_MAX);
    *mesh = (struct gw_mesh){axes[0], axes[1], axes[2]};
    return GW_OK;
}

const char *gw_sharding_name(enum gw_sharding sharding)
{
    static const char *const names[] = {"replicated", "by row", "by feature",
                                        "partial"};
    return sharding <= GW_PARTIAL ? names[sharding] : "?";
}

const char *gw_data_mode_name(enum gw_data_mode mode)
{
    static const char *const names[] = {"replicated", "zero1", "sharded"};
    return mode <= GW_DATA_SHARDED ? names[mode] : "?";
}

enum gw_err gw_data_mode_parse(const char *name, enum gw_data_mode *mode,
                               struct gw_error *why)
{
    for (unsigned m = 0; m <= GW_DATA_SHARDED; m++)
        if (strcmp(name, gw_data_mode_name((enum gw_data_mode)m)) == 0) {
            *mode = (enum gw_data_mode)m;
            return GW_OK;
        }
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\" is not a mode; use replicated, zero1 or sharded",
                   name);
}

const char *gw_mesh_order_name(enum gw_mesh_order order)
{
    return order == GW_MESH_MODEL ? "model" : "data";
}

unsigned gw_mesh_position(const struct gw_mesh *mesh, enum gw_mesh_order order,
                          unsigned d, unsigned t, unsigned p)
{
    return order == GW_MESH_MODEL ? (d * mesh->pipe + p) * mesh->tensor + t
                                  : (p * mesh->tensor + t) * mesh->data + d;
}

/* SPDX-License-Identifier: MIT
 *
 * A rank's communicators along the axes of the mesh. They make progress
 * together (gw_comm_progress_with). A rank that waits for a stage still
 * forwards the gradients that others need. If one axis loses a peer, all of
 * them fail.
 */
#include "parallel_parts.h"

/* Ranks of the same color, ordered by `key`. */
struct axis {
    const char *name;
    struct gw_comm **comm;
    unsigned size; /* 1: not created */
    unsigned color, key;
};

enum { AXES = 5 };

static void list_axes(struct gw__axes *axes, const struct gw_layout *layout,
                      struct axis *list)
{
    const struct gw_mesh *mesh = &layout->options.mesh;
    unsigned group = layout->options.shard_group;
    unsigned groups = mesh->data / group;
    unsigned d = axes->d, t = axes->t, p = axes->p;
    /* the ranks that differ only in d */
    unsigned column = p * mesh->tensor + t;
    const struct axis all[AXES] = {
        {"tensor", &axes->tensor, mesh->tensor, p * mesh->data + d, t},
        {"data", &axes->data, group > 1 ? 1 : mesh->data, column, d},
        {"group", &axes->group, group, column * groups + d / group, d},
        {"replicas", &axes->replicas, group > 1 ? groups : 1,
         column * group + d % group, d},
        {"pipe", &axes->pipe, mesh->pipe, d * mesh->tensor + t, p},
    };
    for (unsigned i = 0; i < AXES; i++)
        list[i] = all[i];
}

static enum gw_err put_next(struct gw_comm *comm, const struct axis *list,
                            struct gw_error *why)
{
    struct gw_comm *made[AXES + 1] = {comm};
    unsigned count = 1;
    for (unsigned i = 0; i < AXES; i++) {
        if (*list[i].comm)
            made[count++] = *list[i].comm;
        for (unsigned k = 0; *list[i].comm && k + 1 < count; k++) {
            enum gw_err err = gw_comm_progress_with(made[k], *list[i].comm);
            if (err)
                return gw_fail(
                    why, err,
                    "%s axis: too many communicators make progress together",
                    list[i].name);
        }
    }
    return GW_OK;
}

enum gw_err gw__axes_init(struct gw__axes *axes, struct gw_comm *comm,
                          const struct gw_layout *layout, struct gw_error *why)
{
    const struct gw_mesh *mesh = &layout->options.mesh;
    unsigned rank = gw_comm_rank(comm);
    struct axis list[AXES];
    *axes = (struct gw__axes){.t = rank % mesh->tensor,
                              .d = rank / mesh->tensor % mesh->data,
                              .p = rank / mesh->tensor / mesh->data};
    list_axes(axes, layout, list);
    enum gw_err err = GW_OK;
    for (unsigned i = 0; !err && i < AXES; i++) {
        if (list[i].size == 1)
            continue;
        err = gw_comm_split(comm, (int)list[i].color, (int)list[i].key,
                            list[i].comm, why);
        if (err)
            gw_wrap(why, err, "%s axis", list[i].name);
    }
    return err ? err : put_next(comm, list, why);
}

void gw__axes_fini(struct gw__axes *axes)
{
    gw_comm_destroy(&axes->tensor);
    gw_comm_destroy(&axes->data);
    gw_comm_destroy(&axes->group);
    gw_comm_destroy(&axes->replicas);
    gw_comm_destroy(&axes->pipe);
}

void gw__axes_reset(const struct gw__axes *axes)
{
    struct gw_comm *const comms[AXES] = {axes->tensor, axes->data, axes->group,
                                         axes->replicas, axes->pipe};
    for (unsigned i = 0; i < AXES; i++)
        if (comms[i])
            gw_comm_counters_reset(comms[i]);
}

static uint64_t sent(const struct gw_comm *comm)
{
    uint64_t bytes = 0;
    for (unsigned peer = 0; comm && peer < gw_comm_size(comm); peer++) {
        struct gw_counters counters;
        gw_comm_counters(comm, peer, &counters);
        bytes += counters.bytes_sent;
    }
    return bytes;
}

void gw__axes_count(const struct gw__axes *axes,
                    struct gw_parallel_counts *counts)
{
    counts->tensor_bytes += sent(axes->tensor);
    counts->data_bytes +=
        sent(axes->data) + sent(axes->group) + sent(axes->replicas);
    counts->pipe_bytes += sent(axes->pipe);
}

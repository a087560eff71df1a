/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench layout --search: all layouts of a network on a cluster.
 */
#ifndef LAYOUT_SEARCH_H
#define LAYOUT_SEARCH_H

#include "layout.h"

/* Given values are fixed, the others are searched. */
struct search_space {
    const struct gw_network *network;
    unsigned ranks;              /* of every mesh */
    const struct gw_mesh *mesh;  /* NULL: all with `ranks` ranks */
    const char *mode, *schedule; /* NULL: all */
    unsigned group, batch, optimiser_words;
    unsigned micros; /* 0: all that divide the batch */
    unsigned chunks; /* for interleaved */
    uint64_t memory; /* per rank; 0: any */
};

enum { SEARCH_LAYOUTS_MAX = 200000, SEARCH_SPLITS_TEXT = 64 };

/* The fastest layout of a mesh and mode that fits; if none fits, the smallest
 * one. */
struct search_row {
    struct gw_layout_options options;
    enum gw_mesh_order order;
    const char *schedule;
    char splits[SEARCH_SPLITS_TEXT]; /* of dense and embedding operators */
    bool fits;
    unsigned found; /* the number of the mesh and mode */
    /* NAN and 0: it does not fit, and was not timed. */
    double step_us, compute_us, tensor_us, data_us, idle_us;
    uint64_t held_bytes, weight_bytes, state_bytes, activation_bytes;
};

struct search_result {
    struct search_row *rows; /* the best first; those that do not fit last */
    unsigned row_count;
    unsigned timed, too_large, impossible; /* layouts */
};

/* GW_EINVAL: more than SEARCH_LAYOUTS_MAX layouts, or none is possible. */
GW_MUST_CHECK enum gw_err search_run(struct gw_layout_timer *timer,
                                     const struct search_space *space,
                                     struct search_result *result,
                                     struct gw_error *why);
void search_result_fini(struct search_result *result);
/* Prints the first `rows` of them, and their disadvantages. GW_EWRONG: none
 * fits. */
GW_MUST_CHECK enum gw_err search_show(const struct layout_cluster *cluster,
                                      const struct search_space *space,
                                      unsigned rows, struct gw_error *why);

#endif

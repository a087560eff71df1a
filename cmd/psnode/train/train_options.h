/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of `psnode train`, also used by `restore` and by workers.
 */
#ifndef PSNODE_TRAIN_OPTIONS_H
#define PSNODE_TRAIN_OPTIONS_H

#include "common/command.h"
#include "train.h"

/* Further outputs of a training. */
struct train_wishes {
    bool compare, sweep, reference, baseline;
    const char *labels;
    uint64_t compute_ns, limit_ns;
    double times, target;
};

extern const struct option_spec train_option_specs[];
extern const struct option_group train_option_groups[];
/* The subset for a worker, and how it joins (join.h). */
extern const struct option_spec worker_option_specs[];

/* From the operands MODEL [DATA] and the options. GW_EINVAL. */
GW_MUST_CHECK enum gw_err train_options_parse(int count, char *const *operands,
                                              struct train_spec *spec,
                                              struct train_wishes *wishes,
                                              struct gw_error *why);
/* train.c: one training, and its exit status. */
int train_once(struct train_spec *spec, const struct train_wishes *wishes);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The comparison of two executions of an experiment, by their summaries.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <jansson.h>
#include <stdbool.h>

/* A compared value. */
enum compare_verdict {
    COMPARE_SAME,
    COMPARE_VARIES, /* differs, and depends on times */
    COMPARE_DIFFERS /* differs, and must not */
};
typedef void compare_row(void *context, const char *name, const char *before,
                         const char *now, enum compare_verdict verdict);

/* Calls `row` for each value. The counts of lost, doubled and completed work
 * must be equal. Results must be equal if no member was lost, and in lockstep,
 * where the recoveries must be equal, too. Times may differ. Returns whether
 * nothing differs. */
bool compare_summaries(const json_t *before, const json_t *now,
                       compare_row *row, void *context);

#endif

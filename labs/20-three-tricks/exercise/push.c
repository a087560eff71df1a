/* SPDX-License-Identifier: MIT
 *
 * In this version each update is a separate push that waits for its answer, so
 * there are as many messages as updates. Coalesce them: one push of all keys, each
 * of them once, with the sum of its rows.
 */
#include "tricks.h"

enum gw_err push_all(struct gw_ps *ps, unsigned table, unsigned width,
                     size_t count, const uint64_t *keys, const float *rows,
                     struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < count && !err; i++)
        err = gw_ps_push(ps, table, &keys[i], 1, &rows[i * width], NULL, why);
    return err;
}

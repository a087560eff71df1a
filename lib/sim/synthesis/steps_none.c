/* SPDX-License-Identifier: MIT
 *
 * Built without z3: plans with few steps cannot be searched.
 */
#include "steps_solver.h"

enum gw_err gw__steps_solve(const struct gw__steps_question *question,
                            struct gw__steps_answer *answer,
                            struct gw_error *why)
{
    (void)question;
    answer->exists = false;
    return gw_fail(why, GW_ENOTSUP,
                   "plans with few steps are found by z3, without which this "
                   "library was built; install it (Debian: libz3-dev) and "
                   "build again");
}

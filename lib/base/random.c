/* SPDX-License-Identifier: MIT
 *
 * See random.h.
 */
#include "random.h"

#include <sys/random.h>

enum gw_err gw__draw(void *out, size_t bytes, struct gw_error *why)
{
    return getrandom(out, bytes, 0) == (ssize_t)bytes
               ? GW_OK
               : gw_fail_errno(why, "random numbers");
}

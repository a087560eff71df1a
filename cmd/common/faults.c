/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See faults.h.
 */
#include "faults.h"

#include "common/text/items.h"

#include <base/whole.h>

#include <signal.h>
#include <string.h>

static bool read_fault(const char *item, struct rank_fault *fault)
{
    uint64_t rank, step;
    if (!gw__whole_read(&item, UINT32_MAX, &rank) || *item++ != '@' ||
        !gw__whole_read(&item, UINT32_MAX, &step) || *item++ != ':')
        return false;
    fault->rank = (unsigned)rank;
    fault->step = (unsigned)step;
    fault->stop = strcmp(item, "stop") == 0;
    return fault->stop || strcmp(item, "kill") == 0;
}

enum gw_err faults_parse(const char *text, const struct fault_words *words,
                         unsigned ranks, unsigned steps,
                         struct rank_faults *faults, struct gw_error *why)
{
    char item[64];
    while (items_next(&text, item, sizeof item)) {
        struct rank_fault fault;
        if (!read_fault(item, &fault))
            return gw_fail(why, GW_EINVAL,
                           "--fail must be %s@%s:kill or %s@%s:stop, such as "
                           "2@3:kill, not \"%.60s\"",
                           words->rank, words->step, words->rank, words->step,
                           item);
        if (fault.rank >= ranks)
            return gw_fail(why, GW_EINVAL, "--fail %s: the last %s is %u", item,
                           words->rank, ranks - 1);
        if (fault.step >= steps)
            return gw_fail(why, GW_EINVAL, "--fail %s: the last %s is %u", item,
                           words->step, steps - 1);
        if (faults->count == FAULTS_MAX)
            return gw_fail(why, GW_EINVAL,
                           "--fail: too many failures; use at most %d",
                           FAULTS_MAX);
        faults->faults[faults->count++] = fault;
    }
    return GW_OK;
}

void fault_make(const struct rank_fault *fault)
{
    raise(fault->stop ? SIGSTOP : SIGKILL);
}

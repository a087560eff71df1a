/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The names of runs (run_folder.h). A name is also a directory's, and people
 * type it.
 */
#include "run_folder.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {
    "otter", "heron", "tiger",  "maple",  "comet",  "basil",  "cedar",
    "delta", "ember", "fjord",  "gecko",  "hazel",  "indigo", "jade",
    "koala", "lemon", "mango",  "nectar", "olive",  "panda",  "quartz",
    "raven", "sable", "tulip",  "umber",  "violet", "walnut", "yarrow",
    "zebra", "acorn", "badger", "clover",
};

enum gw_err run_name_check(const char *name, struct gw_error *why)
{
    size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (*name && *name != '-' && !name[good] && good < RUN_NAME_MAX &&
        strcmp(name, "latest") != 0)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\" is not a valid run name; use fewer than %d "
                   "small letters, digits and -",
                   name, RUN_NAME_MAX);
}

void run_name_pick(uint64_t chance, unsigned attempt, char out[RUN_NAME_MAX])
{
    unsigned count = sizeof words / sizeof *words;
    const char *word = words[(chance + attempt) % count];
    if (attempt < count)
        snprintf(out, RUN_NAME_MAX, "%s", word);
    else
        snprintf(out, RUN_NAME_MAX, "%s-%u", word, attempt / count + 1);
}

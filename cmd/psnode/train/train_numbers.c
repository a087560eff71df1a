/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers that are computed from a run's status. Pure.
 */
#include "train.h"

#include <string.h>

int64_t train_sum(const json_t *status, const char *role, const char *name)
{
    size_t i;
    int64_t sum = 0;
    json_t *node, *nodes = json_object_get(status, "nodes");
    json_array_foreach(nodes, i, node)
    {
        if (strcmp(text_of(node, "role", ""), role) == 0)
            sum += integer_of(node, name, 0);
    }
    return sum;
}

double train_waited(const json_t *status)
{
    size_t i;
    double sum = 0;
    unsigned count = 0;
    json_t *node, *nodes = json_object_get(status, "nodes");
    json_array_foreach(nodes, i, node)
    {
        double share = real_of(node, "waited_share");
        if (!isfinite(share))
            continue;
        sum += share;
        count++;
    }
    return count ? sum / count : (double)NAN;
}

int64_t train_staleness(const json_t *status)
{
    const json_t *clock = json_object_get(status, "clocks");
    size_t entries = json_array_size(json_object_get(clock, "staleness"));
    return entries ? (int64_t)entries - 1 : 0;
}

double train_staleness_mean(const json_t *status)
{
    const json_t *clock = json_object_get(status, "clocks");
    const json_t *entry, *entries = json_object_get(clock, "staleness");
    size_t clocks;
    double sum = 0, items = 0;
    json_array_foreach(entries, clocks, entry)
    {
        double count = (double)json_integer_value(entry);
        sum += (double)clocks * count;
        items += count;
    }
    return items > 0 ? sum / items : (double)NAN;
}

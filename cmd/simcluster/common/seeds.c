/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See seeds.h.
 */
#include "seeds.h"

#include <base/whole.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool seeds_parse(const char *text, struct seeds *seeds)
{
    if (!gw__whole_read(&text, INT64_MAX, &seeds->first))
        return false;
    seeds->last = seeds->first;
    if (strncmp(text, "..", 2) == 0) {
        text += 2;
        if (!gw__whole_read(&text, INT64_MAX, &seeds->last))
            return false;
    }
    return *text == 0 && seeds->first <= seeds->last;
}

bool seeds_read(int argc, char **argv, struct seeds *seeds)
{
    *seeds = (struct seeds){1, 1000};
    for (int i = 1; i + 1 < argc; i += 2) {
        bool known =
            strcmp(argv[i], "--seeds") == 0 || strcmp(argv[i], "--seed") == 0;
        if (!known || !seeds_parse(argv[i + 1], seeds))
            return false;
    }
    return argc % 2;
}

int seeds_run(const struct seeds *seeds, const char *program,
              seeds_campaign campaign_of, void *simcluster,
              struct seeds_sum *sum)
{
    struct gw__campaign campaign;
    struct gw__campaign_result result;
    struct gw_error why;
    char command[200];
    snprintf(command, sizeof command, "%s --seed ", program);
    *sum = (struct seeds_sum){0};
    for (uint64_t seed = seeds->first; seed <= seeds->last; seed++) {
        campaign_of(simcluster, seed, &campaign);
        campaign.command = command;
        enum gw_err err =
            gw__campaign_run(&campaign, seed, seed, stdout, &result, &why);
        sum->inputs += result.inputs;
        sum->crashes += result.crashes;
        sum->digest =
            gw_hash(&result.digest, sizeof result.digest, sum->digest);
        if (err == GW_EWRONG)
            return 1;
        if (err) {
            fprintf(stderr, "%s\n", why.text);
            return 70;
        }
    }
    return 0;
}

void seeds_keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

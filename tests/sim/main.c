/* SPDX-License-Identifier: MIT
 *
 * Many seeds of the simulated ring (world.h): `ring --seeds 1..20000`, or one:
 * `ring --seed 17`. The first that fails is printed with the command that
 * repeats it and the few faults that matter, and the exit status is 1.
 */
#include "world.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

struct range {
    uint64_t first, last;
};

static bool read_range(const char *text, struct range *range)
{
    char *end;
    range->first = range->last = strtoull(text, &end, 10);
    if (strncmp(end, "..", 2) == 0)
        range->last = strtoull(end + 2, &end, 10);
    return end != text && *end == 0 && range->first <= range->last;
}

static bool read_arguments(int argc, char **argv, struct range *range)
{
    *range = (struct range){1, 1000};
    for (int i = 1; i + 1 < argc; i += 2) {
        bool known =
            strcmp(argv[i], "--seeds") == 0 || strcmp(argv[i], "--seed") == 0;
        if (!known || !read_range(argv[i + 1], range))
            return false;
    }
    return argc % 2;
}

static int run(struct world *w, struct range range, const char *command)
{
    struct gw__campaign campaign;
    struct gw__campaign_result result;
    struct gw_error why;
    uint64_t inputs = 0, crashes = 0;
    for (uint64_t seed = range.first; seed <= range.last; seed++) {
        world_campaign(w, seed, &campaign);
        campaign.command = command;
        enum gw_err err =
            gw__campaign_run(&campaign, seed, seed, stdout, &result, &why);
        inputs += result.inputs;
        crashes += result.crashes;
        if (err == GW_EWRONG)
            return 1;
        if (err) {
            fprintf(stderr, "%s\n", why.text);
            return 70;
        }
    }
    printf("ring: %" PRIu64 " seeds: %" PRIu64 " inputs, %" PRIu64
           " crashes; ops completed %" PRIu64 ", views %" PRIu64 "+%" PRIu64
           ", forward %" PRIu64 ", exclude %" PRIu64 ", begun anew %" PRIu64
           ", gone %" PRIu64 ", state inherited %" PRIu64 ", lost %" PRIu64
           "\n",
           w->met.seeds, inputs, crashes, w->met.ops, w->met.admits,
           w->met.removals, w->met.forwards, w->met.excludes, w->met.begun_anew,
           w->met.gone, w->met.inherited, w->met.lost);
    return 0;
}

int main(int argc, char **argv)
{
    static struct world world;
    struct range range;
    char command[200];
    if (!read_arguments(argc, argv, &range)) {
        fprintf(stderr, "usage: %s [--seeds FIRST..LAST | --seed N]\n",
                argv[0]);
        return 64;
    }
    /* The states of all nodes are made and thrown away with every seed. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    snprintf(command, sizeof command, "%s --seed ", argv[0]);
    world_open(&world);
    int status = run(&world, range, command);
    world_close(&world);
    return status;
}

/* SPDX-License-Identifier: MIT
 *
 * Many seeds of the simulated parameter server (world.h): `ps --seeds 1..1000`,
 * or one: `ps --seed 17`; `--broken=dedupe` and `--broken=fencing` before these
 * are servers without that rule, which must not pass. The first that fails is
 * printed with the command that repeats it and the few faults that matter, and
 * the exit status is 1.
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
    printf("ps: %" PRIu64 " seeds: %" PRIu64 " inputs, %" PRIu64
           " crashes; pushes %" PRIu64 ", pulls %" PRIu64 ", units %" PRIu64
           ", slots moved %" PRIu64 ", convictions %" PRIu64 ", lost %" PRIu64
           "\n",
           w->met.seeds, inputs, crashes, w->met.pushes, w->met.pulls,
           w->met.units, w->met.moves, w->met.convictions, w->met.lost);
    return 0;
}

/* One seed under the faults of a file, as a failure prints them. */
static int replay(struct world *w, uint64_t seed, const char *path)
{
    static char text[65536];
    struct gw__campaign campaign;
    struct gw__trial trial;
    struct gw__faults faults;
    struct gw_error why;
    FILE *file = fopen(path, "r");
    size_t bytes = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    world_campaign(w, seed, &campaign);
    unsigned nodes = campaign.faults.nodes;
    enum gw_err err = gw__faults_parse(text, bytes, path, nodes, &faults, &why);
    if (!err)
        err = gw__campaign_try(&campaign, seed, &faults, &trial, &why);
    printf("%s\n", err ? why.text : trial.failure.text);
    return err || trial.failure.code;
}

int main(int argc, char **argv)
{
    static struct world world;
    struct range range;
    char command[200];
    const char *broken = "";
    if (argc > 1 && strncmp(argv[1], "--broken=", 9) == 0) {
        broken = argv[1] + 9;
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    if (argc == 4 && strcmp(argv[1], "--replay") == 0) {
        world_open(&world);
        world.broken = broken;
        return replay(&world, strtoull(argv[2], NULL, 10), argv[3]);
    }
    if (!read_arguments(argc, argv, &range)) {
        fprintf(
            stderr,
            "usage: %s [--seeds FIRST..LAST | --seed N | --replay N FAULTS]\n",
            argv[0]);
        return 64;
    }
    /* The states of all nodes are made and thrown away with every seed. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    snprintf(command, sizeof command, "%s --seed ", argv[0]);
    world_open(&world);
    world.broken = broken;
    int status = run(&world, range, command);
    world_close(&world);
    return status;
}

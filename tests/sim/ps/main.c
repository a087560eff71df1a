/* SPDX-License-Identifier: MIT
 *
 * Runs many seeds of the simulated parameter server (ps_simulation.h), `ps
 * --seeds
 * 1..1000`, or one, `ps --seed 17`. `--broken=dedupe` and `--broken=fencing`
 * before these select servers without that rule, which must fail. The first
 * failure is printed with the command that repeats it and the few relevant
 * faults, and the exit status is 1.
 */
#include "ps_simulation.h"

#include "simcluster/common/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void campaign_of(void *cluster, uint64_t seed,
                        struct gw__campaign *campaign)
{
    simcluster_campaign(cluster, seed, campaign);
}

static void print(const struct ps_simulation *w, const struct seeds_sum *sum)
{
    printf("ps: %" PRIu64 " seeds: %" PRIu64 " inputs, %" PRIu64
           " crashes; pushes %" PRIu64 ", pulls %" PRIu64 ", items %" PRIu64
           ", slots moved %" PRIu64 ", declared dead %" PRIu64 ", lost %" PRIu64
           "; digest %016" PRIx64 "\n",
           w->totals.seeds, sum->inputs, sum->crashes, w->totals.pushes,
           w->totals.pulls, w->totals.items, w->totals.moves,
           w->totals.declared_dead, w->totals.lost, sum->digest);
}

/* One seed under the faults of a file, as a failure prints them. */
static int replay(struct ps_simulation *w, uint64_t seed, const char *path)
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
    simcluster_campaign(w, seed, &campaign);
    unsigned nodes = campaign.faults.nodes;
    enum gw_err err = gw__faults_parse(text, bytes, path, nodes, &faults, &why);
    if (!err)
        err = gw__campaign_try(&campaign, seed, &faults, &trial, &why);
    printf("%s\n", err ? why.text : trial.failure.text);
    return err || trial.failure.code;
}

int main(int argc, char **argv)
{
    static struct ps_simulation cluster;
    struct seeds seeds;
    struct seeds_sum sum;
    const char *broken = "";
    if (argc > 1 && strncmp(argv[1], "--broken=", 9) == 0) {
        broken = argv[1] + 9;
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    if (argc == 4 && strcmp(argv[1], "--replay") == 0) {
        simcluster_open(&cluster);
        cluster.broken = broken;
        return replay(&cluster, strtoull(argv[2], NULL, 10), argv[3]);
    }
    if (!seeds_read(argc, argv, &seeds)) {
        fprintf(
            stderr,
            "usage: %s [--seeds FIRST..LAST | --seed N | --replay N FAULTS]\n",
            argv[0]);
        return 64;
    }
    seeds_keep_memory();
    simcluster_open(&cluster);
    cluster.broken = broken;
    int status = seeds_run(&seeds, argv[0], campaign_of, &cluster, &sum);
    if (status == 0)
        print(&cluster, &sum);
    simcluster_close(&cluster);
    return status;
}

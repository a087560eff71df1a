/* SPDX-License-Identifier: MIT
 *
 * Runs many seeds of the simulated ring (ps_simulation.h), `ring --seeds
 * 1..20000`, or one, `ring --seed 17`. `--without epoch-check` before these
 * selects members that accept data of an earlier view, which must fail;
 * `--raft` controllers with libraft's log (simcluster/common/rafts.h);
 * `--trees` the plans of large rings (ring/plans/recover_tree.c). The
 * first failure is printed with the command that repeats it and the few
 * relevant faults, and the exit status is 1.
 */
#include "simcluster/common/rafts.h"
#include "simcluster/common/seeds.h"
#include "simcluster/ring/ring_simcluster.h"

#include <inttypes.h>
#include <stdio.h>

static void campaign_of(void *cluster, uint64_t seed,
                        struct gw__campaign *campaign)
{
    simcluster_campaign(cluster, seed, campaign);
}

static void print(const struct simcluster *w, const struct seeds_sum *sum)
{
    printf("ring: %" PRIu64 " seeds: %" PRIu64 " inputs, %" PRIu64
           " crashes; ops completed %" PRIu64 ", views %" PRIu64 "+%" PRIu64
           ", orders %" PRIu64 ", forward %" PRIu64 ", exclude %" PRIu64
           ", begun anew %" PRIu64 ", gone %" PRIu64
           ", state inherited %" PRIu64 ", lost %" PRIu64 "; digest %016" PRIx64
           "\n",
           w->met.seeds, sum->inputs, sum->crashes, w->met.ops, w->met.admits,
           w->met.removals, w->met.reorders, w->met.forwards, w->met.excludes,
           w->met.begun_anew, w->met.gone, w->met.inherited, w->met.lost,
           sum->digest);
}

enum { PROGRAM_BYTES = 200 };

/* Takes the flag, if it is next, and appends it to the command. */
static bool read_flag(const char *flag, int *argc, char ***argv, char *program)
{
    size_t used = strlen(program);
    if (*argc < 2 || strcmp((*argv)[1], flag) != 0)
        return false;
    snprintf(program + used, PROGRAM_BYTES - used, " %s", flag);
    ++*argv;
    --*argc;
    return true;
}

int main(int argc, char **argv)
{
    static struct simcluster cluster;
    char program[PROGRAM_BYTES];
    struct seeds seeds;
    struct seeds_sum sum;
    bool broken = argc > 2 && strcmp(argv[1], "--without") == 0 &&
                  strcmp(argv[2], "epoch-check") == 0;
    snprintf(program, sizeof program, "%.150s%s", argv[0],
             broken ? " --without epoch-check" : "");
    if (broken) {
        argv += 2;
        argc -= 2;
    }
    bool raft = read_flag("--raft", &argc, &argv, program);
    bool trees = read_flag("--trees", &argc, &argv, program);
    if (!seeds_read(argc, argv, &seeds)) {
        fprintf(
            stderr,
            "usage: %s [--raft] [--trees] [--seeds FIRST..LAST | --seed N]\n",
            program);
        return 64;
    }
    seeds_keep_memory();
    simcluster_open(&cluster, 0);
    cluster.any_epoch = broken;
    cluster.chosen.ring_most = trees ? 1 : 0;
    struct gw_error why;
    if (raft && rafts_open(&cluster.consensus.rafts, &why)) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    int status = seeds_run(&seeds, program, campaign_of, &cluster, &sum);
    if (status == 0)
        print(&cluster, &sum);
    simcluster_close(&cluster);
    return status;
}

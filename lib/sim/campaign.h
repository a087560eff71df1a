/* SPDX-License-Identifier: MIT
 *
 * Many seeds against one protocol. For each seed a network is built, a random
 * fault schedule drawn and the network run to its limit; hooks check what must
 * always hold, and `check` what must have come about at the end. Whatever fails
 * does so by gw__sim_fail.
 *
 * The first seed that fails is reported with the command that repeats it. Then
 * its schedule is shrunk: faults are taken out by delta debugging (Zeller and
 * Hildebrandt, "Simplifying and isolating failure-inducing input", TSE 2002),
 * the rest are made later, shorter, simpler and rounder as long as the run
 * still fails. What remains is printed in the text form of faults.h: the few
 * faults that matter. Any failure counts, so the sentence may change under way;
 * both are reported.
 */
#ifndef GW__SIM_CAMPAIGN_H
#define GW__SIM_CAMPAIGN_H

#include <sim/sim.h>

struct gw__campaign {
    const char *name;
    /* What repeats one seed when its number follows: "tests/x --seed ". */
    const char *command;
    struct gw__fault_profile faults;
    uint64_t limit_ns;  /* how long a run is */
    unsigned runs_most; /* spent on shrinking; 0: 1000 */
    void *context;
    /* Makes the network of `seed`, and the context new for it. */
    enum gw_err (*build)(void *context, uint64_t seed, struct gw__sim **sim,
                         struct gw_error *why);
    /* Looks at the end of a run that has not failed; may be NULL. */
    void (*check)(void *context, struct gw__sim *sim);
};

/* How one run went. */
struct gw__trial {
    struct gw_error failure; /* GW_OK: it did not fail */
    uint64_t hash;
    struct gw__sim_counts counts;
};

struct gw__campaign_result {
    uint64_t seeds;  /* run */
    uint64_t inputs; /* delivered, over all seeds */
    uint64_t crashes;
    uint64_t digest; /* over gw__sim_hash of all: equal runs, equal digests */
    uint64_t seed;   /* the one that failed */
    struct gw_error failure;        /* GW_OK: none */
    struct gw__faults faults;       /* its schedule */
    struct gw__faults fewest;       /* and what is left of it, */
    struct gw_error fewest_failure; /* how that fails, */
    unsigned shrink_runs;           /* and how many runs that took */
};

/* Runs one seed under the given faults. An error only if it could not be run.
 */
GW_MUST_CHECK enum gw_err gw__campaign_try(const struct gw__campaign *campaign,
                                           uint64_t seed,
                                           const struct gw__faults *faults,
                                           struct gw__trial *trial,
                                           struct gw_error *why);
/* Runs the seeds from `first` to `last`, up to the first that fails. GW_OK when
 * none does; GW_EWRONG when one does: then *result has it all, *why the
 * sentence, and `report` (may be NULL) is told. Other errors: it could not be
 * run. */
GW_MUST_CHECK enum gw_err gw__campaign_run(const struct gw__campaign *campaign,
                                           uint64_t first, uint64_t last,
                                           FILE *report,
                                           struct gw__campaign_result *result,
                                           struct gw_error *why);

/* shrink.c: makes *faults, under which `seed` fails with *failure, as few and
 * simple as it can; *failure becomes that of the result. */
GW_MUST_CHECK enum gw_err
gw__campaign_shrink(const struct gw__campaign *campaign, uint64_t seed,
                    struct gw__faults *faults, struct gw_error *failure,
                    unsigned *runs, struct gw_error *why);

#endif

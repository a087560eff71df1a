/* SPDX-License-Identifier: MIT
 *
 * Campaigns: many seeds against one protocol.
 *
 * For each seed a network is built, a random fault schedule is drawn, and the
 * network runs to its time limit. Hooks check the invariants, and `check` the
 * final state. All failures are reported by gw__sim_fail.
 *
 * The first seed that fails is reported with the command that repeats it. Then
 * its schedule is shrunk. Faults are removed by delta debugging (Zeller and
 * Hildebrandt, "Simplifying and isolating failure-inducing input", TSE 2002).
 * The others are made later, shorter, simpler and rounder, as long as the run
 * still fails. The remaining faults, those that matter, are printed in the text
 * form of faults.h. Any failure counts during shrinking, so the error text may
 * change; both texts are reported.
 */
#ifndef GW__SIM_CAMPAIGN_H
#define GW__SIM_CAMPAIGN_H

#include <sim/sim.h>

struct gw__campaign {
    const char *name;
    /* The command that repeats one seed, without the number: "tests/x
     * --seed ". */
    const char *command;
    struct gw__fault_profile faults;
    uint64_t limit_ns;  /* duration of a run */
    unsigned runs_most; /* limit for shrinking; 0: 1000 */
    void *context;
    /* Creates the network for `seed` and resets the context. */
    enum gw_err (*build)(void *context, uint64_t seed, struct gw__sim **sim,
                         struct gw_error *why);
    /* Checks the final state of a run that has not failed; may be NULL. */
    void (*check)(void *context, struct gw__sim *sim);
};

/* The result of one run. */
struct gw__trial {
    struct gw_error failure; /* GW_OK: no failure */
    uint64_t hash;
    struct gw__sim_counts counts;
};

struct gw__campaign_result {
    uint64_t seeds;  /* number of seeds run */
    uint64_t inputs; /* delivered, of all seeds */
    uint64_t crashes;
    /* of gw__sim_hash of all runs; equal runs have equal digests */
    uint64_t digest;
    uint64_t seed;                  /* the failing seed */
    struct gw_error failure;        /* GW_OK: no failure */
    struct gw__faults faults;       /* its schedule */
    struct gw__faults fewest;       /* the shrunk schedule */
    struct gw_error fewest_failure; /* the failure with it */
    unsigned shrink_runs;           /* runs used for shrinking */
};

/* Runs one seed with the given faults. An error only if it could not run. */
GW_MUST_CHECK enum gw_err gw__campaign_try(const struct gw__campaign *campaign,
                                           uint64_t seed,
                                           const struct gw__faults *faults,
                                           struct gw__trial *trial,
                                           struct gw_error *why);
/* Runs the seeds from `first` to `last` until one fails. GW_OK: none failed.
 * GW_EWRONG: one failed; *result has the details, *why the text, and `report`
 * (may be NULL) has been called. Other errors: it could not run. */
GW_MUST_CHECK enum gw_err gw__campaign_run(const struct gw__campaign *campaign,
                                           uint64_t first, uint64_t last,
                                           FILE *report,
                                           struct gw__campaign_result *result,
                                           struct gw_error *why);

/* shrink.c: minimises *faults, with which `seed` fails with *failure. *failure
 * is updated to the failure with the result. */
GW_MUST_CHECK enum gw_err
gw__campaign_shrink(const struct gw__campaign *campaign, uint64_t seed,
                    struct gw__faults *faults, struct gw_error *failure,
                    unsigned *runs, struct gw_error *why);

#endif

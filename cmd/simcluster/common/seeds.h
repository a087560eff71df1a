/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the simulations: seeds from the command line, and one campaign
 * after the other.
 */
#ifndef TESTS_SIM_SEEDS_H
#define TESTS_SIM_SEEDS_H

#include <sim/campaign.h>

struct seeds {
    uint64_t first, last;
};

/* The sums over the networks of all seeds. */
struct seeds_sum {
    uint64_t inputs, crashes;
    uint64_t digest; /* of all delivered messages, in order */
};

/* Runs the campaign of one seed. */
typedef void (*seeds_campaign)(void *simcluster, uint64_t seed,
                               struct gw__campaign *campaign);

/* "FIRST..LAST", or "N". */
bool seeds_parse(const char *text, struct seeds *seeds);
/* "--seeds FIRST..LAST" or "--seed N" in argv[1], argv[2]; else 1..1000. */
bool seeds_read(int argc, char **argv, struct seeds *seeds);
/* Runs them; the first failure is reported with the command that repeats it:
 * `program` and the seed. Returns the exit status. */
int seeds_run(const struct seeds *seeds, const char *program,
              seeds_campaign campaign_of, void *simcluster,
              struct seeds_sum *sum);
/* Keeps memory for the states of all nodes, which are new for every seed. */
void seeds_keep_memory(void);

#endif

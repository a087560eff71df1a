/* SPDX-License-Identifier: MIT
 *
 * See ranks.h. Check's assertions do not work outside of the main thread, so a
 * failing rank prints an error on stderr and ends the process.
 */
#include "ranks.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct start {
    struct gw_comm_config config;
    rank_body body;
    void *context;
};

static void *run_rank(void *argument)
{
    struct start *start = argument;
    struct gw_comm *comm;
    struct gw_error why = {0};
    if (gw_comm_create(&start->config, &comm, &why)) {
        fprintf(stderr, "%s\n", why.text);
        abort();
    }
    start->body(comm, start->context);
    gw_comm_destroy(&comm);
    return NULL;
}

void run_ranks(const struct gw_comm_config *config, unsigned ranks,
               rank_body body, void *context)
{
    static _Atomic unsigned runs;
    char rendezvous[80];
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-test-%d-%u",
             (int)getpid(), atomic_fetch_add(&runs, 1));
    struct start *starts = calloc(ranks, sizeof *starts);
    pthread_t *threads = calloc(ranks, sizeof *threads);
    ck_assert(starts && threads);
    for (unsigned r = 0; r < ranks; r++) {
        starts[r].config = config ? *config : (struct gw_comm_config){0};
        starts[r].config.rank = r;
        starts[r].config.size = ranks;
        starts[r].config.rendezvous = rendezvous;
        starts[r].body = body;
        starts[r].context = context;
        ck_assert_int_eq(
            pthread_create(&threads[r], NULL, run_rank, &starts[r]), 0);
    }
    for (unsigned r = 0; r < ranks; r++)
        pthread_join(threads[r], NULL);
    free(starts);
    free(threads);
}

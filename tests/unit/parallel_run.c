/* SPDX-License-Identifier: MIT
 *
 * See parallel_run.h. Check's assertions work in the main thread only, so a
 * failing rank prints an error and ends the process.
 */
#include "parallel_run.h"

#include "nets.h"
#include "ranks.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 5, ROWS = 240, FEATURES = 16, CLASSES = 4 };

struct run_setup {
    struct parallel_run *run;
    const struct gw_dataset *data;
    const struct gw_network *network;
    struct gw_layout *layout;
    struct gw_schedule *schedule;
};

#define MUST(condition, why)                                                   \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: %s, %s: rank %u: %s (%s)\n", __FILE__,     \
                    __LINE__, setup->run->mesh, setup->schedule->name,         \
                    gw_comm_rank(comm), #condition, why);                      \
            abort();                                                           \
        }                                                                      \
    } while (0)

struct gw_dataset *parallel_data(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *output = open_memstream(&text, &bytes);
    struct gw_rng rng;
    double teacher[FEATURES][CLASSES];
    ck_assert(output);
    gw_rng_seed(&rng, SEED);
    for (unsigned j = 0; j < FEATURES; j++)
        for (unsigned k = 0; k < CLASSES; k++)
            teacher[j][k] = 2 * gw_rng_unit(&rng) - 1;
    for (unsigned i = 0; i < ROWS; i++) {
        double x[FEATURES], scores[CLASSES] = {0};
        unsigned best = 0;
        for (unsigned j = 0; j < FEATURES; j++) {
            bool there = i == 0 || gw_rng_unit(&rng) < 0.7;
            x[j] = there ? 2 * gw_rng_unit(&rng) - 1 : 0;
            for (unsigned k = 0; k < CLASSES; k++)
                scores[k] += teacher[j][k] * x[j];
        }
        for (unsigned k = 1; k < CLASSES; k++)
            best = scores[k] > scores[best] ? k : best;
        fprintf(output, "%u", i < CLASSES ? i : best);
        for (unsigned j = 0; j < FEATURES; j++)
            if (x[j] != 0)
                fprintf(output, " %u:%.6f", j + 1, x[j]);
        fputc('\n', output);
    }
    fclose(output);
    struct gw_dataset *data;
    struct gw_error why;
    ck_assert_msg(gw_libsvm_parse(text, bytes, "made up", GW_BASE_1, &data,
                                  &why) == GW_OK,
                  "%s", why.text);
    free(text);
    return data;
}

/* ---- one rank ---- */

static void expect_counts(const struct run_setup *setup, struct gw_comm *comm,
                          const struct gw_parallel *parallel, unsigned steps)
{
    const struct gw_mesh *mesh = &setup->layout->options.mesh;
    unsigned stage = gw_comm_rank(comm) / (mesh->tensor * mesh->data);
    struct gw_layout_price price;
    struct gw_parallel_counts counts;
    gw_layout_price(setup->layout, stage, &price);
    gw_parallel_counts(parallel, &counts);
    const struct {
        const char *what;
        uint64_t counted, priced;
    } pairs[] = {
        {"steps", counts.steps, steps},
        {"tensor bytes", counts.tensor_bytes,
         steps * (price.tensor_forward_bytes + price.tensor_backward_bytes +
                  price.tensor_weight_bytes)},
        {"data bytes", counts.data_bytes, steps * price.data_bytes},
        {"pipe bytes", counts.pipe_bytes, steps * price.pipe_bytes},
        {"collectives", counts.tensor_collectives,
         (uint64_t)steps * setup->layout->options.micros *
             price.tensor_collectives},
        {"parameters", counts.parameter_bytes, price.parameter_bytes},
        {"gradients", counts.gradient_bytes, price.gradient_bytes},
        {"optimiser", counts.optimiser_bytes, price.optimiser_bytes},
        {"gathered", counts.gathered_bytes, price.gathered_bytes},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bool sent = strstr(pairs[i].what, " bytes") != NULL;
        char text[120];
        snprintf(text, sizeof text, "%s: counted %llu, priced %llu",
                 pairs[i].what, (unsigned long long)pairs[i].counted,
                 (unsigned long long)pairs[i].priced);
        MUST(pairs[i].counted == pairs[i].priced ||
                 (sent && setup->run->uncounted),
             text);
    }
}

static struct gw_parallel *new_trainer(const struct run_setup *setup,
                                       struct gw_comm *comm)
{
    const struct parallel_run *run = setup->run;
    struct gw_parallel_config config = {.comm = comm,
                                        .layout = setup->layout,
                                        .schedule = setup->schedule,
                                        .optimiser = run->optimiser,
                                        .rate = run->rate > 0 ? run->rate : 0.1,
                                        .momentum = 0.9,
                                        .seed = SEED,
                                        .bucket_bytes = run->bucket_bytes,
                                        .overlap = run->overlap,
                                        .events = run->events,
                                        .algo = run->algo};
    struct gw_parallel *made;
    struct gw_error why;
    MUST(gw_parallel_new(&config, &made, &why) == GW_OK, why.text);
    MUST((gw_parallel_pipe(made) != NULL) ==
             (setup->layout->options.mesh.pipe > 1),
         "a pipeline");
    return made;
}

/* A new trainer that continues from the state of this one. */
static void replace(const struct run_setup *setup, struct gw_comm *comm,
                    struct gw_parallel **parallel)
{
    struct gw_error why = {0};
    size_t bytes = gw_parallel_state_bytes(*parallel);
    void *state = malloc(bytes);
    MUST(state, "memory");
    gw_parallel_save(*parallel, state);
    gw_parallel_destroy(parallel);
    *parallel = new_trainer(setup, comm);
    ((char *)state)[bytes - 1] ^= 1;
    MUST(gw_parallel_restore(*parallel, state, bytes, NULL) == GW_EDATA,
         "damage is seen");
    ((char *)state)[bytes - 1] ^= 1;
    MUST(gw_parallel_restore(*parallel, state, bytes - 1, NULL) == GW_EDATA,
         "what is missing, too");
    MUST(gw_parallel_restore(*parallel, state, bytes, &why) == GW_OK, why.text);
    free(state);
}

static void train(struct gw_comm *comm, void *context)
{
    const struct run_setup *setup = context;
    struct parallel_run *run = setup->run;
    struct gw_parallel *parallel = new_trainer(setup, comm);
    struct gw_order order;
    struct gw_error why;
    struct gw_parallel_report report;
    MUST(gw_order_init(&order, setup->data->rows, run->batch, SEED, &why) ==
             GW_OK,
         why.text);
    size_t batches = setup->data->rows / run->batch; /* whole ones */
    for (unsigned s = 0; s < run->steps; s++) {
        if (s % batches == 0)
            gw_order_shuffle(&order, (unsigned)(s / batches));
        if (run->save_at && s == run->save_at)
            replace(setup, comm, &parallel);
        MUST(gw_parallel_step(parallel, setup->data,
                              order.row + s % batches * run->batch, &report,
                              &why) == GW_OK,
             why.text);
        if (gw_comm_rank(comm) == 0)
            run->losses[s] = report.loss;
        double mine = report.loss, all = 0;
        MUST(gw_allreduce(comm, &mine, &all, 1, GW_F64, GW_MAX) == GW_OK,
             "compare");
        MUST(all == mine, "all ranks have the same loss");
    }
    expect_counts(setup, comm, parallel, run->steps - run->save_at);
    MUST(gw_parallel_evaluate(parallel, setup->data, &report, &why) == GW_OK,
         why.text);
    expect_counts(setup, comm, parallel, run->steps - run->save_at);
    if (gw_comm_rank(comm) == 0) {
        run->last_loss = report.loss;
        run->last_right = report.right;
    }
    gw_order_fini(&order);
    gw_parallel_destroy(&parallel);
}

/* ---- all of them ---- */

void parallel_train(struct parallel_run *run, const struct gw_dataset *data)
{
    struct gw_error why;
    struct gw_network *network = net_of(run->network);
    struct gw_layout_options options = {.mode = run->mode,
                                        .shard_group = run->group,
                                        .batch = run->batch,
                                        .micros = run->micros,
                                        .chunks = run->chunks,
                                        .optimiser_words =
                                            gw_optimiser_words(run->optimiser)};
    struct run_setup setup = {.run = run, .data = data, .network = network};
    run->mesh = run->mesh ? run->mesh : "1x1x1";
    ck_assert_msg(gw_mesh_parse(run->mesh, &options.mesh, &why) == GW_OK, "%s",
                  why.text);
    ck_assert_msg(gw_layout_new(network, &options, &setup.layout, &why) ==
                      GW_OK,
                  "%s", why.text);
    ck_assert_msg(gw_schedule_make(run->schedule ? run->schedule : "gpipe",
                                   options.mesh.pipe, run->micros, run->chunks,
                                   &setup.schedule, &why) == GW_OK,
                  "%s", why.text);
    struct gw_comm_config config = {.wire = run->wire};
    run_ranks(&config, gw_mesh_size(&options.mesh), train, &setup);
    gw_schedule_destroy(&setup.schedule);
    gw_layout_destroy(&setup.layout);
    gw_network_destroy(&network);
}

void parallel_agrees(struct parallel_run *run, const struct gw_dataset *data)
{
    struct parallel_run alone = {.network = run->network,
                                 .micros = 1,
                                 .chunks = 1,
                                 .batch = run->batch,
                                 .steps = run->steps,
                                 .optimiser = run->optimiser,
                                 .rate = run->rate};
    parallel_train(&alone, data);
    parallel_train(run, data);
    ck_assert_double_lt(alone.losses[run->steps - 1], alone.losses[0]);
    for (unsigned s = 0; s < run->steps; s++)
        ck_assert_msg(fabs(run->losses[s] - alone.losses[s]) <=
                          1e-5 * alone.losses[s],
                      "%s, %s, step %u: loss %.9g, one process %.9g (seed %d)",
                      run->mesh, run->schedule ? run->schedule : "gpipe", s,
                      run->losses[s], alone.losses[s], SEED);
    ck_assert_msg(fabs(run->last_loss - alone.last_loss) <=
                      1e-5 * alone.last_loss,
                  "%s: evaluated %.9g, one process %.9g", run->mesh,
                  run->last_loss, alone.last_loss);
    ck_assert_uint_eq(run->last_right, alone.last_right);
}

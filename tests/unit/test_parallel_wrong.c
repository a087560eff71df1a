/* SPDX-License-Identifier: MIT
 *
 * Errors of a trainer: the configurations that it refuses, and a rank that
 * fails in the middle of a step. Every rank gets an error with its location,
 * and none waits forever.
 */
#include "learn/network/product.h"
#include "nets.h"
#include "parallel_run.h"
#include "ranks.h"
#include "schedules.h"

#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_parallel_wrong(void);

#define NET                                                                    \
    "network small\ninput 16\ndense 8\nrelu\ndense 8\ntanh\ndense "            \
    "4\nsoftmax\n"

enum { BATCH = 24, SEED = 3 };

/* The state shared by the ranks of a test. */
struct scene {
    struct gw_dataset *data;
    struct gw_network *network;
    struct gw_layout *layout;
    struct gw_schedule *schedule;
    uint32_t rows[BATCH];
    double rate;
    unsigned bad_rank;
    _Atomic unsigned failed;   /* ranks with an error */
    struct gw_error errors[4]; /* by rank */
};

static void scene_init(struct scene *scene, struct gw_mesh mesh,
                       const char *schedule, unsigned micros)
{
    struct gw_layout_options options = {
        .mesh = mesh, .batch = BATCH, .micros = micros};
    *scene = (struct scene){.data = parallel_data(), .network = net_of(NET)};
    scene->layout = layout_of(scene->network, options);
    scene->schedule = schedule_made(schedule, mesh.pipe, micros, 1);
    for (uint32_t i = 0; i < BATCH; i++)
        scene->rows[i] = i;
    scene->rate = 0.1;
}

static void scene_fini(struct scene *scene)
{
    gw_schedule_destroy(&scene->schedule);
    gw_layout_destroy(&scene->layout);
    gw_network_destroy(&scene->network);
    gw_dataset_destroy(&scene->data);
}

static struct gw_parallel_config config_of(const struct scene *scene,
                                           struct gw_comm *comm)
{
    return (struct gw_parallel_config){.comm = comm,
                                       .layout = scene->layout,
                                       .schedule = scene->schedule,
                                       .rate = scene->rate,
                                       .seed = SEED};
}

#define MUST(condition, text)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: rank %u: %s (%s)\n", __FILE__, __LINE__,   \
                    gw_comm_rank(comm), #condition, text);                     \
            abort();                                                           \
        }                                                                      \
    } while (0)

static struct gw_parallel *trainer_of(struct gw_comm *comm,
                                      const struct gw_parallel_config *config)
{
    struct gw_parallel *parallel;
    struct gw_error why;
    MUST(gw_parallel_new(config, &parallel, &why) == GW_OK, why.text);
    return parallel;
}

/* Runs `body` on all ranks of the mesh. */
static void play(struct gw_mesh mesh, const char *schedule, unsigned micros,
                 rank_body body)
{
    struct scene scene;
    scene_init(&scene, mesh, schedule, micros);
    run_ranks(NULL, gw_mesh_size(&mesh), body, &scene);
    scene_fini(&scene);
}

/* ---- refused configurations ---- */

static void expect_refusal(struct gw_comm *comm,
                           const struct gw_parallel_config *config,
                           const char *words)
{
    struct gw_parallel *parallel;
    struct gw_error why = {0};
    MUST(gw_parallel_new(config, &parallel, &why) == GW_EINVAL, why.text);
    MUST(parallel == NULL, why.text);
    MUST(strstr(why.text, words) != NULL, why.text);
}

static void misfits(struct gw_comm *comm, void *context)
{
    struct scene *scene = context;
    struct gw_parallel_config config = config_of(scene, comm);
    struct gw_schedule *other;
    config.optimiser = GW_ADAM;
    expect_refusal(comm, &config, "an optimiser with 0 numbers per parameter");
    config = config_of(scene, comm);
    config.algo = "magic";
    expect_refusal(comm, &config,
                   "\"magic\" is not an all-reduce algorithm; collrun list "
                   "allreduce lists "
                   "them");
    config = config_of(scene, comm);
    MUST(gw_schedule_make("gpipe", 1, 2, 1, &other, NULL) == GW_OK, "make");
    config.schedule = other;
    expect_refusal(comm, &config, "the schedule gpipe has 1 stages, 2 micro");
    gw_schedule_destroy(&other);
}

START_TEST(what_does_not_fit_is_refused)
{
    play((struct gw_mesh){1, 1, 1}, "gpipe", 1, misfits);
}
END_TEST

static void too_few(struct gw_comm *comm, void *context)
{
    struct gw_parallel_config config = config_of(context, comm);
    expect_refusal(comm, &config,
                   "the mesh 2x1x1 has 2 ranks, but the communicator has 1");
}

START_TEST(a_mesh_has_as_many_ranks_as_there_are)
{
    struct scene scene;
    scene_init(&scene, (struct gw_mesh){2, 1, 1}, "gpipe", 1);
    run_ranks(NULL, 1, too_few, &scene);
    scene_fini(&scene);
}
END_TEST

static void use_other_data(struct gw_comm *comm, void *context)
{
    struct scene *scene = context;
    struct gw_parallel_config config = config_of(scene, comm);
    struct gw_parallel *parallel = trainer_of(comm, &config);
    struct gw_parallel_report report;
    struct gw_error why;
    struct gw_dataset wide = *scene->data, many = *scene->data;
    wide.features = 17;
    many.class_count = 5;
    MUST(gw_parallel_step(parallel, &wide, scene->rows, &report, &why) ==
             GW_EINVAL,
         "wide");
    MUST(strstr(why.text, "17 features, but small needs 16"), why.text);
    MUST(gw_parallel_evaluate(parallel, &many, &report, &why) == GW_EINVAL,
         "many");
    MUST(strstr(why.text, "5 classes, but small has 4"), why.text);
    scene->rows[BATCH - 1] = 240;
    MUST(gw_parallel_step(parallel, scene->data, scene->rows, &report, &why) ==
             GW_EINVAL,
         "a row too far");
    MUST(strstr(why.text, "has row 240, but the data has only 240 rows"),
         why.text);
    scene->rows[BATCH - 1] = 239;
    MUST(gw_parallel_step(parallel, scene->data, scene->rows, &report, &why) ==
             GW_OK,
         why.text);
    gw_parallel_destroy(&parallel);
    gw_parallel_destroy(&parallel); /* no trainer */
}

START_TEST(data_that_does_not_fit)
{
    play((struct gw_mesh){1, 1, 1}, "gpipe", 2, use_other_data);
}
END_TEST

/* ---- a training that diverges ---- */

static void explode(struct gw_comm *comm, void *context)
{
    struct scene *scene = context;
    struct gw_parallel_config config = config_of(scene, comm);
    struct gw_parallel *parallel = trainer_of(comm, &config);
    struct gw_parallel_report report;
    struct gw_error why = {0};
    enum gw_err err = GW_OK;
    for (unsigned s = 0; !err && s < 20; s++)
        err =
            gw_parallel_step(parallel, scene->data, scene->rows, &report, &why);
    MUST(err == GW_EWRONG && why.code == GW_EWRONG, why.text);
    MUST(!strncmp(why.text, "training diverges in step ", 26), why.text);
    scene->errors[gw_comm_rank(comm)] = why;
    atomic_fetch_add(&scene->failed, 1);
    gw_parallel_destroy(&parallel);
}

/* With every kernel of matrix products, since each has its infinities and NaNs
 * in other places. All ranks stop in the same step with the same error. */
START_TEST(a_rate_too_high)
{
    static const struct gw_mesh meshes[] = {
        {2, 1, 2}, {1, 2, 2}, {2, 2, 1}, {4, 1, 1}};
    static const double rates[] = {1e30, 1e38, 1e300};
    const struct gw__product_kind *kind = gw__product_kinds()[_i];
    if (!gw__product_select(kind->name))
        return;
    for (unsigned i = 0; i < 12; i++) {
        struct scene scene;
        scene_init(&scene, meshes[i / 3], "1f1b", 2);
        scene.rate = rates[i % 3];
        run_ranks(NULL, 4, explode, &scene);
        ck_assert_uint_eq(scene.failed, 4);
        for (unsigned rank = 1; rank < 4; rank++)
            ck_assert_str_eq(scene.errors[rank].text, scene.errors[0].text);
        scene_fini(&scene);
    }
    ck_assert(gw__product_select(NULL));
}
END_TEST

/* ---- a rank that leaves ---- */

/* The bad rank leaves after two steps; the others are in the third. */
static void leave(struct gw_comm *comm, void *context)
{
    struct scene *scene = context;
    struct gw_parallel_config config = config_of(scene, comm);
    struct gw_parallel *parallel = trainer_of(comm, &config);
    struct gw_parallel_report report;
    struct gw_error why = {0};
    enum gw_err err = GW_OK;
    unsigned steps = gw_comm_rank(comm) == scene->bad_rank ? 2 : 1000;
    for (unsigned s = 0; !err && s < steps; s++) {
        why.text[0] = 0;
        err =
            gw_parallel_step(parallel, scene->data, scene->rows, &report, &why);
        MUST(!err || s == 2, why.text);
    }
    if (err) {
        MUST(why.code == err && why.text[0], "an error says what it is");
        atomic_fetch_add(&scene->failed, 1);
    }
    gw_parallel_destroy(&parallel);
    if (gw_comm_rank(comm) == scene->bad_rank)
        gw_comm_abort(comm, GW_ELOST, "rank left on purpose");
}

START_TEST(all_learn_of_a_rank_that_leaves)
{
    static const struct gw_mesh meshes[] = {{4, 1, 1}, {1, 4, 1}, {1, 1, 4},
                                            {2, 2, 1}, {2, 1, 2}, {1, 2, 2}};
    struct scene scene;
    scene_init(&scene, meshes[_i], "1f1b", 2);
    scene.bad_rank = 3 - (unsigned)_i % 4;
    run_ranks(NULL, 4, leave, &scene);
    ck_assert_uint_eq(scene.failed, 3);
    scene_fini(&scene);
}
END_TEST

/* ---- states of others ---- */

static void *state_of(struct gw_comm *comm, struct gw_parallel_config *config,
                      size_t *bytes)
{
    struct gw_parallel *parallel = trainer_of(comm, config);
    *bytes = gw_parallel_state_bytes(parallel);
    void *state = malloc(*bytes);
    MUST(state, "memory");
    gw_parallel_save(parallel, state);
    gw_parallel_destroy(&parallel);
    return state;
}

static void expect_stranger(struct gw_comm *comm, struct gw_parallel *parallel,
                            void *state, size_t bytes, const char *words)
{
    struct gw_error why = {0};
    MUST(gw_parallel_restore(parallel, state, bytes, &why) == GW_EDATA,
         why.text);
    MUST(strstr(why.text, words), why.text);
    free(state);
}

static void strangers(struct gw_comm *comm, void *context)
{
    struct scene *scene = context;
    struct gw_parallel_config config = config_of(scene, comm), other = config;
    struct gw_layout_options options = scene->layout->options;
    struct gw_network *network = net_of("network n\ninput 16\ndense 4\n"
                                        "softmax\n");
    struct gw_layout *layout;
    struct gw_parallel *parallel = trainer_of(comm, &config);
    struct gw_error why;
    size_t bytes;
    other.seed++;
    void *state = state_of(comm, &other, &bytes);
    expect_stranger(comm, parallel, state, bytes,
                    "has seed 4, but this trainer has seed 3");
    other = config;
    MUST(gw_layout_new(network, &options, &layout, &why) == GW_OK, why.text);
    other.layout = layout;
    state = state_of(comm, &other, &bytes);
    expect_stranger(comm, parallel, state, bytes, "another layout");
    state = calloc(1, bytes);
    MUST(state, "memory");
    expect_stranger(comm, parallel, state, bytes, "not the state of a trainer");
    state = calloc(1, bytes);
    expect_stranger(comm, parallel, state, 10, "10 bytes is too short");
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
    gw_parallel_destroy(&parallel);
}

START_TEST(states_of_other_trainers)
{
    play((struct gw_mesh){1, 1, 1}, "gpipe", 1, strangers);
}
END_TEST

/* Each stage tries to load the state of the other. */
static void swap(struct gw_comm *comm, void *context)
{
    struct gw_parallel_config config = config_of(context, comm);
    unsigned stage = gw_comm_rank(comm);
    struct gw_parallel *parallel = trainer_of(comm, &config);
    uint64_t mine = gw_parallel_state_bytes(parallel), sizes[2];
    MUST(gw_allgather(comm, &mine, sizes, 1, GW_U64) == GW_OK, "sizes");
    size_t counts[2] = {sizes[0], sizes[1]};
    char *state = malloc(mine), *all = malloc(sizes[0] + sizes[1]);
    void *theirs = malloc(sizes[1 - stage]);
    MUST(state && all && theirs, "memory");
    gw_parallel_save(parallel, state);
    MUST(gw_allgatherv(comm, state, all, counts, NULL, GW_U8) == GW_OK,
         "states");
    memcpy(theirs, all + (stage == 0 ? sizes[0] : 0), sizes[1 - stage]);
    char words[80];
    snprintf(words, sizeof words, "is of stage %u, tensor place 0", 1 - stage);
    expect_stranger(comm, parallel, theirs, sizes[1 - stage], words);
    free(state);
    free(all);
    gw_parallel_destroy(&parallel);
}

START_TEST(states_of_other_stages)
{
    play((struct gw_mesh){1, 1, 2}, "1f1b", 2, swap);
}
END_TEST

Suite *suite_parallel_wrong(void)
{
    Suite *suite = suite_create("parallel_wrong");
    TCase *refused = tcase_create("parallel_refused");
    tcase_add_test(refused, what_does_not_fit_is_refused);
    tcase_add_test(refused, a_mesh_has_as_many_ranks_as_there_are);
    tcase_add_test(refused, data_that_does_not_fit);
    tcase_add_test(refused, states_of_other_trainers);
    tcase_add_test(refused, states_of_other_stages);
    suite_add_tcase(suite, refused);
    TCase *failed = tcase_create("parallel_failed");
    tcase_add_loop_test(failed, a_rate_too_high, 0, 3);
    tcase_add_loop_test(failed, all_learn_of_a_rank_that_leaves, 0, 6);
    suite_add_tcase(suite, failed);
    return suite;
}

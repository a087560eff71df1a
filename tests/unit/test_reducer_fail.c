/* SPDX-License-Identifier: MIT
 *
 * Errors of gradient buckets, and the error on every rank: a tensor without a
 * gradient, one that is ready twice, ranks that differ, a rank that gives up,
 * and one that dies.
 */
#include "reducer_model.h"

#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_reducer_fail(void);

static void refuse(struct gw_comm *comm, void *context)
{
    static const struct {
        struct gw_reducer_config config; /* tensors: those of the model */
        const char *sentence;
    } cases[] = {
        {{.tensor_count = 0, .type = GW_F32},
         "reducer: the list of tensors is empty"},
        {{.tensor_count = 2, .type = GW_F32},
         "reducer: tensor 1 has no memory: every tensor needs memory and at "
         "least one element"},
        {{.tensor_count = 1, .type = GW_F32, .op = GW_MAX},
         "reducer: gradients must be reduced by sum or avg, not max"},
        {{.tensor_count = 1, .type = (enum gw_dtype)99},
         "reducer: unknown type 99"},
    };
    float one = 1;
    const struct gw_reducer_tensor tensors[2] = {{"w", &one, 1},
                                                 {"b", NULL, 1}};
    (void)context;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_reducer_config config = cases[i].config;
        struct gw_reducer *reducer;
        struct gw_error why;
        config.tensors = tensors;
        MUST(gw_reducer_new(comm, &config, &reducer, &why) == GW_EINVAL);
        MUST(!reducer);
        MUST(strcmp(why.text, cases[i].sentence) == 0);
    }
}

START_TEST(configurations_that_are_refused)
{
    run_ranks(NULL, 1, refuse, NULL);
}
END_TEST

/* A refused call changes nothing. */
static void twice(struct gw_comm *comm, void *context)
{
    struct reducer_model model;
    struct gw_error why;
    (void)context;
    reducer_model_init(&model, comm, true);
    struct gw_reducer *reducer =
        reducer_model_reducer(comm, &model, GW_SUM, 500);
    for (unsigned i = 0; i < TENSORS; i++)
        reducer_model_ready(comm, reducer, &model, 0, i);
    MUST(gw_reducer_ready(reducer, 4, &why) == GW_EINVAL);
    MUST(strcmp(why.text, "reducer: w3 is ready twice in one step; report each "
                          "tensor once") == 0);
    MUST(gw_reducer_ready(reducer, TENSORS, &why) == GW_EINVAL);
    MUST(strcmp(why.text, "reducer: tensor 7 is ready, but there are only 7 "
                          "tensors, numbered from 0") == 0);
    MUST(gw_reducer_wait(reducer, &why) == GW_OK);
    MUST(reducer_model_is_reduced(&model, 0, false));
    reducer_model_fini(&model, &reducer);
}

START_TEST(a_tensor_is_ready_once)
{
    run_ranks(NULL, 2, twice, NULL);
}
END_TEST

/* One rank's loss does not depend on two of the parameters. */
static void unused(struct gw_comm *comm, void *context)
{
    static const char *const sentence =
        "reducer: rank 1 waits, but 2 of 7 tensors have no gradient in this "
        "step: b1, w3; report every tensor";
    struct reducer_model model;
    struct gw_error why = {0};
    enum gw_err err = GW_OK;
    (void)context;
    struct gw_comm *twin = twin_of(comm);
    reducer_model_init(&model, twin, true);
    struct gw_reducer *reducer =
        reducer_model_reducer(twin, &model, GW_AVG, 500);
    for (unsigned i = TENSORS; !err && i-- > 0;)
        if (model.rank != 1 || (i != 1 && i != 4))
            err = gw_reducer_ready(reducer, i, &why);
    if (!err)
        err = gw_reducer_wait(reducer, &why);
    MUST(err == GW_EINVAL);
    MUST(strstr(why.text, sentence));
    MUST(gw_reducer_ready(reducer, 0, &why) == GW_EINVAL);
    MUST(strstr(why.text, sentence));
    reducer_model_fini(&model, &reducer);
    MUST(gw_barrier(comm) == GW_OK);
    gw_comm_destroy(&twin);
}

START_TEST(unused_tensors_are_named)
{
    on_wire(_i, 3, 0, unused, NULL);
}
END_TEST

/* Other sizes are other buckets. */
static void disagree(struct gw_comm *comm, void *context)
{
    struct reducer_model model;
    struct gw_error why = {0};
    enum gw_err err = GW_OK;
    (void)context;
    struct gw_comm *twin = twin_of(comm);
    reducer_model_init(&model, twin, true);
    struct gw_reducer *reducer =
        reducer_model_reducer(twin, &model, GW_SUM, gw_comm_rank(comm) ? 1 : 0);
    for (unsigned i = TENSORS; !err && i-- > 0;)
        err = gw_reducer_ready(reducer, i, &why);
    if (!err)
        err = gw_reducer_wait(reducer, &why);
    MUST(err == GW_EMISMATCH);
    MUST(strncmp(why.text, "reducer: bucket ", 16) == 0);
    reducer_model_fini(&model, &reducer);
    MUST(gw_barrier(comm) == GW_OK);
    gw_comm_destroy(&twin);
}

START_TEST(buckets_that_differ)
{
    on_wire(_i, 2, 0, disagree, NULL);
}
END_TEST

static void give_up(struct gw_comm *comm, void *context)
{
    struct reducer_model model;
    struct gw_error why = {0};
    (void)context;
    struct gw_comm *twin = twin_of(comm);
    reducer_model_init(&model, twin, false);
    struct gw_reducer *reducer =
        reducer_model_reducer(twin, &model, GW_SUM, 500);
    enum gw_err err = gw_reducer_ready(reducer, TENSORS - 1, &why);
    for (unsigned i = TENSORS - 1; !err && model.rank > 0 && i-- > 0;)
        err = gw_reducer_ready(reducer, i, &why);
    if (!err && model.rank > 0)
        err = gw_reducer_wait(reducer, &why);
    MUST(err == (model.rank > 0 ? GW_ECLOSED : GW_OK));
    MUST(model.rank == 0 || strstr(why.text, "during a step"));
    reducer_model_fini(&model, &reducer);
    MUST(gw_barrier(comm) == GW_OK);
    gw_comm_destroy(&twin);
}

START_TEST(freed_in_the_midst)
{
    on_wire(_i, 3, 0, give_up, NULL);
}
END_TEST

/* ---- a rank dies ---- */

enum { RANKS = 3, VICTIM = 1 };

/* The exit status of a survivor: 0 if it got the expected error. */
static int survive(struct gw_comm *comm, struct gw_reducer *reducer,
                   const struct reducer_model *model)
{
    struct gw_error why = {0};
    enum gw_err err = GW_OK;
    for (unsigned step = 1; !err; step++) {
        for (unsigned i = TENSORS; !err && i-- > 0;) {
            reducer_model_compute(model, step, i);
            err = gw_reducer_ready(reducer, i, &why);
            if (model->rank == VICTIM && step == 3 && i == 3)
                raise(SIGKILL);
        }
        if (!err)
            err = gw_reducer_wait(reducer, &why);
    }
    fprintf(stderr, "rank %u: %s\n", gw_comm_rank(comm), why.text);
    return err == GW_ELOST && strstr(why.text, "rank 1") &&
                   strncmp(why.text, "reducer: bucket ", 16) == 0
               ? 0
               : 1;
}

static int be_rank(unsigned rank, const char *rendezvous)
{
    const struct gw_comm_config config = {
        .rank = rank, .size = RANKS, .rendezvous = rendezvous};
    struct gw_comm *comm;
    struct gw_error why;
    struct reducer_model model;
    if (gw_comm_create(&config, &comm, &why)) {
        fprintf(stderr, "%s\n", why.text);
        return 3;
    }
    reducer_model_init(&model, comm, rank % 2);
    struct gw_reducer *reducer =
        reducer_model_reducer(comm, &model, GW_AVG, 500);
    int status = survive(comm, reducer, &model);
    reducer_model_fini(&model, &reducer);
    gw_comm_destroy(&comm);
    return status;
}

START_TEST(survivors_learn_who_died)
{
    char rendezvous[80];
    pid_t pids[RANKS];
    int status;
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-reducer-%d",
             (int)getpid());
    for (unsigned r = 0; r < RANKS; r++) {
        pids[r] = fork();
        ck_assert_int_ge(pids[r], 0);
        if (pids[r] == 0)
            _exit(be_rank(r, rendezvous));
    }
    for (unsigned r = 0; r < RANKS; r++) {
        ck_assert_int_eq(waitpid(pids[r], &status, 0), pids[r]);
        if (r == VICTIM)
            ck_assert(WIFSIGNALED(status));
        else
            ck_assert_msg(status == 0, "rank %u ended with status %x", r,
                          (unsigned)status);
    }
}
END_TEST

Suite *suite_reducer_fail(void)
{
    Suite *suite = suite_create("reducer fail");
    TCase *tcase = tcase_create("failures");
    tcase_add_test(tcase, configurations_that_are_refused);
    tcase_add_test(tcase, a_tensor_is_ready_once);
    tcase_add_loop_test(tcase, unused_tensors_are_named, 0, WIRES);
    tcase_add_loop_test(tcase, buckets_that_differ, 0, WIRES);
    tcase_add_loop_test(tcase, freed_in_the_midst, 0, WIRES);
    tcase_add_test(tcase, survivors_learn_who_died);
    suite_add_tcase(suite, tcase);
    return suite;
}

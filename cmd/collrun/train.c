/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `collrun train`: a model learnt from real rows by several ranks that
 * all-reduce their gradients. This file reads the options and the files,
 * chooses and prices the all-reduce, and starts the ranks; read on in train.h.
 */
#include "train.h"

#include "collrun.h"
#include "common/placed.h"
#include "plan_source.h"

#include <math.h>
#include <string.h>

static struct options {
    const char *test, *algo, *wire, *scale, *schedule;
    unsigned ranks, batch, epochs;
    double rate, l2, momentum;
    bool full_batch;
} options = {
    .algo = "auto",
    .scale = "max",
    .schedule = "cosine",
    .batch = 64,
    .epochs = 20,
    .rate = 0.5,
    .l2 = 1e-4,
    .momentum = 0.9,
};

static const struct option_spec specs[] = {
    {"test", 't', OPTION_TEXT, &options.test, "FILE",
     "rows to judge the finished model by", NULL},
    {"ranks", 'n', OPTION_UNSIGNED, &options.ranks, "N",
     "processes that share each batch (default 4, or those of mpirun and its "
     "like)",
     NULL},
    {"algo", 'a', OPTION_TEXT, &options.algo, "NAME",
     "all-reduce algorithm (see collrun list allreduce), or auto", NULL},
    {"wire", 'w', OPTION_CHOICE, &options.wire, "WIRE",
     "shm, ipc or tcp (default shm)", "shm|ipc|tcp"},
    {"batch", 'b', OPTION_UNSIGNED, &options.batch, "ROWS",
     "rows a step, of all ranks together", NULL},
    {"full-batch", 0, OPTION_FLAG, &options.full_batch, NULL,
     "all rows in each step", NULL},
    {"epochs", 'E', OPTION_UNSIGNED, &options.epochs, "N",
     "times that each row is seen", NULL},
    {"lr", 0, OPTION_REAL, &options.rate, "RATE", "learning rate", NULL},
    {"schedule", 0, OPTION_CHOICE, &options.schedule, "HOW",
     "the rate falls to 0 along a cosine, or is constant", "cosine|constant"},
    {"momentum", 0, OPTION_REAL, &options.momentum, "M",
     "share of the last step's velocity that is kept", NULL},
    {"l2", 0, OPTION_REAL, &options.l2, "L",
     "weight decay: the loss has L/2 times the squared weights", NULL},
    {"scale", 0, OPTION_CHOICE, &options.scale, "HOW",
     "max: divide all values by the largest; none: as they are", "max|none"},
    PLACED_OPTIONS,
    {0},
};

static enum gw_err check_options(struct gw_error *why)
{
    const struct options *o = &options;
    if (o->batch == 0)
        return gw_fail(why, GW_EINVAL, "--batch is at least 1");
    if (o->epochs == 0)
        return gw_fail(why, GW_EINVAL, "--epochs is at least 1");
    if (o->rate <= 0)
        return gw_fail(why, GW_EINVAL, "--lr is above 0, not %g", o->rate);
    if (o->l2 < 0)
        return gw_fail(why, GW_EINVAL, "--l2 is at least 0, not %g", o->l2);
    if (o->momentum < 0 || o->momentum >= 1)
        return gw_fail(why, GW_EINVAL,
                       "--momentum is from 0 to below 1, not %g", o->momentum);
    return GW_OK;
}

static enum gw_err load_test(struct training *t, struct gw_error *why)
{
    if (!t->test_path)
        return GW_OK;
    enum gw_index_base base = t->train->index_base ? GW_BASE_1 : GW_BASE_0;
    enum gw_err code = gw_libsvm_load(t->test_path, base, &t->test, why);
    if (code)
        return code;
    code = gw_dataset_match(t->test, t->train, &t->ignored, why);
    return code ? gw_wrap(why, code, "%s", t->test_path) : GW_OK;
}

/* One factor for all values keeps what is zero, and which rows are alike. */
static void scale(struct training *t)
{
    float largest = gw_dataset_largest(t->train);
    t->factor = 1;
    if (strcmp(options.scale, "none") == 0 || !(largest > 0))
        return;
    t->factor = 1 / largest;
    if (!isfinite(t->factor))
        t->factor = 1; /* nothing but denormals */
    gw_dataset_scale(t->train, t->factor);
    if (t->test)
        gw_dataset_scale(t->test, t->factor);
}

static enum gw_err load(struct training *t, struct gw_error *why)
{
    struct gw_model *model;
    progress("reading %s", t->data_path);
    enum gw_err code =
        gw_libsvm_load(t->data_path, GW_BASE_AUTO, &t->train, why);
    if (!code)
        code = load_test(t, why);
    if (code)
        return code;
    scale(t);
    code = gw_model_new(t->kind, t->train, &model, why);
    if (code)
        return gw_wrap(why, code, "%s", t->data_path);
    t->vector_length = model->parameter_count + EXTRAS;
    gw_model_destroy(&model);
    return GW_OK;
}

/* Chooses the algorithm here, so that the ranks agree and it can be told. */
static enum gw_err price(struct training *t, struct gw_error *why)
{
    struct gw_candidate best;
    struct gw_wire_costs costs;
    struct gw_plan *plan;
    bool measured;
    const struct gw_algo *named = NULL;
    bool chosen = strcmp(options.algo, "auto") != 0;
    if (chosen && plan_algo(GW_ALLREDUCE, options.algo, &named, why))
        return why->code;
    if (named)
        t->algo = named->name;
    else if (t->ranks > 1 &&
             gw_choose(t->wire, GW_ALLREDUCE, t->ranks, t->vector_length,
                       sizeof(float), &best, 1) > 0)
        t->algo = best.algo->name;
    if (!t->algo)
        return GW_OK;
    const struct gw_algo_args args = {.ranks = t->ranks};
    enum gw_err code = gw_plan_make(GW_ALLREDUCE, t->algo, &args, &plan, why);
    if (code)
        return code;
    gw_costs(t->wire, &costs, &measured);
    code = gw_plan_price(plan, t->vector_length, sizeof(float), &costs.model,
                         &t->price, why);
    gw_plan_destroy(&plan);
    return code;
}

static enum gw_err launch(struct training *t, struct gw_error *why)
{
    const struct launch launch = {
        .ranks = t->ranks,
        .placed = t->placed,
        .wire = t->wire,
        .timeout_ns = common.timeout_ns,
        .rank_main = train_rank,
        .context = t,
        .on_report = train_on_report,
    };
    return launch_run(&launch, why);
}

static enum gw_err train(struct training *t, struct gw_error *why)
{
    enum gw_err code = check_options(why);
    if (!code)
        code = load(t, why);
    if (!code)
        code = price(t, why);
    if (!code)
        code = train_results_begin(t, why);
    if (!code)
        code = launch(t, why);
    train_results_end(t, code ? why : NULL);
    return code;
}

static int run(int operand_count, char **operands)
{
    enum { RANKS_DEFAULT = 4 };
    struct gw_error why = {.code = GW_OK};
    const struct placed *placed;
    enum gw_err code = placed_begin(&options.ranks, RANKS_DEFAULT,
                                    &options.wire, &placed, &why);
    if (code)
        return code == GW_PENDING ? 0 : complain(&why);
    struct training t = {
        .data_path = operands[operand_count - 1],
        .test_path = options.test,
        .ranks = options.ranks,
        .placed = placed,
        .wire = options.wire,
        .batch = options.full_batch ? 0 : options.batch,
        .epochs = options.epochs,
        .rate = options.rate,
        .l2 = options.l2,
        .momentum = options.momentum,
        .cosine = strcmp(options.schedule, "cosine") == 0,
    };
    code = gw_model_parse(operands[0], &t.kind, &why);
    if (!code)
        code = train(&t, &why);
    gw_dataset_destroy(&t.train);
    gw_dataset_destroy(&t.test);
    return code ? complain(&why) : 0;
}

const struct command command_train = {
    .name = "train",
    .operands = "lr|softmax DATA",
    .help = "train a model on LibSVM data, the gradients all-reduced",
    .examples =
        "collrun train lr heart_scale -n 4 --algo ring\n"
        "collrun train lr a9a.train.libsvm --test a9a.test.libsvm\n"
        "collrun train softmax digits.libsvm --wire tcp --epochs 5 -o jsonl\n",
    .options = specs,
    .operands_min = 2,
    .operands_max = 2,
    .run = run,
};

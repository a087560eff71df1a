/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `collrun train`: a model trained on real rows by several ranks that
 * all-reduce their gradients. This file reads the options and the files,
 * chooses and prices the all-reduce, and starts the ranks; read on in train.h.
 */
#include "train.h"

#include "collrun/collrun.h"
#include "common/launched.h"
#include "common/plan/plan_file.h"
#include "run/until.h"
#include "train_task.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The default depends on the model. */
#define UNSET UINT_MAX

static struct options {
    const char *test, *algo, *wire, *scale, *schedule, *settings, *init, *until;
    unsigned ranks, batch, epochs;
    double rate, l2, momentum;
    bool full_batch, on_demand;
} options = {
    .algo = "auto",
    .scale = "max",
    .ranks = RANKS_UNSET,
    .schedule = "cosine",
    .init = "same",
    .batch = UNSET,
    .epochs = UNSET,
    .rate = (double)NAN,
    .l2 = 1e-4,
    .momentum = 0.9,
};

static const struct option_spec specs[] = {
    {"test", 't', OPTION_TEXT, &options.test, "FILE",
     "Test rows for the finished model.", NULL},
    {"ranks", 'n', OPTION_UNSIGNED, &options.ranks, "N",
     "Processes that share each batch. Default: 4, or as many as mpirun or "
     "another launcher started.",
     NULL},
    {"algo", 'a', OPTION_TEXT, &options.algo, "NAME",
     "All-reduce algorithm (see collrun list allreduce), FILE.plan, or auto.",
     NULL},
    {"wire", 'w', OPTION_CHOICE, &options.wire, "WIRE",
     "Transport: shm, ipc or tcp. Default: shm.", "shm|ipc|tcp"},
    {"batch", 'b', OPTION_UNSIGNED, &options.batch, "ROWS",
     "Rows per step, of all ranks together. Default: 64; cartpole: 16.", NULL},
    {"full-batch", 0, OPTION_FLAG, &options.full_batch, NULL,
     "Use all rows in each step.", NULL},
    {"epochs", 'E', OPTION_UNSIGNED, &options.epochs, "N",
     "Passes over the data. Default: 20, cartpole 5, net 10.", NULL},
    {"lr", 0, OPTION_REAL, &options.rate, "RATE",
     "Learning rate. Default: 0.5; cartpole and net: 0.05.", NULL},
    {"schedule", 0, OPTION_CHOICE, &options.schedule, "HOW",
     "Course of the learning rate: cosine falls to 0, constant keeps it.",
     "cosine|constant"},
    {"momentum", 0, OPTION_REAL, &options.momentum, "M",
     "Share of the last step's velocity that is kept.", NULL},
    {"l2", 0, OPTION_REAL, &options.l2, "L",
     "Weight decay: L/2 times the squared weights is added to the loss.", NULL},
    {"scale", 0, OPTION_CHOICE, &options.scale, "HOW",
     "Scaling: max divides all values by the largest, none keeps them.",
     "max|none"},
    {"on-demand", 0, OPTION_FLAG, &options.on_demand, NULL,
     "Keep the rows in the file; each rank reads its own.", NULL},
    {"set", 0, OPTION_LIST, &options.settings, "NAME=VALUE,...",
     "Settings of the model, for cartpole and net.", NULL},
    {"init", 0, OPTION_CHOICE, &options.init, "HOW",
     "First weights: same makes them on each rank from the seed, broadcast "
     "sends those of rank 0.",
     "same|broadcast"},
    UNTIL_OPTION(options.until),
    LAUNCHER_OPTIONS,
    {0},
};

static enum gw_err check_train_options(struct gw_error *why)
{
    const struct options *o = &options;
    if (o->settings)
        return gw_fail(why, GW_EINVAL, "--set is only for cartpole and net");
    if (o->ranks == 0)
        return gw_fail(why, GW_EINVAL, "--ranks must be at least 1");
    if (o->batch == 0)
        return gw_fail(why, GW_EINVAL, "--batch must be at least 1");
    if (o->epochs == 0)
        return gw_fail(why, GW_EINVAL, "--epochs must be at least 1");
    if (o->rate <= 0)
        return gw_fail(why, GW_EINVAL, "--lr must be greater than 0, not %g",
                       o->rate);
    if (o->l2 < 0)
        return gw_fail(why, GW_EINVAL, "--l2 must be at least 0, not %g",
                       o->l2);
    if (o->momentum < 0 || o->momentum >= 1)
        return gw_fail(why, GW_EINVAL,
                       "--momentum must be at least 0 and less than 1, not %g",
                       o->momentum);
    return GW_OK;
}

static enum gw_err load_test(struct training *t, struct gw_error *why)
{
    if (!t->test_path)
        return GW_OK;
    const struct gw_dataset *shape = t->train->shape;
    enum gw_index_base base = shape->index_base ? GW_BASE_1 : GW_BASE_0;
    enum gw_err code = gw_libsvm_load(t->test_path, base, &t->test, why);
    if (code)
        return code;
    code = gw_dataset_match(t->test, shape, &t->ignored, why);
    return code ? gw_wrap(why, code, "%s", t->test_path) : GW_OK;
}

/* One factor for all values preserves zeros and equal rows. */
static void scale_rows(struct training *t)
{
    float largest = gw__row_source_largest(t->train);
    if (strcmp(options.scale, "none") == 0 || !(largest > 0))
        return;
    float factor = 1 / largest;
    if (!isfinite(factor))
        return; /* nothing but denormals */
    gw__row_source_scale(t->train, factor);
    if (t->test)
        gw_dataset_scale(t->test, factor);
}

static enum gw_err load_rows(struct training *t, struct gw_error *why)
{
    struct gw_model *model;
    progress("reading %s", t->data_path);
    enum gw_err code =
        gw__row_source_open(t->train, t->data_path, options.on_demand, why);
    if (!code)
        code = load_test(t, why);
    if (code)
        return code;
    scale_rows(t);
    code = gw_model_new(t->kind, t->train->shape, &model, why);
    if (code)
        return gw_wrap(why, code, "%s", t->data_path);
    t->vector_length = model->parameter_count + EXTRAS;
    gw_model_destroy(&model);
    return GW_OK;
}

static enum gw_err launch_training(struct training *t, struct gw_error *why)
{
    const struct launch launch = {
        .ranks = t->ranks,
        .launched = t->launched,
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
    enum gw_err code = check_train_options(why);
    if (!code)
        code = load_rows(t, why);
    if (!code)
        code = train_choose(t->ranks, t->wire, options.algo, t->vector_length,
                            &t->algo, &t->price, why);
    if (!code)
        code = train_results_begin(t, why);
    if (!code)
        code = launch_training(t, why);
    train_results_end(t, code ? why : NULL);
    return code;
}

static int train_rows(const char *model, const char *path,
                      const struct launched *launched)
{
    struct gw_error why = {.code = GW_OK};
    struct options *o = &options;
    if (o->batch == UNSET)
        o->batch = 64;
    if (o->epochs == UNSET)
        o->epochs = 20;
    if (isnan(o->rate))
        o->rate = 0.5;
    struct gw__row_source source = {.data = NULL};
    struct training t = {
        .data_path = path,
        .train = &source,
        .test_path = o->test,
        .ranks = o->ranks,
        .launched = launched,
        .wire = o->wire,
        .batch = o->full_batch ? 0 : o->batch,
        .epochs = o->epochs,
        .rate = o->rate,
        .l2 = o->l2,
        .momentum = o->momentum,
        .cosine = strcmp(o->schedule, "cosine") == 0,
        .init_broadcast = strcmp(o->init, "broadcast") == 0,
        .until_text = o->until,
    };
    enum gw_err code = gw_model_parse(model, &t.kind, &why);
    if (!code)
        code = until_parse(o->until, &t.until, &why);
    if (!code)
        code = train(&t, &why);
    gw__row_source_close(&source);
    gw_dataset_destroy(&t.test);
    return code ? complain(&why) : 0;
}

/* Converts the given options to settings, which --set may overrule. */
static void gather_settings(char *text, size_t room)
{
    const struct options *o = &options;
    size_t used = 0;
    *text = 0;
    if (o->batch != UNSET || o->full_batch)
        used += (size_t)snprintf(text, room, "batch=%u ",
                                 o->full_batch ? 0 : o->batch);
    if (o->epochs != UNSET)
        used +=
            (size_t)snprintf(text + used, room - used, "epochs=%u ", o->epochs);
    if (!isnan(o->rate))
        used += (size_t)snprintf(text + used, room - used, "rate=%g ", o->rate);
    if (strcmp(o->scale, "max") != 0)
        used += (size_t)snprintf(text + used, room - used, "scale=0 ");
    snprintf(text + used, room - used, "%.300s",
             o->settings ? o->settings : "");
}

/* A task of gradwire-train(3); other options are refused. */
static int train_dense(int count, char **operands,
                       const struct launched *launched)
{
    const struct options *o = &options;
    char text[512];
    if (count == 1 &&
        (o->test || o->full_batch || strcmp(o->scale, "max") != 0))
        return complain_with(GW_EINVAL, "cartpole has no rows; remove --test, "
                                        "--full-batch and --scale");
    if (o->on_demand)
        return complain_with(GW_EINVAL,
                             "--on-demand is only for lr and softmax");
    if (strcmp(o->schedule, "cosine") != 0)
        return complain_with(GW_EINVAL,
                             "%s keeps its learning rate; remove --schedule",
                             operands[0]);
    gather_settings(text, sizeof text);
    const struct task_options task = {.model = operands[0],
                                      .network = count > 1 ? operands[1] : NULL,
                                      .data = count > 1 ? operands[2] : NULL,
                                      .test = o->test,
                                      .ranks = o->ranks,
                                      .launched = launched,
                                      .wire = o->wire,
                                      .algo = o->algo,
                                      .settings = text,
                                      .init = o->init,
                                      .until = o->until};
    return task_train(&task);
}

/* Without -n, a plan file may set the number of ranks. */
static void set_ranks_from_file(void)
{
    unsigned ranks = 0;
    if (options.ranks == RANKS_UNSET && plan_names_file(options.algo))
        ranks = plan_file_ranks(options.algo);
    if (ranks > 0)
        options.ranks = ranks;
}

/* The number of operands of the model. */
static int wanted_by(const char *model)
{
    return strcmp(model, "cartpole") == 0 ? 1
           : strcmp(model, "net") == 0    ? 3
                                          : 2;
}

static int run_model(int count, char **operands,
                     const struct launched *launched)
{
    int wanted = wanted_by(operands[0]);
    if (count > wanted)
        return complain_with(GW_EINVAL,
                             wanted == 1
                                 ? "%.40s makes its own data; remove the file"
                                 : "train %.40s takes one file",
                             operands[0]);
    if (count < wanted)
        return complain_with(
            GW_EINVAL, "train %.40s: missing operand; name a %s", operands[0],
            wanted == 2 ? "file" : "network and a file");
    return wanted == 2 ? train_rows(operands[0], operands[1], launched)
                       : train_dense(count, operands, launched);
}

/* --explain-env needs no operands. */
static int run_train(int operand_count, char **operands)
{
    enum { RANKS_DEFAULT = 4 };
    const struct launched *launched;
    struct gw_error why;
    set_ranks_from_file();
    enum gw_err code = launched_begin(&options.ranks, RANKS_DEFAULT,
                                      &options.wire, &launched, &why);
    if (code)
        return code == GW_PENDING ? 0 : complain(&why);
    return run_model(operand_count, operands, launched);
}

static const struct option_group groups[] = {
    {"test", "Data, ranks and algorithm"},
    {"batch", "Training"},
    {"alone", "Launchers and hosts"},
    {0},
};

const struct command command_train = {
    .name = "train",
    .operands = "lr DATA | softmax DATA | net NET DATA | cartpole",
    .help = "train a model on LibSVM data with all-reduced gradients",
    .examples =
        "collrun train lr heart_scale -n 4 --algo ring\n"
        "collrun train lr heart_scale -n 4 --algo mine.plan\n"
        "collrun train lr a9a.train.libsvm --test a9a.test.libsvm\n"
        "collrun train softmax digits.libsvm --wire tcp --epochs 5 -o jsonl\n"
        "collrun train net digits.net digits.libsvm -n 4 --algo ring\n"
        "collrun train cartpole -n 4 --algo ring\n",
    .options = specs,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 3,
    .run = run_train,
};

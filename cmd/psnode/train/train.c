/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode train: a model, on a temporary cluster of servers, workers and
 * controllers. ringctl and ringtop attach to it as to any run.
 */
#include "train.h"

#include "common/command.h"
#include "psnode/psnode.h"
#include "train_options.h"
#include "train_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A training, and its further outputs. */
struct training {
    struct train_spec *spec;
    struct train_report *report;
    bool words, baseline;
    const char *labels;
    const char *snapshot;
    char own_snapshot[256]; /* a directory made here; "" */
};

/* ---- vectors of words, from a snapshot ---- */

static enum gw_err on_done(void *context, const char *run, struct gw_error *why)
{
    struct training *t = context;
    if (!t->words || t->snapshot)
        return GW_OK;
    if (!directory_make(t->own_snapshot, sizeof t->own_snapshot))
        return gw_fail_errno(why, "a directory for the weights");
    t->snapshot = t->own_snapshot;
    return train_snapshot(run, t->snapshot, why);
}

static bool on_status(void *context, const json_t *status)
{
    struct training *t = context;
    return train_report_status(t->report, status);
}

static enum gw_err finish_training(struct training *t, struct gw_error *why)
{
    struct output *output = train_report_result(t->report);
    const struct train_words words = {.spec = t->spec,
                                      .snapshot = t->snapshot,
                                      .seconds =
                                          train_report_seconds(t->report),
                                      .labels = t->labels,
                                      .baseline = t->baseline};
    return t->words ? train_words(&words, output, why) : GW_OK;
}

/* ---- one training ---- */

static enum gw_err train(struct training *t, bool compared,
                         struct gw_error *why)
{
    struct train_reference reference = {0};
    const struct train_observer observer = {
        .context = t, .status = on_status, .done = on_done};
    enum gw_err code = GW_OK;
    if (compared)
        code = train_reference_make(t->spec, &reference, why);
    if (!code)
        code = train_report_begin(t->spec, compared ? &reference : NULL,
                                  &t->report, why);
    if (!code) {
        code = train_run(t->spec, &observer, why);
        if (!code)
            code = finish_training(t, why);
        train_report_end(&t->report, code ? why : NULL);
    }
    train_reference_fini(&reference);
    return code;
}

static bool has_words(const char *model)
{
    return strcmp(model, "word2vec") == 0 || strcmp(model, "deepwalk") == 0;
}

int train_once(struct train_spec *spec, const struct train_wishes *wishes)
{
    struct gw_error why = {.code = GW_OK};
    struct training t = {.spec = spec,
                         .words = has_words(spec->run.work.model),
                         .labels = wishes->labels,
                         .baseline = wishes->baseline,
                         .snapshot = spec->run.work.snapshot};
    if ((wishes->baseline || wishes->labels) && !t.words)
        return complain_with(GW_EINVAL,
                             "--baseline and --labels are only for word2vec "
                             "and deepwalk");
    enum gw_err code = train_stream_begin(&why);
    if (!code)
        code = train(&t, wishes->reference, &why);
    train_stream_end();
    if (*t.own_snapshot)
        directory_remove(t.own_snapshot);
    return code ? complain(&why) : 0;
}

static int run_train(int operand_count, char **operands)
{
    struct train_spec spec;
    struct train_wishes wishes;
    struct gw_error why;
    if (train_options_parse(operand_count, operands, &spec, &wishes, &why))
        return complain(&why);
    if (wishes.compare) {
        const struct train_compare compare = {.spec = &spec,
                                              .compute_ns = wishes.compute_ns,
                                              .limit_ns = wishes.limit_ns,
                                              .times = wishes.times};
        return train_compare(&compare);
    }
    if (wishes.sweep)
        return train_sweep(&spec, wishes.compute_ns, wishes.target);
    return train_once(&spec, &wishes);
}

const struct command command_train = {
    .name = "train",
    .operands = "lr DATA | linear DATA | net NET DATA | word2vec TEXT | "
                "deepwalk EDGES | mf [RATINGS] | ctr CLICKS | "
                "drift [-] | cartpole",
    .help = "start a cluster, train a model on it, and end it",
    .examples =
        "psnode train lr a9a --servers 3 --workers 4 --replicas 3 --mode bsp\n"
        "psnode train mf --mode ssp:2 --set rank=8,rate=0.05 --reference\n"
        "psnode train lr a9a --workers 4 --compare modes\n"
        "psnode train deepwalk karate.edges --labels karate.labels\n"
        "psnode train ctr clicks --set rank=16 --servers 2 --workers 4\n"
        "psnode train cartpole --workers 4 --mode asp\n"
        "psnode train net digits.net digits --servers 2 --workers 4\n",
    .options = train_option_specs,
    .groups = train_option_groups,
    .operands_min = 1,
    .operands_max = 3,
    .run = run_train,
};

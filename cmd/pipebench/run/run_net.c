/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A real network for pipebench run: reads it and its data, and makes a layout
 * with a pipe axis only, so that ranks are stages.
 */
#include "run.h"

#include "common/command.h"

#include <math.h>

static enum gw_err check_net_options(const struct run_net *net,
                                     const struct gw_schedule *schedule,
                                     struct gw_error *why)
{
    if (!net->data_path)
        return gw_fail(why, GW_EINVAL,
                       "--net needs training rows; add --data FILE");
    if (schedule->stages < 2)
        return gw_fail(why, GW_EINVAL, "--net needs at least 2 --stages");
    if (net->batch == 0)
        return gw_fail(why, GW_EINVAL, "--batch must be at least 1");
    if (!(net->rate > 0) || !isfinite(net->rate))
        return gw_fail(why, GW_EINVAL, "--lr must be greater than 0, not %g",
                       net->rate);
    if (!(net->momentum >= 0) || net->momentum >= 1)
        return gw_fail(why, GW_EINVAL,
                       "--momentum must be at least 0 and less than 1, not %g",
                       net->momentum);
    return GW_OK;
}

static enum gw_err lay_out_net(struct run_net *net,
                               const struct gw_schedule *schedule,
                               struct gw_error *why)
{
    const struct gw_layout_options options = {
        .mesh = {.data = 1, .tensor = 1, .pipe = schedule->stages},
        .batch = net->batch,
        .micros = schedule->micros,
        .chunks = schedule->chunks,
        .optimiser_words = gw_optimiser_words(net->optimiser),
    };
    if (gw_network_load(net->path, &net->network, why))
        return why->code;
    if (gw_layout_new(net->network, &options, &net->layout, why))
        return gw_wrap(why, why->code, "%.100s", net->path);
    return GW_OK;
}

static enum gw_err check_fit(const struct run_net *net, struct gw_error *why)
{
    const struct gw_dataset *data = net->train;
    if (data->features > net->network->inputs)
        return gw_fail(why, GW_EINVAL,
                       "--data %.100s has %zu features, but the network has "
                       "%u inputs",
                       net->data_path, data->features, net->network->inputs);
    if (data->class_count > net->network->classes)
        return gw_fail(why, GW_EINVAL,
                       "--data %.100s has %u classes, but the network has %u",
                       net->data_path, data->class_count,
                       net->network->classes);
    if (net->batches == 0)
        return gw_fail(
            why, GW_EINVAL,
            "--batch %u is more than the %zu rows; use a smaller batch",
            net->batch, data->rows);
    return GW_OK;
}

/* One factor for all values preserves zeros and equal rows. */
static void scale_dataset(struct run_net *net)
{
    float factor = 1 / gw_dataset_largest(net->train);
    if (!isfinite(factor))
        return;
    gw_dataset_scale(net->train, factor);
    if (net->test)
        gw_dataset_scale(net->test, factor);
}

static enum gw_err load_test(struct run_net *net, struct gw_error *why)
{
    size_t ignored;
    enum gw_index_base base = net->train->index_base ? GW_BASE_1 : GW_BASE_0;
    if (!net->test_path)
        return GW_OK;
    if (gw_libsvm_load(net->test_path, base, &net->test, why))
        return why->code;
    if (gw_dataset_match(net->test, net->train, &ignored, why))
        return gw_wrap(why, why->code, "%.100s", net->test_path);
    return GW_OK;
}

enum gw_err run_net_load(struct run_net *net,
                         const struct gw_schedule *schedule,
                         struct gw_error *why)
{
    enum gw_err err = check_net_options(net, schedule, why);
    if (!err)
        err = lay_out_net(net, schedule, why);
    if (err)
        return err;
    progress("reading %s", net->data_path);
    err = gw_libsvm_load(net->data_path, GW_BASE_AUTO, &net->train, why);
    if (!err)
        err = load_test(net, why);
    progress("%s", "");
    if (err)
        return err;
    net->batches = (unsigned)(net->train->rows / net->batch);
    scale_dataset(net);
    return check_fit(net, why);
}

void run_net_fini(struct run_net *net)
{
    gw_layout_destroy(&net->layout);
    gw_network_destroy(&net->network);
    gw_dataset_destroy(&net->train);
    gw_dataset_destroy(&net->test);
}

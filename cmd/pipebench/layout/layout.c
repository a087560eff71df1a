/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench layout: the placement of a network on a mesh of ranks, with the
 * inserted collectives and their traffic. With --run it is trained there. This
 * file reads the options and the network, and makes the layout; read on in
 * layout.h.
 */
#include "layout_search.h"

#include "common/key.h"
#include "pipebench/pipebench.h"
#include "pipebench/schedule_source.h"
#include "run/until.h"

#include <math.h>
#include <string.h>

static struct options {
    const char *mesh, *mode, *optimiser, *schedule;
    const char *data, *test, *scale, *wire, *until, *algo;
    unsigned group, batch, micros, chunks, steps;
    double rate, momentum;
    uint64_t bucket_bytes;
    bool run, no_overlap, compare, search, bars;
    uint64_t memory;
    unsigned rows;
    struct layout_cluster cluster;
} option_values = {
    .rows = 10,
    .cluster = {.tflops = 10, .alpha_ns = 1000},
    .optimiser = "momentum",
    .scale = "max",
    .wire = "shm",
    .batch = 64,
    .micros = UINT32_MAX,
    .chunks = UINT32_MAX,
    .steps = 100,
    .rate = (double)NAN,
    .momentum = 0.9,
    .bucket_bytes = 1 << 20,
};

static const struct option_spec specs[] = {
    {"mesh", 'M', OPTION_TEXT, &option_values.mesh, "DxTxP",
     "Ranks along data, tensor and pipe; 4 means 4x1x1. Default: 1x1x1.", NULL},
    {"mode", 0, OPTION_CHOICE, &option_values.mode, "HOW",
     "Parameters along the data axis: replicated, zero1 or sharded.",
     "replicated|zero1|sharded"},
    {"group", 0, OPTION_UNSIGNED, &option_values.group, "G",
     "Ranks of the data axis that share one copy. 0: all.", NULL},
    {"batch", 'b', OPTION_UNSIGNED, &option_values.batch, "ROWS",
     "Rows per step, of all ranks together.", NULL},
    {"micro", 'm', OPTION_UNSIGNED, &option_values.micros, "M",
     "Micro-batches per step. Default: 1; with stages 8.", NULL},
    {"schedule", 's', OPTION_TEXT, &option_values.schedule, "NAME",
     "Schedule of the pipeline: gpipe, 1f1b, interleaved or zb-h1. Default: "
     "1f1b.",
     SCHEDULE_WORDS},
    {"chunks", 0, OPTION_UNSIGNED, &option_values.chunks, "V",
     "Chunks of the network per stage, for interleaved. Default: 2.", NULL},
    {"algo", 'a', OPTION_TEXT, &option_values.algo, "NAME",
     "--topo, --run: all-reduce algorithm (see collrun list allreduce), "
     "plug-in "
     "or FILE.plan.",
     NULL},
    {"optimiser", 0, OPTION_CHOICE, &option_values.optimiser, "NAME",
     "Optimiser: sgd, momentum or adam, with 0, 1 or 2 words of state per "
     "parameter.",
     "sgd|momentum|adam"},
    {"bars", 0, OPTION_FLAG, &option_values.bars, NULL,
     "Print the memory of a rank of each stage as bars.", NULL},
    {"topo", 'T', OPTION_TEXT, &option_values.cluster.topo, "FILE",
     "Simulate a step on this cluster in virtual time, in both orders of the "
     "mesh.",
     NULL},
    {"without", 0, OPTION_TEXT, &option_values.cluster.without, "KIND",
     "--topo: leave out the links of this kind, such as direct.", NULL},
    {"tflops", 0, OPTION_REAL, &option_values.cluster.tflops, "N",
     "--topo: 10^12 operations per second of a rank; 0: no limit. Default: 10.",
     NULL},
    {"alpha", 0, OPTION_DURATION, &option_values.cluster.alpha_ns, "TIME",
     "--topo: cost of a message for its sender.", NULL},
    {"reduce", 0, OPTION_BYTES, &option_values.cluster.reduce_rate, "SIZE",
     "--topo: bytes per second that a rank reduces; 0: no limit. Default: 0.",
     NULL},
    {"links", 0, OPTION_FLAG, &option_values.cluster.links, NULL,
     "--topo: print one row per link instead of the busiest link of each kind.",
     NULL},
    {"search", 0, OPTION_FLAG, &option_values.search, NULL,
     "--topo: find the fastest layout; given options are kept.", NULL},
    {"memory", 0, OPTION_BYTES, &option_values.memory, "SIZE",
     "--search, --bars: bytes that a rank may hold; 0: no limit. Default: 0.",
     NULL},
    {"rows", 0, OPTION_COUNT, &option_values.rows, "N",
     "--search: number of meshes and modes to print. Default: 10.", NULL},
    {"run", 'r', OPTION_FLAG, &option_values.run, NULL,
     "Train the network, with one process per rank.", NULL},
    {"data", 'd', OPTION_TEXT, &option_values.data, "FILE",
     "--run: training rows, LibSVM text.", NULL},
    {"test", 't', OPTION_TEXT, &option_values.test, "FILE",
     "--run: test rows for the trained network.", NULL},
    {"scale", 0, OPTION_CHOICE, &option_values.scale, "HOW",
     "Scaling: max divides all values by the largest, none keeps them.",
     "max|none"},
    {"steps", 'k', OPTION_UNSIGNED, &option_values.steps, "N",
     "--run: steps to train.", NULL},
    UNTIL_OPTION(option_values.until),
    {"lr", 0, OPTION_REAL, &option_values.rate, "RATE",
     "Learning rate. Default: 0.1; with adam 0.003.", NULL},
    {"momentum", 0, OPTION_REAL, &option_values.momentum, "M",
     "Share of the last step's velocity that is kept.", NULL},
    {"wire", 'w', OPTION_CHOICE, &option_values.wire, "WIRE",
     "Transport: shm, ipc or tcp.", "shm|ipc|tcp"},
    KEY_OPTION,
    {"bucket", 0, OPTION_BYTES, &option_values.bucket_bytes, "SIZE",
     "Bytes of gradients that are reduced together; 0: all.", NULL},
    {"no-overlap", 0, OPTION_FLAG, &option_values.no_overlap, NULL,
     "Reduce gradients after the backward pass, not during it.", NULL},
    {"compare", 'c', OPTION_FLAG, &option_values.compare, NULL,
     "--run: train in a single process first, and compare the losses.", NULL},
    {0},
};

static enum gw_err check_usage(const struct options *o, struct gw_error *why)
{
    if (!o->run && (o->data || o->test || o->compare))
        return gw_fail(why, GW_EINVAL, "%s needs --run",
                       o->compare ? "--compare"
                       : o->data  ? "--data"
                                  : "--test");
    if (o->run && o->cluster.topo)
        return gw_fail(why, GW_EINVAL,
                       "use either --run, which trains here, or --topo, which "
                       "simulates");
    if (o->search && !o->cluster.topo)
        return gw_fail(why, GW_EINVAL, "--search needs --topo FILE");
    if (o->memory && !o->search && !o->bars)
        return gw_fail(why, GW_EINVAL, "--memory needs --search or --bars");
    if (o->bars && (o->run || o->cluster.topo))
        return gw_fail(why, GW_EINVAL,
                       "--bars allows neither --run nor --topo");
    if (!(o->cluster.tflops >= 0))
        return gw_fail(why, GW_EINVAL, "--tflops must be at least 0, not %g",
                       o->cluster.tflops);
    if (o->run && !o->data)
        return gw_fail(why, GW_EINVAL,
                       "--run needs training rows; add --data FILE");
    if (o->algo && !o->run && !o->cluster.topo)
        return gw_fail(why, GW_EINVAL, "--algo needs --topo or --run");
    if (o->until && !o->run)
        return gw_fail(why, GW_EINVAL, "--until needs --run");
    if (o->steps == 0)
        return gw_fail(why, GW_EINVAL, "--steps must be at least 1");
    if (o->micros == 0)
        return gw_fail(why, GW_EINVAL, "--micro must be at least 1");
    if (o->rate <= 0)
        return gw_fail(why, GW_EINVAL, "--lr must be greater than 0, not %g",
                       o->rate);
    if (!(o->momentum >= 0 && o->momentum < 1))
        return gw_fail(why, GW_EINVAL,
                       "--momentum must be at least 0 and less than 1, not %g",
                       o->momentum);
    return GW_OK;
}

/* Parses the words. */
static enum gw_err understand(const struct options *o,
                              struct layout_options *options,
                              struct gw_error *why)
{
    bool adam = strcmp(o->optimiser, "adam") == 0;
    *options = (struct layout_options){
        .layout = {.shard_group = o->group, .batch = o->batch},
        .data = o->data,
        .test = o->test,
        .scale = o->scale,
        .wire = o->wire,
        .steps = o->steps,
        .rate = isnan(o->rate) ? adam ? 0.003 : 0.1 : o->rate,
        .momentum = o->momentum,
        .bucket_bytes = o->bucket_bytes,
        .overlap = !o->no_overlap,
        .compare = o->compare,
    };
    enum gw_err err = check_usage(o, why);
    if (!err)
        err = until_parse(o->until, &options->until, why);
    if (!err)
        err = gw_mesh_parse(o->mesh ? o->mesh : "1x1x1", &options->layout.mesh,
                            why);
    if (!err)
        err = gw_data_mode_parse(o->mode ? o->mode : "replicated",
                                 &options->layout.mode, why);
    if (!err)
        err = gw_optimiser_parse(o->optimiser, &options->optimiser, why);
    options->layout.optimiser_words = gw_optimiser_words(options->optimiser);
    return err;
}

/* One stage needs a schedule, too, for the order of its micro-batches. */
static enum gw_err get_schedule(const struct options *o,
                                const struct gw_mesh *mesh,
                                struct gw_schedule **schedule,
                                struct gw_error *why)
{
    unsigned micros = mesh->pipe > 1 ? MICROS_DEFAULT : 1;
    const struct schedule_source source = {
        .name = o->schedule,
        .stages = mesh->pipe,
        .micros = o->micros == UINT32_MAX ? micros : o->micros,
        .chunks = o->chunks,
    };
    return schedule_get(NULL, &source, schedule, why);
}

static enum gw_err search(const struct options *o,
                          const struct layout_options *options,
                          const struct gw_network *network,
                          struct gw_error *why)
{
    const struct gw_schedule_kind *kind;
    const struct search_space space = {
        .network = network,
        .mesh = o->mesh ? &options->layout.mesh : NULL,
        .mode = o->mode,
        .schedule = o->schedule,
        .group = o->group,
        .batch = o->batch,
        .optimiser_words = options->layout.optimiser_words,
        .micros = o->micros == UINT32_MAX ? 0 : o->micros,
        .chunks = o->chunks == UINT32_MAX ? 0 : o->chunks,
        .memory = o->memory,
    };
    if (o->schedule && schedule_kind(o->schedule, &kind, why))
        return why->code;
    struct layout_cluster cluster = o->cluster;
    cluster.algo = o->algo;
    return search_show(&cluster, &space, o->rows, why);
}

/* The layout that the options describe: trained, timed or shown. */
static enum gw_err execute_layout(const struct options *o,
                                  struct layout_options *options,
                                  const struct gw_network *network,
                                  const char *path, struct gw_error *why)
{
    struct gw_schedule *schedule = NULL;
    struct gw_layout *layout = NULL;
    struct layout_cluster cluster = o->cluster;
    cluster.algo = o->algo;
    cluster.ranks = gw_mesh_size(&options->layout.mesh);
    enum gw_err err = get_schedule(o, &options->layout.mesh, &schedule, why);
    if (!err && o->run)
        err = layout_algo(o->algo, cluster.ranks, &options->algo, why);
    if (!err) {
        options->layout.micros = schedule->micros;
        options->layout.chunks = schedule->chunks;
        err = gw_layout_new(network, &options->layout, &layout, why)
                  ? gw_wrap(why, why->code, "%s", path)
                  : GW_OK;
    }
    if (!err)
        err = o->run ? layout_train(options, layout, schedule, why)
              : o->cluster.topo
                  ? layout_time_show(&cluster, layout, schedule, why)
              : o->bars ? layout_bars(layout, schedule, o->memory, why)
                        : layout_show(layout, schedule, why);
    gw_layout_destroy(&layout);
    gw_schedule_destroy(&schedule);
    return err;
}

static enum gw_err execute(const char *path, const struct options *o,
                           struct gw_error *why)
{
    struct layout_options options;
    struct gw_network *network = NULL;
    enum gw_err err = understand(o, &options, why);
    if (!err)
        err = gw_network_load(path, &network, why);
    if (!err)
        err = o->search ? search(o, &options, network, why)
                        : execute_layout(o, &options, network, path, why);
    gw_network_destroy(&network);
    return err;
}

static int run_layout(int operand_count, char **operands)
{
    struct gw_error why;
    (void)operand_count;
    return execute(operands[0], &option_values, &why) ? complain(&why) : 0;
}

static const struct option_group groups[] = {
    {"mesh", "Layout"},
    {"topo", "Simulation on a cluster"},
    {"search", "Search for a layout"},
    {"run", "Training"},
    {0},
};

const struct command command_layout = {
    .name = "layout",
    .operands = "FILE.net",
    .help = "map a network onto a mesh of ranks: print, simulate or train it",
    .examples =
        "pipebench layout digits.net --mesh 1x2x1\n"
        "pipebench layout digits.net --mesh 4 --mode sharded --group 2\n"
        "pipebench layout digits.net --topo server-8.topo --search "
        "--memory 64K\n"
        "pipebench layout digits.net --mesh 4 --topo racks.topo "
        "--algo mine.plan\n"
        "pipebench layout digits.net --mesh 2x2x1 --run --data digits.libsvm "
        "--compare\n",
    .options = specs,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_layout,
};

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun price: the cost of a plan without running it; all algorithms of a
 * collective in one table, the cheapest first. Counts are exact. messages_us is
 * the alpha-beta-gamma model with the costs of a wire, as is the lower bound
 * (gradwire(7)). predicted_us is used by bench and by the library's choice: it
 * also models windows, which a direct plan uses over shm, and cores shared by
 * ranks. With other segments or groups, the two are equal. bound_percent compares the bound with messages_us, since the
 * bound is of that model: 100 is the optimum. --why is in price_why.c, --topo in
 * price_links.c.
 */
#include "price.h"

#include "collrun/collrun.h"
#include "common/cluster.h"
#include "common/plan/plan_file.h"
#include "plan_list.h"
#include "plan_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plan_source source;
static const char *wire = "shm", *dtype = "f32", *topo;
static struct gw_topology *topology; /* of --topo; NULL: none */
static uint64_t bytes = 1 << 20;
static bool show_why;

static const struct option_spec options[] = {
    PLAN_SOURCE_OPTIONS(source),
    {"bytes", 'b', OPTION_BYTES, &bytes, "SIZE",
     "Size of a rank's whole buffer with all its blocks (64, 1K, 4M).", NULL},
    {"dtype", 'd', OPTION_CHOICE, &dtype, "TYPE", "Element type.",
     "i8|i16|i32|i64|u8|u16|u32|u64|f16|bf16|f32|f64"},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Wire whose costs are used.",
     "shm|ipc|tcp|zmq|verbs"},
    {"topo", 't', OPTION_TEXT, &topo, "FILE",
     "Add the time of the busiest link of this topology, and the bound's share "
     "of it.",
     NULL},
    {"why", 0, OPTION_FLAG, &show_why, NULL,
     "Explain in sentences which algorithm a call would choose.", NULL},
    {0},
};

/* A future row. */
struct offer {
    const struct gw_algo *algo;
    struct gw_price price;
    double predicted_us;
    double link_us, optimum_us; /* of the topology; NaN: unknown */
};

struct offers {
    struct price_question question; /* of the last plan that was priced */
    size_t count;
    struct offer *list;
};

static enum gw_err read_question(const struct gw_plan *plan,
                                 struct price_question *question,
                                 struct gw_error *why)
{
    enum gw_dtype type;
    if (gw_dtype_parse(dtype, &type, why))
        return why->code;
    *question = (struct price_question){
        .wire = wire,
        .collective = plan->collective,
        .ranks = plan->ranks,
        .bytes = plan->collective == GW_BARRIER ? 0 : bytes,
        .elem_bytes = gw_dtype_size(type),
    };
    question->count = plan_count(plan->collective, plan->ranks, question->bytes,
                                 question->elem_bytes);
    return GW_OK;
}

/* The next one of the list, not yet counted. */
static struct offer *new_offer(struct offers *offers, struct gw_error *why)
{
    struct offer *grown =
        realloc(offers->list, (offers->count + 1) * sizeof *grown);
    if (!grown) {
        gw_fail(why, GW_ENOMEM, "%zu algorithms", offers->count + 1);
        return NULL;
    }
    offers->list = grown;
    return &grown[offers->count];
}

static enum gw_err price_plan(const struct gw_plan *plan, struct offer *offer,
                              struct price_question *question,
                              struct gw_error *why)
{
    struct gw_wire_costs costs;
    bool measured;
    if (read_question(plan, question, why))
        return why->code;
    gw_costs(wire, &costs, &measured);
    enum gw_err err = gw_plan_price(plan, question->count, question->elem_bytes,
                                    &costs.model, &offer->price, why);
    offer->predicted_us = offer->price.predicted_us;
    offer->link_us = offer->optimum_us = (double)NAN;
    if (!err && topology)
        err = price_links(topology, plan, question, &offer->link_us,
                          &offer->optimum_us, why);
    return err;
}

static enum gw_err add_algo(struct offers *offers, const struct gw_algo *algo,
                            unsigned ranks, struct gw_error *why)
{
    struct gw_plan *plan;
    struct offer *offer = new_offer(offers, why);
    const struct gw_algo_args args = {
        .ranks = ranks,
        .root = source.root,
        .segments = source.segments,
        .group = source.group,
    };
    if (!offer || plan_make(algo, &args, &plan, why))
        return why->code;
    offer->algo = algo;
    enum gw_err err = price_plan(plan, offer, &offers->question, why);
    gw_plan_destroy(&plan);
    offers->count += !err;
    return err;
}

/* The operand is a file. */
static enum gw_err add_file(struct offers *offers, const char *path,
                            struct gw_error *why)
{
    const struct gw_algo *algo;
    if (source.algo)
        return gw_fail(why, GW_EINVAL,
                       "%.100s defines its own algorithm; remove --algo", path);
    unsigned ranks = source.ranks ? source.ranks : plan_list_ranks(path);
    ranks = ranks ? ranks : PLAN_RANKS_DEFAULT;
    enum gw_err err = plan_file(path, ranks, &algo, why);
    return err ? err : add_algo(offers, algo, ranks, why);
}

static enum gw_err add_list(struct offers *offers,
                            enum gw_collective collective, struct gw_error *why)
{
    struct plan_list list = {.count = 0};
    unsigned ranks = plan_ranks(&source);
    enum gw_err err = plan_source_list(&source, collective, ranks, &list, why);
    for (size_t i = 0; i < list.count && !err && !interrupted; i++)
        err = plan_leave_out(&list, add_algo(offers, list.algos[i], ranks, why),
                             why);
    return err;
}

/* The library's own prediction, which includes windows and shared cores. */
static void predict(struct offers *offers)
{
    const struct price_question *q = &offers->question;
    for (size_t i = 0; i < offers->count; i++) {
        double us = plan_predict_us(q->wire, offers->list[i].algo, q->ranks,
                                    q->count, q->elem_bytes);
        if (us >= 0)
            offers->list[i].predicted_us = us;
    }
}

static enum gw_err collect(struct offers *offers, const char *operand,
                           struct gw_error *why)
{
    bool is_file;
    enum gw_collective collective;
    if (plan_operand(operand, &is_file, &collective, why))
        return why->code;
    enum gw_err err = is_file ? add_file(offers, operand, why)
                              : add_list(offers, collective, why);
    if (!err && offers->count == 0)
        err = interrupted ? gw_fail(why, GW_EINTR, "interrupted")
                          : gw_fail(why, GW_EINVAL, "no algorithm is left");
    if (!err && !source.segments && !source.group)
        predict(offers);
    return err;
}

static int cheaper(const void *a, const void *b)
{
    double x = ((const struct offer *)a)->predicted_us;
    double y = ((const struct offer *)b)->predicted_us;
    return (x > y) - (x < y);
}

static const struct field fields[] = {
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"rounds", NULL, FIELD_INTEGER, 0, false},
    {"messages", NULL, FIELD_INTEGER, 0, false},
    {"rank_messages", NULL, FIELD_INTEGER, 0, true},
    {"total_bytes", NULL, FIELD_INTEGER, 0, true},
    {"rank_bytes", "bytes/rank", FIELD_INTEGER, 0, false},
    {"rank_received", "received", FIELD_INTEGER, 0, false},
    {"link_bytes", "bytes/link", FIELD_INTEGER, 0, true},
    {"rank_reduced", "reduced", FIELD_INTEGER, 0, false},
    {"predicted_us", "time us", FIELD_REAL, 2, false},
    {"bound_us", "bound us", FIELD_REAL, 2, true},
    {"bound_percent", "% of bound", FIELD_REAL, 1, false},
    {"messages_us", "messages us", FIELD_REAL, 2, true},
    {"link_us", "link us", FIELD_REAL, 2, false},
    {"optimum_percent", "% of optimum", FIELD_REAL, 1, false},
};

enum { FIELDS = sizeof fields / sizeof *fields, TOPOLOGY_FIELDS = 2 };

static void offer_row(struct output *output, const struct offer *offer)
{
    const struct gw_price *price = &offer->price;
    output_row(output,
               (union value[]){
                   {.text = plan_algo_label(offer->algo)},
                   {.integer = price->rounds},
                   {.integer = (int64_t)price->messages},
                   {.integer = (int64_t)price->rank_messages_max},
                   {.integer = (int64_t)price->bytes},
                   {.integer = (int64_t)price->rank_bytes_max},
                   {.integer = (int64_t)price->rank_received_max},
                   {.integer = (int64_t)price->link_bytes_max},
                   {.integer = (int64_t)price->rank_reduced_max},
                   {.real = offer->predicted_us},
                   {.real = price->bound_us},
                   {.real = 100 * price->bound_us / price->predicted_us},
                   {.real = price->predicted_us},
                   {.real = offer->link_us},
                   {.real = 100 * offer->optimum_us / offer->link_us},
               });
}

static int show_offers(const struct offers *offers)
{
    struct gw_error why;
    struct output *output;
    const struct price_question *question = &offers->question;
    if (output_begin("collrun price", common.output, fields,
                     FIELDS - (topology ? 0 : TOPOLOGY_FIELDS), &output, &why))
        return complain(&why);
    output_note_text(output, "op", gw_collective_name(question->collective));
    output_note_text(output, "wire", wire);
    output_note_text(output, "dtype", dtype);
    output_note_integer(output, "ranks", question->ranks);
    output_note_integer(output, "bytes", (int64_t)question->bytes);
    output_note_integer(output, "count", (int64_t)question->count);
    output_collect(output);
    output_spare(
        output, "bound_percent messages rank_reduced rank_received rank_bytes");
    for (size_t i = 0; i < offers->count; i++)
        offer_row(output, &offers->list[i]);
    if (show_why)
        price_explain(output, question);
    output_end(&output, complaint(), interrupted != 0);
    return interrupted ? gw_err_exit(GW_EINTR) : complaint_status();
}

/* With a topology the default is all of its ranks. */
static enum gw_err load_topology(struct gw_error *why)
{
    enum gw_err err = topo ? cluster_get(topo, 0, &topology, why) : GW_OK;
    if (!err && topology && source.ranks == 0)
        source.ranks = gw_topology_ranks(topology);
    return err;
}

static int run_price(int operand_count, char **operands)
{
    struct gw_error why;
    struct offers offers = {.count = 0};
    (void)operand_count;
    int status;
    if (load_topology(&why) || collect(&offers, operands[0], &why)) {
        status = complain(&why);
    } else {
        if (offers.count > 1)
            qsort(offers.list, offers.count, sizeof *offers.list, cheaper);
        status = show_offers(&offers);
    }
    free(offers.list);
    gw_topology_destroy(&topology);
    return status;
}

const struct command command_price = {
    .name = "price",
    .operands = "OP|FILE.plan",
    .help = "count rounds and bytes, predict the time, show the lower bound",
    .examples = "collrun price allreduce -n 8 -b 1M\n"
                "collrun price allreduce -n 8 -b 1K --wire tcp --why\n"
                "collrun price allreduce -n 8 -a all,mine.plan\n"
                "collrun price allgather --topo racks.topo -b 16M\n"
                "collrun price mine.plan -b 64K -o json\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_price,
};

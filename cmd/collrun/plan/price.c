/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun price: the cost of a plan without running it; all algorithms of a
 * collective in one table, the cheapest first. Counts are exact. messages_us is
 * the alpha-beta-gamma model with the costs of a wire, as is the lower bound
 * (gradwire(7)). predicted_us is used by bench and by the library's choice: it
 * also models windows, which a direct plan uses over shm, and cores shared by
 * ranks. For plans that the library never chooses (files, other segments) the
 * two are equal. --why is in price_why.c.
 */
#include "price.h"

#include "collrun/collrun.h"
#include "plan_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plan_source source;
static const char *wire = "shm", *dtype = "f32";
static uint64_t bytes = 1 << 20;
static bool show_why;

static const struct option_spec options[] = {
    PLAN_SOURCE_OPTIONS(source),
    {"bytes", 'b', OPTION_BYTES, &bytes, "SIZE",
     "Size of a rank's whole buffer with all its blocks (64, 1K, 4M).", NULL},
    {"dtype", 'd', OPTION_CHOICE, &dtype, "TYPE", "Element type.",
     "i8|i16|i32|i64|u8|u16|u32|u64|f16|bf16|f32|f64"},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Wire whose costs are used.",
     "shm|ipc|tcp|verbs"},
    {"why", 0, OPTION_FLAG, &show_why, NULL,
     "Explain in sentences which algorithm a call would choose.", NULL},
    {0},
};

/* A future row. */
struct offer {
    char name[64];
    struct gw_price price;
    double predicted_us;
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

static enum gw_err add_offer(struct offers *offers, const char *operand,
                             const struct plan_source *from,
                             struct gw_error *why)
{
    struct gw_plan *plan;
    struct gw_wire_costs costs;
    bool measured;
    struct offer *offer = &offers->list[offers->count];
    struct price_question *question = &offers->question;
    if (plan_get(operand, from, &plan, why))
        return why->code;
    gw_costs(wire, &costs, &measured);
    snprintf(offer->name, sizeof offer->name, "%s",
             from->algo ? plan->algo : operand);
    enum gw_err err = read_question(plan, question, why);
    if (!err)
        err = gw_plan_price(plan, question->count, question->elem_bytes,
                            &costs.model, &offer->price, why);
    offer->predicted_us = offer->price.predicted_us;
    gw_plan_destroy(&plan);
    offers->count += !err;
    return err;
}

static enum gw_err add_all(struct offers *offers, const char *operand,
                           enum gw_collective collective, struct gw_error *why)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    struct plan_source each = source;
    unsigned ranks = source.ranks ? source.ranks : PLAN_RANKS_DEFAULT;
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < count && !err && !interrupted; i++) {
        if (algos[i]->collective != collective || !algos[i]->valid(ranks))
            continue;
        each.algo = algos[i]->name;
        err = add_offer(offers, operand, &each, why);
    }
    return err;
}

/* Uses the library's own prediction where it has one. */
static void predict(struct offers *offers)
{
    enum { CANDIDATES = 64 };
    struct gw_candidate list[CANDIDATES];
    const struct price_question *q = &offers->question;
    size_t found = gw_choose(q->wire, q->collective, q->ranks, q->count,
                             q->elem_bytes, list, CANDIDATES);
    for (size_t i = 0; i < found && i < CANDIDATES; i++)
        for (size_t j = 0; j < offers->count; j++)
            if (strcmp(list[i].algo->name, offers->list[j].name) == 0)
                offers->list[j].predicted_us = list[i].predicted_us;
}

static enum gw_err collect(struct offers *offers, const char *operand,
                           struct gw_error *why)
{
    bool is_file;
    enum gw_collective collective;
    if (source.algo && strcmp(source.algo, "all") == 0)
        source.algo = NULL;
    if (plan_operand(operand, &is_file, &collective, why))
        return why->code;
    enum gw_err err = is_file || source.algo
                          ? add_offer(offers, operand, &source, why)
                          : add_all(offers, operand, collective, why);
    if (!err && offers->count == 0)
        err = interrupted ? gw_fail(why, GW_EINTR, "interrupted")
                          : gw_fail(why, GW_EINVAL,
                                    "no algorithm of %s supports %u ranks",
                                    operand, source.ranks);
    if (!err && !is_file && !source.segments && !source.group)
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
};

static void offer_row(struct output *output, const struct offer *offer)
{
    const struct gw_price *price = &offer->price;
    output_row(output,
               (union value[]){
                   {.text = offer->name},
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
                   {.real = 100 * price->bound_us / offer->predicted_us},
                   {.real = price->predicted_us},
               });
}

static int show_offers(const struct offers *offers)
{
    struct gw_error why;
    struct output *output;
    const struct price_question *question = &offers->question;
    if (output_begin("collrun price", common.output, fields,
                     sizeof fields / sizeof *fields, &output, &why))
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
    output_end(&output, NULL, interrupted != 0);
    return interrupted ? gw_err_exit(GW_EINTR) : 0;
}

static int run_price(int operand_count, char **operands)
{
    struct gw_error why;
    size_t algo_count;
    struct offers offers = {.count = 0};
    (void)operand_count;
    (void)gw_algo_list(&algo_count);
    offers.list = calloc(algo_count, sizeof *offers.list);
    if (!offers.list)
        return complain_with(GW_ENOMEM, "%zu algorithms", algo_count);
    int status;
    if (collect(&offers, operands[0], &why)) {
        status = complain(&why);
    } else {
        qsort(offers.list, offers.count, sizeof *offers.list, cheaper);
        status = show_offers(&offers);
    }
    free(offers.list);
    return status;
}

const struct command command_price = {
    .name = "price",
    .operands = "OP|FILE.plan",
    .help = "count rounds and bytes, predict the time, show the lower bound",
    .examples = "collrun price allreduce -n 8 -b 1M\n"
                "collrun price allreduce -n 8 -b 1K --wire tcp --why\n"
                "collrun price mine.plan -b 64K -o json\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_price,
};

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun list: the algorithms, their numbers of ranks, costs and sources; and
 * the types, reductions and wires for other commands.
 */
#include "collrun/collrun.h"
#include "common/output.h"
#include "plan_source.h"

#include <stdio.h>
#include <string.h>

enum { RANKS_TRIED = 64 };

static bool is_power(unsigned ranks)
{
    return (ranks & (ranks - 1)) == 0;
}

static bool is_even(unsigned ranks)
{
    return ranks % 2 == 0;
}

static bool is_even_or_one(unsigned ranks)
{
    return ranks == 1 || is_even(ranks);
}

static bool is_any(unsigned ranks)
{
    return ranks > 0;
}

static bool same(bool (*a)(unsigned), bool (*b)(unsigned))
{
    for (unsigned ranks = 1; ranks <= RANKS_TRIED; ranks++)
        if (a(ranks) != b(ranks))
            return false;
    return true;
}

/* The supported numbers of ranks, in a word if there is one. */
static const char *ranks_served(const struct gw_algo *algo, char out[64])
{
    static const struct {
        const char *word;
        bool (*serves)(unsigned);
    } words[] = {{"any", is_any},
                 {"2^k", is_power},
                 {"even", is_even},
                 {"1, even", is_even_or_one}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (same(algo->valid, words[i].serves))
            return words[i].word;
    size_t used = 0;
    *out = 0;
    for (unsigned p = 1; p <= RANKS_TRIED && used < 32; p++)
        if (algo->valid(p))
            used += (size_t)snprintf(out + used, 64 - used, "%u ", p);
    snprintf(out + used, 64 - used, "...");
    return out;
}

static void algo_row(struct output *output, const struct gw_algo *algo)
{
    char ranks[64];
    union value row[] = {
        {.text = gw_collective_name(algo->collective)},
        {.text = algo->name},
        {.text = ranks_served(algo, ranks)},
        {.text = algo->formula},
        {.text = algo->summary},
        {.text = algo->source},
    };
    output_row(output, row);
}

/* `only`: GW_COLLECTIVES for all of them. */
static int list_algos(enum gw_collective only)
{
    const struct field fields[] = {
        {"op", NULL, FIELD_TEXT, 0, only != GW_COLLECTIVES},
        {"algo", NULL, FIELD_TEXT, 0, false},
        {"ranks", NULL, FIELD_TEXT, 0, false},
        {"formula", NULL, FIELD_TEXT, 0, false},
        {"summary", NULL, FIELD_TEXT, 0, false},
        {"source", NULL, FIELD_TEXT, 0, true},
    };
    struct gw_error why;
    struct output *output;
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    if (output_begin("collrun list", common.output, fields, 6, &output, &why))
        return complain(&why);
    output_collect(output);
    for (size_t i = 0; i < count; i++)
        if (only == GW_COLLECTIVES || algos[i]->collective == only)
            algo_row(output, algos[i]);
    output_end(&output, NULL, false);
    return 0;
}

static void type_rows(struct output *output)
{
    for (unsigned i = 0; i < GW_DTYPE_COUNT; i++) {
        enum gw_dtype type = (enum gw_dtype)i;
        char text[32];
        snprintf(text, sizeof text, "%zu bytes", gw_dtype_size(type));
        output_row(output, (union value[]){{.text = gw_dtype_name(type)},
                                           {.text = text}});
    }
}

static void redop_rows(struct output *output)
{
    for (unsigned i = 0; i < GW_REDOP_COUNT; i++) {
        enum gw_redop op = (enum gw_redop)i;
        bool all = gw_redop_allowed(op, GW_F32);
        output_row(output,
                   (union value[]){{.text = gw_redop_name(op)},
                                   {.text = all ? "all types" : "integers"}});
    }
}

static void wire_rows(struct output *output)
{
    static const struct {
        const char *name, *text;
    } known[] = {{"shm", "shared memory of this host"},
                 {"ipc", "Unix sockets"},
                 {"tcp", "TCP sockets"},
                 {"zmq", "ZeroMQ over TCP"},
                 {"verbs", "RDMA over libibverbs"}};
    for (const char *const *wire = gw_wire_list(); *wire; wire++) {
        const char *text = NULL;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(known[i].name, *wire) == 0)
                text = known[i].text;
        output_row(output, (union value[]){{.text = *wire}, {.text = text}});
    }
}

static int list_words(void (*rows)(struct output *))
{
    static const struct field fields[] = {
        {"name", NULL, FIELD_TEXT, 0, false},
        {"note", NULL, FIELD_TEXT, 0, false},
    };
    struct gw_error why;
    struct output *output;
    if (output_begin("collrun list", common.output, fields, 2, &output, &why))
        return complain(&why);
    output_collect(output);
    rows(output);
    output_end(&output, NULL, false);
    return 0;
}

static int run_list(int operand_count, char **operands)
{
    static const struct {
        const char *word;
        void (*rows)(struct output *);
    } others[] = {
        {"types", type_rows}, {"redops", redop_rows}, {"wires", wire_rows}};
    struct gw_error why;
    bool is_file;
    enum gw_collective collective = GW_COLLECTIVES;
    if (operand_count == 0)
        return list_algos(GW_COLLECTIVES);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(operands[0], others[i].word) == 0)
            return list_words(others[i].rows);
    if (plan_operand(operands[0], &is_file, &collective, &why))
        return complain(&why);
    if (is_file)
        return complain_with(GW_EINVAL,
                             "list: \"%.60s\" is a file; use a collective, "
                             "types, redops or wires",
                             operands[0]);
    return list_algos(collective);
}

const struct command command_list = {
    .name = "list",
    .operands = "[OP|types|redops|wires]",
    .help = "list the algorithms with ranks, formula and source",
    .examples = "collrun list\n"
                "collrun list allreduce\n"
                "collrun list types\n",
    .operands_max = 1,
    .computes = true,
    .run = run_list,
};

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cut: a partition, which no message crosses; and heal, which removes cuts.
 * Other link settings remain: "link A B clear".
 */
#include "answer_output.h"
#include "ringctl/ringctl.h"
#include "target_request.h"

static json_t *side_json(const struct cut *cut, unsigned side)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < cut->sides[side].count; i++)
        json_array_append_new(list, target_json(cut->sides[side].targets[i]));
    return list;
}

static int run_cut(int operand_count, char **operands)
{
    struct cut cut;
    struct gw_error why;
    if (cut_parse(operand_count, operands, &cut, &why))
        return complain(&why);
    return request_and_report(json_pack("{sssoso}", "verb", "cut", "left",
                                        side_json(&cut, 0), "right",
                                        side_json(&cut, 1)));
}

const struct command command_cut = {
    .name = "cut",
    .operands = "NODE,NODE...|NODE,NODE...",
    .help = "separate the nodes: no message passes between the sides",
    .examples = "ringctl cut '0,1|2,3'        only sh needs the quotes\n"
                "ringctl cut 0,1 2,3,c0       c0 is a controller\n"
                "ringctl heal\n",
    .operands_min = 1,
    .operands_max = 2,
    .run = run_cut,
};

static int run_heal(int operand_count, char **operands)
{
    (void)operand_count;
    (void)operands;
    return request_and_report(json_pack("{ss}", "verb", "heal"));
}

const struct command command_heal = {
    .name = "heal",
    .help = "remove all cuts",
    .examples = "ringctl heal\n",
    .run = run_heal,
};

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * add: more nodes. Each copies the state of a member while the others continue,
 * and is admitted between two ops. A server copies slot by slot; a worker joins
 * at the slowest one's clock.
 */
#include "answer_output.h"
#include "ringctl/ringctl.h"
#include "run/target.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *role_text = "worker";
static unsigned rank = UINT_MAX;

static const struct option_spec options[] = {
    {"role", 0, OPTION_CHOICE, &role_text, "ROLE", "Role of the new nodes.",
     "worker|server|controller"},
    {"rank", 0, OPTION_UNSIGNED, &rank, "R",
     "Rank of the first new node in the ring. Default: by node number.", NULL},
    {0},
};

enum { ADD_MAX = 64 };

static int run_add(int operand_count, char **operands)
{
    char *end = NULL;
    unsigned long count = 1;
    if (operand_count && isdigit((unsigned char)*operands[0]))
        count = strtoul(operands[0], &end, 10);
    if (operand_count && (!end || *end || count < 1 || count > ADD_MAX))
        return complain_with(
            GW_EINVAL,
            "add: the number of nodes must be from 1 to %d, not \"%.40s\"",
            ADD_MAX, operands[0]);
    json_t *request = json_pack("{sssssi}", "verb", "add", "role", role_text,
                                "count", (int)count);
    if (rank != UINT_MAX)
        json_object_set_new(request, "rank", json_integer(rank));
    return request_and_report(request);
}

const struct command command_add = {
    .name = "add",
    .operands = "[K]",
    .help = "add K nodes; default 1",
    .examples = "ringctl add\n"
                "ringctl add 2\n"
                "ringctl add --rank 1         between ranks 0 and 1\n"
                "ringctl add --role server    gets its share of the slots\n",
    .options = options,
    .operands_max = 1,
    .run = run_add,
};

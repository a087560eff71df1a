/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * order: the order of a ring's members, and the number of rack crossings. A new
 * order is applied between two steps.
 */
#include "answer_output.h"
#include "ringctl/ringctl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "0,2,1,3"; NULL: not a list. */
static json_t *read_list(const char *word)
{
    json_t *list = json_array();
    while (isdigit((unsigned char)*word)) {
        char *end;
        json_array_append_new(
            list, json_integer((json_int_t)strtoul(word, &end, 10)));
        if (*end == 0)
            return list;
        word = *end == ',' ? end + 1 : "";
    }
    json_decref(list);
    return NULL;
}

static int run_order(int operand_count, char **operands)
{
    json_t *request = json_pack("{ss}", "verb", "order");
    const char *word = operand_count ? operands[0] : NULL;
    if (word && isdigit((unsigned char)*word)) {
        json_t *list = read_list(word);
        if (!list) {
            json_decref(request);
            return complain_with(GW_EINVAL,
                                 "order must be node numbers separated by "
                                 "commas, such as 0,2,1,3, not \"%.40s\"",
                                 word);
        }
        json_object_set_new(request, "list", list);
    } else if (word) {
        json_object_set_new(request, "by", json_string(word));
    }
    return request_and_report(request);
}

const struct command command_order = {
    .name = "order",
    .operands = "[numbers|racks|NODE,NODE...]",
    .help = "print or set the order of the ring, and count its crossings "
            "between racks",
    .examples = "ringctl order\n"
                "ringctl order racks          of the run's topology\n"
                "ringctl order 0,2,1,3        then the others by number\n",
    .operands_max = 1,
    .run = run_order,
};

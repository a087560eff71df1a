/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * link: the effects of a link on its messages. They belong to the link, so a
 * restarted node gets them again. Only named settings change; without words the
 * link is shown.
 */
#include "answer_output.h"
#include "common/output.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "run/link_words.h"
#include "target_request.h"

#include <stdio.h>
#include <string.h>

static bool both;

static const struct option_spec options[] = {
    {"both", 'b', OPTION_FLAG, &both, NULL,
     "Also set the link in the other direction.", NULL},
    {0},
};

static void print_sentence(const char *from, const char *to,
                           const json_t *profile)
{
    char text[160];
    link_words_print(profile, text, sizeof text);
    printf("link %s>%s: %s\n", from, to, text);
}

static int print_csv(int from, int to, const json_t *profile)
{
    static const struct field fields[] = {
        {"from", NULL, FIELD_INTEGER, 0, false},
        {"to", NULL, FIELD_INTEGER, 0, false},
        {"delay_us", NULL, FIELD_INTEGER, 0, false},
        {"jitter_us", NULL, FIELD_INTEGER, 0, false},
        {"rate", NULL, FIELD_INTEGER, 0, false},
        {"loss_ppm", NULL, FIELD_INTEGER, 0, false},
        {"down", NULL, FIELD_BOOL, 0, false},
    };
    const union value values[] = {
        {.integer = from},
        {.integer = to},
        {.integer = integer_of(profile, "delay_us", 0)},
        {.integer = integer_of(profile, "jitter_us", 0)},
        {.integer = integer_of(profile, "rate", 0)},
        {.integer = integer_of(profile, "loss_ppm", 0)},
        {.boolean = integer_of(profile, "down", 0) != 0},
    };
    struct gw_error why;
    if (output_record("ringctl link", common.output, fields, values, 7, NULL,
                      false, &why))
        return complain(&why);
    return 0;
}

/* A link's settings in a status, or an empty object. */
static json_t *find_link_profile(const json_t *status, int from, int to)
{
    size_t i;
    json_t *profile;
    json_array_foreach(json_object_get(status, "links"), i,
                       profile) if (integer_of(profile, "from", -1) == from &&
                                    integer_of(profile, "to", -1) ==
                                        to) return json_incref(profile);
    return json_pack("{sisi}", "from", from, "to", to);
}

static int show_link(const struct target *ends, char **names)
{
    struct gw_error why;
    json_t *status;
    int result = 0;
    if (request_status(&status, &why))
        return complain(&why);
    int from = target_number(ends[0]), to = target_number(ends[1]);
    json_t *profile = find_link_profile(status, from, to);
    if (is_json_output())
        result = report_object("link", profile);
    else if (strcmp(common.output, "csv") == 0)
        result = print_csv(from, to, profile);
    else
        print_sentence(names[0], names[1], profile);
    json_decref(profile);
    json_decref(status);
    return result;
}

static int run_link(int operand_count, char **operands)
{
    struct target ends[2];
    struct gw_error why;
    json_t *request;
    for (int i = 0; i < 2; i++)
        if (target_parse(operands[i], &ends[i], &why))
            return complain(&why);
    if (ends[0].node == TARGET_LEADER || ends[1].node == TARGET_LEADER)
        return complain_with(GW_EINVAL,
                             "link: name a controller, such as c0; leader is "
                             "not possible because the leader changes");
    if (ends[0].role == ends[1].role && ends[0].node == ends[1].node)
        return complain_with(GW_EINVAL,
                             "link: %s has no link to itself; name two nodes",
                             operands[0]);
    if (operand_count == 2)
        return show_link(ends, operands);
    if (link_words_parse(operand_count - 2, operands + 2, &request, &why))
        return complain(&why);
    json_object_set_new(request, "verb", json_string("link"));
    json_object_set_new(request, "from", target_json(ends[0]));
    json_object_set_new(request, "to", target_json(ends[1]));
    json_object_set_new(request, "both", json_boolean(both));
    return request_and_report(request);
}

const struct command command_link = {
    .name = "link",
    .operands = "FROM TO [delay TIME] [jitter TIME] [rate SIZE] [loss PERCENT] "
                "[down|up|clear]",
    .help = "set or print the properties of a link: delay, jitter, rate, loss, "
            "down",
    .examples = "ringctl link 0 1 delay 5ms jitter 1ms\n"
                "ringctl link 0 1 rate 100M loss 1% --both\n"
                "ringctl link s0 w1 loss 5%        a server and a worker\n"
                "ringctl link 0 1 clear\n"
                "ringctl link 0 1              prints the properties\n",
    .options = options,
    .operands_min = 2,
    .operands_max = 12,
    .run = run_link,
};

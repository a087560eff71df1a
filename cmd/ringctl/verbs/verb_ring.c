/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ring: the order of the members, and the settings of the links between them.
 */
#include "common/output.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "run/link_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct field fields[] = {
    {"rank", NULL, FIELD_INTEGER, 0, false},
    {"node", NULL, FIELD_INTEGER, 0, false},
    {"to", NULL, FIELD_INTEGER, 0, false},
    {"state", NULL, FIELD_TEXT, 0, false},
    {"phase", NULL, FIELD_TEXT, 0, false},
    {"link", NULL, FIELD_TEXT, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static int64_t member(const json_t *ring, size_t rank)
{
    return json_integer_value(
        json_array_get(ring, rank % json_array_size(ring)));
}

static const json_t *find_worker(const json_t *nodes, int64_t node)
{
    size_t i;
    const json_t *item;
    json_array_foreach(nodes, i,
                       item) if (integer_of(item, "node", -1) == node &&
                                 strcmp(text_of(item, "role", "worker"),
                                        "worker") == 0) return item;
    return NULL;
}

static const json_t *find_link(const json_t *links, int64_t from, int64_t to)
{
    size_t i;
    const json_t *item;
    json_array_foreach(links, i,
                       item) if (integer_of(item, "from", -1) == from &&
                                 integer_of(item, "to", -1) == to) return item;
    return NULL;
}

/* "0 > 1 > 3 > 0" */
static void draw_ring(const json_t *ring, char *out, size_t room)
{
    size_t count = json_array_size(ring), used = 0;
    snprintf(out, room, "none");
    for (size_t rank = 0; count && rank <= count && used < room; rank++)
        used += (size_t)snprintf(out + used, room - used, "%s%" PRId64,
                                 rank ? " > " : "", member(ring, rank));
}

static void print_member(struct output *output, const json_t *status,
                         const json_t *ring, size_t rank)
{
    char profile[160];
    int64_t node = member(ring, rank), to = member(ring, rank + 1);
    const json_t *about = find_worker(json_object_get(status, "nodes"), node);
    link_words_print(find_link(json_object_get(status, "links"), node, to),
                     profile, sizeof profile);
    const union value row[FIELDS] = {
        {.integer = (int64_t)rank},
        {.integer = node},
        {.integer = to},
        {.text = text_of(about, "state", "?")},
        {.text = text_of(about, "phase", "-")},
        {.text = profile},
    };
    output_row(output, row);
}

static int print_ring(const json_t *status)
{
    struct gw_error why;
    struct output *output;
    char picture[512];
    const json_t *ring = json_object_get(status, "ring");
    if (output_begin("ringctl ring", common.output, fields, FIELDS, &output,
                     &why))
        return complain(&why);
    output_collect(output);
    draw_ring(ring, picture, sizeof picture);
    output_note_text(output, "ring", picture);
    output_note_integer(output, "epoch", integer_of(status, "epoch", 0));
    if (json_is_integer(json_object_get(status, "crossings")))
        output_note_integer(output, "rack_crossings",
                            integer_of(status, "crossings", 0));
    for (size_t rank = 0; rank < json_array_size(ring); rank++)
        print_member(output, status, ring, rank);
    output_end(&output, NULL, false);
    return 0;
}

static int run_ring(int operand_count, char **operands)
{
    (void)operand_count;
    (void)operands;
    return request_and_print_status(print_ring);
}

const struct command command_ring = {
    .name = "ring",
    .help = "print the ring: the successor of each node, and the links",
    .examples = "ringctl ring\n",
    .run = run_ring,
};

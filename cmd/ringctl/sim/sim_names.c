/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of nodes in fault schedules: "crash s1", where the simulator counts all
 * nodes of a cluster in one row. A name becomes its number in as many letters
 * ("s1": "03"), so that an error still names the right column.
 */
#include "sim.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The node that this word means, `*length` letters of it; -1: not a name. */
static int parse_node(const char *word, const struct simcluster_group *groups,
                      size_t *length)
{
    char *end;
    if (!isdigit((unsigned char)word[1]))
        return -1;
    unsigned long number = strtoul(word + 1, &end, 10);
    *length = (size_t)(end - word);
    for (unsigned g = 0; g < SIMCLUSTER_GROUPS; g++)
        if (groups[g].letter == word[0] && number < groups[g].count)
            return (int)(groups[g].first + number);
    return -1;
}

/* Replaces `length` bytes of the text at `at` by the number, without its end. A
 * short number gets zeros in front, so that columns in errors stay right.
 * Returns the growth; the text stays as it is if there is no room. */
static size_t put_number(char *at, size_t length, unsigned node, size_t after,
                         size_t room)
{
    char number[16];
    size_t digits =
        (size_t)snprintf(number, sizeof number, "%0*u", (int)length, node);
    size_t growth = digits - length;
    if (growth > room)
        return 0;
    memmove(at + digits, at + length, after);
    memcpy(at, number, digits);
    return growth;
}

size_t sim_names_in(char *text, size_t bytes, size_t room,
                    const struct simcluster_group *groups)
{
    size_t length, begun = bytes;
    for (size_t i = 0; text[i]; i++) {
        bool begins = i == 0 || !isalnum((unsigned char)text[i - 1]);
        int node = begins && isalpha((unsigned char)text[i])
                       ? parse_node(text + i, groups, &length)
                       : -1;
        if (node < 0 || length >= 16)
            continue;
        bytes += put_number(text + i, length, (unsigned)node,
                            bytes + 1 - i - length, room - 1 - bytes);
    }
    return bytes - begun;
}

/* The first operand, after "at TIME", if present, and the verb. */
static const char *operand_of(const char *line)
{
    unsigned words = strncmp(line, "at ", 3) == 0 ? 3 : 1;
    while (words > 0 && (line = strchr(line, ' '))) {
        line++;
        words--;
    }
    return line;
}

static void put_name(FILE *file, unsigned node,
                     const struct simcluster_group *groups)
{
    unsigned g = 0;
    while (g < SIMCLUSTER_GROUPS && (node < groups[g].first ||
                                     node - groups[g].first >= groups[g].count))
        g++;
    if (g < SIMCLUSTER_GROUPS)
        fprintf(file, "%c%u", groups[g].letter, node - groups[g].first);
    else
        fprintf(file, "%u", node);
}

void sim_names_out(const char *line, const struct simcluster_group *groups,
                   FILE *file)
{
    const char *at = operand_of(line);
    if (!at) {
        fprintf(file, "%s\n", line);
        return;
    }
    fprintf(file, "%.*s", (int)(at - line), line);
    while (*at && *at != ' ') {
        char *end = NULL;
        if (isdigit((unsigned char)*at)) {
            put_name(file, (unsigned)strtoul(at, &end, 10), groups);
            at = end;
        } else {
            fputc(*at++, file);
        }
    }
    fprintf(file, "%s\n", at);
}

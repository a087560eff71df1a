/* SPDX-License-Identifier: MIT
 *
 * Parses the statements of fat trees and tori (gradwire-topology(5)).
 */
#include "topology_parts.h"

bool gw__fat_tree_read(struct gw__words *words, struct gw__fabric *fabric)
{
    struct gw__settings settings;
    size_t at = words->word;
    if (!gw__settings_read(words,
                           GW__PORTS | GW__LEVELS | GW__RATE | GW__LATENCY |
                               GW__OVERSUBSCRIPTION,
                           &settings))
        return false;
    *fabric =
        (struct gw__fabric){.kind = GW__FAT_TREE,
                            .k = settings.ports,
                            .levels = settings.levels ? settings.levels : 3,
                            .link = settings.link};
    return settings.ports > 0 ||
           gw__source_fail(&words->source, at,
                           "a fat tree needs k=, the ports per switch");
}

/* Checks the limits of a torus. */
static bool fits(struct gw__words *words, size_t at,
                 const struct gw__fabric *fabric)
{
    uint64_t hosts = 1, hops = 0;
    for (unsigned d = 0; d < fabric->dimensions; d++) {
        hosts *= fabric->size[d];
        hops += fabric->size[d] / 2;
    }
    if (hosts == 0)
        return gw__source_fail(&words->source, at,
                               "the sides of a torus must be at least 1");
    if (hosts > GW_HOSTS_MAX)
        return gw__source_fail(&words->source, at,
                               "a topology can have at most %d hosts",
                               GW_HOSTS_MAX);
    return hops + 2 <= GW_PATH_LINKS_MAX ||
           gw__source_fail(&words->source, at,
                           "a path can have at most %d links",
                           GW_PATH_LINKS_MAX);
}

/* "8x8x4" */
static bool read_sizes(struct gw__words *words, struct gw__fabric *fabric)
{
    size_t begin = words->word, at = begin;
    bool more = true;
    while (more) {
        uint32_t size;
        if (!gw__parse_number(words, &at, GW_HOSTS_MAX, "a size, such as 8x8",
                              &size))
            return false;
        fabric->size[fabric->dimensions++] = size;
        more = fabric->dimensions < 3 && at < words->end &&
               gw__byte_at(words, at) == 'x';
        at += more;
    }
    if (at != words->end)
        return gw__expected(words, at, "one to three sizes, as in 8x8x4");
    return fits(words, begin, fabric) && gw__next_word(words);
}

bool gw__torus_read(struct gw__words *words, struct gw__fabric *fabric)
{
    struct gw__settings settings = {0};
    *fabric = (struct gw__fabric){.kind = GW__TORUS, .size = {1, 1, 1}};
    if (!read_sizes(words, fabric) ||
        (!gw__at_line_end(words) &&
         !gw__settings_read(words, GW__RATE | GW__LATENCY, &settings)))
        return false;
    fabric->link = settings.link;
    return true;
}

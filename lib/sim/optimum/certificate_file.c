/* SPDX-License-Identifier: MIT
 *
 * Certificates as text, one item per line, so that another program can judge
 * them, too:
 *
 *     certificate ranks=2 nodes=3 edges=4
 *     ratio blocks=1 capacity=5 unit=1000000 parts=2
 *     weight 1 1
 *     inside 0 2                    nodes on the cut's side of the data
 *     edge 0 2 5                    from, to, capacity; edges count from 0
 *     flow 1                        to this sink; what follows is part of it
 *     start 0 5                     so much starts in rank 0
 *     on 0 5                        so much is on edge 0
 *
 * A buffer has `parts` blocks, and a capacity of 1 is `unit` bytes per second. So
 * the bound is blocks / (parts * capacity * unit) seconds per byte.
 */
#include "bounds.h"

#include <base/source.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CERTIFICATE_BYTES_MAX = 256 << 20,
    CERTIFICATE_NODES_MAX = 1 << 20,
    CERTIFICATE_FLOWS_MAX = 1 << 24
};

/* ---- writing ---- */

static void write_flow(const struct gw__certificate *c, unsigned s, FILE *file)
{
    const int64_t *flow = c->flow + s * (c->ranks + c->edges);
    fprintf(file, "flow %u\n", c->sinks[s]);
    for (unsigned r = 0; r < c->ranks; r++)
        if (flow[r])
            fprintf(file, "start %u %" PRId64 "\n", r, flow[r]);
    for (size_t e = 0; e < c->edges; e++)
        if (flow[c->ranks + e])
            fprintf(file, "on %zu %" PRId64 "\n", e, flow[c->ranks + e]);
}

static void write_certificate(const struct gw__certificate *c, uint64_t unit,
                              unsigned parts, FILE *file)
{
    fprintf(file, "certificate ranks=%u nodes=%u edges=%zu\n", c->ranks,
            c->nodes, c->edges);
    fprintf(file,
            "ratio blocks=%" PRId64 " capacity=%" PRId64 " unit=%" PRIu64
            " parts=%u\nweight",
            c->blocks, c->capacity, unit, parts);
    for (unsigned r = 0; r < c->ranks; r++)
        fprintf(file, " %" PRId64, c->weight[r]);
    fputs("\ninside", file);
    for (unsigned n = 0; n < c->nodes; n++)
        if (c->inside[n])
            fprintf(file, " %u", n);
    fputc('\n', file);
    for (size_t e = 0; e < c->edges; e++)
        fprintf(file, "edge %u %u %" PRId64 "\n", c->from[e], c->to[e],
                c->edge_capacity[e]);
    for (unsigned s = 0; s < c->sink_count; s++)
        write_flow(c, s, file);
}

static bool has_certificate(enum gw_collective collective)
{
    return collective == GW_BROADCAST || collective == GW_REDUCE ||
           collective == GW_GATHER || collective == GW_SCATTER ||
           collective == GW_ALLGATHER || collective == GW_REDUCE_SCATTER;
}

enum gw_err gw_optimum_certify(const struct gw_topology *topology,
                               const struct gw_optimum *optimum, FILE *file,
                               struct gw_error *why)
{
    struct gw__network network = {0};
    struct gw__certificate c = {0};
    bool whole =
        optimum->collective == GW_BROADCAST || optimum->collective == GW_REDUCE;
    if (!has_certificate(optimum->collective) || optimum->numerator == 0)
        return gw_fail(why, GW_ENOTSUP,
                       "this bound of %s has no certificate: it is not that of "
                       "a cut with flows; allgather and broadcast have one",
                       gw_collective_name(optimum->collective));
    enum gw_err err =
        gw__network_init(&network, topology, optimum->ranks, false, why);
    if (!err)
        err = gw__optimum_cut(&network, optimum->collective, optimum->root, &c,
                              why);
    if (!err)
        write_certificate(&c, network.unit, whole ? 1 : optimum->ranks, file);
    if (!err && (fflush(file) || ferror(file)))
        err = gw_fail_errno(why, "writing a certificate");
    gw__certificate_fini(&c);
    gw__network_fini(&network);
    return err;
}

/* ---- reading ---- */

struct certificate_reader {
    const char *name;
    char *at; /* the text, whose lines and words become strings */
    unsigned line;
    struct gw__certificate *c;
    struct gw_certified *certified;
    size_t edges_read;
    int64_t *flow; /* the current one */
    struct gw_error *why;
};

static bool refuse_line(const struct certificate_reader *r, const char *reason)
{
    gw_fail(r->why, GW_EDATA, "%.200s:%u: %s", r->name, r->line, reason);
    return false;
}

/* The next word of the line; NULL: it has no more. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t\r");
    if (*word == 0 || *word == '#')
        return NULL;
    *rest = word + strcspn(word, " \t\r");
    if (**rest)
        *(*rest)++ = 0;
    return word;
}

/* A number from 0 to `most`, after `key` if there is one. */
static bool read_number(const struct certificate_reader *r, char **rest,
                        const char *key, uint64_t most, uint64_t *number)
{
    char *word = next_word(rest), *end = NULL;
    size_t length = strlen(key);
    if (!word || strncmp(word, key, length) != 0 || word[length] < '0' ||
        word[length] > '9')
        return refuse_line(r, "a number is missing, or in the wrong place");
    errno = 0;
    *number = strtoull(word + length, &end, 10);
    return (*end == 0 && !errno && *number <= most) ||
           refuse_line(r, "a number is out of range");
}

static bool read_sizes(struct certificate_reader *r, char *rest)
{
    uint64_t ranks, nodes, edges;
    if (r->c->weight)
        return refuse_line(r, "certificate occurs twice");
    if (!read_number(r, &rest, "ranks=", GW_OPTIMUM_RANKS_MAX, &ranks) ||
        !read_number(r, &rest, "nodes=", CERTIFICATE_NODES_MAX, &nodes) ||
        !read_number(r, &rest, "edges=", CERTIFICATE_NODES_MAX, &edges))
        return false;
    if (ranks == 0 || nodes < ranks ||
        ranks * (ranks + edges) > CERTIFICATE_FLOWS_MAX)
        return refuse_line(r, "so many ranks, nodes and edges do not fit");
    return gw__certificate_init(r->c, (unsigned)ranks, (unsigned)nodes,
                                (size_t)edges, r->why) == GW_OK;
}

static bool read_ratio(struct certificate_reader *r, char *rest)
{
    uint64_t blocks, capacity, parts;
    if (!read_number(r, &rest, "blocks=", INT64_MAX, &blocks) ||
        !read_number(r, &rest, "capacity=", INT64_MAX, &capacity) ||
        !read_number(r, &rest, "unit=", INT64_MAX, &r->certified->unit) ||
        !read_number(r, &rest, "parts=", GW_OPTIMUM_RANKS_MAX, &parts))
        return false;
    r->c->blocks = (int64_t)blocks;
    r->c->capacity = (int64_t)capacity;
    r->certified->parts = (unsigned)parts;
    return true;
}

static bool read_weights(struct certificate_reader *r, char *rest)
{
    uint64_t weight;
    for (unsigned rank = 0; rank < r->c->ranks; rank++) {
        if (!read_number(r, &rest, "", INT32_MAX, &weight))
            return false;
        r->c->weight[rank] = (int64_t)weight;
    }
    return true;
}

static bool read_inside(struct certificate_reader *r, char *rest)
{
    uint64_t node;
    while (rest[strspn(rest, " \t\r")]) {
        if (!read_number(r, &rest, "", r->c->nodes - 1, &node))
            return false;
        r->c->inside[node] = true;
    }
    return true;
}

static bool read_edge(struct certificate_reader *r, char *rest)
{
    uint64_t from, to, capacity;
    size_t e = r->edges_read++;
    if (e >= r->c->edges)
        return refuse_line(r, "there are more edges than edges=");
    if (!read_number(r, &rest, "", r->c->nodes - 1, &from) ||
        !read_number(r, &rest, "", r->c->nodes - 1, &to) ||
        !read_number(r, &rest, "", INT64_MAX, &capacity))
        return false;
    r->c->from[e] = (uint32_t)from;
    r->c->to[e] = (uint32_t)to;
    r->c->edge_capacity[e] = (int64_t)capacity;
    return true;
}

static bool read_sink(struct certificate_reader *r, char *rest)
{
    uint64_t sink;
    struct gw__certificate *c = r->c;
    if (!read_number(r, &rest, "", c->ranks - 1, &sink))
        return false;
    for (unsigned s = 0; s < c->sink_count; s++)
        if (c->sinks[s] == sink)
            return refuse_line(r, "a second flow to this rank");
    r->flow = c->flow + c->sink_count * (c->ranks + c->edges);
    c->sinks[c->sink_count++] = (uint32_t)sink;
    return true;
}

/* `start` of a rank or `on` an edge: item `first` and on. */
static bool read_amount(struct certificate_reader *r, char *rest, size_t first,
                        size_t items)
{
    uint64_t item, amount;
    if (!r->flow || items == 0)
        return refuse_line(r, "an amount must follow a flow");
    if (!read_number(r, &rest, "", items - 1, &item) ||
        !read_number(r, &rest, "", INT64_MAX, &amount))
        return false;
    r->flow[first + item] = (int64_t)amount;
    return true;
}

static bool read_line(struct certificate_reader *r, char *line)
{
    char *word = next_word(&line);
    if (!word)
        return true;
    if (strcmp(word, "certificate") == 0)
        return read_sizes(r, line);
    if (!r->c->weight)
        return refuse_line(r, "the first line must be `certificate ranks=N "
                              "nodes=N edges=N`");
    if (strcmp(word, "ratio") == 0)
        return read_ratio(r, line);
    if (strcmp(word, "weight") == 0)
        return read_weights(r, line);
    if (strcmp(word, "inside") == 0)
        return read_inside(r, line);
    if (strcmp(word, "edge") == 0)
        return read_edge(r, line);
    if (strcmp(word, "flow") == 0)
        return read_sink(r, line);
    if (strcmp(word, "start") == 0)
        return read_amount(r, line, 0, r->c->ranks);
    if (strcmp(word, "on") == 0)
        return read_amount(r, line, r->c->ranks, r->c->edges);
    return refuse_line(r, "expected ratio, weight, inside, edge, flow, start "
                          "or on");
}

static bool read_lines(struct certificate_reader *r)
{
    for (char *line; (line = strsep(&r->at, "\n"));) {
        r->line++;
        if (!read_line(r, line))
            return false;
    }
    if (!r->c->weight || r->edges_read != r->c->edges)
        return refuse_line(r, "the certificate ends before its last edge");
    return true;
}

/* The flows must reach all ranks, or the one that starts with nothing while all
 * others have the same. */
static enum gw_err check_flows(const struct certificate_reader *r)
{
    const struct gw__certificate *c = r->c;
    struct gw_error reason = {0};
    enum gw_err err = gw__certificate_check(c, &reason);
    if (err)
        return gw_fail(r->why, err == GW_EINTERNAL ? GW_EDATA : err,
                       "%.200s: %s", r->name, reason.text);
    if (c->sink_count != c->ranks && c->sink_count != 1)
        return gw_fail(r->why, GW_EDATA,
                       "%.200s: there are flows to %u of %u ranks; there must "
                       "be one, or one to each",
                       r->name, c->sink_count, c->ranks);
    *r->certified = (struct gw_certified){.ranks = c->ranks,
                                          .flows = c->sink_count,
                                          .blocks = (uint64_t)c->blocks,
                                          .capacity = (uint64_t)c->capacity,
                                          .unit = r->certified->unit,
                                          .parts = r->certified->parts};
    return GW_OK;
}

enum gw_err gw_certificate_load(const char *path,
                                struct gw_certified *certified,
                                struct gw_error *why)
{
    size_t bytes;
    char *text;
    struct gw__certificate c = {0};
    struct gw_error reason = {0};
    *certified = (struct gw_certified){0};
    enum gw_err err =
        gw__text_load(path, CERTIFICATE_BYTES_MAX, &text, &bytes, why);
    if (err)
        return err;
    struct certificate_reader r = {.name = path,
                                   .at = text,
                                   .c = &c,
                                   .certified = certified,
                                   .why = &reason};
    if (bytes > CERTIFICATE_BYTES_MAX || memchr(text, 0, bytes))
        err = gw_fail(&reason, GW_EDATA, "%.200s is not a certificate", path);
    else if (!read_lines(&r))
        err = reason.code;
    else
        err = check_flows(&r);
    gw__certificate_fini(&c);
    free(text);
    return err ? gw_fail(why, err, "%s", reason.text) : GW_OK;
}

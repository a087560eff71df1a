/* SPDX-License-Identifier: MIT
 *
 * The algorithms of SCCL and msccl-tools (PPoPP 2021), JSON: steps of sends
 * [address, from, to], and a collective as chunks with an address and the ranks
 * that have them before and after.
 *
 *     {"msccl_type": "algorithm", "name": "..",
 *      "steps": [{"rounds": 1, "sends": [[0, 0, 1], [1, 1, 0]]}],
 *      "collective": {"runtime_name": "allgather", "nodes": 2,
 *                     "chunks": [{"pre": [0], "post": [0, 1], "addr": 0}]}}
 *
 * In a collective that reduces, several chunks have one address, and a receiver
 * adds those that it lacks. A collective without a name of ours, in runtime_name
 * or before the `(` of its name, becomes a custom plan.
 */
#include "copies.h"
#include "formats.h"

#include <jansson.h>

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCCL_NODES_MAX = 1024, SCCL_ADDRESSES_MAX = 1 << 16 };

struct sccl {
    const char *name;
    const json_t *collective;
    struct gw_plan shape;
    unsigned addresses;
    uint32_t *chunks;  /* address -> chunk of the plan, or none */
    unsigned *counted; /* of each block: chunks so far */
    struct gw_error *why;
};

#define SCCL_NONE UINT32_MAX

GW_PRINTF(2, 3)
static enum gw_err refuse_sccl(const struct sccl *s, const char *format, ...)
{
    char reason[200];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return gw_fail(s->why, GW_EDATA, "%.200s: %s", s->name, reason);
}

static bool number_at(const json_t *json, json_int_t most, unsigned *number)
{
    json_int_t value = json_integer_value(json);
    if (!json_is_integer(json) || value < 0 || value > most)
        return false;
    *number = (unsigned)value;
    return true;
}

/* ---- the collective ---- */

/* Is this the word, in any case, and without its `_`? It ends at a `(`. */
static bool is_named(const char *text, const char *word)
{
    for (; *word; word++) {
        if (*word == '_' && *text != '_')
            continue;
        if (tolower((unsigned char)*text++) != *word)
            return false;
    }
    return *text == 0 || *text == '(';
}

/* The collective of "Broadcast(n=8,root=0)"; others are custom. */
static enum gw_collective named_collective(const char *text)
{
    for (unsigned c = 0; text && c < GW_COLLECTIVES; c++)
        if (c != GW_BARRIER &&
            is_named(text, gw_collective_name((enum gw_collective)c)))
            return (enum gw_collective)c;
    return GW_CUSTOM;
}

static enum gw_err read_collective(struct sccl *s)
{
    const json_t *runtime = json_object_get(s->collective, "runtime_name");
    const char *word = json_string_value(runtime);
    const char *name =
        json_string_value(json_object_get(s->collective, "name"));
    if (!json_is_object(s->collective))
        return refuse_sccl(s, "\"collective\" must be an object");
    s->shape.collective = named_collective(word ? word : name);
    if (word && s->shape.collective == GW_CUSTOM && !is_named(word, "custom"))
        return refuse_sccl(s,
                           "\"collective\": \"runtime_name\" must be the name "
                           "of a collective, not \"%.32s\"",
                           word);
    if (!number_at(json_object_get(s->collective, "nodes"), SCCL_NODES_MAX,
                   &s->shape.ranks) ||
        s->shape.ranks == 0)
        return refuse_sccl(s, "\"collective\": \"nodes\" must be in 1..%d",
                           SCCL_NODES_MAX);
    const json_t *chunks = json_object_get(s->collective, "chunks");
    if (!json_is_array(chunks) || json_array_size(chunks) == 0)
        return refuse_sccl(s, "\"collective\": \"chunks\" must be a list");
    return GW_OK;
}

/* The only node of a list, or the last of several. */
static enum gw_err last_node(const struct sccl *s, const json_t *list,
                             size_t chunk, const char *what, unsigned *node)
{
    size_t count = json_array_size(list);
    if (count == 0 || !number_at(json_array_get(list, count - 1),
                                 (json_int_t)s->shape.ranks - 1, node))
        return refuse_sccl(s,
                           "\"chunks\"[%zu]: \"%s\" must be a list of nodes "
                           "0..%u",
                           chunk, what, s->shape.ranks - 1);
    return GW_OK;
}

/* The block of a chunk of the plan: by its owner, its receiver, or both. */
static enum gw_err block_of(struct sccl *s, size_t i, const json_t *chunk,
                            unsigned *block)
{
    unsigned owner = 0, receiver = 0;
    enum gw_err err =
        last_node(s, json_object_get(chunk, "pre"), i, "pre", &owner);
    if (!err)
        err =
            last_node(s, json_object_get(chunk, "post"), i, "post", &receiver);
    switch (s->shape.collective) {
    case GW_ALLGATHER:
    case GW_GATHER:
        *block = owner;
        break;
    case GW_SCATTER:
    case GW_REDUCE_SCATTER:
        *block = receiver;
        break;
    case GW_ALLTOALL:
        *block = owner * s->shape.ranks + receiver;
        break;
    default:
        *block = 0;
    }
    if (s->shape.collective == GW_BROADCAST ||
        s->shape.collective == GW_SCATTER)
        s->shape.root = owner;
    if (s->shape.collective == GW_REDUCE || s->shape.collective == GW_GATHER)
        s->shape.root = receiver;
    return err;
}

static enum gw_err each_chunk(struct sccl *s, unsigned segments)
{
    const json_t *chunks = json_object_get(s->collective, "chunks");
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < json_array_size(chunks) && !err; i++) {
        const json_t *chunk = json_array_get(chunks, i);
        unsigned address, block = 0;
        if (!number_at(json_object_get(chunk, "addr"), SCCL_ADDRESSES_MAX - 1,
                       &address))
            return refuse_sccl(s, "\"chunks\"[%zu]: \"addr\" must be in 0..%d",
                               i, SCCL_ADDRESSES_MAX - 1);
        err = block_of(s, i, chunk, &block);
        if (err || s->chunks[address] != SCCL_NONE)
            continue;
        s->chunks[address] = block * segments + s->counted[block]++;
        s->addresses++;
    }
    return err;
}

static unsigned count_blocks(const struct sccl *s)
{
    switch (s->shape.collective) {
    case GW_BROADCAST:
    case GW_REDUCE:
    case GW_ALLREDUCE:
    case GW_SCAN:
    case GW_EXSCAN:
    case GW_CUSTOM:
        return 1;
    case GW_ALLTOALL:
        return s->shape.ranks * s->shape.ranks;
    default:
        return s->shape.ranks;
    }
}

static enum gw_err number_addresses(struct sccl *s)
{
    unsigned blocks = count_blocks(s);
    size_t bytes = SCCL_ADDRESSES_MAX * sizeof *s->chunks;
    memset(s->chunks, 0xff, bytes);
    enum gw_err err = each_chunk(s, 0);
    if (err)
        return err;
    assert(blocks > 0);
    unsigned segments = s->addresses / blocks;
    for (unsigned b = 0; b < blocks; b++)
        if (s->counted[b] != segments || segments == 0)
            return refuse_sccl(s,
                               "%u addresses do not suit %s of %u nodes: every "
                               "block needs the same number",
                               s->addresses,
                               gw_collective_name(s->shape.collective),
                               s->shape.ranks);
    s->shape.chunks = s->addresses;
    s->addresses = 0;
    memset(s->chunks, 0xff, bytes);
    memset(s->counted, 0, blocks * sizeof *s->counted);
    return each_chunk(s, segments);
}

/* ---- custom ---- */

/* Gives the nodes of a list the condition of a chunk. A chunk that several nodes
 * have before would count several times. */
static enum gw_err add_nodes(const struct sccl *s, const json_t *list, size_t i,
                             uint32_t chunk, unsigned char condition)
{
    for (size_t k = 0; k < json_array_size(list); k++) {
        unsigned node;
        if (!number_at(json_array_get(list, k), (json_int_t)s->shape.ranks - 1,
                       &node))
            return refuse_sccl(s, "\"chunks\"[%zu]: nodes must be in 0..%u", i,
                               s->shape.ranks - 1);
        if (condition == GW_HAS && k > 0)
            return refuse_sccl(s,
                               "\"chunks\"[%zu]: %zu nodes have it before; a "
                               "custom plan allows one, or chunks with one "
                               "address",
                               i, json_array_size(list));
        s->shape.conditions[node * (size_t)s->shape.chunks + chunk] |=
            condition;
    }
    return GW_OK;
}

static enum gw_err set_conditions(struct sccl *s)
{
    enum { CELLS_MAX = 1 << 22 };
    const json_t *chunks = json_object_get(s->collective, "chunks");
    size_t cells = (size_t)s->shape.ranks * s->shape.chunks;
    enum gw_err err = GW_OK;
    if (cells > CELLS_MAX)
        return refuse_sccl(s, "%u addresses on %u nodes are too many",
                           s->shape.chunks, s->shape.ranks);
    s->shape.conditions = calloc(cells, 1);
    if (!s->shape.conditions)
        return gw_fail(s->why, GW_ENOMEM, "%.200s", s->name);
    for (size_t i = 0; i < json_array_size(chunks) && !err; i++) {
        const json_t *item = json_array_get(chunks, i);
        uint32_t chunk =
            s->chunks[json_integer_value(json_object_get(item, "addr"))];
        err = add_nodes(s, json_object_get(item, "pre"), i, chunk, GW_HAS);
        if (!err)
            err =
                add_nodes(s, json_object_get(item, "post"), i, chunk, GW_WANTS);
    }
    return err;
}

/* ---- steps ---- */

/* The value that a send moves, and its receiver. */
struct sccl_send {
    uint32_t value;
    unsigned dst;
};

static enum gw_err read_send(const struct sccl *s, size_t step, size_t i,
                             const json_t *send,
                             const struct gw__copies *copies,
                             struct sccl_send *read)
{
    unsigned address, src, dst, last = s->shape.ranks - 1;
    if (json_array_size(send) != 3 ||
        !number_at(json_array_get(send, 0), SCCL_ADDRESSES_MAX - 1, &address) ||
        !number_at(json_array_get(send, 1), last, &src) ||
        !number_at(json_array_get(send, 2), last, &dst))
        return refuse_sccl(s,
                           "step %zu, send %zu: must be [address, from, to] "
                           "with nodes 0..%u",
                           step, i, last);
    uint32_t chunk = s->chunks[address];
    if (chunk == SCCL_NONE)
        return refuse_sccl(s, "step %zu, send %zu: no chunk has the address %u",
                           step, i, address);
    if (src == dst)
        return refuse_sccl(s, "step %zu, send %zu: node %u sends to itself",
                           step, i, src);
    *read = (struct sccl_send){gw__copies_value(copies, src, chunk), dst};
    if (read->value == GW__NO_VALUE)
        return refuse_sccl(s,
                           "step %zu, send %zu: node %u sends address %u, but "
                           "does not have it",
                           step, i, src, address);
    return GW_OK;
}

/* All sends of a step read what there was before it. */
static enum gw_err run_step(const struct sccl *s, size_t step,
                            const json_t *sends, struct gw__copies *copies)
{
    size_t count = json_array_size(sends);
    struct sccl_send *read = calloc(count + 1, sizeof *read);
    enum gw_err err = GW_OK;
    if (!read)
        return gw_fail(s->why, GW_ENOMEM, "%.200s", s->name);
    for (size_t i = 0; i < count && !err; i++)
        err = read_send(s, step, i, json_array_get(sends, i), copies, &read[i]);
    for (size_t i = 0; i < count && !err; i++)
        err = gw__copies_send(copies, read[i].value, read[i].dst,
                              (uint32_t)step + 1, s->why);
    free(read);
    return err;
}

static enum gw_err run_steps(const struct sccl *s, const json_t *steps,
                             struct gw__copies *copies)
{
    enum gw_err err = GW_OK;
    if (!json_is_array(steps))
        return refuse_sccl(s, "\"steps\" must be a list");
    for (size_t step = 0; step < json_array_size(steps) && !err; step++) {
        const json_t *sends =
            json_object_get(json_array_get(steps, step), "sends");
        if (!json_is_array(sends))
            return refuse_sccl(s, "step %zu: \"sends\" must be a list", step);
        err = run_step(s, step, sends, copies);
    }
    return err;
}

static enum gw_err plan_steps(const struct sccl *s, const json_t *json,
                              struct gw_plan **plan)
{
    struct gw__copies copies;
    unsigned rank, chunk;
    const char *algo = json_string_value(json_object_get(json, "name"));
    enum gw_err err = gw__copies_init(&copies, &s->shape, s->why);
    if (!err)
        err = run_steps(s, json_object_get(json, "steps"), &copies);
    if (!err && gw__copies_missing(&copies, &rank, &chunk))
        err = refuse_sccl(s,
                          "the result is incomplete: node %u does not have all "
                          "of block %u",
                          rank, gw_plan_block(&s->shape, chunk));
    if (!err)
        err = gw__copies_plan(&copies, algo ? algo : "sccl", plan, s->why);
    gw__copies_fini(&copies);
    return err;
}

static enum gw_err import_sccl(struct sccl *s, const json_t *json,
                               struct gw_plan **plan)
{
    const char *type = json_string_value(json_object_get(json, "msccl_type"));
    if (!type)
        type = json_string_value(json_object_get(json, "sccl_type"));
    if (!type || strcmp(type, "algorithm") != 0)
        return refuse_sccl(
            s,
            "\"msccl_type\" is \"%.32s\"; only an algorithm is a "
            "schedule",
            type ? type : "");
    enum gw_err err = read_collective(s);
    if (err)
        return err;
    s->chunks = malloc(SCCL_ADDRESSES_MAX * sizeof *s->chunks);
    s->counted =
        calloc((size_t)s->shape.ranks * s->shape.ranks + 1, sizeof *s->counted);
    bool room = s->chunks && s->counted;
    err = room ? number_addresses(s) : GW_ENOMEM;
    if (!room)
        gw_fail(s->why, GW_ENOMEM, "%.200s", s->name);
    if (room && !err && s->shape.collective == GW_CUSTOM)
        err = set_conditions(s);
    if (room && !err)
        err = plan_steps(s, json, plan);
    free(s->shape.conditions);
    free(s->counted);
    free(s->chunks);
    return err;
}

enum gw_err gw__sccl_import(const json_t *json, const char *name,
                            struct gw_plan **plan, struct gw_error *why)
{
    struct gw_error reason = {0};
    struct sccl s = {.name = name,
                     .collective = json_object_get(json, "collective"),
                     .why = &reason};
    *plan = NULL;
    enum gw_err err = import_sccl(&s, json, plan);
    if (err && strncmp(reason.text, name, strlen(name)) != 0)
        gw_wrap(&reason, err, "%.200s", name);
    return err ? gw_fail(why, err, "%s", reason.text) : GW_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * The chunks and conditions of a custom MSCCL algorithm. The file does not state
 * them, so they follow from its steps: inputs that are added up somewhere are
 * one chunk, and every other input that is read is a chunk of its own. Each
 * gpu must have its inputs, and wants the complete chunks that are in its output
 * at the end (msccl_run.c).
 *
 * Input and output are one buffer if the file names only one of them. The
 * attribute inplace does not decide this, since msccl-tools writes it without
 * regard to a custom collective's own buffers.
 */
#include "msccl.h"

#include <stdlib.h>
#include <string.h>

/* Inputs are numbered gpu * nchunksperloop + offset; a value is known by one of
 * its inputs. */
struct msccl_custom {
    struct gw__msccl *msccl;
    uint32_t *parent;  /* of an input: one that is added to it; or itself */
    bool *read;        /* of an input */
    uint32_t *places;  /* of all gpus: an input, or none */
    uint32_t *payload; /* values sent, in the order of the steps */
    uint32_t *sent;    /* step -> its first value in `payload` */
};

static uint32_t find_root(const struct msccl_custom *c, uint32_t input)
{
    while (c->parent[input] != input) {
        c->parent[input] = c->parent[c->parent[input]];
        input = c->parent[input];
    }
    return input;
}

/* The smaller number represents the sum. */
static uint32_t unite(struct msccl_custom *c, uint32_t a, uint32_t b)
{
    if (a == GW__MSCCL_NONE || b == GW__MSCCL_NONE)
        return a == GW__MSCCL_NONE ? b : a;
    uint32_t first = find_root(c, a), second = find_root(c, b);
    uint32_t root = first < second ? first : second;
    c->parent[first] = c->parent[second] = root;
    return root;
}

static uint32_t *place_at(const struct msccl_custom *c, uint32_t gpu,
                          struct gw__msccl_range range, unsigned k)
{
    range.offset += k;
    return &c->places[c->msccl->gpus[gpu].place_begin +
                      gw__msccl_place(c->msccl, c->msccl->one_buffer, gpu,
                                      range)];
}

static uint32_t load(struct msccl_custom *c, uint32_t gpu,
                     struct gw__msccl_range range, unsigned k)
{
    uint32_t value = *place_at(c, gpu, range, k);
    if (value != GW__MSCCL_NONE)
        c->read[value] = true;
    return value;
}

/* The value that chunk k of a step stores or sends. */
static uint32_t make_value(struct msccl_custom *c,
                           const struct gw__msccl_step *s, uint32_t gpu,
                           unsigned k)
{
    const struct gw__msccl_action *action = &gw__msccl_actions[s->type];
    uint32_t value = GW__MSCCL_NONE;
    if (action->receives)
        value = c->payload[c->sent[s->peer] + k];
    if (action->loads)
        value = unite(c, load(c, gpu, s->src, k), value);
    if (s->type == GW__MSCCL_REDUCE)
        value = unite(c, load(c, gpu, s->dst, k), value);
    return value;
}

static void walk_steps(struct msccl_custom *c)
{
    const struct gw__msccl *m = c->msccl;
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->step_count; i++) {
        const struct gw__msccl_step *s = &m->steps[m->order[i]];
        const struct gw__msccl_action *action = &gw__msccl_actions[s->type];
        uint32_t gpu = m->blocks[s->block].gpu;
        c->sent[m->order[i]] = count;
        for (unsigned k = 0; k < s->count; k++) {
            uint32_t value = make_value(c, s, gpu, k);
            if (action->stores)
                *place_at(c, gpu, s->dst, k) = value;
            if (action->sends)
                c->payload[count++] = value;
        }
    }
}

/* ---- chunks ---- */

static bool is_read(const struct msccl_custom *c, uint32_t input)
{
    return c->read[input] || find_root(c, input) != input;
}

/* Gives every root that is read a number, and its members the same. */
static enum gw_err number_chunks(struct msccl_custom *c, uint32_t inputs,
                                 struct gw_error *why)
{
    struct gw__msccl *m = c->msccl;
    m->shape.chunks = 0;
    for (uint32_t input = 0; input < inputs; input++) {
        uint32_t root = find_root(c, input);
        if (root == input && c->read[input])
            m->custom_chunks[input] = m->shape.chunks++;
        else if (root != input)
            m->custom_chunks[input] = m->custom_chunks[root];
    }
    if (m->shape.chunks > 0)
        return GW_OK;
    return gw_fail(why, GW_EDATA, "%.200s:%u: <algo>: no step reads an input",
                   m->xml->name, m->xml->elements[0].line);
}

/* The root of a sum may itself be read only as its sum. */
static void mark_roots(struct msccl_custom *c, uint32_t inputs)
{
    for (uint32_t input = 0; input < inputs; input++)
        if (is_read(c, input))
            c->read[find_root(c, input)] = true;
}

static enum gw_err set_conditions(struct gw__msccl *m, uint32_t inputs,
                                  struct gw_error *why)
{
    enum { CELLS_MAX = 1 << 22 };
    size_t cells = (size_t)m->shape.ranks * m->shape.chunks;
    if (cells > CELLS_MAX)
        return gw_fail(why, GW_EDATA,
                       "%.200s:%u: <algo>: %u chunks on %u gpus are too many",
                       m->xml->name, m->xml->elements[0].line, m->shape.chunks,
                       m->shape.ranks);
    m->shape.conditions = calloc(cells, 1);
    if (!m->shape.conditions)
        return gw_fail(why, GW_ENOMEM, "%.200s", m->xml->name);
    for (uint32_t input = 0; input < inputs; input++) {
        uint32_t gpu = input / m->chunks_per_loop;
        uint32_t chunk = m->custom_chunks[input];
        if (chunk == GW__MSCCL_NONE)
            continue;
        unsigned char *cell =
            &m->shape.conditions[gpu * (size_t)m->shape.chunks + chunk];
        if (*cell)
            return gw_fail(why, GW_EDATA,
                           "%.200s:%u: gpu %u: i[%u] is added to another input "
                           "of the same gpu",
                           m->xml->name, m->gpus[gpu].line, gpu,
                           input % m->chunks_per_loop);
        *cell = GW_HAS;
    }
    return GW_OK;
}

static void fill_places(struct msccl_custom *c)
{
    const struct gw__msccl *m = c->msccl;
    uint32_t input = 0;
    for (uint32_t gpu = 0; gpu < m->shape.ranks; gpu++)
        for (unsigned k = 0; k < m->chunks_per_loop; k++) {
            *place_at(c, gpu, (struct gw__msccl_range){GW__MSCCL_INPUT, 0}, k) =
                input;
            c->parent[input] = input;
            input++;
        }
}

static bool names_buffer(const struct gw__msccl *m,
                         enum gw__msccl_buffer buffer)
{
    for (uint32_t i = 0; i < m->step_count; i++) {
        const struct gw__msccl_step *s = &m->steps[i];
        const struct gw__msccl_action *action = &gw__msccl_actions[s->type];
        if ((action->loads && s->src.buffer == buffer) ||
            (action->stores && s->dst.buffer == buffer))
            return true;
    }
    return false;
}

enum gw_err gw__msccl_custom(struct gw__msccl *m, struct gw_error *why)
{
    uint32_t places, inputs = m->shape.ranks * m->chunks_per_loop;
    uint64_t payload;
    m->one_buffer =
        !names_buffer(m, GW__MSCCL_INPUT) || !names_buffer(m, GW__MSCCL_OUTPUT);
    enum gw_err err = gw__msccl_count(m, &places, &payload, why);
    if (err)
        return err;
    struct msccl_custom c = {
        .msccl = m,
        .parent = calloc(inputs, sizeof *c.parent),
        .read = calloc(inputs, sizeof *c.read),
        .places = malloc((places + (size_t)1) * sizeof *c.places),
        .payload = calloc(payload + 1, sizeof *c.payload),
        .sent = calloc(m->step_count + (size_t)1, sizeof *c.sent),
    };
    m->custom_chunks = malloc(inputs * sizeof *m->custom_chunks);
    if (c.parent && c.read && c.places && c.payload && c.sent &&
        m->custom_chunks) {
        memset(c.places, 0xff, places * sizeof *c.places);
        memset(m->custom_chunks, 0xff, inputs * sizeof *m->custom_chunks);
        fill_places(&c);
        walk_steps(&c);
        mark_roots(&c, inputs);
        err = number_chunks(&c, inputs, why);
        if (!err)
            err = set_conditions(m, inputs, why);
    } else
        err = gw_fail(why, GW_ENOMEM, "%.200s", m->xml->name);
    free(c.sent);
    free(c.payload);
    free(c.places);
    free(c.read);
    free(c.parent);
    return err;
}

/* SPDX-License-Identifier: MIT
 *
 * Reads the elements of MSCCL's XML: algo, gpu, tb, step. Every attribute that
 * its runtime reads must be there and in range.
 */
#include "msccl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNKS_PER_LOOP_MAX = 1 << 16,
    SCRATCH_CHUNKS_MAX = 1 << 20,
    STEPS_PER_BLOCK_MAX = 1 << 15,
    BLOCKS_PER_GPU_MAX = 512,
    GPUS_MAX = 4096
};

const struct gw__msccl_action gw__msccl_actions[GW__MSCCL_TYPES] = {
    [GW__MSCCL_NOP] = {"nop", false, false, false, false},
    [GW__MSCCL_SEND] = {"s", true, false, true, false},
    [GW__MSCCL_RECV] = {"r", false, true, false, true},
    [GW__MSCCL_RECV_COPY_SEND] = {"rcs", true, true, false, true},
    [GW__MSCCL_RECV_REDUCE_SEND] = {"rrs", true, true, true, false},
    [GW__MSCCL_RECV_REDUCE_COPY] = {"rrc", false, true, true, true},
    [GW__MSCCL_RECV_REDUCE_COPY_SEND] = {"rrcs", true, true, true, true},
    [GW__MSCCL_COPY] = {"cpy", false, false, true, true},
    [GW__MSCCL_REDUCE] = {"re", false, false, true, true},
};

struct msccl_reader {
    const struct gw__xml *xml;
    struct gw__msccl *msccl;
    struct gw_error *why;
};

/* "NAME:LINE: ELEMENT: reason". */
GW_PRINTF(3, 4)
static bool refuse_element(const struct msccl_reader *r, size_t element,
                           const char *format, ...)
{
    const struct gw__xml_element *e = &r->xml->elements[element];
    char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    gw_fail(r->why, GW_EDATA, "%.200s:%u: <%.16s>: %s", r->xml->name, e->line,
            e->name, reason);
    return false;
}

static const char *attribute_of(const struct msccl_reader *r, size_t element,
                                const char *name)
{
    const char *value = gw__xml_value(r->xml, element, name);
    if (!value)
        refuse_element(r, element, "the attribute %s is missing", name);
    return value;
}

/* An integer of a text; false: it is none. */
static bool parse_integer(const char *text, long *number)
{
    char *end;
    *number = strtol(text, &end, 10);
    return end != text && *end == 0;
}

static bool integer_of(const struct msccl_reader *r, size_t element,
                       const char *name, long least, long most, long *number)
{
    const char *value = attribute_of(r, element, name);
    if (!value)
        return false;
    if (!parse_integer(value, number))
        return refuse_element(r, element, "%s=\"%.32s\" is not a number", name,
                              value);
    if (*number < least || *number > most)
        return refuse_element(r, element, "%s=\"%.32s\" must be in %ld..%ld",
                              name, value, least, most);
    return true;
}

/* A flag; `otherwise` without the attribute. */
static bool flag_of(const struct msccl_reader *r, size_t element,
                    const char *name, bool otherwise, bool *flag)
{
    long number = otherwise;
    bool right = !gw__xml_value(r->xml, element, name) ||
                 integer_of(r, element, name, 0, 1, &number);
    *flag = number;
    return right;
}

/* ---- algo ---- */

static bool read_name(const struct msccl_reader *r, size_t element)
{
    const char *name = gw__xml_value(r->xml, element, "name");
    char *out = r->msccl->name;
    size_t used = 0;
    for (; name && *name && used + 1 < sizeof r->msccl->name; name++)
        out[used++] = *name > ' ' && *name < 127 && *name != '#' ? *name : '_';
    return true;
}

/* RCCL writes reducescatter. */
static bool same_name(const char *name, const char *known)
{
    for (; *known; known++) {
        if (*known == '_' && *name != '_')
            continue;
        if (*name++ != *known)
            return false;
    }
    return *name == 0;
}

static bool read_collective(const struct msccl_reader *r, size_t element)
{
    static const enum gw_collective known[] = {
        GW_ALLREDUCE, GW_ALLGATHER, GW_REDUCE_SCATTER, GW_ALLTOALL,
        GW_BROADCAST, GW_REDUCE,    GW_CUSTOM};
    static const char alltonext[] = "alltonext"; /* custom by another name */
    const char *name = attribute_of(r, element, "coll");
    if (!name)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (same_name(name, gw_collective_name(known[i]))) {
            r->msccl->shape.collective = known[i];
            return true;
        }
    if (same_name(name, alltonext)) {
        r->msccl->shape.collective = GW_CUSTOM;
        return true;
    }
    return refuse_element(
        r, element,
        "coll=\"%.32s\": a plan can be for allreduce, allgather, "
        "reduce_scatter, alltoall, broadcast, reduce, alltonext or custom",
        name);
}

/* Chunks of a loop that the collective divides among the gpus. */
static bool read_chunks(const struct msccl_reader *r, size_t element)
{
    struct gw_plan *shape = &r->msccl->shape;
    long chunks;
    if (!integer_of(r, element, "nchunksperloop", 1, CHUNKS_PER_LOOP_MAX,
                    &chunks))
        return false;
    bool divided = shape->collective == GW_ALLGATHER ||
                   shape->collective == GW_REDUCE_SCATTER ||
                   shape->collective == GW_ALLTOALL;
    if (divided && (unsigned long)chunks % shape->ranks != 0)
        return refuse_element(
            r, element,
            "nchunksperloop=\"%ld\" must be a multiple of ngpus=\"%u\" for %s",
            chunks, shape->ranks, gw_collective_name(shape->collective));
    r->msccl->chunks_per_loop = (unsigned)chunks;
    shape->chunks = (unsigned)chunks *
                    (shape->collective == GW_ALLTOALL ? shape->ranks : 1);
    return true;
}

static bool read_root(const struct msccl_reader *r, size_t element)
{
    struct gw_plan *shape = &r->msccl->shape;
    long root = 0;
    bool has_root = gw_collective_rooted(shape->collective) &&
                    gw__xml_value(r->xml, element, "root");
    if (has_root && !integer_of(r, element, "root", 0, shape->ranks - 1, &root))
        return false;
    shape->root = (unsigned)root;
    return true;
}

static bool read_algo(const struct msccl_reader *r)
{
    struct gw__msccl *m = r->msccl;
    long ranks, channels;
    if (!read_name(r, 0) || !read_collective(r, 0) ||
        !integer_of(r, 0, "ngpus", 1, GPUS_MAX, &ranks))
        return false;
    m->shape.ranks = (unsigned)ranks;
    if (!read_chunks(r, 0) || !read_root(r, 0) ||
        !integer_of(r, 0, "nchannels", 1, GW_CHANNELS_MAX, &channels) ||
        !attribute_of(r, 0, "proto") || !attribute_of(r, 0, "inplace") ||
        !flag_of(r, 0, "inplace", false, &m->in_place) ||
        !flag_of(r, 0, "outofplace", !m->in_place, &m->out_of_place))
        return false;
    m->channels = (unsigned)channels;
    if (!m->in_place && !m->out_of_place)
        return refuse_element(
            r, 0, "inplace and outofplace are both 0; one must be 1");
    return true;
}

/* ---- gpu, tb ---- */

static bool read_gpu(const struct msccl_reader *r, size_t element,
                     uint32_t *gpu)
{
    static const char *const names[] = {"i_chunks", "o_chunks", "s_chunks"};
    struct gw__msccl *m = r->msccl;
    long id;
    if (!integer_of(r, element, "id", 0, (long)m->shape.ranks - 1, &id))
        return false;
    struct gw__msccl_gpu *g = &m->gpus[id];
    if (g->present)
        return refuse_element(r, element, "gpu %ld occurs twice", id);
    g->present = true;
    g->line = r->xml->elements[element].line;
    g->block_begin = m->block_count;
    *gpu = (uint32_t)id;
    for (int b = 0; b < GW__MSCCL_BUFFERS; b++) {
        long chunks;
        if (!integer_of(r, element, names[b], 0, SCRATCH_CHUNKS_MAX, &chunks))
            return false;
        g->chunks[b] = (unsigned)chunks;
    }
    return true;
}

static bool check_peers(const struct msccl_reader *r, size_t element,
                        const struct gw__msccl_block *block)
{
    if ((block->send >= 0 && (uint32_t)block->send == block->gpu) ||
        (block->recv >= 0 && (uint32_t)block->recv == block->gpu))
        return refuse_element(r, element,
                              "gpu %u, tb %u: a gpu cannot send to itself",
                              block->gpu, block->id);
    return true;
}

static bool read_block(const struct msccl_reader *r, size_t element,
                       uint32_t gpu)
{
    struct gw__msccl *m = r->msccl;
    struct gw__msccl_gpu *g = &m->gpus[gpu];
    long id, send, recv, channel, last = (long)m->shape.ranks - 1;
    if (!integer_of(r, element, "id", 0, INT32_MAX, &id) ||
        !integer_of(r, element, "send", -1, last, &send) ||
        !integer_of(r, element, "recv", -1, last, &recv) ||
        !integer_of(r, element, "chan", 0, (long)m->channels - 1, &channel))
        return false;
    if (g->block_count == BLOCKS_PER_GPU_MAX)
        return refuse_element(r, element, "gpu %u has more than %d tb", gpu,
                              BLOCKS_PER_GPU_MAX);
    for (uint32_t b = g->block_begin; b < m->block_count; b++)
        if (m->blocks[b].id == (uint32_t)id)
            return refuse_element(r, element, "gpu %u: tb %ld occurs twice",
                                  gpu, id);
    struct gw__msccl_block *block = &m->blocks[m->block_count++];
    *block = (struct gw__msccl_block){.line = r->xml->elements[element].line,
                                      .gpu = gpu,
                                      .id = (uint32_t)id,
                                      .send = (int)send,
                                      .recv = (int)recv,
                                      .channel = (unsigned)channel,
                                      .step_begin = m->step_count};
    g->block_count++;
    return check_peers(r, element, block);
}

/* ---- step ---- */

static bool read_type(const struct msccl_reader *r, size_t element,
                      enum gw__msccl_type *type)
{
    const char *name = attribute_of(r, element, "type");
    if (!name)
        return false;
    for (int t = 0; t < GW__MSCCL_TYPES; t++)
        if (strcmp(name, gw__msccl_actions[t].name) == 0) {
            *type = (enum gw__msccl_type)t;
            return true;
        }
    return refuse_element(r, element,
                          "type=\"%.16s\" is not a type of step; these are s, "
                          "r, rcs, rrs, rrc, rrcs, cpy, re and nop",
                          name);
}

static bool read_range(const struct msccl_reader *r, size_t element,
                       const char *buffer, const char *offset, bool used,
                       struct gw__msccl_range *range)
{
    static const char letters[] = "ios";
    const char *letter = attribute_of(r, element, buffer);
    long first;
    if (!letter ||
        !integer_of(r, element, offset, -1, SCRATCH_CHUNKS_MAX, &first))
        return false;
    const char *found =
        *letter && letter[1] == 0 ? strchr(letters, *letter) : NULL;
    if (!found)
        return refuse_element(r, element, "%s=\"%.16s\" must be i, o or s",
                              buffer, letter);
    if (used && first < 0)
        return refuse_element(r, element, "%s=\"%ld\" must be 0 or more",
                              offset, first);
    range->buffer = (enum gw__msccl_buffer)(found - letters);
    range->offset = first < 0 ? 0 : (unsigned)first;
    return true;
}

static bool check_range(const struct msccl_reader *r, size_t element,
                        uint32_t gpu, const struct gw__msccl_range *range,
                        unsigned count, const char *what)
{
    unsigned size = gw__msccl_size(r->msccl, gpu, range->buffer);
    if ((uint64_t)range->offset + count <= size)
        return true;
    return refuse_element(
        r, element,
        "gpu %u: %s %c[%u] with cnt=\"%u\" is outside of the buffer, which has "
        "%u chunks",
        gpu, what, gw__msccl_sign(range->buffer), range->offset, count, size);
}

static bool read_dependency(const struct msccl_reader *r, size_t element,
                            struct gw__msccl_step *step)
{
    long block, number, signals;
    if (!integer_of(r, element, "depid", -1, INT32_MAX, &block) ||
        !integer_of(r, element, "deps", -1, INT32_MAX, &number) ||
        !integer_of(r, element, "hasdep", 0, 1, &signals))
        return false;
    step->dep_block = (int)block;
    step->dep_step = (int)number;
    step->signals = signals;
    return true;
}

/* The block of a step must have a peer to send to or receive from. */
static bool check_links(const struct msccl_reader *r, size_t element,
                        const struct gw__msccl_block *block,
                        const struct gw__msccl_action *action)
{
    const char *missing = action->sends && block->send < 0 ? "send" : "recv";
    bool right = !(action->sends && block->send < 0) &&
                 !(action->receives && block->recv < 0);
    return right ||
           refuse_element(r, element,
                          "gpu %u, tb %u: type=\"%s\" in a thread block with "
                          "%s=\"-1\"",
                          block->gpu, block->id, action->name, missing);
}

static bool read_step(const struct msccl_reader *r, size_t element)
{
    struct gw__msccl *m = r->msccl;
    struct gw__msccl_block *block = &m->blocks[m->block_count - 1];
    struct gw__msccl_step *step = &m->steps[m->step_count];
    long number, count;
    *step =
        (struct gw__msccl_step){.line = r->xml->elements[element].line,
                                .block = m->block_count - 1,
                                .plan = gw__xml_value(r->xml, element, "plan"),
                                .dependency = GW__MSCCL_NONE,
                                .peer = GW__MSCCL_NONE};
    if (!integer_of(r, element, "s", 0, STEPS_PER_BLOCK_MAX, &number) ||
        !read_type(r, element, &step->type))
        return false;
    if ((uint32_t)number != block->step_count)
        return refuse_element(r, element,
                              "gpu %u, tb %u: s=\"%ld\" where step %u is next",
                              block->gpu, block->id, number, block->step_count);
    const struct gw__msccl_action *action = &gw__msccl_actions[step->type];
    bool moves = step->type != GW__MSCCL_NOP;
    if (!read_range(r, element, "srcbuf", "srcoff", action->loads,
                    &step->src) ||
        !read_range(r, element, "dstbuf", "dstoff", action->stores,
                    &step->dst) ||
        !integer_of(r, element, "cnt", moves, CHUNKS_PER_LOOP_MAX, &count) ||
        !read_dependency(r, element, step) ||
        !check_links(r, element, block, action))
        return false;
    step->number = (unsigned)number;
    step->count = moves ? (unsigned)count : 0;
    block->step_count++;
    m->step_count++;
    return (!action->loads || check_range(r, element, block->gpu, &step->src,
                                          step->count, "srcoff")) &&
           (!action->stores || check_range(r, element, block->gpu, &step->dst,
                                           step->count, "dstoff"));
}

/* ---- the tree ---- */

static bool read_element(const struct msccl_reader *r, size_t element,
                         uint32_t *gpu)
{
    const struct gw__xml_element *e = &r->xml->elements[element];
    const char *parent = e->parent >= 0 ? r->xml->elements[e->parent].name : "";
    if (strcmp(e->name, "gpu") == 0 && strcmp(parent, "algo") == 0)
        return read_gpu(r, element, gpu);
    if (strcmp(e->name, "tb") == 0 && strcmp(parent, "gpu") == 0)
        return read_block(r, element, *gpu);
    if (strcmp(e->name, "step") == 0 && strcmp(parent, "tb") == 0)
        return read_step(r, element);
    return refuse_element(r, element,
                          "this element does not belong here; algo has gpu, "
                          "gpu has tb, tb has step");
}

static bool check_gpus(const struct msccl_reader *r)
{
    for (unsigned gpu = 0; gpu < r->msccl->shape.ranks; gpu++)
        if (!r->msccl->gpus[gpu].present)
            return refuse_element(r, 0, "gpu %u of ngpus=\"%u\" is missing",
                                  gpu, r->msccl->shape.ranks);
    return true;
}

enum gw_err gw__msccl_read(const struct gw__xml *xml, struct gw__msccl *m,
                           struct gw_error *why)
{
    struct gw_error reason = {0};
    const struct msccl_reader r = {xml, m, &reason};
    uint32_t gpu = 0;
    *m = (struct gw__msccl){.xml = xml};
    bool right = read_algo(&r);
    if (right) {
        m->gpus = calloc(m->shape.ranks, sizeof *m->gpus);
        m->blocks = calloc(xml->count, sizeof *m->blocks);
        m->steps = calloc(xml->count, sizeof *m->steps);
        if (!m->gpus || !m->blocks || !m->steps)
            return gw_fail(why, GW_ENOMEM, "%.200s", xml->name);
    }
    for (size_t e = 1; right && e < xml->count; e++)
        right = read_element(&r, e, &gpu);
    if (right && check_gpus(&r))
        return GW_OK;
    return gw_fail(why, reason.code, "%s", reason.text);
}

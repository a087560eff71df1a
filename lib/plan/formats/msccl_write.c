/* SPDX-License-Identifier: MIT
 *
 * Writes a plan as MSCCL's XML. Each connection of a rank, a peer and a channel
 * in one direction, is a thread block, and one more has the copies inside the
 * rank. A step can depend on one other step; a step that depends on several
 * follows nops that wait for the others.
 *
 * The rank's buffer is the input or output, in place; in an all-to-all it is
 * both, out of place. Scratch gets the chunks that are only passed on. The
 * attribute `plan` (recall.h) lets msccl_plan.c read the same plan again.
 */
#include "ops.h"
#include "plan/index.h"
#include "recall.h"
#include "write.h"

#include <stdlib.h>
#include <string.h>

#define NO_BLOCK UINT32_MAX

struct out_step {
    uint32_t op;                  /* or NO_BLOCK: a nop */
    uint32_t block, number;       /* where it is */
    uint32_t on_block, on_number; /* its dependency, or NO_BLOCK */
    bool signals;
};

struct out_rank {
    const struct gw__export *e;
    unsigned rank;
    struct gw__rank_ops ops;
    unsigned channels;
    uint32_t *block_of; /* direction, peer, channel -> block, or none */
    uint32_t *used;     /* of each block: steps */
    uint32_t *keys;     /* of each block: its direction, peer and channel */
    uint32_t blocks;
    struct out_step *steps;
    uint32_t step_count;
    uint32_t *step_of; /* of each operation: its step */
    uint32_t *latest;  /* of each block: the latest step to wait for */
    uint32_t *scratch; /* row * chunks + chunk: offset + 1, or 0 */
    uint32_t scratch_count;
};

/* ---- thread blocks ---- */

static uint32_t key_of(const struct out_rank *o, const struct gw__rank_op *op)
{
    const struct gw_transfer *x = &o->e->plan->transfers[op->transfer];
    bool sends = op->kind == GW__OP_SEND;
    unsigned peer = sends ? x->dst : x->src;
    unsigned channel = gw__is_local(x) ? 0 : x->channel;
    return ((sends ? o->e->plan->ranks : 0) + peer) * o->channels + channel;
}

static uint32_t block_for(struct out_rank *o, const struct gw__rank_op *op)
{
    uint32_t key = key_of(o, op), *block = &o->block_of[key];
    if (*block == NO_BLOCK) {
        *block = o->blocks++;
        o->keys[*block] = key;
    }
    return *block;
}

static struct out_step *append_step(struct out_rank *o, uint32_t block,
                                    uint32_t op)
{
    struct out_step *step = &o->steps[o->step_count++];
    *step = (struct out_step){.op = op,
                              .block = block,
                              .number = o->used[block]++,
                              .on_block = NO_BLOCK};
    return step;
}

/* The latest step of each other block that the operation waits for. */
static uint32_t find_waits(struct out_rank *o, const struct gw__rank_op *op,
                           uint32_t block, uint32_t *waits)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < op->dep_count; d++) {
        uint32_t step = o->step_of[o->ops.deps[op->dep_begin + d]];
        uint32_t on = o->steps[step].block;
        if (on == block)
            continue;
        if (o->latest[on] == NO_BLOCK)
            waits[count++] = on;
        if (o->latest[on] == NO_BLOCK || o->latest[on] < step)
            o->latest[on] = step;
    }
    return count;
}

static void wait_for(struct out_rank *o, struct out_step *step, uint32_t block)
{
    struct out_step *on = &o->steps[o->latest[block]];
    on->signals = true;
    step->on_block = block;
    step->on_number = on->number;
    o->latest[block] = NO_BLOCK;
}

static void place_op(struct out_rank *o, uint32_t number, uint32_t *waits)
{
    const struct gw__rank_op *op = &o->ops.ops[number];
    uint32_t block = block_for(o, op);
    uint32_t count = find_waits(o, op, block, waits);
    for (uint32_t w = 0; w + 1 < count; w++)
        wait_for(o, append_step(o, block, NO_BLOCK), waits[w]);
    o->step_of[number] = o->step_count;
    struct out_step *step = append_step(o, block, number);
    if (count > 0)
        wait_for(o, step, waits[count - 1]);
}

/* ---- buffers ---- */

struct out_place {
    char buffer;
    uint32_t offset;
};

static unsigned per_loop(const struct gw_plan *plan)
{
    return plan->chunks / (plan->collective == GW_ALLTOALL ? plan->ranks : 1);
}

/* The place of a chunk of an all-to-all in the input or output. */
static bool place_of_block(const struct out_rank *o, unsigned chunk,
                           struct out_place *place)
{
    const struct gw_plan *plan = o->e->plan;
    unsigned segments = gw_plan_segments(plan), rest = chunk % segments;
    unsigned block = gw_plan_block(plan, chunk);
    unsigned from = block / plan->ranks, to = block % plan->ranks;
    if (from != o->rank && to != o->rank)
        return false;
    *place = from == o->rank ? (struct out_place){'i', to * segments + rest}
                             : (struct out_place){'o', from * segments + rest};
    return true;
}

static struct out_place place_in_scratch(struct out_rank *o, unsigned row,
                                         unsigned chunk)
{
    uint32_t *offset = &o->scratch[row * (size_t)o->e->plan->chunks + chunk];
    if (*offset == 0)
        *offset = ++o->scratch_count;
    return (struct out_place){'s', *offset - 1};
}

static struct out_place place_of(struct out_rank *o, unsigned row,
                                 unsigned chunk)
{
    struct out_place place;
    enum gw_collective collective = o->e->plan->collective;
    bool output = collective == GW_ALLGATHER || collective == GW_BROADCAST;
    if (row > 0)
        return place_in_scratch(o, row, chunk);
    if (collective == GW_ALLTOALL)
        return place_of_block(o, chunk, &place)
                   ? place
                   : place_in_scratch(o, row, chunk);
    return (struct out_place){output ? 'o' : 'i', chunk};
}

/* ---- writing ---- */

static void write_step(struct out_rank *o, const struct out_step *step)
{
    static const char *const types[] = {"s", "r", "rrc", "cpy", "re"};
    const struct gw_plan *plan = o->e->plan;
    FILE *file = o->e->file;
    const char *type = "nop";
    struct out_place from = {'i', 0}, to = {'o', 0};
    char note[GW__NOTE_TEXT];
    unsigned count = 0;
    if (step->op != NO_BLOCK) {
        const struct gw__rank_op *op = &o->ops.ops[step->op];
        const struct gw_transfer *x = &plan->transfers[op->transfer];
        type = types[op->kind];
        count = 1;
        if (x->src == o->rank)
            from = place_of(o, x->src_scratch, x->chunk);
        if (x->dst == o->rank)
            to = place_of(o, x->dst_scratch, x->chunk);
        from = x->src == o->rank ? from : to;
        to = x->dst == o->rank ? to : from;
    }
    fprintf(file,
            "      <step s=\"%u\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%d\" "
            "dstbuf=\"%c\" dstoff=\"%d\" cnt=\"%u\" depid=\"%d\" deps=\"%d\" "
            "hasdep=\"%d\"",
            step->number, type, from.buffer, count ? (int)from.offset : -1,
            to.buffer, count ? (int)to.offset : -1, count,
            step->on_block == NO_BLOCK ? -1 : (int)step->on_block,
            step->on_block == NO_BLOCK ? -1 : (int)step->on_number,
            step->signals);
    if (count && plan->transfers[o->ops.ops[step->op].transfer].src == o->rank)
        fprintf(file, " plan=\"%s\"",
                gw__note_text(plan, o->ops.ops[step->op].transfer, note));
    fputs("/>\n", file);
}

static void write_block(struct out_rank *o, uint32_t block)
{
    const struct gw_plan *plan = o->e->plan;
    uint32_t key = o->keys[block], peer = key / o->channels;
    bool sends = peer >= plan->ranks;
    int other = (int)(sends ? peer - plan->ranks : peer);
    bool local = other == (int)o->rank;
    fprintf(o->e->file,
            "    <tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"%u\">\n", block,
            sends ? other : -1, sends || local ? -1 : other, key % o->channels);
    for (uint32_t s = 0; s < o->step_count; s++)
        if (o->steps[s].block == block)
            write_step(o, &o->steps[s]);
    fputs("    </tb>\n", o->e->file);
}

/* The rank's own blocks of an all-to-all. */
static void write_own_blocks(const struct out_rank *o)
{
    const struct gw_plan *plan = o->e->plan;
    unsigned segments = gw_plan_segments(plan);
    if (plan->collective != GW_ALLTOALL)
        return;
    fprintf(o->e->file,
            "    <tb id=\"%u\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
            "      <step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"%u\" "
            "dstbuf=\"o\" dstoff=\"%u\" cnt=\"%u\" depid=\"-1\" deps=\"-1\" "
            "hasdep=\"0\"/>\n    </tb>\n",
            o->blocks, o->rank * segments, o->rank * segments, segments);
}

static void write_gpu(struct out_rank *o)
{
    const struct gw_plan *plan = o->e->plan;
    unsigned loop = per_loop(plan);
    bool gathers = plan->collective == GW_ALLGATHER;
    bool scatters = plan->collective == GW_REDUCE_SCATTER;
    for (size_t i = 0; i < o->ops.count; i++) { /* numbers the scratch */
        const struct gw_transfer *x = &plan->transfers[o->ops.ops[i].transfer];
        if (x->src == o->rank)
            place_of(o, x->src_scratch, x->chunk);
        if (x->dst == o->rank)
            place_of(o, x->dst_scratch, x->chunk);
    }
    fprintf(o->e->file,
            "  <gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" "
            "s_chunks=\"%u\">\n",
            o->rank, gathers ? loop / plan->ranks : loop,
            scatters ? loop / plan->ranks : loop, o->scratch_count);
    for (uint32_t block = 0; block < o->blocks; block++)
        write_block(o, block);
    write_own_blocks(o);
    fputs("  </gpu>\n", o->e->file);
}

static bool reserve_rank(struct out_rank *o)
{
    const struct gw_plan *plan = o->e->plan;
    size_t keys = 2 * (size_t)plan->ranks * o->channels;
    size_t steps = o->ops.count + o->ops.dep_count + 1;
    o->block_of = malloc(keys * sizeof *o->block_of);
    o->used = calloc(keys, sizeof *o->used);
    o->keys = calloc(keys, sizeof *o->keys);
    o->latest = malloc(keys * sizeof *o->latest);
    o->steps = calloc(steps, sizeof *o->steps);
    o->step_of = calloc(o->ops.count + 1, sizeof *o->step_of);
    o->scratch =
        calloc((plan->scratch + (size_t)1) * plan->chunks, sizeof *o->scratch);
    if (!o->block_of || !o->used || !o->keys || !o->latest || !o->steps ||
        !o->step_of || !o->scratch)
        return false;
    memset(o->block_of, 0xff, keys * sizeof *o->block_of);
    memset(o->latest, 0xff, keys * sizeof *o->latest);
    return true;
}

static void release_rank(struct out_rank *o)
{
    free(o->block_of);
    free(o->used);
    free(o->keys);
    free(o->latest);
    free(o->steps);
    free(o->step_of);
    free(o->scratch);
    gw__rank_ops_fini(&o->ops);
}

static enum gw_err write_msccl_rank(const struct gw__export *e, unsigned rank,
                                    struct gw_error *why)
{
    struct out_rank o = {
        .e = e, .rank = rank, .channels = gw__channels(e->plan)};
    enum gw_err err = gw__rank_ops_init(&o.ops, e->plan, rank, why);
    if (err)
        return err;
    uint32_t *waits =
        calloc(2 * (size_t)e->plan->ranks * o.channels + 1, sizeof *waits);
    if (waits && reserve_rank(&o)) {
        for (uint32_t i = 0; i < o.ops.count; i++)
            place_op(&o, i, waits);
        write_gpu(&o);
    } else
        err = gw_fail(why, GW_ENOMEM, "writing rank %u", rank);
    free(waits);
    release_rank(&o);
    return err;
}

static void write_escaped(FILE *file, const char *text)
{
    for (; *text; text++)
        if (strchr("\"<>&'", *text))
            fprintf(file, "&#%d;", *text);
        else
            fputc(*text >= ' ' && *text < 127 ? *text : '_', file);
}

static enum gw_err write_head(const struct gw__export *e, struct gw_error *why)
{
    const struct gw_plan *plan = e->plan;
    bool apart = plan->collective == GW_ALLTOALL;
    char *header = NULL;
    size_t bytes;
    FILE *text = open_memstream(&header, &bytes);
    if (!text)
        return gw_fail(why, GW_ENOMEM, "writing a plan");
    gw__plan_print_header(plan, text);
    if (fclose(text))
        return gw_fail(why, GW_ENOMEM, "writing a plan");
    fputs("<algo name=\"", e->file);
    write_escaped(e->file, *plan->algo ? plan->algo : "gradwire");
    fprintf(e->file,
            "\" proto=\"Simple\" nchannels=\"%u\" nchunksperloop=\"%u\" "
            "ngpus=\"%u\" coll=\"%s\" inplace=\"%d\" outofplace=\"%d\"",
            gw__channels(plan), per_loop(plan), plan->ranks,
            gw_collective_name(plan->collective), !apart, apart);
    if (gw_collective_rooted(plan->collective))
        fprintf(e->file, " root=\"%u\"", plan->root);
    fputs(" minBytes=\"0\" maxBytes=\"0\" plan=\"", e->file);
    write_escaped(e->file, header);
    fputs("\">\n", e->file);
    free(header);
    return GW_OK;
}

static bool msccl_has(enum gw_collective c)
{
    return c != GW_GATHER && c != GW_SCATTER && c != GW_BARRIER &&
           c != GW_SCAN && c != GW_EXSCAN && c != GW_CUSTOM;
}

enum gw_err gw__msccl_write(const struct gw__export *e, struct gw_error *why)
{
    enum gw_collective c = e->plan->collective;
    enum gw_err err = GW_OK;
    if (!msccl_has(c))
        return gw_fail(why, GW_ENOTSUP, "MSCCL has no %s; use %schakra or dot",
                       gw_collective_name(c), c == GW_CUSTOM ? "" : "goal, ");
    err = write_head(e, why);
    for (unsigned rank = 0; rank < e->plan->ranks && !err; rank++)
        err = write_msccl_rank(e, rank, why);
    fputs("</algo>\n", e->file);
    return err;
}

/* SPDX-License-Identifier: MIT
 *
 * Calls whose chunks travel with their contributors, the set of ranks whose
 * data they contain (elastic.h): an all-reduce by a plan of lib/ring. The
 * engine runs it and calls these functions before it adds anything.
 *
 * A plan gives each chunk several versions (program.h), and slices of several
 * may be in flight at once: version v is sent while the write that makes it is
 * pending, and the next write may follow it slice by slice. So each version has
 * its own set, fixed when the first slice of its write is applied. The user's
 * `sets` describe the contents of the memory:
 *
 *   no pending write     the set of the newest version
 *   else                 the input alone: the bytes in `out` are of two
 *                        versions, those in `in` are always complete
 *
 * Slices carry the set as a word (gw__nodes_pack). Sets of nodes below 63 fit,
 * and so do three runs. Another set is sent before its chunk.
 */
#include "elastic.h"

#include "base/failpoint.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- the rule ---- */

/* "op 5, step 2, chunk 1 at node 7: SENTENCE" */
static enum gw_err wrong(const struct gw_request *r, uint32_t write,
                         const char *sentence, struct gw_error *why)
{
    const struct gw__program *p = r->program;
    const struct gw__write *w = &p->writes[write];
    return gw_fail(why, GW_EWRONG, "op %u, step %u, chunk %u at node %u: %s",
                   r->op, w->step + 1, p->cells[w->cell].chunk,
                   r->comm->nodes[r->comm->rank], sentence);
}

/* "node 2 WHAT", "nodes 2, 5 WHAT" */
static enum gw_err wrong_nodes(const struct gw_request *r, uint32_t write,
                               const struct gw_nodes *set, const char *what,
                               struct gw_error *why)
{
    char nodes[96], sentence[160];
    gw__nodes_text(set, nodes, sizeof nodes);
    snprintf(sentence, sizeof sentence, "%s %s %s",
             gw__nodes_count(*set) > 1 ? "nodes" : "node", nodes, what);
    return wrong(r, write, sentence, why);
}

static struct gw_nodes *set_in_hand(const struct gw_request *r, uint32_t write)
{
    const struct gw__program *p = r->program;
    return &r->contributors->sets[p->cells[p->writes[write].cell].chunk];
}

/* Keeps the set of the source's first slice. A set that does not fit in the
 * header came before it. */
static bool keep_set(struct gw_request *r, uint32_t source, uint64_t packed)
{
    bool came = r->came_packed[source] == packed && packed != 0;
    r->came_packed[source] = packed;
    return gw__nodes_is_hash(packed)
               ? came
               : gw__nodes_unpack(packed, &r->came_sets[source]) && packed != 0;
}

enum gw_err gw__contributors_merge(struct gw_request *r, uint32_t write,
                                   uint32_t source, uint32_t k, uint64_t packed,
                                   struct gw_error *why)
{
    const struct gw__program *p = r->program;
    uint32_t index = p->writes[write].source_begin + source;
    unsigned node = r->comm->nodes[p->sources[index].peer];
    bool first = k == 0;
    char sentence[96];
    if (first ? keep_set(r, index, packed) : packed == r->came_packed[index])
        return GW_OK;
    snprintf(sentence, sizeof sentence,
             first || packed == 0
                 ? "node %u sent data without contributors"
                 : "node %u changed the contributors within a chunk",
             node);
    return wrong(r, write, sentence, why);
}

enum gw_err gw__contributors_open(struct gw_request *r, uint32_t write,
                                  struct gw_error *why)
{
    const struct gw__write *w = &r->program->writes[write];
    struct gw_nodes twice = {{0}}, all = {{0}};
    if (w->adds_own)
        all = w->previous == GW__NO_WRITE ? r->first_sets[w->cell]
                                          : r->made_sets[w->previous];
    for (uint32_t s = 0; s < w->source_count; s++) {
        struct gw_nodes came = r->came_sets[w->source_begin + s];
        twice = gw__nodes_or(twice, gw__nodes_and(all, came));
        all = gw__nodes_or(all, came);
    }
    struct gw_nodes excess = gw__nodes_minus(all, r->contributors->target);
    if (!gw__nodes_is_empty(twice))
        return wrong_nodes(r, write, &twice, "would be counted twice", why);
    if (!gw__nodes_is_empty(excess))
        return wrong_nodes(r, write, &excess, "must not be counted", why);
    r->made_sets[write] = all;
    r->made_packed[write] = gw__nodes_pack(&all);
    r->open_writes[w->cell]++;
    *set_in_hand(r, write) = gw__nodes_only(r->contributors->own);
    return GW_OK;
}

void gw__contributors_close(struct gw_request *r, uint32_t write)
{
    uint32_t *open = &r->open_writes[r->program->writes[write].cell];
    if (--*open == 0)
        *set_in_hand(r, write) = r->made_sets[write];
    gw__failpoint(r->contributors->recovers ? GW__AT_RECOVER_CHUNK
                                            : GW__AT_RING_CHUNK);
}

/* ---- sets in headers, or in a slice of their own ---- */

/* A set of few runs fits in the header. For another one the header has a hash,
 * and the set is the data of a slice before the chunk's first one. */
enum gw_err gw__contributors_send(struct gw_request *r, unsigned peer,
                                  uint32_t k, struct gw__header *header)
{
    const struct gw__program *p = r->program;
    const struct gw__send *s = &p->sends[p->out[r->out_at[peer]]];
    bool initial = s->version == GW__NO_WRITE;
    header->contributors =
        initial ? r->first_packed[s->cell] : r->made_packed[s->version];
    if (k > 0 || !gw__nodes_is_hash(header->contributors) ||
        r->sets_sent[peer] > r->out_at[peer])
        return GW_OK;
    struct gw__header before = *header;
    before.step = GW__SET_SLICE;
    before.bytes = sizeof(struct gw_nodes);
    enum gw_err err = r->comm->wire->ops->send(
        r->comm->wire, peer, &before,
        initial ? &r->first_sets[s->cell] : &r->made_sets[s->version], true);
    if (err)
        return err;
    r->sets_sent[peer] = r->out_at[peer] + 1;
    r->comm->pushes[peer]++;
    return GW_OK;
}

static uint32_t source_of(const struct gw__program *p, uint32_t write,
                          unsigned peer)
{
    uint32_t source = p->writes[write].source_begin;
    while (p->sources[source].peer != peer)
        source++;
    return source;
}

enum gw_err gw__contributors_receive(struct gw_request *r, uint32_t write,
                                     unsigned peer,
                                     const struct gw__slice_view *view,
                                     struct gw_error *why)
{
    const struct gw__header *header = view->header;
    uint32_t source = source_of(r->program, write, peer);
    struct gw_nodes set;
    if (header->epoch != r->comm->epoch || header->op != r->op ||
        memcmp(&header->call, &r->signature, sizeof r->signature) != 0 ||
        header->bytes != sizeof set)
        return gw__mismatch_slice(r, peer, header, why);
    memcpy(&set, view->data, sizeof set);
    if (gw__nodes_pack(&set) != header->contributors)
        return wrong(r, write, "a set of contributors has another hash", why);
    r->came_sets[source] = set;
    r->came_packed[source] = header->contributors;
    r->comm->wire->ops->release(r->comm->wire, peer);
    return GW_OK;
}

void gw__contributors_begin(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (unsigned c = 0; c < p->cell_count; c++) {
        r->first_sets[c] = r->contributors->sets[p->cells[c].chunk];
        r->first_packed[c] = gw__nodes_pack(&r->first_sets[c]);
    }
}

/* ---- the call ---- */

static enum gw_err check_call(const struct gw_comm *comm,
                              const struct gw_call *call, struct gw_error *why)
{
    if (!comm->nodes)
        return gw_fail(why, GW_EINVAL, "the communicator is not elastic");
    if (call->collective != GW_ALLREDUCE)
        return gw_fail(why, GW_EINVAL, "contributor sets need an all-reduce");
    enum gw_err err = gw__call_check(comm, call, why);
    if (err)
        return err;
    if (call->op == GW_AVG)
        return gw_fail(why, GW_EINVAL,
                       "contributor sets do not support avg; use sum and "
                       "divide at the end");
    if (call->count && (call->in == GW_IN_PLACE || call->in == call->out))
        return gw_fail(
            why, GW_EINVAL,
            "the operation needs an input buffer separate from the output");
    return GW_OK;
}

static enum gw_err check_contributors(
    const struct gw_comm *comm, const struct gw__program *program,
    const struct gw__contributors *contributors, struct gw_error *why)
{
    const struct gw_plan *plan = program->plan;
    if (plan->collective != GW_ALLREDUCE || plan->ranks != comm->size ||
        program->rank != comm->rank)
        return gw_fail(why, GW_EINVAL,
                       "the plan is for %s on %u ranks, seen from rank %u; it "
                       "does not fit the communicator",
                       gw_collective_name(plan->collective), plan->ranks,
                       program->rank);
    if (plan->scratch)
        return gw_fail(why, GW_ENOTSUP,
                       "plan %s uses scratch; contributor sets need plans "
                       "without scratch",
                       plan->algo);
    if (contributors->own != comm->nodes[comm->rank])
        return gw_fail(why, GW_EINVAL,
                       "the own node must be %u, as in the communicator, not "
                       "%u",
                       comm->nodes[comm->rank], contributors->own);
    for (unsigned c = 0; c < plan->chunks; c++)
        if (gw__nodes_is_empty(contributors->sets[c]) ||
            !gw__nodes_within(contributors->sets[c], contributors->target))
            return gw_fail(why, GW_EINVAL,
                           "chunk %u: the initial set must not be empty and "
                           "must be part of the target",
                           c);
    return GW_OK;
}

static void sign(const struct gw_comm *comm, const struct gw_call *call,
                 struct gw__program *program, struct gw__signature *signature)
{
    if (program->hash == 0)
        program->hash = gw_plan_hash(program->plan);
    gw__call_sign(call, comm->size, 0, signature);
    signature->collective = GW__SHARED;
    signature->plan = program->hash;
}

enum gw_err gw__contributors_start(struct gw_comm *comm,
                                   const struct gw_call *call,
                                   struct gw__program *program, uint32_t op,
                                   struct gw__contributors *contributors,
                                   struct gw_request **request)
{
    struct gw_error why = {0};
    struct gw__signature signature;
    *request = NULL;
    if (comm->error.code)
        return comm->error.code;
    if (check_call(comm, call, &why) ||
        check_contributors(comm, program, contributors, &why))
        return gw__call_refuse(comm, &why, call);
    sign(comm, call, program, &signature);
    struct gw__opening opening = {.call = call,
                                  .program = program,
                                  .signature = &signature,
                                  .contributors = contributors,
                                  .op = op};
    comm->stop = comm->wire->interrupt;
    enum gw_err err = gw__start_program(comm, &opening, request);
    comm->stop = NULL;
    return err;
}

enum gw_err gw__contributors_wait(struct gw_request **request,
                                  const _Atomic bool *stop)
{
    struct gw_request *r = *request;
    enum gw_err err = GW_OK;
    if (!r)
        return GW_OK;
    struct gw_comm *comm = r->comm;
    comm->stop = stop;
    while (!err && r->state != GW__DONE && !atomic_load(stop))
        err = gw__turn(comm, true);
    comm->stop = NULL;
    if (!err && r->state != GW__DONE)
        return GW_PENDING;
    gw__request_retire(r);
    *request = NULL;
    return err;
}

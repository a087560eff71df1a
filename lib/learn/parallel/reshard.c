/* SPDX-License-Identifier: MIT
 *
 * The table of conversions (gradwire/layout.h), one function per kind:
 *
 *     slice            own rows are copied, own columns are extracted
 *     all-gather       of rows: in place; of columns: blocks, then unpacked
 *     all-to-all       rows to columns: packed, and received in order;
 *                      columns to rows: the reverse
 *     all-reduce       unchanged
 *     reduce-scatter   to rows: unchanged; to columns: packed
 *
 * A block has rows x features / T elements, and block q belongs to rank q.
 */
#include "reshard.h"

#include <assert.h>
#include <string.h>

size_t gw__shard_elements(size_t rows, size_t features,
                          enum gw_sharding sharding, unsigned ranks)
{
    bool shared = sharding == GW_BY_ROW || sharding == GW_BY_FEATURE;
    return rows * features / (shared ? ranks : 1);
}

/* An all-reduce may pad each of its blocks. */
size_t gw__reshard_scratch(size_t rows, size_t features, unsigned ranks)
{
    return rows * features + ranks;
}

static enum gw_err run_collective(const struct gw__reshard *r,
                                  enum gw_collective collective,
                                  const char *algo, const float *in, float *out,
                                  size_t count, struct gw_error *why)
{
    struct gw_call call = {.collective = collective,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = GW_F32,
                           .op = GW_SUM,
                           .algo = algo};
    enum gw_err err = gw_run(r->comm, &call);
    if (err)
        gw_fail(why, err, "tensor axis: %s", gw_comm_error(r->comm)->text);
    return err;
}

/* Copies columns between a whole row-by-row block and a narrow one. */
static void pick_columns(const float *whole, size_t rows, size_t features,
                         size_t width, size_t first, float *narrow)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(narrow + i * width, whole + i * features + first,
               width * sizeof *narrow);
}

static void put_columns(const float *narrow, size_t rows, size_t features,
                        size_t width, size_t first, float *whole)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(whole + i * features + first, narrow + i * width,
               width * sizeof *narrow);
}

/* Copies between whole rows and contiguous blocks of columns. */
static void pack(const struct gw__reshard *r, size_t rows, unsigned ranks,
                 const float *whole, float *blocks)
{
    size_t width = r->features / ranks;
    for (unsigned q = 0; q < ranks; q++)
        pick_columns(whole, rows, r->features, width, q * width,
                     blocks + q * rows * width);
}

static void unpack(const struct gw__reshard *r, size_t rows, unsigned ranks,
                   const float *blocks, float *whole)
{
    size_t width = r->features / ranks;
    for (unsigned q = 0; q < ranks; q++)
        put_columns(blocks + q * rows * width, rows, r->features, width,
                    q * width, whole);
}

static enum gw_err slice(const struct gw__reshard *r, unsigned ranks)
{
    unsigned place = gw_comm_rank(r->comm);
    size_t share = r->rows * r->features / ranks;
    size_t width = r->features / ranks;
    if (r->to == GW_BY_ROW)
        memcpy(r->out, r->in + place * share, share * sizeof *r->out);
    else
        pick_columns(r->in, r->rows, r->features, width, place * width, r->out);
    return GW_OK;
}

static enum gw_err gather_blocks(const struct gw__reshard *r, unsigned ranks,
                                 struct gw_error *why)
{
    size_t share = r->rows * r->features / ranks;
    bool by_row = r->from == GW_BY_ROW;
    enum gw_err err = run_collective(r, GW_ALLGATHER, "direct", r->in,
                                     by_row ? r->out : r->scratch, share, why);
    if (!err && !by_row)
        unpack(r, r->rows, ranks, r->scratch, r->out);
    return err;
}

static enum gw_err exchange_blocks(const struct gw__reshard *r, unsigned ranks,
                                   struct gw_error *why)
{
    size_t rows = r->rows / ranks, block = rows * (r->features / ranks);
    if (r->from == GW_BY_ROW) {
        pack(r, rows, ranks, r->in, r->scratch);
        return run_collective(r, GW_ALLTOALL, "linear", r->scratch, r->out,
                              block, why);
    }
    enum gw_err err =
        run_collective(r, GW_ALLTOALL, "linear", r->in, r->scratch, block, why);
    if (!err)
        unpack(r, rows, ranks, r->scratch, r->out);
    return err;
}

/* Does an all-reduce divide this count into equal parts? Large parts end at
 * multiples of 16 elements. */
static bool even(size_t count, unsigned ranks)
{
    enum { LINE = 16, LARGE = 1024 };
    return count % ((size_t)ranks * (count / ranks < LARGE ? 1 : LINE)) == 0;
}

/* A count that does not divide is reduced in equal blocks, the last one padded,
 * so that all ranks send the same amount. */
static enum gw_err reduce(const struct gw__reshard *r, unsigned ranks,
                          struct gw_error *why)
{
    size_t count = r->rows * r->features, block = (count + ranks - 1) / ranks;
    if (r->algo || even(count, ranks))
        return run_collective(r, GW_ALLREDUCE,
                              r->algo ? r->algo : "partitioned", r->in, r->out,
                              count, why);
    memcpy(r->scratch, r->in, count * sizeof *r->scratch);
    memset(r->scratch + count, 0, (block * ranks - count) * sizeof *r->scratch);
    enum gw_err err = run_collective(r, GW_REDUCE_SCATTER, "direct", r->scratch,
                                     r->out, block, why);
    if (!err)
        err = run_collective(r, GW_ALLGATHER, "direct", r->out, r->scratch,
                             block, why);
    if (!err)
        memcpy(r->out, r->scratch, count * sizeof *r->out);
    return err;
}

static enum gw_err reduce_scatter(const struct gw__reshard *r, unsigned ranks,
                                  struct gw_error *why)
{
    size_t share = r->rows * r->features / ranks;
    const float *in = r->in;
    if (r->to == GW_BY_FEATURE) {
        pack(r, r->rows, ranks, r->in, r->scratch);
        in = r->scratch;
    }
    return run_collective(r, GW_REDUCE_SCATTER, "direct", in, r->out, share,
                          why);
}

enum gw_err gw__reshard(const struct gw__reshard *r, struct gw_error *why)
{
    unsigned ranks = gw_comm_size(r->comm);
    assert(r->from != r->to && r->to != GW_PARTIAL && r->in != r->out);
    switch (r->from) {
    case GW_REPLICATED:
        return slice(r, ranks);
    case GW_BY_ROW:
    case GW_BY_FEATURE:
        return r->to == GW_REPLICATED ? gather_blocks(r, ranks, why)
                                      : exchange_blocks(r, ranks, why);
    case GW_PARTIAL:
        break;
    }
    return r->to == GW_REPLICATED ? reduce(r, ranks, why)
                                  : reduce_scatter(r, ranks, why);
}

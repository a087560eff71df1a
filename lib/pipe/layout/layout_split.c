/* SPDX-License-Identifier: MIT
 *
 * The effect of a split on one operator: the sharding of its input, output and
 * gradients along the tensor axis, and a rank's share of the weights. R:
 * replicated, r: by row, f: by feature, P: partial.
 *
 *                         forward      backward
 *                         in    out    grad_out  grad_in
 *     none                R     R      R         R
 *     columns, dense      R     f      f         P    each has some columns of
 *                                                     W; dx = dy W' sums them
 *     rows, dense         f     P      R         f    x W is a sum over rows
 *     rows, embedding     R     P      R         -    each looks up the words
 *                                                     that it has
 *     batch               r     r      r         r    weight gradients are
 *                                                     sums over the rows
 *     columns, by element f     f      f         f
 *
 * A conv is a dense operator by channel: columns divide its filters, rows its
 * input channels. maxpool, flatten and add are element-wise.
 *
 * The gradient of a tensor has the sharding of its values. If those are partial
 * it is replicated, because d(a + b) is the same for both summands. All ranks
 * have the biases of a dense operator by rows, but only the first rank of the
 * axis adds them: their gradient is the same for all.
 */
#include "layout_parts.h"
#include "pipe/network/network.h"

static bool has_matrix(enum gw_operator_kind kind)
{
    return kind == GW_OP_DENSE || kind == GW_OP_EMBEDDING || kind == GW_OP_CONV;
}

bool gw__split_fits(enum gw_operator_kind kind, enum gw_split split)
{
    switch (split) {
    case GW_SPLIT_AUTO:
    case GW_SPLIT_NONE:
    case GW_SPLIT_BATCH:
        return true;
    case GW_SPLIT_COLUMNS:
        return kind != GW_OP_SOFTMAX;
    case GW_SPLIT_ROWS:
        return has_matrix(kind);
    }
    return false;
}

enum gw_split gw__split_choose(enum gw_operator_kind kind,
                               enum gw_sharding incoming)
{
    bool dense = has_matrix(kind);
    if (incoming == GW_BY_ROW)
        return GW_SPLIT_BATCH;
    if (kind == GW_OP_SOFTMAX)
        return GW_SPLIT_NONE;
    if (incoming == GW_BY_FEATURE)
        return dense ? GW_SPLIT_ROWS : GW_SPLIT_COLUMNS;
    return dense ? GW_SPLIT_COLUMNS : GW_SPLIT_NONE;
}

/* The sharding of the gradient of a tensor with this sharding. */
static enum gw_sharding gradient_of(enum gw_sharding values)
{
    return values == GW_PARTIAL ? GW_REPLICATED : values;
}

static void shard(struct gw_operator_layout *op_layout, enum gw_sharding in,
                  enum gw_sharding out, enum gw_sharding grad_in)
{
    op_layout->in = in;
    op_layout->out = out;
    op_layout->grad_out = gradient_of(out);
    op_layout->grad_in = grad_in;
}

static void shard_columns(const struct gw_operator *op, unsigned tensor,
                          struct gw_operator_layout *op_layout)
{
    op_layout->local_out = op->out / tensor;
    if (has_matrix(op->kind)) {
        shard(op_layout, GW_REPLICATED, GW_BY_FEATURE, GW_PARTIAL);
        return;
    }
    shard(op_layout, GW_BY_FEATURE, GW_BY_FEATURE, GW_BY_FEATURE);
    op_layout->local_in = op->in / tensor;
}

static void shard_rows(const struct gw_operator *op, unsigned tensor,
                       struct gw_operator_layout *op_layout)
{
    op_layout->local_in = op->in / tensor;
    if (op->kind == GW_OP_EMBEDDING)
        shard(op_layout, GW_REPLICATED, GW_PARTIAL, GW_REPLICATED);
    else
        shard(op_layout, GW_BY_FEATURE, GW_PARTIAL, GW_BY_FEATURE);
}

void gw__split_apply(const struct gw_operator *op, enum gw_split split,
                     unsigned tensor, struct gw_operator_layout *op_layout)
{
    op_layout->split = split;
    op_layout->local_in = op->in;
    op_layout->local_out = op->out;
    op_layout->weights_partial = false;
    op_layout->parameters = gw_operator_parameters(op);
    switch (split) {
    case GW_SPLIT_COLUMNS:
        shard_columns(op, tensor, op_layout);
        break;
    case GW_SPLIT_ROWS:
        shard_rows(op, tensor, op_layout);
        break;
    case GW_SPLIT_BATCH:
        shard(op_layout, GW_BY_ROW, GW_BY_ROW, GW_BY_ROW);
        op_layout->weights_partial = op_layout->parameters > 0;
        break;
    default:
        shard(op_layout, GW_REPLICATED, GW_REPLICATED, GW_REPLICATED);
    }
    struct gw_operator local =
        gw__operator_local(op, op_layout->local_in, op_layout->local_out);
    op_layout->parameters_local = gw_operator_parameters(&local);
}

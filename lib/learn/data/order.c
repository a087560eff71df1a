/* SPDX-License-Identifier: MIT
 *
 * The order of rows in training. All ranks compute the same shuffle, and each
 * takes its share of each batch. So a batch has the same rows for any number of
 * ranks: batch b is places [bB, (b+1)B) of the order, and rank r of p has those
 * from floor(r n / p) to floor((r+1) n / p) of its n rows.
 */
#include <gradwire/learn.h>

#include <assert.h>
#include <stdlib.h>

enum gw_err gw_order_init(struct gw_order *order, size_t rows, size_t batch,
                          uint64_t seed, struct gw_error *why)
{
    assert(rows > 0 && rows <= UINT32_MAX);
    *order = (struct gw_order){
        .rows = rows,
        .batch = batch == 0 || batch > rows ? rows : batch,
        .seed = seed,
        .row = malloc(rows * sizeof *order->row),
    };
    if (!order->row)
        return gw_fail(why, GW_ENOMEM, "the order of %zu rows", rows);
    for (size_t i = 0; i < rows; i++)
        order->row[i] = (uint32_t)i;
    return GW_OK;
}

void gw_order_fini(struct gw_order *order)
{
    free(order->row);
    *order = (struct gw_order){0};
}

void gw_order_shuffle(struct gw_order *order, unsigned epoch)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, gw_hash(&epoch, sizeof epoch, order->seed));
    for (size_t i = 0; i < order->rows; i++)
        order->row[i] = (uint32_t)i;
    for (size_t i = order->rows - 1; i > 0; i--) {
        size_t other = gw_rng_below(&rng, i + 1);
        uint32_t row = order->row[i];
        order->row[i] = order->row[other];
        order->row[other] = row;
    }
}

size_t gw_order_batches(const struct gw_order *order)
{
    return (order->rows + order->batch - 1) / order->batch;
}

size_t gw_order_batch_rows(const struct gw_order *order, size_t b)
{
    size_t left = order->rows - b * order->batch;
    return left < order->batch ? left : order->batch;
}

const uint32_t *gw_order_share(const struct gw_order *order, size_t b,
                               unsigned rank, unsigned ranks, size_t *row_count)
{
    assert(rank < ranks && b < gw_order_batches(order));
    size_t rows = gw_order_batch_rows(order, b);
    size_t begin = rows * rank / ranks;
    *row_count = rows * (rank + 1) / ranks - begin;
    return order->row + b * order->batch + begin;
}

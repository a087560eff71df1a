/* SPDX-License-Identifier: MIT
 *
 * heat SHAPE N STEPS EVERY START RATIO: an explicit scheme for the heat
 * equation on a torus of N x N points (Courant, Friedrichs, Lewy 1928),
 *
 *     u' = u + r (up + down + left + right - 4 u),
 *
 * by the blocks of SHAPE ("16x1": strips, "4x4": tiles), one per rank, run by
 * collrun exec. It ends after STEPS, or when the residual, the root of the sum
 * of squares, is below a thousandth of that of the start. It tests that after
 * the steps for which is_check_due returns true. START 0 is the wave cos(2 pi
 * i/6) cos(2 pi j/6), which each step multiplies by 1 - 4r (sin^2 pi/6 + sin^2
 * pi/6) = 1 - 2r; other numbers are seeds of random points. Rank 0 prints one
 * line: the messages and bytes, and the number of points that differ from those
 * of one process. That process computes all points with the same order of
 * additions, so they must be equal to the last bit.
 */
#include "heat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct sent {
    uint64_t messages, bytes;
};

struct heat {
    struct gw_comm *comm;
    unsigned n, steps, every, start;
    double r;
    unsigned py, px;
    struct block block;
    unsigned row, col; /* where the block begins */
    double *u, *next;
    struct sent halo, residual;
    unsigned done, checks;
};

static struct sent sent_so_far(struct gw_comm *comm)
{
    struct sent sum = {0, 0};
    for (unsigned peer = 0; peer < gw_comm_size(comm); peer++) {
        struct gw_counters c;
        gw_comm_counters(comm, peer, &c);
        sum.messages += c.messages_sent;
        sum.bytes += c.bytes_sent;
    }
    return sum;
}

static void add_since(struct gw_comm *comm, struct sent before,
                      struct sent *sum)
{
    struct sent now = sent_so_far(comm);
    sum->messages += now.messages - before.messages;
    sum->bytes += now.bytes - before.bytes;
}

static double start_at(const struct heat *h, unsigned i, unsigned j)
{
    const double sixth = acos(-1) / 3;
    struct gw_rng rng;
    if (h->start == 0)
        return cos(sixth * (i % 6)) * cos(sixth * (j % 6));
    gw_rng_seed(&rng, ((uint64_t)h->start << 40) + (uint64_t)i * h->n + j);
    return gw_rng_unit(&rng);
}

static void begin(const struct heat *h, const struct block *b, double *u,
                  unsigned row, unsigned col)
{
    for (unsigned i = 0; i < b->rows; i++)
        for (unsigned j = 0; j < b->cols; j++)
            *at(b, u, (int)i, (int)j) = start_at(h, row + i, col + j);
}

static void step(const struct heat *h, const struct block *b, double *u,
                 double *next)
{
    for (int i = 0; i < (int)b->rows; i++)
        for (int j = 0; j < (int)b->cols; j++) {
            double here = *at(b, u, i, j);
            double around = *at(b, u, i - 1, j) + *at(b, u, i + 1, j) +
                            *at(b, u, i, j - 1) + *at(b, u, i, j + 1);
            *at(b, next, i, j) = here + h->r * (around - 4 * here);
        }
}

/* The residual of all ranks, by an algorithm with a known number of
 * messages. */
static enum gw_err residual(struct heat *h, double *root)
{
    double mine = 0, all = 0;
    struct sent before = sent_so_far(h->comm);
    for (int i = 0; i < (int)h->block.rows; i++)
        for (int j = 0; j < (int)h->block.cols; j++)
            mine += *at(&h->block, h->u, i, j) * *at(&h->block, h->u, i, j);
    enum gw_err err =
        gw_run(h->comm, &(struct gw_call){.collective = GW_ALLREDUCE,
                                          .in = &mine,
                                          .out = &all,
                                          .count = 1,
                                          .type = GW_F64,
                                          .op = GW_SUM,
                                          .algo = "recursive_doubling"});
    *root = sqrt(all);
    add_since(h->comm, before, &h->residual);
    return err;
}

static void turn(struct heat *h)
{
    double *old = h->u;
    h->u = h->next;
    h->next = old;
}

static enum gw_err compute(struct heat *h)
{
    double first, now;
    enum gw_err err = residual(h, &first);
    h->residual = (struct sent){0, 0};
    for (bool cold = false; !err && !cold && h->done < h->steps;) {
        struct sent before = sent_so_far(h->comm);
        err = exchange(h->comm, &h->block, h->u);
        add_since(h->comm, before, &h->halo);
        step(h, &h->block, h->u, h->next);
        turn(h);
        h->done++;
        if (err || !is_check_due(h->done, h->every))
            continue;
        h->checks++;
        err = residual(h, &now);
        cold = now < first / 1000;
    }
    return err;
}

/* Computes the same by one process. Returns the number of points of this rank's
 * block that differ. */
static uint64_t differing(const struct heat *h)
{
    const struct block all = {.rows = h->n, .cols = h->n};
    size_t points = (size_t)(h->n + 2) * (h->n + 2);
    double *u = calloc(points, sizeof *u), *next = calloc(points, sizeof *next);
    uint64_t wrong = 0;
    int n = (int)h->n;
    if (!u || !next)
        exit(70);
    begin(h, &all, u, 0, 0);
    for (unsigned s = 0; s < h->done; s++) {
        for (int k = 0; k < n; k++) {
            *at(&all, u, -1, k) = *at(&all, u, n - 1, k);
            *at(&all, u, n, k) = *at(&all, u, 0, k);
            *at(&all, u, k, -1) = *at(&all, u, k, n - 1);
            *at(&all, u, k, n) = *at(&all, u, k, 0);
        }
        step(h, &all, u, next);
        double *old = u;
        u = next;
        next = old;
    }
    for (int i = 0; i < (int)h->block.rows; i++)
        for (int j = 0; j < (int)h->block.cols; j++)
            wrong += *at(&h->block, h->u, i, j) !=
                     *at(&all, u, (int)h->row + i, (int)h->col + j);
    free(u);
    free(next);
    return wrong;
}

/* Prints sums over the ranks, and the bytes of the busiest rank. */
static enum gw_err report(struct heat *h)
{
    uint64_t mine[5] = {h->halo.messages, h->halo.bytes, h->residual.messages,
                        h->residual.bytes, differing(h)};
    uint64_t sum[5], most;
    double left, whole;
    enum gw_err err = residual(h, &left);
    whole = (double)h->n * h->n;
    if (!err)
        err = gw_allreduce(h->comm, mine, sum, 5, GW_U64, GW_SUM);
    if (!err)
        err = gw_allreduce(h->comm, &mine[1], &most, 1, GW_U64, GW_MAX);
    if (err || gw_comm_rank(h->comm) != 0)
        return err;
    printf("{\"ranks\":%u,\"steps\":%u,\"looks\":%u,\"halo_messages\":%g,"
           "\"halo_bytes\":%g,\"rank_bytes\":%g,\"residual_messages\":%g,"
           "\"rms\":%.6g,\"wrong\":%g}\n",
           gw_comm_size(h->comm), h->done, h->checks, (double)sum[0] / h->done,
           (double)sum[1] / h->done, (double)most / h->done, (double)sum[2],
           left / sqrt(whole), (double)sum[4]);
    return GW_OK;
}

static enum gw_err lay_out(struct heat *h, struct gw_error *why)
{
    unsigned rank = gw_comm_rank(h->comm), y, x;
    if (h->py * h->px != gw_comm_size(h->comm) || h->n % h->py ||
        h->n % h->px || h->n % 6 || h->steps == 0)
        return gw_fail(why, GW_EINVAL,
                       "%ux%u blocks of %u x %u points (a multiple of 6) by %u "
                       "ranks: does not divide evenly",
                       h->py, h->px, h->n, h->n, gw_comm_size(h->comm));
    y = rank / h->px;
    x = rank % h->px;
    h->block = (struct block){
        .rows = h->n / h->py,
        .cols = h->n / h->px,
        .up = (y + h->py - 1) % h->py * h->px + x,
        .down = (y + 1) % h->py * h->px + x,
        .left = y * h->px + (x + h->px - 1) % h->px,
        .right = y * h->px + (x + 1) % h->px,
    };
    h->row = y * h->block.rows;
    h->col = x * h->block.cols;
    size_t points = (size_t)(h->block.rows + 2) * (h->block.cols + 2);
    h->u = calloc(points, sizeof *h->u);
    h->next = calloc(points, sizeof *h->next);
    if (!h->u || !h->next)
        return gw_fail(why, GW_ENOMEM, "%zu points", points);
    begin(h, &h->block, h->u, h->row, h->col);
    return GW_OK;
}

int main(int argc, char **argv)
{
    struct heat h = {.done = 0};
    struct gw_error why;
    if (argc < 7 || sscanf(argv[1], "%ux%u", &h.py, &h.px) != 2 || !h.py ||
        !h.px) {
        fprintf(stderr, "heat: PYxPX N STEPS EVERY START RATIO\n");
        return 64;
    }
    h.n = (unsigned)atoi(argv[2]);
    h.steps = (unsigned)atoi(argv[3]);
    h.every = (unsigned)atoi(argv[4]);
    h.start = (unsigned)atoi(argv[5]);
    h.r = atof(argv[6]);
    enum gw_err err = gw_comm_from_env(NULL, &h.comm, &why);
    if (!err)
        err = lay_out(&h, &why);
    if (!err && (err = compute(&h)) == GW_OK)
        err = report(&h);
    if (err && h.comm && gw_comm_error(h.comm)->code)
        why = *gw_comm_error(h.comm);
    if (err)
        fprintf(stderr, "heat: %s\n", why.text);
    free(h.u);
    free(h.next);
    gw_comm_destroy(&h.comm);
    return err ? gw_err_exit(err) : 0;
}

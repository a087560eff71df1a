/* SPDX-License-Identifier: MIT
 *
 * Data parallelism by hand, as in PyTorch's DistributedDataParallel: each rank
 * has a copy of the network and its share of the batch. During the backward
 * pass the gradients of finished layers are already reduced, in buckets. Then
 * all ranks take the same step with the same mean.
 *
 *     cc -o ddp ddp.c -lgradwire -lm
 *     collrun exec -n 4 ./ddp [STEPS [BUCKET_BYTES]]    or   mpirun -n 4 ./ddp
 *
 * The network learns whether two numbers have the same sign. Every number of
 * ranks that divides the batch learns the same, up to rounding.
 */
#include <gradwire/gradwire.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 4, WIDTH = 64, BATCH = 240, TENSORS = 2 * LAYERS };
static const unsigned width[LAYERS + 1] = {2, WIDTH, WIDTH, WIDTH, 1};

/* y = tanh(w x + b); the weights of output o are w[o * inputs...]. */
struct layer {
    unsigned inputs, outputs;
    float *w, *b;
    float *dw, *db; /* gradients: sums over this rank's rows */
};

struct network {
    struct layer layers[LAYERS];
    size_t count;
    float *parameters, *gradients; /* of all layers, one after the other */
    float outputs[LAYERS + 1][WIDTH], errors[LAYERS + 1][WIDTH]; /* per row */
};

/* Layers in one array, the first one first: buckets are reduced in place. */
static enum gw_err network_init(struct network *net, struct gw_error *why)
{
    struct gw_rng rng;
    size_t at = 0;
    for (unsigned l = 0; l < LAYERS; l++)
        net->count += (size_t)(width[l] + 1) * width[l + 1];
    net->parameters = gw_alloc(net->count * sizeof(float), why);
    if (!net->parameters)
        return why->code;
    net->gradients = gw_alloc(net->count * sizeof(float), why);
    if (!net->gradients)
        return why->code;
    for (unsigned l = 0; l < LAYERS; l++) {
        struct layer *layer = &net->layers[l];
        size_t weights = (size_t)width[l] * width[l + 1];
        *layer = (struct layer){width[l],
                                width[l + 1],
                                net->parameters + at,
                                net->parameters + at + weights,
                                net->gradients + at,
                                net->gradients + at + weights};
        at += weights + width[l + 1];
    }
    gw_rng_seed(&rng, 1); /* the same on all ranks */
    for (size_t i = 0; i < net->count; i++)
        net->parameters[i] = (float)(gw_rng_unit(&rng) - 0.5) * 0.5F;
    return GW_OK;
}

static void network_fini(struct network *net)
{
    gw_free(net->parameters);
    gw_free(net->gradients);
}

static enum gw_err make_reducer(struct gw_comm *comm, const struct network *net,
                                size_t bucket_bytes,
                                struct gw_reducer **reducer,
                                struct gw_error *why)
{
    static const char *const names[TENSORS] = {"w1", "b1", "w2", "b2",
                                               "w3", "b3", "w4", "b4"};
    struct gw_reducer_tensor tensors[TENSORS];
    for (unsigned l = 0; l < LAYERS; l++) {
        const struct layer *layer = &net->layers[l];
        tensors[2 * l] = (struct gw_reducer_tensor){
            names[2 * l], layer->dw, (size_t)layer->inputs * layer->outputs};
        tensors[2 * l + 1] = (struct gw_reducer_tensor){
            names[2 * l + 1], layer->db, layer->outputs};
    }
    const struct gw_reducer_config config = {.tensors = tensors,
                                             .tensor_count = TENSORS,
                                             .type = GW_F32,
                                             .op = GW_AVG,
                                             .bucket_bytes = bucket_bytes,
                                             .first_bucket_bytes = 1024};
    return gw_reducer_new(comm, &config, reducer, why);
}

static void forward(const struct layer *layer, const float *x, float *y)
{
    for (unsigned o = 0; o < layer->outputs; o++) {
        float sum = layer->b[o];
        for (unsigned i = 0; i < layer->inputs; i++)
            sum += layer->w[o * layer->inputs + i] * x[i];
        y[o] = tanhf(sum);
    }
}

/* `error` is dloss/dy; sets dloss/dx, and adds to the gradients. */
static void backward(struct layer *layer, const float *x, const float *y,
                     const float *error, float *before)
{
    for (unsigned i = 0; i < layer->inputs; i++)
        before[i] = 0;
    for (unsigned o = 0; o < layer->outputs; o++) {
        float slope = error[o] * (1 - y[o] * y[o]);
        layer->db[o] += slope;
        for (unsigned i = 0; i < layer->inputs; i++) {
            layer->dw[o * layer->inputs + i] += slope * x[i];
            before[i] += slope * layer->w[o * layer->inputs + i];
        }
    }
}

/* Forward and backward for the rows of one rank. A layer's gradient is complete
 * with the last row, so each layer is ready then before the previous layer
 * computes. */
static enum gw_err compute(struct network *net, const float (*rows)[2],
                           unsigned count, struct gw_reducer *reducer,
                           double *loss, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned r = 0; !err && r < count; r++) {
        float(*y)[WIDTH] = net->outputs, (*error)[WIDTH] = net->errors;
        y[0][0] = rows[r][0];
        y[0][1] = rows[r][1];
        for (unsigned l = 0; l < LAYERS; l++)
            forward(&net->layers[l], y[l], y[l + 1]);
        float wanted = rows[r][0] * rows[r][1] > 0 ? 0.9F : -0.9F;
        error[LAYERS][0] = (y[LAYERS][0] - wanted) / (float)count;
        *loss += 0.5 * pow((double)(y[LAYERS][0] - wanted), 2) / count;
        for (unsigned l = LAYERS; !err && l-- > 0;) {
            backward(&net->layers[l], y[l], y[l + 1], error[l + 1], error[l]);
            if (r + 1 < count)
                continue;
            err = gw_reducer_ready(reducer, 2 * l + 1, why);
            if (!err)
                err = gw_reducer_ready(reducer, 2 * l, why);
        }
    }
    return err;
}

/* Sums over all steps. exposed_us: communication that did not overlap with
 * computation. */
struct totals {
    double loss, comm_us, exposed_us;
};

static enum gw_err step(struct gw_comm *comm, struct network *net,
                        struct gw_reducer *reducer, struct gw_rng *rng,
                        struct totals *totals, struct gw_error *why)
{
    unsigned share = BATCH / gw_comm_size(comm);
    float rows[BATCH][2];
    double comm_us, exposed_us;
    for (unsigned r = 0; r < BATCH; r++) /* the same on all ranks */
        for (unsigned i = 0; i < 2; i++)
            rows[r][i] = (float)(2 * gw_rng_unit(rng) - 1);
    for (size_t i = 0; i < net->count; i++)
        net->gradients[i] = 0;
    totals->loss = 0;
    enum gw_err err = compute(net, rows + gw_comm_rank(comm) * share, share,
                              reducer, &totals->loss, why);
    if (!err)
        err = gw_reducer_wait(reducer, why);
    if (err)
        return err;
    for (size_t i = 0; i < net->count; i++)
        net->parameters[i] -= 0.3F * net->gradients[i];
    gw_reducer_times(reducer, &comm_us, &exposed_us);
    totals->comm_us += comm_us;
    totals->exposed_us += exposed_us;
    return GW_OK;
}

/* Prints the mean loss, and checks that all ranks have the same parameters. */
static enum gw_err finish(struct gw_comm *comm, const struct network *net,
                          struct totals *totals, struct gw_error *why)
{
    uint64_t own =
        gw_hash(net->parameters, net->count * sizeof *net->parameters, 0);
    uint64_t least = 0, most = 0;
    double loss = 0;
    enum gw_err err = gw_allreduce(comm, &own, &least, 1, GW_U64, GW_MIN);
    if (!err)
        err = gw_allreduce(comm, &own, &most, 1, GW_U64, GW_MAX);
    if (!err)
        err = gw_allreduce(comm, &totals->loss, &loss, 1, GW_F64, GW_AVG);
    totals->loss = loss;
    if (err)
        return gw_fail(why, err, "%s", gw_comm_error(comm)->text);
    return least == most ? GW_OK : gw_fail(why, GW_EWRONG, "the copies differ");
}

static enum gw_err train(struct gw_comm *comm, struct network *net,
                         unsigned steps, size_t bucket_bytes,
                         struct gw_error *why)
{
    struct gw_reducer *reducer = NULL;
    struct totals totals = {0};
    struct gw_rng rng;
    gw_rng_seed(&rng, 2);
    enum gw_err err = network_init(net, why);
    if (!err)
        err = make_reducer(comm, net, bucket_bytes, &reducer, why);
    for (unsigned s = 0; !err && s < steps; s++)
        err = step(comm, net, reducer, &rng, &totals, why);
    if (!err)
        err = finish(comm, net, &totals, why);
    if (!err && gw_comm_rank(comm) == 0)
        printf("%u ranks, %u steps, %u buckets: loss %.4f, all copies equal, "
               "%.0f us of communication per step, %.0f exposed\n",
               gw_comm_size(comm), steps, gw_reducer_buckets(reducer),
               totals.loss, totals.comm_us / steps, totals.exposed_us / steps);
    gw_reducer_free(&reducer);
    return err;
}

int main(int argc, char **argv)
{
    static struct network net;
    unsigned steps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    size_t bucket_bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 16384;
    struct gw_comm *comm = NULL;
    struct gw_error why = {.code = GW_OK};
    enum gw_err err = gw_comm_from_env(NULL, &comm, &why);
    if (!err && BATCH % gw_comm_size(comm) != 0)
        err = gw_fail(&why, GW_EINVAL, "%u ranks do not divide a batch of %d",
                      gw_comm_size(comm), BATCH);
    if (!err)
        err = train(comm, &net, steps, bucket_bytes, &why);
    if (err)
        fprintf(stderr, "ddp: %s\n", why.text);
    gw_comm_destroy(&comm);
    network_fini(&net);
    return gw_err_exit(err);
}

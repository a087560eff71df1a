/* SPDX-License-Identifier: MIT
 *
 * The communication of DistributedDataParallel without its network: gradients of
 * given sizes become ready from the last one to the first, and a reducer
 * all-reduces them in buckets meanwhile.
 *
 *     collrun exec -n 4 backward MODEL FIRST CAP STEPS [list]
 *
 * MODEL has one line "NAME ELEMENTS" per tensor, in the order of the forward
 * pass. FIRST and CAP are the bytes that close the first bucket and the others;
 * 0: DDP's sizes, 1 MiB and 25 MiB. A tensor of n elements takes n/16 us of the
 * backward pass. `list` prints the bucket of each tensor; otherwise rank 0
 * prints one JSON object, with the counts of one rank and step.
 */
#include <gradwire/gradwire.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TENSORS_MAX = 256, NAME_BYTES = 32, ELEMENTS_PER_US = 16 };

struct model {
    unsigned count;
    size_t elements; /* of all tensors */
    char names[TENSORS_MAX][NAME_BYTES];
    struct gw_reducer_tensor tensors[TENSORS_MAX];
    float *gradients; /* of all tensors, one after the other */
};

static enum gw_err read_model(const char *path, struct model *model,
                              struct gw_error *why)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return gw_fail(why, GW_EDATA, "%s: cannot be opened", path);
    while (model->count < TENSORS_MAX) {
        struct gw_reducer_tensor *tensor = &model->tensors[model->count];
        char *name = model->names[model->count];
        if (fscanf(file, "%31s %zu", name, &tensor->count) != 2)
            break;
        tensor->name = name;
        model->elements += tensor->count;
        model->count++;
    }
    fclose(file);
    if (!model->elements)
        return gw_fail(why, GW_EDATA, "%s: no line \"NAME ELEMENTS\"", path);
    model->gradients = gw_alloc(model->elements * sizeof(float), why);
    if (!model->gradients)
        return why->code;
    size_t at = 0;
    for (unsigned t = 0; t < model->count; t++) {
        model->tensors[t].data = model->gradients + at;
        at += model->tensors[t].count;
    }
    return GW_OK;
}

/* Time passes as in the computation of a gradient; buckets under way advance.
 * The rank sleeps, because there may be fewer cores than ranks. */
static enum gw_err compute(struct gw_reducer *reducer, size_t elements,
                           struct gw_error *why)
{
    uint64_t end_ns = gw_now_ns() + elements * 1000 / ELEMENTS_PER_US;
    const struct timespec pause = {.tv_nsec = 20000};
    enum gw_err err = GW_OK;
    while (!err && gw_now_ns() < end_ns) {
        nanosleep(&pause, NULL);
        err = gw_reducer_poll(reducer, why);
    }
    return err;
}

/* Rank r has the gradient r + 1 everywhere, so the mean is (p + 1) / 2. */
static enum gw_err step(struct gw_comm *comm, struct model *model,
                        struct gw_reducer *reducer, struct gw_error *why)
{
    float own = (float)(gw_comm_rank(comm) + 1);
    float mean = (float)(gw_comm_size(comm) + 1) / 2;
    enum gw_err err = GW_OK;
    for (unsigned t = model->count; !err && t-- > 0;) {
        float *gradient = model->tensors[t].data;
        err = compute(reducer, model->tensors[t].count, why);
        for (size_t i = 0; i < model->tensors[t].count; i++)
            gradient[i] = own;
        if (!err)
            err = gw_reducer_ready(reducer, t, why);
    }
    if (!err)
        err = gw_reducer_wait(reducer, why);
    for (size_t i = 0; !err && i < model->elements; i++)
        if (model->gradients[i] != mean)
            err = gw_fail(why, GW_EWRONG, "element %zu is %g, not %g", i,
                          (double)model->gradients[i], (double)mean);
    return err;
}

static void list(const struct model *model, const struct gw_reducer *reducer)
{
    for (unsigned t = 0; t < model->count; t++)
        printf("%s %u\n", model->names[t], gw_reducer_bucket(reducer, t));
}

/* The bytes in buckets that start before the first tensor, which is the last
 * one to be ready. */
static size_t early_bytes(const struct model *model,
                          const struct gw_reducer *reducer)
{
    size_t bytes = 0;
    for (unsigned t = 0; t < model->count; t++)
        if (gw_reducer_bucket(reducer, t) < gw_reducer_bucket(reducer, 0))
            bytes += model->tensors[t].count * sizeof(float);
    return bytes;
}

static void print_counts(struct gw_comm *comm, const struct model *model,
                         const struct gw_reducer *reducer, unsigned steps)
{
    struct gw_counters c, sum = {0};
    double comm_us, exposed_us;
    for (unsigned peer = 0; peer < gw_comm_size(comm); peer++) {
        gw_comm_counters(comm, peer, &c);
        sum.messages_sent += c.messages_sent;
        sum.bytes_sent += c.bytes_sent;
    }
    gw_reducer_times(reducer, &comm_us, &exposed_us);
    size_t bytes = model->elements * sizeof(float);
    printf(
        "{\"tensors\":%u,\"bytes\":%zu,\"buckets\":%u,\"early_percent\":%.4f,"
        "\"sent_bytes\":%.0f,\"sent_messages\":%.0f,\"compute_us\":%zu,"
        "\"comm_us\":%.0f,\"exposed_us\":%.0f}\n",
        model->count, bytes, gw_reducer_buckets(reducer),
        100.0 * (double)early_bytes(model, reducer) / (double)bytes,
        (double)sum.bytes_sent / steps, (double)sum.messages_sent / steps,
        model->elements / ELEMENTS_PER_US, comm_us, exposed_us);
}

static enum gw_err train(struct gw_comm *comm, struct model *model, char **argv,
                         bool lists, struct gw_error *why)
{
    struct gw_reducer *reducer;
    unsigned steps = (unsigned)strtoul(argv[4], NULL, 10);
    enum gw_err err = read_model(argv[1], model, why);
    if (err)
        return err;
    const struct gw_reducer_config config = {
        .tensors = model->tensors,
        .tensor_count = model->count,
        .type = GW_F32,
        .op = GW_AVG,
        .first_bucket_bytes = strtoul(argv[2], NULL, 10),
        .bucket_bytes = strtoul(argv[3], NULL, 10),
        .algo = "ring"};
    err = gw_reducer_new(comm, &config, &reducer, why);
    for (unsigned s = 0; !err && s < steps; s++)
        err = step(comm, model, reducer, why);
    if (!err && gw_comm_rank(comm) == 0) {
        if (lists)
            list(model, reducer);
        else
            print_counts(comm, model, reducer, steps ? steps : 1);
    }
    gw_reducer_free(&reducer);
    return err;
}

int main(int argc, char **argv)
{
    static struct model model;
    struct gw_comm *comm = NULL;
    struct gw_error why = {.code = GW_OK};
    if (argc < 5) {
        fprintf(stderr, "usage: backward MODEL FIRST CAP STEPS [list]\n");
        return 64;
    }
    bool lists = argc > 5 && strcmp(argv[5], "list") == 0;
    enum gw_err err = gw_comm_from_env(NULL, &comm, &why);
    if (!err)
        err = train(comm, &model, argv, lists, &why);
    if (err)
        fprintf(stderr, "backward: %s\n", why.text);
    gw_comm_destroy(&comm);
    gw_free(model.gradients);
    return gw_err_exit(err);
}

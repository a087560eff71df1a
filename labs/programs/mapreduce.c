/* SPDX-License-Identifier: MIT
 *
 * Logistic regression as MapReduce would do it. Compare it with `psnode train
 * lr` on the same file. Each iteration is a job:
 *
 *     map      each rank reads its split of the file again, computes the
 *              gradient of its rows, and combines it to one pair (feature,
 *              value) for each feature that occurs
 *     shuffle  all-to-all-v: the pairs of feature k go to rank k mod p
 *     reduce   each rank adds up its features and takes the step of theirs
 *     spread   all-gather: the next job's mappers need the whole model
 *
 *     cc -O2 -o mapreduce mapreduce.c -lgradwire -lm
 *     collrun exec -n 4 ./mapreduce DATA [ITERATIONS [RATE]]
 *
 * DATA is LibSVM text with indices from 1; labels above 0 are one class.
 * MapReduce does not suit this: each update takes two barriers and a pass over
 * the data, and every rank gets the whole model. Parameter servers make one
 * update per batch, and workers pull only the weights that their rows need.
 */
#include <gradwire/gradwire.h>
#include <gradwire/learn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 256 };

struct job {
    struct gw_comm *comm;
    const char *path;
    unsigned rank, ranks;
    double rate;
    size_t keys;    /* bias, features, and the loss as one more */
    size_t block;   /* of them at each rank, at most */
    uint64_t rows;  /* of all ranks */
    float *model;   /* key k at (k mod p) * block + k / p */
    double *sums;   /* by key: of this rank's rows */
    bool *occurs;   /* is there such a pair? */
    uint64_t bytes; /* of the file that this rank has read */
};

static size_t place_of(const struct job *job, size_t key)
{
    return key % job->ranks * job->block + key / job->ranks;
}

/* ---- map ---- */

/* The lines that begin in this rank's share of the bytes. */
static enum gw_err read_split(struct job *job, struct gw_dataset **rows,
                              struct gw_error *why)
{
    FILE *file = fopen(job->path, "re");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return gw_fail_errno(why, "%s", job->path);
    long size = ftell(file), first = size * (long)job->rank / (long)job->ranks;
    long end = size * (long)(job->rank + 1) / (long)job->ranks;
    char *line = NULL, *text = NULL;
    size_t room = 0, used = 0;
    rewind(file);
    if (first > 0) { /* the rank before reads a row that began there */
        fseek(file, first - 1, SEEK_SET);
        for (int c = 0; c != '\n' && c != EOF;)
            c = fgetc(file);
    }
    while (ftell(file) < end) {
        ssize_t length = getline(&line, &room, file);
        char *moved = length > 0 ? realloc(text, used + (size_t)length) : NULL;
        if (!moved)
            break;
        text = moved;
        memcpy(text + used, line, (size_t)length);
        used += (size_t)length;
    }
    fclose(file);
    free(line);
    job->bytes = used;
    enum gw_err err = gw_libsvm_parse(text ? text : "", used, job->path,
                                      GW_BASE_1, rows, why);
    free(text);
    return err;
}

static void emit(struct job *job, size_t key, double value)
{
    job->sums[key] += value;
    job->occurs[key] = true;
}

static void map(struct job *job, const struct gw_dataset *data)
{
    memset(job->sums, 0, job->keys * sizeof *job->sums);
    memset(job->occurs, 0, job->keys * sizeof *job->occurs);
    for (size_t row = 0; row < data->rows; row++) {
        size_t first = data->row_begin[row], end = data->row_begin[row + 1];
        double z = (double)job->model[place_of(job, 0)];
        for (size_t i = first; i < end; i++)
            z += (double)job->model[place_of(job, data->index[i] + (size_t)1)] *
                 (double)data->value[i];
        double sign = data->classes[data->label[row]] > 0 ? 1 : -1;
        double slope = -sign / (1 + exp(sign * z));
        emit(job, 0, slope);
        for (size_t i = first; i < end; i++)
            emit(job, data->index[i] + (size_t)1,
                 slope * (double)data->value[i]);
        emit(job, job->keys - 1, log1p(exp(-sign * z)));
    }
}

/* ---- shuffle and reduce ---- */

/* Pairs in the order of sending: first those for rank 0, and so on. */
struct pairs {
    size_t *counts; /* per rank */
    size_t count;
    uint32_t *keys;
    double *values;
};

static enum gw_err pairs_init(struct pairs *pairs, unsigned ranks, size_t count,
                              struct gw_error *why)
{
    *pairs = (struct pairs){.count = count,
                            .counts = calloc(ranks, sizeof *pairs->counts),
                            .keys = calloc(count + 1, sizeof *pairs->keys),
                            .values = calloc(count + 1, sizeof(double))};
    return pairs->counts && pairs->keys && pairs->values
               ? GW_OK
               : gw_fail(why, GW_ENOMEM, "%zu pairs", count);
}

static void pairs_fini(struct pairs *pairs)
{
    free(pairs->counts);
    free(pairs->keys);
    free(pairs->values);
}

static enum gw_err pack(const struct job *job, struct pairs *out,
                        struct gw_error *why)
{
    size_t count = 0;
    for (size_t k = 0; k < job->keys; k++)
        count += job->occurs[k];
    enum gw_err err = pairs_init(out, job->ranks, count, why);
    for (size_t to = 0, at = 0; !err && to < job->ranks; to++)
        for (size_t k = to; k < job->keys; k += job->ranks)
            if (job->occurs[k]) {
                out->counts[to]++;
                out->keys[at] = (uint32_t)k;
                out->values[at++] = job->sums[k];
            }
    return err;
}

static enum gw_err shuffle(struct job *job, const struct pairs *out,
                           struct pairs *in, struct gw_error *why)
{
    uint64_t sent[RANKS_MAX], came[RANKS_MAX];
    size_t count = 0;
    for (unsigned r = 0; r < job->ranks; r++)
        sent[r] = out->counts[r];
    enum gw_err err = gw_alltoall(job->comm, sent, came, 1, GW_U64);
    for (unsigned r = 0; !err && r < job->ranks; r++)
        count += came[r];
    if (!err && pairs_init(in, job->ranks, count, why))
        return why->code;
    for (unsigned r = 0; !err && r < job->ranks; r++)
        in->counts[r] = came[r];
    if (!err)
        err = gw_alltoallv(job->comm, out->keys, out->counts, NULL, in->keys,
                           in->counts, NULL, GW_U32);
    if (!err)
        err = gw_alltoallv(job->comm, out->values, out->counts, NULL,
                           in->values, in->counts, NULL, GW_F64);
    return err ? gw_fail(why, err, "%s", gw_comm_error(job->comm)->text)
               : GW_OK;
}

/* This rank's block of the model; the loss is a sum, not a weight. */
static void reduce(const struct job *job, const struct pairs *in, float *block)
{
    memcpy(block, job->model + job->rank * job->block,
           job->block * sizeof *block);
    if ((job->keys - 1) % job->ranks == job->rank)
        block[(job->keys - 1) / job->ranks] = 0;
    for (size_t i = 0; i < in->count; i++) {
        double mean = in->values[i] / (double)job->rows;
        double step = in->keys[i] == job->keys - 1 ? mean : -job->rate * mean;
        block[in->keys[i] / job->ranks] += (float)step;
    }
}

static enum gw_err spread(struct job *job, const struct pairs *in,
                          struct gw_error *why)
{
    float *block = malloc(job->block * sizeof *block);
    if (!block)
        return gw_fail(why, GW_ENOMEM, "a block of the model");
    reduce(job, in, block);
    enum gw_err err =
        gw_allgather(job->comm, block, job->model, job->block, GW_F32);
    free(block);
    return err ? gw_fail(why, err, "%s", gw_comm_error(job->comm)->text)
               : GW_OK;
}

/* ---- a job ---- */

/* Bytes that this rank has sent since the last call. */
static uint64_t bytes_sent(struct gw_comm *comm)
{
    uint64_t bytes = 0;
    for (unsigned peer = 0; peer < gw_comm_size(comm); peer++) {
        struct gw_counters link = {0};
        if (peer != gw_comm_rank(comm))
            gw_comm_counters(comm, peer, &link);
        bytes += link.bytes_sent;
    }
    gw_comm_counters_reset(comm);
    return bytes;
}

static enum gw_err iterate(struct job *job, unsigned iteration,
                           struct gw_error *why)
{
    struct gw_dataset *data = NULL;
    struct pairs out = {0}, in = {0};
    uint64_t mine[4], all[4];
    enum gw_err err = read_split(job, &data, why);
    if (err || !data)
        return err;
    map(job, data);
    gw_dataset_destroy(&data);
    bytes_sent(job->comm);
    err = pack(job, &out, why);
    if (!err)
        err = shuffle(job, &out, &in, why);
    mine[0] = job->bytes;
    mine[1] = out.count;
    mine[2] = bytes_sent(job->comm);
    if (!err)
        err = spread(job, &in, why);
    mine[3] = bytes_sent(job->comm);
    pairs_fini(&out);
    pairs_fini(&in);
    if (!err && gw_allreduce(job->comm, mine, all, 4, GW_U64, GW_SUM))
        err = gw_fail(why, GW_ELOST, "%s", gw_comm_error(job->comm)->text);
    if (!err && job->rank == 0)
        printf("iteration %u loss %.6f bytes_read %llu pairs %llu "
               "bytes_shuffled %llu bytes_spread %llu rounds 2\n",
               iteration, (double)job->model[place_of(job, job->keys - 1)],
               (unsigned long long)all[0], (unsigned long long)all[1],
               (unsigned long long)all[2], (unsigned long long)all[3]);
    return err;
}

/* Counts the features and rows of all splits. */
static enum gw_err count_rows(struct job *job, struct gw_error *why)
{
    struct gw_dataset *data = NULL;
    uint64_t features = 0;
    enum gw_err err = read_split(job, &data, why);
    if (err || !data)
        return err;
    uint64_t own[2] = {data->features, data->rows};
    gw_dataset_destroy(&data);
    if (gw_allreduce(job->comm, &own[0], &features, 1, GW_U64, GW_MAX) ||
        gw_allreduce(job->comm, &own[1], &job->rows, 1, GW_U64, GW_SUM))
        return gw_fail(why, GW_ELOST, "%s", gw_comm_error(job->comm)->text);
    job->keys = features + 2;
    job->block = (job->keys + job->ranks - 1) / job->ranks;
    job->model = calloc(job->block * job->ranks, sizeof *job->model);
    job->sums = calloc(job->keys, sizeof *job->sums);
    job->occurs = calloc(job->keys, sizeof *job->occurs);
    return job->model && job->sums && job->occurs
               ? GW_OK
               : gw_fail(why, GW_ENOMEM, "a model of %zu keys", job->keys);
}

static enum gw_err run(struct job *job, unsigned iterations,
                       struct gw_error *why)
{
    enum gw_err err = count_rows(job, why);
    for (unsigned i = 1; !err && i <= iterations; i++)
        err = iterate(job, i, why);
    free(job->model);
    free(job->sums);
    free(job->occurs);
    return err;
}

int main(int argc, char **argv)
{
    unsigned iterations = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10;
    struct job job = {.path = argc > 1 ? argv[1] : NULL,
                      .rate = argc > 3 ? strtod(argv[3], NULL) : 0.5};
    struct gw_error why = {.code = GW_OK};
    enum gw_err err = gw_comm_from_env(NULL, &job.comm, &why);
    if (!err && !job.path)
        err = gw_fail(&why, GW_EINVAL, "DATA [ITERATIONS [RATE]]");
    if (!err) {
        job.rank = gw_comm_rank(job.comm);
        job.ranks = gw_comm_size(job.comm);
    }
    if (!err && job.ranks > RANKS_MAX)
        err = gw_fail(&why, GW_EINVAL, "%u ranks; at most %d", job.ranks,
                      RANKS_MAX);
    if (!err)
        err = run(&job, iterations, &why);
    if (err)
        fprintf(stderr, "mapreduce: %s\n", why.text);
    gw_comm_destroy(&job.comm);
    return gw_err_exit(err);
}

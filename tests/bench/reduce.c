/* SPDX-License-Identifier: MIT
 *
 * The speed of gw_reduce_local, compared with a plain loop and memcpy: GB/s of
 * bytes read and written, for 2, 4 and 8 sources and 1, 2 and 8 destinations,
 * in the first cache, the second, and memory. Then the time of a small call,
 * for round and odd lengths and with arrays aligned to a cache line or not. The
 * best of several tries, a few seconds in total.
 *
 *     fold [LEVEL [TYPE [OP]]]      fold avx2 bf16 max
 */
#include "coll/reduce/reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 16, MOST_BYTES = 64 << 20 };

/* Not a multiple of the page, so that arrays do not share cache sets. */
enum { STRIDE = MOST_BYTES + 4096 + 256 };

struct subject {
    const char *name;
    void (*run)(const struct gw_reduce_local *reduce);
};

static void run_memcpy(const struct gw_reduce_local *reduce)
{
    memcpy(reduce->dests[0], reduce->sources[0],
           reduce->count * gw_dtype_size(reduce->type));
}

/* The naive code: adds one source at a time, then copies. */
static void run_plain(const struct gw_reduce_local *reduce)
{
    float *sum = reduce->dests[0];
    memcpy(sum, reduce->sources[0], reduce->count * sizeof *sum);
    for (unsigned i = 1; i < reduce->source_count; i++) {
        const float *source = reduce->sources[i];
        for (size_t k = 0; k < reduce->count; k++)
            sum[k] += source[k];
    }
    for (unsigned i = 1; i < reduce->dest_count; i++)
        memcpy(reduce->dests[i], sum, reduce->count * sizeof *sum);
}

static void run_reduce(const struct gw_reduce_local *reduce)
{
    gw_reduce_local(reduce);
}

static void run_stream(const struct gw_reduce_local *reduce)
{
    struct gw_reduce_local streaming = *reduce;
    streaming.stream = true;
    gw_reduce_local(&streaming);
}

/* Bytes moved per second, the best of TRIES. */
static double rate(const struct gw_reduce_local *reduce,
                   void (*run)(const struct gw_reduce_local *reduce))
{
    enum { TRIES = 5, BYTES_A_TRY = 256 << 20, ROUNDS_MAX = 100000 };
    size_t bytes = reduce->count * gw_dtype_size(reduce->type) *
                   (reduce->source_count + reduce->dest_count);
    size_t rounds = BYTES_A_TRY / bytes + 1;
    rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = gw_now_ns();
        for (size_t k = 0; k < rounds; k++)
            run(reduce);
        uint64_t ns = gw_now_ns() - begin;
        best = ns < best ? ns : best;
    }
    return (double)(bytes * rounds) / (double)best;
}

static void print_row(struct gw_reduce_local *reduce, size_t bytes)
{
    static const struct subject subjects[] = {
        {"plain", run_plain}, {"fold", run_reduce}, {"stream", run_stream}};
    char size[16];
    gw_format_bytes(bytes, size);
    printf("%8s %7u %6u", size, reduce->source_count, reduce->dest_count);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (subjects[i].run == run_plain &&
            (reduce->type != GW_F32 || reduce->op != GW_SUM))
            printf(" %8s", "-");
        else
            printf(" %8.1f", rate(reduce, subjects[i].run));
    putchar('\n');
    fflush(stdout);
}

static void print_memcpy(struct gw_reduce_local *reduce, size_t bytes)
{
    char size[16];
    gw_format_bytes(bytes, size);
    reduce->source_count = reduce->dest_count = 1;
    printf("%8s %7u %6u %8.1f %8.1f %8.1f   memcpy\n", size, 1, 1,
           rate(reduce, run_memcpy), rate(reduce, run_reduce),
           rate(reduce, run_stream));
}

static void print_size(struct gw_reduce_local *reduce, size_t bytes)
{
    static const unsigned source_counts[] = {2, 4, 8};
    static const unsigned dest_counts[] = {1, 2, 8};
    reduce->count = bytes / gw_dtype_size(reduce->type);
    print_memcpy(reduce, bytes);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            reduce->source_count = source_counts[i];
            reduce->dest_count = dest_counts[k];
            print_row(reduce, bytes);
        }
}

static bool parse(int argc, char **argv, struct gw_reduce_local *reduce)
{
    struct gw_error why;
    enum gw_err err = GW_OK;
    if (argc > 1 && !gw__reduce_select(argv[1]))
        err = gw_fail(&why, GW_EINVAL, "no level \"%s\" here", argv[1]);
    if (err == GW_OK && argc > 2)
        err = gw_dtype_parse(argv[2], &reduce->type, &why);
    if (err == GW_OK && argc > 3)
        err = gw_redop_parse(argv[3], &reduce->op, &why);
    if (err != GW_OK)
        fprintf(stderr, "reduce: %s\n", why.text);
    return err == GW_OK;
}

/* Sources begin `source_skew` bytes after a cache line, destinations
 * `dest_skew`. */
static void lay_out(char *memory, size_t source_skew, size_t dest_skew,
                    const void **sources, void **dests)
{
    for (size_t i = 0; i < ARRAYS / 2; i++) {
        sources[i] = memory + 2 * i * STRIDE + source_skew;
        dests[i] = memory + (2 * i + 1) * STRIDE + dest_skew;
    }
}

/* Nanoseconds per call with arrays in the first cache. */
static double call_ns(const struct gw_reduce_local *reduce)
{
    size_t bytes = reduce->count * gw_dtype_size(reduce->type) *
                   (reduce->source_count + reduce->dest_count);
    return (double)bytes / rate(reduce, run_reduce);
}

/* Memory of malloc begins 16 bytes after a cache line. */
static void print_small(char *memory, struct gw_reduce_local *reduce,
                        const void **sources, void **dests)
{
    static const size_t sizes[] = {8, 104, 1000, 1024, 4096};
    static const unsigned shapes[][2] = {{1, 1}, {1, 4}, {2, 1}, {2, 2},
                                         {4, 1}, {4, 4}, {8, 1}};
    static const size_t skews[][2] = {{0, 0}, {16, 0}, {0, 16}, {16, 16}};
    printf("\nnanoseconds a call, by which arrays lie 16 bytes off a line\n"
           "%8s %7s %6s %8s %8s %8s %8s\n",
           "bytes", "sources", "dests", "neither", "sources", "dests", "both");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            reduce->count = sizes[i] / gw_dtype_size(reduce->type);
            reduce->source_count = shapes[k][0];
            reduce->dest_count = shapes[k][1];
            printf("%8zu %7u %6u", sizes[i], shapes[k][0], shapes[k][1]);
            for (size_t s = 0; s < sizeof skews / sizeof *skews; s++) {
                lay_out(memory, skews[s][0], skews[s][1], sources, dests);
                printf(" %8.1f", call_ns(reduce));
            }
            putchar('\n');
            fflush(stdout);
        }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {4 << 10, 64 << 10, MOST_BYTES};
    const void *sources[ARRAYS / 2];
    void *dests[ARRAYS / 2];
    struct gw_reduce_local reduce = {
        .sources = sources, .dests = dests, .type = GW_F32, .op = GW_SUM};
    if (!parse(argc, argv, &reduce))
        return 64;
    char *memory = aligned_alloc(64, (size_t)ARRAYS * STRIDE);
    if (!memory)
        return 70;
    memset(memory, 0x3f, (size_t)ARRAYS * STRIDE); /* 0.75, about */
    lay_out(memory, 0, 0, sources, dests);
    printf("%s %s on %s, GB/s of traffic\n", gw_dtype_name(reduce.type),
           gw_redop_name(reduce.op), gw_reduce_isa());
    printf("%8s %7s %6s %8s %8s %8s\n", "bytes", "sources", "dests", "plain",
           "fold", "stream");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        print_size(&reduce, sizes[i]);
    print_small(memory, &reduce, sources, dests);
    free(memory);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * The speed of reading LibSVM text: the median of several passes over a file
 * (or over generated rows: one-hot, and real values), in MB/s.
 *
 *     libsvm [FILE ...]
 */
#include <gradwire/learn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 7, MADE_BYTES = 16 << 20 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, const char *text, size_t bytes)
{
    double rates[PASSES];
    size_t nonzeros = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        struct gw_dataset *data;
        struct gw_error why;
        uint64_t begin = gw_now_ns();
        if (gw_libsvm_parse(text, bytes, name, GW_BASE_AUTO, &data, &why)) {
            printf("%s\n", why.text);
            return;
        }
        double seconds = (double)(gw_now_ns() - begin) / 1e9;
        rates[pass] = (double)bytes / 1e6 / seconds;
        nonzeros = data->nonzeros;
        gw_dataset_destroy(&data);
    }
    qsort(rates, PASSES, sizeof *rates, compare);
    printf("%-28s %7.1f MB  %9zu entries  %7.0f MB/s\n", name,
           (double)bytes / 1e6, nonzeros, rates[PASSES / 2]);
}

static void make_up(const char *name, bool real_values)
{
    enum { ROW_BYTES_MAX = 1024 };
    char *text = malloc(MADE_BYTES);
    size_t used = 0;
    struct gw_rng rng;
    if (!text)
        return;
    gw_rng_seed(&rng, 1);
    while (used + ROW_BYTES_MAX < MADE_BYTES) {
        used += (size_t)sprintf(text + used, "%s",
                                gw_rng_below(&rng, 2) ? "+1" : "-1");
        for (unsigned j = 1; j < 120; j += 1 + (unsigned)gw_rng_below(&rng, 9))
            used += real_values ? (size_t)sprintf(text + used, " %u:%.6g", j,
                                                  gw_rng_unit(&rng) * 2 - 1)
                                : (size_t)sprintf(text + used, " %u:1", j);
        text[used++] = '\n';
    }
    measure(name, text, used);
    free(text);
}

static void measure_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long bytes = -1;
    if (file && !fseek(file, 0, SEEK_END) && (bytes = ftell(file)) > 0)
        text = malloc((size_t)bytes);
    if (text && !fseek(file, 0, SEEK_SET) &&
        fread(text, 1, (size_t)bytes, file) == (size_t)bytes)
        measure(path, text, (size_t)bytes);
    else
        perror(path);
    free(text);
    if (file)
        fclose(file);
}

int main(int count, char **paths)
{
    for (int i = 1; i < count; i++)
        measure_file(paths[i]);
    if (count < 2) {
        make_up("one-hot, made up", false);
        make_up("real values, made up", true);
    }
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fault schedules of `ringctl sim`; their language is sim/faults.h.
 */
#include "sim.h"

#include <base/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 17 };

static enum gw_err read_file(const char *path, struct sim_faults *faults,
                             struct gw_error *why)
{
    FILE *file = gw__file_stream(path, why);
    if (!file)
        return why->code;
    faults->bytes = fread(faults->text, 1, TEXT_MAX, file);
    bool bad = ferror(file) || faults->bytes == TEXT_MAX;
    fclose(file);
    return bad ? gw_fail(why, GW_EDATA,
                         "%.200s: the fault schedule must be a file of less "
                         "than %d bytes",
                         path, TEXT_MAX)
               : GW_OK;
}

/* "at 30ms crash 2; heal": a fault contains a blank or is a single verb, so it
 * is hardly mistaken for a file's name. */
static bool is_inline(const char *word)
{
    return strchr(word, ' ') || strcmp(word, "none") == 0;
}

static void copy_words(const char *word, struct sim_faults *faults)
{
    if (strcmp(word, "none") == 0)
        return;
    faults->bytes = strnlen(word, TEXT_MAX - 1);
    memcpy(faults->text, word, faults->bytes);
    for (size_t i = 0; i < faults->bytes; i++)
        if (faults->text[i] == ';')
            faults->text[i] = '\n';
}

static uint64_t end_of(const struct gw__faults *faults)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < faults->count; i++) {
        const struct gw__fault *f = &faults->items[i];
        if (f->at_ns + f->for_ns > end_ns)
            end_ns = f->at_ns + f->for_ns;
    }
    return end_ns;
}

enum gw_err sim_faults_read(const char *option, const char *word,
                            const struct simcluster_group *groups,
                            struct sim_faults *faults, struct gw_error *why)
{
    struct gw__faults parsed;
    *faults = (struct sim_faults){0};
    if (!word)
        return GW_OK;
    faults->name = is_inline(word) ? option : word;
    faults->text = malloc(TEXT_MAX);
    if (!faults->text)
        return gw_fail(why, GW_ENOMEM, "a fault schedule");
    if (is_inline(word))
        copy_words(word, faults);
    else if (read_file(word, faults, why))
        return why->code;
    faults->text[faults->bytes] = '\0';
    faults->bytes +=
        sim_names_in(faults->text, faults->bytes, TEXT_MAX, groups);
    enum gw_err err = gw__faults_parse(
        faults->text, faults->bytes, faults->name, GW__NODES_MAX, &parsed, why);
    faults->end_ns = end_of(&parsed);
    for (size_t i = 0; i < parsed.count; i++)
        faults->by_op |= parsed.items[i].by_op;
    return err;
}

enum gw_err sim_faults_timed(const struct sim_faults *faults,
                             struct gw_error *why)
{
    return faults->by_op
               ? gw_fail(why, GW_ENOTSUP,
                         "%.200s: \"at op\" is only possible in a run with up "
                         "--lockstep; give times here",
                         faults->name)
               : GW_OK;
}

void sim_faults_fini(struct sim_faults *faults)
{
    free(faults->text);
}

enum gw_err sim_faults_of(const struct sim_faults *input,
                          const struct gw__campaign *campaign, uint64_t seed,
                          struct gw__faults *faults, struct gw_error *why)
{
    if (input->name)
        return gw__faults_parse(input->text, input->bytes, input->name,
                                campaign->faults.nodes, faults, why);
    gw__faults_random(seed, &campaign->faults, faults);
    return GW_OK;
}

static void print_faults(const struct gw__faults *faults,
                         const struct simcluster_group *groups, FILE *file)
{
    char line[GW__FAULT_TEXT_MAX];
    for (size_t i = 0; i < faults->count; i++) {
        gw__fault_format(&faults->items[i], line);
        sim_names_out(line, groups, file);
    }
}

enum gw_err sim_faults_write(const struct gw__faults *faults,
                             const struct simcluster_group *groups,
                             const char *path, struct gw_error *why)
{
    bool out = strcmp(path, "-") == 0;
    FILE *file = out ? stdout : fopen(path, "we");
    if (!file)
        return gw_fail_errno(why, "%.200s", path);
    print_faults(faults, groups, file);
    bool failed = ferror(file) != 0;
    failed = (!out && fclose(file) != 0) || failed;
    return failed ? gw_fail_errno(why, "%.200s", path) : GW_OK;
}

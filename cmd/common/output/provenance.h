/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The origin of a document: when, where, with which software and by which
 * command it was made, so that a result can be judged and repeated.
 */
#ifndef PROVENANCE_H
#define PROVENANCE_H

#include "common/output.h"

#include <base/cache.h>

#include <time.h>

enum { PROVENANCE_FIELDS = 10 };

/* The fields and their order; gradwire-results(5) describes them. */
extern const struct field provenance_fields[PROVENANCE_FIELDS];

struct provenance {
    union value values[PROVENANCE_FIELDS]; /* point into this struct */
    char date[24], calibration_date[24];
    char host[65], cpu[128], kernel[200], versions[128];
    char command[4096];
    char calibration[GW__PATH_BYTES];
};

/* For a document that begins now. */
void provenance_take(struct provenance *provenance);

/* Parts of it, for files that are not documents. */
void provenance_date(time_t when, char date[24]); /* 2026-11-24T01:30:00Z */
void provenance_cpu(char *cpu, size_t room);
unsigned provenance_cores(void);
void provenance_versions(char *versions, size_t room);

/* The words of a command line as one types them, with quotes where a shell
 * needs them; the first ones that have room. */
void provenance_words(int count, char *const *words, char *out, size_t room);

#endif

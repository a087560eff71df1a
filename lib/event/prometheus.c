/* SPDX-License-Identifier: MIT
 *
 * Counts by kind, rank and peer, written at `close` in the text format of
 * Prometheus (version 0.0.4). They are sorted, so that the same run gives the
 * same text. The counts are in an open hash table that doubles when it is two
 * thirds full. Events without a place in a table that cannot grow are counted
 * too.
 */
#include "base/c_locale.h"
#include "event/sink.h"

#include <inttypes.h>
#include <stdlib.h>

struct count {
    uint32_t kind, rank, peer;
    bool used;
    uint64_t events;
    uint64_t bytes;
    int64_t last_value;
};

struct prometheus {
    struct gw_sink sink;
    FILE *file;
    struct count *counts;
    size_t capacity; /* a power of two */
    size_t used;
    uint64_t uncounted;
};

static struct count *find_count(struct count *counts, size_t capacity,
                                const struct count *key)
{
    uint32_t name[3] = {key->kind, key->rank, key->peer};
    size_t at = gw_hash(name, sizeof name, 0) & (capacity - 1);
    while (counts[at].used &&
           (counts[at].kind != key->kind || counts[at].rank != key->rank ||
            counts[at].peer != key->peer))
        at = (at + 1) & (capacity - 1);
    return &counts[at];
}

/* False, and nothing changed: there is no memory. */
static bool grow_counts(struct prometheus *s)
{
    size_t larger = 2 * s->capacity;
    struct count *counts = calloc(larger, sizeof *counts);
    if (!counts)
        return false;
    for (size_t i = 0; i < s->capacity; i++)
        if (s->counts[i].used)
            *find_count(counts, larger, &s->counts[i]) = s->counts[i];
    free(s->counts);
    s->counts = counts;
    s->capacity = larger;
    return true;
}

/* The count of `key`, made if needed; NULL: there is no room for it. One place
 * stays free, or a search would not end. */
static struct count *enter(struct prometheus *s, const struct count *key)
{
    struct count *count = find_count(s->counts, s->capacity, key);
    if (count->used)
        return count;
    if (3 * s->used >= 2 * s->capacity && grow_counts(s))
        count = find_count(s->counts, s->capacity, key);
    if (s->used + 1 == s->capacity)
        return NULL;
    *count = *key;
    count->used = true;
    s->used++;
    return count;
}

static void prometheus_emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct prometheus *s = (struct prometheus *)sink;
    struct count key = {
        .kind = event->kind, .rank = event->rank, .peer = event->peer};
    struct count *count = enter(s, &key);
    if (!count) {
        s->uncounted++;
        return;
    }
    count->events++;
    count->bytes += event->bytes;
    count->last_value = event->value;
}

static int in_order(const void *left, const void *right)
{
    const struct count *a = left, *b = right;
    if (a->used != b->used)
        return a->used ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->peer < b->peer ? -1 : a->peer > b->peer;
}

static void put_family(FILE *file, const char *name, const char *type,
                       const char *help)
{
    fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_labels(FILE *file, const struct count *count)
{
    fprintf(file, "{kind=\"%s\"", gw_event_name(count->kind));
    if (count->rank != GW_NONE)
        fprintf(file, ",rank=\"%" PRIu32 "\"", count->rank);
    if (count->peer != GW_NONE)
        fprintf(file, ",peer=\"%" PRIu32 "\"", count->peer);
    fputs("} ", file);
}

static void put_counts(const struct prometheus *s)
{
    FILE *file = s->file;
    put_family(file, "gradwire_events_total", "counter",
               "Events by kind, rank and peer.");
    for (size_t i = 0; i < s->used; i++) {
        fputs("gradwire_events_total", file);
        put_labels(file, &s->counts[i]);
        fprintf(file, "%" PRIu64 "\n", s->counts[i].events);
    }
    put_family(file, "gradwire_event_bytes_total", "counter",
               "Bytes of those events.");
    for (size_t i = 0; i < s->used; i++) {
        if (s->counts[i].bytes == 0)
            continue;
        fputs("gradwire_event_bytes_total", file);
        put_labels(file, &s->counts[i]);
        fprintf(file, "%" PRIu64 "\n", s->counts[i].bytes);
    }
}

static void put_loss(const struct prometheus *s)
{
    put_family(s->file, "gradwire_loss", "gauge", "The last training loss.");
    locale_t before = uselocale(gw__c_locale());
    for (size_t i = 0; i < s->used; i++)
        if (s->counts[i].kind == GW_EV_LOSS)
            fprintf(s->file, "gradwire_loss{rank=\"%" PRIu32 "\"} %.9f\n",
                    s->counts[i].rank, (double)s->counts[i].last_value * 1e-9);
    uselocale(before);
}

static void prometheus_close(struct gw_sink *sink)
{
    struct prometheus *s = (struct prometheus *)sink;
    qsort(s->counts, s->capacity, sizeof *s->counts, in_order);
    put_counts(s);
    put_loss(s);
    put_family(s->file, "gradwire_events_uncounted_total", "counter",
               "Events not counted individually for lack of memory.");
    fprintf(s->file, "gradwire_events_uncounted_total %" PRIu64 "\n",
            s->uncounted);
    fflush(s->file);
    free(s->counts);
    free(s);
}

enum gw_err gw_sink_prometheus(FILE *file, struct gw_sink **sink,
                               struct gw_error *why)
{
    enum { FIRST_CAPACITY = 256 };
    struct count *counts = calloc(FIRST_CAPACITY, sizeof *counts);
    *sink = NULL;
    if (!counts)
        return gw_fail(why, GW_ENOMEM, "counts of events");
    enum gw_err code = gw__sink_new(sizeof(struct prometheus), prometheus_emit,
                                    prometheus_close, sink, why);
    if (code) {
        free(counts);
        return code;
    }
    struct prometheus *s = (struct prometheus *)*sink;
    s->file = file;
    s->counts = counts;
    s->capacity = FIRST_CAPACITY;
    return GW_OK;
}

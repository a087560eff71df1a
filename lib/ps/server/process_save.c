/* SPDX-License-Identifier: MIT
 *
 * The thread that writes snapshots, so that pushes continue while a disk is
 * slow. When a slot applies its marker, a copy of its bytes is queued here. The
 * results of the newest markers are kept for later queries.
 */
#include "process_parts.h"

#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARKS_KEPT = 8, DIRECTORY_MAX = 512 };

struct queued_write {
    struct queued_write *next;
    uint64_t mark;
    unsigned slot;
    size_t bytes;
    unsigned char data[];
};

struct mark {
    uint64_t mark; /* 0: free */
    unsigned slot_count;
    char directory[DIRECTORY_MAX];
    bool whole;
    struct gw_error error;
};

struct gw__saver {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    bool stop;
    struct queued_write *first, **last;
    struct mark marks[MARKS_KEPT];
    unsigned next;
};

static struct mark *find_mark(struct gw__saver *saver, uint64_t mark)
{
    for (unsigned i = 0; i < MARKS_KEPT; i++)
        if (mark && saver->marks[i].mark == mark)
            return &saver->marks[i];
    return NULL;
}

/* ---- the thread ---- */

static void write_slot(struct gw__saver *saver,
                       const struct queued_write *queued)
{
    struct gw_error why = {.code = GW_OK};
    struct mark to = {0};
    pthread_mutex_lock(&saver->lock);
    const struct mark *known = find_mark(saver, queued->mark);
    if (known)
        to = *known;
    pthread_mutex_unlock(&saver->lock);
    if (!to.mark || to.error.code)
        return;
    enum gw_err err =
        gw__snapshot_write(to.directory, queued->mark, queued->slot,
                           to.slot_count, queued->data, queued->bytes, &why);
    pthread_mutex_lock(&saver->lock);
    struct mark *mark = find_mark(saver, queued->mark);
    if (mark && err)
        mark->error = why;
    pthread_mutex_unlock(&saver->lock);
}

static void *run_saver(void *context)
{
    struct gw__saver *saver = context;
    pthread_mutex_lock(&saver->lock);
    for (;;) {
        struct queued_write *queued = saver->first;
        if (!queued && saver->stop)
            break;
        if (!queued) {
            pthread_cond_wait(&saver->more, &saver->lock);
            continue;
        }
        saver->first = queued->next;
        if (!saver->first)
            saver->last = &saver->first;
        pthread_mutex_unlock(&saver->lock);
        write_slot(saver, queued);
        free(queued);
        pthread_mutex_lock(&saver->lock);
    }
    pthread_mutex_unlock(&saver->lock);
    return NULL;
}

/* ---- the data thread's side ---- */

enum gw_err gw__saver_new(struct gw__saver **saver, struct gw_error *why)
{
    *saver = calloc(1, sizeof **saver);
    if (!*saver)
        return gw_fail(why, GW_ENOMEM, "no memory for snapshots");
    (*saver)->last = &(*saver)->first;
    pthread_mutex_init(&(*saver)->lock, NULL);
    pthread_cond_init(&(*saver)->more, NULL);
    enum gw_err err = gw__thread_start(&(*saver)->thread, run_saver, *saver,
                                       "snapshots", why);
    if (!err)
        return GW_OK;
    pthread_cond_destroy(&(*saver)->more);
    pthread_mutex_destroy(&(*saver)->lock);
    free(*saver);
    *saver = NULL;
    return err;
}

void gw__saver_destroy(struct gw__saver **saver)
{
    if (!*saver)
        return;
    pthread_mutex_lock(&(*saver)->lock);
    (*saver)->stop = true;
    pthread_cond_signal(&(*saver)->more);
    pthread_mutex_unlock(&(*saver)->lock);
    pthread_join((*saver)->thread, NULL);
    pthread_cond_destroy(&(*saver)->more);
    pthread_mutex_destroy(&(*saver)->lock);
    free(*saver);
    *saver = NULL;
}

enum gw_err gw__saver_expect(struct gw__saver *saver, uint64_t mark,
                             const char *directory, unsigned slot_count,
                             struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (mark == 0 || slot_count == 0)
        return gw_fail(why, GW_EINVAL, "the servers have no slots to save");
    pthread_mutex_lock(&saver->lock);
    struct mark *known = find_mark(saver, mark);
    if (!known) {
        known = &saver->marks[saver->next++ % MARKS_KEPT];
        *known = (struct mark){.mark = mark, .slot_count = slot_count};
        snprintf(known->directory, sizeof known->directory, "%s", directory);
    } else if (strcmp(known->directory, directory) != 0) {
        err = gw_fail(why, GW_EINVAL,
                      "marker %llx is already being saved to another directory",
                      (unsigned long long)mark);
    }
    pthread_mutex_unlock(&saver->lock);
    return err;
}

void gw__saver_slot(struct gw__saver *saver, uint64_t mark, unsigned slot,
                    const void *data, size_t bytes)
{
    struct queued_write *queued = malloc(sizeof *queued + bytes);
    pthread_mutex_lock(&saver->lock);
    struct mark *known = find_mark(saver, mark);
    if (known && queued) {
        *queued =
            (struct queued_write){.mark = mark, .slot = slot, .bytes = bytes};
        memcpy(queued->data, data, bytes);
        *saver->last = queued;
        saver->last = &queued->next;
        queued = NULL;
        pthread_cond_signal(&saver->more);
    } else if (known) {
        gw_fail(&known->error, GW_ENOMEM, "no memory to save slot %u", slot);
    }
    pthread_mutex_unlock(&saver->lock);
    free(queued);
}

enum gw_err gw__saver_state(struct gw__saver *saver, uint64_t mark,
                            struct gw_error *why)
{
    struct mark of = {0};
    pthread_mutex_lock(&saver->lock);
    struct mark *known = find_mark(saver, mark);
    if (known)
        of = *known;
    pthread_mutex_unlock(&saver->lock);
    if (!of.mark)
        return gw_fail(why, GW_EINVAL, "marker %llx is not known",
                       (unsigned long long)mark);
    if (of.error.code) {
        *why = of.error;
        return of.error.code;
    }
    if (of.whole)
        return GW_OK;
    enum gw_err err =
        gw__snapshot_finish(of.directory, mark, of.slot_count, why);
    pthread_mutex_lock(&saver->lock);
    known = find_mark(saver, mark);
    if (known && err == GW_OK)
        known->whole = true;
    pthread_mutex_unlock(&saver->lock);
    /* The directory may be missing until the first slot is written. */
    return err == GW_EDATA ? GW_PENDING : err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The states that outlive a stage. Before it forks, the supervisor makes one
 * anonymous file of memory per stage, and a page that all share. All children
 * inherit them, and they vanish with the last process.
 *
 * A file has two places, used in turn, each with the step after which it was
 * written, its length and its hash. A place is made invalid before it is
 * written and valid after, so a stage that dies in between leaves the other
 * one. Between two steps all stages meet, so no stage is ahead of another by
 * more than a step, and two places suffice for a step that all have.
 */
#include "run.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATE_BUFFERS = 2, HEAD_BYTES = 4096 };

struct state_buffer {
    _Atomic uint64_t step_plus_1; /* 0: nothing valid */
    uint64_t bytes, hash;
};

/* At the beginning of a stage's file; the states follow at HEAD_BYTES. */
struct head {
    uint64_t room; /* bytes of each place */
    struct state_buffer buffers[STATE_BUFFERS];
};

struct shared {
    _Atomic bool fired[FAULTS_MAX];
    _Atomic uint64_t passes[GW_STAGES_MAX];
};

/* One process's view of a stage's file. */
struct view {
    struct head *head; /* NULL: not mapped */
    size_t bytes;
};

struct run_safe {
    unsigned stages;
    int *fds;
    struct view *views;
    struct shared *shared;
};

static void unmap(struct view *view)
{
    if (view->head)
        munmap(view->head, view->bytes);
    *view = (struct view){.head = NULL};
}

void run_safe_destroy(struct run_safe **made)
{
    struct run_safe *safe = *made;
    if (!safe)
        return;
    for (unsigned s = 0; s < safe->stages; s++) {
        if (safe->views)
            unmap(&safe->views[s]);
        if (safe->fds && safe->fds[s] >= 0)
            close(safe->fds[s]);
    }
    if (safe->shared)
        munmap(safe->shared, sizeof *safe->shared);
    free(safe->fds);
    free(safe->views);
    free(safe);
    *made = NULL;
}

static enum gw_err map_views(struct run_safe *safe, struct gw_error *why)
{
    if (!safe->fds || !safe->views)
        return gw_fail(why, GW_ENOMEM, "%u stages", safe->stages);
    void *shared = mmap(NULL, sizeof *safe->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return gw_fail_errno(why, "memory shared by the stages");
    safe->shared = shared;
    for (unsigned s = 0; s < safe->stages; s++) {
        safe->fds[s] = memfd_create("stage", MFD_CLOEXEC);
        if (safe->fds[s] < 0)
            return gw_fail_errno(why, "memory for the state of stage %u", s);
    }
    return GW_OK;
}

enum gw_err run_safe_new(unsigned stages, struct run_safe **made,
                         struct gw_error *why)
{
    struct run_safe *safe = calloc(1, sizeof *safe);
    *made = NULL;
    if (!safe)
        return gw_fail(why, GW_ENOMEM, "%u stages", stages);
    safe->stages = stages;
    safe->fds = malloc(stages * sizeof *safe->fds);
    safe->views = calloc(stages, sizeof *safe->views);
    for (unsigned s = 0; safe->fds && s < stages; s++)
        safe->fds[s] = -1;
    enum gw_err err = map_views(safe, why);
    if (err)
        run_safe_destroy(&safe);
    *made = safe;
    return err;
}

/* Maps the file as large as it is; false when it is empty. */
static bool map(struct run_safe *safe, unsigned stage)
{
    struct view *view = &safe->views[stage];
    struct stat file;
    if (view->head)
        return true;
    if (fstat(safe->fds[stage], &file) || file.st_size < HEAD_BYTES)
        return false;
    void *memory = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE,
                        MAP_SHARED, safe->fds[stage], 0);
    if (memory == MAP_FAILED)
        return false;
    *view = (struct view){.head = memory, .bytes = (size_t)file.st_size};
    return true;
}

static unsigned char *state_of(const struct head *head, unsigned buffer)
{
    return (unsigned char *)(uintptr_t)head + HEAD_BYTES + buffer * head->room;
}

static enum gw_err open_for(struct run_safe *safe, unsigned stage, size_t bytes,
                            struct gw_error *why)
{
    size_t room = (bytes + 63) & ~(size_t)63;
    if (!map(safe, stage)) {
        if (ftruncate(safe->fds[stage],
                      (off_t)(HEAD_BYTES + STATE_BUFFERS * room)))
            return gw_fail_errno(why, "memory for the state of stage %u",
                                 stage);
        if (!map(safe, stage))
            return gw_fail_errno(why, "the state of stage %u", stage);
    }
    struct view *view = &safe->views[stage];
    view->head->room = (view->bytes - HEAD_BYTES) / STATE_BUFFERS;
    if (view->head->room < bytes)
        return gw_fail(why, GW_EINTERNAL,
                       "the size of the state of stage %u has changed", stage);
    return GW_OK;
}

enum gw_err run_safe_keep(struct run_safe *safe, unsigned stage, unsigned step,
                          const void *state, size_t bytes, struct gw_error *why)
{
    enum gw_err err = open_for(safe, stage, bytes, why);
    if (err)
        return err;
    struct head *head = safe->views[stage].head;
    struct state_buffer *buffer = &head->buffers[step % STATE_BUFFERS];
    atomic_store(&buffer->step_plus_1, 0);
    if (bytes > 0)
        memcpy(state_of(head, step % STATE_BUFFERS), state, bytes);
    buffer->bytes = bytes;
    buffer->hash = gw_hash(state_of(head, step % STATE_BUFFERS), bytes, step);
    atomic_store(&buffer->step_plus_1, step + UINT64_C(1));
    return GW_OK;
}

static bool has(struct run_safe *safe, unsigned stage, unsigned step)
{
    if (!map(safe, stage))
        return false;
    const struct head *head = safe->views[stage].head;
    const struct state_buffer *buffer = &head->buffers[step % STATE_BUFFERS];
    size_t end = HEAD_BYTES + STATE_BUFFERS * head->room;
    return end <= safe->views[stage].bytes && buffer->bytes <= head->room &&
           atomic_load(&buffer->step_plus_1) == step + UINT64_C(1) &&
           gw_hash(state_of(head, step % STATE_BUFFERS), buffer->bytes, step) ==
               buffer->hash;
}

enum gw_err run_safe_get(struct run_safe *safe, unsigned stage, unsigned step,
                         const void **state, size_t *bytes,
                         struct gw_error *why)
{
    if (!has(safe, stage, step))
        return gw_fail(why, GW_EDATA,
                       "stage %u has no valid saved state after step %u", stage,
                       step);
    const struct head *head = safe->views[stage].head;
    *state = state_of(head, step % STATE_BUFFERS);
    *bytes = head->buffers[step % STATE_BUFFERS].bytes;
    return GW_OK;
}

static bool all_have(struct run_safe *safe, unsigned step)
{
    for (unsigned s = 0; s < safe->stages; s++)
        if (!has(safe, s, step))
            return false;
    return true;
}

bool run_safe_newest(struct run_safe *safe, unsigned *step)
{
    bool found = false;
    for (unsigned i = 0; i < STATE_BUFFERS && map(safe, 0); i++) {
        uint64_t next =
            atomic_load(&safe->views[0].head->buffers[i].step_plus_1);
        unsigned candidate = (unsigned)(next - 1);
        if (next == 0 || (found && candidate < *step) ||
            !all_have(safe, candidate))
            continue;
        found = true;
        *step = candidate;
    }
    return found;
}

void run_safe_count(struct run_safe *safe, unsigned stage, uint64_t passes)
{
    atomic_store(&safe->shared->passes[stage], passes);
}

uint64_t run_safe_passes(const struct run_safe *safe, unsigned stage)
{
    return atomic_load(&safe->shared->passes[stage]);
}

bool run_safe_fires(struct run_safe *safe, unsigned fault)
{
    return !atomic_exchange(&safe->shared->fired[fault], true);
}

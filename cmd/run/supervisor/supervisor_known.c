/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A join that takes too long. A process that is neither paused nor leaving
 * becomes a member within a second or two, whatever the reason for its loss.
 * After JOIN_NS, it is waiting for an event that does not come. To preserve the
 * cause, all parties then write their state into one file of the run's folder:
 * the status, this process's observer (and the controller inside), then each
 * process as its answer arrives. Once per join.
 */
#include "supervisor_parts.h"

#include <cluster/driver/describe.h>

#include <stdlib.h>
#include <string.h>

#define JOIN_NS     UINT64_C(5000000000)
#define PATIENCE_NS UINT64_C(200000000)
enum { KNOWN_MAX = 32768, FILES_MAX = 100 };

static bool joins(const struct run *run, const struct child *child)
{
    return run->formed && !run->ending && child->pid > 0 && !child->paused &&
           !child->leaving && !child->awaits && child->role != GW__CONTROLLER &&
           !child->status.diverged && !child->left &&
           (!is_program(run) || child->has_status) && /* it is still starting */
           !child_is_whole(run, child);
}

/* ---- the file ---- */

static FILE *open_file(const struct run *run)
{
    FILE *file = fopen(run->known.path, "ae");
    if (!file)
        fprintf(stderr, "%s: cannot be written\n", run->known.path);
    return file;
}

static void write_status(struct run *run, FILE *file)
{
    json_t *status = status_json(run);
    fprintf(file, "\nstatus\n");
    json_dumpf(status, file, JSON_INDENT(1));
    json_decref(status);
}

static void write_own(FILE *file)
{
    char *text = malloc(KNOWN_MAX);
    if (!text)
        return;
    gw__drivers_describe(text, KNOWN_MAX, PATIENCE_NS);
    fprintf(file, "\n\nsupervisor\n%s", text);
    free(text);
}

void known_notified(struct run *run, const struct child *child,
                    const char *text, size_t bytes)
{
    char name[32];
    FILE *file = run->known.path[0] ? open_file(run) : NULL;
    if (!file)
        return;
    fprintf(file, "\n%s, pid %d, %s\n%.*s", child_name(child, name),
            (int)child->pid, child_state(run, child), (int)bytes, text);
    fclose(file);
}

static void write_down(struct run *run, struct child *child, uint64_t now)
{
    char name[32];
    snprintf(run->known.path, sizeof run->known.path, "%s/join-%s-%llu.txt",
             run->folder.path, child_short(child, name),
             (unsigned long long)++run->known.request_count);
    FILE *file = open_file(run);
    if (!file)
        return;
    memcpy(child->known_in, run->known.path, sizeof child->known_in);
    fprintf(file, "%s is not a member after %.3g s\n", child_name(child, name),
            (double)(now - child->joins_ns) / 1e9);
    write_status(run, file);
    write_own(file);
    fclose(file);
    fprintf(stderr,
            "%s is not a member after %.3g s: the state of all processes is "
            "in %s\n",
            name, (double)(now - child->joins_ns) / 1e9, child->known_in);
    children_send_desired(run); /* to request their state */
}

/* ---- joining ---- */

static void check_child(struct run *run, struct child *child, uint64_t now)
{
    if (!joins(run, child)) {
        child->joins_ns = 0;
        child->known_in[0] = 0;
    } else if (child->joins_ns == 0) {
        child->joins_ns = now;
    } else if (now - child->joins_ns > JOIN_NS && !child->known_in[0] &&
               run->known.request_count < FILES_MAX) {
        write_down(run, child, now);
    }
}

void known_check(struct run *run)
{
    struct child *child;
    uint64_t now = gw_now_ns();
    for (unsigned i = 0; (child = child_at(run, i)); i++)
        check_child(run, child, now);
}

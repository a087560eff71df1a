/* SPDX-License-Identifier: MIT
 *
 * Examines a process through /proc: see process_inspect.h. A thread that is
 * runnable and has neither run nor been scheduled since the previous look has
 * been waiting (almost) since then; its schedstat counts a wait only when it is
 * over.
 */
#include "process_inspect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An older look is too old to explain the present silence. */
static const uint64_t old_ns = 1000000000;

bool gw__process_watch_read(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, room - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* State letter and start time: fields 3 and 22 of proc(5)'s stat. The name
 * before them is in parentheses and may contain anything. */
static bool parse_stat(const char *text, char *state, unsigned long long *start)
{
    const char *rest = strrchr(text, ')');
    return rest &&
           sscanf(rest,
                  ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d"
                  " %*d %*d %*d %*d %*d %llu",
                  state, start) == 2;
}

bool gw__process_watch_stat(uint32_t pid, char *state,
                            unsigned long long *start)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
    return gw__process_watch_read(path, text, sizeof text) &&
           parse_stat(text, state, start);
}

/* Where /proc hides a process, it looks as if it did not exist. */
static bool is_gone(uint32_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

enum gw__process_watch_state gw__process_watch_state(uint32_t pid,
                                                     uint64_t start)
{
    unsigned long long began;
    char state;
    if (!gw__process_watch_stat(pid, &state, &began))
        return is_gone(pid) ? GW__PROCESS_WATCH_ENDED
                            : GW__PROCESS_WATCH_HIDDEN;
    if ((start && began != start) || state == 'Z' || state == 'X')
        return GW__PROCESS_WATCH_ENDED;
    return state == 'T' || state == 't' ? GW__PROCESS_WATCH_STOPPED
                                        : GW__PROCESS_WATCH_AWAKE;
}

static bool is_control(const char *stat)
{
    const char *name = strchr(stat, '(');
    unsigned number;
    return name && (strncmp(name + 1, GW__CONTROL_THREAD ")",
                            sizeof GW__CONTROL_THREAD) == 0 ||
                    (sscanf(name + 1, "%u/ZMQbg", &number) == 1 &&
                     number == GW__CONTROL_THREADS));
}

static bool read_thread(uint32_t pid, struct gw__thread_sample *thread)
{
    char path[64], text[1024], state;
    unsigned long long start;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/stat", pid,
             thread->tid);
    if (!gw__process_watch_read(path, text, sizeof text) || !is_control(text) ||
        !parse_stat(text, &state, &start))
        return false;
    thread->runnable = state == 'R';
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/schedstat",
             pid, thread->tid);
    return gw__process_watch_read(path, text, sizeof text) &&
           sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &thread->ran_ns,
                  &thread->waited_ns, &thread->slices) == 3;
}

static const struct gw__thread_sample *
find_thread(const struct gw__process_inspection *previous, uint32_t tid)
{
    for (unsigned i = 0; i < previous->count; i++)
        if (previous->threads[i].tid == tid)
            return &previous->threads[i];
    return NULL;
}

static uint64_t wait_of(const struct gw__thread_sample *now,
                        const struct gw__thread_sample *before,
                        uint64_t since_ns)
{
    if (!before)
        return 0;
    if (now->slices == before->slices)
        return now->runnable && now->ran_ns == before->ran_ns ? since_ns : 0;
    uint64_t waited_ns = now->waited_ns - before->waited_ns;
    return waited_ns < since_ns ? waited_ns : since_ns;
}

/* Replaces the threads of the previous look; returns the longest wait of one.
 */
static uint64_t sample_threads(struct gw__process_inspection *previous,
                               uint64_t since_ns)
{
    const struct gw__process_inspection old = *previous;
    uint64_t longest_ns = 0;
    struct dirent *entry;
    char path[32];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", previous->id.pid);
    DIR *dir = opendir(path);
    previous->count = 0;
    while (dir && (entry = readdir(dir)) &&
           previous->count < GW__INSPECT_THREADS) {
        struct gw__thread_sample *thread = &previous->threads[previous->count];
        thread->tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (!thread->tid || !read_thread(previous->id.pid, thread))
            continue;
        uint64_t ns = wait_of(thread, find_thread(&old, thread->tid), since_ns);
        longest_ns = ns > longest_ns ? ns : longest_ns;
        previous->count++;
    }
    if (dir)
        closedir(dir);
    return longest_ns;
}

void gw__process_inspect(struct gw__process_inspection *previous,
                         const struct gw__process_watch_id *id, uint64_t now_ns,
                         struct gw__process_observation *observed)
{
    *observed = (struct gw__process_observation){
        .state = gw__process_watch_state(id->pid, id->start)};
    bool same = previous->id.pid == id->pid && previous->id.start == id->start;
    if (!same)
        *previous = (struct gw__process_inspection){.id = *id};
    uint64_t since_ns = now_ns - previous->inspected_ns;
    if (observed->state == GW__PROCESS_WATCH_AWAKE)
        observed->waited_ns = sample_threads(previous, since_ns);
    else
        previous->count = 0;
    if (since_ns > old_ns)
        observed->waited_ns = 0;
    previous->inspected_ns = now_ns;
}

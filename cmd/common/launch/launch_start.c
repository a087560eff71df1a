/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starting ranks: signals blocked, one pipe per rank, fork. The child closes
 * the parent's files, so that a pipe ends with its writer and no process holds
 * a file that another will need.
 */
#include "common/launched.h"
#include "launch_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void name_rendezvous(struct supervisor *s)
{
    uint64_t random = gw_now_ns();
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random ^= (uint64_t)(uintptr_t)s; /* early boot; the pid is unique */
    snprintf(s->rendezvous, sizeof s->rendezvous, "ipc://@gradwire-%d-%016llx",
             (int)getpid(), (unsigned long long)random);
}

/* Decides which ranks this supervisor starts, and which are remote. */
static enum gw_err assign_ranks(struct supervisor *s, struct gw_error *why)
{
    const struct launch *launch = s->launch;
    const struct launched *launched = launch->launched;
    s->expected = launch->ranks - launch->servers;
    for (unsigned i = 0; i < launch->servers; i++)
        snprintf(s->endings[s->expected + i].name, sizeof s->endings->name,
                 "server %u", i);
    if (!launched) {
        name_rendezvous(s);
        return GW_OK;
    }
    const struct gw_comm_config *config = &launched->config;
    if (launch->ranks != config->size)
        return gw_fail(why, GW_EINVAL,
                       "the command needs %u ranks, but %s started %u",
                       launch->ranks, launched->engine, config->size);
    if (config->rendezvous)
        snprintf(s->rendezvous, sizeof s->rendezvous, "%s", config->rendezvous);
    if (config->rank != 0) {
        s->expected = 1;
        for (unsigned i = 0; i < launch->ranks; i++)
            s->endings[i].reported =
                i != config->rank; /* not this supervisor's to
                                                       check */
        return GW_OK;
    }
    for (unsigned i = 1; i < launch->ranks; i++) {
        s->children[i].kind = CHILD_FAR;
        s->started++;
    }
    const char *interface = config->interface;
    if (config->wire && strcmp(config->wire, "verbs") == 0)
        interface = launched->interface[0] ? launched->interface : NULL;
    return launch->ranks > 1 ? far_listen(interface, &s->far, &s->far_fd, why)
                             : GW_OK;
}

enum gw_err supervisor_init(struct supervisor *s, const struct launch *launch,
                            struct gw_error *why)
{
    *s = (struct supervisor){.launch = launch, .signals.fd = -1, .far_fd = -1};
    s->children = calloc(launch->ranks, sizeof *s->children);
    s->endings = calloc(launch->ranks, sizeof *s->endings);
    s->polls =
        calloc(launch->ranks + (size_t)2 + FAR_CALLERS_MAX, sizeof *s->polls);
    if (!s->children || !s->endings || !s->polls)
        return gw_fail(why, GW_ENOMEM, "%u ranks", launch->ranks);
    for (unsigned i = 0; i < launch->ranks; i++)
        s->children[i].fd = -1;
    attention_begin(&s->attention, launch->silence_ms, gw_now_ns());
    enum gw_err err = assign_ranks(s, why);
    return err ? err : signals_acquire(&s->signals, why);
}

void supervisor_fini(struct supervisor *s)
{
    for (unsigned i = 0; s->children && i < s->launch->ranks; i++) {
        if (s->children[i].fd >= 0)
            close(s->children[i].fd);
        frames_fini(&s->children[i].frames);
    }
    far_leave(&s->callers);
    if (s->far_fd >= 0)
        close(s->far_fd);
    signals_release(&s->signals);
    free(s->children);
    free(s->endings);
    free(s->polls);
}

/* In the child: closes the supervisor's files, then runs the rank. */
static _Noreturn void be_rank(struct supervisor *s, unsigned rank, int fd,
                              pid_t supervisor)
{
    for (unsigned i = 0; i < rank; i++)
        if (s->children[i].fd >= 0)
            close(s->children[i].fd);
    close(s->signals.fd);
    if (s->far_fd >= 0)
        close(s->far_fd);
    char called[RANK_CALLED_MAX];
    const struct rank_config config = {
        .rank = rank,
        .name = rank_called(s->endings, rank_name(s->launch), rank, called),
        .fd = fd,
        .supervisor = supervisor,
        .rendezvous = s->rendezvous,
        .signals = &s->signals.before,
        .far = s->far_fd >= 0 ? &s->far : NULL,
    };
    if (s->launch->program)
        rank_become(s->launch, &config);
    rank_live(s->launch, &config);
}

enum gw_err start_rank(struct supervisor *s, unsigned rank,
                       struct gw_error *why)
{
    int ends[2];
    char called[RANK_CALLED_MAX];
    const char *name =
        rank_called(s->endings, rank_name(s->launch), rank, called);
    pid_t supervisor = getpid();
    if (pipe2(ends, O_CLOEXEC) < 0)
        return gw_fail_errno(why, "a pipe for %s", name);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_rank(s, rank, ends[1], supervisor);
    }
    close(ends[1]);
    if (pid < 0) {
        gw_fail_errno(why, "starting %s", name);
        close(ends[0]);
        return why ? why->code : GW_ESYS;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    s->children[rank].kind = CHILD_HERE;
    s->children[rank].fd = ends[0];
    s->children[rank].last_frame_ns = s->attention.clock_ns;
    s->endings[rank].pid = pid;
    s->started++;
    return GW_OK;
}

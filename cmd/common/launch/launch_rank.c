/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The life of one rank: a child that is forked, not executed, so that the
 * command's plans and options are already in memory. It must not outlive the
 * supervisor (parent-death signal), not write to the supervisor's stdout, and
 * not be stopped by the terminal's Ctrl-C before the supervisor stops it. Its
 * reports are in launch_report.c.
 */
#include "launch_parts.h"

#include "common/command.h"
#include "common/launched.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void on_terminate(int signal)
{
    (void)signal;
    interrupted = 1;
}

static void set_signals(const sigset_t *mask)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction stop = {.sa_handler = on_terminate};
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGCHLD, &usual, NULL);
    sigset_t open = *mask;
    sigdelset(&open, SIGTERM);
    sigprocmask(SIG_SETMASK, &open, NULL);
}

/* stdout belongs to the supervisor, stdin to the person; stderr is shared. */
static void leave_terminal(void)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
}

void rank_be_child(const struct rank_config *config)
{
    if (!process_follow(config->supervisor, SIGKILL))
        _exit(1);
    set_signals(config->signals);
}

static unsigned timeout_ms(const struct launch *launch)
{
    uint64_t ms = launch->timeout_ns / 1000000;
    if (launch->timeout_ns > 0 && ms == 0)
        return 1; /* 0 would mean the default */
    return ms < UINT_MAX ? (unsigned)ms : UINT_MAX;
}

/* Ranks of an engine do not start together, so their time limit for connecting
 * is long, or --timeout. Forked ranks have the default limit, which --timeout
 * can only increase. */
unsigned rank_connect_ms(const struct launch *launch)
{
    enum { USUAL_MS = 10000 }; /* the meaning of 0: gradwire/wire.h */
    unsigned ms = timeout_ms(launch);
    if (launch->launched)
        return ms ? ms : launch->launched->connect_ms;
    return ms > USUAL_MS ? ms : 0;
}

/* Under an engine, rank 0 sends the other ranks its supervisor's address. */
static enum gw_err find_supervisor(struct gw_comm *comm,
                                   const struct rank_config *config,
                                   struct reporter *report,
                                   struct gw_error *why)
{
    struct far_address address = {.port = 0};
    int fd;
    if (config->far)
        address = *config->far;
    if (gw_broadcast(comm, &address, &address, sizeof address, GW_U8, 0)) {
        *why = *gw_comm_error(comm);
        return why->code;
    }
    gw_comm_counters_reset(comm);
    if (config->rank == 0)
        return GW_OK;
    enum gw_err err = far_connect(&address, config->rank, &fd, why);
    if (err)
        return err;
    reporter_go_far(report, fd);
    frame_write(config->fd, FRAME_REPORT, "", 0); /* reports the connection
                                                    here */
    return GW_OK;
}

static enum gw_err connect(const struct launch *launch,
                           const struct rank_config *rank_config,
                           struct reporter *report, struct gw_comm **comm,
                           struct gw_error *why)
{
    const struct launched *launched = launch->launched;
    const struct launch_options *options = &launch_options; /* for verbs, too */
    const char *interface =
        launch->interface ? launch->interface : options->interface;
    const struct gw_comm_config config = {
        .rank = rank_config->rank,
        .size = launch->ranks,
        .rendezvous = rank_config->rendezvous,
        .wire = launch->wire,
        .connect_ms = rank_connect_ms(launch),
        .timeout_ms = timeout_ms(launch),
        .slice_bytes = launch->slice_bytes,
        .lanes = launch->lanes,
        .interface = launched ? launched->config.interface : interface,
        .key_file = key_file(),
        .insecure = launched ? launched->config.insecure
                             : launch->insecure || options->insecure,
        .no_windows = launch->no_windows,
        .events = launch->events ? &report->sink : NULL,
    };
    enum gw_err code = gw_comm_create(&config, comm, why);
    return !code && launched ? find_supervisor(*comm, rank_config, report, why)
                             : code;
}

static enum gw_err run_rank(const struct launch *launch,
                            const struct rank_config *config,
                            struct reporter *report, struct gw_comm **comm,
                            struct gw_error *why)
{
    enum gw_err code = reporter_live(report, launch->silence_ms, why);
    if (!code && !launch->no_comm)
        code = connect(launch, config, report, comm, why);
    if (code)
        return code;
    reporter_start(report);
    code = launch->rank_main(*comm, report, launch->context, why);
    if (code && why->text[0] == 0)
        gw_fail(why, code, "%s", gw_err_text(code));
    if (code && *comm)
        gw_comm_abort(*comm, code, why->text);
    return code;
}

_Noreturn void rank_live(const struct launch *launch,
                         const struct rank_config *config)
{
    static struct reporter report; /* 16 KiB, one per process */
    struct gw_error last_word = {.code = GW_OK};
    struct gw_comm *comm = NULL;
    char name[16];

    rank_be_child(config);
    leave_terminal();
    if (!launch->no_pin)
        rank_pin(launch, config->rank);
    snprintf(name, sizeof name, "%s/%u", config->name, launch->ranks);
    prctl(PR_SET_NAME, name);

    reporter_init(&report, config->rank, config->fd);
    last_word.code = run_rank(launch, config, &report, &comm, &last_word);
    reporter_result(&report, &last_word);
    gw_comm_destroy(&comm);
    _exit(0);
}

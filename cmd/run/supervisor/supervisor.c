/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The supervisor: a process that owns a run. Its life:
 *
 *     receives its options --> folder, data check, sockets --> controllers,
 *     observer, members started --> formed: all registered, admitted together
 *     --> the loop: requests, updates, notes, ends of processes --> the end
 *
 * The process that started it waits for `formed`, or for an error. From then on
 * the supervisor is independent. It ends by the verb `down` or by SIGTERM,
 * SIGINT; if it ends in any other way, its processes die with it.
 *
 * One thread, one poll. Read on in supervisor_parts.h.
 */
#include "supervisor_experiment.h"
#include "supervisor_parts.h"

#include "common/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { POLL_FIXED = 5, REQUEST_MAX = 1 << 15, POLL_MS = 100 };
#define FORMATION_NS UINT64_C(60000000000)

/* ---- the starter ---- */

static const char starter_ended[] = "the client that started the run has ended";

static enum gw_err open_algos(struct run *run, struct gw_error *why)
{
    enum gw_collective collective;
    enum gw_err code =
        ring_algos_collective(run->options.collective, &collective, why);
    return code ? code
                : ring_algos_open(run->options.algos, collective, &run->algos,
                                  why);
}

static enum gw_err receive_starter(struct run *run, struct gw_error *why)
{
    static char text[REQUEST_MAX];
    ssize_t bytes = recv(run->starter, text, sizeof text, 0);
    run->options_json =
        bytes > 0 ? json_loadb(text, (size_t)bytes, 0, NULL) : NULL;
    if (!run->options_json)
        return gw_fail(why, GW_EINTERNAL, "missing options of the run");
    enum gw_err code = options_decode(run->options_json, &run->options, why);
    if (!code)
        code = options_check(&run->options, why);
    return code ? code : open_algos(run, why);
}

/* False: the starter no longer waits for an answer. */
static bool answer_starter(struct run *run, const struct gw_error *error)
{
    bool sent = false;
    json_t *answer =
        json_pack("{s:i, s:o, s:s, s:I}", "code", (int)error->code, "text",
                  json_string_nocheck(error->code ? error->text : ""), "run",
                  run->folder.name, "pid", (json_int_t)getpid());
    char *text = json_dumps(answer, JSON_COMPACT);
    if (text && run->starter >= 0)
        sent = send(run->starter, text, strlen(text), MSG_NOSIGNAL) > 0;
    free(text);
    json_decref(answer);
    if (run->starter >= 0)
        close(run->starter);
    run->starter = -1;
    return sent;
}

/* The starter has given up: the run is not needed any more. */
static bool starter_gone(const struct run *run)
{
    char byte;
    return recv(run->starter, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

/* Reading a large file takes a while, and there is nothing to clean up yet. So
 * until it is read, the SIGIO of the socket's other end ends this process
 * together with its starter. */
static enum gw_err end_with_starter(const struct run *run, bool with,
                                    struct gw_error *why)
{
    int flags = fcntl(run->starter, F_GETFL);
    signal(SIGIO, with ? SIG_DFL : SIG_IGN);
    if (fcntl(run->starter, F_SETOWN, getpid()) != 0 ||
        fcntl(run->starter, F_SETFL,
              with ? flags | O_ASYNC : flags & ~O_ASYNC) != 0)
        return gw_fail_errno(why, "the supervisor's socket");
    return with && starter_gone(run) ? gw_fail(why, GW_EINTR, starter_ended)
                                     : GW_OK;
}

/* ---- beginning ---- */

static enum gw_err check_work(struct run *run, struct gw_error *why)
{
    const struct work_options *wanted = &run->options.work;
    enum gw_err code =
        work_order_make(&run->options, wanted,
                        wanted->kind == WORK_NONE ? 0 : 1, &run->work, why);
    work_order_ops(run, &run->work);
    run->links.passed_by =
        !code && has_servers(run) && work_aggregates(&run->work);
    return code ? code : work_try(run, &run->work, why);
}

static enum gw_err catch_signals(struct run *run, struct gw_error *why)
{
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    return signals_acquire(&run->signals, why);
}

static void run_init(struct run *run)
{
    run->starter = CHILD_CHANNEL_FD;
    run->folder.fd = run->signals.fd = -1;
    fcntl(run->starter, F_SETFD, FD_CLOEXEC);
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        child_init(&run->workers[n], GW__WORKER, n);
    for (unsigned n = 0; n < RUN_SERVERS_MAX; n++)
        child_init(&run->servers[n], GW__SERVER, n);
    for (unsigned c = 0; c < RUN_CONTROLLERS_MAX; c++)
        child_init(&run->controllers[c], GW__CONTROLLER, c);
}

static enum gw_err write_papers(struct run *run, struct gw_error *why)
{
    char endpoint[ENDPOINT_MAX];
    const struct run_options *o = &run->options;
    json_t *facts = json_pack(
        "{s:o, s:I, s:i, s:i, s:i, s:s, s:I}", "command",
        json_string_nocheck(o->command ? o->command : ""), "seed",
        (json_int_t)o->seed, "ranks", (int)o->ranks, "servers", (int)o->servers,
        "controllers", (int)controllers_all(run), "wire",
        o->wire ? o->wire : "shm", "pid", (json_int_t)getpid());
    child_channel_endpoint(run->token, "run", endpoint);
    commands_begin(run);
    return run_folder_publish(&run->folder, facts, endpoint, why);
}

static enum gw_err start_members(struct run *run, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned n = 0; n < run->options.servers && !code; n++)
        code = child_start(run, &run->servers[n], why);
    for (unsigned n = 0; n < run->options.ranks && !code; n++)
        code = child_start(run, &run->workers[n], why);
    return code;
}

static enum gw_err check_files(struct run *run, struct gw_error *why)
{
    enum gw_err code = end_with_starter(run, true, why);
    if (!code)
        code = check_work(run, why);
    if (!code)
        code = topo_begin(run, why);
    if (!code)
        code = placement_begin(run, why);
    enum gw_err last = end_with_starter(run, false, code ? NULL : why);
    return code ? code : last;
}

static enum gw_err begin_run(struct run *run, struct gw_error *why)
{
    enum gw_err code = receive_starter(run, why);
    if (!code)
        code = check_files(run, why);
    if (!code)
        code = run_folder_open(&run->folder, run->options.name, why);
    if (!code)
        code = run_folder_log(&run->folder, why);
    if (!code && getrandom(&run->token, sizeof run->token, 0) < 0)
        code = gw_fail_errno(why, "random numbers");
    if (code)
        return code;
    if (run->options.lockstep)
        code = lockstep_parse(run->options.lockstep, run->options.ranks,
                              &run->lockstep, why);
    if (code)
        return code;
    run->pace_ns = run->options.pace_ns;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        run->workers[n].ps_members = has_servers(run);
    for (unsigned n = 0; n < RUN_SERVERS_MAX; n++)
        run->servers[n].ps_members = true;
    if (run->options.controllers > 1)
        run->controller_count = run->options.controllers;
    code = catch_signals(run, why);
    if (!code)
        code = rpc_server_open(&run->rpc, run->token, why);
    if (!code)
        code = control_start(run, why);
    if (!code)
        code = write_papers(run, why);
    return code ? code : start_members(run, why);
}

/* ---- forming ---- */

/* Lists the members that have not come yet. */
static void explain_forming(struct run *run)
{
    char trouble[SENTENCE_MAX], control[200];
    status_trouble(run, trouble);
    control_text(run, control);
    gw_fail(
        &run->failed, GW_ETIMEOUT, "the %s did not form within %d s: %s%s%s",
        has_servers(run) ? "cluster" : "ring", (int)(FORMATION_NS / 1000000000),
        trouble, *control ? "; " : "", control);
}

static bool is_complete(const struct run *run)
{
    unsigned there = 0;
    if (has_servers(run))
        return ps_members_is_complete(run);
    for (unsigned n = 0; n < run->options.ranks; n++)
        there += run->workers[n].status.stage == STAGE_MEMBER &&
                 child_is_member(run, &run->workers[n]);
    return there == run->options.ranks;
}

static void check_formation(struct run *run)
{
    if (run->over)
        return;
    control_admit(run);
    if (run->formed)
        return;
    if (is_complete(run)) {
        run_folder_latest(&run->folder);
        run->formed = answer_starter(run, &(struct gw_error){.code = GW_OK});
        if (!run->formed)
            gw_fail(&run->failed, GW_EINTR, starter_ended);
    } else if (starter_gone(run)) {
        gw_fail(&run->failed, GW_EINTR, starter_ended);
    } else if (gw_now_ns() - run->folder.began_ns > FORMATION_NS) {
        explain_forming(run);
    }
}

/* ---- the loop ---- */

static void take_signals(struct run *run)
{
    int number;
    while ((number = signals_next(&run->signals))) {
        if (number == SIGCHLD)
            children_reap(run);
        else
            run->over = true;
    }
}

static long patience_ms(const struct run *run)
{
    uint64_t now = gw_now_ns(), due = later_due(run);
    if (due <= now)
        return 0;
    uint64_t ms = (due - now) / 1000000 + 1;
    return ms < POLL_MS ? (long)ms : POLL_MS;
}

static unsigned fill_poll_items(struct run *run, zmq_pollitem_t *items)
{
    struct child *child;
    unsigned count = 0;
    items[count++] = (zmq_pollitem_t){.socket = run->rpc.requests};
    items[count++] = (zmq_pollitem_t){.socket = run->rpc.events};
    items[count++] = (zmq_pollitem_t){.fd = run->signals.fd};
    items[count++] = (zmq_pollitem_t){.fd = control_fd(run)};
    for (unsigned i = 0; i < count; i++)
        items[i].events = ZMQ_POLLIN;
    for (unsigned i = 0; (child = child_at(run, i)); i++)
        if (child->fd >= 0)
            items[count++] = (zmq_pollitem_t){
                .fd = child->fd,
                .events = child->late ? ZMQ_POLLIN | ZMQ_POLLOUT : ZMQ_POLLIN};
    return count;
}

/* Reads a limited number of messages per child. Members that send faster than
 * the supervisor reads, as under a recording on a busy machine, must not delay
 * the answers. */
static void receive_children(struct run *run)
{
    enum { A_TURN = 4 };
    struct child *child;
    for (unsigned i = 0; (child = child_at(run, i)); i++) {
        child_receive(run, child, A_TURN);
        if (child->late)
            child_send_desired(run, child);
    }
}

static void run_turn(struct run *run)
{
    zmq_pollitem_t items[POLL_FIXED + CHILDREN_MAX];
    zmq_poll(items, (int)fill_poll_items(run, items), patience_ms(run));
    take_signals(run); /* first the dead: others wait for this news */
    control_apply_update(run);
    receive_children(run);
    control_suspect(run);
    children_start_awaited(run);
    lockstep_update(run);
    serve_requests(run);
    events_subscriptions(run);
    check_formation(run);
    ps_members_update(run);
    later_answer_due(run);
    known_check(run);
    struct gw_error why;
    if (!run->failed.code && control_error(run, &why))
        run->failed = why;
    if (run->failed.code && !run->formed)
        run->over = true;
}

/* ---- the end ---- */

static void end_run(struct run *run)
{
    run->ending = true;
    json_t *status = run->control ? status_json(run) : json_object();
    commands_end(run);
    children_end(run);
    control_stop(run);
    if (run->rpc.events)
        rpc_server_farewell(&run->rpc);
    events_close(run);
    run_folder_conclude(&run->folder, json_incref(status),
                        run->failed.code ? run->failed.text : NULL);
    if (run->rpc.requests)
        later_end(run);
    if (run->folder.fd >= 0)
        close(run->folder.fd); /* with the answer, its name is free again */
    if (run->downer.bytes)
        serve_answer(run, &run->downer, GW_OK, status, "run %s has ended",
                     run->folder.name);
    else
        json_decref(status);
    rpc_server_close(&run->rpc);
}

static int supervisor_main(int argc, char **argv)
{
    static struct run run;
    (void)argc;
    (void)argv;
    run_init(&run);
    if (!begin_run(&run, &run.failed))
        run.failed.code = GW_OK;
    while (!run.over && (run.formed || !run.failed.code))
        run_turn(&run);
    const struct gw_error why = run.failed;
    bool formed = run.formed;
    if (why.code)
        fprintf(stderr, "%s\n", why.text);
    end_run(&run);
    if (!formed)
        answer_starter(
            &run, why.code ? &why
                           : &(struct gw_error){.code = GW_EINTR,
                                                .text = "it was asked to end"});
    return gw_err_exit(why.code);
}

bool internal_main(int argc, char **argv, int *status)
{
    static const struct {
        const char *word;
        int (*run)(int, char **);
    } lives[] = {{SUPERVISOR_WORD, supervisor_main},
                 {NODE_WORD, node_main},
                 {CONTROLLER_WORD, controller_main}};
    for (size_t i = 0; i < sizeof lives / sizeof *lives && argc > 1; i++)
        if (strcmp(argv[1], lives[i].word) == 0) {
            prctl(PR_SET_NAME, program_invocation_short_name); /* not "exe" */
            notices_on_stderr();
            *status = lives[i].run(argc, argv);
            return true;
        }
    return false;
}

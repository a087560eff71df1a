/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The process that answers for a tool (run_publisher_parts.h): it holds the
 * run's directory, answers hello and status, refuses all other requests, and
 * publishes the events from the pipe. One thread, one poll.
 *
 *     start --> directory, sockets, run.json --> ready --> the loop
 *           --> the report, or the death of the tool (pidfd)
 *           --> summary, farewell, exit
 *
 * The terminal's signals are for the tool; this process follows it.
 */
#include "run_publisher_parts.h"

#include "common/rpc_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REQUESTS_A_TURN = 64, PULLS_A_TURN = 64 };

struct process {
    const struct publish_options *options;
    struct published_run published;
    struct run_folder folder;
    struct rpc_server rpc;
    struct frames frames;
    int input, tool_fd;
    uint64_t token;
    json_t *summary;
    bool over; /* the tool has sent its report */
};

/* ---- starting ---- */

static void ignore_signals(void)
{
    static const int theirs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    sigset_t none;
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        signal(theirs[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* An observer must not hold the tool's files open. */
static void leave_files(int kept, int other)
{
    unsigned low = (unsigned)(kept < other ? kept : other);
    unsigned high = (unsigned)(kept < other ? other : kept);
    int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= STDERR_FILENO && nowhere >= 0; fd++)
        dup2(nowhere, fd);
    if (low > STDERR_FILENO + 1)
        close_range(STDERR_FILENO + 1, low - 1, 0);
    if (high > low + 1)
        close_range(low + 1, high - 1, 0);
    close_range(high + 1, ~0U, 0);
}

static enum gw_err follow_tool(struct process *p, pid_t tool,
                               struct gw_error *why)
{
    p->tool_fd = (int)syscall(SYS_pidfd_open, tool, 0);
    if (p->tool_fd < 0)
        return gw_fail_errno(why, "the process of the tool");
    if (getppid() != tool)
        return gw_fail(why, GW_EINTR, "the tool has ended");
    return GW_OK;
}

static enum gw_err write_run_files(struct process *p, struct gw_error *why)
{
    char endpoint[RPC_SERVER_ENDPOINT_MAX];
    const struct published_run *a = &p->published;
    json_t *facts =
        json_pack("{s:s, s:o, s:I, s:I}", "tool", a->tool, "command",
                  json_string_nocheck(a->command), "seed", (json_int_t)a->seed,
                  "pid", (json_int_t)a->pid);
    rpc_server_endpoint(p->token, "run", endpoint);
    return run_folder_publish(&p->folder, facts, endpoint, why);
}

static enum gw_err begin_process(struct process *p,
                                 const struct publish_run_config *config,
                                 struct gw_error *why)
{
    const struct publish_options *o = config->options;
    enum gw_err code = follow_tool(p, config->tool, why);
    if (!code)
        code = run_folder_open(&p->folder, o->name, why);
    if (!code)
        code = run_folder_log(&p->folder, why);
    if (!code && getrandom(&p->token, sizeof p->token, 0) < 0)
        code = gw_fail_errno(why, "random numbers");
    p->published = (struct published_run){
        .run = p->folder.name,
        .tool = o->tool,
        .command = o->command ? o->command : "",
        .seed = o->seed,
        .pid = config->tool,
        .pipeline.step = GW_NONE,
    };
    if (!code)
        code = rpc_server_open(&p->rpc, p->token, why);
    if (!code)
        code = write_run_files(p, why);
    if (!code)
        run_folder_latest(&p->folder);
    return code;
}

/* ---- frames from the tool ---- */

static void read_report(struct process *p, const struct frame *frame)
{
    json_t *json = json_loadb((const char *)frame->data, frame->bytes, 0, NULL);
    json_t *dropped = json_object_get(json, "dropped");
    p->published.dropped = (uint64_t)json_integer_value(dropped);
    p->summary = json_incref(json_object_get(json, "summary"));
    p->over = true;
    json_decref(json);
}

static void forward_events(struct process *p, const struct frame *frame)
{
    struct gw_event events[64];
    enum { ROOM = sizeof events / sizeof *events };
    size_t count = frame->bytes / sizeof *events;
    for (size_t done = 0; done < count;) {
        size_t now = count - done < ROOM ? count - done : ROOM;
        memcpy(events, frame->data + done * sizeof *events,
               now * sizeof *events);
        for (size_t i = 0; i < now; i++)
            published_run_event(&p->published, &events[i]);
        rpc_server_publish(&p->rpc, events, now);
        done += now;
    }
}

/* Reads the pipe; false when the bytes are not a valid frame. */
static bool read_input(struct process *p)
{
    struct frame frame;
    struct gw_error why;
    enum gw_err code = GW_OK;
    for (unsigned pulls = 0; !code && !p->over && pulls < PULLS_A_TURN;) {
        code = frames_next(&p->frames, &frame, &why);
        if (code == GW_PENDING && ++pulls)
            code = frames_pull(&p->frames, p->input, &why);
        else if (!code && frame.kind == FRAME_EVENTS)
            forward_events(p, &frame);
        else if (!code && frame.kind == FRAME_REPORT)
            read_report(p, &frame);
    }
    if (code && code != GW_PENDING && code != GW_ECLOSED)
        fprintf(stderr, "%s\n", why.text);
    return code == GW_OK || code == GW_PENDING;
}

/* ---- requests ---- */

static json_t *answer_hello(const struct process *p)
{
    char events[RPC_SERVER_ENDPOINT_MAX];
    rpc_server_endpoint(p->token, "events", events);
    return json_pack("{s:i, s:o, s:{s:s, s:I, s:s, s:s}}", "code", GW_OK,
                     "text", json_sprintf("run %s", p->folder.name), "data",
                     "run", p->folder.name, "pid", (json_int_t)getpid(),
                     "version", GW_VERSION, "events", events);
}

static json_t *answer_request(const struct process *p, const json_t *request)
{
    const char *verb = json_string_value(json_object_get(request, "verb"));
    if (verb && strcmp(verb, "hello") == 0)
        return answer_hello(p);
    if (verb && strcmp(verb, "status") == 0)
        return json_pack("{s:i, s:o, s:o}", "code", GW_OK, "text",
                         json_sprintf("run %s: running", p->folder.name),
                         "data", published_run_json(&p->published, "running"));
    return json_pack(
        "{s:i, s:o}", "code", verb ? GW_ENOTSUP : GW_EINVAL, "text",
        verb ? json_sprintf("run %s is read-only here: it belongs to %s",
                            p->folder.name, p->published.tool)
             : json_string("a request must be a JSON object with a verb"));
}

static void serve_requests(struct process *p)
{
    struct requester requester;
    json_t *request;
    for (unsigned i = 0;
         i < REQUESTS_A_TURN && rpc_server_next(&p->rpc, &requester, &request);
         i++) {
        rpc_server_answer(&p->rpc, &requester, answer_request(p, request));
        json_decref(request);
    }
}

/* ---- the loop, and the end ---- */

static void loop(struct process *p)
{
    zmq_pollitem_t items[] = {
        {.socket = p->rpc.requests, .events = ZMQ_POLLIN},
        {.socket = p->rpc.events, .events = ZMQ_POLLIN},
        {.fd = p->tool_fd, .events = ZMQ_POLLIN},
        {.fd = p->input, .events = ZMQ_POLLIN},
    };
    char topic;
    bool any;
    while (!p->over) {
        zmq_poll(items, sizeof items / sizeof *items, -1);
        bool alive = items[2].revents == 0;
        bool sane = read_input(p); /* frames of a dead tool still count */
        serve_requests(p);
        while (rpc_server_subscription(&p->rpc, &topic, &any))
            ; /* ignored: all events are published */
        p->over |= !alive || !sane;
    }
}

static void end_process(struct process *p)
{
    char error[80] = "";
    json_t *summary = NULL;
    if (!p->summary)
        snprintf(error, sizeof error, "%s ended without a message",
                 p->options->tool);
    if (!json_is_null(p->summary)) { /* null: the tool wants none */
        summary =
            published_run_json(&p->published, p->summary ? "ended" : "died");
        json_object_update(summary, p->summary);
    }
    run_folder_conclude(&p->folder, summary, *error ? error : NULL);
    rpc_server_farewell(&p->rpc);
    rpc_server_close(&p->rpc);
    json_decref(p->summary);
    frames_fini(&p->frames);
}

_Noreturn void publish_run_live(const struct publish_run_config *config)
{
    static struct process process;
    struct process *p = &process;
    struct publish_run_ready ready = {.why = {.code = GW_OK}};
    *p = (struct process){.options = config->options,
                          .input = config->frames,
                          .folder.fd = -1,
                          .tool_fd = -1};
    ignore_signals();
    leave_files(config->frames, config->ready);
    prctl(PR_SET_NAME, "announce");
    enum gw_err code = begin_process(p, config, &ready.why);
    memcpy(ready.name, p->folder.name, sizeof ready.name);
    bool reported = write(config->ready, &ready, sizeof ready) == sizeof ready;
    close(config->ready);
    if (code || !reported)
        _exit(1);
    loop(p);
    end_process(p);
    _exit(0);
}

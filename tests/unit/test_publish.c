/* SPDX-License-Identifier: MIT
 *
 * Announcing, with a real process. A client that attaches finds the run and
 * gets its status and events, and nothing else. The tool is never blocked; and
 * however the tool ends, the run ends with it and leaves its directory.
 */
#include "common/command.h"
#include "common/rpc/run_publisher.h"
#include "common/rpc_client.h"
#include "skip.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_publish(void);

#define SECOND UINT64_C(1000000000)

static char folder[] = "/tmp/gw-test-announce-XXXXXX";
static struct gw_error why;
static struct run_publisher *publisher;

static void begin(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("GRADWIRE_RUNS", folder, 1);
    interrupted = 0;
    why = (struct gw_error){.code = GW_OK};
}

static void remove_all(const char *path)
{
    char entry_path[PATH_MAX];
    const struct dirent *entry;
    DIR *entries = opendir(path);
    while (entries && (entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(entry_path, sizeof entry_path, "%s/%s", path, entry->d_name);
        if (unlink(entry_path) != 0)
            remove_all(entry_path);
    }
    if (entries)
        closedir(entries);
    rmdir(path);
}

static void end(void)
{
    publish_run_close(&publisher, NULL);
    remove_all(folder);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

static void open_named(const char *name)
{
    const struct publish_options options = {.tool = "pipebench run",
                                            .name = name,
                                            .command = "pipebench run -x",
                                            .seed = 7};
    ck_assert_msg(!publish_run_open(&options, &publisher, &why), "%s",
                  why.text);
}

static json_t *file_of(const char *name, const char *file)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    return json_load_file(path, 0, NULL);
}

static json_t *request(struct rpc_client *client, const char *verb)
{
    json_t *answer;
    ck_assert_msg(!rpc_client_request(client, json_pack("{s:s}", "verb", verb),
                                      10 * SECOND, &answer, &why),
                  "%s", why.text);
    return answer;
}

static json_int_t integer(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    ck_assert_msg(json_is_integer(value), "%s", name);
    return json_integer_value(value);
}

static const char *text(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    ck_assert_msg(json_is_string(value), "%s", name);
    return json_string_value(value);
}

/* Requests the status until the pipeline is in this step. */
static json_t *status_in(struct rpc_client *client, json_int_t step)
{
    for (uint64_t until_ns = gw_now_ns() + 10 * SECOND;;) {
        json_t *answer = request(client, "status");
        if (integer(json_object_get(answer, "data"), "step") == step)
            return answer;
        ck_assert_uint_lt(gw_now_ns(), until_ns);
        json_decref(answer);
    }
}

static struct gw_event stage(unsigned number, unsigned stages)
{
    return (struct gw_event){.kind = GW_EV_STAGE,
                             .rank = 10 + number,
                             .peer = number,
                             .step = stages,
                             .op = 8,
                             .chunk = 2,
                             .value = 5000000,
                             .time_ns = number};
}

static struct gw_event pass(enum gw_event_kind kind, unsigned micro)
{
    return (struct gw_event){.kind = (uint32_t)kind,
                             .rank = 10,
                             .peer = GW_NONE,
                             .op = micro,
                             .step = 4,
                             .value = 0,
                             .time_ns = 100 + micro};
}

START_TEST(who_attaches_finds_status_and_pipeline)
{
    struct rpc_client *client;
    open_named("demo");
    ck_assert_str_eq(publish_run_name(publisher), "demo");
    for (unsigned s = 0; s < 3; s++) {
        struct gw_event event = stage(s, 3);
        publish_run_event(publisher, &event);
    }
    struct gw_event event = pass(GW_EV_PASS_BEGIN, 0);
    publish_run_event(publisher, &event);
    ck_assert_int_eq(rpc_client_open(NULL, &client, &why),
                     GW_OK); /* the latest */
    ck_assert_str_eq(rpc_client_run(client), "demo");
    json_t *answer = status_in(client, 4);
    const json_t *status = json_object_get(answer, "data");
    ck_assert_str_eq(text(status, "tool"), "pipebench run");
    ck_assert_str_eq(text(status, "state"), "running");
    ck_assert_int_eq(integer(status, "seed"), 7);
    ck_assert_int_eq(integer(status, "pid"), getpid());
    const json_t *pipeline = json_object_get(status, "pipeline");
    ck_assert_int_eq(integer(pipeline, "stages"), 3);
    ck_assert_int_eq(integer(pipeline, "micros"), 8);
    ck_assert_int_eq(integer(pipeline, "chunks"), 2);
    ck_assert_int_eq(integer(pipeline, "predicted_ns"), 5000000);
    const json_t *ranks = json_object_get(pipeline, "ranks");
    ck_assert_uint_eq(json_array_size(ranks), 3);
    ck_assert_int_eq(json_integer_value(json_array_get(ranks, 2)), 12);
    json_decref(answer);
    json_t *paper = file_of("demo", "run.json");
    ck_assert_str_eq(text(paper, "command"), "pipebench run -x");
    json_decref(paper);
    rpc_client_close(&client);
}
END_TEST

START_TEST(verbs_that_change_something_are_refused)
{
    struct rpc_client *client;
    open_named("demo");
    ck_assert_int_eq(rpc_client_open("demo", &client, &why), GW_OK);
    json_t *answer = request(client, "kill");
    ck_assert_int_eq(integer(answer, "code"), GW_ENOTSUP);
    ck_assert_str_eq(text(answer, "text"),
                     "run demo is read-only here: it belongs to pipebench run");
    json_decref(answer);
    ck_assert_int_eq(
        rpc_client_request(client, json_object(), 10 * SECOND, &answer, &why),
        GW_OK);
    ck_assert_int_eq(integer(answer, "code"), GW_EINVAL);
    json_decref(answer);
    rpc_client_close(&client);
}
END_TEST

/* Reads and counts events until one of this micro-batch comes. */
static unsigned listen_until(struct rpc_client *client, unsigned micro)
{
    struct gw_event event;
    for (unsigned count = 1;; count++) {
        ck_assert_int_eq(
            rpc_client_event(client, gw_now_ns() + 10 * SECOND, &event, &why),
            GW_OK);
        if (event.kind != GW_EV_STAGE && event.op == micro)
            return count;
    }
}

/* Sends an event until it is received: a subscription takes a moment. */
static void wait_for_stream(struct rpc_client *client, enum gw_event_kind kind)
{
    for (uint64_t until_ns = gw_now_ns() + 10 * SECOND;;) {
        struct gw_event event = pass(kind, 99), received;
        publish_run_event(publisher, &event);
        if (!rpc_client_event(client, gw_now_ns() + SECOND / 20, &received,
                              &why))
            return;
        ck_assert_uint_lt(gw_now_ns(), until_ns);
    }
}

START_TEST(events_come_in_order_and_details_to_who_wants_them)
{
    struct rpc_client *all, *few;
    open_named(NULL);
    ck_assert_int_eq(rpc_client_open(NULL, &all, &why), GW_OK);
    ck_assert_int_eq(rpc_client_open(NULL, &few, &why), GW_OK);
    ck_assert_int_eq(rpc_client_listen(all, true, &why), GW_OK);
    ck_assert_int_eq(rpc_client_listen(few, false, &why), GW_OK);
    wait_for_stream(all, GW_EV_PASS_BEGIN);
    wait_for_stream(few, GW_EV_STEP);
    for (unsigned i = 0; i < 50; i++) {
        struct gw_event event = pass(GW_EV_PASS_END, i);
        publish_run_event(publisher, &event);
    }
    struct gw_event last = pass(GW_EV_STEP, 50);
    publish_run_event(publisher, &last);
    for (unsigned i = 0; i < 50; i++)
        ck_assert_uint_ge(listen_until(all, i), 1);
    ck_assert_uint_eq(listen_until(all, 50), 1);
    struct gw_event event;
    do
        ck_assert_int_eq(
            rpc_client_event(few, gw_now_ns() + 10 * SECOND, &event, &why),
            GW_OK);
    while (event.op == 99 && event.kind == GW_EV_STEP);
    ck_assert_uint_eq(event.op, 50);
    publish_run_close(&publisher, json_object());
    ck_assert_int_eq(
        rpc_client_event(all, gw_now_ns() + 10 * SECOND, &event, &why),
        GW_ECLOSED);
    rpc_client_close(&all);
    rpc_client_close(&few);
}
END_TEST

START_TEST(ending_writes_the_summary_and_ends_the_run)
{
    struct rpc_client *client;
    open_named("demo");
    publish_run_close(&publisher, json_pack("{s:i}", "time_us", 5));
    ck_assert_ptr_null(publisher);
    json_t *summary = file_of("demo", "summary.json");
    ck_assert_int_eq(integer(summary, "time_us"), 5);
    ck_assert_str_eq(text(summary, "state"), "ended");
    ck_assert(json_is_null(json_object_get(summary, "error")));
    json_decref(summary);
    ck_assert_int_eq(rpc_client_open("demo", &client, &why), GW_EUNREACH);
    open_named("demo"); /* the name is free again */
    publish_run_close(&publisher, NULL);
    ck_assert_ptr_null(file_of("demo", "summary.json"));
}
END_TEST

START_TEST(names_are_checked)
{
    struct publish_options options = {.tool = "x", .name = "No Name"};
    struct run_publisher *other;
    ck_assert_int_eq(publish_run_open(&options, &other, &why), GW_EINVAL);
    open_named("demo");
    options.name = "demo";
    ck_assert_int_eq(publish_run_open(&options, &other, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "a run demo already exists"));
    ck_assert_ptr_nonnull(strstr(why.text, "ringctl status --run demo"));
    ck_assert_ptr_null(other);
}
END_TEST

START_TEST(tools_without_a_run_are_not_disturbed)
{
    struct gw_event event = stage(0, 1);
    struct run_publisher *none = NULL;
    publish_run_event(NULL, &event);
    publish_run_close(&none, json_object());
}
END_TEST

/* The announcing process; 0: the kernel cannot list children. */
static pid_t process(void)
{
    char task[64];
    pid_t pid = 0;
    snprintf(task, sizeof task, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(task, "r");
    if (children && fscanf(children, "%d", &pid) != 1)
        pid = 0;
    if (children)
        fclose(children);
    return pid;
}

/* Whether that process is stopped or dies, the tool goes on. Dropped events are
 * counted. */
START_TEST(the_tool_is_never_held_up)
{
    enum { MANY = 100000 };
    open_named("demo");
    if (process() == 0)
        SKIP("announce", "this kernel has no /proc/PID/task/TID/children");
    kill(process(), SIGSTOP);
    for (unsigned i = 0; i < MANY; i++) {
        struct gw_event event = pass(GW_EV_PASS_END, i);
        publish_run_event(publisher, &event);
    }
    kill(process(), SIGCONT);
    publish_run_close(&publisher, json_object());
    json_t *summary = file_of("demo", "summary.json");
    ck_assert_int_gt(integer(summary, "events_dropped"), MANY / 2);
    json_decref(summary);
    open_named("demo");
    kill(process(), SIGKILL);
    for (unsigned i = 0; i < MANY; i++) {
        struct gw_event event = pass(GW_EV_PASS_END, i);
        publish_run_event(publisher, &event);
    }
}
END_TEST

/* After SIGKILL no destructor runs. */
START_TEST(the_run_ends_with_the_tool)
{
    struct rpc_client *client;
    struct gw_event event;
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t tool = fork();
    if (tool == 0) {
        open_named("demo");
        _exit(write(ready[1], "x", 1) != 1 || pause());
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(rpc_client_open("demo", &client, &why), GW_OK);
    ck_assert_int_eq(rpc_client_listen(client, true, &why), GW_OK);
    kill(tool, SIGKILL);
    waitpid(tool, NULL, 0);
    ck_assert_int_eq(
        rpc_client_event(client, gw_now_ns() + 10 * SECOND, &event, &why),
        GW_ECLOSED);
    rpc_client_close(&client);
    json_t *summary = file_of("demo", "summary.json");
    ck_assert_str_eq(text(summary, "error"),
                     "pipebench run ended without a message");
    json_decref(summary);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

Suite *suite_publish(void)
{
    const TTest *const tests[] = {
        who_attaches_finds_status_and_pipeline,
        verbs_that_change_something_are_refused,
        events_come_in_order_and_details_to_who_wants_them,
        ending_writes_the_summary_and_ends_the_run,
        names_are_checked,
        tools_without_a_run_are_not_disturbed,
        the_tool_is_never_held_up,
        the_run_ends_with_the_tool,
    };
    Suite *suite = suite_create("publish");
    TCase *tcase = tcase_create("publish");
    tcase_add_checked_fixture(tcase, begin, end);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}

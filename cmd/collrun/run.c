/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun run: a plan, once, on real data. It is verified first; then n ranks
 * run it over a wire, each compares its result with the scalar reference, and
 * what the links carried is laid beside what the plan says. --watch draws the
 * accumulation matrix after every step (watch.h).
 */
#include "run.h"

#include "collrun.h"
#include "common/output.h"
#include "plan_source.h"
#include "recorder.h"
#include "verify.h"
#include "watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct plan_source source;
static const char *wire = "shm", *type_name = "f32", *op_name = "sum";
static uint64_t bytes = 64 << 10, slice_bytes;
static bool watching, in_place;
static struct recorder recorder;

/* clang-format off */
static const struct option_spec options[] = {
    PLAN_SOURCE_OPTIONS(source),
    {"bytes", 'b', OPTION_BYTES, &bytes, "BYTES", "size of the message", NULL},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "transport", "shm|ipc|tcp"},
    {"watch", 0, OPTION_FLAG, &watching, NULL,
     "draw who has contributed to what, after every step", NULL},
    {"events", 0, OPTION_TEXT, &recorder.jsonl, "FILE.jsonl",
     "write the ranks' events", NULL},
    {"trace", 0, OPTION_TEXT, &recorder.trace, "FILE.json",
     "write a Chrome trace, for Perfetto", NULL},
    {"metrics", 0, OPTION_TEXT, &recorder.metrics, "FILE.prom",
     "write counters as Prometheus text", NULL},
    {"dtype", 'd', OPTION_CHOICE, &type_name, "TYPE", "type of the elements",
     "i8|i16|i32|i64|u8|u16|u32|u64|f16|bf16|f32|f64"},
    {"redop", 0, OPTION_CHOICE, &op_name, "OP", "reduction",
     "sum|prod|min|max|avg|land|lor|band|bor"},
    {"in-place", 0, OPTION_FLAG, &in_place, NULL,
     "the input lies in the output buffer", NULL},
    {"slice", 0, OPTION_BYTES, &slice_bytes, "BYTES",
     "bytes of a slice (default: the wire's own)", NULL},
    {0},
};
/* clang-format on */

static const struct field fields[] = {
    {"op", NULL, FIELD_TEXT, 0, false},
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"wire", NULL, FIELD_TEXT, 0, false},
    {"dtype", NULL, FIELD_TEXT, 0, false},
    {"redop", NULL, FIELD_TEXT, 0, false},
    {"ranks", NULL, FIELD_INTEGER, 0, false},
    {"root", NULL, FIELD_INTEGER, 0, false},
    {"bytes", NULL, FIELD_INTEGER, 0, false},
    {"count", NULL, FIELD_INTEGER, 0, false},
    {"rounds", NULL, FIELD_INTEGER, 0, false},
    {"messages", NULL, FIELD_INTEGER, 0, false},
    {"planned_messages", NULL, FIELD_INTEGER, 0, false},
    {"wire_bytes", NULL, FIELD_INTEGER, 0, false},
    {"planned_bytes", NULL, FIELD_INTEGER, 0, false},
    {"time_us", NULL, FIELD_REAL, 2, false},
    {"predicted_us", NULL, FIELD_REAL, 2, false},
    {"bound_us", NULL, FIELD_REAL, 2, false},
    {"wrong", NULL, FIELD_INTEGER, 0, false},
    {"seed", NULL, FIELD_INTEGER, 0, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* What the supervisor makes of the ranks' reports. */
struct result {
    const struct run_job *job;
    struct watch *watch;
    struct run_report total; /* time: of the slowest rank */
    char first_wrong[128];
};

static void on_report(void *context, unsigned rank, const void *data,
                      size_t data_bytes)
{
    struct result *result = context;
    struct run_report *total = &result->total, report;
    if (data_bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    report.miscount[sizeof report.miscount - 1] = 0;
    if (report.wrong > 0 && total->wrong == 0)
        snprintf(result->first_wrong, sizeof result->first_wrong,
                 "rank %u has %" PRIu64 " wrong elements, the first is %" PRId64,
                 rank, report.wrong, (int64_t)report.first_wrong);
    if (*report.miscount && !*total->miscount)
        memcpy(total->miscount, report.miscount, sizeof total->miscount);
    total->wrong += report.wrong;
    total->messages += report.messages;
    total->bytes += report.bytes;
    total->planned_messages += report.planned_messages;
    total->planned_bytes += report.planned_bytes;
    if (report.time_ns > total->time_ns)
        total->time_ns = report.time_ns;
}

static void on_event(void *context, const struct gw_event *event)
{
    struct result *result = context;
    if (recorder_wanted(&recorder))
        recorder_add(&recorder, event);
    if (watching)
        watch_event(result->watch, event);
}

static enum gw_err rank_main(struct gw_comm *comm, struct reporter *report,
                             void *context, struct gw_error *why)
{
    const struct result *result = context;
    return run_rank(comm, report, result->job, why);
}

static enum gw_err launch(struct result *result, struct gw_error *why)
{
    const struct launch launch = {
        .ranks = result->job->plan->ranks,
        .wire = wire,
        .timeout_ns = common.timeout_ns,
        .slice_bytes = slice_bytes,
        .events = watching || recorder_wanted(&recorder),
        .rank_main = rank_main,
        .context = result,
        .on_report = on_report,
        .on_event = on_event,
    };
    struct gw_error unwritten;
    enum gw_err err = launch_run(&launch, why);
    if (recorder_wanted(&recorder) && recorder_write(&recorder, &unwritten) &&
        !err)
        err = gw_fail(why, unwritten.code, "%s", unwritten.text);
    return err;
}

/* The picture is data when the output is a table, else it must not get between
 * the data. */
static FILE *picture(void)
{
    return strcmp(common.output, "table") == 0 ? stdout : stderr;
}

static unsigned picture_width(void)
{
    enum { USUAL = 80 };
    struct winsize size;
    if (ioctl(fileno(picture()), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    return width > 0 ? (unsigned)width : USUAL;
}

static enum gw_err watch_launch(struct result *result, struct gw_error *why)
{
    struct watch watch = {0};
    if (!watching)
        return launch(result, why);
    enum gw_err err = watch_init(&watch, result->job->plan, picture(),
                                 picture_width(), why);
    result->watch = &watch;
    if (!err)
        err = launch(result, why);
    if (!err)
        err = watch_end(&watch, why);
    watch_fini(&watch);
    return err;
}

static enum gw_err judge(const struct result *result, struct gw_error *why)
{
    if (result->total.wrong > 0)
        return gw_fail(why, GW_EWRONG, "%s", result->first_wrong);
    if (*result->total.miscount)
        return gw_fail(why, GW_EWRONG, "%s", result->total.miscount);
    return GW_OK;
}

static enum gw_err print(const struct result *result, enum gw_err err,
                         const struct gw_error *why)
{
    const struct gw_plan *plan = result->job->plan;
    const struct pattern *p = &result->job->pattern;
    size_t elem_bytes = gw_dtype_size(p->type);
    bool reduces = gw_collective_reduces(p->collective);
    bool rooted = gw_collective_rooted(p->collective);
    struct gw_price price = {0};
    struct gw_wire_costs costs;
    struct gw_error output_error;
    bool measured;
    gw_costs(wire, &costs, &measured);
    if (gw_plan_price(plan, p->count, elem_bytes, &costs.model, &price,
                      &output_error))
        return complain(&output_error), output_error.code;
    const union value values[FIELD_COUNT] = {
        {.text = gw_collective_name(p->collective)},
        {.text = *plan->algo ? plan->algo : NULL},
        {.text = wire},
        {.text = gw_dtype_name(p->type)},
        {.text = reduces ? gw_redop_name(p->op) : "none"},
        {.integer = plan->ranks},
        {.integer = rooted ? (int64_t)p->root : -1},
        {.integer = 0},
        {.integer = (int64_t)p->count},
        {.integer = price.rounds},
        {.integer = (int64_t)result->total.messages},
        {.integer = (int64_t)result->total.planned_messages},
        {.integer = (int64_t)result->total.bytes},
        {.integer = (int64_t)result->total.planned_bytes},
        {.real = (double)result->total.time_ns * 1e-3},
        {.real = price.predicted_us},
        {.real = price.bound_us},
        {.integer = (int64_t)result->total.wrong},
        {.integer = (int64_t)p->seed},
    };
    return GW_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * The runner of a stage. The numbers in each message are a function of the
 * step, the virtual stages between which it goes, its micro-batch and its kind,
 * so a late, early, lost, duplicated or overwritten message is a wrong number.
 * Messages differ in length: some take many slices, and some are empty.
 */
#include "edge.h"

#include <gradwire/pipe.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 3, STAGES_MAX = 4, CHUNKS_MAX = 3, MICROS = 12, LARGE = 60000 };

struct trial {
    const struct gw_schedule *schedule;
    const unsigned *ranks; /* of the stages; NULL: in order */
    bool fails;            /* stage 1 fails in step 1 */
    unsigned stage_of[STAGES_MAX];
};

struct stage_runner {
    const struct trial *trial;
    struct gw_comm *comm;
    unsigned stage, step, passes;
    /* The inputs of F and I: they stay valid until B or W. */
    const float *in[CHUNKS_MAX * MICROS], *grad_out[CHUNKS_MAX * MICROS];
};

static unsigned last_of(const struct stage_runner *node)
{
    return node->trial->schedule->stages * node->trial->schedule->chunks - 1;
}

static size_t elements(void *context, unsigned after, unsigned micro)
{
    (void)context;
    if ((after + micro) % 5 == 4)
        return 0;
    return micro == 1 ? LARGE + after : 3 + 7 * after + 13 * micro;
}

/* Gradients may differ in size from activations. */
static size_t gradient_elements(void *context, unsigned after, unsigned micro)
{
    return (after + micro) % 7 == 3 ? 0 : elements(context, after, micro) + 5;
}

static size_t count_of(unsigned after, unsigned micro, bool gradient)
{
    return gradient ? gradient_elements(NULL, after, micro)
                    : elements(NULL, after, micro);
}

/* Number i of the message that leaves virtual stage `after`, or returns to
 * it. */
static float number(const struct stage_runner *node, unsigned after,
                    unsigned micro, bool gradient, size_t i)
{
    static const unsigned primes[] = {2,  3,  5,  7,  11, 13,
                                      17, 19, 23, 29, 31, 37};
    unsigned value = (unsigned)i % 1000 * primes[after] + 31 * micro;
    return (float)(value + 100000 * node->step + (gradient ? 50021 : 0));
}

static bool is_right(struct stage_runner *node, const float *data,
                     unsigned after, unsigned micro, bool gradient)
{
    for (size_t i = 0; i < count_of(after, micro, gradient); i++)
        if (data[i] != number(node, after, micro, gradient, i))
            return false;
    return true;
}

static void put(struct stage_runner *node, float *data, unsigned after,
                unsigned micro, bool gradient)
{
    for (size_t i = 0; data && i < count_of(after, micro, gradient); i++)
        data[i] = number(node, after, micro, gradient, i);
}

static enum gw_err forward(void *context, unsigned chunk, unsigned micro,
                           const float *in, float *out, struct gw_error *why)
{
    struct stage_runner *node = context;
    struct gw_comm *comm = node->comm;
    unsigned k = gw_schedule_virtual(node->trial->schedule, node->stage, chunk);
    MUST(!in == (k == 0) && !out == (k == last_of(node)));
    MUST(!in || is_right(node, in, k - 1, micro, false));
    put(node, out, k, micro, false);
    node->in[chunk * MICROS + micro] = in;
    node->passes++;
    if (node->trial->fails && node->stage == 1 && node->step == 1 && micro == 2)
        return gw_fail(why, GW_ENUMERIC, "the loss is no number");
    return GW_OK;
}

static enum gw_err backward(void *context, unsigned chunk, unsigned micro,
                            enum gw_pass_kind kind, const float *grad_out,
                            float *grad_in, struct gw_error *why)
{
    struct stage_runner *node = context;
    struct gw_comm *comm = node->comm;
    unsigned k = gw_schedule_virtual(node->trial->schedule, node->stage, chunk);
    unsigned place = chunk * MICROS + micro;
    const float *in = node->in[place];
    (void)why;
    MUST(!grad_out == (k == last_of(node)));
    MUST(!grad_in == (k == 0 || kind == GW_BACKWARD_WEIGHT));
    MUST(!in || is_right(node, in, k - 1, micro, false));
    MUST(!grad_out || is_right(node, grad_out, k, micro, true));
    MUST(kind != GW_BACKWARD_WEIGHT || node->grad_out[place] == grad_out);
    if (grad_in)
        put(node, grad_in, k - 1, micro, true);
    node->grad_out[place] = grad_out;
    node->passes++;
    return GW_OK;
}

static const struct gw_stage_work work = {.elements = elements,
                                          .gradient_elements =
                                              gradient_elements,
                                          .forward = forward,
                                          .backward = backward};

/* ---- every schedule ---- */

static struct gw_pipe_config config_of(struct stage_runner *node,
                                       struct gw_sink *events)
{
    return (struct gw_pipe_config){
        .comm = node->comm,
        .ranks = node->trial->ranks,
        .stage = node->stage,
        .schedule = node->trial->schedule,
        .work = &work,
        .context = node,
        .events = events,
        .predicted_us = 1500,
    };
}

static void check_times(const struct stage_runner *node,
                        const struct gw_pipe *pipe, size_t passes)
{
    struct gw_comm *comm = node->comm;
    uint64_t zero_ns;
    const struct gw_pass_time *times = gw_pipe_times(pipe, &zero_ns);
    double at = 0;
    MUST(zero_ns <= gw_now_ns());
    for (size_t i = 0; i < passes; i++) {
        MUST(times[i].ready_us >= at);
        MUST(times[i].begin_us >= times[i].ready_us);
        MUST(times[i].end_us >= times[i].begin_us);
        MUST(times[i].waited_for == GW_NONE ||
             times[i].waited_for < node->trial->schedule->stages);
        at = times[i].end_us;
    }
}

static void run_stage(struct gw_comm *comm, void *context)
{
    const struct trial *trial = context;
    const struct gw_schedule *schedule = trial->schedule;
    struct stage_runner node = {.trial = trial,
                                .comm = comm,
                                .stage = trial->stage_of[gw_comm_rank(comm)]};
    struct gw_pipe_config config = config_of(&node, NULL);
    size_t passes =
        schedule->begin[node.stage + 1] - schedule->begin[node.stage];
    struct gw_pipe *pipe;
    struct gw_error why;
    MUST(gw_pipe_new(&config, &pipe, &why) == GW_OK);
    for (node.step = 0; node.step < STEPS; node.step++) {
        MUST(gw_pipe_step(pipe, node.step, &why) == GW_OK);
        MUST(node.passes == passes * (node.step + 1));
        MUST(gw_pipe_peak(pipe) == gw_schedule_peak(schedule, node.stage));
        check_times(&node, pipe, passes);
    }
    gw_pipe_destroy(&pipe);
    MUST(gw_barrier(comm) == GW_OK); /* the links are empty */
}

/* On the message wires the ranks have the stages in reverse order. */
static void run_schedule(int wire, const char *name, unsigned stages,
                         unsigned micros, unsigned chunks)
{
    static const unsigned reversed[STAGES_MAX][STAGES_MAX] = {
        {0}, {1, 0}, {2, 1, 0}, {3, 2, 1, 0}};
    struct gw_schedule *schedule;
    struct gw_error why = {0};
    enum gw_err err =
        gw_schedule_make(name, stages, micros, chunks, &schedule, &why);
    ck_assert_msg(!err && !gw_schedule_check(schedule, &why), "%s %u x %u: %s",
                  name, stages, micros, why.text);
    struct trial trial = {.schedule = schedule};
    if (wire >= SHM_WIRES)
        trial.ranks = reversed[stages - 1];
    for (unsigned s = 0; s < stages; s++)
        trial.stage_of[trial.ranks ? trial.ranks[s] : s] = s;
    on_wire(wire, stages, 20000, run_stage, &trial);
    gw_schedule_destroy(&schedule);
}

/* shm, shm without windows, ipc. */
enum { TRIED_WIRES = 3 };

START_TEST(each_message_comes_where_it_should)
{
    int wire = _i % TRIED_WIRES;
    unsigned stages = 1 + (unsigned)_i / TRIED_WIRES;
    static const char *const names[] = {"gpipe", "1f1b", "zb-h1"};
    for (unsigned n = 0; n < 3; n++) {
        run_schedule(wire, names[n], stages, MICROS, 1);
        run_schedule(wire, names[n], stages, 1, 1);
        run_schedule(wire, names[n], stages, 3, 1);
    }
    for (unsigned chunks = 1; chunks <= CHUNKS_MAX; chunks++)
        run_schedule(wire, "interleaved", stages, MICROS, chunks);
}
END_TEST

/* The last stage takes its micro-batches in reverse: the first one that it
 * needs is sent last. */
START_TEST(stages_need_not_receive_in_the_order_of_sending)
{
    struct gw_schedule *schedule;
    struct gw_error why = {0};
    ck_assert(!gw_schedule_make("gpipe", 2, MICROS, 1, &schedule, &why));
    struct gw_pass *passes = schedule->passes + schedule->begin[1];
    for (unsigned i = 0; i < MICROS; i++)
        passes[i].micro = (uint16_t)(MICROS - 1 - i);
    ck_assert_msg(!gw_schedule_check(schedule, &why), "%s", why.text);
    struct trial trial = {.schedule = schedule, .stage_of = {0, 1}};
    on_wire(_i, 2, 20000, run_stage, &trial);
    gw_schedule_destroy(&schedule);
}
END_TEST

/* ---- failing ---- */

/* Each rank has the stage of its number. */
static struct gw_pipe *stage_of_rank(struct stage_runner *node,
                                     const struct trial *trial,
                                     struct gw_comm *comm)
{
    struct gw_pipe *pipe;
    struct gw_error why;
    *node = (struct stage_runner){
        .trial = trial, .comm = comm, .stage = gw_comm_rank(comm)};
    struct gw_pipe_config config = config_of(node, NULL);
    MUST(gw_pipe_new(&config, &pipe, &why) == GW_OK);
    return pipe;
}

static void run_failing(struct gw_comm *comm, void *context)
{
    struct stage_runner node;
    struct gw_pipe *pipe = stage_of_rank(&node, context, comm);
    struct gw_error why;
    MUST(gw_pipe_step(pipe, 0, &why) == GW_OK);
    node.step = 1;
    enum gw_err err = gw_pipe_step(pipe, 1, &why);
    MUST(err == GW_ENUMERIC && why.code == GW_ENUMERIC);
    MUST(strcmp(why.text, "stage 1, step 1, F2: the loss is no number") == 0);
    MUST(gw_pipe_step(pipe, 2, &why) == GW_ENUMERIC);
    gw_pipe_destroy(&pipe);
}

/* On a communicator that all ranks have before the first can fail. */
static void fail_on_twin(struct gw_comm *comm, void *context)
{
    struct gw_comm *twin = twin_of(comm);
    run_failing(twin, context);
    gw_comm_destroy(&twin);
}

START_TEST(a_stage_that_fails_ends_all_with_its_error)
{
    struct gw_schedule *schedule;
    struct gw_error why;
    ck_assert_int_eq(gw_schedule_make("1f1b", 3, 8, 1, &schedule, &why), GW_OK);
    struct trial trial = {.schedule = schedule, .fails = true};
    on_wire(_i, 3, 20000, fail_on_twin, &trial);
    gw_schedule_destroy(&schedule);
}
END_TEST

static void leave_early(struct gw_comm *comm, void *context)
{
    struct stage_runner node;
    struct gw_pipe *pipe = stage_of_rank(&node, context, comm);
    struct gw_error why;
    if (node.stage != 1) {
        enum gw_err err = gw_pipe_step(pipe, 4, &why);
        MUST(err == GW_ECLOSED || err == GW_ELOST);
        MUST(node.stage != 2 || strstr(why.text, "stage 2, step 4, F0: "));
        MUST(strstr(why.text, "rank 1 has closed"));
    }
    gw_pipe_destroy(&pipe);
}

static void leave_twin(struct gw_comm *comm, void *context)
{
    struct gw_comm *twin = twin_of(comm);
    leave_early(twin, context);
    gw_comm_destroy(&twin);
}

START_TEST(a_stage_that_goes_is_missed_in_a_pass)
{
    struct gw_schedule *schedule;
    struct gw_error why;
    ck_assert_int_eq(gw_schedule_make("gpipe", 3, 4, 1, &schedule, &why),
                     GW_OK);
    struct trial trial = {.schedule = schedule};
    on_wire(_i, 3, 20000, leave_twin, &trial);
    gw_schedule_destroy(&schedule);
}
END_TEST

static void refuse(struct gw_comm *comm, void *context)
{
    struct trial *trial = context;
    struct stage_runner node = {.trial = trial, .comm = comm};
    struct gw_pipe_config config = config_of(&node, NULL);
    struct gw_pipe *pipe;
    struct gw_error why;
    config.stage = 2;
    MUST(gw_pipe_new(&config, &pipe, &why) == GW_EINVAL && !pipe);
    MUST(strstr(why.text,
                "stage 2: the schedule has 2 stages, numbered from 0"));
    config.stage = 0;
    MUST(gw_pipe_new(&config, &pipe, &why) == GW_EINVAL && !pipe);
    MUST(strstr(why.text, "stage 1 needs rank 1, but there are only 1 ranks"));
}

START_TEST(ranks_that_there_are_not_are_refused)
{
    struct gw_schedule *schedule;
    struct gw_error why;
    ck_assert_int_eq(gw_schedule_make("gpipe", 2, 4, 1, &schedule, &why),
                     GW_OK);
    struct trial trial = {.schedule = schedule};
    on_wire(0, 1, 0, refuse, &trial);
    gw_schedule_destroy(&schedule);
}
END_TEST

/* ---- events ---- */

static void check_events(struct gw_comm *comm, struct gw_sink *sink)
{
    enum { ROOM = 512 };
    static const unsigned passes = 2 * 4 * 2; /* F and B, micros, steps */
    struct gw_event events[ROOM];
    unsigned count[GW_EVENT_KINDS] = {0};
    size_t held = gw_sink_ring_read(sink, events, ROOM, NULL);
    uint64_t peak = 0;
    for (size_t i = 0; i < held; i++) {
        const struct gw_event *e = &events[i];
        count[e->kind]++;
        MUST(e->rank == gw_comm_rank(comm));
        MUST(e->kind != GW_EV_STAGE ||
             (i == 0 && e->peer == e->rank && e->step == 2 && e->op == 4 &&
              e->chunk == 1 && e->value == 1500000));
        MUST(e->kind != GW_EV_PASS_END ||
             events[i - 1].kind == GW_EV_PASS_BEGIN);
        MUST(i == 0 || e->time_ns >= events[i - 1].time_ns);
        peak = e->bytes > peak ? e->bytes : peak;
    }
    MUST(count[GW_EV_STAGE] == 1);
    MUST(count[GW_EV_PASS_BEGIN] == passes);
    MUST(count[GW_EV_PASS_END] == passes);
    MUST(peak == 4); /* gpipe keeps all micro-batches */
    MUST(events[held - 1].bytes == 0);
    /* Stage 1 cannot begin before stage 0 has ended, and stage 0 cannot
     * continue before stage 1 has. */
    MUST(gw_comm_rank(comm) == 1 || count[GW_EV_WAIT] > 0);
}

static void report_stage(struct gw_comm *comm, void *context)
{
    const struct trial *trial = context;
    struct stage_runner node = {
        .trial = trial, .comm = comm, .stage = gw_comm_rank(comm)};
    struct gw_sink *sink;
    struct gw_pipe *pipe;
    struct gw_error why;
    MUST(gw_sink_ring(512, &sink, &why) == GW_OK);
    struct gw_pipe_config config = config_of(&node, sink);
    MUST(gw_pipe_new(&config, &pipe, &why) == GW_OK);
    for (node.step = 0; node.step < 2; node.step++)
        MUST(gw_pipe_step(pipe, node.step, &why) == GW_OK);
    gw_pipe_destroy(&pipe);
    check_events(comm, sink);
    gw_sink_close(&sink);
}

START_TEST(passes_and_waits_are_reported)
{
    struct gw_schedule *schedule;
    struct gw_error why;
    ck_assert_int_eq(gw_schedule_make("gpipe", 2, 4, 1, &schedule, &why),
                     GW_OK);
    struct trial trial = {.schedule = schedule};
    on_wire(0, 2, 0, report_stage, &trial);
    gw_schedule_destroy(&schedule);
}
END_TEST

Suite *suite_pipe_runner(void);

Suite *suite_pipe_runner(void)
{
    Suite *suite = suite_create("pipe runner");
    TCase *tcase = tcase_create("runner");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, each_message_comes_where_it_should, 0,
                        TRIED_WIRES * STAGES_MAX);
    tcase_add_loop_test(tcase, stages_need_not_receive_in_the_order_of_sending,
                        0, WIRES);
    tcase_add_loop_test(tcase, a_stage_that_fails_ends_all_with_its_error, 0,
                        WIRES);
    tcase_add_loop_test(tcase, a_stage_that_goes_is_missed_in_a_pass, 0, WIRES);
    tcase_add_test(tcase, ranks_that_there_are_not_are_refused);
    tcase_add_test(tcase, passes_and_waits_are_reported);
    suite_add_tcase(suite, tcase);
    return suite;
}

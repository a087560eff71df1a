/* SPDX-License-Identifier: MIT
 *
 * A member of a ring dies at every failpoint of the ring's protocols: each
 * place, each rank, rings of 2 to 6 members. The others continue. Their sums
 * match the contributors reported with them (ring_members.h), and they end at
 * the same op with the same state. In rings of 3 the member is also stopped
 * there, and, where the step can fail, it fails.
 *
 *   failpoints [FIRST..LAST]     all cases, or some of them by number
 *
 * The scene that makes a member reach the place:
 *
 *     OP       ops continue
 *     DEATH    another member, beyond the given size, dies in an op
 *     JOIN     another member joins
 *     LEAVE    the member itself leaves
 *
 * Prints one line per case. Exit status 1 if one fails, or, after a run of all
 * cases, if a place was never reached.
 */
#include "ring_members.h"

#include <base/failpoint.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum scene { OP, DEATH, JOIN, LEAVE };
enum who { ANY, FIRST, JOINER }; /* the members that reach it */

static const struct fault_point {
    enum gw__failpoint point;
    enum scene scene;
    enum who who;
} fault_points[] = {
    {GW__AT_RING_BEGUN, OP, ANY},         {GW__AT_RING_MOVE, OP, ANY},
    {GW__AT_RING_CHUNK, OP, ANY},         {GW__AT_RING_MOVED, OP, ANY},
    {GW__AT_RING_COMPLETE, OP, ANY},      {GW__AT_RING_APPLIED, OP, ANY},
    {GW__AT_RING_FREEZE, DEATH, ANY},     {GW__AT_RING_REPORT, DEATH, ANY},
    {GW__AT_RING_REPORTED, DEATH, ANY},   {GW__AT_RING_RECORDED, DEATH, ANY},
    {GW__AT_RING_DECISION, DEATH, ANY},   {GW__AT_RING_DECIDED, DEATH, ANY},
    {GW__AT_RING_CONNECT, DEATH, ANY},    {GW__AT_RING_ADDRESS, DEATH, ANY},
    {GW__AT_RING_ADDRESSES, DEATH, ANY},  {GW__AT_RING_CONNECTED, DEATH, ANY},
    {GW__AT_RECOVER_PLAN, DEATH, ANY},    {GW__AT_RECOVER_CHUNK, DEATH, ANY},
    {GW__AT_RECOVER_MOVED, DEATH, ANY},   {GW__AT_RECOVER_DONE, DEATH, ANY},
    {GW__AT_ADMIT_DUE, JOIN, FIRST},      {GW__AT_ADMIT_PROPOSED, JOIN, FIRST},
    {GW__AT_RING_ADOPT, JOIN, ANY},       {GW__AT_COPY_SEND, JOIN, FIRST},
    {GW__AT_COPY_BLOCK, JOIN, JOINER},    {GW__AT_COPY_READY, JOIN, JOINER},
    {GW__AT_COPY_ADMITTED, JOIN, JOINER}, {GW__AT_COPY_DONE, JOIN, JOINER},
    {GW__AT_RING_BEGUN, JOIN, JOINER},    {GW__AT_RING_LEAVE, LEAVE, ANY},
};
enum { FAULT_POINTS = sizeof fault_points / sizeof *fault_points };

enum {
    SIZE_LEAST = 2,
    SIZE_MOST = 6,
    GENTLE_SIZE = 3, /* size of the rings for stop and fail */
    CASES_MOST = 4096,
    ELEMENTS = 500,
    CASE_S = 60
};

static const struct timespec nap = {.tv_nsec = 500000};
static const uint64_t patience_ns = 15000000000;

struct one {
    const struct fault_point *fault_point;
    unsigned size, rank; /* the joiner's rank: size */
    const char *action;
};
static struct one cases[CASES_MOST];
static unsigned case_count;

/* In shared memory, which outlives killed members. */
struct board {
    struct {
        char text[64];
        _Atomic unsigned issued, applied;
    } commands[MEMBERS_PROCESSES];
    _Atomic uint32_t here[MEMBERS_PROCESSES][GW__FAILPOINTS]; /* in this case */
    _Atomic uint32_t reached[GW__FAILPOINTS]; /* by a victim, ever */
};
static struct board *board;

/* ---- arming ---- */

/* In a member. */
static void apply_command(struct ring_members *members)
{
    struct gw_error why;
    unsigned number = members->number,
             issued = atomic_load(&board->commands[number].issued);
    gw__failpoints_count(board->here[number]);
    if (issued == atomic_load(&board->commands[number].applied))
        return;
    if (gw__failpoints_arm(board->commands[number].text, &why)) {
        fprintf(stderr, "failpoints: %s\n", why.text);
        _exit(2);
    }
    atomic_store(&board->commands[number].applied, issued);
}

static void issue_command(unsigned number, enum gw__failpoint point,
                          const char *action)
{
    memset(board->here[number], 0, sizeof board->here[number]);
    snprintf(board->commands[number].text, sizeof board->commands[number].text,
             "%s=%s", gw__failpoint_info(point)->name, action);
    atomic_fetch_add(&board->commands[number].issued, 1);
}

static void await_command(unsigned number)
{
    uint64_t begin_ns = gw_now_ns();
    while (atomic_load(&board->commands[number].applied) !=
           atomic_load(&board->commands[number].issued)) {
        ck_assert_msg(gw_now_ns() - begin_ns < patience_ns,
                      "member %u begins no op", number);
        nanosleep(&nap, NULL);
    }
}

/* ---- waiting ---- */

static bool was_reached(const struct one *one)
{
    return atomic_load(&board->here[one->rank][one->fault_point->point]) > 0;
}

/* Reports members whose processes have ended as dead, repeatedly: a joiner may
 * become a member when it is already dead. */
static void reap(struct ring_members *members)
{
    for (unsigned i = 0; i < members->plan.processes; i++) {
        if (members->pids[i] > 0 &&
            waitpid(members->pids[i], NULL, WNOHANG) == members->pids[i])
            members->pids[i] = -1;
        if (members->pids[i] < 0)
            members_report_end(members, i);
    }
}

static void await_death(struct ring_members *members, unsigned number)
{
    uint64_t begin_ns = gw_now_ns();
    while (members->pids[number] > 0) {
        reap(members);
        ck_assert_msg(gw_now_ns() - begin_ns < patience_ns,
                      "member %u does not get there", number);
        nanosleep(&nap, NULL);
    }
}

static void await_reached(struct ring_members *members, const struct one *one)
{
    uint64_t begin_ns = gw_now_ns();
    while (!was_reached(one)) {
        reap(members);
        ck_assert_msg(gw_now_ns() - begin_ns < patience_ns,
                      "member %u does not get there", one->rank);
        nanosleep(&nap, NULL);
    }
}

/* All living members do some more ops, so they have recovered. */
static void await_more(struct ring_members *members)
{
    uint64_t ops[MEMBERS_PROCESSES] = {0}, begin_ns = gw_now_ns();
    for (unsigned i = 0; i < members->plan.processes; i++)
        ops[i] = atomic_load(&member_process(members, i)->ops);
    for (unsigned i = 0; i < members->plan.processes; i++)
        while (members->pids[i] > 0 &&
               atomic_load(&member_process(members, i)->go) &&
               atomic_load(&member_process(members, i)->state) !=
                   PROCESS_LEFT &&
               atomic_load(&member_process(members, i)->ops) < ops[i] + 3) {
            reap(members);
            ck_assert_msg(gw_now_ns() - begin_ns < patience_ns,
                          "member %u does not go on: state %d, op %llu, %s", i,
                          atomic_load(&member_process(members, i)->state),
                          (unsigned long long)atomic_load(
                              &member_process(members, i)->op),
                          member_process(members, i)->text);
            nanosleep(&nap, NULL);
        }
}

/* ---- a case ---- */

static void provoke(struct ring_members *members, const struct one *one)
{
    unsigned other = one->size;
    switch (one->fault_point->scene) {
    case OP:
        break;
    case DEATH:
        issue_command(other, GW__AT_RING_MOVE, "kill");
        await_death(members, other);
        break;
    case JOIN:
        members_let_join(members, other);
        break;
    case LEAVE:
        atomic_store(&member_process(members, one->rank)->leaves, true);
        break;
    }
}

static void print_case(const struct one *one, unsigned number,
                       uint64_t begin_ns)
{
    printf("%4u  ring of %u, %s %u, %s=%s: %.0f ms\n", number, one->size,
           one->fault_point->who == JOINER ? "joiner" : "rank", one->rank,
           gw__failpoint_info(one->fault_point->point)->name, one->action,
           (double)(gw_now_ns() - begin_ns) / 1e6);
    fflush(stdout);
}

START_TEST(one_case)
{
    static struct ring_members members;
    const struct one *one = &cases[_i];
    bool extra =
        one->fault_point->scene == DEATH || one->fault_point->scene == JOIN;
    bool stays = strncmp(one->action, "pause", 5) == 0;
    const struct members_plan plan = {
        .members = one->size + (one->fault_point->scene == DEATH),
        .processes = one->size + extra,
        .count = ELEMENTS,
        .before = apply_command};
    uint64_t begin_ns = gw_now_ns();
    memset(board->commands, 0, sizeof board->commands);
    ring_members_start(&members, &plan);
    members_await_all(&members, 2);
    issue_command(one->rank, one->fault_point->point, one->action);
    if (one->fault_point->who != JOINER)
        await_command(one->rank);
    provoke(&members, one);
    await_reached(&members, one);
    atomic_fetch_add(&board->reached[one->fault_point->point], 1);
    if (!stays)
        await_death(&members, one->rank);
    else if (one->fault_point->scene == LEAVE)
        members_await_state(&members, one->rank, PROCESS_LEFT);
    await_more(&members);
    ring_members_end(&members);
    members_stop(&members);
    print_case(one, (unsigned)_i, begin_ns);
}
END_TEST

/* ---- all of them ---- */

static void add(const struct fault_point *fault_point, unsigned size,
                unsigned rank, const char *action)
{
    if (case_count < CASES_MOST)
        cases[case_count++] = (struct one){fault_point, size, rank, action};
}

static void add_size(const struct fault_point *fault_point, unsigned size,
                     const char *action)
{
    unsigned from = fault_point->who == JOINER ? size : 0;
    unsigned to = fault_point->who == ANY ? size : from + 1;
    for (unsigned rank = from; rank < to; rank++)
        add(fault_point, size, rank, action);
}

static void make_cases(void)
{
    for (unsigned p = 0; p < FAULT_POINTS; p++) {
        for (unsigned size = SIZE_LEAST; size <= SIZE_MOST; size++)
            add_size(&fault_points[p], size, "kill");
        add_size(&fault_points[p], GENTLE_SIZE, "pause:30");
        if (gw__failpoint_fails(fault_points[p].point))
            add_size(&fault_points[p], GENTLE_SIZE, "error");
    }
}

/* After a run of all cases. */
static unsigned count_missing(void)
{
    unsigned missing = 0;
    for (unsigned p = 0; p < FAULT_POINTS; p++)
        if (atomic_load(&board->reached[fault_points[p].point]) == 0) {
            printf("failpoint %s was never reached\n",
                   gw__failpoint_info(fault_points[p].point)->name);
            missing++;
        }
    return missing;
}

static bool read_range(int argc, char **argv, unsigned *first, unsigned *last)
{
    *first = 0;
    *last = case_count - 1;
    if (argc == 1)
        return true;
    int read = argc == 2 ? sscanf(argv[1], "%u..%u", first, last) : 0;
    if (read == 1)
        *last = *first;
    else if (*last >= case_count)
        *last = case_count - 1;
    return read > 0 && *first <= *last && *last < case_count;
}

int main(int argc, char **argv)
{
    unsigned first, last, missing = 0;
    make_cases();
    if (!read_range(argc, argv, &first, &last)) {
        fprintf(stderr, "usage: failpoints [FIRST..LAST] of 0..%u\n",
                case_count - 1);
        return 64;
    }
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return 71;
    TCase *all = tcase_create("failpoints");
    tcase_add_loop_test(all, one_case, (int)first, (int)last + 1);
    tcase_set_timeout(all, CASE_S);
    Suite *suite = suite_create("failpoints");
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (first == 0 && last + 1 == case_count)
        missing = count_missing();
    return failed || missing;
}

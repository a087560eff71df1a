/* SPDX-License-Identifier: MIT
 *
 * A member of a ring dies at every failpoint of the ring's protocols: each
 * place, each rank, rings of 2 to 6 members. The others continue. Their sums
 * match the contributors reported with them (ring_crew.h), and they end at the
 * same op with the same state. In rings of 3 the member is also stopped there,
 * and, where the step can fail, it fails.
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
#include "ring_crew.h"

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

static const struct place {
    enum gw__failpoint point;
    enum scene scene;
    enum who who;
} places[] = {
    {GW__AT_RING_BEGUN, OP, ANY},         {GW__AT_RING_MOVE, OP, ANY},
    {GW__AT_RING_CHUNK, OP, ANY},         {GW__AT_RING_MOVED, OP, ANY},
    {GW__AT_RING_COMPLETE, OP, ANY},      {GW__AT_RING_APPLIED, OP, ANY},
    {GW__AT_RING_FREEZE, DEATH, ANY},     {GW__AT_RING_REPORT, DEATH, ANY},
    {GW__AT_RING_REPORTED, DEATH, ANY},   {GW__AT_RING_RECORDED, DEATH, ANY},
    {GW__AT_RING_DECISION, DEATH, ANY},   {GW__AT_RING_DECIDED, DEATH, ANY},
    {GW__AT_RING_MEET, DEATH, ANY},       {GW__AT_RING_ADDRESS, DEATH, ANY},
    {GW__AT_RING_ADDRESSES, DEATH, ANY},  {GW__AT_RING_MET, DEATH, ANY},
    {GW__AT_RECOVER_PLAN, DEATH, ANY},    {GW__AT_RECOVER_CHUNK, DEATH, ANY},
    {GW__AT_RECOVER_MOVED, DEATH, ANY},   {GW__AT_RECOVER_DONE, DEATH, ANY},
    {GW__AT_ADMIT_DUE, JOIN, FIRST},      {GW__AT_ADMIT_PROPOSED, JOIN, FIRST},
    {GW__AT_RING_ADOPT, JOIN, ANY},       {GW__AT_COPY_GIVE, JOIN, FIRST},
    {GW__AT_COPY_PIECE, JOIN, JOINER},    {GW__AT_COPY_READY, JOIN, JOINER},
    {GW__AT_COPY_ADMITTED, JOIN, JOINER}, {GW__AT_COPY_DONE, JOIN, JOINER},
    {GW__AT_RING_BEGUN, JOIN, JOINER},    {GW__AT_RING_LEAVE, LEAVE, ANY},
};
enum { PLACES = sizeof places / sizeof *places };

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
    const struct place *place;
    unsigned size, rank; /* the joiner's rank: size */
    const char *deed;
};
static struct one cases[CASES_MOST];
static unsigned case_count;

/* In shared memory, which outlives killed members. */
struct board {
    struct {
        char text[64];
        _Atomic unsigned given, taken;
    } orders[CREW_SEATS];
    _Atomic uint32_t here[CREW_SEATS][GW__FAILPOINTS]; /* in this case */
    _Atomic uint32_t reached[GW__FAILPOINTS];          /* by a victim, ever */
};
static struct board *board;

/* ---- arming ---- */

/* In a member. */
static void take_order(struct crew *crew)
{
    struct gw_error why;
    unsigned seat = crew->seat, given = atomic_load(&board->orders[seat].given);
    gw__failpoints_count(board->here[seat]);
    if (given == atomic_load(&board->orders[seat].taken))
        return;
    if (gw__failpoints_arm(board->orders[seat].text, &why)) {
        fprintf(stderr, "failpoints: %s\n", why.text);
        _exit(2);
    }
    atomic_store(&board->orders[seat].taken, given);
}

static void order(unsigned seat, enum gw__failpoint point, const char *deed)
{
    memset(board->here[seat], 0, sizeof board->here[seat]);
    snprintf(board->orders[seat].text, sizeof board->orders[seat].text, "%s=%s",
             gw__failpoint_info(point)->name, deed);
    atomic_fetch_add(&board->orders[seat].given, 1);
}

static void await_order(unsigned seat)
{
    uint64_t begin_ns = gw_now_ns();
    while (atomic_load(&board->orders[seat].taken) !=
           atomic_load(&board->orders[seat].given)) {
        ck_assert_msg(gw_now_ns() - begin_ns < patience_ns,
                      "member %u begins no op", seat);
        nanosleep(&nap, NULL);
    }
}

/* ---- waiting ---- */

static bool was_reached(const struct one *one)
{
    return atomic_load(&board->here[one->rank][one->place->point]) > 0;
}

/* Reports members whose processes have ended as dead, repeatedly: a joiner may
 * become a member when it is already dead. */
static void bury(struct crew *crew)
{
    for (unsigned i = 0; i < crew->plan.seats; i++) {
        if (crew->pids[i] > 0 &&
            waitpid(crew->pids[i], NULL, WNOHANG) == crew->pids[i])
            crew->pids[i] = -1;
        if (crew->pids[i] < 0)
            ring_crew_accuse(crew, i);
    }
}

static void await_death(struct crew *crew, unsigned seat)
{
    uint64_t begin_ns = gw_now_ns();
    while (crew->pids[seat] > 0) {
        bury(crew);
        ck_assert_msg(gw_now_ns() - begin_ns < patience_ns,
                      "member %u does not get there", seat);
        nanosleep(&nap, NULL);
    }
}

static void await_reached(struct crew *crew, const struct one *one)
{
    uint64_t begin_ns = gw_now_ns();
    while (!was_reached(one)) {
        bury(crew);
        ck_assert_msg(gw_now_ns() - begin_ns < patience_ns,
                      "member %u does not get there", one->rank);
        nanosleep(&nap, NULL);
    }
}

/* All living members do some more ops, so they have recovered. */
static void await_more(struct crew *crew)
{
    uint64_t ops[CREW_SEATS] = {0}, begin_ns = gw_now_ns();
    for (unsigned i = 0; i < crew->plan.seats; i++)
        ops[i] = atomic_load(&crew_seat(crew, i)->ops);
    for (unsigned i = 0; i < crew->plan.seats; i++)
        while (crew->pids[i] > 0 && atomic_load(&crew_seat(crew, i)->go) &&
               atomic_load(&crew_seat(crew, i)->state) != CREW_LEFT &&
               atomic_load(&crew_seat(crew, i)->ops) < ops[i] + 3) {
            bury(crew);
            ck_assert_msg(
                gw_now_ns() - begin_ns < patience_ns,
                "member %u does not go on: state %d, op %llu, %s", i,
                atomic_load(&crew_seat(crew, i)->state),
                (unsigned long long)atomic_load(&crew_seat(crew, i)->op),
                crew_seat(crew, i)->text);
            nanosleep(&nap, NULL);
        }
}

/* ---- a case ---- */

static void provoke(struct crew *crew, const struct one *one)
{
    unsigned other = one->size;
    switch (one->place->scene) {
    case OP:
        break;
    case DEATH:
        order(other, GW__AT_RING_MOVE, "kill");
        await_death(crew, other);
        break;
    case JOIN:
        crew_go(crew, other);
        break;
    case LEAVE:
        atomic_store(&crew_seat(crew, one->rank)->leaves, true);
        break;
    }
}

static void tell(const struct one *one, unsigned number, uint64_t begin_ns)
{
    printf("%4u  ring of %u, %s %u, %s=%s: %.0f ms\n", number, one->size,
           one->place->who == JOINER ? "joiner" : "rank", one->rank,
           gw__failpoint_info(one->place->point)->name, one->deed,
           (double)(gw_now_ns() - begin_ns) / 1e6);
    fflush(stdout);
}

START_TEST(one_case)
{
    static struct crew crew;
    const struct one *one = &cases[_i];
    bool extra = one->place->scene == DEATH || one->place->scene == JOIN;
    bool stays = strncmp(one->deed, "pause", 5) == 0;
    const struct crew_plan plan = {.members =
                                       one->size + (one->place->scene == DEATH),
                                   .seats = one->size + extra,
                                   .count = ELEMENTS,
                                   .before = take_order};
    uint64_t begin_ns = gw_now_ns();
    memset(board->orders, 0, sizeof board->orders);
    ring_crew_start(&crew, &plan);
    crew_await_all(&crew, 2);
    order(one->rank, one->place->point, one->deed);
    if (one->place->who != JOINER)
        await_order(one->rank);
    provoke(&crew, one);
    await_reached(&crew, one);
    atomic_fetch_add(&board->reached[one->place->point], 1);
    if (!stays)
        await_death(&crew, one->rank);
    else if (one->place->scene == LEAVE)
        crew_await_state(&crew, one->rank, CREW_LEFT);
    await_more(&crew);
    ring_crew_end(&crew);
    crew_stop(&crew);
    tell(one, (unsigned)_i, begin_ns);
}
END_TEST

/* ---- all of them ---- */

static void add(const struct place *place, unsigned size, unsigned rank,
                const char *deed)
{
    if (case_count < CASES_MOST)
        cases[case_count++] = (struct one){place, size, rank, deed};
}

static void add_size(const struct place *place, unsigned size, const char *deed)
{
    unsigned from = place->who == JOINER ? size : 0;
    unsigned to = place->who == ANY ? size : from + 1;
    for (unsigned rank = from; rank < to; rank++)
        add(place, size, rank, deed);
}

static void make_cases(void)
{
    for (unsigned p = 0; p < PLACES; p++) {
        for (unsigned size = SIZE_LEAST; size <= SIZE_MOST; size++)
            add_size(&places[p], size, "kill");
        add_size(&places[p], GENTLE_SIZE, "pause:30");
        if (gw__failpoint_fails(places[p].point))
            add_size(&places[p], GENTLE_SIZE, "error");
    }
}

/* After a run of all cases. */
static unsigned count_missing(void)
{
    unsigned missing = 0;
    for (unsigned p = 0; p < PLACES; p++)
        if (atomic_load(&board->reached[places[p].point]) == 0) {
            printf("failpoint %s was never reached\n",
                   gw__failpoint_info(places[p].point)->name);
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

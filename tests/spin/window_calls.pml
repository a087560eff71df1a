/* SPDX-License-Identifier: MIT
 *
 * Calls over shared memory without messages (lib/coll/window/window.c,
 * fast_path.c, staging.c) as a model for Spin: RANKS ranks make TURNS calls, of
 * any kinds in any order. They synchronise by their control blocks, which have
 * SLOTS slots.
 *
 *   spread    eager: the input of rank 0 is in its control block, and the others
 *             read it
 *   collect   eager: rank 0 reads the control blocks of all
 *   open      all read and store each other's buffers, and wait for each other
 *   staged    the same, but no rank can map the buffers of rank 1, which go
 *             through a staging buffer of two fragments
 *
 * Modelled: slots that are used again, with an input over the counters of the
 * previous call (they share their bytes); ranks that report late that they have
 * left, as those on the fast path do; a staging buffer that is filled and emptied
 * while peers run their passes. Not modelled: the sleep in between
 * (wire/shm/shm_wait.c), and ranks that die.
 *
 * Asserted: a read value is of this call and of this fragment; a value from a
 * staging buffer is complete when it is read; and all calls end.
 *
 * Three models are wrong on purpose. SLOT_ALONE reads only the slot of a rank
 * for its progress: others wait for ever for a rank that has continued.
 * LEFT_FIRST reports that a control block was read before it is. NEVER_WAITS
 * posts on a slot that others still read. check.sh runs all.
 */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef TURNS
#define TURNS 4
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#define FRAGMENTS 2
#define ALL 255 /* fragments, of a buffer that can be mapped */
#define STAGED_RANK 1

mtype = { spread, collect, open, staged };
mtype kind[TURNS];

/* ---- the control blocks, in shared memory ---- */

byte left[RANKS]; /* turns that a rank has ended, at least */
byte entered[RANKS * SLOTS]; /* turn + 1 */
byte input[RANKS * SLOTS]; /* the turn whose input it is, + 1 */
byte filled[RANKS * SLOTS], done[RANKS * SLOTS], drained[RANKS * SLOTS];

/* ---- the stage: the fragment that lies in a slot, all calls' counted through ---- */

byte stage_in[2];
byte stage_out[2 * RANKS]; /* by the rank that stored it */

#define slot(rank) ((rank) * SLOTS + turn % SLOTS)
#define fragment(k) (turn * FRAGMENTS + (k) + 1)
#define is_eager (kind[turn] == spread || kind[turn] == collect)
#define is_staged(rank) (kind[turn] == staged && (rank) == STAGED_RANK)
#define touches(a, b) \
    ((a) != (b) && (!is_eager || (kind[turn] == spread && (b) == 0) || \
                    (kind[turn] == collect && (a) == 0)))
#define has_entered(rank) (entered[slot(rank)] == turn + 1)

/* For all ranks; what they read only grows, so one look does for many. */
#define every(condition) \
    ((RANKS < 1 || condition(0)) && (RANKS < 2 || condition(1)) && \
     (RANKS < 3 || condition(2)))
#define slot_is_free_of(q) (q == me || left[q] + SLOTS > turn)
#define has_come(q) (!touches(me, q) || has_entered(q))
#define has_gone(q) (q == me || left[q] > turn)
#define may_run(q) \
    (q == me || (filled[slot(q)] > ran && drained[slot(q)] + 2 > ran))

/* How far a rank is with the passes that touch the stage. */
#ifdef SLOT_ALONE
#define is_over(q) false
#else
#define is_over(q) (left[q] > turn)
#endif
#define done_by(q) \
    (is_over(q) -> FRAGMENTS : (has_entered(q) -> done[slot(q)] : 0))
#define lets_take(q) (q == me || done_by(q) > taken)
#define lets_put(q) (q == me || done_by(q) + 2 > put)

/* The same in as many looks as it takes, into least_done. */
inline ask(q)
{
    if
    :: is_over(q)
    :: else ->
        if
        :: !has_entered(q) -> least_done = 0
        :: else ->
            if
            :: done[slot(q)] < least_done -> least_done = done[slot(q)]
            :: else
            fi
        fi
    fi
}

inline post()
{
#ifndef NEVER_WAITS
    every(slot_is_free_of);
#endif
    entered[slot(me)] = 0;
    if
    :: is_eager ->
        atomic {
            input[slot(me)] = turn + 1;
            filled[slot(me)] = ALL; /* whatever the input is */
            done[slot(me)] = ALL;
            drained[slot(me)] = ALL
        }
    :: is_eager ->
        atomic {
            input[slot(me)] = turn + 1;
            filled[slot(me)] = 0;
            done[slot(me)] = 0;
            drained[slot(me)] = 0
        }
    :: !is_eager ->
        atomic {
            input[slot(me)] = turn + 1;
            filled[slot(me)] = (is_staged(me) -> 0 : ALL);
            drained[slot(me)] = (is_staged(me) -> 0 : ALL);
            done[slot(me)] = 0
        }
    fi;
    entered[slot(me)] = turn + 1
}

/* Reads the control blocks; no rank waits for the reader. */
inline eager_call()
{
#ifdef LEFT_FIRST
    left[me] = turn + 1;
#endif
    every(has_come);
    q = 0;
    do
    :: q < RANKS ->
        assert(!touches(me, q) || input[slot(q)] == turn + 1);
        q++
    :: else -> break
    od;
    if
    :: left[me] = turn + 1
    :: (turn + 1) % (SLOTS / 2) != 0 -> skip /* the fast path: later */
    fi
}

inline run_fragment()
{
    atomic {
        if
        :: kind[turn] == staged && me != STAGED_RANK ->
            assert(stage_in[ran % 2] == fragment(ran));
            stage_out[ran % 2 * RANKS + me] = fragment(ran)
        :: else
        fi;
        ran++
    };
    done[slot(me)] = ran
}

inline drain()
{
    atomic {
        q = 0;
        do
        :: q < RANKS ->
            assert(q == me || stage_out[taken % 2 * RANKS + q] == fragment(taken));
            q++
        :: else -> break
        od;
        taken++
    };
    drained[slot(me)] = taken
}

/* The owner of a stage looks how far the others are, and moves it on. */
inline move_stage()
{
    least_done = FRAGMENTS;
    q = 0;
    do
    :: q < RANKS && q != me -> ask(q); q++
    :: q == me -> q++
    :: q == RANKS -> break
    od;
    if
    :: taken < FRAGMENTS && taken < least_done -> drain()
    :: else
    fi;
    if
    :: put < FRAGMENTS && put < least_done + 2 ->
        atomic {
            stage_in[put % 2] = fragment(put);
            put++
        };
        filled[slot(me)] = put
    :: else
    fi
}

inline call_with_passes()
{
    every(has_come);
    atomic {
        ran = 0;
        put = (is_staged(me) -> 0 : FRAGMENTS);
        taken = put;
        reported = false
    };
    do
    :: ran < FRAGMENTS && every(may_run) -> run_fragment()
    :: ran == FRAGMENTS && !reported ->
        left[me] = turn + 1;
        reported = true
    :: taken < FRAGMENTS && (every(lets_take) || (put < FRAGMENTS && every(lets_put)))
        -> move_stage()
    :: reported && taken == FRAGMENTS && every(has_gone) -> break
    od
}

proctype rank(byte me)
{
    byte turn, q, ran, put, taken, least_done;
    bool reported;
    do
    :: turn < TURNS ->
        post();
        if
        :: is_eager -> eager_call()
        :: else -> call_with_passes()
        fi;
        atomic {
            q = 0;
            ran = 0;
            put = 0;
            taken = 0;
            least_done = 0;
            reported = false;
            turn++
        }
    :: else -> break
    od
}

init {
    byte i;
    atomic {
        do
        :: i < TURNS ->
            if
            :: kind[i] = spread
            :: kind[i] = collect
#ifndef NO_OPEN
            :: kind[i] = open
#endif
            :: kind[i] = staged
            fi;
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < RANKS -> run rank(i); i++
        :: else -> break
        od
    }
}

/* SPDX-License-Identifier: MIT
 *
 * Calls over shared memory without messages (lib/coll/window/window.c, fast_path.c,
 * stage.c) as a model for Spin: RANKS ranks make TURNS calls, of any kinds in
 * any order, and meet by what stands on their cards, which have SIDES sides.
 *
 *   spread    eager: the input of rank 0 is on its card, the others read it
 *   collect   eager: rank 0 reads the cards of all
 *   open      all read and store each other's buffers, and wait for each other
 *   staged    so, but nobody can map the buffers of rank 1, which go through a
 *             stage of two pieces
 *
 * What is modelled: sides that come free and are used anew, with an input over
 * the counters of the call before (they share their bytes); ranks that tell
 * late that they have left, as those on the fast path do; a stage that is
 * filled and emptied while peers run their passes. Not: the sleep in between
 * (wire/shm/shm_wait.c), and ranks that die.
 *
 * What is asserted: what is read is of this call, and of this piece; what has
 * come back through a stage is there when it is drained; and all calls come to
 * an end.
 *
 * Three models are wrong on purpose. SIDE_ALONE asks only the side of a rank
 * how far it is: who has gone on is waited for, for ever. LEFT_FIRST tells
 * that a card was read before it is. NEVER_WAITS posts on a side that others
 * still read. check.sh runs all.
 */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef TURNS
#define TURNS 4
#endif
#ifndef SIDES
#define SIDES 2
#endif
#define PIECES 2
#define ALL 255 /* pieces, of a buffer that can be mapped */
#define STAGED_RANK 1

mtype = { spread, collect, open, staged };
mtype kind[TURNS];

/* ---- the cards, in shared memory ---- */

byte left[RANKS]; /* turns that a rank has ended, at least */
byte entered[RANKS * SIDES]; /* turn + 1 */
byte input[RANKS * SIDES]; /* the turn whose input it is, + 1 */
byte filled[RANKS * SIDES], done[RANKS * SIDES], drained[RANKS * SIDES];

/* ---- the stage: the piece that lies in a slot, all calls' counted through ---- */

byte stage_in[2];
byte stage_out[2 * RANKS]; /* by who has stored it */

#define side(rank) ((rank) * SIDES + turn % SIDES)
#define piece(k) (turn * PIECES + (k) + 1)
#define is_eager (kind[turn] == spread || kind[turn] == collect)
#define is_staged(rank) (kind[turn] == staged && (rank) == STAGED_RANK)
#define touches(a, b) \
    ((a) != (b) && (!is_eager || (kind[turn] == spread && (b) == 0) || \
                    (kind[turn] == collect && (a) == 0)))
#define has_entered(rank) (entered[side(rank)] == turn + 1)

/* For all ranks; what they read only grows, so one look does for many. */
#define every(condition) \
    ((RANKS < 1 || condition(0)) && (RANKS < 2 || condition(1)) && \
     (RANKS < 3 || condition(2)))
#define side_is_free_of(q) (q == me || left[q] + SIDES > turn)
#define has_come(q) (!touches(me, q) || has_entered(q))
#define has_gone(q) (q == me || left[q] > turn)
#define may_run(q) \
    (q == me || (filled[side(q)] > ran && drained[side(q)] + 2 > ran))

/* How far a rank is with the passes that touch the stage. */
#ifdef SIDE_ALONE
#define is_over(q) false
#else
#define is_over(q) (left[q] > turn)
#endif
#define done_by(q) \
    (is_over(q) -> PIECES : (has_entered(q) -> done[side(q)] : 0))
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
            :: done[side(q)] < least_done -> least_done = done[side(q)]
            :: else
            fi
        fi
    fi
}

inline post()
{
#ifndef NEVER_WAITS
    every(side_is_free_of);
#endif
    entered[side(me)] = 0;
    if
    :: is_eager ->
        atomic {
            input[side(me)] = turn + 1;
            filled[side(me)] = ALL; /* whatever the input is */
            done[side(me)] = ALL;
            drained[side(me)] = ALL
        }
    :: is_eager ->
        atomic {
            input[side(me)] = turn + 1;
            filled[side(me)] = 0;
            done[side(me)] = 0;
            drained[side(me)] = 0
        }
    :: !is_eager ->
        atomic {
            input[side(me)] = turn + 1;
            filled[side(me)] = (is_staged(me) -> 0 : ALL);
            drained[side(me)] = (is_staged(me) -> 0 : ALL);
            done[side(me)] = 0
        }
    fi;
    entered[side(me)] = turn + 1
}

/* Reads the cards; nobody waits for whom reads it. */
inline eager_call()
{
#ifdef LEFT_FIRST
    left[me] = turn + 1;
#endif
    every(has_come);
    q = 0;
    do
    :: q < RANKS ->
        assert(!touches(me, q) || input[side(q)] == turn + 1);
        q++
    :: else -> break
    od;
    if
    :: left[me] = turn + 1
    :: (turn + 1) % (SIDES / 2) != 0 -> skip /* the fast path: later */
    fi
}

inline run_piece()
{
    atomic {
        if
        :: kind[turn] == staged && me != STAGED_RANK ->
            assert(stage_in[ran % 2] == piece(ran));
            stage_out[ran % 2 * RANKS + me] = piece(ran)
        :: else
        fi;
        ran++
    };
    done[side(me)] = ran
}

inline drain()
{
    atomic {
        q = 0;
        do
        :: q < RANKS ->
            assert(q == me || stage_out[taken % 2 * RANKS + q] == piece(taken));
            q++
        :: else -> break
        od;
        taken++
    };
    drained[side(me)] = taken
}

/* The owner of a stage looks how far the others are, and moves it on. */
inline move_stage()
{
    least_done = PIECES;
    q = 0;
    do
    :: q < RANKS && q != me -> ask(q); q++
    :: q == me -> q++
    :: q == RANKS -> break
    od;
    if
    :: taken < PIECES && taken < least_done -> drain()
    :: else
    fi;
    if
    :: put < PIECES && put < least_done + 2 ->
        atomic {
            stage_in[put % 2] = piece(put);
            put++
        };
        filled[side(me)] = put
    :: else
    fi
}

inline call_with_passes()
{
    every(has_come);
    atomic {
        ran = 0;
        put = (is_staged(me) -> 0 : PIECES);
        taken = put;
        told = false
    };
    do
    :: ran < PIECES && every(may_run) -> run_piece()
    :: ran == PIECES && !told ->
        left[me] = turn + 1;
        told = true
    :: taken < PIECES && (every(lets_take) || (put < PIECES && every(lets_put)))
        -> move_stage()
    :: told && taken == PIECES && every(has_gone) -> break
    od
}

proctype rank(byte me)
{
    byte turn, q, ran, put, taken, least_done;
    bool told;
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
            told = false;
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

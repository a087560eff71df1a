/* SPDX-License-Identifier: MIT
 *
 * A member's half of ring.pml: the table of its ops (lib/ring/op_table.h), and
 * the data. A chunk's sum begins at the rank of that number and goes around
 * once; the last rank has the final sum and sends it to all others. After a
 * decision, the holder of a surviving final sum sends it. Otherwise the sum
 * goes around again, and a rank adds the partial sum that it reported, if that
 * fits, or its input.
 */

enum { NO_RANK = NODES };

static int is_final(int i, int op, int chunk)
{
    return now.sum[cell(i, op, chunk)] == now.target[page(i, op)];
}

static int all_final(int i, int op)
{
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        if (!is_final(i, op, chunk))
            return 0;
    return 1;
}

/* ---- the log ---- */

static int has_gone(int i)
{
    return now.view[i] && now.view[i] != now.epoch && !has(now.ring, i);
}

static int may_resume(int i)
{
    return now.frozen[i] && !now.flushing && has(now.ring, i);
}

/* The same, when all have resumed. */
static void forget_when_read(void)
{
    for (int i = 0; i < NODES; i++)
        if (has(now.ring, i) && now.frozen[i])
            return;
    forget_reports();
}

static void forget_op(int i, int op)
{
    int p = page(i, op);
    now.began[p] = now.ranks[p] = 0;
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int at = cell(i, op, chunk);
        now.sum[at] = now.share[at] = now.source[at] = 0;
        now.arrived[at] = now.passed[at] = 0;
    }
}

/* A member that learns that it was declared dead has lost its state. */
static void book_leave(int i)
{
    for (int op = 0; op < OPS; op++) {
        forget_op(i, op);
        now.target[page(i, op)] = 0;
    }
    now.begun[i] = now.used[i] = now.left[i] = now.decided[i] = 0;
    now.members[i] = now.resumed[i] = now.next_op[i] = now.frozen[i] = 0;
    now.view[i] = 0;
}

/* The contribution of rank r to the chunk, which already contains `covered`. */
static unsigned share_of(int r, int op, int chunk, unsigned covered)
{
    unsigned wanted = now.contributors[op];
    unsigned held =
        holds(r, op, now.origin[op]) ? now.report_set[cell(r, op, chunk)] : 0;
    if (held && !(held & ~wanted) && !(held & covered))
        return held;
    return wanted & ~covered & 1u << r;
}

static int holder_of(unsigned ranks, int op, int chunk)
{
    for (int r = 0; r < NODES; r++)
        if (has(ranks, r) && holds(r, op, now.origin[op]) &&
            now.report_set[cell(r, op, chunk)] == now.contributors[op])
            return r;
    return NO_RANK;
}

/* The chain of a chunk begins at the rank of its number. */
static int first_rank(unsigned ranks, int chunk)
{
    int first = 0, skip = chunk % sets_count(ranks);
    while (!has(ranks, first) || skip-- > 0)
        first++;
    return first;
}

static int is_first(int i, unsigned ranks, int chunk)
{
    return first_rank(ranks, chunk) == i;
}

static void recover_chunk(int i, int op, int chunk)
{
    int at = cell(i, op, chunk);
    unsigned ranks = now.ranks[page(i, op)], covered = 0;
    now.passed[at] = 0;
    now.arrived[at] = is_first(i, ranks, chunk);
    now.source[at] = (unsigned char)holder_of(ranks, op, chunk);
    for (int r = 0; r < NODES; r++) {
        unsigned share = has(ranks, r) ? share_of(r, op, chunk, covered) : 0;
        if (r == i)
            now.share[at] = (unsigned char)share;
        covered |= share;
    }
    if (now.source[at] == NO_RANK && covered != now.contributors[op])
        fail("a recovery lacks somebody");
    if (!has(now.begun[i], op) || now.sum[at] != now.contributors[op])
        now.sum[at] = now.share[at];
}

static void resume_op(int i, int op)
{
    int p = page(i, op);
    if (has(now.used[i], op) && now.target[p] != now.contributors[op])
        fail("a result that was used is taken back");
    now.decided[i] |= (unsigned char)(1u << op);
    now.ranks[p] = (unsigned char)part_takers(now.ring, op);
    now.target[p] = now.contributors[op];
    now.began[p] = now.origin[op];
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        recover_chunk(i, op, chunk);
    if (has(now.begun[i], op))
        now.left[i] |= (unsigned char)(1u << op);
}

static void come_to_view(int i)
{
    now.view[i] = now.epoch;
    now.members[i] = now.ring;
}

static void book_resume(int i)
{
    come_to_view(i);
    now.frozen[i] = now.decided[i] = now.left[i] = 0;
    for (int op = 0; op < OPS; op++)
        if (now.decided_in[op] == now.epoch && now.from_op[i] <= op &&
            op + 1 >= now.next_op[i])
            resume_op(i, op);
    forget_when_read();
}

/* In a view with a joiner or another order: an earlier op is finished first. */
static int may_adopt(int i)
{
#ifdef ANY_OP
    return has(now.ring, i) && !now.flushing && !now.frozen[i] &&
           now.view[i] != now.epoch;
#endif
    return has(now.ring, i) && !now.flushing && !now.frozen[i] &&
           now.view[i] != now.epoch &&
           (!now.view[i] || now.next_op[i] >= now.view_from);
}

static void book_adopt(int i)
{
    unsigned in_progress = 1u << now.next_op[i];
    if (now.view[i]) {
        now.begun[i] &= (unsigned char)~in_progress;
        now.left[i] &= (unsigned char)~in_progress;
    }
    come_to_view(i);
}

/* The member that proposes it begins no op before the answer. */
static void book_admit(int i)
{
    log_admit(i);
    book_adopt(i);
}

static void book_order(int i)
{
    log_order(i);
    book_adopt(i);
}

/* ---- ops ---- */

/* Before its first op a joiner makes sure that its copy of the state is valid:
 * all others have completed the op before (lib/ring/ring_state_confirm.c). */
static int is_confirmed(int i)
{
#ifdef NEVER_CONFIRMED
    return 1;
#endif
    if (i != JOINER || !JOINERS || now.next_op[i] != now.from_op[i])
        return 1;
    for (int k = 0; k < NODES; k++)
        if (k != i && has(now.members[i], k) && now.next_op[k] < now.from_op[i])
            return 0;
    return 1;
}

static int may_begin(int i)
{
    return now.view[i] && !now.frozen[i] && now.next_op[i] < OPS &&
           !has(now.begun[i], now.next_op[i]) && !now.left[i] &&
           is_confirmed(i);
}

static void begin_fresh(int i, int op)
{
    int p = page(i, op);
    now.ranks[p] = now.target[p] = now.began[p] =
        (unsigned char)part_takers(now.members[i], op);
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int at = cell(i, op, chunk);
        now.sum[at] = now.share[at] = (unsigned char)(1u << i);
        now.source[at] = NO_RANK;
        now.arrived[at] = is_first(i, now.ranks[p], chunk);
        now.passed[at] = 0;
    }
}

static void book_begin(int i)
{
    int op = now.next_op[i];
    now.begun[i] |= (unsigned char)(1u << op);
    now.left[i] |= (unsigned char)(1u << op);
    if (!has(now.decided[i], op))
        begin_fresh(i, op);
}

static int oldest_left(int i)
{
    return now.left[i] && !now.frozen[i] && now.view[i]
               ? __builtin_ctz(now.left[i])
               : OPS;
}

/* ---- data ---- */

/* The next rank on the way of the chunk; NO_RANK: i is the last. */
static int next_rank(int i, int op, int chunk)
{
    unsigned ranks = now.ranks[page(i, op)];
    int next = i;
    do
        next = (next + 1) % NODES;
    while (!has(ranks, next));
    return is_first(next, ranks, chunk) ? NO_RANK : next;
}

/* The rank that the chunk must be sent to from here; NO_RANK: none. */
static int send_to(int i, int op, int chunk)
{
    int at = cell(i, op, chunk), next = next_rank(i, op, chunk);
    unsigned lacking = now.ranks[page(i, op)] & ~now.passed[at] & ~(1u << i);
    if (now.source[at] != NO_RANK)
        return now.source[at] == i && lacking ? first_of(lacking) : NO_RANK;
    if (!now.arrived[at])
        return NO_RANK;
    if (next == NO_RANK)
        return lacking ? first_of(lacking) : NO_RANK;
    return now.passed[at] ? NO_RANK : next;
}

static int mail_at(int from, int to)
{
    return from * NODES + to;
}

/* A chunk that can be sent; CHUNKS: none. */
static int chunk_to_send(int i, int *to)
{
    int op = oldest_left(i);
    for (int chunk = 0; op < OPS && chunk < CHUNKS; chunk++) {
        *to = send_to(i, op, chunk);
        if (*to != NO_RANK && !now.mail_epoch[mail_at(i, *to)])
            return chunk;
    }
    return CHUNKS;
}

static int may_send(int i)
{
    int to;
    return chunk_to_send(i, &to) < CHUNKS;
}

static void book_send(int i)
{
    int to, op = oldest_left(i), chunk = chunk_to_send(i, &to);
    int at = mail_at(i, to), from = cell(i, op, chunk);
    now.mail_epoch[at] = now.view[i];
    now.mail_op[at] = (unsigned char)op;
    now.mail_chunk[at] = (unsigned char)chunk;
    now.mail_set[at] = now.sum[from];
    now.mail_final[at] =
        now.source[from] == i || next_rank(i, op, chunk) == NO_RANK;
    now.passed[from] |= (unsigned char)(1u << to);
}

/* The op can make no further progress. */
static int is_over(int i, int at)
{
    int op = now.mail_op[at];
#ifndef ANY_EPOCH
    if (now.mail_epoch[at] < now.view[i])
        return 1;
#endif
    return op < now.next_op[i] && !has(now.left[i], op);
}

/* gw__op_table_accepts */
static int accepts(int i, int at)
{
#ifndef ANY_EPOCH
    if (now.mail_epoch[at] != now.view[i])
        return 0;
#endif
    return has(now.begun[i], now.mail_op[at]);
}

static int may_apply(int i, int from)
{
    int at = mail_at(from, i);
    return now.mail_epoch[at] && now.view[i] && !now.frozen[i] &&
           (is_over(i, at) || accepts(i, at));
}

/* Its result may be used from here on, so all must agree. */
static void record_use(int i, int op)
{
    if (!all_final(i, op) || has(now.used[i], op))
        return;
    now.used[i] |= (unsigned char)(1u << op);
    for (int k = 0; k < NODES; k++)
        if (has(now.ring, i) && has(now.ring, k) && has(now.used[k], op) &&
            now.target[page(k, op)] != now.target[page(i, op)])
            fail("two results of one op are used");
}

static void take_final(int i, int op, int chunk, unsigned set)
{
    if (set != now.target[page(i, op)])
        fail("a final sum of others");
    now.sum[cell(i, op, chunk)] = (unsigned char)set;
}

static void take_partial(int i, int op, int chunk, unsigned set)
{
    int at = cell(i, op, chunk);
    if (now.sum[at] & set)
        fail("somebody is added twice");
    now.sum[at] |= (unsigned char)set;
    now.arrived[at] = 1;
    if (next_rank(i, op, chunk) == NO_RANK && !is_final(i, op, chunk))
        fail("a sum ends without somebody");
}

static void book_apply(int i, int from)
{
    int at = mail_at(from, i), op = now.mail_op[at];
    int chunk = now.mail_chunk[at];
    unsigned set = now.mail_set[at];
    if (!is_over(i, at)) {
        if (now.mail_final[at])
            take_final(i, op, chunk, set);
        else
            take_partial(i, op, chunk, set);
        record_use(i, op);
    }
    now.mail_epoch[at] = now.mail_op[at] = now.mail_chunk[at] = 0;
    now.mail_set[at] = now.mail_final[at] = 0;
}

/* ---- the end of an op, and of all ---- */

static int may_end(int i)
{
    int op = oldest_left(i);
    if (op == OPS || !all_final(i, op))
        return 0;
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        if (send_to(i, op, chunk) != NO_RANK)
            return 0;
    return 1;
}

static void book_done(int i)
{
    int op = oldest_left(i);
    unsigned bit = 1u << op;
    record_use(i, op);
    if (!has(now.decided[i], op))
        now.resumed[i] = now.view[i];
    now.left[i] &= (unsigned char)~bit;
    now.decided[i] &= (unsigned char)~bit;
    if (op == now.next_op[i])
        now.next_op[i]++;
    if (op > 0 && op + 1 == now.next_op[i])
        forget_op(i, op - 1);
}

/* No further step is possible. */
static void check_end(void)
{
    for (int i = 0; i < NODES; i++) {
        if (!has(now.ring, i))
            continue;
        if (now.next_op[i] < OPS || now.view[i] != now.epoch)
            fail("somebody waits for ever");
        for (int op = now.from_op[i]; op < OPS; op++)
            if (!has(now.target[page(i, op)], i))
                fail("a survivor is in no result");
    }
}

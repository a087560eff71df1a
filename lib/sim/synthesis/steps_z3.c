/* SPDX-License-Identifier: MIT
 *
 * The question as a formula over truth values (after Cai et al., PPoPP 2021,
 * section 3, with one value per step instead of integers):
 *
 *     sent(c, i, j, s)    chunk c goes from i to j in step s
 *     has(c, i, s)        i has c after step s; step 0: only its owner
 *     more(s, k)          step s has at least k more rounds than one
 *
 *   - a sender has the chunk: sent(c, i, j, s) implies has(c, i, s - 1)
 *   - has(c, j, s) is has(c, j, s - 1) or some sent(c, i, j, s)
 *   - every rank but the owner receives each chunk exactly once
 *   - the chunks over a link in a step are at most its room times the rounds
 *   - all `more` together are at most rounds - steps
 */
#include "steps_solver.h"

#include <stdlib.h>
#include <string.h>
#include <z3.h>

struct formula {
    const struct gw__steps_question *q;
    Z3_context z3;
    Z3_solver solver;
    Z3_ast *sent, *has, *more;
    Z3_ast *terms; /* room for the longest list */
    int *factors;
};

static size_t sent_at(const struct formula *f, unsigned chunk, unsigned src,
                      unsigned dst, unsigned step)
{
    const struct gw__steps_question *q = f->q;
    return (((size_t)chunk * q->ranks + src) * q->ranks + dst) * q->steps +
           step - 1;
}

static Z3_ast has(const struct formula *f, unsigned chunk, unsigned rank,
                  unsigned step)
{
    const struct gw__steps_question *q = f->q;
    return f->has[((size_t)chunk * q->ranks + rank) * (q->steps + 1) + step];
}

static Z3_ast new_value(struct formula *f)
{
    return Z3_mk_fresh_const(f->z3, "v", Z3_mk_bool_sort(f->z3));
}

static void demand(struct formula *f, Z3_ast condition)
{
    Z3_solver_assert(f->z3, f->solver, condition);
}

static size_t sent_count(const struct gw__steps_question *q)
{
    return (size_t)q->chunks * q->ranks * q->ranks * q->steps;
}

static size_t has_count(const struct gw__steps_question *q)
{
    return (size_t)q->chunks * q->ranks * (q->steps + 1);
}

static size_t more_count(const struct gw__steps_question *q)
{
    return (size_t)q->steps * (q->rounds - q->steps);
}

static bool formula_init(struct formula *f, const struct gw__steps_question *q)
{
    size_t terms = sent_count(q) + more_count(q) + 1;
    *f = (struct formula){.q = q};
    f->sent = calloc(sent_count(q), sizeof *f->sent);
    f->has = calloc(has_count(q), sizeof *f->has);
    f->more = calloc(more_count(q) + 1, sizeof *f->more);
    f->terms = calloc(terms, sizeof *f->terms);
    f->factors = calloc(terms, sizeof *f->factors);
    if (!f->sent || !f->has || !f->more || !f->terms || !f->factors)
        return false;
    Z3_config config = Z3_mk_config();
    f->z3 = Z3_mk_context(config);
    Z3_del_config(config);
    Z3_set_error_handler(f->z3, NULL);
    f->solver = Z3_mk_solver(f->z3);
    Z3_solver_inc_ref(f->z3, f->solver);
    return true;
}

static void formula_fini(struct formula *f)
{
    if (f->z3) {
        Z3_solver_dec_ref(f->z3, f->solver);
        Z3_del_context(f->z3);
    }
    free(f->sent);
    free(f->has);
    free(f->more);
    free(f->terms);
    free(f->factors);
}

static void make_values(struct formula *f)
{
    const struct gw__steps_question *q = f->q;
    for (size_t i = 0; i < sent_count(q); i++)
        f->sent[i] = new_value(f);
    for (size_t i = 0; i < more_count(q); i++)
        f->more[i] = new_value(f);
    for (unsigned c = 0; c < q->chunks; c++)
        for (unsigned r = 0; r < q->ranks; r++)
            for (unsigned s = 0; s <= q->steps; s++)
                f->has[((size_t)c * q->ranks + r) * (q->steps + 1) + s] =
                    s > 0              ? new_value(f)
                    : q->owner[c] == r ? Z3_mk_true(f->z3)
                                       : Z3_mk_false(f->z3);
}

/* The constraints of one chunk at one rank. */
static void constrain_receiver(struct formula *f, unsigned c, unsigned dst)
{
    const struct gw__steps_question *q = f->q;
    unsigned all = 0;
    for (unsigned s = 1; s <= q->steps; s++) {
        unsigned begin = all;
        for (unsigned src = 0; src < q->ranks; src++) {
            Z3_ast sent = f->sent[sent_at(f, c, src, dst, s)];
            if (!q->may_send[src * q->ranks + dst] || q->owner[c] == dst) {
                demand(f, Z3_mk_not(f->z3, sent));
                continue;
            }
            demand(f, Z3_mk_implies(f->z3, sent, has(f, c, src, s - 1)));
            f->factors[all] = 1;
            f->terms[all++] = sent;
        }
        f->terms[all] = has(f, c, dst, s - 1);
        demand(f,
               Z3_mk_iff(f->z3, has(f, c, dst, s),
                         Z3_mk_or(f->z3, all - begin + 1, f->terms + begin)));
    }
    if (q->owner[c] != dst)
        demand(f, Z3_mk_pbeq(f->z3, all, f->terms, f->factors, 1));
}

/* The chunks of step s over a link. */
static void constrain_link(struct formula *f, unsigned link, unsigned s)
{
    const struct gw__steps_question *q = f->q;
    unsigned links[GW_PATH_LINKS_MAX], count = 0;
    unsigned extra = q->rounds - q->steps;
    int room = (int)q->link_room[link];
    for (unsigned src = 0; src < q->ranks; src++)
        for (unsigned dst = 0; dst < q->ranks; dst++) {
            unsigned length =
                src == dst ? 0 : gw_topology_path(q->topology, src, dst, links);
            for (unsigned i = 0; i < length; i++)
                for (unsigned c = 0; c < q->chunks && links[i] == link; c++) {
                    f->factors[count] = 1;
                    f->terms[count++] = f->sent[sent_at(f, c, src, dst, s)];
                }
        }
    if (count == 0)
        return;
    for (unsigned k = 0; k < extra; k++) {
        f->factors[count] = room;
        f->terms[count++] =
            Z3_mk_not(f->z3, f->more[(size_t)(s - 1) * extra + k]);
    }
    demand(f, Z3_mk_pble(f->z3, count, f->terms, f->factors,
                         room * (int)(extra + 1)));
}

static void constrain_all(struct formula *f)
{
    const struct gw__steps_question *q = f->q;
    for (unsigned c = 0; c < q->chunks; c++)
        for (unsigned r = 0; r < q->ranks; r++)
            constrain_receiver(f, c, r);
    for (unsigned l = 0; l < gw_topology_links(q->topology); l++)
        for (unsigned s = 1; s <= q->steps && q->link_room[l] > 0; s++)
            constrain_link(f, l, s);
    for (size_t i = 0; i < more_count(q); i++)
        f->factors[i] = 1;
    if (more_count(q) > 0)
        demand(f, Z3_mk_pble(f->z3, (unsigned)more_count(q), f->more,
                             f->factors, (int)(q->rounds - q->steps)));
}

static void read_answer(struct formula *f, struct gw__steps_answer *answer)
{
    const struct gw__steps_question *q = f->q;
    Z3_model model = Z3_solver_get_model(f->z3, f->solver);
    Z3_model_inc_ref(f->z3, model);
    memset(answer->sent, 0, sent_count(q) / q->steps);
    for (size_t i = 0; i < sent_count(q); i++) {
        Z3_ast value;
        if (Z3_model_eval(f->z3, model, f->sent[i], true, &value) &&
            Z3_get_bool_value(f->z3, value) == Z3_L_TRUE)
            answer->sent[i / q->steps] = (uint8_t)(i % q->steps + 1);
    }
    Z3_model_dec_ref(f->z3, model);
}

static void limit_time(struct formula *f)
{
    if (f->q->timeout_ms == 0)
        return;
    Z3_params params = Z3_mk_params(f->z3);
    Z3_params_inc_ref(f->z3, params);
    Z3_params_set_uint(f->z3, params, Z3_mk_string_symbol(f->z3, "timeout"),
                       f->q->timeout_ms);
    Z3_solver_set_params(f->z3, f->solver, params);
    Z3_params_dec_ref(f->z3, params);
}

enum gw_err gw__steps_solve(const struct gw__steps_question *question,
                            struct gw__steps_answer *answer,
                            struct gw_error *why)
{
    struct formula f;
    enum gw_err err = GW_OK;
    answer->exists = false;
    if (!formula_init(&f, question)) {
        formula_fini(&f);
        return gw_fail(why, GW_ENOMEM, "a formula of %u chunks",
                       question->chunks);
    }
    limit_time(&f);
    make_values(&f);
    constrain_all(&f);
    Z3_lbool found = Z3_solver_check(f.z3, f.solver);
    if (found == Z3_L_TRUE) {
        answer->exists = true;
        read_answer(&f, answer);
    } else if (found == Z3_L_UNDEF) {
        err = gw_fail(why, GW_EUNSURE,
                      "z3 found neither a plan of %u steps and %u rounds nor a "
                      "proof that there is none (%.80s)",
                      question->steps, question->rounds,
                      Z3_solver_get_reason_unknown(f.z3, f.solver));
    }
    formula_fini(&f);
    return err;
}

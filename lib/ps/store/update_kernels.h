/* SPDX-License-Identifier: MIT
 *
 * The updaters, for any length of vector. Each update_<isa>.c defines its
 * vectors and includes this file once. It provides
 *
 *     VECTOR_BYTES and reduce_vector.h
 *     root(x)     the square root of each lane
 *
 * A formula is a function on lanes: a vector of columns of one row, or, at the
 * row's end, a single column in lane 0. With g the gradient after scaling:
 *
 *     add       w += g
 *     assign    w = g
 *     sgd       w -= rate (g + l2 w)
 *     momentum  v = momentum v + g + l2 w
 *               w -= rate v
 *     adagrad   n += g²
 *               w -= rate g / (sqrt n + epsilon)
 *     adam      t += 1
 *               m = beta1 m + (1 - beta1) g
 *               v = beta2 v + (1 - beta2) g²
 *               w -= rate M / (sqrt V + epsilon),  M = m / (1 - beta1^t),
 *                                                  V = v / (1 - beta2^t)
 *     ftrl      s = (sqrt(n + g²) - sqrt n) / rate
 *               z += g - s w
 *               n += g²
 *               w = 0 if |z| <= l1, else
 *                   -(z - sign(z) l1) / ((beta + sqrt n) / rate + l2)
 *
 * Adam is algorithm 1 of Kingma and Ba (ICLR 2015); t is the row's own. FTRL is
 * algorithm 1 of McMahan et al. (KDD 2013); w is kept beside z and n, so that a
 * pull is a copy. AdaGrad is Duchi et al. (JMLR 2011), diagonal.
 *
 * A row is w, then v or n, or m and v and t, or z and n: a first and a second
 * array of state, each of the row's width. t is a float: it counts to 2^24 and
 * stays there, where both corrections have long been 1.
 */
#ifndef GW__PS_UPDATE_KERNELS_H
#define GW__PS_UPDATE_KERNELS_H

#include "update_parts.h"

enum { LANES = VECTOR_BYTES / sizeof(float) };

/* The operands of a formula. */
struct lanes {
    f32 w, g, a, b; /* values, gradient, first and second state */
};

struct constants {
    float rate, l1, l2, momentum, epsilon;
    float beta1, beta2, m_part, v_part; /* adam: 1 - beta1, 1 - beta2 */
    float v_scale;                      /* adam: gw__adam_corrections */
    float per_rate, base;               /* ftrl: 1/rate, beta/rate + l2 */
};

typedef void formula(const struct constants *c, struct lanes *x);

struct row_kernel {
    unsigned states; /* arrays of state */
    formula *formula;
};

INLINE f32 get(const float *p, size_t lanes)
{
    f32 x = {p[0]};
    if (lanes > 1)
        memcpy(&x, p, sizeof x);
    return x;
}

INLINE void put(float *p, size_t lanes, f32 x)
{
    if (lanes > 1)
        memcpy(p, &x, sizeof x);
    else
        *p = x[0];
}

/* Processes `lanes` columns of one row: a whole vector or one. */
INLINE void step(struct row_kernel kernel, const struct constants *c,
                 float *row, const float *gradient, size_t width, float scale,
                 size_t lanes)
{
    struct lanes x = {.w = get(row, lanes), .g = get(gradient, lanes) * scale};
    if (kernel.states > 0)
        x.a = get(row + width, lanes);
    if (kernel.states > 1)
        x.b = get(row + 2 * width, lanes);
    kernel.formula(c, &x);
    put(row, lanes, x.w);
    if (kernel.states > 0)
        put(row + width, lanes, x.a);
    if (kernel.states > 1)
        put(row + 2 * width, lanes, x.b);
}

INLINE void update_row(struct row_kernel kernel, const struct constants *c,
                       float *row, const float *gradient, size_t width,
                       float scale)
{
    size_t j = 0;
#pragma GCC unroll 4
    for (; j + LANES <= width; j += LANES)
        step(kernel, c, row + j, gradient + j, width, scale, LANES);
    for (; j < width; j++)
        step(kernel, c, row + j, gradient + j, width, scale, 1);
}

/* Rows without state are processed as one long row. */
INLINE void update_rows(struct row_kernel kernel,
                        const struct gw__update_run *run,
                        const struct constants *c)
{
    size_t width = run->updater->config.width, count = run->count;
    size_t stride = width + kernel.states * width;
    if (kernel.states == 0) {
        width *= count;
        count = 1;
    }
    for (size_t i = 0; i < count; i++)
        update_row(kernel, c, run->rows + i * stride,
                   run->gradients + i * width, width, run->scale);
}

INLINE struct constants constants_of(const struct gw_ps_table_config *config)
{
    return (struct constants){
        .rate = config->rate,
        .l1 = config->l1,
        .l2 = config->l2,
        .momentum = config->momentum,
        .epsilon = config->epsilon,
        .beta1 = config->beta1,
        .beta2 = config->beta2,
    };
}

#define KERNEL(name, states, formula)                                          \
    static void name(struct gw__update_run *run)                               \
    {                                                                          \
        struct constants c = constants_of(&run->updater->config);              \
        update_rows((struct row_kernel){states, formula}, run, &c);            \
    }

INLINE void add_formula(const struct constants *c, struct lanes *x)
{
    (void)c;
    x->w += x->g;
}
KERNEL(add, 0, add_formula)

INLINE void assign_formula(const struct constants *c, struct lanes *x)
{
    (void)c;
    x->w = x->g;
}
KERNEL(assign, 0, assign_formula)

INLINE void sgd_formula(const struct constants *c, struct lanes *x)
{
    x->w -= c->rate * (x->g + c->l2 * x->w);
}
KERNEL(sgd, 0, sgd_formula)

INLINE void momentum_formula(const struct constants *c, struct lanes *x)
{
    x->a = c->momentum * x->a + (x->g + c->l2 * x->w);
    x->w -= c->rate * x->a;
}
KERNEL(momentum, 1, momentum_formula)

INLINE void adagrad_formula(const struct constants *c, struct lanes *x)
{
    x->a += x->g * x->g;
    x->w -= c->rate * x->g / (root(x->a) + c->epsilon);
}
KERNEL(adagrad, 1, adagrad_formula)

/* c->rate and c->v_scale include the corrections. */
INLINE void adam_formula(const struct constants *c, struct lanes *x)
{
    x->a = c->beta1 * x->a + c->m_part * x->g;
    x->b = c->beta2 * x->b + c->v_part * (x->g * x->g);
    x->w -= c->rate * x->a / (root(x->b * c->v_scale) + c->epsilon);
}

static void adam(struct gw__update_run *run)
{
    const struct gw_ps_table_config *config = &run->updater->config;
    struct constants c = constants_of(config);
    size_t width = config->width, stride = 3 * width + 1;
    c.m_part = 1 - c.beta1;
    c.v_part = 1 - c.beta2;
    for (size_t i = 0; i < run->count; i++) {
        float *row = run->rows + i * stride, *t = row + 3 * width;
        *t += 1;
        if (*t != run->adam.t)
            run->adam = gw__adam_correct(config, *t);
        c.rate = run->adam.rate;
        c.v_scale = run->adam.v_scale;
        update_row((struct row_kernel){2, adam_formula}, &c, row,
                   run->gradients + i * width, width, run->scale);
    }
}

INLINE f32 clamp(f32 x, float most)
{
    f32 top = (f32){0} + most;
    vec y = pick((vec)(x > top), (vec)top, (vec)x);
    return (f32)pick((vec)(x < -top), (vec)-top, y);
}

/* z - clamp(z) is 0 where |z| <= l1, and z - sign(z) l1 elsewhere; 0 - that
 * leaves no -0 where the weight is 0. */
INLINE void ftrl_formula(const struct constants *c, struct lanes *x)
{
    f32 squared = x->g * x->g, n = x->b + squared, after = root(n);
    f32 sigma = (after - root(x->b)) * c->per_rate;
    x->a += x->g - sigma * x->w;
    x->b = n;
    x->w = (0 - (x->a - clamp(x->a, c->l1))) / (after * c->per_rate + c->base);
}

static void ftrl(struct gw__update_run *run)
{
    const struct gw_ps_table_config *config = &run->updater->config;
    struct constants c = constants_of(config);
    c.per_rate = 1 / c.rate;
    c.base = config->beta * c.per_rate + c.l2;
    update_rows((struct row_kernel){2, ftrl_formula}, run, &c);
}

/* ---- values that are not finite ---- */

/* True in lanes whose exponent bits are all set. */
INLINE vec bad_lanes(const float *p)
{
    enum { EXPONENT = 0x7f800000 };
    u32 x;
    memcpy(&x, p, sizeof x);
    return (vec)((x & EXPONENT) == EXPONENT);
}

INLINE bool any(vec x)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof x / sizeof sum; i++)
        sum |= x[i];
    return sum != 0;
}

INLINE bool is_bad(float value)
{
    return !(__builtin_fabsf(value) <= __FLT_MAX__);
}

/* Checks blocks of vectors, then the values of the first block with a hit. */
static size_t first_bad(const float *values, size_t count)
{
    enum { STRIDE = 8 * LANES };
    size_t i = 0;
    for (; i + STRIDE <= count; i += STRIDE) {
        vec bad = {0};
#pragma GCC unroll 8
        for (size_t k = 0; k < STRIDE; k += LANES)
            bad |= bad_lanes(values + i + k);
        if (any(bad))
            break;
    }
    while (i < count && !is_bad(values[i]))
        i++;
    return i;
}

#define KERNELS                                                                \
    {                                                                          \
        [GW_PS_ADD] = add, [GW_PS_ASSIGN] = assign, [GW_PS_SGD] = sgd,         \
        [GW_PS_MOMENTUM] = momentum, [GW_PS_ADAGRAD] = adagrad,                \
        [GW_PS_ADAM] = adam, [GW_PS_FTRL] = ftrl                               \
    }

#endif

/* SPDX-License-Identifier: MIT
 *
 * Finds coefficients from times, by non-negative least squares of the relative
 * errors,
 *
 *     minimise  sum over samples of  w (predicted / measured - 1)^2,  all >= 0
 *
 * by coordinate descent on the normal equations (Franc, Hlavac, Navara,
 * "Sequential coordinate-wise algorithm for the non-negative least squares
 * problem", 2005): each coefficient in turn takes its best value, or 0. A few
 * rounds with w = 1 / |error| of the round before minimise the sum of the
 * errors, not of their squares, so that disturbed samples count little.
 */
#include "cost_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, SWEEPS = 3000, N = GW_COEFFICIENTS_MAX };
#define ERROR_LEAST 0.03

/* matrix * x = right, in units in which each coefficient's samples have length
 * 1. */
struct system {
    double matrix[N][N], right[N], norm[N], x[N];
};

static void add_sample(struct system *s, const struct gw__sample *sample,
                       double weight)
{
    double row[N];
    for (unsigned i = 0; i < N; i++)
        row[i] =
            s->norm[i] > 0 ? sample->features[i] / sample->us / s->norm[i] : 0;
    for (unsigned i = 0; i < N; i++) {
        if (row[i] == 0)
            continue;
        s->right[i] += weight * row[i];
        for (unsigned j = 0; j < N; j++)
            s->matrix[i][j] += weight * row[i] * row[j];
    }
}

static void solve(struct system *s)
{
    double moved = 1;
    for (unsigned sweep = 0; sweep < SWEEPS && moved > 1e-9; sweep++) {
        moved = 0;
        for (unsigned i = 0; i < N; i++) {
            if (s->matrix[i][i] <= 0)
                continue;
            double rest = s->right[i];
            for (unsigned j = 0; j < N; j++)
                rest -= s->matrix[i][j] * s->x[j];
            double better = fmax(0, s->x[i] + rest / s->matrix[i][i]);
            moved = fmax(moved, fabs(better - s->x[i]));
            s->x[i] = better;
        }
    }
}

/* Are both for the same kind of bytes, like "move_us_per_byte_32M" and
 * "move_us_per_byte_8M"? */
static bool are_kin(unsigned a, unsigned b)
{
    const char *x = gw_coefficient_name(a, NULL),
               *y = gw_coefficient_name(b, NULL);
    const char *end = x ? strstr(x, "_byte_") : NULL;
    return end && y && strncmp(x, y, (size_t)(end - x) + 6) == 0;
}

/* Keeps the coefficients of neighbouring sizes similar if one of them hardly
 * occurs in the samples, as if a tenth of the lower one's samples had its
 * size. */
static void add_kinship(struct system *s)
{
    const double part = 0.1;
    for (unsigned i = 1; i < N; i++) {
        if (s->norm[i] <= 0 || s->norm[i - 1] <= 0 || !are_kin(i, i - 1))
            continue;
        double here = part * s->norm[i - 1] / s->norm[i];
        s->matrix[i][i] += here * here;
        s->matrix[i - 1][i - 1] += part * part;
        s->matrix[i][i - 1] -= here * part;
        s->matrix[i - 1][i] -= here * part;
    }
}

static double error_of(const struct system *s, const struct gw__sample *sample)
{
    double us = 0;
    for (unsigned i = 0; i < N; i++)
        if (s->norm[i] > 0)
            us += sample->features[i] * s->x[i] / s->norm[i];
    return fabs(us / sample->us - 1);
}

static void weigh(struct system *s, const struct gw__sample *samples,
                  size_t count)
{
    memset(s->norm, 0, sizeof s->norm);
    for (size_t k = 0; k < count; k++)
        for (unsigned i = 0; i < N; i++) {
            double part = samples[k].features[i] / samples[k].us;
            s->norm[i] += part * part;
        }
    for (unsigned i = 0; i < N; i++)
        s->norm[i] = sqrt(s->norm[i]);
}

bool gw__fit(const struct gw__sample *samples, size_t count,
             double coefficients[GW_COEFFICIENTS_MAX])
{
    struct system *s = calloc(1, sizeof *s);
    double *weight = calloc(count + 1, sizeof *weight);
    bool room = s && weight;
    if (room)
        weigh(s, samples, count);
    for (size_t k = 0; room && k < count; k++)
        weight[k] = 1;
    for (unsigned round = 0; room && round < ROUNDS; round++) {
        memset(s->matrix, 0, sizeof s->matrix);
        memset(s->right, 0, sizeof s->right);
        for (size_t k = 0; k < count; k++)
            add_sample(s, &samples[k], weight[k]);
        add_kinship(s);
        solve(s);
        for (size_t k = 0; k < count; k++)
            weight[k] = 1 / fmax(error_of(s, &samples[k]), ERROR_LEAST);
    }
    for (unsigned i = 0; room && i < N; i++) {
        coefficients[i] = s->norm[i] > 0 ? s->x[i] / s->norm[i] : 0;
        if (i > 0 && s->norm[i] <= 0 && are_kin(i, i - 1))
            coefficients[i] = coefficients[i - 1];
    }
    free(weight);
    free(s);
    return room;
}

/* SPDX-License-Identifier: MIT
 *
 * The inner loops of word2vec for vectors of VECTOR_BYTES; the macro TRAIN is
 * the name of the function. A dot product has 16 partial sums on each CPU and
 * adds them in one order; products and sums are rounded separately. So all CPUs
 * give the same bits.
 *
 * Threads that share vectors race here on purpose: a lost step is one of
 * millions (Niu, Recht, Re, Wright: "Hogwild!", NIPS 2011).
 *
 * The including file must have included word2vec.h, unlocked.h,
 * logistic_table.h and string.h.
 */
typedef float vector __attribute__((vector_size(VECTOR_BYTES)));

enum { STEP = VECTOR_BYTES / 4, VECTORS = GW__LANES / STEP };

#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const float *p)
{
    vector x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void store(float *p, vector x)
{
    memcpy(p, &x, sizeof x);
}

/* Adds 16 lanes by adding halves four times. */
INLINE float add_up(vector *sums)
{
    float a[GW__LANES / 2];
    for (int k = 0; k < VECTORS / 2; k++)
        store(a + k * STEP, sums[k] + sums[k + VECTORS / 2]);
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

INLINE float dot(const float *a, const float *b, size_t count)
{
    vector sums[VECTORS] = {{0}};
    for (size_t i = 0; i < count; i += GW__LANES)
        for (size_t k = 0; k < VECTORS; k++)
            sums[k] += load(a + i + k * STEP) * load(b + i + k * STEP);
    return add_up(sums);
}

/* error += step out;  out += step in */
INLINE void move_out(float *restrict error, float *restrict out,
                     const float *restrict in, float step, size_t count)
{
    for (size_t i = 0; i < count; i += STEP) {
        vector old = load(out + i);
        store(error + i, load(error + i) + step * old);
        store(out + i, old + step * load(in + i));
    }
}

INLINE void move_in(float *restrict in, const float *restrict error,
                    size_t count)
{
    for (size_t i = 0; i < count; i += STEP)
        store(in + i, load(in + i) + load(error + i));
}

__attribute__((no_sanitize("thread"))) void
TRAIN(const struct gw__vectors *vectors, const struct gw__pairs *pairs,
      float *error, struct gw_sample_sums *sums)
{
    const struct gw__logistic_table *table = gw__logistic_table();
    size_t stride = vectors->stride;
    for (size_t i = 0; i < pairs->count; i++) {
        const struct gw__pair *pair = &pairs->pair[i];
        const uint32_t *targets = pairs->targets + pair->first;
        float *in = vectors->in + pair->in * stride;
        float true_score = 0, loss = 0;
        bool first = true; /* the true word's score exceeds all others */
        memset(error, 0, stride * sizeof *error);
        for (uint32_t k = 0; k < pair->count; k++) {
            float *out = vectors->out + targets[k] * stride;
            float score = dot(in, out, stride);
            struct gw__logistic_entry entry =
                gw__logistic_lookup(table, k == 0 ? -score : score);
            if (k == 0)
                true_score = score;
            else
                first &= true_score > score;
            loss += entry.loss;
            float slope = k == 0 ? -entry.slope : entry.slope;
            uint32_t writes =
                gw__row_write_begin(vectors->out_writes, targets[k]);
            move_out(error, out, in, -slope * pair->rate, stride);
            gw__row_write_end(vectors->out_writes, targets[k], writes);
        }
        uint32_t writes = gw__row_write_begin(vectors->in_writes, pair->in);
        move_in(in, error, stride);
        gw__row_write_end(vectors->in_writes, pair->in, writes);
        sums->loss += (double)loss;
        sums->right += first && true_score == true_score;
    }
    sums->samples += pairs->count;
}

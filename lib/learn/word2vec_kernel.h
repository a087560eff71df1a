/* SPDX-License-Identifier: MIT
 *
 * The inner loops of word2vec, as text for vectors of VECTOR_BYTES; TRAIN names
 * the function that it makes. A dot product keeps 16 sums whatever the CPU, and
 * adds them up in one order; products and sums are rounded one by one. So all
 * CPUs of a kind find the same bits.
 *
 * Threads that share vectors race in here, on purpose: a lost step is one of
 * millions (Niu, Recht, Re, Wright: "Hogwild!", NIPS 2011).
 *
 * Whoever includes this has included word2vec.h, logistic_table.h and string.h.
 */
enum { VECTOR_LANES = VECTOR_BYTES / 4, VECTORS = GW__LANES / VECTOR_LANES };

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));

struct lanes {
    vector part[VECTORS];
};

#define INLINE static inline __attribute__((always_inline))

INLINE float sum_of(const struct lanes *sums)
{
    float lane[GW__LANES];
    memcpy(lane, sums, sizeof lane);
    for (int half = GW__LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

INLINE float dot(const float *a, const float *b, size_t count)
{
    struct lanes sums = {0}, x, y;
    for (size_t i = 0; i < count; i += GW__LANES) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        for (int k = 0; k < VECTORS; k++)
            sums.part[k] += x.part[k] * y.part[k];
    }
    return sum_of(&sums);
}

/* error += step out;  out += step in */
INLINE void move_out(float *error, float *out, const float *in, float step,
                     size_t count)
{
    struct lanes e, o, x;
    for (size_t i = 0; i < count; i += GW__LANES) {
        memcpy(&e, error + i, sizeof e);
        memcpy(&o, out + i, sizeof o);
        memcpy(&x, in + i, sizeof x);
        for (int k = 0; k < VECTORS; k++) {
            e.part[k] += step * o.part[k];
            o.part[k] += step * x.part[k];
        }
        memcpy(error + i, &e, sizeof e);
        memcpy(out + i, &o, sizeof o);
    }
}

INLINE void move_in(float *in, const float *error, size_t count)
{
    struct lanes e, x;
    for (size_t i = 0; i < count; i += GW__LANES) {
        memcpy(&e, error + i, sizeof e);
        memcpy(&x, in + i, sizeof x);
        for (int k = 0; k < VECTORS; k++)
            x.part[k] += e.part[k];
        memcpy(in + i, &x, sizeof x);
    }
}

__attribute__((no_sanitize("thread"))) void
TRAIN(const struct gw__vectors *vectors, const struct gw__pairs *pairs,
      float *error, struct gw_unit_sums *sums)
{
    const struct gw__logistic_table *table = gw__logistic_table();
    size_t stride = vectors->stride;
    for (size_t i = 0; i < pairs->count; i++) {
        const struct gw__pair *pair = &pairs->pair[i];
        const uint32_t *targets = pairs->targets + pair->first;
        float *in = vectors->in + pair->in * stride;
        float true_score = 0, best = -1e30f, loss = 0;
        memset(error, 0, stride * sizeof *error);
        for (uint32_t k = 0; k < pair->count; k++) {
            float *out = vectors->out + targets[k] * stride;
            float score = dot(in, out, stride);
            struct gw__logistic_entry told =
                gw__logistic_look(table, k == 0 ? -score : score);
            if (k == 0)
                true_score = score;
            else
                best = score > best ? score : best;
            loss += told.loss;
            float slope = k == 0 ? -told.slope : told.slope;
            move_out(error, out, in, -slope * pair->rate, stride);
        }
        move_in(in, error, stride);
        sums->loss += (double)loss;
        sums->right += true_score > best;
    }
    sums->samples += pairs->count;
}

/* SPDX-License-Identifier: MIT
 *
 * xoshiro256** by Blackman and Vigna (2018), whose state is filled by
 * splitmix64, so that similar seeds give unrelated sequences.
 */
#include <gradwire/base.h>

#include <assert.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

void gw_rng_seed(struct gw_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->state[i] = splitmix64(&seed);
}

uint64_t gw_rng_next(struct gw_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t gw_rng_below(struct gw_rng *rng, uint64_t bound)
{
    assert(bound > 0);
    /* Values below 2^64 mod bound would make small results more likely. */
    uint64_t unfair = (0 - bound) % bound;
    uint64_t value;
    do
        value = gw_rng_next(rng);
    while (value < unfair);
    return value % bound;
}

double gw_rng_unit(struct gw_rng *rng)
{
    return (double)(gw_rng_next(rng) >> 11) * 0x1p-53;
}

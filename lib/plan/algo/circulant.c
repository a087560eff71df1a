/* SPDX-License-Identifier: MIT
 *
 * Ceil-halving: skip[k] = ceil(skip[k+1] / 2) = ceil(p / 2^(q-k)). The skips
 * below skip[k] sum to at least skip[k] - 1, so every distance up to p is a sum
 * of different skips.
 */
#include "circulant.h"

unsigned gw__circulant_skips(unsigned ranks, unsigned skips[GW__CIRCULANT_MAX])
{
    unsigned q = 0;
    while (1U << q < ranks)
        q++;
    skips[q] = ranks;
    for (unsigned k = q; k > 0; k--)
        skips[k - 1] = (skips[k] + 1) / 2;
    return q;
}

/* SPDX-License-Identifier: MIT
 *
 * The log loss of one score, without overflow and with all digits of small
 * losses: exponents are never positive. A NaN has loss and slope NaN, and is
 * never correct.
 */
#ifndef GW__LOGISTIC_H
#define GW__LOGISTIC_H

#include <math.h>
#include <stdbool.h>

struct gw__logistic {
    double loss;  /* log(1 + e^z) - y z */
    double slope; /* d loss / d z = 1 / (1 + e^-z) - y */
    bool right;
};

static inline struct gw__logistic gw__logistic(double z, bool positive)
{
    double small = exp(-fabs(z));
    double p = z > 0 ? 1 / (1 + small) : small / (1 + small);
    bool right = positive ? z > 0 : z <= 0;
    return (struct gw__logistic){
        .loss = right ? log1p(small) : log1p(small) + fabs(z),
        .slope = positive ? p - 1 : p,
        .right = right,
    };
}

#endif

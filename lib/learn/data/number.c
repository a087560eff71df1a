/* SPDX-License-Identifier: MIT
 *
 * The less common cases of reading a decimal number; see number.h.
 */
#include "number.h"

#include <assert.h>
#include <stdlib.h>

static const double powers[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

enum { EXACT_POWER_MAX = sizeof powers / sizeof *powers - 1 };

static const char *exponent(const char *at, struct gw__decimal *d)
{
    enum { FAR = 100000 }; /* beyond the range of f64: zero or infinity */
    const char *digit = at + 1;
    bool negative = *digit == '-';
    digit += negative || *digit == '+';
    if (!gw__is_digit(*digit))
        return at;
    int power = 0;
    for (; gw__is_digit(*digit); digit++)
        power = power < FAR ? power * 10 + (*digit - '0') : power;
    d->exponent += negative ? -power : power;
    return digit;
}

const char *gw__number_tail(const char *at, struct gw__decimal *d)
{
    if (*at == '.') {
        const char *fraction = at + 1;
        at = gw__digits(fraction, d);
        /* strtod handles fractions whose length exceeds an int. */
        d->exponent = at - fraction < 1000 ? -(int)(at - fraction) : -1000;
    }
    if (d->any && (*at == 'e' || *at == 'E'))
        at = exponent(at, d);
    return at;
}

bool gw__number_is_exact(const struct gw__decimal *d)
{
    return d->digit_count <= 19 && d->digits <= UINT64_C(1) << 53 &&
           d->exponent >= -EXACT_POWER_MAX && d->exponent <= EXACT_POWER_MAX;
}

double gw__number_exact(const struct gw__decimal *d)
{
    double digits = (double)d->digits;
    return d->exponent < 0 ? digits / powers[-d->exponent]
                           : digits * powers[d->exponent];
}

double gw__number_slow(const char *begin, const char *end, locale_t c_locale)
{
    char *stopped;
    double value = strtod_l(begin, &stopped, c_locale);
    assert(stopped == end);
    return value;
}

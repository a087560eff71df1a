/* SPDX-License-Identifier: MIT
 *
 * Fast parser of decimal numbers: [+-]digits[.digits][e[+-]digits]. Nearly all
 * numbers in data files have at most 15 digits and a small power of ten. Then
 * digits and power are exact in f64, and one multiplication or division rounds
 * correctly (Clinger, "How to read floating point numbers accurately", 1990).
 * Other numbers of this form go to strtod; "inf", "nan" and hexadecimal numbers
 * are not accepted.
 */
#ifndef GW__NUMBER_H
#define GW__NUMBER_H

#include <base/source.h>

/* For strtod in the C locale; see gw__number_slow. */
#include <locale.h>

struct gw__decimal {
    uint64_t digits;      /* valid if digit_count <= 19 */
    unsigned digit_count; /* without leading zeros */
    int exponent;         /* the number is digits * 10^exponent */
    bool any;             /* at least one digit was found */
};

static inline const char *gw__digits(const char *at, struct gw__decimal *d)
{
    for (; gw__is_digit(*at); at++) {
        d->digits = d->digits * 10 + (uint64_t)(*at - '0');
        d->digit_count += d->digit_count || *at != '0';
        d->any = true;
    }
    return at;
}

/* Reads fraction and exponent, if any; returns the end. An "e" without digits
 * is not part of the number. */
const char *gw__number_tail(const char *at, struct gw__decimal *d);
/* Converts [begin, end) by strtod, in the locale `c_locale`. */
double gw__number_slow(const char *begin, const char *end, locale_t c_locale);
double gw__number_exact(const struct gw__decimal *d);
bool gw__number_is_exact(const struct gw__decimal *d);

/* Reads the number at `at`; a character that cannot continue it must follow.
 * Returns its end, or `at` if there is none. */
static inline const char *gw__number(const char *at, double *value,
                                     locale_t c_locale)
{
    struct gw__decimal d = {0};
    const char *begin = at;
    bool negative = *at == '-';
    at += negative || *at == '+';
    at = gw__digits(at, &d);
    bool short_integer = d.any && d.digit_count <= 15 && *at != '.' &&
                         (*at | ('a' ^ 'A')) != 'e';
    if (short_integer) {
        *value = negative ? -(double)d.digits : (double)d.digits;
        return at;
    }
    at = gw__number_tail(at, &d);
    if (!d.any)
        return begin;
    if (gw__number_is_exact(&d))
        *value = negative ? -gw__number_exact(&d) : gw__number_exact(&d);
    else
        *value = gw__number_slow(begin, at, c_locale);
    return at;
}

#endif

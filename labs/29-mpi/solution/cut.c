/* SPDX-License-Identifier: MIT
 *
 * The rows of the plate that a rank has: n / ranks, and the first n % ranks have
 * one more.
 */
#include "plate.h"

int rows_of(int rank, int ranks, int n)
{
    return n / ranks + (rank < n % ranks);
}

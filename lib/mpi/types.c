/* SPDX-License-Identifier: MIT
 *
 * See types.h. Only what the library computes exactly as MPI defines it is in
 * the tables: sums, products, minima, maxima and bits of integers and of floats
 * that have a type of the library. Logical operations stay with the MPI, which
 * knows its representation of .TRUE.; so do pairs, long double and products of
 * complex numbers.
 */
#include "types.h"

#include <limits.h>

/* The MPI's type, the C type: an integer's size and sign decide. */
#define INTEGERS(X)                                                            \
    X(MPI_INT, int)                                                            \
    X(MPI_LONG, long)                                                          \
    X(MPI_UNSIGNED, unsigned)                                                  \
    X(MPI_UNSIGNED_LONG, unsigned long)                                        \
    X(MPI_LONG_LONG_INT, long long)                                            \
    X(MPI_UNSIGNED_LONG_LONG, unsigned long long)                              \
    X(MPI_INT64_T, int64_t)                                                    \
    X(MPI_UINT64_T, uint64_t)                                                  \
    X(MPI_INT32_T, int32_t)                                                    \
    X(MPI_UINT32_T, uint32_t)                                                  \
    X(MPI_INT16_T, int16_t)                                                    \
    X(MPI_UINT16_T, uint16_t)                                                  \
    X(MPI_INT8_T, int8_t)                                                      \
    X(MPI_UINT8_T, uint8_t)                                                    \
    X(MPI_SHORT, short)                                                        \
    X(MPI_UNSIGNED_SHORT, unsigned short)                                      \
    X(MPI_SIGNED_CHAR, signed char)                                            \
    X(MPI_UNSIGNED_CHAR, unsigned char)                                        \
    X(MPI_AINT, MPI_Aint)                                                      \
    X(MPI_OFFSET, MPI_Offset)                                                  \
    X(MPI_COUNT, MPI_Count)

enum class { INTEGER, FLOATING, COMPLEX, BYTES };

static enum gw_dtype integer_of(size_t bytes, bool is_signed)
{
    switch (bytes) {
    case 1:
        return is_signed ? GW_I8 : GW_U8;
    case 2:
        return is_signed ? GW_I16 : GW_U16;
    case 4:
        return is_signed ? GW_I32 : GW_U32;
    default:
        return is_signed ? GW_I64 : GW_U64;
    }
}

static bool find_integer(MPI_Datatype type, enum gw_dtype *found)
{
#define X(mpi, c)                                                              \
    if (type == (mpi)) {                                                       \
        *found = integer_of(sizeof(c), (c)-1 < (c)1);                          \
        return true;                                                           \
    }
    INTEGERS(X)
#undef X
    return false;
}

/* Finds the type and its class, which decides on the operations. */
static bool find_type(MPI_Datatype type, struct gw__mpi_reduction *found,
                      enum class *class)
{
    found->lanes = 1;
    *class = FLOATING;
    if (type == MPI_DOUBLE)
        found->type = GW_F64;
    else if (type == MPI_FLOAT)
        found->type = GW_F32;
    else if (find_integer(type, &found->type))
        *class = INTEGER;
    else if (type == MPI_BYTE) {
        found->type = GW_U8;
        *class = BYTES;
    } else if (type == MPI_C_DOUBLE_COMPLEX || type == MPI_C_FLOAT_COMPLEX) {
        found->type = type == MPI_C_DOUBLE_COMPLEX ? GW_F64 : GW_F32;
        found->lanes = 2;
        *class = COMPLEX;
    } else
        return false;
    return true;
}

static bool find_op(MPI_Op op, enum class class, enum gw_redop *found)
{
    bool numbers = class == INTEGER || class == FLOATING;
    bool bits = class == INTEGER || class == BYTES;
    if (op == MPI_SUM)
        *found = GW_SUM;
    else if (op == MPI_PROD)
        *found = GW_PROD;
    else if (op == MPI_MIN)
        *found = GW_MIN;
    else if (op == MPI_MAX)
        *found = GW_MAX;
    else if (op == MPI_BAND)
        *found = GW_BAND;
    else if (op == MPI_BOR)
        *found = GW_BOR;
    else
        return false;
    if (*found == GW_BAND || *found == GW_BOR)
        return bits;
    return numbers || (class == COMPLEX && *found == GW_SUM);
}

bool gw__mpi_reduction_find(MPI_Datatype type, MPI_Op op,
                            struct gw__mpi_reduction *found)
{
    enum class class;
    return find_type(type, found, &class) && find_op(op, class, &found->op);
}

bool gw__mpi_op_is_predefined(MPI_Op op)
{
    const MPI_Op predefined[] = {MPI_SUM,  MPI_PROD, MPI_MIN,    MPI_MAX,
                                 MPI_LAND, MPI_LOR,  MPI_LXOR,   MPI_BAND,
                                 MPI_BOR,  MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
        if (op == predefined[i])
            return true;
    return false;
}

/* The elements of other types may be in any order, even without gaps. */
bool gw__mpi_type_is_named(MPI_Datatype type)
{
    int integers, addresses, types, combiner;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

struct gw__mpi_extent gw__mpi_extent(MPI_Datatype type)
{
    MPI_Aint lower, extent, data_lower, data_extent;
    int bytes;
    PMPI_Type_size(type, &bytes);
    PMPI_Type_get_extent(type, &lower, &extent);
    PMPI_Type_get_true_extent(type, &data_lower, &data_extent);
    bool plain = lower == 0 && data_lower == 0 && extent >= data_extent;
    return (struct gw__mpi_extent){
        .bytes = (size_t)bytes,
        .stride = (size_t)extent,
        .last = (size_t)(data_lower + data_extent),
        .plain = plain,
        .dense = plain && bytes == extent && gw__mpi_type_is_named(type),
    };
}

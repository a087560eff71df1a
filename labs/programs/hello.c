/* SPDX-License-Identifier: MIT
 *
 * The smallest program of ranks: each contributes its number, all get the sum.
 *
 *     cc -o hello hello.c -lgradwire
 *     collrun exec -n 4 ./hello        or        mpirun -n 4 ./hello
 */
#include <gradwire/gradwire.h>

#include <stdio.h>

int main(void)
{
    struct gw_comm *comm;
    struct gw_error why;
    int status = 0;
    if (gw_comm_from_env(NULL, &comm, &why)) {
        fprintf(stderr, "hello: %s\n", why.text);
        return gw_err_exit(why.code);
    }
    unsigned rank = gw_comm_rank(comm), size = gw_comm_size(comm);
    int mine = (int)rank, sum = 0;
    if (gw_allreduce(comm, &mine, &sum, 1, GW_I32, GW_SUM)) {
        fprintf(stderr, "hello: %s\n", gw_comm_error(comm)->text);
        status = 1;
    } else
        printf("rank %u of %u over %s: the ranks add up to %d\n", rank, size,
               gw_comm_wire(comm), sum);
    gw_comm_destroy(&comm);
    return status;
}

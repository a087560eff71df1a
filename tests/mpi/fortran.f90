! SPDX-License-Identifier: MIT
!
! The blocking collectives of Fortran, in place and not. It knows nothing of
! gradwire.
!
!     mpirun -n RANKS fortran
program fortran
    use mpi
    implicit none
    integer :: rank, ranks, error, failures, all, r, comm
    integer, allocatable :: counts(:), displs(:), block(:), blocks(:), two(:)
    double precision :: x(3), y(3)
    logical :: right, every
    double complex :: z, zs
    integer :: pair(2), least(2)

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    failures = 0
    allocate (counts(ranks), displs(ranks), block(ranks), blocks(ranks), two(2*ranks))
    counts = 1
    displs = [(r, r=0, ranks - 1)]

    call MPI_Barrier(MPI_COMM_WORLD, error)
    x = rank + 1d0
    call MPI_Allreduce(x, y, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(all_equal(y, ranks*(ranks + 1)/2d0), 'allreduce')
    call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    call expect(all_equal(x, dble(ranks)), 'allreduce in place')
    x = rank
    call MPI_Bcast(x, 3, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, error)
    call expect(all_equal(x, ranks - 1d0), 'bcast')
    call MPI_Reduce(x, y, 3, MPI_DOUBLE_PRECISION, MPI_MIN, 0, MPI_COMM_WORLD, error)
    if (rank == 0) call expect(all_equal(y, ranks - 1d0), 'reduce')
    x = 1
    call MPI_Scan(x, y, 3, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(all_equal(y, rank + 1d0), 'scan')
    y = 0
    call MPI_Exscan(x, y, 3, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank > 0) call expect(all_equal(y, dble(rank)), 'exscan')

    right = rank /= 1
    call MPI_Allreduce(right, every, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    call expect(every .eqv. ranks < 2, 'a logical and')
    z = cmplx(1, rank, kind(z))
    call MPI_Allreduce(z, zs, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(zs == cmplx(ranks, ranks*(ranks - 1)/2, kind(z)), 'a complex sum')
    pair = [mod(ranks - rank, ranks), rank]
    call MPI_Allreduce(pair, least, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, error)
    call expect(least(1) == ranks - 1, 'maxloc')

    call MPI_Allgather(rank, 1, MPI_INTEGER, block, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(block(ranks) == ranks - 1, 'allgather')
    block = 0
    block(rank + 1) = rank
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, block, counts, displs, MPI_INTEGER, &
                        MPI_COMM_WORLD, error)
    call expect(block(ranks) == ranks - 1, 'allgatherv in place')
    call MPI_Gather(rank, 1, MPI_INTEGER, blocks, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    if (rank == 0) call expect(blocks(ranks) == ranks - 1, 'gather')
    call MPI_Gatherv(rank, 1, MPI_INTEGER, blocks, counts, displs, MPI_INTEGER, 0, &
                     MPI_COMM_WORLD, error)
    if (rank == 0) call expect(blocks(ranks) == ranks - 1, 'gatherv')
    call MPI_Scatter(block, 1, MPI_INTEGER, r, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call expect(r == rank, 'scatter')
    call MPI_Scatterv(block, counts, displs, MPI_INTEGER, r, 1, MPI_INTEGER, 0, &
                      MPI_COMM_WORLD, error)
    call expect(r == rank, 'scatterv')
    block = rank
    call MPI_Alltoall(block, 1, MPI_INTEGER, blocks, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(blocks(ranks) == ranks - 1, 'alltoall')
    call MPI_Alltoallv(block, counts, displs, MPI_INTEGER, blocks, counts, displs, MPI_INTEGER, &
                       MPI_COMM_WORLD, error)
    call expect(blocks(ranks) == ranks - 1, 'alltoallv')
    two = 1
    call MPI_Reduce_scatter(block, r, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(r == ranks*(ranks - 1)/2, 'reduce_scatter')
    call MPI_Reduce_scatter_block(two, least, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(least(2) == ranks, 'reduce_scatter_block')

    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    do r = 1, 6
        call MPI_Barrier(comm, error)
    end do
    call MPI_Comm_free(comm, error)
    call expect(comm == MPI_COMM_NULL, 'a freed communicator')

    call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print '(A, I0, A, I0, A)', 'fortran: ', ranks, ' ranks, ', all, ' failures'
    call MPI_Finalize(error)
    if (all > 0) stop 1

contains
    logical function all_equal(values, wanted)
        double precision, intent(in) :: values(3), wanted
        all_equal = values(1) == wanted .and. values(2) == wanted .and. values(3) == wanted
    end function

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what
        if (holds) return
        failures = failures + 1
        print '(A, I0, A, A)', 'rank ', rank, ': ', what
    end subroutine
end program

/* SPDX-License-Identifier: MIT
 *
 * The size of the world of ring.pml, for Spin and for the C compiler.
 */
#ifndef MEMBERS
#define MEMBERS 3
#endif
#ifndef JOINERS
#define JOINERS 1
#endif
#ifndef ORDERS
#define ORDERS 0
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef CHUNKS
#define CHUNKS 1
#endif

#define NODES  (MEMBERS + JOINERS)
#define JOINER (NODES - 1)

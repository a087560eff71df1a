/* SPDX-License-Identifier: MIT
 *
 * The messages between a learner and an actor process, in a communicator of
 * two.
 *
 * A policy is its version (the number of updates before it) and the parameters
 * as f32. A trajectory is an array of f64: steps, failed, episode, the last
 * observation; then for each step the observation, the probability of the
 * action, and the action. It always has the size of a full unroll, so both
 * sides know its length, and a lab can count it. Pure.
 */
#ifndef GW__ACTOR_MESSAGE_H
#define GW__ACTOR_MESSAGE_H

#include "actors_parts.h"

enum { GW__LEARNER, GW__ACTOR };   /* ranks */
#define GW__POLICY_STOP UINT64_MAX /* as a version: stop playing */

size_t gw__policy_bytes(size_t floats);
void gw__policy_write(unsigned char *policy, uint64_t version,
                      const float *rows, size_t floats);
uint64_t gw__policy_version(const unsigned char *policy);
void gw__policy_rows(const unsigned char *policy, float *rows, size_t floats);

/* In f64 elements. */
size_t gw__played_count(size_t unroll);
void gw__played_write(double *message, const struct gw__played *played);
/* False: not a valid trajectory. */
bool gw__played_check(const double *message, size_t unroll);
void gw__played_read(struct gw__played *played, const double *message);

#endif

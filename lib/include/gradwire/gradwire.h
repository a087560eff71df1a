/* SPDX-License-Identifier: MIT
 *
 * gradwire: the communication of distributed training, as a laboratory.
 * Includes every public header; gradwire(7) is the overview.
 */
#ifndef GRADWIRE_H
#define GRADWIRE_H

#include <gradwire/actors.h>
#include <gradwire/base.h>
#include <gradwire/coll.h>
#include <gradwire/event.h>
#include <gradwire/launch.h>
#include <gradwire/layout.h>
#include <gradwire/learn.h>
#include <gradwire/nodes.h>
#include <gradwire/optimum.h>
#include <gradwire/parallel.h>
#include <gradwire/pipe.h>
#include <gradwire/placement.h>
#include <gradwire/plan.h>
#include <gradwire/plugin.h>
#include <gradwire/ps_env.h>
#include <gradwire/reducer.h>
#include <gradwire/request.h>
#include <gradwire/ring.h>
#include <gradwire/scan.h>
#include <gradwire/suspicion.h>
#include <gradwire/synthesis.h>
#include <gradwire/topology.h>
#include <gradwire/train.h>
#include <gradwire/wire.h>

#endif

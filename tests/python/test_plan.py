# SPDX-License-Identifier: MIT
"""Plans, the simulator and the event stream."""

import numpy as np
import pytest
from conftest import ROOT, ranks

import gradwire



def ring(count=3):
    return gradwire.Plan.load(ROOT / "labs/plans/ring-allreduce.plan", count)


def test_text_goes_around():
    plan = ring()
    assert (plan.collective, plan.ranks, plan.steps) == ("allreduce", 3, 4)
    assert gradwire.Plan.from_text(str(plan)) == plan
    assert plan != ring(4)


def test_wrong_text_is_an_error_with_its_place():
    with pytest.raises(gradwire.Error, match=r"^mine:2:\d+: ") as error:
        gradwire.Plan.from_text("allreduce ranks=2 chunks=1\nstep 0>5 c0 +\n", name="mine")
    assert error.value.code == "GW_EDATA"


def test_a_proof_and_its_counterexample():
    verdict = ring(5).verify()
    assert verdict and verdict.fault == "none"
    wrong = gradwire.Plan.from_text("allreduce ranks=2 chunks=1\nstep 0>1 c0 +\n").verify()
    assert not wrong and wrong.fault != "none" and "rank" in wrong.sentence


def test_the_price_is_that_of_the_formula():
    price = ring(4).price(1000, "f64", alpha_us=1, beta_us_per_byte=0.001, gamma_us_per_byte=0)
    assert price.rounds == 6 and price.messages == 24 and price.bytes == 2 * 3 * 8000
    assert price.predicted_us == pytest.approx(6 * (1 + 2), rel=0.05)
    assert price.bound_us <= price.predicted_us


def test_algorithms_are_in_the_order_of_choice():
    found = gradwire.algorithms("allreduce", 4, 1 << 20)
    assert "ring" in found and "one_shot" in found
    with pytest.raises(gradwire.Error, match="made-up"):
        gradwire.Plan.make("allreduce", "made-up", 4)


def test_ranks_run_a_plan():
    assert ranks(3, "plan").count("ok") == 3


def test_a_simulation_is_the_same_twice():
    topology = gradwire.Topology.load(ROOT / "labs/topologies/racks.topo")
    plan = gradwire.Plan.make("allreduce", "ring", topology.ranks)
    events = gradwire.Events()
    first = topology.simulate(plan, 1 << 16, "f32", events=events)
    second = topology.simulate(plan, 1 << 16, "f32")
    assert first.time_us == second.time_us > 0 and (first.rank_us == second.rank_us).all()
    assert first.bytes == plan.price(1 << 16, "f32").bytes
    assert first.rank_us.max() <= first.time_us and first.critical_path[0].end_us > 0
    assert sum(first.link_bytes.values()) > 0
    seen = list(events)
    assert seen[0].kind == "op_begin" and seen[0].peer is None
    assert max(event.time_ns for event in seen) == pytest.approx(first.time_us * 1000, abs=2)
    assert list(events) == [] and events.dropped == 0


def test_too_few_hosts_are_an_error():
    topology = gradwire.Topology.load(ROOT / "labs/topologies/racks.topo")
    with pytest.raises(gradwire.Error) as error:
        topology.simulate(ring(topology.ranks + 1), 10)
    assert error.value.code == "GW_EINVAL"


def test_events_of_a_call_and_of_a_recording(tmp_path):
    events = gradwire.Events(4)
    with gradwire.Communicator(0, 1, events=events) as comm:
        list(events)
        comm.allreduce(np.ones(3))
        kinds = [event.kind for event in events]
        assert kinds[0] == "op_begin" and kinds[-1] == "op_end"
        for _ in range(10):
            comm.barrier()
        assert len(list(events)) == 4 and events.dropped > 0
    path = tmp_path / "events.jsonl"
    path.write_text('{"t": 5, "kind": "lost", "rank": 1, "peer": 2}\n' * 2 + "nonsense\n")
    reader = gradwire.read_events(path)
    event = next(reader)
    assert (event.kind, event.rank, event.peer, event.op) == ("lost", 1, 2, None)
    assert "2" in str(event) and next(reader) == event
    with pytest.raises(gradwire.Error, match=r"events.jsonl:3: ") as error:
        next(reader)
    assert error.value.code == "GW_EDATA"

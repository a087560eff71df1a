# SPDX-License-Identifier: MIT
"""The structs, functions and names that the package declares are those of the C headers."""

import layout

from gradwire import _calls, _errors, _library, servers


def test_structs_have_cs_sizes_and_offsets():
    assert layout.wrong_structs(_library) == []


def test_functions_have_cs_parameters():
    assert layout.wrong_functions(_library) == []


def test_names_are_in_the_order_of_the_enums():
    from gradwire._arrays import NAMES
    C = _library.C
    assert [C.gw_redop_name(i).decode() for i in range(9)] == _calls.REDUCTIONS
    assert [C.gw_collective_name(i).decode() for i in range(11)] == _calls.COLLECTIVES
    assert [C.gw_ps_updater_name(i).decode() for i in range(8)] == servers._UPDATERS
    assert NAMES == "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64".split()
    assert (_errors._NAMES["GW_PENDING"], _errors._NAMES["GW_EUNSURE"]) == (1, -17)

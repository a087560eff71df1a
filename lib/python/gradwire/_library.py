# SPDX-License-Identifier: MIT
"""The C library: its structs, its functions, and where it is.

A struct is a line of words `field:type`, in the order of the header; the test
tests/python/test_layout.py compares sizes and offsets with the C compiler's. A
function is a line `result name argument...`. gradwire/*.h describe all of them.
"""

import ctypes
import os
from pathlib import Path

NAME = "libgradwire.so.1"
_WORDS = {
    "err": ctypes.c_int, "int": ctypes.c_int, "unsigned": ctypes.c_uint,
    "bool": ctypes.c_bool, "size": ctypes.c_size_t, "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64, "i64": ctypes.c_int64, "i32": ctypes.c_int32,
    "f32": ctypes.c_float, "f64": ctypes.c_double, "text": ctypes.c_char_p,
    "pointer": ctypes.c_void_p, "char": ctypes.c_char, "none": None,
}

_STRUCTS = """
gw_error code:int text:char[512]
gw_comm_config rank:unsigned size:unsigned rendezvous:text wire:text
    connect_ms:unsigned timeout_ms:unsigned sleep_us:unsigned slice_bytes:size lanes:unsigned
    interface:text key_file:text insecure:bool no_windows:bool events:pointer
gw_counters messages_sent:u64 messages_received:u64 bytes_sent:u64
    bytes_received:u64
gw_call collective:int in:pointer out:pointer count:size type:int op:int
    root:unsigned counts:pointer displs:pointer recv_counts:pointer
    recv_displs:pointer algo:text segments:unsigned group:unsigned plan:pointer
gw_event time_ns:u64 bytes:u64 value:i64 kind:u32 rank:u32 peer:u32 epoch:u32
    op:u32 step:u32 chunk:u32 reserved:u32[3]
gw_plan algo:char[40] collective:int ranks:unsigned chunks:unsigned
    root:unsigned ports:unsigned scratch:unsigned steps:unsigned
    transfer_count:size
    step_begin:pointer transfers:pointer conditions:pointer
gw_verdict fault:int step:unsigned src:unsigned dst:unsigned chunk:unsigned
    sentence:char[256] history:char[4096]
gw_cost_model alpha_us:f64 beta_us_per_byte:f64 gamma_us_per_byte:f64
gw_price rounds:unsigned messages:u64 bytes:u64 rank_messages_max:u64
    rank_bytes_max:u64 rank_received_max:u64 link_bytes_max:u64
    rank_reduced_max:u64 predicted_us:f64 bound_us:f64
gw_wire_costs model:gw_cost_model sync_us:f64 memory_us_per_byte:f64
    cached_us_per_byte:f64 cores:f64 fitted_ranks:unsigned coefficients:f64[40]
gw_algo_args ranks:unsigned root:unsigned segments:unsigned group:unsigned
gw_algo name:text collective:int summary:text formula:text source:text
    valid:pointer emit:pointer chunks:pointer direct:bool baseline:bool
gw_candidate algo:pointer predicted_us:f64
gw_topology_run plan:pointer count:size elem_bytes:size chunk_bytes:pointer
    message_us:f64 reduce_us_per_byte:f64 events:pointer algo:pointer
    args:pointer
gw_topology_hop step:unsigned src:unsigned dst:unsigned bytes:u64 begin_us:f64
    end_us:f64
gw_topology_result time_us:f64 messages:u64 bytes:u64 links:unsigned
    link_bytes:pointer uplink_bytes_max:u64 uplink_bytes:u64 ranks:unsigned
    rank_us:pointer hops:unsigned hop:gw_topology_hop[16] rounds:unsigned
gw_ring_config node:unsigned endpoint:text token:u64 process:u64
    controller_count:unsigned controllers:unsigned[7]
    controller_endpoints:text[7] wire:text slice_bytes:size lanes:unsigned
    interface:text key_file:text insecure:bool events:pointer
    join_timeout_ms:unsigned min_size:unsigned max_size:unsigned
    patience_ms:unsigned links:pointer pace_ns:u64 holds:pointer
    hold_count:unsigned suspicion:pointer algos:pointer algo_count:unsigned
    run_algos:pointer run_algo_count:unsigned context:pointer state:pointer
    state_bytes:size apply:pointer on_status:pointer
gw_ring_turn op:u64 epoch:u64 initial_count:unsigned
    initial_members:unsigned[576] place:unsigned
gw_ring_call in:pointer out:pointer count:size type:int op:int tag:unsigned
gw_nodes words:u64[9]
gw_ring_result op:u64 epoch:u64 tag:unsigned data:pointer count:size type:int
    redop:int contributors:gw_nodes initial_count:unsigned
    initial_members:unsigned[576]
gw_ring_progress step:u64 data_epoch:u64 loss:f64 samples_lost:u64
    samples_doubled:u64 done:bool
gw_shards count:u32 done:u32 epoch:u64 lost:u64 doubled:u64 first:u32
    reserved:u32
gw_ring_times frozen_ns:u64 decided_ns:u64 reconnected_ns:u64 resumed_ns:u64
gw_ring_chunks epoch:u64 op:u64 spread:unsigned redone:unsigned kept:unsigned
    fresh:unsigned
gw_ring_status node:unsigned member:bool parked:bool gone:bool epoch:u64
    ring_epoch:u64 size:unsigned rank:int nodes:unsigned[576] op:u64 phase:text
    waits_for:int ops_done:u64 ops_forward:u64 ops_exclude:u64
    chunks_spread:u64 chunks_kept:u64 chunks_fresh:u64 chunks_redone:u64
    chunks:gw_ring_chunks[8] recoveries:u64 last:gw_ring_times lost:u64
    doubled:u64 held:unsigned joined_stall_ns:u64 digest:u64 text:char[200]
    algo:char[40]
gw_ps_config node:unsigned endpoint:text token:u64 controller_count:unsigned
    controllers:unsigned[7] controller_endpoints:text[7] wire:text
    interface:text key_file:text insecure:bool connect_ms:unsigned
    timeout_ms:unsigned seed:u64 events:pointer no_key_cache:bool no_place:bool
    no_bundle:bool ask_routes:bool aggregate:bool aggregate_us:unsigned
    aggregator_node:unsigned half:bool top_share:f32 significant:f32
    links:pointer pace_ns:u64
gw_ps_table_config name:char[24] width:u32 updater:u32 group:u32 dense:u32
    rate:f32 momentum:f32 beta1:f32 beta2:f32 epsilon:f32 beta:f32 l1:f32
    l2:f32 init_range:f32 reserved:u32 init_seed:u64
gw_ps_handle id:u64
gw_ps_mode kind:int bound:unsigned drop:bool
gw_ps_plan epochs:u64 batches:u64 parts:u32 workers:u32 has_until:bool
    until:f64
gw_ps_work done:bool epoch:u64 batch:u64 part:unsigned parts:unsigned
    clock:u64 closed:u64 staleness:u64 waited_ns:u64
gw_ps_cluster_config servers:unsigned replicas:unsigned slots:unsigned
    wire:text seed:u64 server:pointer
"""

_FUNCTIONS = """
text gw_err_name err
text gw_err_text err
pointer gw_alloc size pointer
none gw_free pointer
text gw_collective_name int
err gw_collective_parse text pointer pointer
text gw_dtype_name int
text gw_redop_name int
err gw_comm_create pointer pointer pointer
err gw_comm_from_env pointer pointer pointer
err gw_comm_split pointer int int pointer pointer
none gw_comm_destroy pointer
unsigned gw_comm_rank pointer
unsigned gw_comm_size pointer
text gw_comm_wire pointer
pointer gw_comm_error pointer
none gw_comm_abort pointer err text
err gw_comm_progress_with pointer pointer
none gw_comm_counters pointer unsigned pointer
none gw_comm_counters_reset pointer
err gw_start pointer pointer pointer
err gw_run_for pointer pointer u64 pointer
err gw_wait_for pointer u64
err gw_test pointer
err gw_wait pointer
err gw_send_start pointer pointer size int unsigned pointer
err gw_recv_start pointer pointer size int unsigned pointer
none gw_costs text pointer pointer
size gw_choose text int unsigned size size pointer size
none gw_plan_destroy pointer
u64 gw_plan_hash pointer
err gw_plan_parse text size text unsigned pointer pointer
err gw_plan_load text unsigned pointer pointer
err gw_plan_make int text pointer pointer pointer
pointer gw_algo_find int text
err gw_plan_print pointer pointer pointer
err gw_plan_verify pointer unsigned pointer pointer
err gw_plan_price pointer size size pointer pointer pointer
text gw_fault_name int
err gw_topology_parse text size text pointer pointer
err gw_topology_load text pointer pointer
none gw_topology_destroy pointer
text gw_topology_name pointer
unsigned gw_topology_ranks pointer
none gw_topology_link_name pointer unsigned pointer
err gw_topology_simulate pointer pointer pointer pointer
none gw_topology_result_destroy pointer
err gw_sink_ring size pointer pointer
size gw_sink_ring_read pointer pointer size pointer
none gw_sink_close pointer
text gw_event_name int
none gw_event_text pointer pointer size
err gw_event_parse text pointer pointer
err gw_ring_from_env pointer pointer pointer
none gw_ring_destroy pointer
err gw_ring_leave pointer pointer
none gw_ring_interrupt pointer
err gw_ring_begin pointer pointer pointer
err gw_ring_allreduce pointer pointer pointer pointer
err gw_ring_check pointer pointer
none gw_ring_report pointer pointer
size gw_shards_bytes u32
none gw_shards_init pointer u32
u32 gw_shards_of pointer unsigned
none gw_shards_complete pointer pointer
none gw_ring_status pointer pointer
err gw_ps_connect pointer pointer pointer
err gw_ps_from_env pointer pointer pointer
none gw_ps_close pointer
none gw_ps_interrupt pointer
unsigned gw_ps_node pointer
text gw_ps_updater_name int
err gw_ps_table pointer pointer pointer pointer
err gw_ps_find pointer text pointer pointer pointer
err gw_ps_push pointer unsigned pointer size pointer pointer pointer
err gw_ps_pull pointer unsigned pointer size pointer pointer pointer
err gw_ps_push_pull pointer unsigned pointer size pointer pointer pointer pointer
err gw_ps_wait pointer pointer pointer
err gw_ps_mode_parse text pointer pointer
err gw_ps_plan pointer unsigned pointer pointer pointer
err gw_ps_report pointer unsigned f64 f64 pointer
err gw_ps_next pointer unsigned pointer pointer
err gw_ps_barrier pointer u64 unsigned pointer
err gw_ps_snapshot pointer text pointer
err gw_ps_cluster_start pointer pointer pointer
none gw_ps_cluster_stop pointer
none gw_ps_cluster_client pointer pointer
err gw_ps_cluster_add pointer pointer pointer
none gw_ps_cluster_kill pointer unsigned
"""


def _type_of(word, known):
    base, _, length = word.rstrip("]").partition("[")
    kind = _WORDS.get(base) or known[base]
    return kind * int(length) if length else kind


def _make_structs(text):
    structs = {}
    for line in text.strip().replace("\n    ", " ").split("\n"):
        name, *fields = line.split()
        pairs = [field.split(":") for field in fields]
        layout = [(field, _type_of(word, structs)) for field, word in pairs]
        structs[name] = type(name, (ctypes.Structure,), {"_fields_": layout})
    return structs


def _open():
    """$GRADWIRE_LIBRARY; or the library of the prefix in which this package is installed, or
    of the build folder of its source tree; or the one that the linker finds."""
    folders = Path(__file__).resolve().parents
    candidates = [folder / NAME for folder in (*folders[2:5], folders[3] / "build")]
    path = os.environ.get("GRADWIRE_LIBRARY") or next(filter(Path.exists, candidates), NAME)
    try:
        library = ctypes.CDLL(str(path))
        _declare(library, _FUNCTIONS)
    except (OSError, AttributeError) as error:
        raise ImportError(f"the library of gradwire: {error}; set GRADWIRE_LIBRARY to the file "
                          f"{NAME} of this version") from None
    return library


def _declare(library, text):
    for line in text.strip().split("\n"):
        result, name, *arguments = line.split()
        function = getattr(library, name)
        function.restype = _WORDS[result]
        function.argtypes = [_WORDS[word] for word in arguments]


structs = _make_structs(_STRUCTS)
C = _open()
IN_PLACE = ctypes.c_void_p(-1).value

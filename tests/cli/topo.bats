#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun topo: topologies of nvidia-smi, hwloc, NCCL and SimGrid; and the
# published optima of the servers in labs/topologies.

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    LABS=$PWD/labs
    export BUILD LABS
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

collrun() {
    "$BUILD/collrun" "$@"
}

# algbw NAME: of an all-gather on labs/topologies/NAME.topo, in GB/s
algbw() {
    collrun bound allgather --topo "$LABS/topologies/$1.topo" -b 64M -o csv |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
            NR == 2 { print $at["algbw_GBps"] }'
}

# ---- published optima ----

@test "DGX-1: an all-gather takes 7/6 of a block's time on one NVLink (SCCL, PPoPP 2021)" {
    # 8 blocks in 7/6 of the time of one at 25 GB/s
    [ "$(algbw dgx-1)" = 171.429 ]
    run -0 collrun bound allgather --topo "$LABS/topologies/dgx-1.topo" -v -o csv
    [[ $output == *,7,1200000000000,yes,* ]]
}

@test "two DGX A100: 347 GB/s, since 15 of 16 blocks come in at 325 GB/s (ForestColl)" {
    [ "$(algbw dgx-a100)" = 346.667 ]
}

@test "two servers with MI250: 354.13 GB/s (ForestColl, 16+16 dies)" {
    [ "$(algbw mi250)" = 354.133 ]
}

@test "a plan for the DGX-1 reaches the optimum, and has six trees per block" {
    collrun synth allgather --topo "$LABS/topologies/dgx-1.topo" -b 4G \
        --alpha 0ns --trees 1 --parts 64 --plan a.plan -o csv >out.csv
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 { exit !($at["trees"] == 6 && $at["optimum_percent"] > 95) }' \
        out.csv
}

@test "every topology of the labs has a bound" {
    for topo in "$LABS"/topologies/*.topo; do
        run -0 collrun bound allreduce --topo "$topo"
        run -0 collrun topo "$topo"
    done
}

# ---- nvidia-smi topo -m ----

@test "nvidia-smi: PCIe switches, sockets and NVLinks" {
    cat >smi.txt <<-'END'
		GPU0	GPU1	GPU2	GPU3	mlx5_0	CPU Affinity	NUMA Affinity
	GPU0	 X 	NV1	NV2	SYS	PIX	0-19	0
	GPU1	NV1	 X 	SYS	NV2	PIX	0-19	0
	GPU2	NV2	SYS	 X 	PIX	SYS	20-39	1
	GPU3	SYS	NV2	PIX	 X 	SYS	20-39	1
	mlx5_0	PIX	PIX	SYS	SYS	 X

	Legend:
	  X    = Self
	  PIX  = Connection traversing at most a single PCIe bridge
	END
    run -0 --separate-stderr collrun topo --from nvidia-smi-topo - <smi.txt
    collrun topo --from nvidia-smi-topo smi.txt >smi.topo
    run -0 collrun topo smi.topo
    [[ $output == *"socket cpu0 cpu1 switch pcie0 pcie1 accelerator gpu0 gpu1 gpu2 gpu3 nic mlx5_0"* ]]
    [ "$(grep -c '^link qpi' smi.topo)" = 1 ]
    [ "$(grep -c '^link nvlink' smi.topo)" = 3 ]
    grep -q 'gpu0: gpu2 rate=50000000000' smi.topo
    run -0 collrun sim allgather --topo smi.topo --algo ring
}

@test "nvidia-smi: twelve NVLinks to all others go to an NVSwitch" {
    {
        printf '\t\033[4mGPU0\tGPU1\tGPU2\tCPU Affinity\033[0m\n'
        printf 'GPU0\t X \tNV12\tNV12\t0-7\nGPU1\tNV12\t X \tNV12\t0-7\n'
        printf 'GPU2\tNV12\tNV12\t X \t0-7\n'
    } >smi.txt
    collrun topo --from nvidia-smi-topo smi.txt >smi.topo
    grep -q 'nvswitch: gpu2 rate=300000000000' smi.topo
}

@test "nvidia-smi: a wrong matrix is refused with its line" {
    printf '\tGPU0\tGPU1\nGPU0\t X \tNV1\n' >a.txt
    run -65 collrun topo --from nvidia-smi-topo a.txt
    [[ $output == *"the matrix lacks the row of \`GPU1\`"* ]]
    printf '\tGPU0\tGPU1\nGPU0\t X \tFOO\n' >a.txt
    run -65 collrun topo --from nvidia-smi-topo a.txt
    [[ $output == *"a.txt:2:"*"\`FOO\`"* ]]
    printf 'nothing\n' >a.txt
    run -65 collrun topo --from nvidia-smi-topo a.txt
    [[ $output == *"such as \`GPU0\`"* ]]
}

# ---- XML ----

@test "hwloc: packages, bridges and devices; without accelerators the cores" {
    cat >a.xml <<-'END'
	<?xml version="1.0" encoding="UTF-8"?>
	<!DOCTYPE topology SYSTEM "hwloc2.dtd">
	<topology version="2.0">
	  <object type="Machine" os_index="0">
	    <object type="Package" os_index="0">
	      <object type="NUMANode" os_index="0"/>
	      <object type="Core" os_index="0"><object type="PU" os_index="0"/></object>
	      <object type="Core" os_index="1"><object type="PU" os_index="1"/></object>
	      <object type="Bridge" bridge_type="0-1">
	        <object type="Bridge" bridge_type="1-1" pci_link_speed="15.75">
	          <object type="PCIDev" pci_link_speed="15.75">
	            <object type="OSDev" name="cuda0" osdev_type="5"/>
	            <object type="OSDev" name="nvml0" osdev_type="1"/>
	          </object>
	          <object type="PCIDev" pci_link_speed="7.875">
	            <object type="OSDev" name="eth0" osdev_type="2"/>
	          </object>
	        </object>
	      </object>
	    </object>
	    <object type="Package" os_index="1"/>
	  </object>
	</topology>
	END
    collrun topo --from hwloc a.xml >a.topo
    grep -q 'accelerator cuda0 nic eth0' a.topo
    grep -q 'pcie0: cuda0 rate=15750000000' a.topo
    [ "$(grep -c '^link qpi' a.topo)" = 1 ]
    sed -i '/cuda0/d; /nvml0/d' a.xml
    collrun topo --from xml a.xml >a.topo
    grep -q 'host cpu0 ranks=2' a.topo
    run -0 collrun sim allreduce --topo a.topo --algo ring
}

@test "NCCL: switches, GPUs with NVLinks, and nets" {
    cat >a.xml <<-'END'
	<system version="1">
	  <cpu numaid="0" arch="x86_64">
	    <pci busid="0000:10:00.0" class="0x060400" link_speed="8.0 GT/s PCIe" link_width="16">
	      <pci busid="0000:11:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
	        <gpu dev="0" sm="70"><nvlink target="0000:12:00.0" count="2" tclass="0x030200"/></gpu>
	      </pci>
	      <pci busid="0000:12:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
	        <gpu dev="1" sm="70"><nvlink target="0000:11:00.0" count="2" tclass="0x030200"/></gpu>
	      </pci>
	      <pci busid="0000:13:00.0" class="0x020700" link_speed="8.0 GT/s PCIe" link_width="16">
	        <nic><net name="mlx5_0" dev="0" speed="100000"/></nic>
	      </pci>
	    </pci>
	  </cpu>
	</system>
	END
    collrun topo --from xml a.xml >a.topo
    grep -q 'gpu0: gpu1 rate=50000000000' a.topo
    [ "$(grep -c '^link nvlink' a.topo)" = 1 ]
    grep -q 'pcie0: gpu0 rate=15753846153' a.topo
    grep -q 'net: mlx5_0 rate=12500000000' a.topo
    run -0 collrun bound allgather --topo a.topo
}

@test "SimGrid: a flat cluster is a rack" {
    cat >a.xml <<-'END'
	<?xml version='1.0'?>
	<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
	<platform version="4.1">
	  <zone id="world" routing="Full">
	    <cluster id="c" prefix="node-" suffix=".me" radical="0-3,7"
	             speed="1Gf" bw="125MBps" lat="50us"/>
	  </zone>
	</platform>
	END
    collrun topo --from xml a.xml >a.topo
    run -0 collrun bound allgather --topo a.topo -b 125M
    [[ $output == *"4 of 5 blocks"* ]]
    grep -q 'rate=125000000' a.topo
    sed -i 's/lat=/bb_bw="1GBps" lat=/' a.xml
    run -65 collrun topo --from xml a.xml
    [[ $output == *"a.xml:5:"*"backbone"* ]]
}

@test "XML that is wrong, unknown or dangerous is refused with its line" {
    printf '<system>\n<cpu>\n' >a.xml
    run -65 collrun topo --from xml a.xml
    [[ $output == *"a.xml:3: "* ]]
    printf '<html/>\n' >a.xml
    run -65 collrun topo --from xml a.xml
    [[ $output == *"<html> begins no topology that is known"* ]]
    printf '<!DOCTYPE a [<!ENTITY x "y">]>\n<system/>\n' >a.xml
    run -65 collrun topo --from xml a.xml
    [[ $output == *"entities are not supported"* ]]
    printf '<system/>\n' >a.xml
    run -65 collrun topo --from xml a.xml
    [[ $output == *"a <gpu> is missing"* ]]
    printf '<system><gpu dev="0"/></system>\n' >a.xml
    run -65 collrun topo --from xml a.xml
    [[ $output == *"must be in a <cpu>"* ]]
    printf '<platform><host id="a"/></platform>\n' >a.xml
    run -65 collrun topo --from xml a.xml
    [[ $output == *"<host> is not read"* ]]
    run ! collrun topo --from xml missing.xml
}

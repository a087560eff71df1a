#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vm.sh [-t SECONDS] [-n SPEC -a ADDRESS] KIND KERNEL CASES PROGRAM...: boots
# the kernel in the folder KERNEL (kernel.sh) with an RDMA device of KIND (rxe,
# siw) and an initramfs with the programs and their libraries, and runs the
# script CASES there. Its output is printed at once, and its status is the
# status. The status is 124 when SECONDS (240) are over, and 125 if the machine
# fails; then the console, which is printed, has the reason. The machine is
# emulated: it needs only qemu, and changes nothing on the host.
#
# -n gives it a network device (qemu's -netdev) instead of a dummy one, and -a
# its address, which is 10.77.0.1 by default.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
seconds=240
network=
address=10.77.0.1
while getopts t:n:a: option; do
    case $option in
    t) seconds=$OPTARG ;;
    n) network=$OPTARG ;;
    a) address=$OPTARG ;;
    *) exit 64 ;;
    esac
done
shift $((OPTIND - 1))
kind=$1
kernel=$2
cases=$3
shift 3

work=
machine=
# When the machine ends, so does the reader of its output.
# shellcheck disable=SC2317 # the trap calls it
clean() {
    trap '' INT TERM
    test -z "$machine" || kill "$machine" 2>/dev/null || true
    wait
    test -z "$work" || rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM
work=$(mktemp -d)

root=$work/root
libs=$root/usr/lib/x86_64-linux-gnu
mkdir -p "$libs" "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib64" \
    "$root/modules" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" \
    "$root/root" "$root/etc/libibverbs.d"
for link in bin sbin lib lib64; do
    ln -s "usr/$link" "$root/$link"
done

put() { # a program, or a library, with what it loads
    cp -L "$1" "$2"
    ldd "$1" 2>/dev/null | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' |
        while read -r library; do
            case $library in
            */ld-linux*) to=$root/usr/lib64/${library##*/} ;;
            *) to=$libs/${library##*/} ;;
            esac
            test -e "$to" || cp -L "$library" "$to"
        done
}

put_modules() {
    wanted="crc32-pclmul crc32_generic crc32c_generic ib_uverbs rdma_ucm sch_netem"
    case $kind in
    rxe) wanted="$wanted rdma_rxe" ;;
    *) wanted="$wanted siw" ;;
    esac
    if [ -n "$network" ]; then
        wanted="$wanted virtio_pci virtio_net"
    else
        wanted="$wanted dummy"
    fi
    for module in $wanted; do
        modprobe -d "$kernel" -S "$(cat "$kernel/version")" --show-depends \
            "$module" 2>/dev/null
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
        while read -r file; do
            name=$(basename "$file" .xz)
            case $file in
            *.xz) xz -dc "$file" >"$root/modules/$name" ;;
            *) cp "$file" "$root/modules/$name" ;;
            esac
            echo "$name"
        done >"$root/modules/order"
}

cp "$(command -v busybox)" "$root/usr/bin/busybox"
busybox --list | grep -vx busybox | while read -r applet; do
    ln -sf busybox "$root/usr/bin/$applet"
done
for program in rdma tc; do
    rm -f "$root/usr/bin/$program"
    put "$(command -v $program)" "$root/usr/sbin/$program"
done
for program; do
    put "$program" "$root/usr/bin/$(basename "$program")"
done
# Opened at run time, so ldd does not list them: the drivers, and glibc's
# library for the end of threads.
for driver in rxe siw; do
    mkdir -p "$libs/libibverbs"
    for file in /usr/lib/*/libibverbs/lib"$driver"-rdmav*.so; do
        put "$file" "$libs/libibverbs/"
    done
    echo "driver $driver" >"$root/etc/libibverbs.d/$driver.driver"
done
cp -L /lib/x86_64-linux-gnu/libgcc_s.so.1 "$libs/"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
put_modules
cp "$here/guest.sh" "$root/init"
cp "$cases" "$root/cases.sh"
chmod 755 "$root/init"
{
    echo "KIND=$kind ADDRESS=$address"
    if [ -n "$network" ]; then
        echo "NETDEV=eth0 MTU=1500"
    else
        echo "NETDEV=dummy0 MTU=9000"
    fi
} >"$root/settings"
(cd "$root" && find . -mindepth 1 | LC_ALL=C sort |
    busybox cpio -o -H newc 2>/dev/null) >"$work/initrd"

card=
test -z "$network" ||
    card="-netdev $network,id=net -device virtio-net-pci,netdev=net,romfile=,mac=52:54:00:77:00:0${address##*.}"
: >"$work/said"
# shellcheck disable=SC2086 # words of options
timeout -k 5 "$seconds" qemu-system-x86_64 -nodefaults -no-user-config \
    -display none -no-reboot -M pc,usb=off -accel tcg,thread=multi -cpu max \
    -smp 2 -m 1536 -kernel "$kernel/vmlinux" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet loglevel=4 panic=-1 random.trust_cpu=on mitigations=off audit=0 apparmor=0 tsc=reliable" \
    -serial "file:$work/console" -serial "file:$work/said" $card \
    </dev/null >"$work/log" 2>&1 &
machine=$!
tail -s 0.1 -c +1 -f --pid="$machine" "$work/said" 2>/dev/null |
    sed -u -e 's/\r$//' -e '/^exit [0-9]*$/d' &
teller=$!
wait "$machine" && status=0 || status=$?
machine=
wait "$teller" || true
said=$(tr -d '\r' <"$work/said" | sed -n 's/^exit \([0-9]*\)$/\1/p' | tail -1)
test -z "$said" || exit "$said"
tail -n 40 "$work/console" "$work/log"
test "$status" != 124 || exit 124
exit 125

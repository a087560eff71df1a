#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bare.sh: the README's two commands, `make demo` and `make check`, in its order
# on a machine with only git, make and gcc: a clone of the last commit, in a
# clean Debian root, by root, which may install missing packages. Needs root,
# and a mirror for apt.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "check-bare: skipped: a clean root can only be made by root"
    exit 0
fi
# shellcheck source=tests/debian/root.sh
. "$here/tests/debian/root.sh"

make_root
say "git, make, gcc"
inside apt-get install -y -qq --no-install-recommends git make gcc >"$work/install.log" 2>&1
git clone -q "$here" "$root/root/gradwire"
for target in demo check; do
    say "make $target"
    begin=$(date +%s)
    inside sh -c "cd /root/gradwire && make $target"
    say "make $target: $(($(date +%s) - begin)) s"
done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh: the Debian packages from the view of an archive and of a user. In one
# clean root, made by debootstrap, dpkg-buildpackage makes them from the last commit
# with their build dependencies alone, and lintian finds no error. In another one,
# apt installs them with their dependencies, and the tools, the library, a program of
# the user's own and the afternoons of three users (tests/cli/afternoons.sh) work
# there. Needs root, and a mirror for apt; it reports if they are missing.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
    echo "check-deb: skipped: a clean root can only be made by root"
    exit 0
fi
# shellcheck source=tests/debian/root.sh
. "$here/tests/debian/root.sh"

# quietly NAME COMMAND...: its output is shown if it fails.
quietly() {
    log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 || {
        tail -40 "$log"
        exit 1
    }
}

build() {
    say "build dependencies"
    mkdir "$root/source"
    git -C "$here" archive HEAD | tar -x -C "$root/source"
    quietly depends inside sh -c 'apt-get install -y -qq --no-install-recommends \
        build-essential fakeroot lintian && apt-get build-dep -y -qq \
        --no-install-recommends /source'
    say "dpkg-buildpackage"
    quietly build inside sh -c 'cd /source && dpkg-buildpackage -us -uc -b'
    say "lintian"
    inside sh -c 'lintian --allow-root --fail-on error /*.changes'
    cp "$root"/*.deb "$work/"
    leave_root
}

install() {
    say "apt-get install"
    cp "$work"/*.deb "$here/tests/cli/afternoons.sh" "$root/tmp/"
    # shellcheck disable=SC2016 # $ is for the shell inside
    quietly install inside sh -c 'apt-get install -y -qq --no-install-recommends \
        gcc libc6-dev pkgconf gnuplot-nox openmpi-bin $(ls /tmp/*.deb | grep -v dbgsym)'
}

use() {
    say "use"
    as_user 'collrun verify --all --max-ranks 16 | tail -1'
    as_user 'collrun bench allreduce -n 2 -b 1K -e 1K --seconds 20ms'
    as_user 'ringctl -c "up 3 ops --bytes 64K; wait op>=5; kill 1;
        wait alive==2; expect lost==0 && doubled==0; down"'
    # shellcheck disable=SC2016
    as_user 'cat >zero.c && cc -o zero zero.c $(pkg-config --cflags --libs gradwire) &&
        ./zero' <<'END'
#include <gradwire/gradwire.h>
int main(void)
{
    size_t count;
    return gw_algo_list(&count) && count > 30 ? 0 : 1;
}
END
    for user in student researcher engineer; do
        say "the $user's afternoon"
        as_user "mkdir $user && cd $user &&
            /tmp/afternoons.sh /usr/bin /usr/share/gradwire/labs $user >log 2>&1 || {
                tail -40 log; exit 1; }"
    done
    say "Python"
    as_user 'test -s /usr/lib/python3/dist-packages/gradwire/torch/__init__.py'
    as_user 'python3 -c "import gradwire; assert gradwire.Plan.make(\"allreduce\", \"ring\", 4).verify()"'
    say "remove"
    quietly remove inside apt-get purge -y -qq gradwire python3-gradwire libgradwire1 \
        libgradwire-dev
    test -z "$(find "$root/usr" -name '*gradwire*' -print -quit)"
}

root=$work/builder
make_root
build
root=$work/root
make_root
install
use
say "the packages are well"

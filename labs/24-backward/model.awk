# SPDX-License-Identifier: MIT
#
# Prints the tensors of a small transformer of width H, "NAME ELEMENTS", in the order
# of its forward pass:
#
#     awk -v H=64 -f model.awk
BEGIN {
    H = H ? H : 64
    print "embed", 8 * H * H
    for (block = 1; block <= 2; block++) {
        print "block" block ".qkv", 3 * H * H
        print "block" block ".proj", H * H
        print "block" block ".up", 4 * H * H
        print "block" block ".down", 4 * H * H
        print "block" block ".norm", 2 * H
    }
    print "head", 2 * H * H
}

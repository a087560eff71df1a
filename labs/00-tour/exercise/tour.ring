# tour.ring: five members run 100 all-reduces, and one member dies on the way.
#
# This version kills no member and ends before the work is done. Make it wait
# until 20 steps are complete, kill node 3, and wait until all work is done.
# ringctl(1) describes the verbs, and under CONDITIONS what wait can wait for.
up 5 ops --bytes 20K --count 100 --pace 1ms
wait step>=20

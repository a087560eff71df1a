# tour.ring: five members add up 100 times, and one dies on the way.
#
# This one never kills anybody, and looks before the work is done. Make it: wait
# until 20 steps are through, kill node 3, and wait until everything is done.
# ringctl(1) has the verbs, and under CONDITIONS what can be waited for.
up 5 ops --bytes 20K --count 100 --pace 1ms
wait step>=20

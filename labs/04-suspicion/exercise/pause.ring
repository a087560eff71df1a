# pause.ring: node 1 of four falls asleep in the middle of its work, and the
# others must declare it dead.
#
# This version never wakes it up. Make it wait until the others continue without
# the sleeper, wake the sleeper, and wait until all four are members again.
# ringctl(1) describes the verbs, and under CONDITIONS what wait can wait for.
up 4 ops --bytes 20K
wait step>=5
pause 1

# pause.ring: node 1 of four falls asleep in the midst of its work, and the
# others must take it for dead.
#
# This one never wakes it up. Make it: wait until the others have gone on without
# it, wake it, and wait until all four are members again. ringctl(1) has the
# verbs, and under CONDITIONS what can be waited for.
up 4 ops --bytes 20K
wait step>=5
pause 1

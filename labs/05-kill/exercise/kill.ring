# kill.ring: a real ring of four loses a member in the middle of its sums, and
# gets it back.
#
# This version only watches. Make it wait for 20 steps, kill node 2, and wait
# until three are alive. Then start it again (ringctl(1), restart), wait until
# four are alive, and wait until the work is done.
up 4 ops --bytes 20K --count 200 --pace 1ms
wait step>=20

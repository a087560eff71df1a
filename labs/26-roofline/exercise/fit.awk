# The costs of a link, from lines "BYTES US". Prints alpha in us, and the rate in
# bytes per us. This version reads alpha off the smallest message, and the rate off
# the largest one. Both are wrong: each message has some of both.
NR == 1 { alpha = $2 }
{ rate = $1 / $2 }
END { print alpha, rate }

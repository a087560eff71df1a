# backward() computes the last gradient first, so that one is in bucket 0.
{
    name[NR] = $1
    bytes[NR] = $2
}

END {
    if (first > cap)
        first = cap
    for (t = NR; t > 0; t--) {
        print name[t], bucket + 0
        held += bytes[t]
        if (held >= (bucket ? cap : first)) {
            bucket++
            held = 0
        }
    }
}

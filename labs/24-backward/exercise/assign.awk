# The bucket of each gradient. The input has lines "NAME BYTES" in the order of the
# forward pass; first and cap are the sizes that close the first bucket and the
# others. Prints lines "NAME BUCKET"; bucket 0 is all-reduced first.
#
# This version fills buckets in the order of the forward pass.
{
    print $1, bucket + 0
    held += $2
    if (held >= (bucket ? cap : first)) {
        bucket++
        held = 0
    }
}

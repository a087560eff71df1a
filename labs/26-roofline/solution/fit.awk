# Least squares: the straight line US = alpha + BYTES/rate.
{
    n++
    x += $1
    y += $2
    xx += $1 * $1
    xy += $1 * $2
}
END {
    slope = (n * xy - x * y) / (n * xx - x * x)
    print (y - slope * x) / n, 1 / slope
}

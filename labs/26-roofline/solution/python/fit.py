# Least squares: the straight line US = alpha + BYTES/rate.
import sys

times = [tuple(map(float, line.split())) for line in open(sys.argv[-1])]

n = len(times)
x = sum(size for size, us in times)
y = sum(us for size, us in times)
xx = sum(size * size for size, us in times)
xy = sum(size * us for size, us in times)
slope = (n * xy - x * y) / (n * xx - x * x)
print((y - slope * x) / n, 1 / slope)

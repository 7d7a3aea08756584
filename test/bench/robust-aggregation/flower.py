# Flower's own aggregation functions on plain float32 files: flower.py <rule> <output> <elements> (<path> <offset>)...
# Prints JSON: CPU seconds and peak memory in MiB above what it took before the first file.
import json
import resource
import sys

import numpy as np
from flwr.server.strategy.aggregate import aggregate_krum, aggregate_median, aggregate_trimmed_avg

RULES = {
    "fedmedian": aggregate_median,
    "fedtrimmedavg": lambda results: aggregate_trimmed_avg(results, 0.2),
    "krum": lambda results: aggregate_krum(results, 4, 0),
}

rule, output, elements, *inputs = sys.argv[1:]
idle = resource.getrusage(resource.RUSAGE_SELF)
results = [
    ([np.fromfile(path, dtype="<f4", count=int(elements), offset=int(offset))], 1)
    for path, offset in zip(inputs[::2], inputs[1::2])
]
RULES[rule](results)[0].astype("<f4", copy=False).tofile(output)
used = resource.getrusage(resource.RUSAGE_SELF)
cpu = used.ru_utime + used.ru_stime - idle.ru_utime - idle.ru_stime
print(json.dumps({"cpu": cpu, "peak": (used.ru_maxrss - idle.ru_maxrss) / 1024}))

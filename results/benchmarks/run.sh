#!/usr/bin/env bash
# run.sh BUILD_DIR OUT_DIR: every benchmark of bench_simulate in a process of its own (so that its peak memory is its
# own), three repetitions, JSON per benchmark in OUT_DIR and a table on standard output. Leave the machine quiet.
set -euo pipefail
bench=$1/bench_simulate
out=$2
mkdir -p "$out"
printf '%-45s %12s %12s %12s %9s\n' benchmark 'min ms' 'median ms' 'max ms' 'peak MB'
"$bench" --benchmark_list_tests | while read -r name; do
  file=$out/$(tr '/' '.' <<<"$name").json
  repetitions=3
  case $name in *message/2048*) repetitions=1 ;; esac   # minutes long
  "$bench" --benchmark_filter="^$name\$" --benchmark_repetitions=$repetitions --benchmark_out="$file" --benchmark_out_format=json \
    >/dev/null 2>&1 </dev/null
  awk -v name="$name" '
    /"run_type": "iteration"/ { iteration = 1 }
    /"run_type": "aggregate"/ { iteration = 0 }
    /"real_time":/ && iteration { gsub(/[^0-9.e+-]/, "", $2); times[++n] = $2 + 0 }
    /"peak_MB":/ && iteration { gsub(/[^0-9.e+-]/, "", $2); peak = $2 + 0 }
    END { for (i = 1; i <= n; ++i) for (j = i + 1; j <= n; ++j) if (times[j] < times[i]) { t = times[i]; times[i] = times[j]; times[j] = t }
          printf "%-45s %12.1f %12.1f %12.1f %9.0f\n", name, times[1], times[int((n + 1) / 2)], times[n], peak }' "$file"
done

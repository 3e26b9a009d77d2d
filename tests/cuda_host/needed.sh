#!/usr/bin/env bash
# needed.sh PROGRAM...: none of them asks the loader for a library of NVIDIA's, so that they start on any machine.
set -euo pipefail
status=0
for program in "$@"; do
  needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  if [ -z "$needed" ]; then echo "$program: needs nothing at all?"; status=1; fi
  if grep -E '^lib(cuda|cudart|cudnn|cublas|nccl|nvidia)' <<<"$needed"; then echo "$program: needs these"; status=1; fi
done
exit "$status"

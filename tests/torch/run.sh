#!/usr/bin/env bash
# run.sh BUILD TEST.py: a test that needs PyTorch. Exits 77 (skipped) where no Python here has it.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
export LOCKSTEP_BUILD OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
LOCKSTEP_BUILD=$(realpath "$1")
for python in python3 /usr/bin/python3; do  # Debian's python3-torch is that of /usr/bin/python3
  "$python" -c 'import torch' 2>/dev/null && exec "$python" "$here/$2"
done
echo "skipped (torch): no Python here has torch; ./bootstrap test --with-torch installs it"
exit 77

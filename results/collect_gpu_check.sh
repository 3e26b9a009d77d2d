# shellcheck shell=bash disable=SC2154  # root, carry, targets and failed are collect_gpu.sh's
# The dry run of collect_gpu.sh, which reads this file: what can be checked without a GPU.

check() {
  local what=$1
  shift
  if "$@" >"$scratch/log" 2>&1; then echo "ok      $what"; return; fi
  echo "FAILED  $what"
  tail -n 20 "$scratch/log" | sed 's/^/        /'
  failed=1
}

python_parses() { python3 -c 'import ast, sys; [ast.parse(open(f).read(), f) for f in sys.argv[1:]]' "$@"; }

# The headers and libraries of the system itself are out of sight, as they are missing on the machine.
bare_configure() {
  configure "$scratch/carry" "$scratch/build" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF &&
    ! grep -E '^(nlohmann_json_DIR|CLI11_DIR|Eigen3_DIR|OPENSSL_INCLUDE_DIR|OPENSSL_CRYPTO_LIBRARY|Catch2_DIR):' "$scratch/build/CMakeCache.txt" |
    grep -v "$scratch/carry"
}

# Every target that the stages build is there, where CUDA is.
has_targets() {
  local target
  if ! grep -q '^CMAKE_CUDA_COMPILER:[A-Z]*=/' "$scratch/build/CMakeCache.txt"; then
    echo "no CUDA here"
    return
  fi
  for target in "${targets[@]}"; do ninja -C "$scratch/build" -t query "$target" >/dev/null || return 1; done
}

# fake_tests FOLDER: programs that answer as test_cuda and test_cuda_host do on a machine with one GPU. As Catch2 2 does,
# they leave with the number of tests they list.
fake_tests() {
  mkdir -p "$1"
  cat >"$1/test_cuda" <<'TEXT'
#!/bin/sh
case $1 in
  --list-test-names-only)
    printf '%s\n' 'Sums of 1, 2 and [3] buffers' 'Two GPUs' 'Memory is what the device gives'
    exit 3
    ;;
  'Sums of 1\, 2 and \[3] buffers' | 'Memory is what the device gives') echo 'All tests passed' ;;
  'Two GPUs') echo 'skipped (gpu): needs 2: 1 here' ;;
  *)
    echo 'No test cases matched'
    exit 0
    ;;
esac
TEXT
  printf '#!/bin/sh\n' >"$1/test_cuda_host"
  chmod +x "$1/test_cuda" "$1/test_cuda_host"
}

# By the driver's answer, and without one.
builds_for() {
  local bin=$scratch/driver
  mkdir -p "$bin"
  printf '#!/bin/sh\necho 9.0\necho 8.0\n' >"$bin/nvidia-smi"
  chmod +x "$bin/nvidia-smi"
  [ "$(PATH=$bin:$PATH architectures)" = 90-real ] || return 1
  printf '#!/bin/sh\nexit 9\n' >"$bin/nvidia-smi"
  [ "$(PATH=$bin:$PATH architectures)" = native ]
}

# On two GPUs, those that CUDA_VISIBLE_DEVICES leaves, and without a driver.
counts_gpus() {
  local bin=$scratch/counting
  mkdir -p "$bin"
  printf '#!/bin/sh\necho "GPU 0: H100 (UUID: GPU-1)"\necho "  MIG 1g"\necho "GPU 1: H100 (UUID: GPU-2)"\n' >"$bin/nvidia-smi"
  chmod +x "$bin/nvidia-smi"
  [ "$(PATH=$bin:$PATH gpu_count)" -eq 2 ] || return 1
  [ "$(PATH=$bin:$PATH CUDA_VISIBLE_DEVICES=0,3,5 gpu_count)" -eq 3 ] || return 1
  printf '#!/bin/sh\nexit 9\n' >"$bin/nvidia-smi"
  [ "$(PATH=$bin:$PATH gpu_count)" -eq 1 ] || return 1
  [ "$(gpu_counts 6 | paste -sd ' ')" = "1 2 4 6" ] && [ "$(gpu_counts 8 | paste -sd ' ')" = "1 2 4 8" ] && [ "$(gpu_counts 1)" = 1 ]
}

# A GPU that another process computes on, and one that is busy with what cannot be seen from here.
refuses_busy_gpus() {
  local bin=$scratch/busy log=$scratch/busy.log answer
  mkdir -p "$bin" "$scratch/busy_carry"
  local -x LOCKSTEP_GPU_BUILD=$scratch/busy_build LOCKSTEP_GPU_CARRY=$scratch/busy_carry PATH=$bin:$PATH
  for answer in 'case $* in *compute-apps*) echo "GPU-1, 4711, python3, 900 MiB";; esac' \
    'case $* in *utilization*) echo "0, 3"; echo "1, 97";; esac'; do
    printf '#!/bin/sh\n%s\n' "$answer" >"$bin/nvidia-smi"
    chmod +x "$bin/nvidia-smi"
    if "$root/results/collect_gpu.sh" run "$scratch/busy_out" facts >"$log" 2>&1; then return 1; fi
    grep -q 'others use the GPUs' "$log" || return 1
  done
  grep -q 'GPU 1 is 97 % busy' "$log"
}

# The stage of the tests over programs of which all pass, and over one of which a test fails.
tests_stage() {
  local report=$scratch/fake/collect/results/gpu_tests.txt
  fake_tests "$scratch/fake"
  mkdir -p "$scratch/fake/collect/logs" "$scratch/fake/collect/results"
  local -x LOCKSTEP_GPU_BUILD=$scratch/fake
  "$root/results/collect_gpu.sh" stage tests || return 1
  [ "$(grep -c '^ok' "$report")" -eq 2 ] && [ "$(grep -c '^skip' "$report")" -eq 1 ] || return 1
  # Called again, it runs none that is over.
  sed -i "s/ echo 'All tests passed'/ exit 3/" "$scratch/fake/test_cuda"
  "$root/results/collect_gpu.sh" stage tests && [ "$(grep -c '^ok' "$report")" -eq 2 ] || return 1
  sed -i "s/^    printf .*/    echo 'There is no such test'/" "$scratch/fake/test_cuda"
  ! "$root/results/collect_gpu.sh" stage tests && grep -q '^FAILED .* There is no such test' "$report"
}

# What a GPU machine would run, answering at once. One target does not compile; bench_cuda hangs in two of its calls and
# calibrate fails, after they have written something: what they leave must come back, and what follows must run.
fake_machine() {
  local python
  python=$(command -v python3)
  mkdir -p "$1/bin" "$1/carry/lib" "$1/data"
  fake_tests "$1/build"
  echo a1b2c3d >"$1/carry/git"
  tar -czf "$1/carry/mnist.tar.gz" -C "$1" data
  cat >"$1/build/bench_cuda" <<'TEXT'
#!/bin/sh
echo "{\"program\": \"bench_cuda\", \"arguments\": \"$*\"}"
case $* in *'lenet --batch 16 --precision fp32'* | *'lenet --precision bf16 --batch 16'*) sleep 20 ;; esac
TEXT
  printf '#!/bin/sh\n[ "$1" != topology ] || exec echo "{}"\nfor out; do :; done\necho "{}" >"$out"\nexit 1\n' >"$1/build/calibrate"
  printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho "{}" >"$2"\n' >"$1/build/train"
  cat >"$1/bin/cmake" <<'TEXT'
#!/bin/sh
case $1 in
  --build) exit 1 ;;
  --version) ;;
  *) echo '--   CUDA              13.0' ;;
esac
TEXT
  printf '#!/bin/sh\n[ "$1" != -c ] || exec "%s" "$@"\necho "{\\"program\\": \\"$1\\"}"\n' "$python" >"$1/bin/python3"
  for program in nvcc compute-sanitizer all_reduce_perf; do printf '#!/bin/sh\necho "$0 $*"\n' >"$1/bin/$program"; done
  cat >"$1/bin/nvidia-smi" <<'TEXT'
#!/bin/sh
case $* in
  -L) printf 'GPU 0: H100\nGPU 1: H100\n' ;;
  *-lms*) echo 'timestamp, index, clocks.sm'; exec sleep 600 ;;
esac
TEXT
  chmod +x "$1"/bin/* "$1"/build/*
}

# Programs that came along are unpacked, and nothing is configured.
programs_carried() {
  local machine=$scratch/carried
  fake_machine "$machine"
  tar -cJf "$machine/carry/programs.tar.xz" -C "$machine/build" bench_cuda calibrate train test_cuda test_cuda_host
  echo 90-real >"$machine/carry/architecture"
  rm -rf "$machine/build" "$machine/bin/cmake"
  local -x LOCKSTEP_GPU_BUILD=$machine/build LOCKSTEP_GPU_CARRY=$machine/carry PATH=$machine/bin:$PATH
  "$root/results/collect_gpu.sh" run "$machine/out" train >/dev/null || return 1
  grep -q 'built before, of a1b2c3d' "$machine/build/collect/logs/build.log" && [ -x "$machine/build/bench_cuda" ] &&
    [ "$(find "$machine/build/collect/results" -name 'lenet_*.json' | wc -l)" -eq 14 ] || return 1
  # Another GPU than they were built for.
  rm -rf "$machine/build"
  sed -i '2i case $* in *compute_cap*) echo 8.0; exit ;; esac' "$machine/bin/nvidia-smi"
  ! "$root/results/collect_gpu.sh" run "$machine/out" train >"$machine/log" 2>&1 || return 1
  grep -q 'are for 90-real: results/collect_gpu.sh prepare 80-real' "$machine/log"
}

# All stages in their order over such a machine, in two calls, of which the second repeats no stage that was over.
whole_run() (
  local machine=$scratch/machine
  fake_machine "$machine"
  local -x LOCKSTEP_GPU_BUILD=$machine/build LOCKSTEP_GPU_CARRY=$machine/carry PATH=$machine/bin:$PATH MEASURE_SECONDS=1
  ! COLLECT_SECONDS=60 "$root/results/collect_gpu.sh" run "$machine/out" facts build tests resnet50 calibrate train || return 1
  ! "$root/results/collect_gpu.sh" run "$machine/out" || return 1   # without a limit for the whole
  mkdir "$machine/back"
  tar -xzf "$machine/out/gpu.tar.gz" -C "$machine/back" || return 1
  cd "$machine/back"
  diff <(awk '{print $1, $2}' summary.txt) - <<'TEXT' || return 1
facts ok
build exit
tests ok
resnet50 ok
calibrate exit
train ok
build exit
all_gpus ok
links exit
small exit
chain exit
transformers ok
probe ok
kernels ok
sanitizer ok
TEXT
  [ "$(grep -c '^ok' results/gpu_tests.txt)" -eq 2 ] && [ "$(grep -c . results/resnet50.jsonl)" -eq 12 ] || return 1
  # What hung was written first; the programs after it ran.
  grep -q 'bench_cuda.*--model lenet' results/small.jsonl && grep -q 'bench_cuda.*--model resnet32' results/small.jsonl &&
    grep -q 'bench_cuda.*--model vgg16' results/chain.jsonl && [ -s results/profile.json ] && [ -s results/topology.json ] &&
    [ -s results/copies.jsonl ] && [ "$(find results -name 'lenet_*.json' | wc -l)" -eq 14 ] && [ -s logs/facts.log ] &&
    grep -q clocks.sm logs/clocks_resnet50.csv && grep -q -- '-g 2 -d bfloat16' results/nccl_all_reduce_bfloat16.log &&
    [ -s results/links.json ] && [ "$(grep -c -- '--gpus 2' results/all_gpus.jsonl)" -eq 7 ]
)

dry_run() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-collect.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  echo "plan (stage, limit in seconds):"
  stages | sed 's/^/  /'
  check "this script's syntax" bash -n results/collect_gpu.sh
  check "the GPU's architecture" builds_for
  check "GPUs are counted" counts_gpus
  check "GPUs that others use are refused" refuses_busy_gpus
  check "the tests' stage, with programs that only answer" tests_stage
  check "programs that came along are not built again" programs_carried
  check "all stages, with programs that only answer, hang or fail" whole_run
  for stage in $(stage_names); do check "stage $stage is defined" declare -F "stage_$stage"; done
  if command -v python3 >/dev/null; then check "the baselines' syntax" python_parses results/baselines/*.py; fi
  if command -v dpkg-query >/dev/null; then
    check "headers and libraries to carry" carry_to "$scratch/carry"
    check "they stay below 40 MiB" test "$(du -sm "$scratch/carry" | cut -f1)" -lt 40
    check "CMake configures with them alone, without SimGrid" bare_configure
    check "the stages' targets" has_targets
  else
    echo "skipped what needs Debian's packages"
  fi
  return "$failed"
}

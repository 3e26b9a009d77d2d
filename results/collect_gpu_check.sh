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

# The stage of the tests over programs of which all pass, and over one of which a test fails.
tests_stage() {
  local report=$scratch/fake/collect/results/gpu_tests.txt
  fake_tests "$scratch/fake"
  mkdir -p "$scratch/fake/collect/logs" "$scratch/fake/collect/results"
  local -x LOCKSTEP_GPU_BUILD=$scratch/fake
  "$root/results/collect_gpu.sh" stage tests || return 1
  [ "$(grep -c '^ok' "$report")" -eq 2 ] && [ "$(grep -c '^skip' "$report")" -eq 1 ] || return 1
  sed -i "s/^    printf .*/    echo 'There is no such test'/" "$scratch/fake/test_cuda"
  ! "$root/results/collect_gpu.sh" stage tests && grep -q '^FAILED .* There is no such test' "$report"
}

dry_run() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-collect.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  echo "plan (stage, limit in seconds):"
  stages | sed 's/^/  /'
  check "this script's syntax" bash -n results/collect_gpu.sh
  check "the tests' stage, with programs that only answer" tests_stage
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

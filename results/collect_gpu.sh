#!/usr/bin/env bash
# Builds, tests and measures Lockstep on a GPU machine that has the CUDA Toolkit, cuDNN, NCCL, CMake, Ninja and PyTorch,
# but none of Lockstep's other dependencies and no network. See results/h100/collecting.md.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
cd "$root"

carry=${LOCKSTEP_GPU_CARRY:-$root/.carry}   # what travels with the tree: headers, libcrypto, MNIST, the state of git
build=${LOCKSTEP_GPU_BUILD:-$root/build-gpu}
state=$build/collect      # logs, results, and which stages are done in this build
packages=(nlohmann-json3-dev libcli11-dev libeigen3-dev catch2 libssl-dev)
targets=(train bench_cuda calibrate test_cuda test_cuda_host)
baseline=results/baselines/pytorch_steps.py
memory_test="Memory is what the device gives"
PATH=$PATH:/usr/local/cuda/bin:/sbin   # compute-sanitizer and ldconfig, where the image does not say so

usage() {
  cat <<'TEXT'
usage: results/collect_gpu.sh prepare [ARCHITECTURE] | run OUT [STAGE...] | stages | --dry-run
  prepare    on the developer's machine (Debian): fills .carry/ with what a bare GPU machine lacks. With an architecture,
             such as 90-real, the programs too, built here, so that no minute of the GPU's goes into building them
  run        on the GPU machine: the stages named, or all; OUT receives gpu.tar.gz and summary.txt. A stage that is
             over in this build is not repeated (rm build-gpu/collect/STAGE.done), one that was stopped at its limit goes
             on. COLLECT_SECONDS bounds the whole call (no limit), COLLECT_TESTS_AT_ONCE=8 runs as many tests beside each
             other. GPUs that others use are refused (COLLECT_BUSY=1: are not).
  stages     the stages with their limits
  --dry-run  the plan, and a check of what can be checked without a GPU
TEXT
}

say() { printf 'collect: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Stage, limit in seconds, what it does; in the order of running.
# What is worth most comes first: the whole takes longer than one call, and a machine may go at any time.
stages() {
  cat <<'TEXT'
facts        60  the machine: GPUs, driver, clocks, versions, state of the tree
build       420  configures and builds for this machine's GPU
tests       900  the tests that need a GPU, one after another, each at most 150 s
resnet50    420  ResNet-50 images/s on one GPU, Lockstep and PyTorch in turns
all_gpus    600  ResNet-50 images/s on 1, 2, 4, ... and all GPUs together; skipped where there is one
links       900  the profile of all GPUs together; nccl-tests and nvbandwidth beside it where they are installed
small       300  LeNet and ResNet-32 at batch 16: 1, 2, 4, 8 learners, and PyTorch
calibrate  1200  the profile of one GPU; copies by PyTorch beside it
chain       300  what the profile is to predict: batches and numbers of learners that were not calibrated
transformers 400 steps of transformers in PyTorch, what a prediction from facts alone is to meet
probe       300  lockstep_probe.py on three jobs of PyTorch, and steps of batches that it did not measure
kernels     200  single kernels of PyTorch, and what the GPU does in a step of four transformers
train       300  LeNet on MNIST to 99 % with S-SGD, SMA and EA-SGD, on one GPU and on all
sanitizer   400  compute-sanitizer: memcheck, racecheck, synccheck over the tests named in LOCKSTEP_SANITIZER_TESTS
TEXT
}

stage_names() { stages | awk '{print $1}'; }
limit_of() { stages | awk -v stage="$1" '$1 == stage {print $2}'; }

# GPUs that this process sees, at least 1: without a driver the stages fail by themselves, and say why.
gpu_count() {
  local count
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    count=$(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .)
  else
    count=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
  fi
  echo $((count > 0 ? count : 1))
}

# Powers of two below the number of GPUs, and that number.
gpu_counts() {
  local all=$1 count=1
  while [ "$count" -lt "$all" ]; do echo "$count"; count=$((2 * count)); done
  echo "$all"
}

# What others compute there would be in our times. One line of it; empty: nobody does.
busy_gpus() {
  nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv,noheader 2>/dev/null | head -n 3 | paste -sd ';'
  nvidia-smi --query-gpu=index,utilization.gpu --format=csv,noheader,nounits 2>/dev/null |
    awk -F', *' '$2 + 0 >= 20 {printf "GPU %s is %s %% busy; ", $1, $2}'
}

# ---- on the developer's machine ----

# Files of a package below /usr that a build may need; shared libraries stay: the GPU machine has its own, or none.
files_of_package() {
  dpkg-query -L "$1" | sed -n 's#^/usr/##p' |
    grep -E '^(include|lib|share)/' | grep -vE '^share/(doc|man|lintian|bug|pkgconfig)/|/pkgconfig/|/unsupported/|libssl\.a$|\.so$' |
    while read -r file; do
      if [ -f "/usr/$file" ]; then printf '%s\n' "$file"; fi
    done
}

# carry_to FOLDER
carry_to() {
  local package
  command -v dpkg-query >/dev/null || die "prepare needs the installed Debian packages ${packages[*]}"
  # Debian 13's catch2 is an empty package that asks for this one.
  if dpkg-query -W libcatch2-dev >/dev/null 2>&1; then packages+=(libcatch2-dev); fi
  mkdir -p "$1"
  for package in "${packages[@]}"; do
    dpkg-query -W "$package" >/dev/null 2>&1 || die "package $package is not installed: ./bootstrap"
    files_of_package "$package" | tar -C /usr -cf - -T - | tar -C "$1" -xf -
  done
  # Headers of this architecture lie in a folder that only Debian's own compilers look into.
  for package in "$1"/include/*-linux-gnu*/openssl; do
    if [ -d "$package" ]; then cp -n "$package"/* "$1/include/openssl/"; fi
  done
  carry_crypto "$1"
  git describe --always --dirty --abbrev=12 >"$1/git" 2>/dev/null || echo unknown >"$1/git"
}

# carry_crypto FOLDER: Debian 13's libcrypto.a asks for zlib and zstd, whose archives may not be installed: then the
# shared one and what it needs, as FOLDER/lib/crypto/libcrypto.so.
carry_crypto() {
  local archive shared asked
  archive=$(find "$1/lib" -name libcrypto.a)
  asked=$(nm -u "$archive" 2>/dev/null | grep -cE ' U (inflate|ZSTD_compress)' || true)
  if [ "$asked" -eq 0 ]; then return; fi
  shared=$(ldconfig -p | awk '$1 == "libcrypto.so.3" && !seen++ {print $NF}')
  [ -n "$shared" ] || die "no libcrypto.so.3 here"
  rm -f "$archive"
  mkdir -p "$1/lib/crypto"
  cp -L "$shared" "$1/lib/crypto/libcrypto.so"     # for the linker
  cp -L "$shared" "$1/lib/crypto/libcrypto.so.3"   # for the programs; a link may get lost on the way
  ldd "$shared" | awk '$1 ~ /^lib(z|zstd)\.so/ {print $3}' | while read -r shared; do cp -L "$shared" "$1/lib/crypto/"; done
}

# crypto_of FOLDER: the library that carry_crypto left there.
crypto_of() { find "$1/lib" \( -name libcrypto.a -o -name libcrypto.so \) | head -n 1; }

# prepare_programs ARCHITECTURE: what stage_build would build, against nothing that the GPU machine may lack.
prepare_programs() {
  local built=$root/build-gpu-programs target
  LOCKSTEP_GIT=$(cat "$carry/git") configure "$carry" "$built" -DLOCKSTEP_CUDA_ARCHITECTURES="$1" \
    -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON >/dev/null
  cmake --build "$built" -j "$(nproc)" --target "${targets[@]}" >/dev/null
  mkdir -p "$built/stripped"
  for target in "${targets[@]}"; do strip -o "$built/stripped/$target" "$built/$target"; done
  command -v xz >/dev/null || die "prepare packs programs by xz, which is not here: install Debian's xz-utils"
  tar -cJf "$carry/programs.tar.xz" -C "$built/stripped" "${targets[@]}"
  echo "$1" >"$carry/architecture"
}

prepare() {
  rm -rf "$carry"
  carry_to "$carry"
  if [ -d build/data/mnist ]; then
    tar -czf "$carry/mnist.tar.gz" -C build/data mnist
  else
    say "build/data/mnist is not there (./bootstrap data): the stage train will be skipped"
  fi
  if [ $# -gt 0 ]; then
    prepare_programs "$1"
    rm -rf "$carry"/include "$carry"/lib "$carry"/share   # nothing is built over there
  fi
  say "$(du -sh "$carry" | cut -f1) in .carry/, of $(cat "$carry/git"); call again after every commit"
}

# ---- the build of a bare machine ----

# Folder of NVIDIA's Python wheels, or nothing.
wheels() {
  python3 -c 'import importlib.util as u; s = u.find_spec("nvidia"); print(list(s.submodule_search_locations)[0])' 2>/dev/null || true
}

# configure CARRY BUILD [CMAKE ARGUMENT...]. libcrypto by its path: CMake 3.31 asks for zlib too where it is to find a
# static one by itself.
configure() {
  local carried=$1 folder=$2
  shift 2
  cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_SIMGRID=OFF \
    -DCMAKE_PREFIX_PATH="$carried" \
    -DOPENSSL_INCLUDE_DIR="$carried/include" -DOPENSSL_CRYPTO_LIBRARY="$(crypto_of "$carried")" "$@"
}

# ---- stages, each in a shell of its own with its limit; results go to $state/results ----

nvcc_path() {
  local candidate
  for candidate in "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc "$(wheels)"/cu13/bin/nvcc; do
    if [ -x "$candidate" ]; then realpath "$candidate"; return; fi
  done
  return 1
}

# What to build for: of the first GPU "90-real", by what the driver says, so that CMake need not run a program to find out.
architectures() {
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -cd 0-9)
  if [ -n "$capability" ]; then echo "$capability-real"; else echo native; fi
}

stage_facts() {
  set +e
  cat "$carry/git"
  date -u +%Y-%m-%dT%H:%M:%SZ
  uname -srm
  sed -n 's/^PRETTY_NAME=//p' /etc/os-release
  nproc
  grep -m1 'model name' /proc/cpuinfo
  nvidia-smi
  nvidia-smi --format=csv --query-gpu=name,uuid,driver_version,memory.total,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,power.limit,clocks_throttle_reasons.active,ecc.mode.current
  nvidia-smi topo -m
  nvcc_path && "$(nvcc_path)" --version
  wheels
  cmake --version
  ninja --version
  c++ --version
  python3 --version
  python3 -c 'import torch; print("torch", torch.__version__, torch.version.cuda, torch.backends.cudnn.version(), torch.cuda.nccl.version())'
  command -v compute-sanitizer ncu
  find /usr/local/cuda/ "$(wheels)" -maxdepth 4 \( -name 'libcudart.so*' -o -name 'libcublasLt.so*' -o -name 'libcudnn.so*' -o -name 'libnccl.so*' \) 2>/dev/null
  ldconfig -p | grep -E 'libcrypto|libcudnn|libnccl'
  nvidia-smi -L >/dev/null
}

# Libraries of NVIDIA's wheels for programs that were built elsewhere.
library_path() {
  local folder
  folder=$(wheels)
  echo "$folder/cudnn/lib:$folder/nccl/lib:$folder/cu13/lib:/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

stage_build() {
  if [ -f "$carry/programs.tar.xz" ]; then
    if [ "$(architectures)" != native ] && [ "$(architectures)" != "$(cat "$carry/architecture")" ]; then
      die "the programs are for $(cat "$carry/architecture"): results/collect_gpu.sh prepare $(architectures)"
    fi
    command -v xz >/dev/null || die "no xz on this machine: prepare without programs, which are then built here"
    tar -xJf "$carry/programs.tar.xz" -C "$build"
    echo "built before, of $(cat "$carry/git")"
    return
  fi
  CUDACXX=$(nvcc_path) || die "no nvcc on this machine"
  LOCKSTEP_GIT=$(cat "$carry/git")
  export CUDACXX LOCKSTEP_GIT
  configure "$carry" "$build" -DLOCKSTEP_CUDA_ARCHITECTURES="$(architectures)" -DLOCKSTEP_NVIDIA_WHEELS="$(wheels)" \
    -DCUDAToolkit_ROOT="$(dirname "$(dirname "$CUDACXX")")" | tee "$state/configure.log"
  grep -qE '^-- +CUDA +[0-9.]+$' "$state/configure.log" || die "CMake did not find CUDA, cuDNN and NCCL"
  # Whatever fails to compile, the stages that do not need it go on with the rest.
  cmake --build "$build" -j "$(nproc)" --target "${targets[@]}" -- -k 0
}

# One after another, since two tests on a GPU at a time would each measure the other; COLLECT_TESTS_AT_ONCE=8 where
# minutes are few. Each test a process: one that crashes the GPU's context or hangs takes no other along. Its whole
# output is in logs/tests/; a failure names call, sizes, engine and the library's words. Where the stage was stopped at
# its limit, it goes on with the tests that are not over.
stage_tests() {
  local logs=$state/logs/tests report=$state/results/gpu_tests.txt log failures
  mkdir -p "$logs"
  touch "$report" "$logs/over"
  sed -i '/^FAILED/d' "$report"
  timeout 60 "$build/test_cuda_host" >"$logs/host.log" 2>&1 || { echo "FAILED test_cuda_host"; tail -n 40 "$logs/host.log"; failed=1; }
  # Alone, because it looks at the memory that is free.
  if ! grep -qxF "$memory_test" "$logs/over"; then run_test "$memory_test" || failed=1; fi
  test_names | { grep -vxF -e '' -e "$memory_test" -f "$logs/over" || true; } |
    xargs --no-run-if-empty -d '\n' -n 1 -P "${COLLECT_TESTS_AT_ONCE:-1}" "$root/results/collect_gpu.sh" test || failed=1
  pack_now
  sort "$report"
  failures=$(grep -c '^FAILED' "$report" || true)
  echo "tests: $(grep -c '^ok' "$report" || true) ok, $(grep -c '^skip' "$report" || true) skipped, $failures failed"
  for log in $(grep -l -E '^FAILED' "$logs"/*.log 2>/dev/null | head -n 12); do
    echo "== $log"
    head -c 3000 "$log"
  done
  return "$failed"
}

# The test cases of test_cuda, a line each. Catch2 2 answers with their number as its exit status; 3 has another option.
test_names() {
  local names
  names=$("$build/test_cuda" --list-test-names-only 2>/dev/null || true)
  [ -n "$names" ] || names=$("$build/test_cuda" --list-tests --verbosity quiet)
  sed 's/^ *//' <<<"$names"
}

# run_test NAME: a test case of test_cuda, within its limit; a line in results/gpu_tests.txt.
run_test() {
  local name=$1 log status=0 start=$SECONDS
  log=$state/logs/tests/$(printf '%s' "$name" | tr -c 'A-Za-z0-9' '_').log
  # Catch2 reads commas and brackets in a test's name as patterns.
  timeout --foreground --kill-after=5 150 "$build/test_cuda" "$(printf '%s' "$name" | sed 's/[,[]/\\&/g')" >"$log" 2>&1 || status=$?
  if grep -q '^No test' "$log"; then status=98; fi
  if [ "$status" -eq 0 ] && grep -q '^skipped (gpu)' "$log"; then
    printf 'skip   %4d s  %s: %s\n' $((SECONDS - start)) "$name" "$(grep -m1 '^skipped' "$log")"
  elif [ "$status" -eq 0 ]; then
    printf 'ok     %4d s  %s\n' $((SECONDS - start)) "$name"
  else
    echo "FAILED with exit status $status (124: after 150 s)" >>"$log"
    printf 'FAILED %4d s  %s: exit status %d\n' $((SECONDS - start)) "$name" "$status"
  fi >>"$state/results/gpu_tests.txt"
  if [ "$status" -eq 0 ]; then printf '%s\n' "$name" >>"$state/logs/tests/over"; fi
  [ "$status" -eq 0 ]   # 255 would make xargs give up
}

# Whole networks and large vectors take minutes under the sanitizer and show nothing that small ones do not.
stage_sanitizer() {
  local tool tests=${LOCKSTEP_SANITIZER_TESTS:-*on a GPU*,*evices*,*gate*,A replay takes*,The emulated sum*}
  command -v compute-sanitizer >/dev/null || die "no compute-sanitizer on this machine"
  for tool in memcheck racecheck synccheck; do
    echo "== $tool"
    timeout --foreground --kill-after=5 125 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 \
      "$build/test_cuda" "$tests" || { echo "== $tool: exit status $?"; failed=1; }
    pack_now
  done
  return "$failed"
}

# pack_now: what is there so far, to where run was told.
pack_now() {
  if [ -n "${COLLECT_OUT:-}" ]; then pack "$COLLECT_OUT"; fi
}

# measure NAME COMMAND...: appends to results/NAME.jsonl, a line per configuration; goes on after a failure, and after
# a program that hangs. What an earlier call of the stage has measured is not measured again. In the foreground: at the
# stage's limit the program goes with it, and does not run on beside the next stage.
failed=0
measure() {
  local name=$1 status=0 lines before
  lines=$state/results/$1.jsonl
  shift
  if grep -qxF -- "$*" "$state/logs/$name.measured" 2>/dev/null; then echo "+ measured before: $*"; return; fi
  echo "+ $*"
  touch "$lines"
  before=$(wc -l <"$lines")
  # Into the file, not through a pipe: helpers of a program that was stopped may hold a pipe open for long.
  timeout --foreground --kill-after=5 "${MEASURE_SECONDS:-90}" "$@" >>"$lines" || status=$?
  tail -n +$((before + 1)) "$lines" | cut -c1-400
  if [ "$status" -eq 0 ]; then
    printf '%s\n' "$*" >>"$state/logs/$name.measured"
  else
    echo "+ failed with exit status $status: $*"
    failed=1
  fi
  pack_now
}

# The same for programs that PyTorch compiles first, on a machine that has compiled nothing yet.
compiled() { MEASURE_SECONDS=${MEASURE_SECONDS:-150} measure "$@"; }

stage_resnet50() {
  local precision
  measure resnet50 "$build/bench_cuda" --model resnet50 --precision bf16 --batch 256,64 --seconds 3
  measure resnet50 python3 "$baseline" --model resnet50 --precision bf16 --batch 256,64 --seconds 3
  compiled resnet50 python3 "$baseline" --model resnet50 --precision bf16 --batch 256 --mode compile --seconds 3
  measure resnet50 python3 "$baseline" --model resnet50 --precision bf16 --batch 256 --input host --seconds 3
  measure resnet50 "$build/bench_cuda" --model resnet50 --precision bf16 --batch 256 --seconds 3   # has the clock moved?
  for precision in tf32 fp16 fp32; do
    measure resnet50 "$build/bench_cuda" --model resnet50 --precision "$precision" --batch 128 --seconds 3
    measure resnet50 python3 "$baseline" --model resnet50 --precision "$precision" --batch 128 --seconds 3
  done
  compiled resnet50 python3 "$baseline" --model resnet50 --precision tf32 --batch 128 --mode compile --seconds 3
  return "$failed"
}

stage_all_gpus() {
  local all count words
  all=$(gpu_count)
  if [ "$all" -lt 2 ]; then echo "skipped: one GPU"; return; fi
  for count in $(gpu_counts "$all"); do
    measure all_gpus "$build/bench_cuda" --model resnet50 --precision bf16 --batch 256,64 --gpus "$count" --seconds 3
    measure all_gpus "$build/bench_cuda" --model resnet50 --precision bf16 --batch 64 --gpus "$count" --algorithm sma --seconds 3
  done
  # What buckets hide, and what half precision on the wire saves.
  for words in "--bucket-bytes 0" "--wire bf16"; do
    # shellcheck disable=SC2086  # two words
    measure all_gpus "$build/bench_cuda" --model resnet50 --precision bf16 --batch 64 --gpus "$all" $words --seconds 3
    # shellcheck disable=SC2086
    measure all_gpus "$build/bench_cuda" --model vgg16 --precision bf16 --batch 64 --gpus "$all" $words --seconds 3
  done
  measure all_gpus "$build/bench_cuda" --model vgg16 --precision bf16 --batch 64 --gpus "$all" --seconds 3
  return "$failed"
}

# Others' measures of the same links, where they are installed: their logs are what "calibrate import" reads.
others_of_links() {
  local all=$1 tool program
  for tool in all_reduce reduce_scatter all_gather alltoall broadcast; do
    program=$(command -v "${tool}_perf" || true)
    if [ -z "$program" ]; then continue; fi
    for type in float half bfloat16; do
      echo "+ $program -d $type"
      timeout --foreground --kill-after=5 120 "$program" -b 8 -e 1G -f 2 -g "$all" -d "$type" >"$state/results/nccl_${tool}_$type.log" 2>&1 || failed=1
    done
  done
  if command -v nvbandwidth >/dev/null; then
    timeout --foreground --kill-after=5 300 nvbandwidth >"$state/results/nvbandwidth.log" 2>&1 || failed=1
  fi
  pack_now
}

stage_links() {
  local all
  all=$(gpu_count)
  others_of_links "$all"
  if [ "$all" -lt 2 ]; then echo "skipped our own: one GPU, which stage calibrate measures"; return "$failed"; fi
  profile links --gpus "$all" --models resnet50 --batches 32,128 --learners 1 --precision bf16 --seconds 2
  return "$failed"
}

stage_small() {
  local model
  for model in lenet resnet32; do
    measure small "$build/bench_cuda" --model "$model" --batch 16 --precision fp32 --learners 1,2,4,8 --algorithm sma --seconds 2
  done
  for model in lenet resnet32; do
    measure small python3 "$baseline" --model "$model" --batch 16 --precision fp32 --seconds 2
    compiled small python3 "$baseline" --model "$model" --batch 16 --precision fp32 --mode compile,graphs --seconds 2
    measure small "$build/bench_cuda" --model "$model" --batch 16 --precision tf32 --learners 1,2,4,8 --algorithm sma --seconds 2
    measure small "$build/bench_cuda" --model "$model" --batch 16,64,256 --precision fp32 --algorithm ssgd --seconds 2
    measure small python3 "$baseline" --model "$model" --batch 64,256 --precision fp32 --seconds 2
  done
  return "$failed"
}

# lenet NAME ARGUMENT...: one run to 99 % with its record.
lenet() {
  local name=$1
  shift
  echo "+ $name"
  if [ -f "$state/results/$name.json" ]; then return; fi   # records appear whole
  timeout --foreground --kill-after=5 60 "$build/train" --device cuda --model lenet --data mnist --data-dir "$build/data" --target 0.99 \
    --epochs 30 --quiet -o "$state/results/$name.json" "$@" || { echo "+ failed with exit status $?: $name"; failed=1; }
  pack_now
}

stage_train() {
  local seed
  if [ ! -f "$carry/mnist.tar.gz" ]; then echo "skipped: no MNIST in .carry/"; return; fi
  mkdir -p "$build/data"
  tar -xzf "$carry/mnist.tar.gz" -C "$build/data"
  lenet lenet_ssgd_1 --algorithm ssgd --seed 1
  lenet lenet_sma_1_1 --algorithm sma --learners 1 --seed 1
  lenet lenet_sma_4_1 --algorithm sma --learners 4 --seed 1
  lenet lenet_easgd_4 --algorithm easgd --learners 4
  lenet lenet_sma_2 --algorithm sma --learners 2
  lenet lenet_sma_8 --algorithm sma --learners 8
  if [ "$(gpu_count)" -gt 1 ]; then
    lenet "lenet_ssgd_gpus" --algorithm ssgd --gpus "$(gpu_count)"
    lenet "lenet_sma_2_gpus" --algorithm sma --learners 2 --gpus "$(gpu_count)"
  fi
  for seed in 2 3; do
    lenet "lenet_ssgd_$seed" --algorithm ssgd --seed "$seed"
    lenet "lenet_sma_1_$seed" --algorithm sma --learners 1 --seed "$seed"
    lenet "lenet_sma_4_$seed" --algorithm sma --learners 4 --seed "$seed"
  done
  return "$failed"
}

# profile NAME ARGUMENT...: of calibrate, as results/NAME.json. Packed while it runs too: every series is on disk as it
# is taken, the profile every half a minute.
profile() {
  local name=$1 packer status=0
  shift
  (while sleep 20; do pack_now; done) &
  packer=$!
  "$build/calibrate" --device cuda "$@" --quiet --resume -o "$state/results/$name.json" || status=$?
  kill "$packer" 2>/dev/null || true
  if [ "$status" -ne 0 ]; then failed=1; fi
}

stage_calibrate() {
  "$build/calibrate" topology --json >"$state/results/topology.json" || failed=1   # first: the rest may be cut short
  measure copies python3 results/baselines/pytorch_copies.py --seconds 1
  profile profile --gpus 1 --models resnet50,vgg16,lenet --batches 8,32,128 --learners 1,2,4 \
    --precision bf16 --seconds 1 --most-bytes 67108864
  return "$failed"
}

# Batches and numbers of learners between and beyond those of stage_calibrate, with its precision.
stage_chain() {
  measure chain "$build/bench_cuda" --model resnet50 --precision bf16 --batch 16,64 --seconds 2
  measure chain "$build/bench_cuda" --model lenet --precision bf16 --batch 16,64 --seconds 2
  measure chain "$build/bench_cuda" --model vgg16 --precision bf16 --batch 16,64 --seconds 2
  measure chain "$build/bench_cuda" --model resnet50 --precision bf16 --batch 32 --learners 3 --algorithm sma --seconds 2
  measure chain "$build/bench_cuda" --model lenet --precision bf16 --batch 32 --learners 3 --algorithm sma --seconds 2
  return "$failed"
}

# Those that PyTorch compiles last: they take longest to set up.
stage_transformers() {
  MEASURE_SECONDS=250 measure transformers python3 results/baselines/pytorch_transformers.py gpt2:1024:16:amp llama3_2_1b:4096:2 \
    gpt2:1024:16 gpt2_xl:1024:4:amp gpt2:1024:4:amp gpt2:1024:16:amp:unfused llama3_2_3b:4096:1 hf-gpt2:1024:16:amp \
    hf-llama3_2_1b:4096:2 llama3_2_1b:4096:4:recompute gpt2_medium:1024:8:amp gpt2:256:64:amp gpt2_xl:1024:8:amp:recompute \
    llama3_2_1b:8192:1:amp llama2_7b:4096:1:recompute gpt2:1024:16:tf32
  compiled transformers python3 results/baselines/pytorch_transformers.py gpt2:1024:16:amp:compile llama3_2_1b:4096:2:compile
  return "$failed"
}

# probed NAME BATCHES [OPTION...]: the job NAME of probe_jobs.py.
probed() {
  local name=$1 batches=$2
  shift 2
  echo "+ probe $name"
  timeout --foreground --kill-after=5 100 python3 calib/torch/lockstep_probe.py "results/baselines/probe_jobs.py:$name" \
    --batches "$batches" --seconds 1 --name "$name" --resume -o "$state/results/probe_$name.jsonl" "$@" || failed=1
  pack_now
}

stage_probe() {
  probed gpt2 4,8,16 --autocast bf16
  measure probe python3 results/baselines/pytorch_transformers.py gpt2:1024:12:amp
  probed resnet50 32,64,128 --autocast bf16
  measure probe python3 "$baseline" --model resnet50 --precision bf16 --batch 96 --seconds 2
  probed llama 1,2,4
  measure probe python3 results/baselines/pytorch_transformers.py llama3_2_1b:2048:3
  return "$failed"
}

stage_kernels() {
  measure products python3 results/baselines/pytorch_products.py bf16
  measure kernels python3 results/baselines/pytorch_kernels.py gpt2:1024:16:amp llama3_2_1b:4096:2 hf-gpt2:1024:16:amp \
    gpt2_xl:1024:4:amp
  return "$failed"
}

# ---- running them ----

# The small text results and all logs in one file, replaced after every stage: what is there survives a call that is
# stopped at its limit.
pack() {
  local part=$1/gpu.tar.gz.$BASHPID.part   # stage_calibrate packs in the background
  tar -czf "$part" -C "$state" . 2>/dev/null || true   # a log that grows meanwhile is no failure
  mv "$part" "$1/gpu.tar.gz"
  if [ -f "$state/summary.txt" ]; then cp "$state/summary.txt" "$1/summary.txt"; fi
}

note() { printf '%-10s %-24s %4d s\n' "$1" "$2" "$3" | tee -a "$state/summary.txt"; }

is_done() { [ -f "$state/$1.done" ]; }

# clocks_of STAGE: samples clocks, power, heat and the reasons of low clocks of all GPUs until it is killed.
clocks_of() {
  exec nvidia-smi --format=csv -lms 500 \
    --query-gpu=timestamp,index,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu,clocks_throttle_reasons.active \
    >"$state/logs/clocks_$1.csv" 2>/dev/null
}

# run_stage STAGE OUT: within its limit and the call's.
run_stage() {
  local stage=$1 out=$2 left limit status=0 start=$SECONDS clocks
  if is_done "$stage"; then say "$stage: done before"; return; fi
  limit=$(limit_of "$stage")
  if [ -n "$deadline" ]; then
    left=$((deadline - SECONDS - 10))
    if [ "$limit" -gt "$left" ]; then limit=$left; fi
  fi
  if [ "$limit" -lt 20 ]; then note "$stage" "not started: no time" 0; return 1; fi
  say "$stage, at most $limit s"
  clocks_of "$stage" &
  clocks=$!
  COLLECT_OUT=$out timeout --kill-after=5 "$limit" "$root/results/collect_gpu.sh" stage "$stage" >"$state/logs/$stage.log" 2>&1 </dev/null || status=$?
  kill "$clocks" 2>/dev/null || true
  case $status in
    0) touch "$state/$stage.done"; note "$stage" "ok" $((SECONDS - start)) ;;
    124 | 137) note "$stage" "stopped at its limit" $((SECONDS - start)) ;;
    *) note "$stage" "exit status $status" $((SECONDS - start)) ;;
  esac
  # What failed by itself would fail again: its minutes go to the next stages. Not so what comes before all others.
  case $stage:$status in
    facts:* | build:* | *:124 | *:137) ;;
    *) touch "$state/$stage.done" ;;
  esac
  if [ "$status" -ne 0 ]; then tail -n 25 "$state/logs/$stage.log"; fi
  pack "$out"
  return "$status"
}

run() {
  local out stage failure busy status=0
  [ $# -ge 1 ] || { usage >&2; exit 2; }
  mkdir -p "$1"
  out=$(realpath "$1")
  shift
  [ -d "$carry" ] || die ".carry/ is not here: results/collect_gpu.sh prepare"
  if [ $# -eq 0 ]; then mapfile -t all < <(stage_names); set -- "${all[@]}"; fi
  for stage in "$@"; do
    [ -n "$(limit_of "$stage")" ] || die "no stage $stage; there are: $(stage_names | paste -sd ' ')"
  done
  mkdir -p "$state/logs" "$state/results"
  if [ -f "$carry/programs.tar.xz" ]; then
    LD_LIBRARY_PATH=$(library_path)
    export LD_LIBRARY_PATH
  fi
  busy=$(busy_gpus)
  if [ -n "$busy" ] && [ -z "${COLLECT_BUSY:-}" ]; then
    die "others use the GPUs, and would be in our times: $busy (COLLECT_BUSY=1 measures all the same, CUDA_VISIBLE_DEVICES chooses GPUs)"
  fi
  deadline=
  if [ -n "${COLLECT_SECONDS:-}" ]; then deadline=$((SECONDS + COLLECT_SECONDS)); fi
  mapfile -t all < <(printf '%s\n' "$@" | grep -vxE 'facts|build')
  for stage in facts build "${all[@]}"; do   # a fresh machine has neither
    failure=0
    run_stage "$stage" "$out" || failure=$?
    if [ "$failure" -ne 0 ]; then status=1; fi
    # A build that was stopped goes on in the next call. One with an error leaves the programs that do compile.
    if [ "$stage" = build ] && { [ "$failure" -ge 124 ] || [ ! -x "$build/bench_cuda" ]; }; then break; fi
  done
  rm -f "$out"/gpu.tar.gz.*.part
  cat "$state/summary.txt"
  return "$status"
}

case "${1:-}" in
  prepare)
    shift
    prepare "$@"
    ;;
  run)
    shift
    run "$@"
    ;;
  stage) "stage_$2" ;;   # for run_stage
  test) run_test "$2" ;; # for stage_tests
  stages) stages ;;
  --dry-run)
    # shellcheck source=results/collect_gpu_check.sh
    . "$root/results/collect_gpu_check.sh"
    dry_run
    ;;
  help | -h | --help) usage ;;
  *)
    usage >&2
    exit 2
    ;;
esac

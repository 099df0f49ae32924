#!/usr/bin/env bash
# tests/gpu/run.sh [--no-gpu] [--lm-speed] [BUNDLE]: see README.md in this folder.
#
# Runs every GPU test of the bundle, NCCL with two ranks on one card, and training on both backends.
# It also compares steps per second with eager PyTorch, and a 1B language model with plain PyTorch.
# Logs and runs go to outputs/gpu; if $OUT is set, an archive of logs and figures goes there.
# --no-gpu: tests what is possible without a GPU. The bundle loads and trains on the CPU, each GPU
#   test reports that there is no GPU, and a tiny language model is used.
# --lm-speed: only compares the language model.
# Exits with 0: all right; 1: something failed; 66: no bundle; 69: no GPU or no PyTorch.
set -uo pipefail

gpu=yes
only_lm_speed=no
while [[ ${1:-} == --* ]]; do
  case $1 in
    --no-gpu) gpu=no ;;
    --lm-speed) only_lm_speed=yes ;;
    *) echo "run.sh: unknown option $1" >&2; exit 64 ;;
  esac
  shift
done
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bundle=$(realpath "${1:-$top/bundle}")
out=$top/outputs/gpu
conf=$top/conf/train/quickstart.yaml
language_model=$top/conf/train/tiny_lm.yaml
failed=()
cd "$top" || exit 66

[[ -d $bundle ]] && find "$bundle" -name '*.gz' -exec gunzip {} +
[[ -x $bundle/bin/mpirun ]] ||
  { echo "run.sh: no bundle in $bundle: tests/gpu/bundle.sh makes it" >&2; exit 66; }
site=$(python3 -c 'import importlib.util as u, os
print(os.path.dirname(os.path.dirname(u.find_spec("torch").origin)))') ||
  { echo 'run.sh: python3 has no torch' >&2; exit 69; }
[[ $gpu == no ]] || nvidia-smi -L || { echo 'run.sh: no GPU here' >&2; exit 69; }
rm -rf "$out"  # otherwise an earlier run would be taken for this one
mkdir -p "$out"

# Open MPI has been moved; a single machine needs no remote shell.
export OPAL_PREFIX=$bundle/openmpi OPAL_BINDIR=$bundle/bin OPAL_LIBDIR=$bundle/lib
export OPAL_PKGLIBDIR=$bundle/openmpi/plugins OPAL_PKGDATADIR=$bundle/openmpi/share
export OMPI_MCA_plm=isolated PMIX_MCA_pcompress_base_silence_warning=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
libraries=$bundle/lib:$site/torch/lib$(printf ':%s' "$site"/nvidia/*/lib)

# ours RANKS PROGRAM ARGUMENT...: uses the bundle's libraries for our programs only, not for Python
ours() {
  local ranks=$1 command=("$bundle/bin/$2" "${@:3}")
  [[ $ranks == 1 ]] || command=("$top/tests/gpu/one_card.sh" "${command[@]}")
  LD_LIBRARY_PATH=$libraries timeout --kill-after=10 "$limit_s" "$bundle/bin/mpirun" \
    -np "$ranks" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca io romio321 \
    "${command[@]}"
}

# check NAME SECONDS COMMAND...: writes its output to $out/NAME.log, and a line to the screen
check() {
  local name=$1 limit_s=$2 log=$out/$1.log began=$SECONDS verdict=passed code
  "${@:3}" >"$log" 2>&1 </dev/null
  code=$?
  if grep -qE '(^|: )no GPU' "$log"; then
    verdict='no GPU'
    [[ $gpu == no ]] || code="$code, without its GPU part"
  fi
  if [[ $code == 0 ]]; then
    printf '%-8s %s (%d s)\n' "$verdict" "$name" "$((SECONDS - began))"
  else
    echo "FAILED   $name (exit $code)"
    tail -n 30 "$log" | sed 's/^/    /'
    failed+=("$name")
  fi
}

# train NAME RANKS KEY=VALUE...: trains in the run directory $out/NAME/run
train() {
  local name=$1 ranks=$2
  shift 2
  ours "$ranks" mgpu_spmd "$conf" "$@" --output "$out/$name" --resume=never --progress=lines &&
    ln -sfn "$(find "$out/$name" -name results.h5 -printf '%h\n' | head -n 1)" "$out/$name/run"
}

verdict() {
  [[ -z ${OUT:-} ]] ||
    (cd "$out" && find . -maxdepth 1 \( -name '*.log' -o -name '*.jsonl' \) -print0 |
      tar -czf "$OUT/gpu-logs.tgz" --null -T -)
  [[ ${#failed[@]} == 0 ]] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
  echo 'all passed'
  exit 0
}

gpu_tests() {
  local ranks name
  while read -r ranks name; do
    check "$name.np$ranks" 180 ours "$ranks" "$name"
  done <"$bundle/tests"
}

# has_tool NAME: succeeds if the tool is installed; otherwise prints that its steps are left out
has_tool() {
  command -v "$1" >/dev/null || { echo "left out: the steps of $1, which is not installed"; return 1; }
}

# under "TOOL ARGUMENT..." PROGRAM ARGUMENT...: runs a program of the bundle on one rank with a tool
under() {
  local words
  read -ra words <<<"$1"
  LD_LIBRARY_PATH=$libraries timeout --kill-after=10 "$limit_s" \
    "${words[@]}" "$bundle/bin/$2" "${@:3}"
}

# sanitized_kernels: runs the tests of kernels with the tools of compute-sanitizer
sanitized_kernels() {
  local ranks name tool
  has_tool compute-sanitizer || return 0
  while read -r ranks name; do
    [[ $ranks == 1 && $name != communicator* && $name != gradient_reducer* ]] || continue
    for tool in memcheck racecheck synccheck; do
      check "$tool.$name" 120 under "compute-sanitizer --tool $tool --error-exitcode 9" "$name"
    done
  done <"$bundle/tests"
}

# profiles: prints the kernels and copies of a few training steps and of a few decoding steps, with
# their times
profiles() {
  has_tool nsys || return 0
  local profile="nsys profile --force-overwrite true --stats true --trace cuda,nvtx --output"
  check nsys.ad_steps 200 under "$profile $out/ad_steps" mgpu_spmd "$conf" devices.backend=nccl \
    train.max_steps=30 train.eval_every=30 evaluate.runs=2 checkpoint.every=30 \
    --output "$out/nsys_ad" --resume=never --progress=lines
  check nsys.decoding 200 under "$profile $out/decoding" mgpu_spmd "$out/generate.yaml" \
    model.path="$out/lm_cpu/run/ckpt/last" data.path=conf/examples/tiny_lm/prompts.jsonl \
    generate.max_new_tokens=32 devices.backend=nccl --output "$out/nsys_decoding" --resume=never \
    --progress=lines
}

# complete NAME MODEL KEY=VALUE...: writes completions of a model as JSON lines in $out/NAME/run
complete() {
  local name=$1 model=$out/$2/run/ckpt/last
  shift 2
  printf 'schema: 1\njob: generate\n' >"$out/generate.yaml"
  ours 1 mgpu_spmd "$out/generate.yaml" model.path="$model" \
    data.path=conf/examples/tiny_lm/prompts.jsonl \
    generate.do_sample=false generate.max_new_tokens=32 run.name=said "$@" --output "$out/$name" \
    --resume=never --progress=lines &&
    ln -sfn "$(find "$out/$name" -name results.h5 -printf '%h\n' | head -n 1)" "$out/$name/run" &&
    ours 1 mgpu_spmd --export jsonl "$out/$name/run"
}

same_completions() {
  python3 tests/gpu/curves.py completions "$out/$1/run" "$out/$2/run"
}

same_curve() { python3 tests/gpu/curves.py compare "$out/$1/run" "$out/$2/run"; }

# nccl_is_refused: succeeds if a run with backend nccl exits with 69
nccl_is_refused() {
  ours 2 mgpu_spmd "$conf" devices.backend=nccl --output "$out/refused"
  [[ $? == 69 ]]
}

# speed: compares steps per second with tests/bench/ad_step_torch.py, whose model has the same shape
speed() {
  python3 - "$out/eager.log" "$(python3 tests/gpu/curves.py rate "$out/shape/run")" <<'PY'
import json, sys
eager = json.loads(open(sys.argv[1]).read().splitlines()[-1])["value"] / 64
ours = float(sys.argv[2])
print(f"steps/s  ours {ours:.1f}  eager PyTorch {eager:.1f}  ratio {ours / eager:.2f}")
PY
}

# lm_run NAME BACKEND: makes one of lm_speed.py's runs in $out/lm_speed/NAME/run
lm_run() {
  local name=$1
  ours 1 mgpu_spmd "$out/lm/$name.yaml" devices.backend="$2" --output "$out/lm_speed/$name" \
    --resume=never --progress=lines &&
    ln -sfn "$(find "$out/lm_speed/$name" -name results.h5 -printf '%h\n' | head -n 1)" \
      "$out/lm_speed/$name/run" &&
    { [[ $name == teacher ]] || ours 1 mgpu_spmd --export jsonl "$out/lm_speed/$name/run"; }
}

# lm_speed SHAPE DEVICE BACKEND: compares jobs teacher and generate with plain PyTorch
lm_speed() {
  local name
  check lm.make 200 python3 tests/gpu/lm_speed.py make "$out/lm" --shape "$1"
  check lm.peer 400 timeout 400 python3 tests/gpu/lm_speed.py peer "$out/lm" --device "$2"
  for name in score teacher prefill decode_1_first decode_1 decode_16_first decode_16; do
    check "lm.$name" 300 lm_run "$name" "$3"
  done
  check lm.speed 60 python3 tests/gpu/lm_speed.py compare "$out/lm" "$out/lm_speed" \
    --to "$out/lm_speed.jsonl"
  sed 's/^/  /' "$out/lm.speed.log"
  rm -f "$out/lm/model.safetensors"
}

if [[ $only_lm_speed == yes ]]; then
  if [[ $gpu == no ]]; then lm_speed tiny cpu mpi; else lm_speed 1b cuda nccl; fi
  verdict
fi

if [[ $gpu == no ]]; then
  check stand_in 60 ours 2 stand_in steps=3 --output "$out/stand_in"
  gpu_tests
  check nccl_is_refused 60 nccl_is_refused
  few=(train.max_steps=20 train.eval_every=20 evaluate.runs=2 checkpoint.every=20 data.streams=2)
  check train.cpu 120 train cpu 1 "${few[@]}"
  check train.two_ranks 120 train cpu_2 2 "${few[@]}"
  check curves.cpu_and_two_ranks 60 same_curve cpu cpu_2
  conf=$language_model check lm.cpu 120 train lm_cpu 1 train.max_steps=20
  check generate.cpu 60 complete said_cpu lm_cpu
  check generate.again 60 complete said_again lm_cpu run.chunk_size=3
  check completions.cpu_and_again 60 same_completions said_cpu said_again
  lm_speed tiny cpu mpi
  verdict
fi

gpu_tests
sanitized_kernels

short=(train.max_steps=200 train.eval_every=200 evaluate.runs=2 checkpoint.every=200)
check train.cpu 300 train cpu 1 devices.backend=mpi "${short[@]}"
check train.cuda 120 train cuda 1 devices.backend=nccl "${short[@]}"
check curves.cuda_and_cpu 60 same_curve cuda cpu
check train.nccl_on_one_card 300 train nccl 2 devices.backend=nccl "${short[@]}"
check curves.cuda_and_nccl 60 same_curve cuda nccl
check train.staged 120 train staged 2 devices.backend=staged "${short[@]}"
check curves.cuda_and_staged 60 same_curve cuda staged

few=(train.max_steps=100 checkpoint.every=100)
conf=$language_model check lm.cpu 200 train lm_cpu 1 devices.backend=mpi "${few[@]}"
conf=$language_model check lm.cuda 120 train lm_cuda 1 devices.backend=nccl "${few[@]}"
check curves.lm_cuda_and_cpu 60 same_curve lm_cuda lm_cpu
check generate.cpu 60 complete said_cpu lm_cpu devices.backend=mpi
check generate.cuda 60 complete said_cuda lm_cpu devices.backend=nccl
check completions.cuda_and_cpu 60 same_completions said_cuda said_cpu
profiles

# 64 sequences of 160 tokens, 4 layers, float32
check train.shape 200 train shape 1 devices.backend=nccl train.max_steps=1500 \
  train.eval_every=1500 evaluate.runs=2 checkpoint.every=1500 model.tf_n_layer=4 \
  model.tf_n_inner=128 train.global_batch_size=64 train.lanes=1
check eager 200 timeout 200 python3 tests/bench/ad_step_torch.py --device cuda step 4 160 64 0.0 300
check speed 60 speed
cat "$out/speed.log"
lm_speed 1b cuda nccl
verdict

#!/usr/bin/env bash
# tests/fuzz/run.sh [SECONDS]
#
# Builds the fuzz targets with clang and feeds each of them mutants of its corpus, for SECONDS of one
# core in total (60). Ends with 1 when one finds an error; the input is then in build-fuzz/findings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-60}
# target, longest input, corpus folders
targets=(
  'config_fuzz 4096 tests/fuzz/corpus tests/config/config_errors'
  'chat_fuzz 4096 tests/fuzz/chat_corpus tests/text/chat_templates'
  'json_fuzz 4096 tests/fuzz/json_corpus'
  'model_config_fuzz 4096 tests/fuzz/model_config_corpus'
  'records_fuzz 4096 tests/fuzz/records_corpus'
  'safetensors_fuzz 4096 tests/fuzz/safetensors_corpus'
  'tokenizer_fuzz 8192 tests/fuzz/text_corpus'
)

compiler=$(command -v clang++-14 || command -v clang++) || { echo 'there is no clang++'; exit 69; }
mkdir -p build-fuzz
cmake -G Ninja -B build-fuzz -DCMAKE_CXX_COMPILER="$compiler" -DMGPU_FUZZ=ON -DMGPU_CUDA=OFF \
  >build-fuzz/configure.log 2>&1 || { cat build-fuzz/configure.log; exit 1; }
cmake --build build-fuzz --target fuzz_targets -j 2

# feed NAME LONGEST FOLDER...: runs one target for its share of the time
feed() {
  local name=$1 findings=build-fuzz/findings/$1
  if [[ ! -x build-fuzz/tests/fuzz/$name ]]; then
    echo 'not built: this set-up has no Jinja' >build-fuzz/"$name".log
    return
  fi
  mkdir -p "$findings"
  build-fuzz/tests/fuzz/"$name" -max_len="$2" -rss_limit_mb=1024 -timeout=10 \
    -max_total_time=$((seconds / ${#targets[@]})) -artifact_prefix="$findings/found_" \
    -print_final_stats=1 "$findings" "${@:3}" 2>build-fuzz/"$name".log
}

# Runs as many targets in parallel as there are cores.
rm -f build-fuzz/failed
for line in "${targets[@]}"; do
  read -ra words <<<"$line"
  [[ $(jobs -pr | wc -l) -lt $(nproc) ]] || wait -n || true
  { feed "${words[@]}" || touch build-fuzz/failed; } &
done
wait
for line in "${targets[@]}"; do
  echo "== ${line%% *}"
  tail -n 12 build-fuzz/"${line%% *}".log
done
[[ ! -e build-fuzz/failed ]]

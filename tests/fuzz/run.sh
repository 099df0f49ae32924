#!/usr/bin/env bash
# tests/fuzz/run.sh [SECONDS]
#
# Builds the fuzz targets with clang and feeds each of them mutants of its corpus, for SECONDS in
# total (60). Ends with 1 when one finds an error; the input is then in build-fuzz/findings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-60}
# target, longest input, corpus folders
targets=(
  'config_fuzz 4096 tests/fuzz/corpus tests/config/config_errors'
  'json_fuzz 4096 tests/fuzz/json_corpus'
  'records_fuzz 4096 tests/fuzz/records_corpus'
  'safetensors_fuzz 4096 tests/fuzz/safetensors_corpus'
  'tokenizer_fuzz 8192 tests/fuzz/text_corpus'
)

compiler=$(command -v clang++-14 || command -v clang++) || { echo 'there is no clang++'; exit 69; }
mkdir -p build-fuzz
cmake -G Ninja -B build-fuzz -DCMAKE_CXX_COMPILER="$compiler" -DMGPU_FUZZ=ON -DMGPU_CUDA=OFF \
  >build-fuzz/configure.log 2>&1 || { cat build-fuzz/configure.log; exit 1; }
cmake --build build-fuzz --target fuzz_targets -j 2

failed=0
for line in "${targets[@]}"; do
  read -r name longest corpus <<<"$line"
  findings=build-fuzz/findings/$name
  mkdir -p "$findings"
  read -ra folders <<<"$corpus"
  echo "== $name"
  build-fuzz/tests/fuzz/"$name" -max_len="$longest" -rss_limit_mb=1024 -timeout=10 \
    -max_total_time=$((seconds / ${#targets[@]})) -artifact_prefix="$findings/found_" \
    -print_final_stats=1 "$findings" "${folders[@]}" 2>build-fuzz/"$name".log || failed=1
  tail -n 12 build-fuzz/"$name".log
done
exit "$failed"

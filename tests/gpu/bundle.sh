#!/usr/bin/env bash
# tests/gpu/bundle.sh [BUILD]: makes bundle/ from a finished build (build/). It serves a machine
# with a GPU, CUDA and PyTorch's Python package, but without compiler, MPI, HDF5 and network:
#
#   bundle/bin      the program, the GPU tests and benchmarks, mpirun
#   bundle/lib      shared libraries that such a machine lacks
#   bundle/openmpi  plug-ins and texts of Open MPI
#   bundle/tests    one line per GPU test: ranks, name
#
# Programs and libraries are packed with gzip. On the other machine, tests/gpu/run.sh runs the
# bundle from the project's folder, which contains bundle/. libtorch, CUDA and NCCL come from that
# machine's PyTorch.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath "${1:-$top/build}")
bundle=$top/bundle
most_mib=64

# Excludes what every Linux has, and what comes with PyTorch or CUDA.
left_out='^(ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s|libgomp'
left_out+='|libtorch.*|libc10.*|libcuda|libcudart|libcupti|libcublas.*|libcudnn.*|libcufft.*'
left_out+='|libcufile.*|libcurand|libcusolver.*|libcusparse.*|libnccl|libnv.*)[-.]'

# libraries_of FILE: prints the path of each shared library that it loads, directly or not
libraries_of() { ldd "$1" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}'; }

carry_libraries_of() {
  local library name
  while read -r library; do
    name=$(basename "$library")
    [[ $name =~ $left_out || -e $bundle/lib/$name ]] || cp -L "$library" "$bundle/lib/$name"
  done < <(libraries_of "$1")
}

carry_program() {
  cp -L "$1" "$bundle/bin/"
  strip "$bundle/bin/$(basename "$1")"
  carry_libraries_of "$1"
}

# gpu_tests: prints "ranks path" of every test with ctest's label gpu
gpu_tests() {
  ctest --test-dir "$build" -L '^gpu$' --show-only=json-v1 | python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    command = test.get("command")
    if not command:
        sys.exit("bundle.sh: the test %s is not built" % test["name"])
    print(command[command.index("-n") + 1] if "-n" in command else "1", command[-1])'
}

# Copies Open MPI without the plug-ins that need the fabric libraries of clusters, because a single
# machine does not use these plug-ins.
carry_openmpi() {
  local plugins plugin
  plugins=$(ompi_info --path pkglibdir --parsable | sed 's/.*pkglibdir://')
  mkdir -p "$bundle/openmpi/plugins" "$bundle/openmpi/share"
  for plugin in "$plugins"/*.so; do
    libraries_of "$plugin" | grep -qE 'fabric|libuc[pst]|psm|ibverbs|rdmacm' && continue
    cp -L "$plugin" "$bundle/openmpi/plugins/"
    carry_libraries_of "$plugin"
  done
  cp -rL "$(ompi_info --path pkgdatadir --parsable | sed 's/.*pkgdatadir://')/." \
    "$bundle/openmpi/share/"
  carry_program "$(readlink -f "$(command -v mpirun)")"
  mv "$bundle/bin/$(basename "$(readlink -f "$(command -v mpirun)")")" "$bundle/bin/mpirun"
}

[[ -e $build/build.ninja ]] || { echo "bundle.sh: no build in $build" >&2; exit 66; }
rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib"
gpu_tests | while read -r ranks path; do
  [[ -e $bundle/bin/$(basename "$path") ]] || carry_program "$path"
  echo "$ranks $(basename "$path")"
done >"$bundle/tests"
for program in "$top/mgpu_spmd" "$build/tests/bench/ad_step_bench" \
               "$build/tests/bench/histories_bench" "$build/tests/slurm/stand_in"; do
  [[ ! -e $program ]] || carry_program "$program"
done
carry_openmpi
strip --strip-unneeded "$bundle"/lib/*.so* "$bundle"/openmpi/plugins/*.so

# run.sh unpacks them.
find "$bundle/bin" "$bundle/lib" "$bundle/openmpi/plugins" -type f -exec gzip -9 {} +

size_mib=$(du -sm --apparent-size "$bundle" | cut -f1)
echo "bundle.sh: $bundle, $size_mib MiB, $(wc -l <"$bundle/tests") GPU tests"
[[ $size_mib -le $most_mib ]] || { echo "bundle.sh: more than $most_mib MiB" >&2; exit 1; }

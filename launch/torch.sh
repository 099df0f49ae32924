# shellcheck shell=bash
# Sourced by setup.sh: installs libtorch as the pinned PyPI wheel in .deps/python, unless the user
# has one (Torch_DIR or CMAKE_PREFIX_PATH). With a toolkit it fetches only those of the wheel's CUDA
# libraries that the loader does not find; without a toolkit only what libtorch_cpu loads.

: "${deps:?setup.sh sets it}"

torch_version=2.11.0

# The wheel that contains each library, in the versions that torch 2.11.0 requires.
declare -A torch_wheels=(
  [libcudart.so.13]=nvidia-cuda-runtime==13.0.96
  [libcupti.so.13]=nvidia-cuda-cupti==13.0.85
  [libnvrtc.so.13]=nvidia-cuda-nvrtc==13.0.88
  [libnvJitLink.so.13]=nvidia-nvjitlink==13.0.88
  [libcublas.so.13]=nvidia-cublas==13.1.0.3
  [libcublasLt.so.13]=nvidia-cublas==13.1.0.3
  [libcufft.so.12]=nvidia-cufft==12.0.0.61
  [libcufile.so.0]=nvidia-cufile==1.15.1.6
  [libcurand.so.10]=nvidia-curand==10.4.0.35
  [libcusolver.so.12]=nvidia-cusolver==12.0.4.66
  [libcusparse.so.12]=nvidia-cusparse==12.6.3.3
  [libcusparseLt.so.0]=nvidia-cusparselt-cu13==0.8.0
  [libcudnn.so.9]=nvidia-cudnn-cu13==9.19.0.56
  [libnccl.so.2]=nvidia-nccl-cu13==2.28.9
  [libnvshmem_host.so.3]=nvidia-nvshmem-cu13==3.4.5
)

have_toolkit() { command -v nvcc >/dev/null; }

users_torch() {
  local prefix
  [[ -z ${Torch_DIR:-} ]] || return 0
  for prefix in ${CMAKE_PREFIX_PATH//:/ }; do
    [[ ! -e $prefix/include/ATen/ATen.h && ! -e $prefix/torch/include/ATen/ATen.h ]] || return 0
  done
  return 1
}

torch_is_there() {
  [[ -d $deps/python/torch-$torch_version.dist-info ]] &&
    { ! have_toolkit || [[ -e $deps/python/torch/lib/libtorch_cuda.so ]]; }
}

# install_torch: installs into a temporary folder that is renamed when complete, so an interrupted
# start leaves nothing unfinished
install_torch() {
  if users_torch || torch_is_there; then return 0; fi
  local part=$deps/python.part round lacking
  rm -rf "$part"
  mkdir -p "$part"
  say "fetching libtorch $torch_version into .deps/ (a download of 0.5 GB, once)"
  pip_into "$part" "torch==$torch_version"
  have_toolkit || remove_cuda_half "$part"
  for round in 1 2 3; do  # a fetched library may need another one
    mapfile -t lacking < <(wheels_lacking "$part")
    [[ ${#lacking[@]} -gt 0 ]] || break
    [[ $round -lt 3 ]] || fail 69 "libtorch still misses libraries of ${lacking[*]}"
    pip_into "$part" "${lacking[@]}"
  done
  rm -rf "$deps/python"
  mv "$part" "$deps/python"
}

# pip_into FOLDER WHEEL...: installs into a temporary folder, then merges, because pip --target
# replaces the folder that the nvidia wheels share
pip_into() {
  local folder=$1
  shift
  say "pip: $*"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --no-deps --no-compile --only-binary=:all: --target "$folder.wheels" "$@" ||
    fail 69 "pip could not install $*"
  cp -al "$folder.wheels/." "$folder/"
  rm -rf "$folder.wheels"
}

# remove_cuda_half FOLDER: removes 0.6 GB that are never loaded without a toolkit
remove_cuda_half() {
  rm -rf "${1:?}/torch/bin" "${1:?}/bin"
  rm -f "$1"/torch/lib/lib{torch_cuda,torch_cuda_linalg,torch_nvshmem,c10_cuda}.so \
        "$1"/torch/lib/lib{torch,torch_python,caffe2_nvrtc}.so
}

# wheels_lacking FOLDER: prints the wheels, as pip names them, of the libraries that the loader does
# not find for FOLDER
wheels_lacking() {
  local library soname path
  path=$(printf '%s:' "$1"/nvidia/*/lib)${LD_LIBRARY_PATH:-}
  for library in "$1"/torch/lib/lib{torch_cpu,torch_cuda,torch_cuda_linalg}.so \
                 "$1"/nvidia/*/lib/lib*.so.*; do
    [[ ! -e $library ]] || LD_LIBRARY_PATH=$path ldd "$library"
  done 2>/dev/null | awk '/not found/ {print $1}' | sort -u | while read -r soname; do
    [[ -z ${torch_wheels[$soname]:-} ]] || echo "${torch_wheels[$soname]}"
  done | sort -u
}

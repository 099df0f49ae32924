# shellcheck shell=bash
# Sourced by run.sh and test.sh: finds or installs what the build needs, then builds. Debian
# packages are installed by apt, as root or with sudo; everything else goes into .deps/. Each step
# first checks whether its work is done, so a second start takes a moment.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=$top/.deps
: "${CMAKE_PREFIX_PATH:=}"

# The needs of the build, each with the Debian 12 package that provides it. A tool is a command on
# the PATH, a header a file that the compiler finds, a module a package that python3 imports. A
# question mark means optional.
build_needs="
tool:cmake            cmake
tool:ninja            ninja-build
tool:g++              g++
tool?:ccache          ccache
tool:git              git
tool:pkg-config       pkg-config
tool:python3          python3
module:pip            python3-pip
tool:mpirun           openmpi-bin
tool:mpicxx           libopenmpi-dev
tool?:fuser           psmisc
header:hdf5.h         libhdf5-openmpi-dev
header:yaml-cpp/yaml.h    libyaml-cpp-dev
header:cxxopts.hpp        libcxxopts-dev
header:nlohmann/json.hpp  nlohmann-json3-dev
header:simdjson.h         libsimdjson-dev
header:pcre2.h            libpcre2-dev
header:unicode/uniset.h   libicu-dev
header:hwy/highway.h      libhwy-dev
header:openssl/evp.h      libssl-dev
header:gtest/gtest.h      libgtest-dev
header:gmock/gmock.h      libgmock-dev
header:benchmark/benchmark.h  libbenchmark-dev
"
test_needs="
module:ensurepip      python3-venv
tool:clang-format     clang-format
tool:shellcheck       shellcheck
tool?:clang++-14      clang-14
tool?:libFuzzer       libclang-rt-14-dev
tool?:slurmctld       slurmctld
tool?:slurmd          slurmd
tool?:sbatch          slurm-client
tool?:munged          munge
tool?:ip              iproute2
tool?:chromium-headless-shell  chromium-headless-shell
"

say() { printf 'set-up: %s\n' "$*" >&2; }
fail() { local code=$1; shift; printf 'set-up: %s\n' "$@" >&2; exit "$code"; }

# set_up: installs everything for a build of the program
set_up() {
  extend_path
  install_packages "$build_needs"
  install_torch
  install_jinja
  install_arrow
}

# set_up_tests yes|no: does set_up, and installs the tools of the tests and their Python packages in
# .deps/venv; with yes this includes PyTorch on every machine
set_up_tests() {
  local oracle=$1
  extend_path
  install_packages "$build_needs$test_needs"
  install_torch
  install_jinja
  install_arrow
  install_venv "$oracle"
  export PATH=$deps/venv/bin:$PATH MGPU_TEST_PYTHON=$deps/venv/bin/python
}

# extend_path: adds administrators' commands and an installed CUDA toolkit to the PATH
extend_path() {
  PATH=$PATH:/usr/sbin:/sbin
  local cuda=${CUDA_HOME:-${CUDA_PATH:-/usr/local/cuda}}
  if ! command -v nvcc >/dev/null && [[ -x $cuda/bin/nvcc ]]; then PATH=$PATH:$cuda/bin; fi
  export PATH
}

# lacking NEEDS: prints the lines of NEEDS whose first word is available neither from its
# package nor otherwise
lacking() {
  local -A installed=()
  local status_and_name="\${db:Status-Status} \${Package}\n"
  local probe package name
  while read -r name; do installed[$name]=1; done < <(
    awk '{print $2}' <<<"$1" | xargs dpkg-query -W -f="$status_and_name" 2>/dev/null |
      sed -n 's/^installed //p')
  while read -r probe package; do
    [[ -z $probe || -n ${installed[$package]:-} ]] || found "$probe" || echo "$probe $package"
  done <<<"$1"
}

# found KIND:NAME: succeeds if NAME is available without its package, as from a cluster's modules
found() {
  local name=${1#*:}
  case $1 in
    tool:* | tool\?:*) command -v "$name" >/dev/null ;;
    module:*) python3 -c "import $name" 2>/dev/null ;;
    header:*) has_header "$name" ;;
  esac
}

has_header() {
  local flags=() prefix
  for prefix in ${CMAKE_PREFIX_PATH//:/ } ${HDF5_ROOT:-} ${HDF5_DIR:-}; do
    flags+=("-I$prefix/include")
  done
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" |
    "${CXX:-g++}" -std=c++20 "${flags[@]}" -E -x c++ - >/dev/null 2>&1
}

# install_packages NEEDS: installs as root or with sudo; otherwise exits with 69 and instructions,
# unless only optional packages are missing
install_packages() {
  local missing packages root=()
  missing=$(lacking "$1")
  [[ -n $missing ]] || return 0
  if [[ $(id -u) != 0 ]]; then root=(sudo); fi
  if ! may_install; then
    list_missing "$missing"
    return 0
  fi
  mapfile -t packages < <(awk '{print $2}' <<<"$missing")
  say "installing ${packages[*]}"
  local get=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
             -o DPkg::Lock::Timeout=300)
  local install=("${get[@]}" install -y --no-install-recommends "${packages[@]}")
  # A fresh machine has no package lists or old ones: fetch them if the installation fails.
  "${install[@]}" >/dev/null 2>&1 || { "${get[@]}" update && "${install[@]}" >/dev/null; } ||
    fail 69 "apt-get could not install ${packages[*]}"
}

may_install() {
  command -v apt-get >/dev/null || return 1
  [[ $(id -u) == 0 ]] || sudo -n true 2>/dev/null ||
    { [[ -t 0 ]] && command -v sudo >/dev/null; }
}

# list_missing LINES: prints which packages are missing, and exits with 69 unless all of these are
# optional
list_missing() {
  local probe package needed packages
  packages=$(awk '{printf " %s", $2}' <<<"$1")
  needed=$(grep -v '?:' <<<"$1") || { say "works without$packages"; return 0; }
  say "these are missing, and there is neither root nor sudo to install them:"
  while read -r probe package; do
    case $probe in
      tool:cmake | tool:ninja)
        printf '  %-28s pip install --user %s\n' "$probe" "${probe#tool:}" ;;
      *) printf '  %-28s apt-get install %s\n' "$probe" "$package" ;;
    esac
  done <<<"$needed" >&2
  fail 69 "in one, for an administrator: apt-get install --no-install-recommends$packages" \
    "or load the modules that bring them (module avail), and start again"
}

# shellcheck source=launch/torch.sh
source "$top/launch/torch.sh"
# shellcheck source=launch/jinja.sh
source "$top/launch/jinja.sh"
# shellcheck source=launch/arrow.sh
source "$top/launch/arrow.sh"

# install_venv yes|no: installs the Python packages that tests compare with and read files with.
# PyTorch comes from the wheel in .deps/python if that is complete, as on machines with a CUDA
# toolkit. Otherwise `yes` downloads PyTorch (2 GB), and `no` goes without. `yes` also installs the libraries
# that made the goldens. A later `no` accepts an environment that `yes` has made.
install_venv() {
  local venv=$deps/venv list=$top/launch/requirements-test.txt
  local oracles=$top/launch/requirements-oracle.txt wheel=$deps/python torch='' more=()
  if [[ -e $wheel/torch/lib/libtorch_python.so ]]; then torch=-rlaunch/requirements-torch.txt; fi
  local wanted whole there
  whole=$(venv_stamp "${torch:-torch==$torch_version}" "$oracles")
  if [[ $1 == yes ]]; then
    torch=${torch:-torch==$torch_version} more=(-r "$oracles") wanted=$whole
  else
    wanted=$(venv_stamp "$torch")
  fi
  there=$(cat "$venv/launch.stamp" 2>/dev/null) || true
  [[ $there != "$wanted" && $there != "$whole" ]] || return 0
  say "making .deps/venv for the tests"
  rm -rf "$venv"
  python3 -m venv "$venv" || fail 69 "python3 cannot make a virtual environment"
  (cd "$top" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$list" ${torch:+"$torch"} \
      "${more[@]}") ||
    fail 69 "pip could not install $list $torch ${more[*]}"
  if [[ $torch == -r* ]]; then
    echo "$wheel" >"$(echo "$venv"/lib/python3.*/site-packages)/wheel.pth"
    # pip would do this, too. Without it, each import of torch compiles its files for five seconds.
    "$venv/bin/python" -m compileall -q -j 0 "$wheel/torch" >/dev/null ||
      say "python could not compile all files of PyTorch"
  fi
  printf '%s\n' "$wanted" >"$venv/launch.stamp"
}

# venv_stamp TORCH [LIST...]: prints a text about what .deps/venv should contain. If this text
# changes, .deps/venv has to be made again
venv_stamp() {
  printf '%s' "$(cat "$top"/launch/requirements-{test,torch}.txt "${@:2}")$1$(python3 -V)"
}

# configure: runs the release preset in build/, but only when its inputs have changed
configure() {
  local stamp=$top/build/launch.stamp decisive
  local arguments=(--preset release)
  command -v ccache >/dev/null || arguments+=(-DCMAKE_CXX_COMPILER_LAUNCHER=)
  [[ -z ${Torch_DIR:-} ]] || arguments+=("-DTorch_DIR=$Torch_DIR")
  if [[ -e $deps/python/nvidia/nccl/include/nccl.h ]]; then
    arguments+=("-DMGPU_NCCL_INCLUDE=$deps/python/nvidia/nccl/include"
                "-DMGPU_NCCL_LIBRARY=$deps/python/nvidia/nccl/lib/libnccl.so.2")
  fi
  decisive=$(printf '%s\n' "${arguments[@]}" "$CMAKE_PREFIX_PATH" "${CXX:-}" \
                           "$(command -v nvcc cmake g++)" "$(cksum <"$top/CMakePresets.json")" \
                           "$(cat "$deps/venv/launch.stamp" 2>/dev/null)" \
                           "$(cat "$deps"/{llama.cpp,arrow}/version 2>/dev/null)")
  [[ ! -e $top/build/build.ninja || $(cat "$stamp" 2>/dev/null) != "$decisive" ]] || return 0
  (cd "$top" && cmake "${arguments[@]}") || fail 70 "cmake could not configure the build"
  printf '%s\n' "$decisive" >"$stamp"
}

# build [TARGET...]: builds the targets, or everything
build() {
  local targets=()
  [[ $# == 0 ]] || targets=(--target "$@")
  (cd "$top" && cmake --build --preset release "${targets[@]}")
}

// The program `mgpu_inspect FILE` reads a whole result file to check it. A run of mgpu_spmd starts
// it as a separate process, because a damaged file can crash HDF5. The separate process does not
// load libtorch, so it starts quickly.
#include <mgpu/store/results/file_inspection.hpp>

int main(int argc, char** argv) {
  return argc == 2 ? mgpu::store::inspect_file_as_process(argv[1]) : 64;
}

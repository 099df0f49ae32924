// inspect_file_program FILE: the inspecting process of the tests, with low limits.
#include <mgpu/store/results/file_inspection.hpp>

int main(int argc, char** argv) {
  return argc == 2 ? mgpu::store::inspect_file_as_process(
                         argv[1], {.processor_s = 2, .memory_bytes = 64 << 20})
                   : 64;
}

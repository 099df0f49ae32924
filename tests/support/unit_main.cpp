// The main() of GoogleTest programs that run without mpirun.
#include <gtest/gtest.h>

#include "own_tests.hpp"
#include "quick_exit.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  mgpu::testing_support::leave_out_tests_of_other_files(argv[0]);
  mgpu::testing_support::end_quickly(RUN_ALL_TESTS());
}

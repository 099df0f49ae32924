#include <filesystem>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

namespace mgpu {
namespace {

TEST(ErrorTest, WhatStartsWithTheThrowersPlace) {
  const Error error("boom");
  EXPECT_NE(std::string(error.what()).find("error_test.cpp:"), std::string::npos);
  EXPECT_NE(std::string(error.what()).find("boom"), std::string::npos);
}

TEST(ErrorTest, RenderPutsPlaceEvidenceAndHelpBelowTheSentence) {
  const ErrorReport report{
      "E101", ExitCode::config, "unknown key `a`", {"  --> f.yaml:1:2"}, "use `b`"};
  EXPECT_EQ(render(report), "error[E101]: unknown key `a`\n  --> f.yaml:1:2\n  = help: use `b`");
}

TEST(ErrorTest, AFailureCarriesItsExitCode) {
  const Failure failure({"E602", ExitCode::io, "disk full", {}, ""});
  EXPECT_EQ(failure.exit_code(), ExitCode::io);
  EXPECT_EQ(report_of(failure).code, "E602");
}

TEST(ErrorTest, OtherExceptionsAreReportedAsOurs) {
  EXPECT_EQ(report_of(std::bad_alloc()).exit, ExitCode::out_of_memory);
  EXPECT_EQ(report_of(std::runtime_error("x: DefaultCPUAllocator: can't allocate memory: y")).exit,
            ExitCode::out_of_memory);
  const ErrorReport gpu =
      report_of(std::runtime_error("CUDA out of memory. Tried to get 2 GiB.\nx"));
  EXPECT_EQ(render(gpu),
            "error[E301]: out of GPU memory\n"
            "  CUDA out of memory. Tried to get 2 GiB.\n"
            "  = help: --plan shows what is needed, and the key that lowers it");
  EXPECT_EQ(gpu.exit, ExitCode::out_of_memory);
  EXPECT_EQ(report_of(LibraryError("CUDA", 2, "out of memory", Where::here())).exit,
            ExitCode::out_of_memory);
  EXPECT_EQ(report_of(LibraryError("CUDA", 700, "illegal address", Where::here())).exit,
            ExitCode::internal);
  EXPECT_EQ(report_of(std::runtime_error("x")).exit, ExitCode::internal);
  EXPECT_EQ(report_of(std::make_exception_ptr(std::bad_alloc())).code, "E301");
  EXPECT_EQ(report_of(std::make_exception_ptr(7)).code, "E901");
  const std::filesystem::filesystem_error loop(
      "status", "/a/b", std::make_error_code(std::errc::too_many_symbolic_link_levels));
  EXPECT_EQ(render(report_of(loop)),
            "error[E603]: cannot use a file: Too many levels of symbolic links\n  --> /a/b");
  EXPECT_EQ(report_of(loop).exit, ExitCode::no_input);
  EXPECT_EQ(report_of(NotBuiltError("NCCL")).exit, ExitCode::unavailable);
}

}  // namespace
}  // namespace mgpu

#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::app {

/// The --explain texts of the error codes of the command line and of --check.
inline constexpr auto kAppErrors = std::to_array<ErrorPage>({
    {"E141", "no configuration, or more than one",
     "The command line needs exactly one CONF.yaml; - reads it from standard input.",
     "Give one file. Use --with FILE for files that override it."},
    {"E142", "unknown option", "There is no option of that name. Options are not abbreviated.",
     "Take the suggested one; --help shows all."},
    {"E143", "option without a proper value",
     "An option needs a value, got one that it does not know, or got one that it does not take.",
     "--help shows what it takes. Optional values need the equals sign: --resume=never."},
    {"E144", "argument that is not understood",
     "An argument is neither the configuration, nor KEY=VALUE, nor an option, or two options "
     "exclude each other.",
     "Follow the help line; quote values with blanks: 'run.name=my run'."},
    {"E145", "runs that cannot be compared",
     "--compare needs two runs of one job that were evaluated on the same prompts, in the same "
     "order. Prompts are compared by their checksums in table prompts of results.h5.",
     "Make both runs with the same data.path or data.dataset, data.start and data.max_samples, and "
     "with answers, rewards or a reference model."},
    {"E404", "wrong values from MPI or NCCL",
     "--check gathered or summed known values over all ranks and got wrong results.",
     "Try another devices.backend; then suspect a driver, a network card, or two different MPI "
     "libraries."},
});

}  // namespace mgpu::app

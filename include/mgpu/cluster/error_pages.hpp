#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::cluster {

/// Error codes of ranks, MPI and GPUs.
inline constexpr auto kClusterErrors = std::to_array<ErrorPage>({
    {"E121", "ranks and models do not fit",
     "The ranks cannot be split into groups of devices.gpus_per_model.",
     "Take one of the numbers in the help line, or start another number of ranks."},
    {"E201", "GPU not available", "A GPU of devices.gpus does not exist on a node.",
     "List GPUs inside the valid range; nvidia-smi -L shows them. CUDA_VISIBLE_DEVICES hides "
     "others."},
    {"E202", "two ranks on one GPU",
     "NCCL allows one rank per GPU, and a node has more ranks than visible GPUs.",
     "Start as many ranks per node as it has GPUs, list more with --gpus, or set "
     "devices.backend=staged."},
    {"E203", "no GPU for a rank", "The configuration asks for GPUs, and a rank sees none.",
     "Check the driver (nvidia-smi) and the allocation, or compute on the CPU: "
     "devices.backend=mpi."},
    {"E204", "empty list of GPUs", "devices.gpus is an empty list.",
     "Set devices.gpus=all, or a list such as [0, 1]."},
    {"E205", "GPUs and ranks differ in number",
     "devices.gpus lists another number of GPUs than there are ranks on the node.",
     "Start one rank per listed GPU, or change the list."},
    {"E206", "CUDA does not work",
     "The CUDA runtime answered with an error when it was asked for devices.",
     "nvidia-smi shows whether driver and GPUs are healthy; the driver has to be as new as the "
     "toolkit."},
    {"E211", "srun without PMIx",
     "The process is one of several Slurm tasks, but MPI sees only itself.",
     "Use srun --mpi=pmix ...; srun --mpi=list shows what the cluster supports."},
    {"E212", "MPI without threads",
     "The MPI library does not provide MPI_THREAD_MULTIPLE, which the communication thread needs.",
     "Load an Open MPI that was built with it; ompi_info | grep Thread shows it."},
    {"E213", "wrong test setting for nodes",
     "MGPU_RANKS_PER_NODE, which divides one machine into several for tests, is not valid.",
     "Unset MGPU_RANKS_PER_NODE."},
    {"E402", "a rank did not come",
     "A collective waited longer than comm.timeout_s for a rank, which hangs, died, or is still "
     "busy with other work.",
     "Look at the named rank and its file in logs/. A larger comm.timeout_s waits longer. The same "
     "command resumes the run."},
    {"E403", "another rank stopped the run", "This rank was waiting for one that failed.",
     "Read the message of that rank for the cause."},
});

}  // namespace mgpu::cluster

#pragma once

// The lines that an extension adds to the registries. A registry that is built with this header
// has them after its own lines.

#define MGPU_MORE_DATASETS(line) line(counting)
#define MGPU_MORE_ENVIRONMENTS(line) line(corridor)
#define MGPU_MORE_JOBS(line) line(halves)
#define MGPU_MORE_RECIPES(line) line(ranking)

// What a host kernel is told about the block it works on.
//   extern "C" void kernel(const DjHostBlock* block, void* const* args);
// Read by host kernels, which are compiled at run time; the launching side has the same struct.
// Leaves the arguments to the other headers of this folder.
#pragma once

#include <cstdint>

struct DjHostBlock {
  std::uint32_t index[3];     // of this block
  std::uint32_t grid[3];      // blocks in each direction
  std::uint32_t thread;       // which of num_threads runs it: selects the thread's workspace
  std::uint32_t num_threads;  // at most this many blocks run at once
};

static_assert(sizeof(DjHostBlock) == 32 && alignof(DjHostBlock) == 4);

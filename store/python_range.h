// The ranges that PyTorch's Python side opens by itself, and what they mean to Stepscope; recorders
// and importers share this. PyTorch opens them whether or not a profiler runs, with names of these
// forms (torch/optim/optimizer.py, torch/utils/data/dataloader.py, since 1.8):
//
//   Optimizer.step#SGD.step          Optimizer.zero_grad#SGD.zero_grad
//   enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__
#pragma once

#include <string_view>

#include "store/events.h"

namespace stepscope {

struct PythonRange {
  PhaseKind kind = PhaseKind::kNone;  // kNone: a program's own range
  std::string_view name;              // of the phase; may be empty
  bool own_work = false;  // a wait in which the thread itself makes the batch: no workers
};

inline PythonRange python_range(std::string_view name) {
  if (name.starts_with("enumerate(DataLoader)#")) {
    const bool workers = name.find("MultiProcessing") != std::string_view::npos;
    return {PhaseKind::kInput, workers ? "DataLoader, workers" : "DataLoader", !workers};
  }
  if (name.starts_with("Optimizer.step#")) return {PhaseKind::kOptimizer};
  if (name.starts_with("Optimizer.zero_grad#")) return {PhaseKind::kZeroGrad};
  return {};
}

}  // namespace stepscope

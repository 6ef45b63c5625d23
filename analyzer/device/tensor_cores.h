// Whether a kernel uses tensor cores, judging by its name. A recording has no other source for
// that.
#pragma once

#include <optional>
#include <string_view>

namespace stepscope {

// True: the name contains a matrix instruction or its shape, as those of cuBLAS, cuDNN and CUTLASS
// kernels do: "…s16816gemm…", "…tensorop…", "…tensor16x8x16…", "…hmma…". False: it names the CUDA
// cores: "…simt…", "…ffma…". Nothing for all others: most names do not say.
//
// Source of the names: CUTLASS, "Kernel names" and include/cutlass/arch/mma.h (OpClassSimt,
// OpClassTensorOp); the shapes are those of PTX's mma instruction (PTX ISA, "Warp Level Matrix
// Multiply-Accumulate Instructions"), m, n and k concatenated, after the type of the accumulator.
//
// Thread safety: pure function.
std::optional<bool> uses_tensor_cores(std::string_view kernel);

}  // namespace stepscope

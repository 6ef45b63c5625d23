// Theoretical occupancy, against figures that NVIDIA published and those that its occupancy
// calculator (cuda_occupancy.h of CUDA 13.0) gives; and what names say of tensor cores.
#include "analyzer/device/occupancy.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "analyzer/device/tensor_cores.h"

namespace stepscope {
namespace {

Device capability(std::int64_t major, std::int64_t minor) {
  Device device;
  device.compute_major = major;
  device.compute_minor = minor;
  return device;
}

// "5 blocks, 40 warps, 62.5 %, registers"
std::string fit(const Device& device, const BlockNeeds& block) {
  const auto limits = limits_of(device);
  if (!limits) return "unknown device";
  const auto fits = theoretical_occupancy(*limits, block);
  if (!fits) return "does not fit";
  std::string percent = std::to_string(fits->share * 100);
  percent.erase(percent.find('.') + 2);
  return std::to_string(fits->blocks) + " blocks, " + std::to_string(fits->warps) + " warps, " +
         percent + " %, " + limit_name(fits->limited_by);
}

// CUDA C++ Best Practices Guide, "Calculating Occupancy", on compute capability 7.0: with 37
// registers a thread, blocks of 128 threads give 75 % by 12 of them, blocks of 320 give 63 % by
// four.
TEST(Occupancy, IsThatOfTheBestPracticesGuide) {
  EXPECT_EQ(fit(capability(7, 0), {128, 37, 0}), "12 blocks, 48 warps, 75.0 %, registers");
  EXPECT_EQ(fit(capability(7, 0), {320, 37, 0}), "4 blocks, 40 warps, 62.5 %, registers");
}

// One for each limit.
TEST(Occupancy, NamesWhatAllowsNoMore) {
  EXPECT_EQ(fit(capability(7, 0), {256, 32, 0}), "8 blocks, 64 warps, 100.0 %, warps");
  EXPECT_EQ(fit(capability(7, 0), {32, 16, 0}), "32 blocks, 32 warps, 50.0 %, blocks");
  EXPECT_EQ(fit(capability(7, 0), {256, 126, 0}), "2 blocks, 16 warps, 25.0 %, registers");
  EXPECT_EQ(fit(capability(7, 0), {256, 126, 49'152}), "2 blocks, 16 warps, 25.0 %, registers");
  EXPECT_EQ(fit(capability(7, 0), {256, 64, 49'152}), "2 blocks, 16 warps, 25.0 %, shared memory");
}

// What differs from one generation to the next: warps, blocks, shared memory, and 1 KiB of each
// block for the system since 8.0.
TEST(Occupancy, KnowsTheGenerations) {
  EXPECT_EQ(fit(capability(7, 5), {64, 32, 0}), "16 blocks, 32 warps, 100.0 %, warps");
  EXPECT_EQ(fit(capability(8, 0), {128, 32, 16'384}), "9 blocks, 36 warps, 56.2 %, shared memory");
  EXPECT_EQ(fit(capability(8, 6), {128, 40, 0}), "12 blocks, 48 warps, 100.0 %, warps");
  EXPECT_EQ(fit(capability(8, 6), {32, 32, 0}), "16 blocks, 16 warps, 33.3 %, blocks");
  EXPECT_EQ(fit(capability(8, 9), {32, 32, 0}), "24 blocks, 24 warps, 50.0 %, blocks");
  EXPECT_EQ(fit(capability(9, 0), {128, 128, 0}), "4 blocks, 16 warps, 25.0 %, registers");
  EXPECT_EQ(fit(capability(9, 0), {384, 168, 232'448}), "1 blocks, 12 warps, 18.7 %, registers");
  EXPECT_EQ(fit(capability(10, 0), {256, 32, 100'000}),
            "2 blocks, 16 warps, 25.0 %, shared memory");
  EXPECT_EQ(fit(capability(12, 0), {1024, 32, 0}), "1 blocks, 32 warps, 66.6 %, warps");
}

// 6.0 has two register files of 32,768 where others have four of 16,384: 97 registers leave room
// for 2 × 9 warps there, and for 4 × 4 elsewhere.
TEST(Occupancy, CountsThePartitionsOfTheRegistersApart) {
  EXPECT_EQ(fit(capability(6, 0), {32, 97, 0}), "18 blocks, 18 warps, 28.1 %, registers");
  EXPECT_EQ(fit(capability(6, 1), {32, 97, 0}), "16 blocks, 16 warps, 25.0 %, registers");
}

TEST(Occupancy, WhatADeviceSaysOfItselfCountsMore) {
  Device device = capability(7, 0);
  device.shared_bytes_per_multiprocessor = 49'152;
  EXPECT_EQ(fit(device, {256, 32, 49'152}), "1 blocks, 8 warps, 12.5 %, shared memory");
}

TEST(Occupancy, IsNotGuessed) {
  EXPECT_EQ(fit(Device(), {256, 32, 0}), "unknown device");
  EXPECT_EQ(fit(capability(99, 0), {256, 32, 0}), "unknown device");
  EXPECT_EQ(fit(capability(7, 0), {0, 32, 0}), "does not fit");
  EXPECT_EQ(fit(capability(7, 0), {1024, 128, 0}), "does not fit");
  EXPECT_EQ(fit(capability(7, 0), {32, 32, 1'000'000}), "does not fit");
}

TEST(TensorCores, AreToldByMatrixInstructionsInNames) {
  for (const char* name : {
           "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
           "volta_h884gemm_64x64_ldg8_tn",
           "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
           "turing_h1688cudnn_256x128_ldg8_relu_exp_small_nhwc_tn_v1",
           "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_nn",
           "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn",
           "ampere_s1688gemm_128x128_ldg4_stages_32x3_tn",
           "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>(Params)",
           "void cutlass::Kernel<cutlass_80_tensorop_d884gemm_64x64_16x4_nt_align1>(Params)",
           "void cutlass::Kernel<cutlass_70_wmma_tensorop_s161616gemm_f16_32x32_128x2_nn>(Params)",
           "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_tensor16x8x16_kernel",
           "cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_void_bf16_128x128x64",
           "volta_hmma_implicit_gemm_fprop_fp32_nhwc_128x128x64_1",
           "void gemm<cutlass::arch::OpClassTensorOp, cutlass::half_t>(Params)",
       }) {
    EXPECT_EQ(uses_tensor_cores(name), std::optional(true)) << name;
  }
}

TEST(TensorCores, AreRuledOutOnlyWhereTheNameSaysSo) {
  for (const char* name :
       {"void cutlass::Kernel<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(Params)",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_stage3_ffma_aligna4_alignc4_kernel",
        "void gemm<cutlass::arch::OpClassSimt, float>(Params)"}) {
    EXPECT_EQ(uses_tensor_cores(name), std::optional(false)) << name;
  }
}

TEST(TensorCores, AreUnknownElsewhere) {
  for (const char* name :
       {"", "volta_sgemm_128x64_nt", "volta_scudnn_128x64_relu_interior_nn_v1",
        "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int)",
        "triton_poi_fused_add_884", "pass884_reduce",
        "void at::native::reduce_kernel<512, 1, 168816>()", "kernel_s8840",
        "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT"}) {
    EXPECT_EQ(uses_tensor_cores(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace stepscope

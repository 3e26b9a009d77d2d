// Where a step's time goes, by a trace.
#include "calib/import/step_trace.hpp"

#include <numeric>

#include "tests/base/input_error.hpp"
#include "tests/calib/kineto_trace.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

using calib::StepPart;

double in_part(const calib::TracedStep& step, StepPart part) {
  return calib::part_of(step.parts, part);
}

// Steps of 100 us: a GEMM 10 to 40, an all-reduce 30 to 60, attention 70 to 80 launched at 65, an elementwise kernel 80 to 95.
KinetoTrace four_parts(int steps, double origin_us = 0) {
  KinetoTrace trace(origin_us);
  for (int i = 0; i < steps; ++i) {
    const double begin = 100 * i;
    trace.add_step(i, begin, 99);
    trace.add_kernel("nvjet_sm90_tst_256x128", begin + 1, begin + 10, 30);
    trace.add_collective("allreduce", begin + 2, begin + 30, 30, 1 << 20, 8);
    trace.add_kernel("flash_fwd_kernel", begin + 65, begin + 70, 10);
    trace.add_kernel("vectorized_elementwise_kernel", begin + 66, begin + 80, 15);
  }
  return trace;
}

}  // namespace

TEST_CASE("every moment of a step belongs to one part, and parts add up to the step") {
  for (double origin_us : {0.0, 1.7e15}) {
    INFO(origin_us);
    const calib::StepTrace trace = calib::read_step_trace(four_parts(4, origin_us).text(), "t.json");
    REQUIRE(trace.steps.size() == 3);  // none follows the last one
    for (const calib::TracedStep& step : trace.steps) {
      CHECK(step.seconds == Approx(100e-6).margin(1e-6));
      CHECK(std::accumulate(step.parts.begin(), step.parts.end(), 0.0) == Approx(step.seconds));
      CHECK(in_part(step, StepPart::gemm) == Approx(30e-6).margin(5e-7));
      CHECK(in_part(step, StepPart::communication) == Approx(20e-6).margin(5e-7));
      CHECK(in_part(step, StepPart::attention) == Approx(10e-6).margin(5e-7));
      CHECK(in_part(step, StepPart::memory) == Approx(15e-6).margin(5e-7));
      // Until 65 us the next kernel is not launched, and from 95 us until 1 us of the next step.
      CHECK(in_part(step, StepPart::host) == Approx(11e-6).margin(5e-7));
      CHECK(in_part(step, StepPart::idle) == Approx(14e-6).margin(5e-7));
      REQUIRE(step.collectives.size() == 1);
      CHECK(step.collectives[0].operation == "all-reduce");
      CHECK(step.collectives[0].bytes == 2 << 20);
      CHECK(step.collectives[0].ranks == 8);
      CHECK(step.collectives[0].seconds == Approx(30e-6).margin(5e-7));
      CHECK(step.collectives[0].exposed_s == Approx(20e-6).margin(5e-7));
      for (std::size_t i = 1; i < step.spans.size(); ++i) {
        CHECK(step.spans[i].part != step.spans[i - 1].part);
        CHECK(step.spans[i].begin_s == Approx(step.spans[i - 1].end_s));
      }
    }
  }
}

TEST_CASE("a step alone lasts from its begin to the end of its kernels, and kernels of no step are in none") {
  KinetoTrace trace;
  trace.add_kernel("gemm", 0, 1, 3);
  trace.add_step(7, 10, 50);
  trace.add_kernel("gemm", 12, 20, 60);
  const calib::StepTrace read = calib::read_step_trace(trace.text(), "t.json");
  REQUIRE(read.steps.size() == 1);
  CHECK(read.steps[0].number == 7);
  CHECK(read.steps[0].seconds == Approx(70e-6));
  CHECK(in_part(read.steps[0], StepPart::gemm) == Approx(60e-6));
  CHECK(read.world_size == 1);
  CHECK(read.gpu == "NVIDIA H100 80GB HBM3");
}

TEST_CASE("kernels that run at once count once: arithmetic before memory before communication") {
  KinetoTrace trace;
  trace.add_step(0, 0, 100);
  trace.add_kernel("ampere_sgemm_128x64_nn", 0, 20, 20, 7);
  trace.add_kernel("at::native::reduce_kernel", 0, 10, 40, 8);
  trace.add_kernel("ncclKernel_AllGather_RING_LL_Sum_float", 0, 0, 100, 9);
  const calib::TracedStep step = calib::read_step_trace(trace.text(), "t.json").steps.front();
  CHECK(in_part(step, StepPart::gemm) == Approx(20e-6));
  CHECK(in_part(step, StepPart::memory) == Approx(20e-6));
  CHECK(in_part(step, StepPart::communication) == Approx(60e-6));
  CHECK(step.collectives[0].operation == "all-gather");
  CHECK(step.collectives[0].bytes == 0);  // not noted
}

TEST_CASE("kernels of PyTorch's libraries are in their parts") {
  const auto part = [](const char* name) { return calib::kernel_part(name); };
  CHECK(part("void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>") == StepPart::gemm);
  CHECK(part("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw") == StepPart::gemm);
  CHECK(part("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26") == StepPart::attention);
  CHECK(part("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)") == StepPart::attention);
  CHECK(part("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>") == StepPart::memory);
  CHECK(part("triton_tem_fused_addmm_0") == StepPart::gemm);
  CHECK(part("_attn_fwd") == StepPart::attention);
  CHECK(part("triton_poi_fused_add_mul_0") == StepPart::memory);
}

TEST_CASE("traces are told from logs, whether an object or a bare array of events") {
  CHECK(calib::is_torch_trace(four_parts(1).text()));
  CHECK(calib::is_torch_trace(" [\n" + Json::parse(four_parts(1).text())["traceEvents"][0].dump() + "]"));
  CHECK_FALSE(calib::is_torch_trace("[2026-01-01] iteration 1/ 5 | elapsed time per iteration (ms): 12"));
  CHECK_FALSE(calib::is_torch_trace(""));
}

TEST_CASE("traces without steps or without a GPU's kernels are refused") {
  KinetoTrace without_steps, without_kernels;
  without_steps.add_kernel("gemm", 0, 1, 3);
  without_kernels.add_step(0, 0, 5);
  const auto error = [](const KinetoTrace& trace) {
    return error_of([&] { (void)calib::read_step_trace(trace.text(), "t.json"); });
  };
  CHECK_THAT(error(without_steps), Contains("t.json: has no ProfilerStep; allowed: "));
  CHECK_THAT(error(without_kernels), Contains("t.json: has no kernel of a GPU; allowed: "));
}

}  // namespace lockstep::tests

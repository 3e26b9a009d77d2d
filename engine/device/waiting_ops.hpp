#pragma once
// The host's vector operations. Each one waits for the learners' work that was submitted before; on a GPU, streams and
// events do that.
#include <cstdint>
#include <vector>

#include "engine/device/executor.hpp"
#include "engine/device/side_thread.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::device {

class WaitingOps final : public sync::VectorOps {
 public:
  WaitingOps(Executor& executor, sync::Processes& processes) : executor_(executor), processes_(processes) {}

  float* allocate(std::int64_t n, int device) override { return now().allocate(n, device); }
  void release(float* x) override {
    // A buffer may be released while the exception of failed work propagates, so a second exception must not be thrown.
    try {
      executor_.wait();
    } catch (...) {
    }
    ops_.release(x);
  }
  void upload(std::int64_t n, const float* host, float* x) override { now().upload(n, host, x); }
  void download(std::int64_t n, const float* x, float* host) override { now().download(n, x, host); }

  void zero(std::int64_t n, float* x) override { now().zero(n, x); }
  void copy(std::int64_t n, const float* x, float* y) override { now().copy(n, x, y); }
  void scale(std::int64_t n, double a, float* x) override { now().scale(n, a, x); }
  void axpy(std::int64_t n, double a, const float* x, float* y) override { now().axpy(n, a, x, y); }
  double dot(std::int64_t n, const float* x, const float* y) override { return now().dot(n, x, y); }
  std::vector<double> norms(const sync::Layout& layout, const float* x) override { return now().norms(layout, x); }

  void average(std::int64_t n, const std::vector<const float*>& inputs, float* y) override {
    now().average(n, inputs, y);
  }
  /// Sums within this process, then over the processes. With one buffer per process, the order is that of a single
  /// process.
  void sum_all(std::int64_t n, const std::vector<float*>& buffers) override {
    now().sum_all(n, buffers);
    if (processes_.count() == 1) return;
    processes_.sum(n, buffers.front());
    for (std::size_t j = 1; j < buffers.size(); ++j) ops_.copy(n, buffers.front(), buffers[j]);
  }
  void average_all(std::int64_t n, const std::vector<const float*>& inputs,
                   const std::vector<float*>& outputs) override {
    if (processes_.count() == 1) return now().average_all(n, inputs, outputs);
    VectorOps::average_all(n, inputs, outputs);
  }
  void average_parts(std::int64_t n, const std::vector<const float*>& inputs,
                     const std::vector<float*>& outputs) override {
    if (processes_.count() == 1) return now().average_parts(n, inputs, outputs);
    executor_.wait();
    const std::size_t here = inputs.size();
    const std::vector<std::int64_t> begins = begins_of_parts(n, here);
    const float* sum = inputs.front();
    if (here > 1) {  // same order as sum_all()
      sums_.assign(inputs.front(), inputs.front() + n);
      for (std::size_t j = 1; j < here; ++j) ops_.axpy(n, 1, inputs[j], sums_.data());
      sum = sums_.data();
    }
    const auto rank = static_cast<std::size_t>(processes_.rank());
    own_.resize(static_cast<std::size_t>(begins[rank + 1] - begins[rank]));
    processes_.add_parts(begins, sum, own_.data());
    for (std::size_t j = 0; j < here; ++j) {
      const sync::Part part = part_here(n, j, here);
      if (part.count == 0) continue;
      ops_.copy(part.count, own_.data() + (part.begin - begins[rank]), outputs[j]);
      ops_.scale(part.count, 1.0 / (static_cast<double>(here) * processes_.count()), outputs[j]);
    }
  }
  void gather_parts(std::int64_t n, const std::vector<float*>& buffers) override {
    if (processes_.count() == 1) return now().gather_parts(n, buffers);
    executor_.wait();
    for (std::size_t j = 1; j < buffers.size(); ++j) {
      const sync::Part part = part_here(n, j, buffers.size());
      if (part.count > 0) ops_.copy(part.count, buffers[j] + part.begin, buffers.front() + part.begin);
    }
    processes_.share_parts(begins_of_parts(n, buffers.size()), buffers.front());
    for (std::size_t j = 1; j < buffers.size(); ++j) ops_.copy(n, buffers.front(), buffers[j]);
  }
  int processes() const override { return processes_.count(); }

  bool averages_beside() const override { return processes_.count() > 1 && processes_.may_change_thread(); }
  void begin_average(std::int64_t n, const float* input, float* output) override {
    side_.submit([this, n, input, output] {
      float* const mean = output;
      ops_.copy(n, input, mean);
      processes_.sum(n, mean);
      ops_.scale(n, 1.0 / processes_.count(), mean);
    });
  }
  void finish_averages() override { side_.wait(); }

  void sgd_update(const sync::Layout& layout, double learning_rate, double weight_decay, const float* g,
                  float* w) override {
    now().sgd_update(layout, learning_rate, weight_decay, g, w);
  }
  void momentum_update(const sync::Layout& layout, const sync::StepSize& step, const float* g, float* v,
                       float* w) override {
    now().momentum_update(layout, step, g, v, w);
  }
  void nesterov_update(const sync::Layout& layout, const sync::StepSize& step, const float* g, float* v,
                       float* w) override {
    now().nesterov_update(layout, step, g, v, w);
  }
  void adam_update(const sync::Layout& layout, const sync::AdamStep& step, const float* g, float* m, float* v,
                   float* w) override {
    now().adam_update(layout, step, g, m, v, w);
  }
  void lars_update(const sync::Layout& layout, const sync::StepSize& step, const sync::LarsOptions& lars,
                   const float* g, float* v, float* w) override {
    now().lars_update(layout, step, lars, g, v, w);
  }
  void corrected_update(const sync::Layout& layout, double learning_rate, double weight_decay, double alpha,
                        const float* g, const float* z, float* w, float* sum) override {
    now().corrected_update(layout, learning_rate, weight_decay, alpha, g, z, w, sum);
  }
  void elastic_pull(std::int64_t n, double alpha, const float* z, float* w, float* sum) override {
    now().elastic_pull(n, alpha, z, w, sum);
  }
  void average_model_update(std::int64_t n, double momentum, const float* sum, float* z, float* previous) override {
    now().average_model_update(n, momentum, sum, z, previous);
  }

 private:
  sync::HostVectorOps& now() {
    executor_.wait();
    return ops_;
  }

  /// Returns the part of buffer j, one of the `here` buffers of this process.
  sync::Part part_here(std::int64_t n, std::size_t j, std::size_t here) const {
    const int count = static_cast<int>(here);
    return sync::part_of(n, processes_.rank() * count + static_cast<int>(j), count * processes_.count());
  }
  /// Returns where each process's parts begin, and n.
  std::vector<std::int64_t> begins_of_parts(std::int64_t n, std::size_t here) const {
    std::vector<std::int64_t> begins;
    const int count = static_cast<int>(here), all = count * processes_.count();
    for (int p = 0; p < processes_.count(); ++p) begins.push_back(sync::part_of(n, p * count, all).begin);
    begins.push_back(n);
    return begins;
  }

  Executor& executor_;
  std::vector<float> sums_, own_;  ///< for average_parts()
  SideThread side_;
  sync::Processes& processes_;
  sync::HostVectorOps ops_;
};

}  // namespace lockstep::device

#pragma once
// The host's vector operations, each after the learners' work that was handed in before it: what the streams and events
// of a GPU would see to.
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
    // A buffer may outlive work that failed, and is released while that exception travels: no second one.
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
  /// Within this process, then over the processes: with one buffer each, the order of a single process.
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

  Executor& executor_;
  SideThread side_;
  sync::Processes& processes_;
  sync::HostVectorOps ops_;
};

}  // namespace lockstep::device

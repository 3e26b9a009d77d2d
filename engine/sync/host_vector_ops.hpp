#pragma once
// VectorOps on the host, with Eigen. Every operation is complete when it returns, and its result depends only on its
// arguments, so that repeated runs of one build are bit-identical. `device` numbers are only labels; all buffers are in
// one memory.
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

class HostVectorOps final : public VectorOps {
 public:
  float* allocate(std::int64_t n, int device) override;
  void release(float* x) override;
  void upload(std::int64_t n, const float* host, float* x) override;
  void download(std::int64_t n, const float* x, float* host) override;

  void zero(std::int64_t n, float* x) override;
  void copy(std::int64_t n, const float* x, float* y) override;
  void scale(std::int64_t n, double a, float* x) override;
  void axpy(std::int64_t n, double a, const float* x, float* y) override;
  double dot(std::int64_t n, const float* x, const float* y) override;
  std::vector<double> norms(const Layout& layout, const float* x) override;

  void average(std::int64_t n, const std::vector<const float*>& inputs, float* y) override;
  void sum_all(std::int64_t n, const std::vector<float*>& buffers) override;
  void average_all(std::int64_t n, const std::vector<const float*>& inputs,
                   const std::vector<float*>& outputs) override;

  void sgd_update(const Layout& layout, double learning_rate, double weight_decay, const float* g, float* w) override;
  void momentum_update(const Layout& layout, const StepSize& step, const float* g, float* v, float* w) override;
  void nesterov_update(const Layout& layout, const StepSize& step, const float* g, float* v, float* w) override;
  void adam_update(const Layout& layout, const AdamStep& step, const float* g, float* m, float* v, float* w) override;
  void lars_update(const Layout& layout, const StepSize& step, const LarsOptions& lars, const float* g, float* v,
                   float* w) override;

  void corrected_update(const Layout& layout, double learning_rate, double weight_decay, double alpha, const float* g,
                        const float* z, float* w, float* sum) override;
  void elastic_pull(std::int64_t n, double alpha, const float* z, float* w, float* sum) override;
  void average_model_update(std::int64_t n, double momentum, const float* sum, float* z, float* previous) override;
};

}  // namespace lockstep::sync

// Passes allocate nothing, except for oneDNN, which is disabled here. A malloc of our own counts every allocation of
// the program, including Eigen's; glibc allows that. Sanitizers have their own malloc, so there this file is empty.
#include <cstdlib>
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // for GCC
#define LOCKSTEP_SANITIZED
#elif defined(__has_feature)  // for clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOCKSTEP_SANITIZED
#endif
#endif
#if defined(__GLIBC__) && !defined(LOCKSTEP_SANITIZED)
#include <algorithm>
#include <atomic>

#include "engine/host/gemm.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace {
std::atomic<long> allocations{0};
}
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}

namespace lockstep::host {
namespace {

TEST_CASE("The counter of allocations counts") {
  const long before = allocations;
  void* volatile memory = std::malloc(1);  // volatile, or the pair could be optimised away
  std::free(memory);
  CHECK(allocations == before + 1);
}

TEST_CASE("Passes allocate nothing") {
  const Build build(best_level());
  const int batch = GENERATE(1, 16);
  for (const char* name : {"lenet_crossbow", "resnet32_crossbow", "resnet32_optA", "cifar10_quick"}) {
    INFO(name << " at batch " << batch);
    Subject<float> subject(model::zoo_graph(name), batch, 2);
    subject.loss_and_gradients();
    const long before = allocations;
    subject.loss_and_gradients();
    subject.network.correct(subject.images.data(), subject.labels.data());
    const long after = allocations;
    CHECK(after == before);
  }
}

template <typename Scalar>
void multiply_without_allocation(const GemmSize& size, bool a_transposed, bool b_transposed) {
  const std::int64_t largest = std::max({size.rows, size.cols, size.inner});
  const Vector<Scalar> zeros = Vector<Scalar>::Zero(largest * largest);
  Vector<Scalar> result(largest * largest);
  const long before = allocations;
  gemm<Scalar>(size, {zeros.data(), largest, a_transposed}, {zeros.data(), largest, b_transposed}, result.data(),
               largest, false);
  const long after = allocations;
  CHECK(after == before);
}

TEST_CASE("Large products allocate nothing, in any build") {
  const Build build(GENERATE(from_range(levels_here())));
  for (const GemmSize& size : {GemmSize{1500, 1500, 40}, GemmSize{1500, 40, 1500}, GemmSize{40, 1500, 1500},
                               GemmSize{700, 1300, 700}, GemmSize{1, 1500, 1500}, GemmSize{1500, 1, 1500}}) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      INFO(size.rows << " " << size.cols << " " << size.inner << " " << transposed << " " << to_string(level_in_use()));
      multiply_without_allocation<float>(size, transposed % 2 != 0, transposed > 1);
      multiply_without_allocation<double>(size, transposed % 2 != 0, transposed > 1);
    }
  }
}

}  // namespace
}  // namespace lockstep::host
#endif

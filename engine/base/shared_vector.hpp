#pragma once
// A vector whose copies share one array until one of them is changed (copy on write). Reading never copies and never
// throws. Two threads may read and change their own copies at the same time.
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

template <typename T>
class SharedVector {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  SharedVector() = default;
  SharedVector(std::vector<T> values) : values_(std::make_shared<std::vector<T>>(std::move(values))) {}
  SharedVector(std::initializer_list<T> values) : SharedVector(std::vector<T>(values)) {}

  const std::vector<T>& get() const { return values_ ? *values_ : none(); }
  operator const std::vector<T>&() const { return get(); }

  std::size_t size() const { return get().size(); }
  bool empty() const { return get().empty(); }
  const T& operator[](std::size_t i) const { return (*values_)[i]; }
  const T& at(std::size_t i) const { return get().at(i); }
  const T& front() const { return get().front(); }
  const T& back() const { return get().back(); }
  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }

  /// Returns the array for changes; copies it first if another vector shares it.
  std::vector<T>& edit() {
    if (values_ == nullptr) {
      values_ = std::make_shared<std::vector<T>>();
    } else if (values_.use_count() > 1) {
      values_ = std::make_shared<std::vector<T>>(*values_);
    } else {
      // Order the reads of a copy that another thread has just destroyed before these changes.
      std::atomic_thread_fence(std::memory_order_acquire);
    }
    return *values_;
  }

 private:
  static const std::vector<T>& none() {
    static const std::vector<T> empty;
    return empty;
  }

  std::shared_ptr<std::vector<T>> values_;
};

}  // namespace lockstep

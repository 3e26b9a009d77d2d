#pragma once
// The bytes of a batch's images, in memory that a device may be able to read directly.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lockstep::data {

/// Allocates `count` floats, as device::Backend::allocate_pinned() does; returns null if there is no such memory.
using Allocate = std::function<std::shared_ptr<float>(std::int64_t count)>;

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&&) = default;
  ByteBuffer& operator=(ByteBuffer&&) = default;

  /// Uses `allocate` if it is given and returns memory, else the heap. Content is lost if the buffer grows.
  void resize(std::size_t size, const Allocate& allocate = {});

  std::uint8_t* data() { return data_; }
  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint8_t operator[](std::size_t i) const { return data_[i]; }
  /// Whether the memory comes from `allocate`.
  bool is_allocated() const { return allocated_ != nullptr; }

 private:
  std::shared_ptr<float> allocated_;
  std::vector<std::uint8_t> heap_;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace lockstep::data

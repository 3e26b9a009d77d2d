#include "engine/data/byte_buffer.hpp"

namespace lockstep::data {

void ByteBuffer::resize(std::size_t size, const Allocate& allocate) {
  if (size > capacity_) {
    allocated_ = nullptr;
    if (allocate) allocated_ = allocate(static_cast<std::int64_t>((size + sizeof(float) - 1) / sizeof(float)));
    if (allocated_ == nullptr) heap_.resize(size);
    data_ = allocated_ != nullptr ? reinterpret_cast<std::uint8_t*>(allocated_.get()) : heap_.data();
    capacity_ = size;
  }
  size_ = size;
}

}  // namespace lockstep::data

#pragma once
// Event files of TensorBoard, as torch.utils.tensorboard writes them: scalars as simple_value, texts as string tensors.
#include <cstdint>
#include <cstring>
#include <string>

#include "calib/import/event_file.hpp"

namespace lockstep::tests {

class EventWriter {
 public:
  EventWriter() { add_record(number(1, 1.7e9) + text(3, "brain.Event:2")); }

  void add_scalar(const std::string& tag, std::int64_t step, double wall_time_s, float value) {
    std::string bits(4, '\0');
    std::memcpy(bits.data(), &value, 4);
    add_value(step, wall_time_s, text(1, tag) + std::string("\x15") + bits);
  }
  /// As TensorFlow 2 does.
  void add_tensor(const std::string& tag, std::int64_t step, double wall_time_s, float value) {
    std::string bits(4, '\0');
    std::memcpy(bits.data(), &value, 4);
    add_value(step, wall_time_s, text(1, tag) + text(8, whole(1, 1) + text(4, bits)));
  }
  void add_text(const std::string& tag, double wall_time_s, const std::string& value) {
    add_value(0, wall_time_s, text(1, tag + "/text_summary") + text(8, whole(1, 7) + text(8, value)));
  }
  const std::string& bytes() const { return bytes_; }

  static std::string varint(std::uint64_t value) {
    std::string all;
    for (; value >= 0x80; value >>= 7) all += static_cast<char>(0x80 | (value & 0x7f));
    return all + static_cast<char>(value);
  }
  static std::string text(int field, const std::string& value) {
    return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
  }
  static std::string whole(int field, std::int64_t value) {
    return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
  }
  static std::string number(int field, double value) {
    std::string bits(8, '\0');
    std::memcpy(bits.data(), &value, 8);
    return varint(static_cast<std::uint64_t>(field) << 3 | 1) + bits;
  }

 private:
  static std::string fixed(std::uint64_t value, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += static_cast<char>(value >> (8 * i) & 0xff);
    return all;
  }
  static std::string masked(const std::string& bytes) {
    const std::uint32_t crc = calib::crc32c(bytes);
    return fixed(static_cast<std::uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8u), 4);
  }
  void add_value(std::int64_t step, double wall_time_s, const std::string& value) {
    add_record(number(1, wall_time_s) + whole(2, step) + text(5, text(1, value)));
  }
  void add_record(const std::string& event) {
    const std::string length = fixed(event.size(), 8);
    bytes_ += length + masked(length) + event + masked(event);
  }

  std::string bytes_;
};

}  // namespace lockstep::tests

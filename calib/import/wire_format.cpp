#include "calib/import/wire_format.hpp"

#include <cstring>

#include "engine/base/json.hpp"

namespace lockstep::calib {
namespace {

constexpr std::size_t kLongestVarint = 10;

// Fixed numbers are little-endian.
std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

double double_of(std::uint64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

float float_of(std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  float number = 0;
  std::memcpy(&number, &low, sizeof number);
  return number;
}

}  // namespace

double WireField::as_double() const {
  return double_of(value);
}

float WireField::as_float() const {
  return float_of(value);
}

std::pair<std::uint64_t, std::size_t> read_varint(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < kLongestVarint; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return {value, i + 1};
  }
  return {0, 0};
}

void WireMessage::fail(const char* why) const {
  throw InputError(where_ + ": byte " + std::to_string(at_) + " of the message: " + why +
                   "; allowed: a file in protobuf's wire format");
}

std::uint64_t WireMessage::varint() {
  const auto [value, length] = read_varint(bytes_.substr(at_));
  if (length == 0) fail("a number is cut off");
  at_ += length;
  return value;
}

std::string_view WireMessage::take(std::uint64_t count) {
  if (count > bytes_.size() - at_) fail("a field is cut off");
  const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
  at_ += taken.size();
  return taken;
}

bool WireMessage::next(WireField& field) {
  if (at_ == bytes_.size()) return false;
  const std::uint64_t tag = varint();
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number >= 1u << 29) fail("no number of a field");
  field = WireField();
  field.number = static_cast<int>(number);
  switch (tag & 7) {
    case 0:
      field.type = WireType::varint;
      field.value = varint();
      return true;
    case 1:
      field.type = WireType::fixed64;
      field.value = little_endian(take(8));
      return true;
    case 2:
      field.type = WireType::bytes;
      field.bytes = take(varint());
      return true;
    case 5:
      field.type = WireType::fixed32;
      field.value = little_endian(take(4));
      return true;
    default:
      fail("no type of a field");
  }
}

std::vector<double> packed_doubles(const WireField& field) {
  std::vector<double> all;
  for (std::size_t at = 0; at + 8 <= field.bytes.size(); at += 8)
    all.push_back(double_of(little_endian(field.bytes.substr(at, 8))));
  return all;
}

std::vector<double> packed_floats(const WireField& field) {
  std::vector<double> all;
  for (std::size_t at = 0; at + 4 <= field.bytes.size(); at += 4)
    all.push_back(float_of(little_endian(field.bytes.substr(at, 4))));
  return all;
}

std::vector<std::int64_t> packed_varints(const WireField& field) {
  std::vector<std::int64_t> all;
  for (std::size_t at = 0; at < field.bytes.size();) {
    const auto [value, length] = read_varint(field.bytes.substr(at));
    if (length == 0) break;
    all.push_back(static_cast<std::int64_t>(value));
    at += length;
  }
  return all;
}

}  // namespace lockstep::calib

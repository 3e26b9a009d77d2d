#pragma once
// Reads messages in protobuf's wire format (protobuf.dev, "Encoding"), which TensorBoard and Chakra write. A message is a
// sequence of fields, each with its number and one of four types. No library is needed, so that every build can read
// these files, and the page's build as well.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::calib {

enum class WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  int number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  ///< of a varint, or the bits of a fixed number
  std::string_view bytes;   ///< a text, a message, or packed numbers

  double as_double() const;  ///< fixed64
  float as_float() const;    ///< fixed32
  std::int64_t as_int() const { return static_cast<std::int64_t>(value); }
  std::string text() const { return std::string(bytes); }
};

/// Reads the fields of one message in order. Throws InputError, `where` first, if the message is cut off or malformed.
class WireMessage {
 public:
  WireMessage(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  /// False at the end of the message.
  bool next(WireField& field);

 private:
  [[noreturn]] void fail(const char* why) const;
  std::uint64_t varint();
  std::string_view take(std::uint64_t count);

  std::string_view bytes_;
  std::string where_;
  std::size_t at_ = 0;
};

/// The varint at the begin of `bytes`, and how many bytes it takes; 0 bytes: it is cut off or longer than ten.
std::pair<std::uint64_t, std::size_t> read_varint(std::string_view bytes);

/// Packed numbers: doubles, floats, varints.
std::vector<double> packed_doubles(const WireField& field);
std::vector<double> packed_floats(const WireField& field);
std::vector<std::int64_t> packed_varints(const WireField& field);

}  // namespace lockstep::calib

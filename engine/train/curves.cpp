#include "engine/train/curves.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>

#include "engine/base/text.hpp"

namespace lockstep::train {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
const Range kAny{0, 1e15};

double number_or_none(const JsonNode& node, const std::string& key) {
  const auto found = node.find(key);
  if (!found || found->is_null()) return kNone;
  return found->number({-1e300, 1e300});
}

std::string csv_number(double value) {
  return std::isnan(value) ? "" : Json(value).dump();
}

/// Adds quotes if the word has a comma, quote or line break.
std::string csv_word(const std::string& word) {
  if (word.find_first_of(",\"\n") == std::string::npos) return word;
  std::string quoted = "\"";
  for (const char c : word) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// ---- TensorBoard ----

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

template <typename Value>
std::string bits_of(Value value) {
  std::string text(sizeof(Value), '\0');
  std::memcpy(text.data(), &value, sizeof(Value));  // machines are assumed to be little-endian
  return text;
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7F) | 0x80);
  return text + static_cast<char>(value);
}

enum Wire { kVarint = 0, kDouble = 1, kBytes = 2, kFloat = 5 };

/// Encodes a field of a protocol buffer; `content` is encoded for its wire type.
std::string field(int number, Wire wire, const std::string& content) {
  const std::string key = varint(static_cast<std::uint64_t>(number) << 3 | wire);
  return wire == kBytes ? key + varint(content.size()) + content : key + content;
}

std::uint32_t masked_crc(const std::string& bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

std::string framed(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  return length + little_endian(masked_crc(length), 4) + data + little_endian(masked_crc(data), 4);
}

std::string scalar_event(double wall_time_s, double step, const std::string& tag, double value) {
  const std::string entry = field(1, kBytes, tag) + field(2, kFloat, bits_of(static_cast<float>(value)));
  return framed(field(1, kDouble, bits_of(wall_time_s)) + field(2, kVarint, varint(static_cast<std::uint64_t>(step))) +
                field(5, kBytes, field(1, kBytes, entry)));
}

double seconds_of(const std::string& utc) {
  std::tm time{};
  return strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) != nullptr ? static_cast<double>(timegm(&time)) : 0;
}

}  // namespace

RunCurve read_curve(const std::string& path) {
  return read_curve(JsonDocument::load(path), path);
}

RunCurve read_curve(const JsonDocument& document, const std::string& path) {
  const JsonNode root = document.root();
  root.at("schema").choice({"lockstep/run/1"});
  RunCurve run{std::filesystem::path(path).stem().string(), root.at("provenance").at("started_utc").text(), {}};
  const bool has_evaluations = root.has("evaluations");
  for (const JsonNode& entry : root.at(has_evaluations ? "evaluations" : "epochs").items())
    run.points.push_back({entry.at("epoch").number(kAny), entry.at("iterations").number(kAny),
                          entry.at("images").number(kAny), entry.at("train_s").number(kAny),
                          entry.at("test_accuracy").number({0, 1}), number_or_none(entry, "train_loss"),
                          number_or_none(entry, "learning_rate")});
  if (!has_evaluations) return run;
  for (const JsonNode& epoch : root.at("epochs").items())  // the evaluation at an epoch's end gets its loss and rate
    for (CurvePoint& point : run.points)
      if (point.iterations == epoch.at("iterations").number(kAny)) {
        point.train_loss = number_or_none(epoch, "train_loss");
        point.learning_rate = number_or_none(epoch, "learning_rate");
      }
  return run;
}

std::string curves_csv(const std::vector<RunCurve>& runs) {
  std::string text = "run,epoch,iterations,images,train_s,test_accuracy,train_loss,learning_rate\n";
  for (const RunCurve& run : runs)
    for (const CurvePoint& p : run.points) {
      text += csv_word(run.name);
      for (const double value :
           {p.epoch, p.iterations, p.images, p.train_s, p.test_accuracy, p.train_loss, p.learning_rate})
        text += "," + csv_number(value);
      text += "\n";
    }
  return text;
}

std::uint32_t crc32c(const std::string& bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
      made[i] = crc;
    }
    return made;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::string curve_events(const RunCurve& run) {
  const double begin_s = seconds_of(run.started_utc);
  std::string text = framed(field(1, kDouble, bits_of(begin_s)) + field(3, kBytes, "brain.Event:2"));
  for (const CurvePoint& p : run.points) {
    const double at_s = begin_s + p.train_s;
    text += scalar_event(at_s, p.iterations, "test_accuracy", p.test_accuracy);
    if (!std::isnan(p.train_loss)) text += scalar_event(at_s, p.iterations, "train_loss", p.train_loss);
    if (!std::isnan(p.learning_rate)) text += scalar_event(at_s, p.iterations, "learning_rate", p.learning_rate);
  }
  return text;
}

}  // namespace lockstep::train

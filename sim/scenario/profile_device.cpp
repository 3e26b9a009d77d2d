#include "sim/scenario/profile_device.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace lockstep::sim::scenario {
namespace {

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_number(char c) {
  return c >= '0' && c <= '9';
}

// True if a word is like "H100", "MI300X", "L4": one to three letters with at least two digits, or one of each. False
// for SXM5, HBM3, 80GB.
bool is_type(const std::string& word) {
  const auto letters = static_cast<std::size_t>(std::find_if_not(word.begin(), word.end(), is_letter) - word.begin());
  std::size_t digits = 0;
  while (letters + digits < word.size() && is_number(word[letters + digits])) ++digits;
  const std::size_t behind = word.size() - letters - digits;
  return letters >= 1 && letters <= 3 && (digits >= 2 || (letters == 1 && digits == 1)) && behind <= 1;
}

// GB200 is a board with B200 GPUs. GH200 has an entry of its own.
std::string type_of_chip(const std::string& word) {
  return word.size() > 2 && word[0] == 'G' && word[1] == 'B' ? word.substr(1) : word;
}

std::set<std::string> types_in(const std::string& name) {
  std::set<std::string> types;
  std::string word;
  for (const char c : name + " ") {
    if (is_letter(c) || is_number(c)) {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      continue;
    }
    if (is_type(word)) types.insert(type_of_chip(word));
    word.clear();
  }
  return types;
}

}  // namespace

std::string find_contradicting_device(const calib::DeviceFacts& device, const std::string& gpu) {
  const std::string name = device.name.substr(0, device.name.find_first_of(",("));
  const std::set<std::string> wanted = types_in(gpu), measured = types_in(name);
  const bool has_common =
      std::any_of(measured.begin(), measured.end(), [&](const std::string& type) { return wanted.count(type) > 0; });
  if (wanted.empty() || has_common || (measured.empty() && device.kind != "host")) return "";
  return name.substr(0, name.find_last_not_of(' ') + 1);
}

}  // namespace lockstep::sim::scenario

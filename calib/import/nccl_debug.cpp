#include "calib/import/nccl_debug.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "calib/import/log_text.hpp"

namespace lockstep::calib {
namespace {

constexpr const char* kNcclPrefixEnd = "] NCCL INFO ";
constexpr const char* kNcclWarning = " NCCL WARN ";
constexpr std::size_t kLongestQuote = 160;
constexpr std::size_t kLongestHost = 256;

bool message_begins(const std::string& text, const char* start) {
  return text.compare(0, std::strlen(start), start) == 0;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Takes text from the front of a message, piece by piece. After a piece that is missing, all further ones fail.
class MessageScanner {
 public:
  explicit MessageScanner(const std::string& text, std::size_t at = 0) : text_(text), at_(at) {}

  bool take(const char* piece) {
    const std::size_t length = std::strlen(piece);
    is_good_ = is_good_ && text_.compare(at_, length, piece) == 0;
    if (is_good_) at_ += length;
    return is_good_;
  }
  bool try_take(const char* piece) {
    const bool was_good = is_good_;
    const bool is_taken = take(piece);
    is_good_ = was_good;
    return is_taken;
  }
  std::string take_while(bool (*is_wanted)(char)) {
    const std::size_t begin = at_;
    while (is_good_ && at_ < text_.size() && is_wanted(text_[at_])) ++at_;
    is_good_ = is_good_ && at_ > begin;
    return is_good_ ? text_.substr(begin, at_ - begin) : "";
  }
  int take_number() {
    const std::string digits = take_while(is_digit);
    is_good_ = is_good_ && digits.size() < 10;
    return is_good_ ? std::atoi(digits.c_str()) : 0;
  }
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  // RCCL adds the communicator to many messages.
  bool is_at_end() const { return is_good_ && (at_ == text_.size() || text_.compare(at_, 6, " comm ") == 0); }
  bool is_good() const { return is_good_; }
  std::size_t place() const { return at_; }

 private:
  const std::string& text_;
  std::size_t at_;
  bool is_good_ = true;
};

bool is_hexadecimal(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_no_slash(char c) {
  return c != '/';
}

bool is_word_of_message(char c) {
  return c != ' ' && c != ',' && c != '/';
}

// The number behind `key` in a message; nullopt if there is none. `is_last`: nothing need follow, as no digit can be cut off.
std::optional<int> number_behind(const std::string& message, const char* key, bool is_last = false) {
  const std::size_t at = message.find(key);
  if (at == std::string::npos) return std::nullopt;
  MessageScanner scan(message, at);
  scan.take(key);
  const int number = scan.take_number();
  return scan.is_good() && (is_last || scan.place() < message.size()) ? std::optional<int>(number) : std::nullopt;
}

struct NcclMessage {
  std::string host, text;
  bool is_broken_off = false;  // by the prefix of another one
};

// The host before ":PID:TID [DEVICE" that ends at `end`; empty if the text there is something else.
std::string host_before(const std::string& line, std::size_t end) {
  const auto skip_digits = [&](std::size_t at) {
    while (at > 0 && is_digit(line[at - 1])) --at;
    return at;
  };
  std::size_t at = skip_digits(end);
  if (at == end) return "";
  if (at > 0 && line[at - 1] == '-') --at;  // no device yet
  if (at < 2 || line[at - 1] != '[' || line[at - 2] != ' ') return "";
  at -= 2;
  for (int number = 0; number < 2; ++number) {
    const std::size_t begin = skip_digits(at);
    if (begin == at || begin == 0 || line[begin - 1] != ':') return "";
    at = begin - 1;
  }
  std::size_t begin = at;
  while (begin > 0 && at - begin < kLongestHost && line[begin - 1] != ' ' && line[begin - 1] != '\t') --begin;
  return line.substr(begin, at - begin);
}

// Splits a line into NCCL's messages. A line has several if ranks write at the same time.
std::vector<NcclMessage> messages_of(const std::string& line) {
  std::vector<NcclMessage> all;
  for (std::size_t mark = line.find(kNcclPrefixEnd); mark != std::string::npos;) {
    const std::size_t begin = mark + std::strlen(kNcclPrefixEnd), next = line.find(kNcclPrefixEnd, begin);
    const std::string host = host_before(line, mark);
    std::string text = line.substr(begin, next == std::string::npos ? std::string::npos : next - begin);
    // Another rank's prefix ends the message. The word before that prefix may be overwritten, so it is dropped.
    if (next != std::string::npos) {
      const std::size_t space = text.rfind(" [");
      text.erase(space == std::string::npos ? 0 : text.find_last_of(' ', space - 1) + 1);
    }
    const std::size_t last = text.find_last_not_of(" \t\r");
    text.erase(last == std::string::npos ? 0 : last + 1);
    if (!host.empty() && !text.empty()) all.push_back({host, text, next != std::string::npos});
    mark = next;
  }
  return all;
}

class DebugReader {
 public:
  NcclFacts read(const std::string& text) {
    std::size_t at = 0;
    for (int number = 1; at < text.size(); ++number) {
      std::size_t end = text.find('\n', at);
      const bool is_cut = end == std::string::npos;
      if (is_cut) end = text.size();
      if (!is_cut || facts_.messages == 0) read_line(text.substr(at, end - at), number);
      at = end + 1;
    }
    return std::move(facts_);
  }

 private:
  void read_line(const std::string& raw, int number) {
    const bool has_mark = raw.find("NCCL INFO ") != std::string::npos;
    if (!has_mark && raw.find("CCL version") == std::string::npos) return;
    const std::string line = plain_line(raw);
    number_ = number;
    if (!has_mark) {
      message_ = line;
      read_version();
      return;
    }
    for (const NcclMessage& one : messages_of(line)) {
      ++facts_.messages;
      message_ = one.text;
      host_ = one.host;
      is_broken_off_ = one.is_broken_off;
      read_message();
    }
  }

  void read_message() {
    if (message_begins(message_, "Channel ") || message_begins(message_, "Ring ")) return read_channel();
    if (message_begins(message_, "NET/")) return read_network();
    if (message_begins(message_, "NCCL version")) return read_version();
    if (message_begins(message_, "Using network ") && !is_broken_off_) quote(facts_.networks[message_.substr(14)]);
    if (message_begins(message_, "Connected all rings, use ring PXN "))
      if (const auto gpudirect = number_behind(message_, " GDR ", true))
        quote(facts_.rings_use_gpudirect[*gpudirect != 0]);
    if (message_begins(message_, "NVLS multicast support is "))
      quote(facts_.nvls_support[!message_begins(message_, "NVLS multicast support is not ")]);
    if (message_begins(message_, "Pattern 4, ")) read_ring_type();
    if (message_.find(" Bytes -> Algo ") != std::string::npos) read_algorithm();
    if (message_.find("comm 0x") != std::string::npos) read_communicator();
    read_nvls_channels();
    read_environment();
  }

  void quote(NcclQuote& place) const {
    if (place.line == 0) place = {number_, message_.substr(0, kLongestQuote)};
  }

  // Reads "NCCL version 2.21.5+cuda12.4", "RCCL version : 2.27.7-develop:29e1567", "RCCL version 2.18.3+hip6.0".
  void read_version() {
    MessageScanner scan(message_);
    if (!scan.try_take("NCCL version ") && !scan.try_take("RCCL version : ")) scan.take("RCCL version ");
    const std::string version = scan.take_while([](char c) { return is_digit(c) || c == '.'; });
    if (!scan.is_good() || !facts_.version.empty()) return;
    facts_.version = version;
    facts_.is_rccl = message_.front() == 'R';
  }

  void read_communicator() {
    std::optional<int> ranks = number_behind(message_, " nranks ");
    if (!ranks) ranks = number_behind(message_, " nRanks ");
    if (!ranks || *ranks < 1 || *ranks > kMostRanks) return;
    const std::optional<int> nodes = number_behind(message_, " nNodes ");
    NcclCommunicator& largest = facts_.largest;
    facts_.sizes.insert(*ranks);
    if (*ranks < largest.ranks) return;
    if (*ranks > largest.ranks) largest = NcclCommunicator();
    largest.ranks = *ranks;
    if (nodes) largest.nodes = *nodes;
    largest.is_mnnvl = largest.is_mnnvl || number_behind(message_, " MNNVL ", true).value_or(0) != 0;
    quote(largest.first);
  }

  // "[0]mlx5_0:1/IB [1]={[1] mlx5_1:1/RoCE, ...} [RO]; OOB eth0:10.0.0.1<0>": a NIC is the word before "/IB" or "/RoCE".
  void read_nics() {
    const std::string list = message_.substr(0, message_.find("; OOB "));
    if (list.size() == message_.size()) return;  // cut off
    for (const auto& [type, mark] : {std::pair<const char*, const char*>{"IB", "/IB"}, {"RoCE", "/RoCE"}}) {
      for (std::size_t at = list.find(mark, 8); at != std::string::npos; at = list.find(mark, at + 1)) {
        const std::size_t begin = list.find_last_of("] {", at) + 1;
        const std::string name = list.substr(begin, at - begin);
        if (name.empty()) continue;
        // A virtual NIC joins several by "+".
        std::size_t from = 0;
        for (std::size_t plus = 0; plus != std::string::npos; from = plus + 1) {
          plus = name.find('+', from);
          facts_.nics[host_].insert(name.substr(from, plus == std::string::npos ? plus : plus - from));
        }
        quote(facts_.link_types[type]);
      }
    }
    if (!facts_.nics.empty()) quote(facts_.first_nics);
  }

  void read_interfaces() {
    for (std::size_t at = message_.find(" ["); at != std::string::npos; at = message_.find(" [", at + 1)) {
      MessageScanner scan(message_, at + 2);
      scan.take_number();
      scan.take("]");
      const std::string name = scan.take_while([](char c) { return c != ':' && c != ' '; });
      scan.take(":");
      if (scan.is_good()) facts_.interfaces[host_].insert(name);
    }
    if (!facts_.interfaces.empty()) quote(facts_.first_interfaces);
  }

  void read_network() {
    if (message_begins(message_, "NET/IB : Using ")) return read_nics();
    if (message_begins(message_, "NET/Socket : Using ")) return read_interfaces();
    if (message_begins(message_, "NET/IB : No device found")) return quote(facts_.no_ib_device);
    const std::size_t at = message_.find(" : GPU Direct RDMA ");
    if (at == std::string::npos || message_.find(" for HCA ", at) == std::string::npos) return;
    quote(facts_.adapters_gpudirect[message_.compare(at + 19, 8, "Enabled ") == 0]);
  }

  // "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)/Shared".
  void read_channel() {
    MessageScanner scan(message_);
    if (!scan.try_take("Channel ")) scan.take("Ring ");
    const int channel = scan.take_number();
    if (scan.try_take("/")) scan.take_number();
    scan.take(" : ");
    int ranks[2] = {0, 0};
    for (int end = 0; end < 2; ++end) {
      ranks[end] = scan.take_number();
      // NCCL 2.4 prints no device before "[send]" and "[receive]".
      if (scan.try_take("[")) {
        scan.take_while(is_hexadecimal);
        scan.take("]");
      }
      scan.take(end == 0 ? " -> " : " ");
    }
    const bool receives = scan.try_take("[receive] ");
    if (scan.is_good()) facts_.logging_ranks[host_].insert(ranks[receives ? 1 : 0]);
    if (receives || scan.try_take("[send] ")) {
      scan.take("via NET/");
      const std::string network = scan.take_while(is_no_slash);
      scan.take("/");
      const int nic = scan.take_number();
      if (scan.try_take("(")) {
        scan.take_number();
        scan.take(")");
      }
      const bool is_gpudirect = scan.try_take("/GDRDMA");
      if (is_gpudirect) scan.try_take("(PCI)");
      scan.try_take("/Shared");
      if (!scan.is_at_end()) return;
      add(facts_.channels[network], is_gpudirect);
      if (receives && network != "Socket") add(facts_.receiving[host_], is_gpudirect);
      facts_.used_nics[host_].insert(nic);
      facts_.used_channels[host_].insert(channel);
      return;
    }
    scan.take("via ");
    const std::size_t way = scan.place();
    if (!scan.is_good()) return;
    for (const char* text : {"P2P/direct pointer", "P2P/IPC", "P2P/CUMEM", "P2P/MNNVL"})
      if (message_.compare(way, std::strlen(text), text) == 0) return add(facts_.local["P2P"], false);
    if (message_.compare(way, 13, "P2P/indirect/") == 0) return add(facts_.local["P2P/indirect"], false);
    if (message_.compare(way, 4, "SHM/") == 0 || message_.compare(way, 20, "direct shared memory") == 0)
      add(facts_.local["SHM"], false);
  }

  void add(NcclChannels& channels, bool is_gpudirect) const {
    ++channels.count;
    quote(channels.first);
    if (!is_gpudirect) return;
    ++channels.gpudirect;
    quote(channels.first_gpudirect);
  }

  void read_nvls_channels() {
    MessageScanner scan(message_);
    scan.take_number();
    if (!scan.take(" coll channels, ")) return;
    std::size_t end = message_.find(" nvls channels");
    if (end == std::string::npos) return;
    std::size_t begin = end;
    while (begin > 0 && is_digit(message_[begin - 1])) --begin;
    if (begin == end || end - begin > 6) return;
    const int channels = std::atoi(message_.substr(begin, end - begin).c_str());
    if (!facts_.nvls_channels || channels > *facts_.nvls_channels) {
      facts_.nvls_channels = channels;
      facts_.first_nvls_channels = {};
      quote(facts_.first_nvls_channels);
    }
  }

  void read_ring_type() {
    const std::size_t at = message_.find(", type ");
    if (at == std::string::npos) return;
    MessageScanner scan(message_, at + 7);
    const std::string type = scan.take_while(is_word_of_message);
    scan.take("/");
    if (scan.is_good()) quote(facts_.ring_types[type]);
  }

  // "AllReduce: 1024 Bytes -> Algo RING proto LL", "1024 Bytes -> Algo 1 proto 0 time 12.5".
  void read_algorithm() {
    static const std::vector<std::string> names{"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                                "NVLS_TREE", "PAT"};
    MessageScanner scan(message_);
    if (!is_digit(message_.front())) scan.take("AllReduce: ");
    const std::string digits = scan.take_while(is_digit);
    scan.take(" Bytes -> Algo ");
    std::string name = scan.take_while(is_word_of_message);
    if (!scan.take(" proto ") || digits.size() > 15) return;
    if (is_digit(name.front())) {
      const auto index = static_cast<std::size_t>(std::atoi(name.c_str()));
      if (index >= names.size()) return;
      name = names[index];
    }
    const std::int64_t bytes = std::atoll(digits.c_str());
    facts_.algorithms[bytes] = name;
    quote(facts_.algorithm_quotes[bytes]);
  }

  void read_environment() {
    const std::size_t at = message_.find(" set by environment to ");
    const std::string name = message_.substr(0, at);
    if (at == std::string::npos || name.find(' ') != std::string::npos || !message_begins(name, "NCCL_")) return;
    std::string value = message_.substr(at + 23);
    if (!value.empty() && value.back() == '.') value.pop_back();
    facts_.environment[name] = value;
    quote(facts_.environment_quotes[name]);
  }

  NcclFacts facts_;
  std::string host_, message_;
  bool is_broken_off_ = false;
  int number_ = 0;
};

int most_of(const std::map<std::string, std::set<std::string>>& by_host) {
  std::size_t most = 0;
  for (const auto& [host, names] : by_host) most = std::max(most, names.size());
  return static_cast<int>(most);
}

std::string count_text(int count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

int NcclFacts::most_nics() const {
  return most_of(nics);
}

int NcclFacts::most_interfaces() const {
  return most_of(interfaces);
}

bool has_nccl_lines(const std::string& text) {
  for (std::size_t at = text.find(kNcclPrefixEnd); at != std::string::npos; at = text.find(kNcclPrefixEnd, at + 1)) {
    const std::size_t before = text.find_last_of('\n', at), begin = before == std::string::npos ? 0 : before + 1;
    const std::size_t from = std::max(begin, at < 2 * kLongestHost ? 0 : at - 2 * kLongestHost);
    if (!host_before(text.substr(from, at - from), at - from).empty()) return true;
  }
  return false;
}

bool is_nccl_debug_file(const std::string& text) {
  std::size_t lines = 0, with_prefix = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.find_first_not_of(" \t\r") != std::string::npos) ++lines;
    if (line.find(kNcclPrefixEnd) != std::string::npos || line.find(kNcclWarning) != std::string::npos) ++with_prefix;
    at = end + 1;
  }
  return with_prefix > 0 && 10 * with_prefix >= 9 * lines;
}

NcclFacts read_nccl_debug(const std::string& text) {
  return DebugReader().read(text);
}

std::string nccl_facts_text(const NcclFacts& facts) {
  std::vector<std::string> parts;
  if (facts.largest.ranks > 0)
    parts.push_back(count_text(facts.largest.ranks, "rank", "ranks") +
                    (facts.largest.nodes > 0 ? " on " + count_text(facts.largest.nodes, "node", "nodes") : ""));
  for (const auto& [name, first] : facts.networks) parts.push_back("network " + name);
  if (!facts.nics.empty()) parts.push_back(count_text(facts.most_nics(), "NIC", "NICs"));
  for (const auto& [name, channels] : facts.channels)
    parts.push_back(count_text(channels.count, "channel", "channels") + " by NET/" + name + ", " +
                    std::to_string(channels.gpudirect) + " with GPUDirect RDMA");
  for (const auto& [name, channels] : facts.local)
    parts.push_back(count_text(channels.count, "channel", "channels") + " by " + name);
  if (facts.nvls_channels)
    parts.push_back(count_text(*facts.nvls_channels, "NVLS channel", "NVLS channels"));
  else if (facts.nvls_support.count(false) > 0)
    parts.push_back("no NVLS");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  if (text.empty()) return "";
  const std::string library = facts.is_rccl ? "RCCL" : "NCCL";
  return library + (facts.version.empty() ? "" : " " + facts.version) + ": " + text;
}

}  // namespace lockstep::calib

// p2pBandwidthLatencyTest of CUDA's samples (cuda-samples, Samples/5_Domain_Specific/p2pBandwidthLatencyTest): matrices of
// GB/s between GPUs, row to column, of 40,000,000 numbers of 4 B unless --numElems says otherwise, which is not logged.
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/sound.hpp"

namespace lockstep::calib {
namespace {

constexpr double kBytes = 160e6;
constexpr int kMostGpus = 1024;

bool has(const std::string& line, const char* part) {
  return line.find(part) != std::string::npos;
}

class P2pLog {
 public:
  explicit P2pLog(std::string name) : name_(std::move(name)) {}

  void read(const std::string& text) {
    std::istringstream stream(text);
    int number = 0;
    for (std::string line; std::getline(stream, line);)
      read_line(plain_line(line), name_ + " line " + std::to_string(++number));
  }

  Imported finish() {
    if (result_.samples.empty())
      throw InputError(name_ +
                       ": no matrix of bandwidths with peer access; allowed: the output of p2pBandwidthLatencyTest");
    if (result_.device.name.empty()) result_.device.name = kUnknownGpu;
    result_.device.kind = "imported";
    return std::move(result_);
  }

 private:
  // Reads "Device: 0, NVIDIA H100 PCIe, pciBusID: c2, pciDeviceID: 0, pciDomainID:0".
  void read_device(const std::string& line) {
    const std::size_t comma = line.find(", "), end = line.find(", pciBusID");
    if (comma == std::string::npos || end == std::string::npos || end <= comma + 2) return;
    result_.device.name = line.substr(comma + 2, end - comma - 2);
  }

  void read_line(const std::string& line, const std::string& where) {
    if (line.rfind("Device: ", 0) == 0) return read_device(line);
    // After "Device=0 CANNOT Access Peer Device=1", copies between these GPUs go through the host.
    if (has(line, " CANNOT Access Peer ")) lacks_peers_ = true;
    if (has(line, "Matrix")) {
      is_both_ways_ = has(line, "Bidirectional");
      is_read_ = has(line, "Bandwidth") && has(line, "P2P=Enabled") && has(line, "GB/s");
      return;
    }
    const std::vector<std::string> words = words_of(line);
    if (!is_read_ || words.empty() || words[0] == "D\\D") return;
    const int row = row_of(words[0]);
    if (row < 0) {
      is_read_ = false;
      return;
    }
    for (std::size_t column = 0; column + 1 < words.size(); ++column)
      if (static_cast<int>(column) != row) add(row, static_cast<int>(column), words[column + 1], where);
  }

  static int row_of(const std::string& word) {
    char* end = nullptr;
    const long row = std::strtol(word.c_str(), &end, 10);
    return *end == 0 && row >= 0 && row < kMostGpus ? static_cast<int>(row) : -1;
  }

  void add(int row, int column, const std::string& word, const std::string& where) {
    char* end = nullptr;
    double gb_per_s = std::strtod(word.c_str(), &end);
    if (column >= kMostGpus || *end != 0 || !(gb_per_s > 0) || !std::isfinite(gb_per_s)) {
      result_.refused.push_back(where + ": \"" + word.substr(0, 40) + "\" is no bandwidth");
      return;
    }
    if (is_both_ways_) gb_per_s /= 2;  // the tool counts the bytes of both
    Sample sample;
    sample.probe = "copy";
    sample.key = {{"test", "p2pBandwidthLatencyTest"},   {"engine", lacks_peers_ ? "host" : "CE"},
                  {"from", "gpu" + std::to_string(row)}, {"to", "gpu" + std::to_string(column)},
                  {"both_ways", is_both_ways_},          {"bytes", kBytes}};
    sample.seconds = {kBytes / (gb_per_s * 1e9)};
    sample.kind = "imported";
    sample.source = where;
    result_.device.count = std::max(result_.device.count, std::max(row, column) + 1);
    result_.samples.push_back(sample);
  }

  std::string name_;
  bool is_read_ = false, is_both_ways_ = false, lacks_peers_ = false;
  Imported result_;
};

}  // namespace

bool is_p2p_bandwidth(const std::string& text) {
  return text.find("P2P=Enabled Bandwidth") != std::string::npos;
}

Imported import_p2p_bandwidth(const std::string& text, const std::string& name) {
  P2pLog log(name);
  log.read(text);
  return sound(log.finish(), name);
}

}  // namespace lockstep::calib

// Copies between GPUs by p2pBandwidthLatencyTest, in its own layout, compared with the links; figures are ours.
#include "sim/explain/pair_copies.hpp"

#include "sim/explain/check_command.hpp"
#include "sim/explain/check_text.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/check/catalogue.hpp"

namespace lockstep::tests {
namespace {

using Matrix = std::vector<std::vector<double>>;

std::string matrix_text(const std::string& title, const Matrix& matrix) {
  std::string text = title + "\n   D\\D ";
  char cell[32];
  for (std::size_t column = 0; column < matrix.size(); ++column) {
    std::snprintf(cell, sizeof cell, "%6d ", static_cast<int>(column));
    text += cell;
  }
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    text += "\n" + std::string(5, ' ') + std::to_string(row) + " ";
    for (double value : matrix[row]) {
      std::snprintf(cell, sizeof cell, "%6.02f ", value);
      text += cell;
    }
  }
  return text + "\n";
}

std::string p2p_log(const std::string& gpu, const Matrix& one_way) {
  std::string text = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n";
  for (std::size_t i = 0; i < one_way.size(); ++i)
    text += "Device: " + std::to_string(i) + ", " + gpu + ", pciBusID: " + std::to_string(10 + i) +
            ", pciDeviceID: 0, pciDomainID:0\n";
  return text + matrix_text("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", one_way) +
         matrix_text("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", one_way);
}

Matrix all_pairs(std::size_t gpus, double gb_per_s) {
  Matrix matrix(gpus, std::vector<double>(gpus, gb_per_s));
  for (std::size_t i = 0; i < gpus; ++i) matrix[i][i] = 2000;
  return matrix;
}

sim::CheckResult checked(const std::string& log, const std::string& link = "") {
  const TemporaryFolder folder;
  sim::CheckOptions options;
  options.files = {folder.write("p2p.log", log)};
  options.question.job.link.stated = link;
  const auto none = [](const std::string&) { return false; };
  return sim::check(sim::read_measurements(options, catalogue(), none), catalogue(), 1);
}

}  // namespace

TEST_CASE("pairs behind NVSwitches are normal at NVLink's rate, and PCIe explains all of them at PCIe's") {
  const sim::CheckResult sound = checked(p2p_log("NVIDIA H100 80GB HBM3", all_pairs(8, 380)));
  CHECK(sound.speed == sim::Speed::normal);
  REQUIRE(sound.observations.size() == 1);
  CHECK(sound.observations.front().name == "56 pairs");
  CHECK(sound.observations.front().expected.seconds == Approx(160e6 / 370e9).epsilon(0.02));
  const sim::CheckResult by_pcie = checked(p2p_log("NVIDIA H100 80GB HBM3", all_pairs(8, 45)));
  CHECK(by_pcie.speed == sim::Speed::slow);
  CHECK(by_pcie.causes.front().id == sim::CauseId::pcie_link);
  CHECK(by_pcie.share == Approx(45.0 / 370).epsilon(0.05));
}

TEST_CASE("a slow pair among sound ones is named, and its link is the cause") {
  Matrix matrix = all_pairs(8, 380);
  matrix[3][5] = 95;
  const sim::CheckResult result = checked(p2p_log("NVIDIA H100 80GB HBM3", matrix));
  CHECK(result.speed == sim::Speed::slow);
  CHECK_THAT(result.log, Contains("p2p.log, GPU 3 to GPU 5") || Contains("p2p.log, GPU 3 to 5"));
  REQUIRE(result.logs.size() == 2);
  CHECK(result.logs.front().speed == sim::Speed::normal);
  CHECK(result.causes.front().id == sim::CauseId::slow_link);
  CHECK_THAT(sim::check_text(result, {}), Contains("GPU 3 to 5  95.0 GB/s"));
}

TEST_CASE("pairs on PCIe are grouped by their route, between sockets apart") {
  Matrix matrix = all_pairs(8, 25);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j)
      if (i / 4 != j / 4) matrix[i][j] = 19;
  const sim::CheckResult result = checked(p2p_log("NVIDIA A100 80GB PCIe", matrix), "PCIe 4");
  CHECK(result.speed == sim::Speed::normal);
  REQUIRE(result.observations.size() == 2);
  CHECK(result.observations[0].expected.seconds != Approx(result.observations[1].expected.seconds));
}

TEST_CASE("pairs whose NVLinks are not known are refused, with what can be given") {
  CHECK_THAT(error_of([] { (void)checked(p2p_log("Tesla V100-SXM2-16GB", all_pairs(8, 48))); }),
             Contains("have different numbers of NVLinks, which the matrix does not tell"));
}

}  // namespace lockstep::tests

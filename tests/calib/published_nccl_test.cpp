// Published all-reduce tables of nccl-tests on 8 GPUs are imported, fitted on two thirds of their sizes, and compared
// with the held-out third. Declared split: interior size i (ascending, from 0) is held out in turn i mod 3, so that
// three turns predict each size once. No compared size was in its own fit.
//
// The goal is an error within 5 %. All of H200's 12 sizes meet it. On A100 and H100 some sizes are off any smooth curve
// through their neighbours. NCCL changes protocol or channels between them (64 KiB on H100), or the run was disturbed
// (128 MiB on A100). These misses are listed, not tuned away.
#include <algorithm>
#include <cmath>

#include "calib/import/imported.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/statistics.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

struct HeldOut {
  std::vector<double> errors;  // relative, absolute
  std::vector<double> missed_bytes;
};

std::vector<Measured> published(const std::string& file) {
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/calib/data/" + file;
  const Imported log = import_nccl_tests(read_file(path), path);
  CHECK(log.refused.empty());
  Profile profile;
  profile.samples = log.samples;
  return profile.curve("collective", {{"operation", "all-reduce"}, {"library", "nccl"}, {"ranks", 8}, {"nodes", 1}});
}

HeldOut predict_held_out(const std::vector<Measured>& all) {
  HeldOut result;
  for (std::size_t turn = 0; turn < 3; ++turn) {
    std::vector<Measured> known, held;
    for (std::size_t i = 0; i < all.size(); ++i)
      (i > 0 && i + 1 < all.size() && i % 3 == turn ? held : known).push_back(all[i]);
    const LineFit fit = fit_pieces(known);
    for (const Measured& m : held) {
      result.errors.push_back(std::abs(fit.at(m.x) / m.seconds - 1));
      if (result.errors.back() > 0.05) result.missed_bytes.push_back(m.x);
    }
  }
  std::sort(result.missed_bytes.begin(), result.missed_bytes.end());
  return result;
}

std::string report(const HeldOut& held) {
  std::string missed;
  for (double bytes : held.missed_bytes) missed += " " + std::to_string(static_cast<long long>(bytes));
  return "median " + std::to_string(100 * median(held.errors)) + " %, worst " +
         std::to_string(100 * *std::max_element(held.errors.begin(), held.errors.end())) + " %, missed" + missed;
}

}  // namespace

TEST_CASE("published 8 x H200: every held-out size within 5 %") {
  const HeldOut held = predict_held_out(published("azure_h200_8.txt"));
  INFO("H200: " << report(held));
  REQUIRE(held.errors.size() == 12);
  CHECK(held.missed_bytes.empty());
  CHECK(median(held.errors) < 0.02);
}

TEST_CASE("published 8 x H100 and 8 x A100: held-out sizes within 5 % but for known ones") {
  const HeldOut h100 = predict_held_out(published("azure_h100_8.txt"));
  INFO("H100: " << report(h100));
  REQUIRE(h100.errors.size() == 22);
  CHECK(median(h100.errors) < 0.03);
  CHECK(h100.missed_bytes.size() <= 3);
  const HeldOut a100 = predict_held_out(published("azure_a100_8.txt"));
  INFO("A100: " << report(a100));
  REQUIRE(a100.errors.size() == 22);
  CHECK(median(a100.errors) < 0.035);
  CHECK(a100.missed_bytes.size() <= 5);
  CHECK(*std::max_element(a100.errors.begin(), a100.errors.end()) < 0.15);
  CHECK(*std::max_element(h100.errors.begin(), h100.errors.end()) < 0.15);
}

TEST_CASE("a published table's leave-one-out error says beforehand how well held-out sizes are predicted") {
  for (const std::string file : {"azure_a100_8.txt", "azure_h100_8.txt", "azure_h200_8.txt"}) {
    const std::vector<Measured> all = published(file);
    const LineFit fit = fit_pieces(all);
    const HeldOut held = predict_held_out(all);
    INFO(file);
    CHECK(fit.worst_residual < 0.04);  // anchors: only times that fall with size leave a residual
    CHECK(fit.leave_one_out == Approx(median(held.errors)).margin(0.01));
  }
}

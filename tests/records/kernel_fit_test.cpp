// The fit of kernel laws finds the law behind the times, holds out a third of the shapes and reads tables strictly.
#include "sim/validation/kernel_fit.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "sim/job_prediction/kernel_times.hpp"
#include "sim/validation/kernel_tables.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

KernelPeaks peaks_of_h100() {
  KernelPeaks peaks;
  peaks.half_flops = 989e12;
  peaks.memory_bytes_per_s = 3.35e12;
  return peaks;
}

// Times of GEMMs by a law, on m from 64 to 16384 and n, k from 128 to 16384, with 2 % of noise.
std::vector<KernelSample> samples_of(const KernelLaw& law) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<KernelSample> samples;
  for (double m = 64; m <= 16384; m *= std::sqrt(std::sqrt(2.)))
    for (double n = 128; n <= 16384; n *= 2)
      for (double k = 128; k <= 16384; k *= 2) {
        const KernelWork work = gemm_work({std::round(m), n, k}, KernelPrecision::bf16);
        samples.push_back({work, law.seconds(work, peaks_of_h100()) * std::exp(noise(random)),
                           is_held_out(std::to_string(n) + " " + std::to_string(k))});
      }
  return samples;
}

KernelLaw true_law() {
  KernelLaw law;
  law.roofline = RooflineTerms{4e-6, 0.75, 0.6, 3, 1};
  return law;
}

std::string write_table(const std::string& name, const std::string& text) {
  const std::string folder = std::filesystem::temp_directory_path() / ("lockstep_kernels_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/" + name) << text;
  return folder;
}

}  // namespace

TEST_CASE("a third of all shapes is held out, whatever the precision or the GPU") {
  int held_out = 0;
  for (int i = 0; i < 3000; ++i) held_out += is_held_out("4096 " + std::to_string(i)) ? 1 : 0;
  CHECK(held_out > 900);
  CHECK(held_out < 1100);
  const KernelCells cells{{"gpu", "h100_sxm"}, {"precision", "bf16"}, {"m", "64"}, {"n", "128"}, {"k", "256"}};
  KernelCells others = cells;
  others["precision"] = "fp8";
  others["gpu"] = "b200_sxm";
  others["m"] = "4096";
  CHECK(read_kernel_row(KernelKind::gemm, cells).split_key == read_kernel_row(KernelKind::gemm, others).split_key);
}

TEST_CASE("the fit finds the terms that made the times, within their noise") {
  const KernelLaw law = fit_kernel_law("gemm/bf16", "test", samples_of(true_law()), peaks_of_h100()).law;
  REQUIRE(law.roofline);
  CHECK(law.roofline->start_s == Approx(4e-6).epsilon(0.03));
  CHECK(law.roofline->compute_share == Approx(0.75).epsilon(0.02));
  CHECK(law.roofline->memory_share == Approx(0.6).epsilon(0.03));
  CHECK(law.error.median < 0.025);
  CHECK(law.error.rows > 100);
}

TEST_CASE("a table takes up what no smooth law has: a width whose kernels take half as long again") {
  KernelLaw slow = true_law();
  slow.corrections = {{{{1, 7, 1, 8}}, {0, 0, 0, 405, 0, 0, 0, 0}}};  // n = 1024
  const std::vector<KernelSample> samples = samples_of(slow);
  const KernelLawFit fit = fit_kernel_law("gemm/bf16", "test", samples, peaks_of_h100());
  CHECK(fit.law.error.median < 0.04);
  for (double n : {512, 1024, 2048}) {
    const KernelWork work = gemm_work({4096, n, 4096}, KernelPrecision::bf16);
    CHECK(fit.law.seconds(work, peaks_of_h100()) == Approx(slow.seconds(work, peaks_of_h100())).epsilon(0.04));
  }
  CHECK(fit.held_out.size() == 40);
}

TEST_CASE("one row in twenty that is five times too slow does not bend the law") {
  std::vector<KernelSample> samples = samples_of(true_law());
  for (std::size_t i = 0; i < samples.size(); i += 20) samples[i].seconds *= 5;
  const KernelLaw law = fit_kernel_law("gemm/bf16", "test", samples, peaks_of_h100()).law;
  CHECK(law.roofline->compute_share == Approx(0.75).epsilon(0.03));
}

TEST_CASE("too few rows are refused") {
  const std::vector<KernelSample> samples = samples_of(true_law());
  const std::vector<KernelSample> few(samples.begin(), samples.begin() + 5);
  CHECK_THROWS_WITH(fit_kernel_law("gemm/bf16", "test", few, peaks_of_h100()), Contains("needs "));
  std::vector<KernelSample> all_seen = samples;
  for (KernelSample& sample : all_seen) sample.is_held_out = false;
  CHECK_THROWS_WITH(fit_kernel_law("gemm/bf16", "test", all_seen, peaks_of_h100()), Contains("no held-out rows"));
}

TEST_CASE("tables name file and line of a row that is not understood, and GPUs that are unknown") {
  const Catalogue catalogue = load_catalogue(default_catalogue_folder());
  const std::string header = "gpu,precision,m,n,k,seconds,source\n";
  std::string folder =
      write_table("gemm.csv", header + "h100_sxm,bf16,64,32,32,1e-5,x\nh100_sxm,bf16,64,x,32,1e-5,x\n");
  CHECK_THROWS_WITH(read_kernel_tables(folder, catalogue),
                    folder + "/gemm.csv: line 3: column \"n\": \"x\" is no number from 1 to 1e18");
  folder = write_table("gemm.csv", header + "h1000,bf16,64,32,32,1e-5,x\n");
  CHECK_THROWS_WITH(read_kernel_tables(folder, catalogue), Contains("line 2: gpu \"h1000\" is not in the catalogue"));
  folder = write_table("gemm.csv", header + "h100_sxm,bf16,64,32,32,1e-5,x\n");
  const std::vector<KernelSeries> series = read_kernel_tables(folder, catalogue);
  REQUIRE(series.size() == 1);
  CHECK(series[0].gpu == "h100-sxm");
  CHECK(series[0].law == "gemm/bf16");
  CHECK(series[0].source == "x");
  std::filesystem::remove_all(folder);
  CHECK_THROWS_WITH(read_kernel_tables(folder, catalogue), Contains("no table of kernels; allowed: "));
}

TEST_CASE("every row of a table of kernels comes back, in its order, with a time or a reason") {
  const Catalogue catalogue = load_catalogue(default_catalogue_folder());
  const KernelTable table(
      "kernel_type,gpu,precision,m,n,k\r\n"
      "gemm,h100_sxm,bf16,4096,4096,4096\r\n"
      "gemm,h100_sxm,nvfp4,4096,4096,4096\r\n"
      "gemm,\"nobody, nowhere\",bf16,1,1,1\r\n"
      "gemm,b200,bf16,4096,4096\r\n",
      "t.csv");
  const KernelTable predicted(predict_kernel_table(table, catalogue), "predicted.csv");
  REQUIRE(predicted.size() == 4);
  CHECK(predicted.columns().back() == "why");
  const double seconds = std::stod(predicted.cells(0).at("predicted_s"));
  CHECK(seconds > 2 * std::pow(4096., 3) / 989e12);
  CHECK(seconds < 4 * std::pow(4096., 3) / 989e12);
  CHECK(predicted.cells(1).at("why") == "H100 SXM5 has no arithmetic in nvfp4");
  CHECK(predicted.cells(2).at("gpu") == "nobody, nowhere");
  CHECK_THAT(predicted.cells(2).at("why"), Contains("is not in the catalogue"));
  CHECK_THAT(predicted.row_text(3), Contains("5 cells; the header has 6"));
  CHECK_THROWS_WITH(predict_kernel_table(KernelTable("gpu,m\na,1\n", "t.csv"), catalogue),
                    Contains("no column \"kernel_type\""));
}

// Compares NCCL's cost model with published nccl-tests tables of single nodes, to which nothing was fitted.
#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/statistics.hpp"
#include "sim/program/nccl_system.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

struct Row {
  double bytes;
  double busbw_gb_per_s;
};

constexpr double kMi = 1 << 20;

// stas00/ml-engineering, network/README.md: nccl-tests all-reduce on 8 A100.
const std::vector<Row> kA100{{65536, 2.45},        {131072, 4.43},       {262144, 7.47},       {524288, 11.41},
                             {kMi, 18.0},          {2 * kMi, 36.18},     {4 * kMi, 72.33},     {8 * kMi, 109.93},
                             {16 * kMi, 106.16},   {32 * kMi, 138.49},   {64 * kMi, 171.54},   {128 * kMi, 176.92},
                             {256 * kMi, 194.07},  {512 * kMi, 222.72},  {2048 * kMi, 231.41}, {4096 * kMi, 233.88},
                             {8192 * kMi, 234.61}, {16384 * kMi, 234.89}};
// The values come from the Azure AI-benchmarking-guide: ND_A100_v4, ND_H100_v5, ND_H200_v5 results, NCCL bandwidth.
const std::vector<Row> kAzureA100{{kMi, 36.22},         {2 * kMi, 53.54},    {4 * kMi, 71.43},    {8 * kMi, 89.99},
                                  {16 * kMi, 109.22},   {32 * kMi, 132.77},  {64 * kMi, 166.63},  {128 * kMi, 174.18},
                                  {256 * kMi, 213.87},  {512 * kMi, 221.58}, {1024 * kMi, 228.1}, {2048 * kMi, 230.22},
                                  {4096 * kMi, 230.48}, {8192 * kMi, 231.58}};
const std::vector<Row> kAzureH100{{kMi, 43.7},          {2 * kMi, 81.93},    {4 * kMi, 128.73},    {8 * kMi, 172.13},
                                  {16 * kMi, 234.45},   {32 * kMi, 295.53},  {64 * kMi, 361.78},   {128 * kMi, 400.61},
                                  {256 * kMi, 423.38},  {512 * kMi, 438.46}, {1024 * kMi, 466.35}, {2048 * kMi, 472.36},
                                  {4096 * kMi, 475.54}, {8192 * kMi, 478.87}};
const std::vector<Row> kAzureH200{
    {1024 * kMi, 467.58}, {2048 * kMi, 472.57}, {4096 * kMi, 477.41}, {8192 * kMi, 479.98}};
// stas00/ml-engineering, the same on 8 H200.
const std::vector<Row> kH200{{2048 * kMi, 469.17}, {4096 * kMi, 473.1}, {8192 * kMi, 477.45}, {16384 * kMi, 482.26}};

ClusterSpec cluster_of(const std::string& name) {
  const JsonDocument document = JsonDocument::load(LOCKSTEP_SOURCE_DIR "/scenarios/clusters/" + name + ".json");
  return read_cluster(document.root());
}

// As in a scenario: 20 us of launch (its default) before the operation.
double bus_gb_per_s(const ClusterSpec& node, int gpus, double bytes, std::optional<NcclAlgorithm> algorithm = {}) {
  NcclSpec spec;
  spec.generation = *nccl_generation(node.gpu.name);
  spec.algorithm = algorithm;
  const NcclTime time = nccl_choice(nccl_system(node, spec, gpus), NcclOperation::all_reduce, std::int64_t(bytes));
  return bytes / (time.seconds + 20e-6) * 2 * (gpus - 1) / gpus / 1e9;
}

double median_error(const ClusterSpec& node, const std::vector<Row>& rows) {
  std::vector<double> errors;
  for (const Row& row : rows) errors.push_back(std::fabs(bus_gb_per_s(node, 8, row.bytes) / row.busbw_gb_per_s - 1));
  return quantile(errors, 0.5);
}

}  // namespace

TEST_CASE("published: bus bandwidth of all-reduce on 8 A100, 8 H100 and 8 H200") {
  const ClusterSpec a100 = cluster_of("dgx_a100"), h100 = cluster_of("dgx_h100");
  CHECK(median_error(a100, kA100) < 0.25);
  CHECK(median_error(a100, kAzureA100) < 0.20);
  CHECK(median_error(h100, kAzureH100) < 0.12);
  CHECK(median_error(h100, kAzureH200) < 0.02);  // the same NVLinks
  CHECK(median_error(h100, kH200) < 0.02);
  for (const auto& [node, rows] :
       {std::pair{&a100, &kA100}, std::pair{&a100, &kAzureA100}, std::pair{&h100, &kAzureH100},
        std::pair{&h100, &kAzureH200}, std::pair{&h100, &kH200}})
    for (const Row& row : *rows) {
      INFO(node->name << ", " << row.bytes << " bytes");
      const double error = bus_gb_per_s(*node, 8, row.bytes) / row.busbw_gb_per_s - 1;
      // Large messages within 10 %; A100 nodes reach less than NCCL thinks below 1 MB.
      if (row.bytes >= 512 * kMi) CHECK(std::fabs(error) < 0.10);
      CHECK(std::fabs(error) < 0.90);
    }
}

TEST_CASE("published: every other size of a table fits NCCL's constants, the rest is predicted better than by tables") {
  const ClusterSpec a100 = cluster_of("dgx_a100"), h100 = cluster_of("dgx_h100");
  for (const auto& [node, rows] : {std::pair{&a100, &kAzureA100}, std::pair{&h100, &kAzureH100}}) {
    NcclSpec tables, fitted;
    tables.generation = fitted.generation = *nccl_generation(node->gpu.name);
    fitted.measured_ranks = 8;
    const auto seconds = [](const Row& row) { return row.bytes * 1.75 / (row.busbw_gb_per_s * 1e9); };
    for (std::size_t i = 0; i < rows->size(); i += 2)
      fitted.measured.emplace_back((*rows)[i].bytes, seconds((*rows)[i]));
    std::vector<double> by_tables, by_fit;
    for (std::size_t i = 1; i < rows->size(); i += 2) {
      const Row& row = (*rows)[i];
      const auto error = [&, of = node](const NcclSpec& spec) {  // C++17 captures no structured binding by itself
        const NcclSystem system = nccl_system(*of, spec, 8);
        return std::fabs(
            nccl_choice(system, NcclOperation::all_reduce, std::int64_t(row.bytes)).seconds / seconds(row) - 1);
      };
      by_tables.push_back(error(tables));
      by_fit.push_back(error(fitted));
    }
    INFO(node->name << ": tables " << quantile(by_tables, 0.5) << ", fitted " << quantile(by_fit, 0.5));
    CHECK(quantile(by_fit, 0.5) < (node == &a100 ? 0.14 : 0.08));  // two constants cannot follow A100's middle sizes
    CHECK(quantile(by_fit, 0.5) < quantile(by_tables, 0.5));
  }
}

TEST_CASE("published: with 4 H200 NCCL stays with the ring, with 8 it takes NVLS") {
  const ClusterSpec h100 = cluster_of("dgx_h100");
  // stas00/ml-engineering gives peak bus bandwidths with and without NVLS.
  const std::map<int, double> ring{{4, 363.3}, {5, 364.4}, {6, 365.1}, {7, 365.7}, {8, 365.6}};
  for (const auto& [gpus, busbw] : ring)
    CHECK(bus_gb_per_s(h100, gpus, 8192 * kMi, NcclAlgorithm::ring) == Approx(busbw).epsilon(0.025));
  CHECK(bus_gb_per_s(h100, 4, 8192 * kMi) == Approx(363.3).epsilon(0.025));
  CHECK(bus_gb_per_s(h100, 8, 8192 * kMi) == Approx(473.1).epsilon(0.025));
  CHECK(bus_gb_per_s(h100, 7, 8192 * kMi) == Approx(460.0).epsilon(0.10));
  // With 5 and 6 GPUs measured 414 and 436 GB/s: what NCCL's search finds there is not known, and is underestimated.
  CHECK(bus_gb_per_s(h100, 6, 8192 * kMi) < 436);
}

// Networks as users write them.
#include "sim/catalogue/network_grammar.hpp"

#include "tests/catalogue/catalogue.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

constexpr int kGpusPerNode = 8;

sim::NetworkReading reading_of(const std::string& text) {
  return sim::read_network(catalogue().networks, text, kGpusPerNode);
}

sim::NetworkFound found(const std::string& text) {
  INFO(text);
  const sim::NetworkReading reading = reading_of(text);
  INFO(reading.wrong);
  REQUIRE(reading.found.has_value());
  CHECK(reading.wrong.empty());
  return *reading.found;
}

struct Row {
  const char* text;
  int ports;
  double port_gbytes_per_s;
  bool is_rdma;
  const char* id;
};

}  // namespace

TEST_CASE("networks are read with their ports, bandwidth and protocol") {
  for (const Row& row : {
           // Rates: Ethernet
           Row{"100 GbE", 1, 12.5, false, "ethernet"},
           Row{"2x 100 GbE", 2, 12.5, false, "ethernet"},
           Row{"2x25GbE", 2, 3.125, false, "ethernet"},
           Row{"10GigE", 1, 1.25, false, "ethernet"},
           Row{"10 Gigabit Ethernet", 1, 1.25, false, "ethernet"},
           Row{"25 gbit/s ethernet", 1, 3.125, false, "ethernet"},
           Row{"25 Gbps TCP", 1, 3.125, false, "ethernet"},
           Row{"0.5 Gb/s TCP", 1, 0.0625, false, "ethernet"},
           Row{"100 Mb/s Ethernet", 1, 0.0125, false, "ethernet"},
           Row{"TCP/IP 10 Gb/s", 1, 1.25, false, "ethernet"},
           // RDMA uses the catalogue's bandwidth for a standard rate, else 0.94 of the line rate.
           Row{"100 GbE RoCE", 1, 11.75, true, "roce"},
           Row{"8x 400GbE RoCEv2", 8, 47, true, "roce"},
           Row{"RoCE v2 50 Gb/s", 1, 5.875, true, "roce"},
           Row{"400 Gb/s EFA", 1, 47, true, "efa"},
           Row{"4x 100 Gb/s EFA", 4, 11.5, true, "efa"},
           Row{"8x 400 Gb/s InfiniBand", 8, 47, true, "ib-ndr"},
           Row{"400 Gbit/s IB", 1, 47, true, "ib-ndr"},
           Row{"100 Gb/s InfiniBand", 1, 11.5, true, "ib-edr"},
           Row{"50 Gb/s InfiniBand", 1, 5.875, true, "ib"},
           Row{"1 Tb/s InfiniBand", 1, 117.5, true, "ib"},
           Row{"4x 200 Gb/s Slingshot-11", 4, 23, true, "slingshot"},
           // Names with a rate of their own
           Row{"FDR", 1, 6.38863, true, "ib-fdr"},
           Row{"4x EDR", 4, 11.5, true, "ib-edr"},
           Row{"HDR100", 1, 11.5, true, "ib-edr"},
           Row{"8xHDR", 8, 23.5, true, "ib-hdr"},
           Row{"8x InfiniBand NDR", 8, 47, true, "ib-ndr"},
           Row{"8x NDR InfiniBand 400 Gb/s", 8, 47, true, "ib-ndr"},
           Row{"NDR 400", 1, 47, true, "ib-ndr"},
           Row{"XDR", 1, 94, true, "ib-xdr"},
           Row{"QDR", 1, 3.3, true, "ib-qdr"},
           Row{"Omni-Path", 1, 11.5, true, "opa"},
           Row{"aries", 1, 9, true, "aries"},
           // These classes are for the whole network of a node.
           Row{"aws-p4d", 1, 46, true, "aws-p4d"},
           Row{"AWS p3.16xlarge", 1, 3.125, false, "aws-p3-16xlarge"},
           Row{"azure-nd-h100", 1, 376, true, "azure-nd-h100"},
           Row{"aws-p5 per node", 1, 370, true, "aws-p5"},
           // Per GPU and per node
           Row{"400 Gb/s InfiniBand per GPU", 8, 47, true, "ib-ndr"},
           Row{"2x HDR per GPU", 16, 23.5, true, "ib-hdr"},
           Row{"8x HDR per node", 8, 23.5, true, "ib-hdr"},
           Row{"3200 Gb/s InfiniBand per node", 1, 376, true, "ib"},
       }) {
    INFO(row.text);
    const sim::NetworkFound network = found(row.text);
    CHECK(network.entry->id == row.id);
    CHECK(network.ports == row.ports);
    CHECK(network.port_bytes_per_s == Approx(row.port_gbytes_per_s * 1e9));
    CHECK(network.entry->rdma == row.is_rdma);
    CHECK_FALSE(network.is_kind_assumed);
  }
}

TEST_CASE("a rate alone is InfiniBand from 56 Gb/s on, else Ethernet, and marked as assumed") {
  for (const Row& row : {Row{"400 Gb/s per GPU", 8, 47, true, "ib-ndr"}, Row{"8x 400 Gb/s", 8, 47, true, "ib-ndr"},
                         Row{"8x400G", 8, 47, true, "ib-ndr"}, Row{"56 Gb/s", 1, 6.38863, true, "ib-fdr"},
                         Row{"50 Gb/s", 1, 6.25, false, "ethernet"}, Row{"25 Gbps", 1, 3.125, false, "ethernet"}}) {
    INFO(row.text);
    const sim::NetworkFound network = found(row.text);
    CHECK(network.entry->id == row.id);
    CHECK(network.ports == row.ports);
    CHECK(network.port_bytes_per_s == Approx(row.port_gbytes_per_s * 1e9));
    CHECK(network.is_kind_assumed);
  }
}

TEST_CASE("case, blanks and spellings of a unit do not matter to a network") {
  const sim::NetworkFound one = found("100 GbE");
  for (const char* same : {"100 gbe", "100GbE", "100 GBE", " 100  GbE ", "100 Gb/s Ethernet", "100gb/s ethernet",
                           "100 Gbit/s Ethernet", "100 GBIT/S ETHERNET", "100 Gbps Ethernet", "Ethernet 100 Gb/s",
                           "1x 100 GbE", "1X100GBE", "100 Gb/sec TCP", "0.1 Tb/s TCP", "100 GB/S ETHERNET"}) {
    INFO(same);
    const sim::NetworkFound other = found(same);
    CHECK(other.entry == one.entry);
    CHECK(other.ports == one.ports);
    CHECK(other.port_bytes_per_s == Approx(one.port_bytes_per_s));
  }
}

TEST_CASE("what is no network is refused, with one near to it that can be read") {
  struct Refused {
    const char* text;
    const char* wrong;
    const char* nearest;
  };
  for (const Refused& refused : {
           Refused{"100", "100 has no unit", "100 Gb/s"},
           Refused{"8x RoCE 100", "100 has no unit", "8x 100 Gb/s RoCE"},
           Refused{"fast network", "\"fast network\" is not a kind of network", "100 Gb/s"},
           Refused{"InfiniBand NRD", "is not a kind", "InfiniBand NDR"},
           Refused{"100 GbE per rack", "\"per rack\" is not a kind", "100 GbE"},
           Refused{"0x 100 GbE", "0 ports are outside of 1 to 128", "1x 100 GbE"},
           Refused{"129x NDR", "129 ports are outside of 1 to 128", "128x InfiniBand NDR"},
           Refused{"99999999999999999999x NDR", "ports are outside of 1 to 128", "128x InfiniBand NDR"},
           Refused{"-1x 100 GbE", "no network has \"-\" in it", "100 GbE"},
           Refused{"1.5x 100 GbE", "1.5 has no unit", "100 GbE"},
           Refused{"400 GB/s", "bytes", "3200 Gb/s"},
           Refused{"50 GB/s InfiniBand", "bytes", "400 Gb/s InfiniBand"},
           Refused{"200 Gb/s NDR", "InfiniBand NDR has 400 Gb/s a port", "200 Gb/s InfiniBand"},
           Refused{"100 GbE InfiniBand", "GbE is Ethernet, not InfiniBand", "100 Gb/s InfiniBand"},
           Refused{"EFA", "the rate of EFA is missing", "100 Gb/s EFA"},
           Refused{"8x InfiniBand", "the rate of InfiniBand is missing", "8x 100 Gb/s InfiniBand"},
           Refused{"2x aws-p4d", "is the whole network of a node", "AWS p4d.24xlarge"},
           Refused{"100 GbE, 25 GbE", "two rates", "25 GbE"},
           Refused{"0 Gb/s", "outside of 1 Mb/s to 100000 Gb/s", "100 Gb/s"},
           Refused{"", "it has no rate", "100 Gb/s"},
           Refused{"none", "is not a kind", "100 Gb/s"},
           Refused{"8 Ge\xC3\xA9", "", ""},
       }) {
    INFO(refused.text);
    const sim::NetworkReading reading = reading_of(refused.text);
    CHECK_FALSE(reading.found.has_value());
    CHECK_THAT(reading.wrong, Contains(refused.wrong));
    if (*refused.nearest != '\0') CHECK(reading.nearest == refused.nearest);
    CHECK(reading_of(reading.nearest).found.has_value());
  }
}

TEST_CASE("long texts and large numbers are refused, not computed with") {
  for (const std::string& text :
       {std::string(60000, '9') + " GbE", std::string(60000, 'x'), std::string(190, '9') + " GbE",
        std::string(190, '9') + "x NDR", std::string(201, ' '), "8x " + std::string(60000, '/')}) {
    const sim::NetworkReading reading = reading_of(text);
    CHECK_FALSE(reading.found.has_value());
    CHECK(reading.wrong.size() < 200);
    CHECK(reading_of(reading.nearest).found.has_value());
  }
}

TEST_CASE("what was read is said so that it reads the same") {
  for (const char* text : {"100 GbE", "8x 400 Gb/s", "3x 56 Gb/s InfiniBand", "2x 50 Gb/s RoCE", "QDR", "aws-p5",
                           "400 Gb/s per GPU", "Cray Aries", "0.5 Gb/s TCP", "7x 12.5 Gb/s EFA", "1 Tb/s"}) {
    INFO(text);
    const sim::NetworkFound network = found(text), again = found(sim::network_words(network));
    CHECK(again.entry == network.entry);
    CHECK(again.ports == network.ports);
    CHECK(again.port_bytes_per_s == Approx(network.port_bytes_per_s));
  }
  CHECK(sim::network_description(found("8x NDR")) == "8x 400 Gb/s InfiniBand NDR (47.0 GB/s each by RDMA)");
  CHECK(sim::network_description(found("100 GbE")) == "1x 100 Gb/s Ethernet (12.5 GB/s by TCP)");
  CHECK(sim::network_description(found("aws-p4d")) == "AWS p4d.24xlarge (46.0 GB/s a node by RDMA)");
}

TEST_CASE("every network of the catalogue can be written") {
  for (const sim::NetworkEntry& entry : catalogue().networks) {
    INFO(entry.id);
    const sim::NetworkFound network = found(entry.needs_rate ? "12.5 Gb/s " + entry.id : entry.id);
    CHECK(network.entry == &entry);
    if (!entry.needs_rate) CHECK(network.port_bytes_per_s == entry.port_bytes_per_s);
  }
  for (const sim::GpuEntry& gpu : catalogue().gpus) CHECK(found(gpu.network).ports_stated);
}

TEST_CASE("the examples of the grammar can be read") {
  const std::string text = sim::network_grammar_text(catalogue().networks);
  int examples = 0;
  const std::size_t such_as = text.find("such as \"");
  REQUIRE(such_as != std::string::npos);
  for (std::size_t at = text.find('"', such_as); at != std::string::npos; at = text.find('"', at + 1)) {
    const std::size_t end = text.find('"', at + 1);
    found(text.substr(at + 1, end - at - 1));
    ++examples;
    at = end;
  }
  CHECK(examples >= 5);
}

}  // namespace lockstep::tests

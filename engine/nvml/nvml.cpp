#include "engine/nvml/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace lockstep::nvml {
namespace {

// Declarations of the functions called here, from NVML's documentation.
using Status = int;
using Handle = void*;
constexpr Status kSuccess = 0;
constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr unsigned kMostLinks = 36;
constexpr unsigned kPeerRead = 0;
constexpr std::size_t kNameLength = 96;

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68, "nvmlPciInfo_t");

struct Reason {
  unsigned long long bit;
  const char* name;
  bool slows_down;  ///< below the clock that training would have
};
constexpr Reason kReasons[] = {{0x1, "idle", false},
                               {0x2, "clocks set by user", false},
                               {0x4, "power cap", false},
                               {0x8, "hardware slowdown", true},
                               {0x10, "sync boost", false},
                               {0x20, "thermal, software", true},
                               {0x40, "thermal, hardware", true},
                               {0x80, "power brake", true},
                               {0x100, "display clocks", false}};

// "00000000:1B:00.0" -> "0000:1b:00.0"
std::string pci_address(const PciInfo& info) {
  char text[32];
  // Only the bus id has the function, which is 0 for all GPUs.
  const std::string id(info.bus_id, strnlen(info.bus_id, sizeof info.bus_id));
  const std::size_t dot = id.rfind('.');
  const char function = dot != std::string::npos && dot + 1 < id.size() ? id[dot + 1] : '0';
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%c", info.domain, info.bus, info.device, function);
  return text;
}

std::string path_name(int level) {
  switch (level) {
    case 0:
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return "";
  }
}

std::string peer_name(int status) {
  static const char* const names[] = {"ok",
                                      "chipset not supported",
                                      "GPU not supported",
                                      "topology not supported",
                                      "disabled in the registry",
                                      "not supported"};
  return status >= 0 && status < 6 ? names[status] : "";
}

// NVML gives each version a number, starting at 1.
std::string link_version_name(unsigned version) {
  static const char* const names[] = {"", "1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0", "6.0"};
  return version < std::size(names) ? names[version] : "";
}

std::string remote_name(int type) {
  switch (type) {
    case 0:
      return "gpu";
    case 1:
      return "npu";
    case 2:
      return "switch";
    default:
      return "unknown";
  }
}

}  // namespace

// If this driver's library lacks a function, its pointer stays null and its facts stay unknown.
struct Library::Calls {
  explicit Calls(void* loaded) : library(loaded) {
    const auto load = [&](auto& function, std::initializer_list<const char*> names) {
      using Function = std::remove_reference_t<decltype(function)>;
      for (const char* symbol : names)
        if (function == nullptr) function = reinterpret_cast<Function>(dlsym(library, symbol));
    };
    load(init, {"nvmlInit_v2"});
    load(shutdown, {"nvmlShutdown"});
    load(error_string, {"nvmlErrorString"});
    load(system_driver, {"nvmlSystemGetDriverVersion"});
    load(count, {"nvmlDeviceGetCount_v2"});
    load(by_index, {"nvmlDeviceGetHandleByIndex_v2"});
    load(by_uuid, {"nvmlDeviceGetHandleByUUID"});
    load(whole_of_part, {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"});
    load(name, {"nvmlDeviceGetName"});
    load(uuid, {"nvmlDeviceGetUUID"});
    load(pci, {"nvmlDeviceGetPciInfo_v3"});
    load(generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
    load(highest_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
    load(width, {"nvmlDeviceGetCurrPcieLinkWidth"});
    load(highest_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
    load(clock, {"nvmlDeviceGetClockInfo"});
    load(highest_clock, {"nvmlDeviceGetMaxClockInfo"});
    load(power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
    // Drivers before 535 have the second name.
    load(reasons, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
    load(link_state, {"nvmlDeviceGetNvLinkState"});
    load(link_version, {"nvmlDeviceGetNvLinkVersion"});
    load(link_remote, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
    load(link_remote_type, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
    load(ancestor, {"nvmlDeviceGetTopologyCommonAncestor"});
    load(peer, {"nvmlDeviceGetP2PStatus"});
  }
  ~Calls() {
    if (is_begun) shutdown();
    dlclose(library);
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  std::string words(Status status) const {
    return error_string != nullptr ? error_string(status) : "error " + std::to_string(status);
  }
  Handle handle(int index) const {
    Handle device = nullptr;
    const Status status = by_index(static_cast<unsigned>(index), &device);
    if (status != kSuccess) throw std::runtime_error("NVML: GPU " + std::to_string(index) + ": " + words(status));
    return device;
  }

  /// For a part of a GPU (MIG), CUDA reports a UUID that begins with "GPU-"; NVML expects "MIG-".
  std::string known_id(const std::string& id) const {
    const std::string gpu = "GPU-", part = "MIG-";
    Handle device = nullptr;
    if (by_uuid == nullptr || by_uuid(id.c_str(), &device) == kSuccess || id.compare(0, gpu.size(), gpu) != 0)
      return id;
    const std::string other = part + id.substr(gpu.size());
    return by_uuid(other.c_str(), &device) == kSuccess ? other : id;
  }
  /// For a part of a GPU, returns the whole GPU, which has the same clocks. Null if the driver has no such GPU.
  Handle whole(const std::string& id) const {
    Handle device = nullptr, all = nullptr;
    if (by_uuid == nullptr || by_uuid(known_id(id).c_str(), &device) != kSuccess) return nullptr;
    return whole_of_part != nullptr && whole_of_part(device, &all) == kSuccess ? all : device;
  }

  using Number = Status (*)(Handle, unsigned*);
  using Text = Status (*)(Handle, char*, unsigned);

  static int number(Number call, Handle device) {
    unsigned value = 0;
    return call != nullptr && call(device, &value) == kSuccess ? static_cast<int>(value) : 0;
  }
  static std::string text(Text call, Handle device) {
    char value[kNameLength] = "";
    return call != nullptr && call(device, value, kNameLength) == kSuccess ? value : "";
  }
  using Clock = Status (*)(Handle, unsigned type, unsigned*);
  static double clock_hz(Clock call, Handle device, unsigned type) {
    unsigned mhz = 0;
    return call != nullptr && call(device, type, &mhz) == kSuccess ? mhz * 1e6 : 0;
  }
  unsigned long long reason_bits(Handle device) const {
    unsigned long long bits = 0;
    return reasons != nullptr && reasons(device, &bits) == kSuccess ? bits : 0;
  }

  std::vector<NvLink> nvlinks(Handle device) const {
    std::vector<NvLink> links;
    for (unsigned number = 0; number < kMostLinks; ++number) {
      int is_up = 0;
      if (link_state == nullptr || link_state(device, number, &is_up) != kSuccess || is_up == 0) continue;
      NvLink link;
      link.number = static_cast<int>(number);
      unsigned version = 0;
      if (link_version != nullptr && link_version(device, number, &version) == kSuccess)
        link.version = link_version_name(version);
      int type = -1;
      if (link_remote_type != nullptr && link_remote_type(device, number, &type) != kSuccess) type = -1;
      link.remote = remote_name(type);
      PciInfo info = {};
      if (link_remote != nullptr && link_remote(device, number, &info) == kSuccess) link.remote_pci = pci_address(info);
      links.push_back(link);
    }
    return links;
  }

  void* library;
  bool is_begun = false;
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*system_driver)(char*, unsigned) = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*by_index)(unsigned, Handle*) = nullptr;
  Status (*by_uuid)(const char*, Handle*) = nullptr;
  Status (*whole_of_part)(Handle, Handle*) = nullptr;
  Text name = nullptr, uuid = nullptr;
  Status (*pci)(Handle, PciInfo*) = nullptr;
  Number generation = nullptr, highest_generation = nullptr, width = nullptr, highest_width = nullptr;
  Clock clock = nullptr, highest_clock = nullptr;
  Number power_limit = nullptr;  // milliwatts
  Status (*reasons)(Handle, unsigned long long*) = nullptr;
  Status (*link_state)(Handle, unsigned, int*) = nullptr;
  Status (*link_version)(Handle, unsigned, unsigned*) = nullptr;
  Status (*link_remote)(Handle, unsigned, PciInfo*) = nullptr;
  Status (*link_remote_type)(Handle, unsigned, int*) = nullptr;
  Status (*ancestor)(Handle, Handle, int*) = nullptr;
  Status (*peer)(Handle, Handle, unsigned, int*) = nullptr;
};

Library::Library(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}

Library::~Library() = default;

std::unique_ptr<Library> Library::open(std::string& why, const std::string& path) {
  why.clear();
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    why = "no " + path;
    return nullptr;
  }
  auto calls = std::make_unique<Calls>(loaded);
  if (calls->init == nullptr || calls->shutdown == nullptr || calls->count == nullptr || calls->by_index == nullptr) {
    why = path + " is no NVML";
    return nullptr;
  }
  const Status status = calls->init();
  if (status != kSuccess) {
    why = "NVML: " + calls->words(status);
    return nullptr;
  }
  calls->is_begun = true;
  return std::unique_ptr<Library>(new Library(std::move(calls)));
}

std::string Library::driver_version() const {
  char text[kNameLength] = "";
  const bool is_told = calls_->system_driver != nullptr && calls_->system_driver(text, kNameLength) == kSuccess;
  return is_told ? text : "";
}

std::vector<Gpu> Library::gpus() const {
  unsigned count = 0;
  const Status status = calls_->count(&count);
  if (status != kSuccess) throw std::runtime_error("NVML: number of GPUs: " + calls_->words(status));
  std::vector<Gpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    const Handle device = calls_->handle(static_cast<int>(index));
    Gpu gpu;
    gpu.index = static_cast<int>(index);
    gpu.name = Calls::text(calls_->name, device);
    gpu.uuid = Calls::text(calls_->uuid, device);
    PciInfo info = {};
    if (calls_->pci != nullptr && calls_->pci(device, &info) == kSuccess) gpu.pci = pci_address(info);
    gpu.pcie_generation = Calls::number(calls_->generation, device);
    gpu.highest_pcie_generation = Calls::number(calls_->highest_generation, device);
    gpu.pcie_width = Calls::number(calls_->width, device);
    gpu.highest_pcie_width = Calls::number(calls_->highest_width, device);
    gpu.clock_hz = Calls::clock_hz(calls_->clock, device, kClockSm);
    gpu.highest_clock_hz = Calls::clock_hz(calls_->highest_clock, device, kClockSm);
    gpu.memory_clock_hz = Calls::clock_hz(calls_->clock, device, kClockMemory);
    gpu.highest_memory_clock_hz = Calls::clock_hz(calls_->highest_clock, device, kClockMemory);
    gpu.power_limit_w = Calls::number(calls_->power_limit, device) * 1e-3;
    const unsigned long long bits = calls_->reason_bits(device);
    for (const Reason& reason : kReasons)
      if ((bits & reason.bit) != 0) gpu.clock_reasons.emplace_back(reason.name);
    gpu.nvlinks = calls_->nvlinks(device);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::string Library::pcie_path(int a, int b) const {
  int level = -1;
  if (calls_->ancestor == nullptr || calls_->ancestor(calls_->handle(a), calls_->handle(b), &level) != kSuccess)
    return "";
  return path_name(level);
}

std::string Library::peer_status(int a, int b) const {
  int status = -1;
  if (calls_->peer == nullptr || calls_->peer(calls_->handle(a), calls_->handle(b), kPeerRead, &status) != kSuccess)
    return "";
  return peer_name(status);
}

std::string Library::known_id(const std::string& uuid) const {
  return calls_->known_id(uuid);
}

Clock Library::clock(const std::string& uuid) const {
  const Handle device = calls_->whole(uuid);
  Clock clock;
  if (device == nullptr) return clock;
  const unsigned long long bits = calls_->reason_bits(device);
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) == 0) continue;
    clock.reasons.emplace_back(reason.name);
    clock.is_held_down = clock.is_held_down || reason.slows_down;
  }
  clock.now_hz = Calls::clock_hz(calls_->clock, device, kClockSm);
  clock.highest_hz = Calls::clock_hz(calls_->highest_clock, device, kClockSm);
  return clock;
}

}  // namespace lockstep::nvml

// A machine's disk in memory, as careless as src/disk/disk.h allows a disk to be.
//
// SimDisk is the machine; attach() gives a process its view of it. When the power goes, chance
// decides about everything that was not synced: each write is kept, lost or torn, each directory
// entry is there or not. Faults are planned beforehand, so that the same plan and the same calls
// give the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "disk/disk.h"
#include "tests/random/dice.h"

namespace millrace::test {

enum class DiskCall : std::uint8_t {
  lock,
  list,
  open,
  create,
  allocate,
  write,
  read,
  sync,
  sync_directory,
  rename,
  remove,
};

std::string_view name_of(DiskCall call);

// Whether the call can change what is on the disk. A crash in any other call is the same as a crash
// in the next call that can.
bool changes(DiskCall call);

class SimDisk {
 public:
  static constexpr std::uint64_t unlimited = UINT64_MAX;
  static constexpr std::size_t sector = 512;

  SimDisk() = default;
  // The same contents in a second machine: what is visible and what is durable. No process is
  // attached to it and no fault is planned.
  SimDisk(const SimDisk& other);
  SimDisk& operator=(const SimDisk&) = delete;

  // A process starts. Its disk must not outlive the machine. REQUIRES: not down.
  std::unique_ptr<Disk> attach();

  // ---- The end of processes --------------------------------------------------------------------

  // The power goes: every disk handed out is dead for good, locks are free, and what was not synced
  // is kept, lost or torn as the seed decides.
  void crash(std::uint64_t seed);
  // Every process dies, but the machine stays up: nothing that was written is lost.
  void kill();
  // Down between a crash and the restart.
  bool down() const { return down_; }
  void restart();

  // ---- Faults ----------------------------------------------------------------------------------

  // Crashes in the n-th call from now that changes something (1: the next), in the middle of it.
  void plan_crash(std::uint64_t n, std::uint64_t seed);
  // The n-th call of this kind from now (1: the next) fails with this code and, where it writes,
  // may have done part of its work. A sync that fails leaves its bytes visible and in doubt for
  // ever.
  void plan_failure(DiskCall call, std::uint64_t n, ErrorCode code);
  // The n-th call of any kind from now.
  void plan_failure(std::uint64_t n, ErrorCode code);
  void forget_plans();
  bool plans_failure(DiskCall call) const;
  // Whether a planned failure has happened since the last plan.
  bool failed() const { return failed_; }
  std::uint64_t calls() const { return calls_; }

  // Bytes that all files together may take; less than they already do refuses all growth.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  std::uint64_t used() const;

  // Reads give less than was asked for, by chance.
  void shorten_reads(bool on) { short_reads_ = on; }

  // Called once, in the middle of the next write or sync of a file whose name ends so: stands for
  // what another thread might do meanwhile.
  void set_meanwhile(std::string ending, std::function<void()> what) {
    meanwhile_ending_ = std::move(ending);
    meanwhile_ = std::move(what);
  }

  // ---- Inspecting and damaging -----------------------------------------------------------------

  // Files by name, with their visible sizes.
  std::vector<Disk::Entry> files() const;
  // What a read would give now.
  std::string contents(std::string_view name) const;
  // Flips one bit at rest. False: there is no such byte.
  bool flip(std::string_view name, std::uint64_t offset, unsigned bit);
  // The bytes from `size` on are gone at rest; with `whole` they are zeros instead. REQUIRES: there
  // is such a file.
  void cut(std::string_view name, std::uint64_t size, bool whole = false);
  // The file is gone at rest.
  void lose(std::string_view name);

 private:
  friend class SimView;
  using InodeNumber = std::uint64_t;

  struct Write {
    std::uint64_t offset = 0;
    std::string bytes;
    bool extends = false;  // only makes the file longer, to `offset`
  };
  struct Inode {
    std::string durable;
    std::string visible;
    std::uint64_t allocated = 0;
    std::vector<Write> pending;   // since the last sync
    std::vector<Write> doubtful;  // a sync of them failed: no later one makes them durable
    std::size_t opened = 0;
  };
  // A name that will point to an inode, or nowhere; a rename is two of them at once.
  struct Naming {
    std::string name;
    std::optional<InodeNumber> to;
    std::string also_gone;  // the old name of a rename
  };
  using Directory = std::map<std::string, InodeNumber, std::less<>>;

  enum class Fate : std::uint8_t { go, fail, crash };
  struct Ruling {
    Fate fate = Fate::go;
    ErrorCode code = ErrorCode::unavailable;
  };
  Ruling rule(DiskCall call);

  void collapse(Inode& inode, Dice& dice);
  void collapse_directory(Dice& dice);
  void end_processes();
  static void apply(Inode& inode, std::string& to, const Write& write);
  static void make_durable(Inode& inode);
  static void name_it(Directory& directory, const Naming& naming);
  bool has_name(InodeNumber number) const;
  void free_nameless();
  std::uint64_t room() const;

  std::recursive_mutex mutex_;  // views of several threads
  std::map<InodeNumber, Inode> inodes_;
  Directory durable_names_;
  Directory visible_names_;
  std::vector<Naming> pending_names_;
  InodeNumber last_inode_ = 0;
  std::uint64_t generation_ = 1;  // of processes; those of an older one are dead
  std::size_t readers_ = 0;
  bool owned_ = false;

  bool down_ = false;
  bool failed_ = false;
  bool short_reads_ = false;
  std::uint64_t calls_ = 0;
  std::uint64_t capacity_ = unlimited;
  struct CrashPlan {
    std::uint64_t left = 0;
    std::uint64_t seed = 0;
  };
  struct FailurePlan {
    std::optional<DiskCall> call;
    std::uint64_t left = 0;
    ErrorCode code = ErrorCode::unavailable;
  };
  std::string meanwhile_ending_;
  std::function<void()> meanwhile_;
  std::optional<CrashPlan> crash_plan_;
  std::vector<FailurePlan> failure_plans_;
  Dice dice_{1};  // for short reads and half-done failures
};

}  // namespace millrace::test

#include "cli/queue_flags.h"

#include <fmt/format.h>
#include <charconv>

#include "api/wire/names.h"
#include "cli/flag_values.h"
#include "config/size.h"
#include "core/limits.h"
#include "core/quote.h"

namespace millrace::cli {
namespace {

auto size_up_to(std::uint64_t most, std::uint64_t least) {
  return [=](std::string_view flag, std::string_view text) -> Result<std::uint64_t> {
    const auto size = config::parse_size(text);
    if (size && size->bytes >= least && size->bytes <= most) return size->bytes;
    return fail(
        ErrorCode::invalid,
        fmt::format("{} is {}; allowed is a size from {} to {}, such as 4MiB, or none", flag,
                    in_quotes(text), config::to_text({least}), config::to_text({most})));
  };
}

template <class Enum>
Result<Enum> named(std::string_view flag, std::string_view text) {
  const auto names = wire::names(Enum{});
  const auto found = choice_of(flag, text, {names.begin(), names.end()});
  if (!found) return std::unexpected(found.error());
  return Enum(*found);
}

auto decimal_such_as(std::string_view example) {
  return [=](std::string_view flag, std::string_view text) -> Result<std::optional<double>> {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc{} && rest == end) return std::optional(number);
    return fail(ErrorCode::invalid,
                fmt::format("{} is {}; write a number such as {}", flag, in_quotes(text), example));
  };
}

Result<std::optional<QueueNumber>> queue_number(std::string_view flag, std::string_view text) {
  const auto number = number_of(flag, text, 0, 1'000'000'000);
  if (!number) return std::unexpected(number.error());
  return std::optional(QueueNumber{static_cast<std::int64_t>(*number)});
}

}  // namespace

bool QueueFlags::any() const {
  return description || number || active || max_concurrent || max_depth || max_task_size || rate ||
         rate_of || put_rate || any_of_groups() || priority || weight || ageing || lease ||
         timeout || batch_size || retries || backoff || retry_base || retry_factor || retry_cap ||
         retryable || jitter || jitter_share || cap_after_jitter || max_lost || dead_letters ||
         dead_letter_queue || keep_completed || keep_dead;
}

bool QueueFlags::any_of_groups() const {
  return group_order || group_max_concurrent || group_rate || group_rate_of || group_max_depth ||
         group_weight || group_retry_holds;
}

void takes_queue_settings(Command& command, QueueFlags& flags) {
  command.group("Settings")
      .value("--description", flags.description, "TEXT", "What it is for")
      .value("--number", flags.number, "N", "Another name for it: a number")
      .value("--active", flags.active, "true|false", "false refuses puts and takes")
      .group("Settings: limits (none takes one away)")
      .value("--max-concurrent", flags.max_concurrent, "N|none",
             "Most tasks that run at the same time")
      .value("--rate", flags.rate, "N/DURATION|none", "Most tasks started per time: 100/1m")
      .value("--rate-of", flags.rate_of, "tasks|cost", "What --rate counts [tasks]")
      .value("--put-rate", flags.put_rate, "N/DURATION|none", "Most tasks put per time")
      .value("--max-depth", flags.max_depth, "N|none", "Most tasks that wait")
      .value("--max-task-size", flags.max_task_size, "SIZE|none",
             "Most bytes of a payload or a result: 1KiB to 16MiB; none: 1MiB")
      .group("Settings: each group of its tasks")
      .value("--group-order", flags.group_order, "arrival|fair|serial|none",
             "Which group is next; serial: one task of a group at a time; none: no rules")
      .value("--group-max-concurrent", flags.group_max_concurrent, "N|none",
             "Most tasks of a group that run at the same time")
      .value("--group-rate", flags.group_rate, "N/DURATION|none",
             "Most tasks of a group started per time: 100/1m")
      .value("--group-rate-of", flags.group_rate_of, "tasks|cost",
             "What --group-rate counts [tasks]")
      .value("--group-max-depth", flags.group_max_depth, "N|none",
             "Most tasks of a group that wait")
      .value("--group-weight", flags.group_weight, "N",
             "How many turns a group has with the order fair [1]")
      .value("--group-retry-holds", flags.group_retry_holds, "true|false",
             "With the order serial: whether a retry keeps later tasks of its group waiting [true]")
      .group("Settings: order")
      .value("--priority", flags.priority, "0-9|high|medium|low", "Its priority among queues [5]")
      .value("--weight", flags.weight, "N|none",
             "Its weight, for workers that weigh queues [1 + priority]")
      .value("--ageing", flags.ageing, "DURATION|none",
             "Raise the priority by one per this long of waiting")
      .group("Settings: runs")
      .value("--lease", flags.lease, "DURATION", "How long a lease lasts without a heartbeat [1m]")
      .value("--timeout", flags.timeout, "DURATION|none", "How long a run may take")
      .value("--batch-size", flags.batch_size, "N",
             "Most tasks in one call of a batch handler in C++ [10]")
      .group("Settings: failures")
      .value("--retries", flags.retries, "N|unlimited", "How often a task is retried")
      .value("--backoff", flags.backoff, "fixed|exponential", "How the delays between retries grow")
      .value("--retry-base", flags.retry_base, "DURATION", "The first delay")
      .value("--retry-factor", flags.retry_factor, "N", "The factor by which delays grow")
      .value("--retry-cap", flags.retry_cap, "DURATION", "The longest delay")
      .value("--jitter", flags.jitter, "none|symmetric|additive", "How delays are spread at random")
      .value("--jitter-share", flags.jitter_share, "N", "How far, as a share of the delay: 0 to 1")
      .value("--cap-after-jitter", flags.cap_after_jitter, "true|false",
             "Whether the longest delay bounds jitter, too")
      .value("--retryable", flags.retryable, "all|listed", "Which errors are retried")
      .value("--max-lost", flags.max_lost, "N|unlimited", "How many lost workers a task survives")
      .value("--dead-letters", flags.dead_letters, "true|false",
             "Whether a task may end as a dead letter")
      .value("--dead-letter-queue", flags.dead_letter_queue, "QUEUE|none",
             "Put a task into this queue for each that ends failed or dead")
      .group("Settings: retention (24h, 1000, 24h,1000, forever, none)")
      .value("--keep-completed", flags.keep_completed, "KEEP", "Completed and cancelled tasks")
      .value("--keep-dead", flags.keep_dead, "KEEP", "Dead letters")
      .group("");
}

namespace {

// The first flag makes the rules, and --group-order none takes them away.
Result<void> apply_groups(const QueueFlags& flags, std::optional<GroupRules>& groups) {
  if (!flags.any_of_groups()) return {};
  if (flags.group_order == "none") {
    QueueFlags others = flags;
    others.group_order.reset();
    if (others.any_of_groups()) {
      return fail(ErrorCode::invalid,
                  "--group-order none takes the rules for groups away; leave the other flags for "
                  "groups out, or give another order");
    }
    groups.reset();
    return {};
  }
  if (!groups) groups.emplace();
  FlagReader read;
  constexpr std::uint64_t most = unlimited - 1;
  read("--group-order", flags.group_order, groups->order, named<GroupOrder>);
  read("--group-max-concurrent", flags.group_max_concurrent, groups->max_concurrent,
       or_none<std::uint32_t>(number_up_to(most)));
  read("--group-rate", flags.group_rate, groups->process_rate, or_none<Rate>(rate_of));
  read("--group-rate-of", flags.group_rate_of, groups->rate_of, named<RateOf>);
  read("--group-max-depth", flags.group_max_depth, groups->max_depth,
       or_none<std::uint64_t>(number_up_to(1'000'000'000'000)));
  read("--group-weight", flags.group_weight, groups->weight, number_up_to(limits::max_weight));
  read("--group-retry-holds", flags.group_retry_holds, groups->retry_holds, bool_of);
  if (read.error()) return std::unexpected(*read.error());
  return {};
}

}  // namespace

Result<void> apply(const QueueFlags& flags, QueueSettings& settings) {
  FlagReader read;
  const auto keep_text = [](std::string_view, std::string_view text) -> Result<std::string> {
    return std::string(text);
  };
  constexpr std::uint64_t most = unlimited - 1;
  read("--description", flags.description, settings.description, keep_text);
  read("--number", flags.number, settings.number, queue_number);
  read("--active", flags.active, settings.active, bool_of);
  read("--max-concurrent", flags.max_concurrent, settings.max_concurrent,
       or_none<std::uint32_t>(number_up_to(most)));
  read("--max-depth", flags.max_depth, settings.max_depth,
       or_none<std::uint64_t>(number_up_to(1'000'000'000'000)));
  read("--max-task-size", flags.max_task_size, settings.max_task_size,
       or_none<std::uint32_t>(size_up_to(limits::max_payload, limits::least_task_size)));
  read("--rate", flags.rate, settings.process_rate, or_none<Rate>(rate_of));
  read("--rate-of", flags.rate_of, settings.rate_of, named<RateOf>);
  read("--put-rate", flags.put_rate, settings.put_rate, or_none<Rate>(rate_of));
  read("--priority", flags.priority, settings.priority, priority_of);
  read("--weight", flags.weight, settings.weight,
       or_none<std::uint32_t>(number_up_to(limits::max_weight)));
  read("--ageing", flags.ageing, settings.ageing, or_none<Duration>(duration_of));
  read("--lease", flags.lease, settings.lease, duration_of);
  read("--timeout", flags.timeout, settings.timeout, or_none<Duration>(duration_of));
  read("--batch-size", flags.batch_size, settings.batch_size, number_up_to(limits::max_batch));
  read("--retries", flags.retries, settings.retry.max_retries, count_of);
  read("--backoff", flags.backoff, settings.retry.backoff, named<Backoff>);
  read("--retry-base", flags.retry_base, settings.retry.base, duration_of);
  read("--retry-factor", flags.retry_factor, settings.retry.factor, decimal_such_as("2 or 1.5"));
  read("--retry-cap", flags.retry_cap, settings.retry.cap, duration_of);
  read("--jitter", flags.jitter, settings.retry.jitter, named<Jitter>);
  read("--jitter-share", flags.jitter_share, settings.retry.jitter_share, decimal_such_as("0.2"));
  read("--cap-after-jitter", flags.cap_after_jitter, settings.retry.cap_after_jitter, bool_of);
  read("--retryable", flags.retryable, settings.retry.retryable, named<Retryable>);
  read("--max-lost", flags.max_lost, settings.max_lost, count_of);
  read("--dead-letters", flags.dead_letters, settings.dead_letters, bool_of);
  read("--dead-letter-queue", flags.dead_letter_queue, settings.dead_letter_queue,
       [](std::string_view, std::string_view text) -> Result<std::string> {
         return text == "none" ? std::string() : std::string(text);
       });
  read("--keep-completed", flags.keep_completed, settings.keep_completed, keep_of);
  read("--keep-dead", flags.keep_dead, settings.keep_dead, keep_of);
  if (read.error()) return std::unexpected(*read.error());
  return apply_groups(flags, settings.groups);
}

}  // namespace millrace::cli

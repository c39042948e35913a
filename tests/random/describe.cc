#include "tests/random/describe.h"

#include <fmt/format.h>
#include <array>

#include "core/transition.h"
#include "tests/support/print.h"

namespace millrace::test {

namespace {

constexpr std::uint8_t task_variant = 0x80;
constexpr std::uint8_t queue_variant = 0x81;

Uuid marked(std::uint8_t variant, std::uint32_t k) {
  Uuid id;
  id.bytes[6] = 0x70;
  id.bytes[8] = variant;
  for (std::size_t i = 0; i < 4; ++i) {
    id.bytes[12 + i] = static_cast<std::uint8_t>(k >> (8 * (3 - i)));
  }
  return id;
}

std::string replaced(std::string text, std::string_view prefix, std::string_view mark) {
  constexpr std::size_t digits = 12;
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    const auto k = std::stoul(text.substr(at + prefix.size(), digits), nullptr, 16);
    text.replace(at, prefix.size() + digits, fmt::format("{}{}", mark, k));
  }
  return text;
}

// GoogleTest names the alternative of a variant at length; its value is enough.
std::string without_types(std::string text) {
  constexpr std::string_view between = "' with value ";
  for (auto at = text.find("('"); at != std::string::npos; at = text.find("('", at)) {
    const auto value = text.find(between, at);
    const auto end = text.find(')', value);
    if (end == std::string::npos) break;
    text.erase(end, 1);
    text.erase(at, value + between.size() - at);
  }
  return text;
}

template <class T>
std::string show(const T& value) {
  return ::testing::PrintToString(value);
}

std::string show(const QueueRef& queue) {
  if (const auto* name = std::get_if<std::string>(&queue)) return *name;
  if (const auto* number = std::get_if<QueueNumber>(&queue)) {
    return fmt::format("no.{}", number->value);
  }
  return ::testing::PrintToString(std::get<Uuid>(queue));
}

std::string show(const std::optional<QueueRef>& queue) {
  return queue ? show(*queue) : "all";
}

std::string show(TokenPick pick) {
  constexpr std::array names = {"latest", "earlier", "garbage", "nil"};
  return names.at(static_cast<std::size_t>(pick));
}

std::string show(const SettlePart& part) {
  const auto& settlement = part.settlement;
  auto text = fmt::format("settle {} {}", show(settlement.id), name_of(settlement.event));
  if (part.kind == ExpectKind::unchanged) {
    text += fmt::format(" unchanged version{:+}", part.version_skew);
  } else {
    text += fmt::format(" {} {} token", part.kind == ExpectKind::held ? "held" : "lost",
                        show(part.token));
  }
  if (part.until_skew != Duration::zero()) text += " until " + show(part.until_skew);
  if (!settlement.started) text += " not started";
  text += fmt::format(" ready {} {}", show(settlement.ready), show(settlement.counters));
  if (settlement.cost) text += fmt::format(" cost {}", *settlement.cost);
  if (!settlement.result.empty()) text += " result " + show(settlement.result);
  if (settlement.checkpoint) text += " checkpoint " + show(*settlement.checkpoint);
  if (settlement.error) text += " " + show(*settlement.error);
  for (const auto& task : settlement.follow_ups) text += " then " + show(task);
  return text;
}

std::string show(const ExtendPart& part) {
  const auto& extension = part.extension;
  auto text = fmt::format("extend {} {} token", show(extension.id), show(part.token));
  if (extension.lease) text += " by " + show(*extension.lease);
  if (extension.progress) text += fmt::format(" progress {}", *extension.progress);
  if (!extension.log.empty()) text += " log " + show(extension.log);
  if (extension.checkpoint) text += " checkpoint " + show(*extension.checkpoint);
  return text;
}

std::string show(const TakeRequest& request) {
  auto text = "take " + request.worker;
  for (const auto& want : request.queues) {
    text += fmt::format(" {{{} {}}}", show(want.queue), want.most);
  }
  if (request.lease) text += " for " + show(*request.lease);
  return text;
}

std::string show(const CancelRequest& request) {
  auto text = show(request.id);
  if (!request.reason.empty()) text += " because " + show(request.reason);
  for (const auto& task : request.follow_ups) text += " then " + show(task);
  return text;
}

std::string show(const TaskUpdate& update) {
  auto text = show(update.id);
  if (update.priority) text += fmt::format(" priority {}", *update.priority);
  if (update.start) text += " start " + show(*update.start);
  if (update.release) text += " release";
  if (update.answer) text += " with " + show(*update.answer);
  if (update.delivery_attempt) text += " delivery attempt " + show(*update.delivery_attempt);
  if (update.queue) text += " to " + show(*update.queue);
  return text;
}

std::string show(const ListRequest& request) {
  auto text = show(request.queue);
  for (const auto state : request.states) text += " " + std::string(name_of(state));
  if (request.type) text += " type " + *request.type;
  if (request.client_id) text += " client_id " + *request.client_id;
  if (request.group) text += " group " + *request.group;
  if (request.tag) text += " tag " + *request.tag;
  if (request.priority) text += fmt::format(" priority {}", *request.priority);
  if (request.waits_for) text += " waits for " + show(*request.waits_for);
  if (request.created_from) text += " from " + show(*request.created_from);
  if (request.created_until) text += " until " + show(*request.created_until);
  return text +
         fmt::format(" limit {}{}", request.limit, request.detail == Detail::full ? " full" : "");
}

template <class T>
std::string show_all(const std::vector<T>& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + show(value);
  return text;
}

struct Describe {
  std::string operator()(const PutStep& step) const { return "put " + show_all(step.tasks); }
  std::string operator()(const PutAllStep& step) const {
    return "put all or none of " + show_all(step.tasks);
  }
  std::string operator()(const WorkStep& step) const {
    std::string text;
    for (const auto& part : step.settlements) text += show(part) + "; ";
    for (const auto& part : step.extensions) text += show(part) + "; ";
    for (const auto& request : step.takes) text += show(request) + "; ";
    return text.empty() ? "work on nothing" : text.substr(0, text.size() - 2);
  }
  std::string operator()(const DueStep& step) const { return fmt::format("due {}", step.limit); }
  std::string operator()(const SettleDueStep& step) const {
    return fmt::format("settle {} of those due{}", step.most, step.exhaust ? ", exhausted" : "");
  }
  std::string operator()(const AdvanceStep& step) const {
    return fmt::format("advance, {} a call", step.limit);
  }
  std::string operator()(const FindStep& step) const {
    return "find " + show(step.id) + (step.by_number ? " by number" : "");
  }
  std::string operator()(const ListStep& step) const {
    return "list " + show(step.request) + (step.before ? " before " + show(*step.before) : "");
  }
  std::string operator()(const CountsStep& step) const { return "counts of " + show(step.queue); }
  std::string operator()(const CancelStep& step) const {
    return "cancel " + show_all(step.requests);
  }
  std::string operator()(const RetryStep& step) const { return "retry " + show_all(step.tasks); }
  std::string operator()(const RemoveStep& step) const { return "remove " + show_all(step.tasks); }
  std::string operator()(const UpdateStep& step) const {
    return "update " + show_all(step.updates);
  }
  std::string operator()(const RestoreStep& step) const {
    return "restore " + show_all(step.tasks);
  }
  std::string operator()(const PutQueueStep& step) const {
    if (!step.mode.seen) return (step.mode.replaces ? "replace " : "create ") + show(step.settings);
    return fmt::format("change {} that was seen with id {}, updated at {}", show(step.settings),
                       show(step.mode.seen->id), show(step.mode.seen->updated_at));
  }
  std::string operator()(const QueuesStep& step) const { return "queues " + show(step.queue); }
  std::string operator()(const RemoveQueueStep& step) const {
    return "remove queue " + show(step.queue) + (step.force ? " by force" : "");
  }
  std::string operator()(const ClearStep& step) const {
    return fmt::format("clear {} of {}", step.limit, show(step.queue));
  }
  std::string operator()(const PutGroupStep& step) const {
    return fmt::format("put group {} of {}: {}, seen {}", show(step.change.name),
                       show(step.change.queue), show(step.change.now), show(step.change.seen));
  }
  std::string operator()(const GroupsStep& step) const {
    const auto& request = step.request;
    return fmt::format("{} of {}, limit {}",
                       request.name ? "group " + show(*request.name) : "groups",
                       show(request.queue), request.limit);
  }
  std::string operator()(const PutScheduleStep& step) const {
    if (!step.mode.seen) return (step.mode.replaces ? "put " : "create ") + show(step.schedule);
    return fmt::format("change {} that was seen with next {}, updated at {}", show(step.schedule),
                       show(step.mode.seen->next), show(step.mode.seen->updated_at));
  }
  std::string operator()(const RemoveScheduleStep& step) const {
    return "remove schedule " + step.name;
  }
  std::string operator()(const SchedulesStep& step) const {
    return "schedules " + step.name.value_or("all");
  }
  std::string operator()(const FireStep& step) const {
    return fmt::format("fire {} of {}, next {}: {}", step.tick.schedule, show(step.tick.nominal),
                       show(step.tick.next), show(step.tick.task));
  }
  std::string operator()(const RememberStep& step) const {
    constexpr std::array names = {"any", "no", "the current", "a stale"};
    auto text = fmt::format("remember {} = {} if {} version", step.request.key,
                            step.request.value ? show(*step.request.value) : "nothing",
                            names.at(static_cast<std::size_t>(step.expected)));
    return text + (step.request.lifetime ? " for " + show(*step.request.lifetime) : "");
  }
  std::string operator()(const RecallStep& step) const {
    return fmt::format("recall \"{}\" after \"{}\", {}", step.request.prefix, step.request.after,
                       step.request.limit);
  }
  std::string operator()(const WaitStep& /*step*/) const { return "ready"; }
  std::string operator()(const LookStep& /*step*/) const { return "look at everything"; }
};

}  // namespace

TaskId task_id(std::uint32_t k) {
  return k == 0 ? TaskId{} : TaskId{marked(task_variant, k)};
}

Uuid queue_id(std::uint32_t k) {
  return marked(queue_variant, k);
}

std::string shortened(const std::string& text) {
  auto result = replaced(text, "task-00000000-0000-7000-8000-", "#");
  return without_types(replaced(std::move(result), "00000000-0000-7000-8100-", "@"));
}

std::string describe(const Operation& operation) {
  return shortened(to_text(operation.now) + " " + std::visit(Describe{}, operation.call));
}

std::string describe(const Sequence& sequence) {
  std::string text;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    text += fmt::format("{:4}. {}\n", i + 1, describe(sequence[i]));
  }
  return text;
}

}  // namespace millrace::test

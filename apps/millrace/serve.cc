#include "apps/millrace/serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "access/key_book.h"
#include "api/server/action_log.h"
#include "api/server/api.h"
#include "api/server/stored_keys.h"
#include "api/server/stored_sessions.h"
#include "app/stores.h"
#include "apps/millrace/listeners.h"
#include "apps/millrace/serve_options.h"
#include "apps/millrace/work.h"
#include "apps/millrace/worker_processes.h"
#include "broker/local_broker.h"
#include "cli/first_steps.h"
#include "cli/serve_advice.h"
#include "core/seed.h"
#include "core/store_url.h"
#include "log/log_writer.h"
#include "pages/files.h"
#include "pages/pages.h"
#include "process/signals.h"
#include "process/supervisor.h"
#include "store/save.h"
#include "store/store.h"
#include "worker/bulk.h"
#include "worker/deliverer.h"

namespace millrace {
namespace {

using cli::Exit;
using namespace std::chrono_literals;

constexpr Duration tick = 500ms;     // how often it checks whether the store has failed
constexpr Duration keys_every = 5s;  // how often the keys of a shared store are read again
constexpr Duration without_end = std::chrono::days(365);
constexpr Duration last_words = 5s;           // for answers after the store has failed
constexpr Duration deliveries_patience = 2s;  // they are sent again after the next start
constexpr Duration bulk_patience =
    5s;  // for the current page; the operation continues after the next start
constexpr Duration handlers_patience = 5s;  // for abandoned handlers
constexpr Duration log_patience = 5s;       // for the reader of the log

// The sum over all queues and states.
std::int64_t tasks_in(Store& store, TimePoint now) {
  std::int64_t tasks = 0;
  const auto counts = store.counts(std::nullopt, now);
  if (!counts) return 0;
  for (const QueueCounts& queue : *counts) {
    for (const auto& state : queue.by) {
      for (const auto count : state) tasks += static_cast<std::int64_t>(count);
    }
  }
  return tasks;
}

std::int64_t ms(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

// The key of its own worker processes, valid as long as this process lives.
access::MadeKey key_of_workers(TimePoint now) {
  access::Scopes scopes;
  scopes.add(access::Scope::work);
  auto made = access::make_key({.name = "worker processes", .scopes = scopes}, now);
  // Without random numbers there is no key, and no worker process can connect.
  return made ? std::move(*made) : access::MadeKey{};
}

class Server {
 public:
  Server(const config::Config& config, const ServeContext& context, LogWriter& writer,
         Signals& signals)
      : config_(config),
        settings_(config.settings),
        context_(context),
        clock_(context.clock),
        writer_(writer),
        log_(writer.log()),
        signals_(signals),
        own_key_(key_of_workers(context.clock.now())),
        book_({.open_without_keys = config::is_loopback(settings_.listen.host),
               .admin_key = settings_.admin_key,
               .own = own_key_.key}),
        keys_(book_, clock_, log_),
        sessions_(keys_, clock_, log_, {.lasts = settings_.dashboard_session}),
        actions_(log_),
        dashboard_(pages_options(settings_, context.version)),
        api_(api_options()),
        listeners_(settings_, clock_, log_) {}

  Exit run() {
    auto deliverer = deliverer_options(settings_, context_.version, log_);
    if (!deliverer) return fail(deliverer.error(), "");
    deliverer_options_ = std::move(*deliverer);
    if (auto failed = listen()) return *failed;
    if (auto failed = open()) return *failed;
    if (auto failed = guard()) return *failed;
    begin();
    if (auto failed = begin_workers()) return *failed;
    const bool healthy = wait();
    return end(healthy);
  }

 private:
  api::ApiOptions api_options() {
    return {.version = context_.version,
            .started_at = clock_.now(),
            .max_body = settings_.http_max_body.bytes,
            .keys = &keys_,
            .sessions = &sessions_,
            .actions = &actions_,
            .pages = settings_.dashboard_enabled ? &dashboard_ : nullptr,
            .base_path = settings_.http_base_path,
            .streams = {.most = settings_.events_max_streams},
            .metrics_compat = settings_.metrics_compat,
            .traffic = [this] { return listeners_.counts(); },
            .clock = &clock_,
            .log = log_};
  }

  // As text for people, as an entry for machines.
  Exit fail(const Error& error, const std::string& advice) {
    if (settings_.log_format == "text") {
      writer_.plain(
          fmt::format("error: {}\n{}{}", error.message, advice, advice.empty() ? "" : "\n"));
    } else {
      log_(LogLevel::error, error.message, {{"advice", advice}});
    }
    return error.code == ErrorCode::corrupt ? Exit::corrupt : Exit::failed;
  }

  // The role `scheduler`: a process supervisor can check its health, and nothing else is served.
  bool only_upkeep() const { return settings_.role == "scheduler"; }

  // From the start, so that metrics and /ready show how the store is opened.
  std::optional<Exit> listen() {
    auto refused = only_upkeep() ? listeners_.start(api_.metrics_port()) : listeners_.start(api_);
    if (!refused) refused = listeners_.start_metrics(api_.metrics_port());
    if (!refused) return std::nullopt;
    return fail(refused->error, refused->advice);
  }

  // On another thread, so that signals are handled and /ready shows the progress.
  std::optional<Exit> open() {
    log_(LogLevel::info, "starting",
         {{"version", context_.version},
          {"address", config::to_text(listeners_.address())},
          {"tls", !settings_.tls_key.empty()},
          {"store", without_password(settings_.store)},
          {"connections", static_cast<std::int64_t>(listeners_.most_connections())},
          {"process", std::int64_t{getpid()}}});
    const auto began = clock_.steady();
    Result<std::unique_ptr<Store>> opened = millrace::fail(ErrorCode::internal, "not opened");
    std::thread opener([&] {
      opened = open_store(
          clock_, *parse_store_url(settings_.store), cli::Access::serve,
          [this](std::uint64_t done, std::uint64_t total) { told_progress(done, total); },
          [log = log_](std::string_view warning) { log(LogLevel::warning, std::string(warning)); });
      signals_.wake();
    });
    for (SignalKind signal = signals_.wait(1min); signal != SignalKind::woken;
         signal = signals_.wait(1min)) {
      if (signal == SignalKind::stop) leave_while_opening();
    }
    opener.join();
    if (!opened) return fail(opened.error(), cli::store_advice(opened.error(), settings_));
    store_ = std::move(*opened);
    opened_in_ = clock_.steady() - began;
    return std::nullopt;
  }

  void told_progress(std::uint64_t done, std::uint64_t total) {
    api_.progress(fmt::format("replayed {} of {} MiB, {} %", done >> 20U, total >> 20U,
                              total == 0 ? 100 : done * 100 / total));
  }

  // Opening cannot be interrupted, but may be left at any moment, like in a crash.
  [[noreturn]] void leave_while_opening() {
    log_(LogLevel::info, "stopped while the store was being opened");
    writer_.stop(log_patience);
    _exit(0);
  }

  // Refuses to listen for other machines while no key is needed.
  std::optional<Exit> guard() {
    if (only_upkeep() && !store_->traits().several_processes) {
      return fail(cli::alone_error(settings_), cli::alone_advice());
    }
    const auto memos = access::all_memos(access::memo_prefix, [this](const Recall& recall) {
      return store_->recall(recall, clock_.now());
    });
    if (!memos) return fail(memos.error(), "");
    for (const Error& error : book_.replace(*memos)) log_(LogLevel::error, error.message);
    const auto sessions = access::all_memos(access::session_prefix, [this](const Recall& recall) {
      return store_->recall(recall, clock_.now());
    });
    if (!sessions) return fail(sessions.error(), "");
    sessions_.read(*sessions);
    if (!cli::too_open(settings_, book_.guarded())) return std::nullopt;
    return fail(cli::too_open_error(settings_), cli::too_open_advice(settings_));
  }

  void begin() {
    const Traits traits = store_->traits();
    const std::int64_t tasks = tasks_in(*store_, clock_.now());
    LocalBrokerOptions options;
    options.rules = {.retry = config::retry_policy_of(settings_),
                     .create_unknown_queues = settings_.queues_create_unknown,
                     .max_queues = settings_.queues_max_queues,
                     .max_queues_per_key = settings_.queues_max_per_key,
                     .webhooks = true,
                     .alerts = settings_.alerts_enabled || !settings_.alerts_url.empty(),
                     .alert_window = settings_.alerts_window,
                     .manager = settings_.manager_enabled && !only_upkeep(),
                     .priority_metrics = settings_.metrics_compat,
                     .history = true,
                     .seed = random_seed(),
                     .log = log_};
    options.alerter = alerter_options(settings_);
    // A store of its own: no other process does its upkeep.
    options.upkeep = settings_.role != "api" || !traits.several_processes;
    broker_ = std::make_unique<LocalBroker>(clock_, *store_, options);
    if (!only_upkeep()) begin_inner_workers(traits);
    api_.start(*broker_);
    const cli::Place place{.address = listeners_.address(),
                           .tls = !settings_.tls_key.empty(),
                           .needs_key = book_.guarded(),
                           .dashboard = settings_.dashboard_enabled && !pages::files().empty()};
    log_(LogLevel::info, "ready",
         {{"url", cli::url_of(place)},
          {"durability", durability_of(traits)},
          {"tasks", tasks},
          {"opened_ms", ms(opened_in_)},
          {"keys", place.needs_key ? "needed" : "not needed: only this machine can connect"}});
    if (!options.upkeep) {
      log_(LogLevel::info,
           "no upkeep here: schedules, lost workers and old tasks are left to a server with the "
           "role scheduler or all on the same store");
    }
    if (settings_.log_format == "text" && !only_upkeep()) writer_.plain(cli::first_steps(place));
  }

  void begin_inner_workers(const Traits& traits) {
    deliverer_options_.name = inner_worker("deliver", traits);
    if (settings_.webhooks_concurrency != 0)
      deliverer_ = std::make_unique<worker::Deliverer>(clock_, *broker_, deliverer_options_);
    bulk_ = std::make_unique<worker::BulkWorker>(clock_, *broker_, *broker_,
                                                 bulk_options(traits, log_));
  }

  std::optional<Exit> begin_workers() {
    if (settings_.role != "all" || config_.handlers.empty()) return std::nullopt;
    const auto inner = listeners_.start_inner(api_);
    if (!inner) return fail(inner.error(), "");
    workers_.emplace(clock_, worker_processes(config_, "http://" + *inner, own_key_.text, log_));
    workers_->set_count(processes_of(settings_));
    workers_->tend();
    return std::nullopt;
  }

  void change_workers(SignalKind signal) {
    if (!workers_) return;
    const std::size_t now = workers_->count();
    workers_->set_count(signal == SignalKind::more ? now + 1 : std::max<std::size_t>(now, 1) - 1);
    log_(LogLevel::info, "the number of worker processes was changed",
         {{"processes", static_cast<std::int64_t>(workers_->count())}});
  }

  // While the API still answers: worker processes settle or give back their tasks.
  bool end_workers(Duration most) {
    if (!workers_) return true;
    workers_->stop();
    const auto began = clock_.steady();
    for (workers_->tend(); workers_->running() != 0; workers_->tend()) {
      if (most != Duration::zero() && clock_.steady() - began >= most) break;
      signals_.wait(std::min<Duration>(tick, 100ms));
    }
    const bool in_time = workers_->running() == 0 && !workers_->ended_badly();
    workers_.reset();
    return in_time;
  }

  // False: the store has failed. It waits for a store that recovers, and /ready says so.
  bool wait() {
    auto keys_read = clock_.steady();
    const bool shared = store_->traits().several_processes;
    const bool recovers = store_->traits().recovers;
    while (true) {
      const SignalKind signal = signals_.wait(tick);
      if (signal == SignalKind::stop) return true;
      if (signal == SignalKind::reload) listeners_.reload_tls();
      if (signal == SignalKind::more || signal == SignalKind::fewer) change_workers(signal);
      if (workers_) workers_->tend();
      listeners_.give_memory_back();
      const auto failure = broker_->failure();
      if (failure && !recovers) {
        log_(LogLevel::error, failure->message);
        return false;
      }
      if (shared && !failure && clock_.steady() - keys_read >= keys_every) {
        keys_read = clock_.steady();
        keys_.reload(*broker_);
        sessions_.reload(*broker_);
      }
    }
  }

  // Answers the calls under way; waiting takes are told that there will be no tasks.
  bool drain(Duration most) {
    const auto began = clock_.steady();
    const auto left = [&] { return most - std::chrono::floor<Duration>(clock_.steady() - began); };
    constexpr Duration step = 20ms;
    while (left() > Duration::zero()) {
      if (listeners_.drain(std::min(step, left()))) return true;
      const RoundsStats now = broker_->stats().rounds;
      if (now.waiting == 0 && now.held == 0) break;
    }
    broker_->stop();
    return listeners_.drain(std::max(left(), Duration::zero()));
  }

  // A handler that was abandoned while it waited for the broker has its answer by now, and may be
  // about to return. If it does not, what it refers to stays until the process ends.
  void let_go() {
    const bool left = (!bulk_ || bulk_->wait_until_left(handlers_patience)) &&
                      (!deliverer_ || deliverer_->wait_until_left(handlers_patience));
    if (!left) {
      log_(LogLevel::warning,
           "an internal handler of the server has not returned; the server exits without it");
      (void)bulk_.release();
      (void)deliverer_.release();
      (void)broker_.release();
    }
    bulk_.reset();
    deliverer_.reset();
    broker_.reset();
    store_.reset();
  }

  Exit end(bool healthy) {
    signals_.exit_on_the_next();
    log_(LogLevel::info, "shutting down",
         {{"connections", static_cast<std::int64_t>(listeners_.counts().open)}});
    const auto began = clock_.steady();
    const bool workers_in_time = end_workers(healthy ? settings_.shutdown_timeout : last_words);
    api_.stop();
    listeners_.stop_inner();
    listeners_.drain(0ms);  // connections without a request do not wait for what follows
    if (bulk_) bulk_->stop(bulk_patience);
    if (deliverer_) deliverer_->stop(healthy ? deliveries_patience : 1ms);
    const bool unlimited_time = settings_.shutdown_timeout == Duration::zero();
    const Duration spent = std::chrono::floor<Duration>(clock_.steady() - began);
    const bool in_time =
        drain(!healthy         ? last_words
              : unlimited_time ? without_end
                               : std::max(settings_.shutdown_timeout - spent, tick));
    listeners_.stop();
    broker_->stop();
    if (healthy) {
      if (const auto saved = save(*store_, clock_.now()); !saved) {
        log_(LogLevel::error, saved.error().message);
        healthy = false;
      }
    }
    let_go();
    log_(in_time ? LogLevel::info : LogLevel::warning,
         in_time ? "stopped" : "stopped; some connections were closed at shutdown.timeout",
         {{"took_ms", ms(clock_.steady() - began)}});
    if (!healthy) return Exit::store;
    return in_time && workers_in_time ? Exit::ok
                                      : static_cast<Exit>(settings_.shutdown_timeout_exit_code);
  }

  const config::Config& config_;
  const config::Settings& settings_;
  const ServeContext& context_;
  Clock& clock_;
  LogWriter& writer_;
  const Log log_;
  Signals& signals_;
  const access::MadeKey own_key_;
  access::KeyBook book_;
  api::StoredKeys keys_;
  api::StoredSessions sessions_;
  api::ActionLog actions_;
  pages::Dashboard dashboard_;
  api::Api api_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LocalBroker> broker_;
  worker::DelivererOptions deliverer_options_;
  std::unique_ptr<worker::Deliverer> deliverer_;
  std::unique_ptr<worker::BulkWorker> bulk_;
  Listeners listeners_;
  std::optional<Supervisor> workers_;  // last, so that it is destroyed first
  std::chrono::nanoseconds opened_in_{};
};

}  // namespace

Exit serve(const config::Config& config, const ServeContext& context) {
  if (config.settings.role == "worker") return serve_as_worker(config, context);
  Signals signals({SIGHUP, SIGCHLD, SIGTTIN, SIGTTOU});
  const bool text = config.settings.log_format == "text";
  LogWriter writer(context.clock,
                   {.least = config::log_level_of(config.settings),
                    .format = text ? LogFormat::text : LogFormat::json,
                    .colours = context.colours},
                   write_to_standard_error);
  const Exit exit = Server(config, context, writer, signals).run();
  writer.stop(log_patience);
  return exit;
}

}  // namespace millrace

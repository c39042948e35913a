// A Broker that passes everything on to another: for tests that change one verb.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"

namespace millrace::test {

class ForwardingBroker : public Broker {
 public:
  explicit ForwardingBroker(Broker& next) : next_(next) {}

  TimePoint now() override { return next_.now(); }
  CallerId new_caller() override { return next_.new_caller(); }
  void leave(CallerId caller) override { next_.leave(caller); }
  void give_back(const WorkResult& result) override { next_.give_back(result); }

  void put(Ask ask, std::vector<NewTask> tasks,
           Completion<std::vector<Result<Put>>> done) override {
    next_.put(ask, std::move(tasks), std::move(done));
  }
  void put_all(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Put>> done) override {
    next_.put_all(ask, std::move(tasks), std::move(done));
  }
  void parents(Ask ask, TaskRef task, ParentsRequest request, Completion<Parents> done) override {
    next_.parents(ask, task, request, std::move(done));
  }
  void work(Ask ask, WorkOrder order, Completion<WorkResult> done) override {
    next_.work(ask, std::move(order), std::move(done));
  }
  void await(Ask ask, TaskRef task, Duration wait, Completion<Task> done) override {
    next_.await(ask, task, wait, std::move(done));
  }
  void list(Ask ask, ListRequest request, Completion<TaskPage> done) override {
    next_.list(ask, std::move(request), std::move(done));
  }
  void explain(Ask ask, TaskRef task, Completion<Explanation> done) override {
    next_.explain(ask, task, std::move(done));
  }
  void cancel(Ask ask, std::vector<TaskId> tasks, std::string reason,
              Completion<States> done) override {
    next_.cancel(ask, std::move(tasks), std::move(reason), std::move(done));
  }
  void retry(Ask ask, std::vector<TaskId> tasks, Completion<States> done) override {
    next_.retry(ask, std::move(tasks), std::move(done));
  }
  void remove(Ask ask, std::vector<TaskId> tasks, Completion<States> done) override {
    next_.remove(ask, std::move(tasks), std::move(done));
  }
  void update(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done) override {
    next_.update(ask, std::move(updates), std::move(done));
  }
  void redeliver(Ask ask, TaskId task, Completion<Put> done) override {
    next_.redeliver(ask, task, std::move(done));
  }
  void handle_dead(Ask ask, DeadLetters which, DeadAction action,
                   Completion<Handled> done) override {
    next_.handle_dead(ask, std::move(which), action, std::move(done));
  }
  void queues(Ask ask, std::optional<QueueRef> queue,
              Completion<std::vector<QueueView>> done) override {
    next_.queues(ask, std::move(queue), std::move(done));
  }
  void put_queue(Ask ask, QueueSettings settings, PutQueue mode, Completion<Queue> done) override {
    next_.put_queue(ask, std::move(settings), mode, std::move(done));
  }
  void change_queue(Ask ask, QueueRef queue, QueueChange change, Completion<Queue> done) override {
    next_.change_queue(ask, std::move(queue), std::move(change), std::move(done));
  }
  void remove_queue(Ask ask, QueueRef queue, bool force, Completion<void> done) override {
    next_.remove_queue(ask, std::move(queue), force, std::move(done));
  }
  void clear(Ask ask, QueueRef queue, Completion<std::uint64_t> done) override {
    next_.clear(ask, std::move(queue), std::move(done));
  }
  void groups(Ask ask, GroupsRequest request, Completion<GroupPage> done) override {
    next_.groups(ask, std::move(request), std::move(done));
  }
  void change_group(Ask ask, QueueRef queue, std::string name, GroupChange change,
                    Completion<Group> done) override {
    next_.change_group(ask, std::move(queue), std::move(name), std::move(change), std::move(done));
  }
  void workers(Ask ask, Completion<std::vector<WorkerView>> done) override {
    next_.workers(ask, std::move(done));
  }
  void beat(Ask ask, WorkerReport report, Completion<Instructions> done) override {
    next_.beat(ask, std::move(report), std::move(done));
  }
  Traits traits() override { return next_.traits(); }
  std::optional<Error> failure() override { return next_.failure(); }

 private:
  Broker& next_;
};

}  // namespace millrace::test

-- A queue as it is from now on.
insert into millrace.queues ({{queue}})
values (:queue, :name, :number, :id, :description, :active, :draining, :removing, :paused_until,
        :max_concurrent, :max_depth, :put_max, :put_per, :process_max, :process_per, :priority, :weight,
        :ageing, :lease, :timeout, :batch_size, :max_lost, :dead_letters, :keep_completed_for,
        :keep_completed_last, :keep_dead_for, :keep_dead_last, :completed_class, :dead_class, :policies,
        :created_at, :updated_at)
on conflict (queue) do update set ({{queue}}) = row ({{excluded.queue}})

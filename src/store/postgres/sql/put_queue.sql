-- A queue as it is from now on.
insert into millrace.queues
  (queue, name, number, id, description, active, draining, removing, paused_until, max_concurrent,
   max_depth, put_max, put_per, process_max, process_per, priority, weight, ageing, lease, timeout,
   batch_size, max_lost, dead_letters, keep_completed_for, keep_completed_last, keep_dead_for,
   keep_dead_last, completed_class, dead_class, policies, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)
on conflict (queue) do update
   set (name, number, id, description, active, draining, removing, paused_until, max_concurrent,
        max_depth, put_max, put_per, process_max, process_per, priority, weight, ageing, lease,
        timeout, batch_size, max_lost, dead_letters, keep_completed_for, keep_completed_last,
        keep_dead_for, keep_dead_last, completed_class, dead_class, policies, created_at,
        updated_at)
     = ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
        $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)

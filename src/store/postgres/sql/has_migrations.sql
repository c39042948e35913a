-- Whether there is anything yet.
select to_regclass('millrace.migrations') is not null

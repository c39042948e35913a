-- Adds a number.
--
-- $1  the number

insert into millrace.numbers (value) values ($1) -- "quoted"; [in brackets]
returning value, '\n;' as text;

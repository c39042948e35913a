-- A migration, as far as the test is concerned; with ; and [brackets] and \backslashes in comments.
create schema if not exists "millrace";
create table if not exists millrace.numbers (value bigint primary key);

-- Makes the schema. Not "if not exists", which needs the right to make one even where it is there.
create schema "millrace"

-- Makes the schema. Not "if not exists", which needs the right to make one even where it exists.
create schema "millrace"

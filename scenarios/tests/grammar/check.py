"""Holds T-SQL against two grammars that are not ours: sqlfluff's, which may leave no part unparsed, and sqlglot's, which may
fall back to no opaque command. Neither is SQL Server: what they let pass may still be refused there.

Reads texts from standard input: name, NUL, text, NUL, and so on. Ends with 1 when one of them is refused, or when one of the
broken statements below is not.
"""

import logging
import re
import sys

import sqlglot
from sqlfluff.core import FluffConfig, Linter
from sqlglot import exp

# Each is refused by one grammar at least, or this check is worth nothing.
BROKEN = [
    "SELECT TOP 6) w_id FROM warehouse",
    "CREATE PROCEDURE dbo.slev @st_w_id int BEGIN SELECT 1; END",
    "CREATE PROCEDURE dbo.slev AS BEGIN WHILE 1 = 1 BEGIN SELECT 1; END",
    "UPDATE district SET d_next_o_id = d_next_o_id + 1 OUTPUT WHERE d_id = @P1",
    "SELECT c_id FROM customer WHERE c_last = @P1 FOR UPDATE",
    "INSERT INTO new_order (no_o_id, no_d_id no_w_id) VALUES (@P1, @P2, @P3)",
    "CREATE TABLE stock (s_i_id int NOT NULL, s_data char(50 NULL)",
    "DELETE new_order FROM WHERE no_w_id = @P1",
    "IF @@ROWCOUNT = 0 THEN THROW 50001, N'no such customer', 1",
    "DECLARE @line int @item int",
    "SELECT CASE WHEN a = 1 THEN 0 ELSE 1 FROM t",
    "CREATE INDEX ON orders (o_w_id)",
    "EXEC dbo.neword @no_w_id = , @no_d_id = @P1",
    "CREATE TABLE IF NOT EXISTS item (i_id int)",
    "ALTER TABLE dbo.item SET LOCK_ESCALATION = DISABLE",
    "SELECT o_id FROM orders ORDER BY o_id LIMIT 1",
    "UPDATE history SET h_date = NOW()",
    "SELECT `c_id` FROM customer",
]

# What other databases say and both grammars let pass.
FOREIGN = re.compile(r"\bLIMIT\s+\d|\bNOW\s*\(|\bIFNULL\s*\(|\bELT\s*\(|`|\|\||::", re.IGNORECASE)

# Correct by Microsoft's syntax page of ALTER TABLE, but beyond sqlfluff: sqlglot alone judges it.
BEYOND_SQLFLUFF = re.compile(r"ALTER TABLE [\w.]+ SET \(LOCK_ESCALATION = DISABLE\)")

# Correct by Microsoft's page of DBCC TRACESTATUS, but beyond sqlglot: sqlfluff alone judges it.
BEYOND_SQLGLOT = re.compile(r"DBCC TRACESTATUS \(-1\) WITH NO_INFOMSGS")

# Neither knows any RESTORE. The statements that change something are held against a grammar of our own (tests/tsql_grammar); this one
# asks for a backup's label and is as Microsoft's page of RESTORE LABELONLY has it.
BEYOND_BOTH = re.compile(r"RESTORE LABELONLY FROM DISK = N'(?:[^']|'')*';?")

# T-SQL inside of T-SQL.
INNER = re.compile(r"@(?:statement|tsql) = N'((?:[^']|'')*)'")
QUOTED = re.compile(r"'(?:[^']|'')*'|\[[^\]]*\]")

linter = Linter(config=FluffConfig(overrides={"dialect": "tsql"}))


def sqlfluff_objects(sql):
    parsed = linter.parse_string(sql)
    if parsed.violations:
        return str(parsed.violations[0])
    unparsed = next(parsed.tree.recursive_crawl("unparsable"), None)
    return unparsed and f"unparsed: {unparsed.raw}"


def sqlglot_objects(sql):
    try:
        trees = sqlglot.parse(sql, dialect="tsql")
    except sqlglot.errors.SqlglotError as error:
        return str(error)
    commands = (command for tree in trees if tree for command in tree.find_all(exp.Command))
    command = next(commands, None)
    return command and f"opaque command: {command.sql()}"


def objections(sql):
    foreign = FOREIGN.search(QUOTED.sub("''", sql))
    found = [foreign and f"not T-SQL: {foreign[0]}"]
    beyond_both = BEYOND_BOTH.fullmatch(sql)
    if not (beyond_both or BEYOND_SQLGLOT.fullmatch(sql)):
        found.append(sqlglot_objects(sql))
    if not (beyond_both or BEYOND_SQLFLUFF.fullmatch(sql)):
        found.append(sqlfluff_objects(sql))
    return [objection for objection in found if objection]


def with_inner(name, sql):
    yield name, sql
    for inner in INNER.finditer(sql):
        yield f"{name}, inner text", inner[1].replace("''", "'")


def main():
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    fields = sys.stdin.read().split("\0")
    texts = [text for name, sql in zip(fields[::2], fields[1::2]) for text in with_inner(name, sql)]
    refused = [(name, sql, found) for name, sql in texts if (found := objections(sql))]
    for name, sql, found in refused:
        print(f"{name}: {'; '.join(found)}\n{sql}\n", file=sys.stderr)
    passed = [sql for sql in BROKEN if not objections(sql)]
    for sql in passed:
        print(f"a broken statement passes: {sql}", file=sys.stderr)
    print(f"grammar: {len(texts)} texts, {len(refused)} refused; {len(BROKEN)} broken statements, {len(passed)} passed")
    sys.exit(bool(refused or passed or not texts))


if __name__ == "__main__":
    main()

"""How a refusal reads: where, what, why, and what to write instead."""

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from tacit.base import Refused

__all__ = ["ARGUMENTS", "CLASSES", "FUNCTIONS", "WITH_ARGUMENTS", "place", "quoted", "refused", "shown"]

LONGEST = 60
WITH_ARGUMENTS = "with named arguments"  # a function that nobody can write, since its name has spaces


def refused(what: str, why: str, instead: str = "", *, at: exp.Expr | None = None) -> Refused:
    """The error for one construct. `what` is a noun phrase; `why` a clause; `instead` an order."""
    way_out = f": {instead}" if instead else ""
    return Refused(f"{place(at)}{what} is refused, since {why}{way_out}")


def place(node: exp.Expr | None) -> str:
    """Line and column of the first name inside a node, where the parser kept them."""
    for part in () if node is None else node.find_all(exp.Identifier, exp.Star, exp.Anonymous):
        meta = part.meta
        if "line" in meta and "col" in meta:
            column = meta["col"] - (meta.get("end", 0) - meta.get("start", 0))
            return f"line {meta['line']}, column {column}: "
    return ""


def quoted(name: str) -> str:
    """A name in messages, cut when it is long."""
    return f'"{name[:LONGEST]}…"' if len(name) > LONGEST else f'"{name}"'


def shown(node: exp.Expr) -> str:
    """A piece of the query in messages, on one line, without comments."""
    if any(part.this == WITH_ARGUMENTS for part in node.find_all(exp.Anonymous)):
        node = node.transform(_without_arguments)
    try:
        text = " ".join(node.sql(comments=False, unsupported_level=ErrorLevel.IGNORE).split())
    except Exception:  # the generator meets trees that only the parser of another dialect makes
        text = "a part of it"
    return f"{text[:LONGEST]}…" if len(text) > LONGEST else text


def _without_arguments(node: exp.Expr) -> exp.Expr:
    return node.expressions[0] if type(node) is exp.Anonymous and node.this == WITH_ARGUMENTS else node


Reason = tuple[str, str, str]
"""What, why, and what to write instead."""

SUBQUERY = (
    "a subquery inside an expression",
    "its value would depend on other people's rows before any noise is added",
    "join with it in FROM, on the unit or with a public table",
)
VOLATILE = (
    "a function that changes by itself",
    "the same question must mean the same thing when it is asked again",
    "write the constant, such as DATE '2024-03-01'",
)
WINDOW = ("a window function", "its value on one row depends on other people's rows",
          "aggregate by unit in a subquery, or order and rank the released answer yourself")  # fmt: skip
SETS = ("a set operation (UNION, INTERSECT, EXCEPT)", "its rows have more than one owner",
        "ask each part as a question of its own")  # fmt: skip
PIVOT = ("PIVOT", "its columns would come from the data", "use GROUP BY, or CASE for each column")
READS = (
    "a table function",
    "questions read declared tables only",
    "ask the curator to declare the table in the policy",
)
UNNEST = (
    "UNNEST or LATERAL",
    "it makes any number of rows out of one",
    "declare a table with one row for each element",
)
REGEX = ("a regular expression", "engines read patterns differently and can fail on them", "use LIKE, or SUBSTRING")
COLLECT = ("an aggregate that collects or picks single values", "it would release somebody's value as it is",
           "use MODE, MEDIAN, or COUNT by group")  # fmt: skip
TRUTH = ("BOOL_AND or BOOL_OR", "one row decides it", "use COUNT_IF(x) and compare it with a number")
NESTED = (
    "a list, structure, map or whole row",
    "values are plain numbers, texts, dates and truth values",
    "name the columns",
)
PARAMETER = ("a parameter of a prepared statement", "a question is complete when it is asked", "write the constant")
BITS = ("an operation on bits", "engines differ in it", "use arithmetic, or MOD")
WRITES = ("a statement that writes or sets something", "a question only reads", "begin with SELECT")
GROUPING = ("ROLLUP, CUBE or GROUPING SETS", "it is several questions in one", "ask one GROUP BY at a time")
ZONES = ("a time zone", "timestamps are without one", "convert the column before it is declared")


def _each(names: str, reason: Reason) -> dict[str, Reason]:
    return dict.fromkeys(names.split(), reason)


CLASSES: dict[str, Reason] = {
    **_each("Exists Any All", SUBQUERY),
    **_each(
        "CurrentDate CurrentTime CurrentTimestamp CurrentDatetime Localtime Localtimestamp Rand Randn Uuid "
        "CurrentUser SessionUser CurrentSchema CurrentCatalog CurrentVersion Randstr UnixTimestamp "
        "CurrentTimestampLTZ UtcTimestamp UtcDate UtcTime CurrentTimezone",
        VOLATILE,
    ),
    **_each(
        "Window WindowSpec RowNumber Rank DenseRank Lag Lead FirstValue LastValue NthValue Ntile PercentRank "
        "CumeDist Qualify",
        WINDOW,
    ),
    **_each("Union Intersect Except", SETS),
    **_each("Pivot Unpivot PivotAlias", PIVOT),
    **_each("ReadCSV ReadParquet TableFromRows Values GenerateSeries", READS),
    **_each("Unnest Lateral Explode ExplodeOuter Posexplode Inline", UNNEST),
    **_each(
        "RegexpLike RegexpILike RegexpExtract RegexpReplace RegexpSplit SimilarTo Glob RegexpExtractAll "
        "RegexpFullMatch RegexpCount RegexpInstr",
        REGEX,
    ),
    **_each(
        "ArrayAgg GroupConcat AnyValue First Last ArgMax ArgMin ArrayUniqueAgg JSONObjectAgg JSONArrayAgg "
        "ArrayConcatAgg IgnoreNulls RespectNulls List",
        COLLECT,
    ),
    **_each("LogicalAnd LogicalOr", TRUTH),
    **_each(
        "Tuple Struct Map Bracket Dot Lambda ToMap JSONExtract JSONExtractScalar Slice PropertyEQ ColumnDef "
        "MapFromEntries VarMap",
        NESTED,
    ),
    **_each("Placeholder Parameter SessionParameter", PARAMETER),
    **_each("BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseLeftShift BitwiseRightShift", BITS),
    **_each(
        "Insert Update Delete Create Drop Alter Command Copy Attach Detach Set Pragma Merge Use TruncateTable "
        "Describe Show Export Install Transaction Commit",
        WRITES,
    ),
    **_each("Rollup Cube GroupingSets", GROUPING),
    **_each("AtTimeZone ConvertTimezone", ZONES),
    "Columns": ("COLUMNS(…)", "which columns it means depends on the table", "name the columns"),
    "Kwarg": ("a named argument", "this function has none", "leave it out"),
    "TableSample": ("a sample of a table", "tacit accounts for all rows", "leave it out"),
    "Fetch": ("FETCH", "LIMIT says the same", "write LIMIT 10"),
    "ApproxDistinct": ("APPROX_COUNT_DISTINCT", "its sketch has no bounded sensitivity", "use COUNT(DISTINCT x)"),
    "Collate": ("COLLATE", "texts are compared character by character in every engine", "leave it out"),
}

ARGUMENTS: dict[tuple[str, str], Reason] = {
    ("In", "query"): SUBQUERY,
    ("In", "unnest"): UNNEST,
    ("In", "field"): NESTED,
    ("Order", "this"): ("ORDER BY inside an aggregate", "no aggregate here has an order", "leave it out"),
    ("", "qualify"): WINDOW,
    ("", "windows"): WINDOW,
    ("", "pivots"): PIVOT,
    ("", "laterals"): UNNEST,
    ("", "sample"): ("a sample of a table", "tacit accounts for all rows", "leave it out"),
    ("", "into"): WRITES,
    ("", "locks"): WRITES,
    ("", "hint"): ("a hint", "the analyst's SQL is never given to the engine", "leave it out"),
    ("", "hints"): ("a hint", "the analyst's SQL is never given to the engine", "leave it out"),
    ("", "rollup"): GROUPING,
    ("", "cube"): GROUPING,
    ("", "grouping_sets"): GROUPING,
    ("", "totals"): GROUPING,
    ("With", "recursive"): ("WITH RECURSIVE", "its rows have no one owner", "write the query without recursion"),
    ("Join", "method"): (
        "a NATURAL, ASOF or POSITIONAL join",
        "which rows it matches is not a matter of equal keys",
        "write JOIN … ON a.key = b.key, or USING (key)",
    ),
    ("Distinct", "on"): ("DISTINCT ON", "it picks single rows", "use MIN or MAX by unit in a subquery"),
    ("Column", "db"): (
        "a column with more than its table's name",
        "tables are known by one name",
        "write table.column",
    ),
    ("Column", "catalog"): (
        "a column with more than its table's name",
        "tables are known by one name",
        "write table.column",
    ),
    ("Table", "db"): (
        "a table of another schema or database",
        "only the tables of the policy exist",
        "use its name in the policy alone",
    ),
    ("Table", "catalog"): (
        "a table of another schema or database",
        "only the tables of the policy exist",
        "use its name in the policy alone",
    ),
    ("Star", "except_"): ("* EXCLUDE", "which columns it means depends on the table", "name the columns"),
    ("Star", "replace"): ("* REPLACE", "which columns it means depends on the table", "name the columns"),
    ("Select", "kind"): ("SELECT AS STRUCT or VALUE", "values are plain", "select columns"),
    ("Limit", "limit_options"): ("LIMIT in percent or with ties", "it depends on the data", "write LIMIT 10"),
    ("Limit", "expressions"): ("LIMIT BY", "it depends on the data", "write LIMIT 10"),
    ("Between", "symmetric"): ("BETWEEN SYMMETRIC", "engines differ in it", "write the lower end first"),
}

FUNCTIONS: dict[str, Reason] = {
    **_each(
        "now today current_date current_time current_timestamp getdate sysdate random rand uuid "
        "gen_random_uuid setseed clock_timestamp statement_timestamp transaction_timestamp timeofday "
        "get_current_time get_current_timestamp nextval currval txid_current pg_sleep current_setting "
        "set_config version current_query getvariable getenv input_file_name monotonically_increasing_id "
        "spark_partition_id current_user session_user",
        VOLATILE,
    ),
    **_each(
        "string_agg list array_agg any_value first last arg_max arg_min max_by min_by listagg group_concat "
        "collect_list collect_set bit_and bit_or bit_xor",
        COLLECT,
    ),
    **_each("bool_and bool_or every", TRUTH),
    **_each("row_number rank dense_rank lag lead ntile", WINDOW),
    **_each("row struct_pack struct list_value map", NESTED),
    **_each(
        "read_csv read_csv_auto read_parquet read_json read_text read_blob glob range generate_series "
        "sniff_csv parquet_scan pg_read_file dblink lo_import query_table query duckdb_tables "
        "pragma_table_info iceberg_scan postgres_scan sqlite_scan",
        READS,
    ),
}

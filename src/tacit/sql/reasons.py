"""Why syntax is refused: what it is, the reason, what to write instead, and whether it is a danger or only missing."""

from typing import NamedTuple

from tacit.base import RefusalKind
from tacit.plan.question import INTERVAL_ENDS
from tacit.sql.mistake import WITH_ARGUMENTS

__all__ = ["ARGUMENTS", "CALLED", "CLASSES", "FUNCTIONS", "MISPLACED", "MISSING", "SUBQUERY", "UNKNOWN", "Reason"]

UNKNOWN, MISSING = "it is not among the known constructs", RefusalKind.UNSUPPORTED


class Reason(NamedTuple):
    """What is refused, why, what to write instead, and whether it is a danger or only missing."""

    what: str
    why: str
    instead: str
    kind: RefusalKind = RefusalKind.DANGER


SUBQUERY = Reason(
    "a subquery inside an expression",
    "its value would depend on other people's rows before any noise is added",
    "join with it in FROM, on the unit or with a public table",
)
VOLATILE = Reason(
    "a function that changes by itself",
    "the same question must mean the same thing when it is asked again",
    "write the constant, such as DATE '2024-03-01'",
)
WINDOW = Reason(
    "a window function",
    "its value on one row depends on other people's rows",
    "use it over aggregates, as in RANK() OVER (ORDER BY COUNT(*)), or aggregate by unit in a subquery",
)
SETS = Reason(
    "a set operation (UNION, INTERSECT, EXCEPT)",
    "its rows have more than one owner",
    "ask each part as a question of its own",
    MISSING,
)
PIVOT = Reason("PIVOT", "its columns would come from the data", "use GROUP BY, or CASE for each column", MISSING)
READS = Reason(
    "a table function", "questions read declared tables only", "ask the curator to declare the table in the policy"
)
UNNEST = Reason(
    "UNNEST or LATERAL",
    "it makes any number of rows out of one",
    "declare a table with one row for each element",
    MISSING,
)
REGEX = Reason(
    "a regular expression",
    "which of several matches it takes differs between engines",
    "use REGEXP_LIKE(x, pattern) or SPLIT_PART",
    MISSING,
)
COLLECT = Reason(
    "an aggregate that collects or picks single values",
    "it would release somebody's value as it is",
    "use MODE, MEDIAN, or COUNT by group",
)
TRUTH = Reason("BOOL_AND or BOOL_OR", "one row decides it", "use COUNT_IF(x) and compare it with a number")
NESTED = Reason(
    "a list, structure, map or whole row",
    "values are plain numbers, texts, dates and truth values",
    "name the columns",
    MISSING,
)
PARAMETER = Reason(
    "a parameter of a prepared statement", "a question is complete when it is asked", "write the constant", MISSING
)
BITS = Reason("an operation on bits", "engines differ in it", "use arithmetic, or MOD", MISSING)
WRITES = Reason("a statement that writes or sets something", "a question only reads", "begin with SELECT")
GROUPING = Reason(
    "ROLLUP, CUBE or GROUPING SETS here",
    "it is for private rows, in a query that is measured",
    "group by plain keys",
    MISSING,
)
ZONES = Reason("a time zone", "timestamps are without one", "convert the column before it is declared", MISSING)


QUALIFIED = Reason(
    "a column with more than its table's name", "tables are known by one name", "write table.column", MISSING
)
ELSEWHERE = Reason(
    "a table of another schema or database", "only the tables of the policy exist", "use its name in the policy alone"
)


def _each(names: str, reason: Reason) -> dict[str, Reason]:
    return dict.fromkeys(names.split(), reason)


CLASSES: dict[str, Reason] = {
    **_each("Any All", SUBQUERY),
    **_each(
        "CurrentDate CurrentTime CurrentTimestamp CurrentDatetime Localtime Localtimestamp Rand Randn Uuid "
        "CurrentUser SessionUser CurrentSchema CurrentCatalog CurrentVersion Randstr UnixTimestamp "
        "CurrentTimestampLTZ UtcTimestamp UtcDate UtcTime CurrentTimezone",
        VOLATILE,
    ),
    **_each("NthValue", WINDOW),
    **_each("Intersect Except", SETS),
    **_each("Pivot Unpivot PivotAlias", PIVOT),
    **_each("ReadCSV ReadParquet TableFromRows Values GenerateSeries", READS),
    **_each("Unnest Lateral Explode ExplodeOuter Posexplode Inline", UNNEST),
    **_each(
        "RegexpExtract RegexpReplace RegexpSplit Glob RegexpExtractAll RegexpCount RegexpInstr",
        REGEX,
    ),
    **_each(
        "ArrayAgg GroupConcat AnyValue First Last ArgMax ArgMin ArrayUniqueAgg JSONObjectAgg JSONArrayAgg "
        "ArrayConcatAgg IgnoreNulls RespectNulls List",
        COLLECT,
    ),
    **_each("LogicalAnd LogicalOr", TRUTH),
    **_each(
        "Struct Map Bracket Dot Lambda ToMap JSONExtract JSONExtractScalar Slice PropertyEQ ColumnDef "
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
    **_each("AtTimeZone ConvertTimezone", ZONES),
    "Columns": Reason("COLUMNS(…)", "which columns it means depends on the table", "name the columns", MISSING),
    "Kwarg": Reason("a named argument", "this function has none", "leave it out", MISSING),
    "TableSample": Reason("a sample of a table", "tacit accounts for all rows", "leave it out", MISSING),
    "Fetch": Reason("FETCH in percent or WITH TIES", "it depends on the data", "write LIMIT 10", MISSING),
    "Collate": Reason("COLLATE", "texts are compared character by character in every engine", "leave it out", MISSING),
}

MISPLACED: dict[str, Reason] = {
    **_each("Window RowNumber Rank DenseRank Lag Lead FirstValue LastValue Ntile PercentRank CumeDist Qualify", WINDOW),
    **_each("Exists", SUBQUERY),
    **_each("Union", SETS),
    **_each("Tuple", NESTED),
    **_each("Rollup Cube GroupingSets Grouping", GROUPING),
}
"""Why what is known is refused in a place where it has no meaning."""

ARGUMENTS: dict[tuple[str, str], Reason] = {
    ("In", "unnest"): UNNEST,
    ("In", "field"): NESTED,
    ("Order", "this"): Reason(
        "ORDER BY inside an aggregate", "no aggregate here has an order", "leave it out", MISSING
    ),
    ("", "qualify"): WINDOW,
    ("", "windows"): WINDOW,
    ("", "pivots"): PIVOT,
    ("", "laterals"): UNNEST,
    ("", "sample"): Reason("a sample of a table", "tacit accounts for all rows", "leave it out", MISSING),
    ("", "into"): WRITES,
    ("", "locks"): WRITES,
    ("", "hint"): Reason("a hint", "the analyst's SQL is never given to the engine", "leave it out", MISSING),
    ("", "hints"): Reason("a hint", "the analyst's SQL is never given to the engine", "leave it out", MISSING),
    ("", "totals"): GROUPING,
    ("With", "recursive"): Reason("WITH RECURSIVE", "its rows have no one owner", "write the query without recursion"),
    ("Join", "method"): Reason(
        "an ASOF or POSITIONAL join",
        "which rows it matches is not a matter of equal keys",
        "write JOIN … ON a.key = b.key, or USING (key)",
        MISSING,
    ),
    ("Distinct", "on"): Reason("DISTINCT ON", "it picks single rows", "use MIN or MAX by unit in a subquery"),
    **dict.fromkeys((("Column", "db"), ("Column", "catalog")), QUALIFIED),
    **dict.fromkeys((("Table", "db"), ("Table", "catalog")), ELSEWHERE),
    ("Star", "except_"): Reason(
        "* EXCLUDE", "which columns it means depends on the table", "name the columns", MISSING
    ),
    ("Star", "replace"): Reason(
        "* REPLACE", "which columns it means depends on the table", "name the columns", MISSING
    ),
    ("Select", "kind"): Reason("SELECT AS STRUCT or VALUE", "values are plain", "select columns", MISSING),
    ("Limit", "limit_options"): Reason(
        "LIMIT in percent or with ties", "it depends on the data", "write LIMIT 10", MISSING
    ),
    ("Limit", "expressions"): Reason("LIMIT BY", "it depends on the data", "write LIMIT 10", MISSING),
}

CALLED = {
    WITH_ARGUMENTS, "clamp", "ends_with", "suffix", "prefix", "date_part", "square", "zeroifnull", "nullifzero",
    "isnull", "div0", "mean", "histogram", "top_k", "quantile", "covariance", *INTERVAL_ENDS,
}  # fmt: skip
"""Functions without a node of their own that have a meaning, in functions.py, expressions.py and aggregates.py."""

FUNCTIONS: dict[str, Reason] = {
    **_each(
        "now today current_date current_time current_timestamp getdate sysdate random rand uuid "
        "gen_random_uuid newid newsequentialid setseed clock_timestamp statement_timestamp transaction_timestamp "
        "timeofday get_current_time get_current_timestamp nextval currval txid_current pg_sleep current_setting "
        "set_config version current_query getvariable getenv input_file_name monotonically_increasing_id "
        "spark_partition_id current_user session_user",
        VOLATILE,
    ),
    **_each(
        "string_agg list array_agg any_value first last arg_max arg_min max_by min_by listagg group_concat "
        "collect_list collect_set bit_and bit_or bit_xor json_object_agg json_agg jsonb_agg object_agg map_agg xmlagg",
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

"""The allow-list of syntax: which nodes of the parser's tree are known, which of their arguments, and why others not.

The whole tree is checked before anything is lowered. What is not listed is refused, also when a new release of the
parser adds a node, or an argument to a node that is listed.
"""

from typing import NamedTuple

from sqlglot import exp

from tacit.base import Mistake, RefusalKind, Refused
from tacit.sql.mistake import WITH_ARGUMENTS, place, quoted, refused, shown

__all__ = [
    "ALLOWED",
    "ARGUMENTS",
    "CALLED",
    "CLASSES",
    "FUNCTIONS",
    "MOST_DEEP",
    "MOST_NODES",
    "SUBQUERY",
    "Reason",
    "check",
]

MOST_NODES = 10_000
MOST_DEEP = 100

ONE = {"this"}
TWO = {"this", "expression"}
ALLOWED: dict[type[exp.Expr], set[str]] = {
    # queries
    exp.Select: {"with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit",
                 "offset"},
    exp.From: ONE,
    exp.Join: {"this", "on", "side", "kind", "using"},
    exp.Where: ONE,
    exp.Group: {"expressions", "all"},
    exp.Having: ONE,
    exp.Order: {"expressions"},
    exp.Ordered: {"this", "desc", "nulls_first"},
    exp.Limit: {"expression"},
    exp.Offset: {"expression"},
    exp.With: {"expressions"},
    exp.CTE: {"this", "alias", "materialized"},
    exp.Subquery: {"this", "alias"},
    exp.Table: {"this", "alias"},
    exp.TableAlias: {"this", "columns"},
    exp.Distinct: {"expressions"},
    # names and constants
    exp.Column: {"this", "table"},
    exp.Identifier: {"this", "quoted"},
    exp.Star: set(),
    exp.Alias: {"this", "alias"},
    exp.Literal: {"this", "is_string"},
    exp.Boolean: ONE,
    exp.Null: set(),
    exp.Var: ONE,
    exp.Interval: {"this", "unit"},
    exp.DataType: {"this", "expressions", "nested"},
    exp.DataTypeParam: ONE,
    exp.Array: {"expressions", "value_constructor", "bracket_notation"},
    # logic and comparison
    exp.Paren: ONE,
    exp.And: TWO, exp.Or: TWO, exp.Not: ONE,
    exp.EQ: TWO, exp.NEQ: TWO, exp.LT: TWO, exp.LTE: TWO, exp.GT: TWO, exp.GTE: TWO,
    exp.NullSafeEQ: TWO, exp.NullSafeNEQ: TWO,
    exp.Is: {"this", "expression", "negate"},
    exp.In: {"this", "expressions"},
    exp.Between: {"this", "low", "high"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
    exp.Escape: TWO,
    exp.RegexpLike: {"this", "expression", "flag"}, exp.RegexpILike: {"this", "expression", "flag"},
    exp.RegexpFullMatch: {"this", "expression", "options"}, exp.SimilarTo: TWO,
    exp.StartsWith: TWO, exp.EndsWith: TWO, exp.Contains: TWO,
    exp.Case: {"this", "ifs", "default"},
    exp.If: {"this", "true", "false"},
    exp.Coalesce: {"this", "expressions"},
    exp.Nullif: TWO,
    exp.Nvl2: {"this", "true", "false"},
    exp.DecodeCase: {"expressions"},
    # arithmetic
    exp.Add: TWO, exp.Sub: TWO, exp.Mul: TWO, exp.Mod: TWO, exp.IntDiv: TWO, exp.SafeDivide: TWO,
    exp.Div: {"this", "expression", "typed", "safe"},
    exp.Neg: ONE, exp.Abs: ONE, exp.Sign: ONE, exp.Sqrt: ONE, exp.Ln: ONE, exp.Exp: ONE,
    exp.Floor: ONE, exp.Ceil: ONE, exp.Trunc: {"this", "decimals", "fractions_supported"},
    exp.Cbrt: ONE, exp.Degrees: ONE, exp.Radians: ONE, exp.Pi: set(),
    exp.WidthBucket: {"this", "min_value", "max_value", "num_buckets"},
    exp.Round: {"this", "decimals"},
    exp.Log: TWO, exp.Pow: TWO,
    exp.Least: {"this", "expressions", "ignore_nulls"},
    exp.Greatest: {"this", "expressions", "ignore_nulls"},
    exp.Cast: {"this", "to"},
    exp.TryCast: {"this", "to", "safe", "requires_string"},
    # text
    exp.Lower: ONE, exp.Upper: ONE,
    exp.Length: ONE,
    exp.Trim: {"this", "position"},
    exp.Substring: {"this", "start", "length"},
    exp.Left: TWO, exp.Right: TWO,
    exp.Replace: {"this", "expression", "replacement"},
    exp.DPipe: {"this", "expression", "safe"},
    exp.StrPosition: {"this", "substr", "clamp_position"},
    exp.SplitPart: {"this", "delimiter", "part_index", "part_index_zero_as_one", "empty_delimiter_returns_whole"},
    exp.ConcatWs: {"expressions", "safe", "coalesce", "flatten"},
    exp.Pad: {"this", "expression", "fill_pattern", "is_left"},
    exp.Concat: {"expressions", "safe", "coalesce"},
    # dates
    exp.TimestampTrunc: {"this", "unit"},
    exp.DateTrunc: {"this", "unit"},
    exp.Extract: TWO,
    exp.Year: ONE, exp.Quarter: ONE, exp.Month: ONE, exp.Day: ONE, exp.Hour: ONE, exp.Minute: ONE, exp.Second: ONE,
    exp.Week: ONE, exp.WeekOfYear: ONE, exp.DayOfYear: ONE, exp.DayOfMonth: ONE, exp.DayOfWeek: ONE,
    exp.DayOfWeekIso: ONE, exp.Monthname: {"this", "abbreviated"}, exp.Dayname: {"this", "abbreviated"},
    exp.LastDay: {"this", "unit"},
    exp.Date: ONE, exp.TsOrDsToDate: {"this", "safe"}, exp.TimeStrToTime: ONE, exp.TimeToUnix: ONE,
    exp.DateFromParts: {"year", "month", "day"},
    exp.TimeToStr: {"this", "format"}, exp.ToChar: {"this", "format"},
    exp.TimestampDiff: {"this", "expression", "unit"},
    exp.DatetimeDiff: {"this", "expression", "unit", "date_part_boundary"},
    exp.DateDiff: {"this", "expression", "unit", "date_part_boundary", "big_int"},
    exp.DateAdd: {"this", "expression", "unit"},
    exp.DateSub: {"this", "expression", "unit"},
    # aggregates
    exp.Count: {"this", "big_int"},
    exp.CountIf: ONE,
    exp.Sum: ONE, exp.Avg: ONE, exp.Min: ONE, exp.Max: ONE,
    exp.Variance: ONE, exp.VariancePop: ONE, exp.Stddev: ONE, exp.StddevPop: ONE, exp.StddevSamp: ONE,
    exp.CovarSamp: TWO, exp.CovarPop: TWO, exp.Corr: TWO,
    exp.Median: ONE, exp.Mode: ONE,
    exp.PercentileCont: TWO, exp.PercentileDisc: TWO,
    exp.WithinGroup: TWO,
    exp.Quantile: {"this", "quantile"},
    exp.ApproxQuantile: {"this", "quantile"},
    exp.ApproxQuantiles: TWO,
    exp.ApproxTopK: TWO,
    exp.Filter: TWO,
    exp.Anonymous: {"this", "expressions"},  # by name, in expressions.py and aggregates.py
}  # fmt: skip


def check(tree: exp.Expr) -> None:
    """Refuse a tree that holds anything unknown, or that is too large or too deep."""
    ahead: list[tuple[exp.Expr, int]] = [(tree, 1)]
    seen = 0
    while ahead:
        node, depth = ahead.pop()
        seen += 1
        if seen > MOST_NODES:
            raise Refused(
                f"this question has more than {MOST_NODES:,} parts: ask less at a time", kind=RefusalKind.LIMIT
            )
        if depth > MOST_DEEP:
            raise Refused(
                f"{place(node)}this is nested more than {MOST_DEEP} deep: write long sums as several columns, long "
                "lists of alternatives with IN, and take parts out into WITH",
                kind=RefusalKind.LIMIT,
            )
        _known(node)
        for name, value in node.args.items():
            # AND and OR are flattened when they are lowered, so a long chain of them is not deep
            flat = name == "this" and type(node) in (exp.And, exp.Or) and type(value) is type(node)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, exp.Expr):
                    ahead.append((part, depth + (not flat)))
                elif isinstance(part, list | tuple | dict):
                    raise refused(shown(node), UNKNOWN, "", MISSING, at=node)


def _known(node: exp.Expr) -> None:
    kind = type(node)
    allowed = ALLOWED.get(kind)
    if allowed is None:
        what, why, instead, said = CLASSES.get(kind.__name__, Reason("", UNKNOWN, "", MISSING))
        text = shown(node)
        label = f"{what} ({text})" if what and len(text) <= 40 else what or text
        raise refused(label, why, instead, said, at=node)
    if kind is exp.Anonymous:
        _known_name(node)
    for name, needed in kind.arg_types.items():
        if needed and node.args.get(name) is None:
            raise Mistake(f"{place(node)}{shown(node)} is unfinished: complete it")
    for name, value in node.args.items():
        if value is None or value is False or value == [] or name in allowed:
            continue
        found = ARGUMENTS.get((kind.__name__, name)) or ARGUMENTS.get(("", name)) or Reason("", UNKNOWN, "", MISSING)
        label = f"{name.strip('_').upper()} in {shown(node)}"
        raise refused(found.what or label, found.why, found.instead, found.kind, at=node)


def _known_name(node: exp.Expr) -> None:
    """A function that the parser knows by name only must be one that we know, whatever it stands in."""
    name = node.this.lower() if isinstance(node.this, str) else ""
    if name in FUNCTIONS:
        what, why, instead, kind = FUNCTIONS[name]
        raise refused(f"{what} ({name.upper()})", why, instead, kind, at=node)
    if name not in CALLED and isinstance(node.this, str):
        called = f"the function {quoted(name)}"
        way = "see the SQL reference for those there are"
        raise refused(called, "it is not among the known functions", way, MISSING, at=node)


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
    "aggregate by unit in a subquery, or order and rank the released answer yourself",
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
    "ROLLUP, CUBE or GROUPING SETS", "it is several questions in one", "ask one GROUP BY at a time", MISSING
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
    "Columns": Reason("COLUMNS(…)", "which columns it means depends on the table", "name the columns", MISSING),
    "Kwarg": Reason("a named argument", "this function has none", "leave it out", MISSING),
    "TableSample": Reason("a sample of a table", "tacit accounts for all rows", "leave it out", MISSING),
    "Fetch": Reason("FETCH in percent or WITH TIES", "it depends on the data", "write LIMIT 10", MISSING),
    "Collate": Reason("COLLATE", "texts are compared character by character in every engine", "leave it out", MISSING),
}

ARGUMENTS: dict[tuple[str, str], Reason] = {
    ("In", "query"): SUBQUERY,
    ("In", "unnest"): UNNEST,
    ("In", "field"): NESTED,
    ("Order", "this"): Reason(
        "ORDER BY inside an aggregate", "no aggregate here has an order", "leave it out", MISSING
    ),
    ("", "qualify"): Reason("QUALIFY", "it chooses by rank before noise is added", "use ORDER BY and LIMIT"),
    ("", "windows"): WINDOW,
    ("", "pivots"): PIVOT,
    ("", "laterals"): UNNEST,
    ("", "sample"): Reason("a sample of a table", "tacit accounts for all rows", "leave it out", MISSING),
    ("", "into"): WRITES,
    ("", "locks"): WRITES,
    ("", "hint"): Reason("a hint", "the analyst's SQL is never given to the engine", "leave it out", MISSING),
    ("", "hints"): Reason("a hint", "the analyst's SQL is never given to the engine", "leave it out", MISSING),
    ("", "rollup"): GROUPING,
    ("", "cube"): GROUPING,
    ("", "grouping_sets"): GROUPING,
    ("", "totals"): GROUPING,
    ("With", "recursive"): Reason("WITH RECURSIVE", "its rows have no one owner", "write the query without recursion"),
    ("Join", "method"): Reason(
        "a NATURAL, ASOF or POSITIONAL join",
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
    "isnull", "div0", "mean", "histogram", "top_k", "quantile", "covariance",
}  # fmt: skip
"""Functions without a node of their own that have a meaning, in functions.py, expressions.py and aggregates.py."""

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

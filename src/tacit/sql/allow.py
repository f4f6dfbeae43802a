"""The allow-list of syntax: which nodes of the parser's tree are known, which of their arguments, and why others not.

The whole tree is checked before anything is lowered. What is not listed is refused, also when a new release of the
parser adds a node, or an argument to a node that is listed.
"""

from sqlglot import exp

from tacit.base import Mistake, Refused
from tacit.sql.mistake import place, refused, shown

__all__ = ["ALLOWED", "CLASSES", "FUNCTIONS", "MISPLACED", "MOST_DEEP", "MOST_NODES", "SUBQUERY", "check"]

MOST_NODES = 10_000
MOST_DEEP = 100

ONE = {"this"}
TWO = {"this", "expression"}
ALLOWED: dict[type[exp.Expr], set[str]] = {
    # queries
    exp.Select: {"with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit",
                 "offset", "qualify", "windows"},
    exp.From: ONE,
    exp.Join: {"this", "on", "side", "kind", "using"},
    exp.Where: ONE,
    exp.Group: {"expressions", "all", "rollup", "cube", "grouping_sets"},
    exp.Rollup: {"expressions"}, exp.Cube: {"expressions"}, exp.GroupingSets: {"expressions"},
    exp.Grouping: {"expressions"},
    exp.Tuple: {"expressions"},
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
    exp.In: {"this", "expressions", "query"},
    exp.Exists: ONE,
    exp.Union: {"this", "expression", "distinct"},
    exp.Between: {"this", "low", "high"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
    exp.Escape: TWO,
    exp.StartsWith: TWO, exp.EndsWith: TWO, exp.Contains: TWO,
    exp.Case: {"this", "ifs", "default"},
    exp.If: {"this", "true", "false"},
    exp.Coalesce: {"this", "expressions"},
    exp.Nullif: TWO,
    # arithmetic
    exp.Add: TWO, exp.Sub: TWO, exp.Mul: TWO, exp.Mod: TWO, exp.IntDiv: TWO, exp.SafeDivide: TWO,
    exp.Div: {"this", "expression", "typed", "safe"},
    exp.Neg: ONE, exp.Abs: ONE, exp.Sign: ONE, exp.Sqrt: ONE, exp.Ln: ONE, exp.Exp: ONE,
    exp.Floor: ONE, exp.Ceil: ONE, exp.Trunc: ONE,
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
    exp.Concat: {"expressions", "safe", "coalesce"},
    # dates
    exp.TimestampTrunc: {"this", "unit"},
    exp.DateTrunc: {"this", "unit"},
    exp.Extract: TWO,
    exp.Year: ONE, exp.Quarter: ONE, exp.Month: ONE, exp.Day: ONE, exp.Hour: ONE, exp.Minute: ONE, exp.Second: ONE,
    exp.DateDiff: {"this", "expression", "unit", "date_part_boundary"},
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
    # windows, over released values or over the rows of one unit
    exp.Window: {"this", "partition_by", "order", "spec", "over", "alias"},
    exp.WindowSpec: {"kind", "start", "start_side", "end", "end_side"},
    exp.Qualify: ONE,
    exp.RowNumber: set(), exp.Rank: set(), exp.DenseRank: set(), exp.PercentRank: set(), exp.CumeDist: set(),
    exp.Ntile: ONE, exp.FirstValue: ONE, exp.LastValue: ONE,
    exp.Lag: {"this", "offset", "default"}, exp.Lead: {"this", "offset", "default"},
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
            raise Refused(f"this question has more than {MOST_NODES:,} parts: ask less at a time")
        if depth > MOST_DEEP:
            raise Refused(
                f"{place(node)}this is nested more than {MOST_DEEP} deep: write long sums as several columns, long "
                "lists of alternatives with IN, and take parts out into WITH"
            )
        _known(node)
        for name, value in node.args.items():
            # AND and OR are flattened when they are lowered, so a long chain of them is not deep
            flat = name == "this" and type(node) in (exp.And, exp.Or) and type(value) is type(node)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, exp.Expr):
                    ahead.append((part, depth + (not flat)))
                elif isinstance(part, list | tuple | dict):
                    raise refused(shown(node), "it is not among the known constructs", at=node)


def _known(node: exp.Expr) -> None:
    kind = type(node)
    allowed = ALLOWED.get(kind)
    if allowed is None:
        what, why, instead = CLASSES.get(kind.__name__, ("", "it is not among the known constructs", ""))
        text = shown(node)
        label = f"{what} ({text})" if what and len(text) <= 40 else what or text
        raise refused(label, why, instead, at=node)
    for name, needed in kind.arg_types.items():
        if needed and node.args.get(name) is None:
            raise Mistake(f"{place(node)}{shown(node)} is unfinished: complete it")
    for name, value in node.args.items():
        if value is None or value is False or value == [] or name in allowed:
            continue
        what, why, instead = ARGUMENTS.get((kind.__name__, name)) or ARGUMENTS.get(("", name)) or ("", "", "")
        label = f"{name.strip('_').upper()} in {shown(node)}"
        raise refused(what or label, why or "it is not among the known constructs", instead, at=node)


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
WINDOW = (
    "a window function",
    "its value on one row depends on other people's rows",
    "use it over aggregates, as in RANK() OVER (ORDER BY COUNT(*)), or aggregate by unit in a subquery",
)
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
GROUPING = ("ROLLUP, CUBE or GROUPING SETS here", "it is for private rows, in a query that is measured",
            "group by plain keys")  # fmt: skip
ZONES = ("a time zone", "timestamps are without one", "convert the column before it is declared")


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
    "Columns": ("COLUMNS(…)", "which columns it means depends on the table", "name the columns"),
    "Kwarg": ("a named argument", "this function has none", "leave it out"),
    "TableSample": ("a sample of a table", "tacit accounts for all rows", "leave it out"),
    "Fetch": ("FETCH", "LIMIT says the same", "write LIMIT 10"),
    "ApproxDistinct": ("APPROX_COUNT_DISTINCT", "its sketch has no bounded sensitivity", "use COUNT(DISTINCT x)"),
    "Collate": ("COLLATE", "texts are compared character by character in every engine", "leave it out"),
}

MISPLACED: dict[str, Reason] = {
    **_each("Window RowNumber Rank DenseRank Lag Lead FirstValue LastValue Ntile PercentRank CumeDist Qualify", WINDOW),
}
MISPLACED |= {**_each("Exists", SUBQUERY), **_each("Union", SETS), **_each("Tuple", NESTED)}
MISPLACED |= _each("Rollup Cube GroupingSets Grouping", GROUPING)
"""Why what is known is refused in a place where it has no meaning."""

ARGUMENTS: dict[tuple[str, str], Reason] = {
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

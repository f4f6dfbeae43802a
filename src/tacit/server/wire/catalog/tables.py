"""The catalogue's tables: their columns, their rows, and the types of what a question takes from them.

The rows are what a policy declares, as PostgreSQL would list it; nothing is read from the data. The policy is the one
that `Datasets` gives this person, which names what they may know of and nothing else.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from tacit.policy import Policy
from tacit.policy.column import Column
from tacit.policy.declaration import shown
from tacit.policy.kind import ColumnType
from tacit.server.auth.people import Identity
from tacit.server.wire.value import KINDS, WireField, kind_of

__all__ = ["CLASSES", "FIRST", "NAMESPACES", "SCHEMAS", "TABLES", "TYPES", "comments", "fields_of", "fill", "listed"]

LETTERS = {"o": "oid", "b": "bool", "i": "int4", "l": "int8", "f": "float8", "": "text"}

SPELLED = """
information_schema.check_constraints: constraint_catalog constraint_schema constraint_name check_clause
information_schema.columns: table_catalog table_schema table_name column_name ordinal_position:i column_default
  is_nullable data_type character_maximum_length:i character_octet_length:i numeric_precision:i
  numeric_precision_radix:i numeric_scale:i datetime_precision:i interval_type interval_precision:i
  character_set_catalog character_set_schema character_set_name collation_catalog collation_schema collation_name
  domain_catalog domain_schema domain_name udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name
  maximum_cardinality:i dtd_identifier is_self_referencing is_identity identity_generation identity_start
  identity_increment identity_maximum identity_minimum identity_cycle is_generated generation_expression is_updatable
information_schema.constraint_column_usage: table_catalog table_schema table_name column_name constraint_catalog
  constraint_schema constraint_name
information_schema.key_column_usage: constraint_catalog constraint_schema constraint_name table_catalog table_schema
  table_name column_name ordinal_position:i position_in_unique_constraint:i
information_schema.referential_constraints: constraint_catalog constraint_schema constraint_name
  unique_constraint_catalog unique_constraint_schema unique_constraint_name match_option update_rule delete_rule
information_schema.routines: specific_catalog specific_schema specific_name routine_catalog routine_schema
  routine_name routine_type module_catalog module_schema module_name udt_catalog udt_schema udt_name data_type
information_schema.schemata: catalog_name schema_name schema_owner default_character_set_catalog
  default_character_set_schema default_character_set_name sql_path
information_schema.sequences: sequence_catalog sequence_schema sequence_name data_type numeric_precision:i
  numeric_precision_radix:i numeric_scale:i start_value minimum_value maximum_value increment cycle_option
information_schema.table_constraints: constraint_catalog constraint_schema constraint_name table_catalog table_schema
  table_name constraint_type is_deferrable initially_deferred enforced nulls_distinct
information_schema.table_privileges: grantor grantee table_catalog table_schema table_name privilege_type is_grantable
  with_hierarchy
information_schema.tables: table_catalog table_schema table_name table_type self_referencing_column_name
  reference_generation user_defined_type_catalog user_defined_type_schema user_defined_type_name is_insertable_into
  is_typed commit_action
information_schema.views: table_catalog table_schema table_name view_definition check_option is_updatable
  is_insertable_into is_trigger_updatable is_trigger_deletable is_trigger_insertable_into
pg_catalog.pg_am: oid:o amname amhandler amtype
pg_catalog.pg_attrdef: oid:o adrelid:o adnum:i adbin
pg_catalog.pg_attribute: attrelid:o attname atttypid:o attstattarget:i attlen:i attnum:i attndims:i attcacheoff:i
  atttypmod:i attbyval:b attalign attstorage attcompression attnotnull:b atthasdef:b atthasmissing:b attidentity
  attgenerated attisdropped:b attislocal:b attinhcount:i attcollation:o attacl attoptions attfdwoptions attmissingval
pg_catalog.pg_auth_members: roleid:o member:o grantor:o admin_option:b
pg_catalog.pg_class: oid:o relname relnamespace:o reltype:o reloftype:o relowner:o relam:o relfilenode:o
  reltablespace:o relpages:i reltuples:f relallvisible:i reltoastrelid:o relhasindex:b relisshared:b relpersistence
  relkind relnatts:i relchecks:i relhasrules:b relhastriggers:b relhassubclass:b relrowsecurity:b
  relforcerowsecurity:b relispopulated:b relreplident relispartition:b relrewrite:o relfrozenxid relminmxid relacl
  reloptions relpartbound
pg_catalog.pg_collation: oid:o collname collnamespace:o collowner:o collprovider collisdeterministic:b collencoding:i
  collcollate collctype colliculocale collversion
pg_catalog.pg_constraint: oid:o conname connamespace:o contype condeferrable:b condeferred:b convalidated:b conrelid:o
  contypid:o conindid:o conparentid:o confrelid:o confupdtype confdeltype confmatchtype conislocal:b coninhcount:i
  connoinherit:b conkey confkey conpfeqop conppeqop conffeqop confdelsetcols conexclop conbin
pg_catalog.pg_database: oid:o datname datdba:o encoding:i datlocprovider datistemplate:b datallowconn:b datconnlimit:i
  datfrozenxid datminmxid dattablespace:o datcollate datctype daticulocale datcollversion datacl
pg_catalog.pg_depend: classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype
pg_catalog.pg_description: objoid:o classoid:o objsubid:i description
pg_catalog.pg_enum: oid:o enumtypid:o enumsortorder:f enumlabel
pg_catalog.pg_event_trigger: oid:o evtname evtevent evtowner:o evtfoid:o evtenabled evttags
pg_catalog.pg_extension: oid:o extname extowner:o extnamespace:o extrelocatable:b extversion extconfig extcondition
pg_catalog.pg_foreign_data_wrapper: oid:o fdwname fdwowner:o fdwhandler:o fdwvalidator:o fdwacl fdwoptions
pg_catalog.pg_foreign_server: oid:o srvname srvowner:o srvfdw:o srvtype srvversion srvacl srvoptions
pg_catalog.pg_foreign_table: ftrelid:o ftserver:o ftoptions
pg_catalog.pg_index: indexrelid:o indrelid:o indnatts:i indnkeyatts:i indisunique:b indnullsnotdistinct:b
  indisprimary:b indisexclusion:b indimmediate:b indisclustered:b indisvalid:b indcheckxmin:b indisready:b indislive:b
  indisreplident:b indkey indcollation indclass indoption indexprs indpred
pg_catalog.pg_indexes: schemaname tablename indexname tablespace indexdef
pg_catalog.pg_inherits: inhrelid:o inhparent:o inhseqno:i inhdetachpending:b
pg_catalog.pg_language: oid:o lanname lanowner:o lanispl:b lanpltrusted:b lanplcallfoid:o laninline:o lanvalidator:o
  lanacl
pg_catalog.pg_matviews: schemaname matviewname matviewowner tablespace hasindexes:b ispopulated:b definition
pg_catalog.pg_namespace: oid:o nspname nspowner:o nspacl
pg_catalog.pg_opclass: oid:o opcmethod:o opcname opcnamespace:o opcowner:o opcfamily:o opcintype:o opcdefault:b
  opckeytype:o
pg_catalog.pg_operator: oid:o oprname oprnamespace:o oprowner:o oprkind oprcanmerge:b oprcanhash:b oprleft:o
  oprright:o oprresult:o oprcom:o oprnegate:o oprcode oprrest oprjoin
pg_catalog.pg_partitioned_table: partrelid:o partstrat partnatts:i partdefid:o partattrs partclass partcollation
  partexprs
pg_catalog.pg_policy: oid:o polname polrelid:o polcmd polpermissive:b polroles polqual polwithcheck
pg_catalog.pg_proc: oid:o proname pronamespace:o proowner:o prolang:o procost:f prorows:f provariadic:o prosupport
  prokind prosecdef:b proleakproof:b proisstrict:b proretset:b provolatile proparallel pronargs:i pronargdefaults:i
  prorettype:o proargtypes proallargtypes proargmodes proargnames proargdefaults protrftypes prosrc probin prosqlbody
  proconfig proacl
pg_catalog.pg_publication: oid:o pubname pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b pubtruncate:b
  pubviaroot:b
pg_catalog.pg_publication_namespace: oid:o pnpubid:o pnnspid:o
pg_catalog.pg_publication_rel: oid:o prpubid:o prrelid:o prqual prattrs
pg_catalog.pg_range: rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical rngsubdiff
pg_catalog.pg_rewrite: oid:o rulename ev_class:o ev_type ev_enabled is_instead:b ev_qual ev_action
pg_catalog.pg_roles: rolname rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b rolreplication:b
  rolconnlimit:i rolpassword rolvaliduntil rolbypassrls:b rolconfig oid:o
pg_catalog.pg_sequence: seqrelid:o seqtypid:o seqstart:l seqincrement:l seqmax:l seqmin:l seqcache:l seqcycle:b
pg_catalog.pg_sequences: schemaname sequencename sequenceowner data_type start_value:l min_value:l max_value:l
  increment_by:l cycle:b cache_size:l last_value:l
pg_catalog.pg_settings: name setting unit category short_desc extra_desc context vartype source min_val max_val
  enumvals boot_val reset_val sourcefile sourceline:i pending_restart:b
pg_catalog.pg_shdescription: objoid:o classoid:o description
pg_catalog.pg_stat_user_tables: relid:o schemaname relname seq_scan:l seq_tup_read:l idx_scan:l idx_tup_fetch:l
  n_tup_ins:l n_tup_upd:l n_tup_del:l n_tup_hot_upd:l n_live_tup:l n_dead_tup:l n_mod_since_analyze:l
  n_ins_since_vacuum:l last_vacuum last_autovacuum last_analyze last_autoanalyze vacuum_count:l autovacuum_count:l
  analyze_count:l autoanalyze_count:l
pg_catalog.pg_statistic_ext: oid:o stxrelid:o stxname stxnamespace:o stxowner:o stxstattarget:i stxkeys stxkind
  stxexprs
pg_catalog.pg_tables: schemaname tablename tableowner tablespace hasindexes:b hasrules:b hastriggers:b rowsecurity:b
pg_catalog.pg_tablespace: oid:o spcname spcowner:o spcacl spcoptions
pg_catalog.pg_trigger: oid:o tgrelid:o tgparentid:o tgname tgfoid:o tgtype:i tgenabled tgisinternal:b tgconstrrelid:o
  tgconstrindid:o tgconstraint:o tgdeferrable:b tginitdeferred:b tgnargs:i tgattr tgargs tgqual tgoldtable tgnewtable
pg_catalog.pg_type: oid:o typname typnamespace:o typowner:o typlen:i typbyval:b typtype typcategory typispreferred:b
  typisdefined:b typdelim typrelid:o typsubscript typelem:o typarray:o typinput typoutput typreceive typsend typmodin
  typmodout typanalyze typalign typstorage typnotnull:b typbasetype:o typtypmod:i typndims:i typcollation:o
  typdefaultbin typdefault typacl
pg_catalog.pg_user: usename usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd valuntil useconfig
pg_catalog.pg_views: schemaname viewname viewowner definition
"""


def _read(spelled: str) -> Mapping[tuple[str, str], Mapping[str, str]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for entry in spelled.replace("\n  ", " ").strip().splitlines():
        name, columns = entry.split(": ", 1)
        schema, table = name.split(".")
        pairs = (column.partition(":") for column in columns.split())
        found[schema, table] = {column: LETTERS[kind] for column, _, kind in pairs}
    return found


TABLES = _read(SPELLED)
"""By schema and name: the type of each column."""
SCHEMAS = sorted({schema for schema, _ in TABLES})

OWNER, DATABASE, HEAP, NUMERIC = 10, 5, 2, 1700
NAMESPACES = {"pg_catalog": 11, "public": 2200, "information_schema": 13000}
CLASSES = {name: 9000 + number for number, (_, name) in enumerate(TABLES)}  # those with a number of PostgreSQL's follow
CLASSES |= {"pg_class": 1259, "pg_type": 1247, "pg_attribute": 1249, "pg_namespace": 2615, "pg_constraint": 2606}
FIRST = 16384
AFFINITY = {"text": "TEXT", "float8": "REAL"}
TYPES = {  # number: (name, as people read it, bytes, category, array of it, element)
    16: ("bool", "boolean", 1, "B", 1000, 0),
    19: ("name", "name", 64, "S", 1003, 0),
    20: ("int8", "bigint", 8, "N", 1016, 0),
    21: ("int2", "smallint", 2, "N", 1005, 0),
    23: ("int4", "integer", 4, "N", 1007, 0),
    25: ("text", "text", -1, "S", 1009, 0),
    26: ("oid", "oid", 4, "N", 1028, 0),
    701: ("float8", "double precision", 8, "N", 1022, 0),
    1043: ("varchar", "character varying", -1, "S", 1015, 0),
    1082: ("date", "date", 4, "D", 1182, 0),
    1114: ("timestamp", "timestamp without time zone", 8, "D", 1115, 0),
    1700: ("numeric", "numeric", -1, "N", 1231, 0),
    1000: ("_bool", "boolean[]", -1, "A", 0, 16),
    1009: ("_text", "text[]", -1, "A", 0, 25),
    1016: ("_int8", "bigint[]", -1, "A", 0, 20),
    1022: ("_float8", "double precision[]", -1, "A", 0, 701),
}


def listed(policy: Policy) -> dict[str, dict[str, Column]]:
    """The tables in the order of their numbers, with the columns that are not hidden."""
    return {
        name: {key: column for key, column in table.columns.items() if not column.hidden}
        for name, table in sorted(policy.tables.items())
    }


def comments(policy: Policy, who: Identity) -> dict[tuple[int, int], str]:
    """What is said of each table (column 0) and column."""
    rows = (row for table, row in _rows(policy, who, ()) if table == "pg_catalog.pg_description")
    return {(row["objoid"], row["objsubid"]): row["description"] for row in rows}


def fill(base: sqlite3.Connection, policy: Policy, who: Identity, settings: Sequence[tuple[str, str]]) -> None:
    """Create the catalogue's tables in an empty database and write their rows."""
    for schema in SCHEMAS:
        base.execute(f"ATTACH ':memory:' AS {schema}")
    for (schema, name), columns in TABLES.items():
        # declared, so that SQLite compares '16384' with a number as PostgreSQL does
        kinds = {column: AFFINITY.get(kind, "INTEGER") for column, kind in columns.items()}
        if schema == "pg_catalog":  # whose numbers and truths are 0 where nothing else is said
            kinds = {column: f"{kind} DEFAULT 0" if kind != "TEXT" else kind for column, kind in kinds.items()}
        names = ", ".join(f'"{column}" {kind}' for column, kind in kinds.items())
        base.execute(f"CREATE TABLE {schema}.{name} ({names})")
    for table, row in _rows(policy, who, settings):
        names = ", ".join(f'"{column}"' for column in row)
        base.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


Row = tuple[str, dict[str, Any]]


def _rows(policy: Policy, who: Identity, settings: Sequence[tuple[str, str]]) -> Iterator[Row]:
    dataset = policy.dataset.name
    for name, oid in NAMESPACES.items():
        yield "pg_catalog.pg_namespace", {"oid": oid, "nspname": name, "nspowner": OWNER}
        schema = {"catalog_name": dataset, "schema_name": name, "schema_owner": "tacit"}
        yield "information_schema.schemata", schema
    yield "pg_catalog.pg_am", {"oid": HEAP, "amname": "heap", "amtype": "t"}
    row = {"oid": DATABASE, "datname": dataset, "datdba": OWNER, "encoding": 6, "datlocprovider": "c"}
    more = {"datallowconn": 1, "datconnlimit": -1, "datcollate": "C", "datctype": "C"}
    yield "pg_catalog.pg_database", {**row, **more}
    for oid, name in ((OWNER, "tacit"), (OWNER + 1, who.name)):
        role = {"oid": oid, "rolname": name, "rolinherit": 1, "rolcanlogin": int(oid != OWNER), "rolconnlimit": -1}
        yield "pg_catalog.pg_roles", role
        yield "pg_catalog.pg_user", {"usename": name, "usesysid": oid}
    for name, value in settings:
        yield "pg_catalog.pg_settings", {"name": name, "setting": value, "vartype": "string", "context": "user"}
    for oid, (name, _, size, category, array, element) in TYPES.items():
        row = {"oid": oid, "typname": name, "typnamespace": NAMESPACES["pg_catalog"], "typowner": OWNER}
        row |= {"typlen": size, "typbyval": int(0 < size <= 8), "typcategory": category, "typelem": element}
        more = {"typarray": array, "typtype": "b", "typisdefined": 1, "typdelim": ",", "typtypmod": -1}
        yield "pg_catalog.pg_type", {**row, **more}
    for number, (name, columns) in enumerate(listed(policy).items()):
        yield from _table(policy, FIRST + number, name, columns)


def _table(policy: Policy, oid: int, name: str, columns: dict[str, Column]) -> Iterator[Row]:
    row = {"oid": oid, "relname": name, "relnamespace": NAMESPACES["public"], "relowner": OWNER, "relam": HEAP}
    kind = {"relkind": "r", "relpersistence": "p", "relreplident": "d", "relnatts": len(columns), "relispopulated": 1}
    # how many rows there are is not for the catalogue to say: -1 is PostgreSQL's own "not known"
    yield "pg_catalog.pg_class", {**row, **kind, "reltuples": -1}
    yield "pg_catalog.pg_tables", {"schemaname": "public", "tablename": name, "tableowner": "tacit"}
    place = {"table_catalog": policy.dataset.name, "table_schema": "public", "table_name": name}
    base = {"table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"}
    yield "information_schema.tables", {**place, **base}
    rights = {"grantor": "tacit", "grantee": "PUBLIC", "privilege_type": "SELECT", "is_grantable": "NO"}
    yield "information_schema.table_privileges", {**place, **rights}
    comment = "public" if policy.tables[name].public else f"protected: each {policy.privacy.unit}"
    yield "pg_catalog.pg_description", _comment(oid, 0, comment)
    for number, (key, column) in enumerate(columns.items(), 1):
        yield from _column(place, oid, number, key, column)


def _column(place: dict[str, Any], table: int, number: int, name: str, column: Column) -> Iterator[Row]:
    # one without a declared type cannot be asked about yet, but it is there
    oid = NUMERIC if column.type is ColumnType.DECIMAL else kind_of(column.type or "text").oid
    short, words, size, *_ = TYPES[oid]
    row = {"attrelid": table, "attname": name, "atttypid": oid, "attlen": size, "attnum": number, "atttypmod": -1}
    more = {"attnotnull": int(not column.nullable), "attidentity": "", "attgenerated": "", "attstorage": "p"}
    last = {"attislocal": 1, "attstattarget": -1, "attcompression": ""}
    yield "pg_catalog.pg_attribute", {**row, **more, **last}
    nullable = "YES" if column.nullable else "NO"
    kind = {"data_type": words, "udt_catalog": place["table_catalog"], "udt_schema": "pg_catalog", "udt_name": short}
    view = {"column_name": name, "ordinal_position": number, "is_nullable": nullable, "is_updatable": "NO"}
    rest = {"is_identity": "NO", "is_generated": "NEVER", "dtd_identifier": str(number), "is_self_referencing": "NO"}
    yield "information_schema.columns", {**place, **view, **kind, **rest}
    facts = [
        f"{word} = {shown(value)}" for word in ("bounds", "group_keys") if (value := getattr(column, word)) is not None
    ]
    if facts:
        yield "pg_catalog.pg_description", _comment(table, number, "; ".join(facts))


def _comment(oid: int, number: int, text: str) -> dict[str, Any]:
    return {"objoid": oid, "classoid": CLASSES["pg_class"], "objsubid": number, "description": text}


# --- what types the columns of a question have, told from its text alone: describing must not run anything

COLUMNS = {column: kind for columns in TABLES.values() for column, kind in columns.items()}
COLUMNS |= {"description": "text", "name": "text", "oid": "oid"}

MATCHES = (exp.RegexpLike, exp.RegexpILike, exp.Operator)
TRUTHS = (exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.LogicalAnd, exp.LogicalOr, *MATCHES)
BOOLEAN = ("is_visible", "_privilege", "_is_publishable", "pg_is_in_recovery", "bool_and", "bool_or", "_is_other_temp")
INTEGER = {"pg_backend_pid": "int4", "array_upper": "int4", "array_length": "int4", "pg_table_size": "int8"}
INTEGER |= {"pg_total_relation_size": "int8", "pg_relation_size": "int8", "char_length": "int4", "length": "int4"}
SAME = (exp.Paren, exp.Coalesce, exp.Min, exp.Max, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Mod)
CASTS = {"int": "int4", "bigint": "int8", "smallint": "int2", "boolean": "bool", "oid": "oid"}
CASTS |= dict.fromkeys(("double", "float", "decimal"), "float8")


def fields_of(tree: exp.Expr) -> list[WireField]:
    """Names and types of the result."""
    aliases = {alias.alias: alias.this for alias in tree.find_all(exp.Alias)}
    return [WireField(_name(item), KINDS[_kind(item, aliases, 0)]) for item in _items(tree)]


def _items(tree: exp.Expr) -> list[exp.Expr]:
    """The SELECT list; with `*` written out, where it is the tables' own."""
    found: list[exp.Expr] = []
    select = tree
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    for item in select.selects if isinstance(select, exp.Query) else []:
        if item.is_star:
            found += [exp.column(name) for name in _starred(select, item)]
        else:
            found.append(item)
    return found


def _starred(select: exp.Expr, item: exp.Expr) -> list[str]:
    wanted = item.table if isinstance(item, exp.Column) else ""
    sources = [select.args.get("from_"), *(select.args.get("joins") or [])]
    names: list[str] = []
    own = {cte.alias.lower(): cte.this for cte in select.root().find_all(exp.CTE)}
    for source in (one.this for one in sources if one is not None):
        if wanted and source.alias_or_name != wanted:
            continue
        ours = None if source.args.get("db") else own.get(source.name.lower())
        if isinstance(source, exp.Subquery) or ours is not None:
            names += [_name(inner) for inner in _items(source.this if ours is None else ours)]
        else:
            schema = source.db.lower() or "pg_catalog"
            names += TABLES.get((schema, source.name.lower()), {})
    return names


def _name(item: exp.Expr) -> str:
    if item.alias:
        return str(item.alias)
    if isinstance(item, exp.Column):
        return item.name
    inner = item
    while isinstance(inner, exp.Cast | exp.Paren | exp.Dot):
        inner = inner.expression if isinstance(inner, exp.Dot) else inner.this
    if isinstance(inner, exp.Column):
        return inner.name
    if isinstance(inner, exp.Anonymous):
        return str(inner.this).lower()
    if isinstance(inner, exp.Case):
        return "case"
    return inner.sql_name().lower() if isinstance(inner, exp.Func) else "?column?"


def _kind(node: exp.Expr | None, aliases: dict[str, exp.Expr], depth: int) -> str:
    if node is None or depth > 20:
        return "text"

    def of(inner: exp.Expr | None) -> str:
        return _kind(inner, aliases, depth + 1)

    if isinstance(node, (exp.Alias, *SAME)):
        return of(node.this)
    if isinstance(node, exp.Dot):
        return of(node.expression)
    if isinstance(node, exp.Cast):
        return CASTS.get(str(getattr(node.to.this, "value", node.to.this)).lower(), "text")
    if isinstance(node, exp.Column):
        behind = aliases.get(node.name)
        if node.name in COLUMNS or behind is None or behind is node:
            return COLUMNS.get(node.name.lower(), "text")
        return of(behind)
    if isinstance(node, exp.Case):
        branches = [one.args["true"] for one in node.args["ifs"]] + [node.args.get("default")]
        return of(next((one for one in branches if one is not None and not isinstance(one, exp.Null)), None))
    if isinstance(node, exp.Subquery | exp.Query):
        items = _items(node)
        return of(items[0]) if items else "text"
    if isinstance(node, exp.Literal):
        return "text" if node.is_string else "int4" if node.is_int else "float8"
    if isinstance(node, exp.Count):
        return "int8"
    if isinstance(node, TRUTHS):
        return "bool"
    if isinstance(node, exp.Array | exp.ArrayAgg):
        return "text[]"
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        return "bool" if name.endswith(BOOLEAN) else INTEGER.get(name, "text")
    return "text"

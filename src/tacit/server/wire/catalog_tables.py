"""The catalogue's tables that clients look into, as PostgreSQL 15 has them: names of columns, and types where not text.

Most of them stay empty here: there are no indexes, constraints, sequences or triggers to show.
"""

from collections.abc import Mapping

__all__ = ["TABLES"]

KINDS = {"o": "oid", "b": "bool", "i": "int4", "l": "int8", "f": "float8", "": "text"}

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
        found[schema, table] = {column: KINDS[kind] for column, _, kind in pairs}
    return found


TABLES = _read(SPELLED)
"""By schema and name: the type of each column."""

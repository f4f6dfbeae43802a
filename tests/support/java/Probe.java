import java.io.StringWriter;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import org.postgresql.PGConnection;

/** Looks around through JDBC as schema browsers do, asks, and prints what came: one line for each step. */
public class Probe {
    interface Step {
        Object run() throws Exception;
    }

    static void step(String name, Step step) {
        try {
            System.out.println(name + ": " + step.run());
        } catch (Exception error) {
            System.out.println(name + " FAILED: " + String.valueOf(error.getMessage()).replace('\n', ' '));
        }
    }

    /** The named columns of every row, with a slash between columns and a space between rows. */
    static String rows(ResultSet found, String... columns) throws SQLException {
        StringBuilder text = new StringBuilder();
        while (found.next()) {
            String[] values = new String[columns.length];
            for (int place = 0; place < columns.length; place++) values[place] = String.valueOf(found.getObject(columns[place]));
            text.append(text.length() == 0 ? "" : " ").append(String.join("/", values));
        }
        found.close();
        return text.toString();
    }

    static String asked(Connection link, String sql, String... columns) throws SQLException {
        try (Statement statement = link.createStatement()) {
            return rows(statement.executeQuery(sql), columns);
        }
    }

    public static void main(String[] words) throws Exception {
        String wards = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward";
        try (Connection link = DriverManager.getConnection(words[0], words[1], words[2])) {
            DatabaseMetaData about = link.getMetaData();
            step("names", () -> about.getDatabaseProductName() + " " + link.getCatalog() + " " + link.getSchema() + " " + link.isValid(30));
            step("tables", () -> rows(about.getTables(null, null, "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME", "TABLE_TYPE"));
            step("columns", () -> rows(about.getColumns(null, "public", "visits", "%"), "COLUMN_NAME", "TYPE_NAME", "NULLABLE"));
            step("schemas", () -> rows(about.getSchemas(), "TABLE_SCHEM"));
            step("catalogs", () -> rows(about.getCatalogs(), "TABLE_CAT"));
            step("types", () -> rows(about.getTypeInfo(), "TYPE_NAME"));
            step("tableTypes", () -> rows(about.getTableTypes(), "TABLE_TYPE").contains("TABLE"));
            step("primaryKeys", () -> rows(about.getPrimaryKeys(null, "public", "visits"), "COLUMN_NAME"));
            step("importedKeys", () -> rows(about.getImportedKeys(null, "public", "visits"), "FKCOLUMN_NAME"));
            step("exportedKeys", () -> rows(about.getExportedKeys(null, "public", "visits"), "FKCOLUMN_NAME"));
            step("crossReference", () -> rows(about.getCrossReference(null, "public", "visits", null, "public", "wards"), "FKCOLUMN_NAME"));
            step("indexInfo", () -> rows(about.getIndexInfo(null, "public", "visits", false, false), "INDEX_NAME"));
            step("bestRow", () -> rows(about.getBestRowIdentifier(null, "public", "visits", 0, true), "COLUMN_NAME"));
            step("functions", () -> rows(about.getFunctions(null, null, "%"), "FUNCTION_NAME"));
            step("procedures", () -> rows(about.getProcedures(null, null, "%"), "PROCEDURE_NAME"));
            step("userTypes", () -> rows(about.getUDTs(null, null, "%", null), "TYPE_NAME"));
            step("privileges", () -> rows(about.getTablePrivileges(null, "public", "visits"), "TABLE_NAME").contains("visits"));
            step("columnPrivileges", () -> rows(about.getColumnPrivileges(null, "public", "visits", "age"), "COLUMN_NAME").contains("age"));
            step("keywords", () -> about.getSQLKeywords());
            step("clientInfo", () -> { link.setClientInfo("ApplicationName", "probe"); return link.getClientInfo("ApplicationName"); });
            step("isolation", () -> { link.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE); link.setReadOnly(true); link.setReadOnly(false); return "set"; });
            step("price", () -> { try (Statement statement = link.createStatement()) { return statement.execute("SET tacit.epsilon = 0.5"); } });
            step("ask", () -> asked(link, "SELECT \"public\".\"visits\".\"ward\" AS \"ward\", COUNT(*) AS \"count\" FROM \"public\".\"visits\""
                + " GROUP BY \"public\".\"visits\".\"ward\" ORDER BY \"public\".\"visits\".\"ward\" ASC", "ward"));
            step("metadata", () -> {
                try (Statement statement = link.createStatement(); ResultSet found = statement.executeQuery(wards)) {
                    ResultSetMetaData kinds = found.getMetaData();
                    return kinds.getColumnTypeName(1) + " " + kinds.getColumnTypeName(2) + " " + kinds.isAutoIncrement(1);
                }
            });
            step("prepared", () -> {
                double last = 0;
                for (int again = 0; again < 7; again++) { // after five times the driver goes over to binary
                    try (PreparedStatement statement = link.prepareStatement("SELECT COUNT(*) AS n FROM visits WHERE age >= ? AND ward = ? AND day >= ?")) {
                        statement.setInt(1, 0);
                        statement.setString(2, "east");
                        statement.setDate(3, Date.valueOf("2023-01-01"));
                        try (ResultSet found = statement.executeQuery()) {
                            found.next();
                            if (again > 0 && found.getDouble(1) != last) throw new SQLException("another answer");
                            last = found.getDouble(1);
                        }
                    }
                }
                return last > 0;
            });
            step("fetchSize", () -> {
                link.setAutoCommit(false);
                try (Statement statement = link.createStatement()) {
                    statement.setFetchSize(1);
                    return rows(statement.executeQuery(wards), "ward");
                } finally {
                    link.commit();
                    link.setAutoCommit(true);
                }
            });
            step("savepoint", () -> {
                link.setAutoCommit(false);
                Savepoint point = link.setSavepoint("x");
                link.rollback(point);
                link.commit();
                link.setAutoCommit(true);
                return "back";
            });
            step("timeout", () -> { try (Statement statement = link.createStatement()) { statement.setQueryTimeout(60); return rows(statement.executeQuery(wards), "ward"); } });
            step("copy", () -> {
                StringWriter to = new StringWriter();
                long count = link.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (" + wards + ") TO STDOUT WITH (FORMAT csv, HEADER)", to);
                return count + " " + to.toString().split("\n")[0].trim();
            });
            step("refused", () -> { try { return asked(link, "SELECT age FROM visits", "age"); } catch (SQLException error) { return error.getSQLState(); } });
        }
    }
}

// Logs in with Oracle's JDBC thin driver and prints what it reads, as one line of JSON.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;

public class Client {
    static String quoted(String text) {
        var out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            out.append(c == '"' || c == '\\' || c < ' ' || c > '~' ? String.format("\\u%04x", (int) c) : c);
        }
        return out.append('"').toString();
    }

    public static void main(String[] given) throws SQLException {
        String version, one, text, refused;
        var many = new ArrayList<Integer>();
        try (Connection connection = DriverManager.getConnection("jdbc:oracle:thin:@//" + given[2], given[0], given[1])) {
            version = connection.getMetaData().getDatabaseProductVersion();
            String instances = "SELECT instance_name, startup_time FROM gv$instance WHERE inst_id = ?";
            try (PreparedStatement asked = connection.prepareStatement(instances)) {
                asked.setInt(1, 1);
                ResultSet rows = asked.executeQuery();
                rows.next();
                String when = rows.getTimestamp(2).toLocalDateTime().toString().replace('T', ' ') + ":00";
                one = "[[" + quoted(rows.getString(1)) + "," + quoted(when) + "]]";
            }
            try (Statement asked = connection.createStatement()) {
                asked.setFetchSize(9);
                ResultSet rows = asked.executeQuery("SELECT sid FROM gv$session ORDER BY sid");
                while (rows.next()) {
                    many.add(rows.getInt(1));
                }
                rows = asked.executeQuery("SELECT sql_fulltext FROM gv$sql");
                rows.next();
                text = rows.getString(1);
                try {
                    asked.executeQuery("SELECT * FROM no_such_view");
                    refused = "";
                } catch (SQLException problem) {
                    refused = problem.getMessage();
                }
            }
        }
        System.out.println("{\"version\":" + quoted(version) + ",\"one\":" + one + ",\"many\":" + many
                + ",\"text\":" + quoted(text) + ",\"error\":" + quoted(refused) + "}");
    }
}

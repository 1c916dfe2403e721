// Logs in over TLS with a certificate in place of a password and prints the instance's name.
// Arguments: port, key store, trust store (both PKCS12), their password.

import java.sql.DriverManager;
import java.util.Properties;

public class Certificate {
    public static void main(String[] given) throws Exception {
        var address = "(ADDRESS=(PROTOCOL=tcps)(HOST=127.0.0.1)(PORT=" + given[0] + "))";
        var properties = new Properties();
        properties.put("oracle.net.authentication_services", "(TCPS)");
        for (var store : new String[] {"keyStore", "trustStore"}) {
            properties.put("javax.net.ssl." + store, store.equals("keyStore") ? given[1] : given[2]);
            properties.put("javax.net.ssl." + store + "Type", "PKCS12");
            properties.put("javax.net.ssl." + store + "Password", given[3]);
        }
        var url = "jdbc:oracle:thin:@(DESCRIPTION=" + address + "(CONNECT_DATA=(SERVICE_NAME=presman)))";
        try (var connection = DriverManager.getConnection(url, properties);
                var statement = connection.createStatement();
                var rows = statement.executeQuery("SELECT instance_name FROM gv$instance")) {
            rows.next();
            System.out.println(rows.getString(1));
        }
    }
}

// Logs in with node-oracledb's thin driver and prints what it reads, as one line of JSON.
import { createRequire } from "node:module";

const [modules, user, password, connectString] = process.argv.slice(2);
const oracledb = createRequire(modules + "/")("oracledb");
const connection = await oracledb.getConnection({ user, password, connectString });
const one = await connection.execute("SELECT instance_name, startup_time FROM gv$instance WHERE inst_id = :1", [1]);
const many = await connection.execute("SELECT sid FROM gv$session ORDER BY sid", [], { prefetchRows: 7, fetchArraySize: 9 });
const text = await connection.execute("SELECT sql_fulltext FROM gv$sql", [], {
  fetchInfo: { SQL_FULLTEXT: { type: oracledb.STRING } },
});
const error = await connection.execute("SELECT * FROM no_such_view").catch((problem) => problem.message);
const version = connection.oracleServerVersionString;
await connection.close();
const found = one.rows.map(([name, started]) => [name, started.toISOString().slice(0, 19).replace("T", " ")]);
console.log(JSON.stringify({ version, one: found, many: many.rows.flat(), text: text.rows[0][0], error }));

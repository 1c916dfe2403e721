// Logs in with go-ora and prints what it reads, as one line of JSON.
package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"time"

	_ "github.com/sijms/go-ora/v2"
)

func must(problem error) {
	if problem != nil {
		panic(problem)
	}
}

func main() {
	db, problem := sql.Open("oracle", "oracle://"+os.Args[1]+":"+os.Args[2]+"@"+os.Args[3])
	must(problem)
	db.SetMaxOpenConns(1)
	var name, text string
	var started time.Time
	must(db.QueryRow("SELECT instance_name, startup_time FROM gv$instance WHERE inst_id = :1", 1).Scan(&name, &started))
	rows, problem := db.Query("SELECT sid FROM gv$session ORDER BY sid")
	must(problem)
	many := []int{}
	for rows.Next() {
		var sid int
		must(rows.Scan(&sid))
		many = append(many, sid)
	}
	must(rows.Err())
	must(db.QueryRow("SELECT sql_fulltext FROM gv$sql").Scan(&text))
	_, refused := db.Query("SELECT * FROM no_such_view")
	must(db.Close())
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"one":   [][]any{{name, started.Format("2006-01-02 15:04:05")}},
		"many":  many,
		"text":  text,
		"error": refused.Error(),
	}))
}

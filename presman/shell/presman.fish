# Completions of presman for fish, written by `make docs` from presman's own options.

function __presman_sections
    set -l file $argv[1]
    test -n "$file"; or set file "$PRESMAN_CONFIG"
    test -z "$file" -a -f config.ini; and set file config.ini
    set -l home "$XDG_CONFIG_HOME"
    test -n "$home"; or set home "$HOME/.config"
    test -n "$file"; or set file "$home/presman/config.ini"
    test -f "$file"; and awk '/^[[]/ { name = $0; sub(/^[[]/, "", name); sub(/[]].*/, "", name); seen = 0 }
tolower($0) ~ /^[ \t]*(connection_string|dsn)[ \t]*[=:]/ && !seen++ && name ~ /^[A-Za-z0-9_.@:+-]+$/ { print name }' "$file" 2>/dev/null
end

function __presman_groups
    test -f "$argv[1]"; and awk -F, '{ sub(/\r$/, "") }
NR == 1 { for (i = 1; i <= NF; i++) if ($i == "consumer_group") at = i; next }
at && $at ~ /^[A-Za-z0-9_#]+$/ && !seen[$at]++ { print $at }
NR > 5000 { exit }' "$argv[1]" 2>/dev/null
    echo OTHER_GROUPS
end

function __presman_table
    set -l table
    switch $argv[1]
        case monitor
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--polls|@any|without a terminal: readings to print
--allow-actions||allow start, switch, cancel and kill (key a), each confirmed first
--bell||ring the terminal’s bell when a new alert appears
--version||show presman’s version and exit
--verbose||with --version: those of all libraries, too
-m|cpu session_io parallel emphasis|cpu, session_io, parallel, emphasis
-c|@any|index of a column from 0, or its name
-p||a bar per group for that column
-o|@file|write that column to a CSV file, poll by poll
|@target|what to watch (see below)'
        case demo
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--list||name the scenarios
--seed|@any|another sequence of events
--speed|@any|X simulated seconds per second
--size|@any|a machine and a load F times as big
--release|23.26 23 21 19 18 12.2 12.1 11.2|shape the views as release R has them (19, 12.1, ...)
--polls|@any|without a terminal: readings to print
--allow-actions||allow start, switch, cancel and kill (key a), each confirmed first
--tour||show the tour, or not (default: until you have finished it once)
--no-tour||show the tour, or not (default: until you have finished it once)
--bell||ring the terminal’s bell when a new alert appears
|@scenario changes holders locked locked_rac mixed noplan pdb queueing quiesce quiet rac storm tenants throttled|name or FILE.toml (default: mixed)'
        case connect
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
|@section|the section to write (default: asks)'
        case fleet
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--format|text json csv|print it once: text, json, csv
--interval|@any|seconds between polls of each (default 5; printed: 1)
--timeout|@any|printed: seconds to wait for those that do not answer (default 30)
--allow-actions||allow start, switch, cancel and kill (key a) in an opened database, each confirmed first
|@target|sections of config.ini, globs of them, other targets; or a store'
        case once
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--format|text json csv|text (default), json, csv
--measure|cpu session_io parallel queue latency emphasis arrivals|what CSV is about: cpu, session_io, parallel, queue, latency, emphasis, arrivals
--interval|@any|between the polls (default 1); rates are over this time
--timeout|@any|seconds allowed besides the interval (default 30); exit code 7 if a view has not answered by then
--outliers||read I/O outliers too (12.1 and later)
|@target|what to read (default: the one in config.ini)'
        case watch
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--plain||nothing but ASCII, and words for signs
--summary|@any|time between summaries while nothing changes (default 5m)
--polls|@any|stop after N readings
--duration|@any|stop after S seconds (90, 15m, 2h)
|@target|what to watch (default: the one in config.ini)'
        case export
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--measure|cpu session_io parallel queue latency emphasis arrivals|cpu, session_io, parallel, queue, latency, emphasis, arrivals (default cpu)
--layout|tidy wide|tidy (default): a line per group; wide: a column per group
--column|used_cpus waited_cpus capacity_cpus limit_cpus guaranteed_cpus entitled_cpus used_percent throttled_percent verdict state active_sessions execution_waiters yields_per_s requests_per_s pool_queue_length session_pool_limit session_pool_longest_s session_pool_timeout_s io_mb_per_s io_requests_per_s small_read_mb_per_s small_write_mb_per_s large_read_mb_per_s large_write_mb_per_s small_read_requests_per_s small_write_requests_per_s large_read_requests_per_s large_write_requests_per_s service_ms px_servers_active px_statements_active px_statements_queued px_servers_limit px_servers_limit_percent head_waited_s statements_queued_total statements_completed_total servers_used_total active_ms_total queued_ms_total queue_timeouts_total mean_ms guaranteed_share in_plan|the figure a wide file has
--format|csv jsonl parquet|csv (default), jsonl: JSON lines, parquet (pip install ’presman[parquet]’)
-o|@file|where to write (default -: standard output)
--output|@file|where to write (default -: standard output)
--polls|@any|stop after N readings
--duration|@any|stop after S seconds (90, 15m, 2h)
--fsync||wait for the disk at each poll
--log-format|text json|text (default), or json: one object a line
--log-level|debug info warning error|debug (each poll), info (default), warning, error
--log-file|@file|append to FILE, reopened when it is moved; errors also to standard error
|@target|what to read (default: the one in config.ini)'
        case record
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
-o|@any|FILE.presman, a FOLDER/ (one file a day) or a URL
--output|@any|FILE.presman, a FOLDER/ (one file a day) or a URL
--interval|@any|seconds between polls (default: --refresh)
--polls|@any|stop after N polls of each
--duration|@any|stop after S seconds (90, 15m, 2h)
--redact||without SQL texts, users, machines and programs; names are replaced
--retain|@any|remove older polls (12h, 14d)
--max-size|@any|remove the oldest polls above this size (500M, 2G)
--log-format|text json|text (default), or json: one object a line
--log-level|debug info warning error|debug (each poll), info (default), warning, error
--log-file|@file|append to FILE, reopened when it is moved; errors also to standard error
|@target|what to record (default: the one in config.ini)'
        case metrics
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--listen|@any|address to listen on (default 127.0.0.1:9730); for other machines only with a certificate and a user
--interval|@any|seconds between polls (default: --refresh, or 5)
--certificate|@file|TLS with this certificate and its chain (PEM)
--key|@file|the certificate’s key (default: in the same file)
--client-ca|@file|accept only clients with a certificate from these authorities
--insecure||listen for other machines without a user, or without a certificate
--otlp|@any|push to this collector, too (OTLP over HTTP)
--push-interval|@any|seconds between pushes (default 60)
--log-format|text json|text (default), or json: one object a line
--log-level|debug info warning error|debug (each poll), info (default), warning, error
--log-file|@file|append to FILE, reopened when it is moved; errors also to standard error
|@target|what to watch (default: the one in config.ini)'
        case status
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--format|text json csv|text (default), json, csv'
        case serve
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--listen|@any|address for browsers (default 127.0.0.1:8000: this machine only)
--token||ask for a token (default: unless only this machine can connect; --no-token is for a reverse proxy on this machine that authenticates)
--no-token||ask for a token (default: unless only this machine can connect; --no-token is for a reverse proxy on this machine that authenticates)
--token-file|@file|the token, on its first line (default: a random one)
--certificate|@file|TLS with this certificate and its chain (PEM)
--key|@file|the certificate’s key (default: in the same file)
--public|@any|its URL for browsers, behind a reverse proxy or by another name
--viewers|@any|pages open at the same time (default 4)
|@target|what to watch (default: the one in config.ini)'
        case replay
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--polls|@any|without a terminal: readings to print
|@file|what `presman record` wrote'
        case report
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
-o|@file|where to write it (-: standard output); an existing file is replaced
--output|@file|where to write it (-: standard output); an existing file is replaced
|@file|what `presman record` wrote'
        case bundle
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--minutes|@any|how long (default 10)
-o|@file|where to write it (default presman-bundle-TIME.presman)
--output|@file|where to write it (default presman-bundle-TIME.presman)
|@target|what to read (default: the one in config.ini)'
        case compare
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--format|text json html|text (default), json, html
|@file|FILE.presman@FROM..TO, or any other recording'
        case chart
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
-o|@file|FILE.html: a page; a picture: FILE.svg, or FILE.png with presman[png]
--output|@file|FILE.html: a page; a picture: FILE.svg, or FILE.png with presman[png]
|@file|what `presman export`, key e or presman 1.x wrote'
        case check
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--warning|@any|amount from which an alert is warning; `presman alerts` lists the keys
--critical|@any|amount from which an alert is critical; `presman alerts` lists the keys
--interval|@any|between the two polls (default 1)
--timeout|@any|give up with UNKNOWN after N seconds (default 30)
-v||more lines: every alert, what to do, what was not seen
--verbose||more lines: every alert, what to do, what was not seen
|@target|what to check (default: the one in config.ini)'
        case alerts
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--interval|@any|between the two polls (default 1)
--timeout|@any|seconds allowed besides that (default 30)
|@target|what to read (default: none)'
        case whatif
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--live-minutes|@any|watch TARGET for N minutes first
--target|@any|PARALLEL_SERVERS_TARGET of all instances
--servers-target|@any|PARALLEL_SERVERS_TARGET of all instances
--limit|@group|percent of the target a group may hold (PARALLEL_SERVER_LIMIT)
--level|@group|level (1 to 8) of a group in the plan; without it all are on one level
--timeout|@group|seconds a group’s statements may queue (PARALLEL_QUEUE_TIMEOUT)
--seed|@any|seed of the random order of the groups
|@csv|arrivals, a recording, a target to watch'
        case lint
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--format|text json|text (default), json
--fail-on|error warning note never|end with code 5 if there is a finding this severe: error (default), warning, note, never
|@target|what to read (default: the one in config.ini)'
        case doctor
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--assumptions||what presman assumes where no document says it in full, the SELECT that checks it, and its result here
|@target|what to examine (default: the one in config.ini)'
        case grants
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--account|local common pdb|local (default; a database without containers), common (the root of a CDB) or pdb
--user|@any|the user’s name (default PRESMAN, common: C##PRESMAN)
--pdb|@any|the pluggable database (default: the script asks)
--release|23.26 23 21 19 18 12.2 12.1 11.2|grants for release R and later (default 19)'
        case collect
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--sql||print the script
--release|23.26 23 21 19 18 12.2 12.1 11.2|the database’s release (default: 19)'
        case trace
            set table '-h||show this help message and exit
--help||show this help message and exit
--event|@any|event, or pattern with * and ?; may be repeated (default: log file parallel write)
--all||all events but idle ones
--idle||idle events too, where --all or a pattern includes them
--list||list the events found, idle ones with the reason
--csv|@file|write every wait as a line of CSV (takes its place once it is whole); - is standard output
--chart|scatter histogram|draw in the terminal; may be repeated
--image|@file|draw the charts (default: both) into a .svg or .png file
|@file|10046 trace, may be gzipped; - reads standard input'
        case config
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--sample||print a commented config.ini to start from
|@target|the target whose settings to show'
        case completions
            set table '-h||show this help message and exit
--help||show this help message and exit
--config|@file|read FILE instead of config.ini
--refresh|@any|seconds between polls (default 2, least 0.5)
--poll-timeout|@any|seconds a poll may take (default 3 x --refresh, from 5 to 30); late views keep their last data
--scope|cluster instance|cluster (GV$, default) or instance (V$)
--thick|@attached|connect through Oracle Client libraries, found automatically or in LIBDIR
--packs|none diagnostics tuning|the licensed packs you have: none (default), diagnostics, or tuning, which includes diagnostics
--theme|@any|colours of the monitor
--at|@any|the poll at that time (replay starts there): 2026-11-22 03:12, 03:12, ’3m ago’
--from|@any|from then on
--to|@any|up to then
--install||write it, and the manual page, into your home folder
|bash zsh fish man|bash, zsh, fish or man (with --install: the shell of $SHELL if none is named)'
    end
    string split \n -- $table
end

# Prints what the option or place (empty) $argv[2] of the command $argv[1] takes; fails if there is none such.
function __presman_values
    for each in (__presman_table $argv[1])
        set -l parts (string split '|' -- $each)
        if test "$parts[1]" = "$argv[2]"
            echo $parts[2]
            return 0
        end
    end
    return 1
end

# Prints what can stand for the values $argv[1] behind the text $argv[2]: the current word, config.ini, the first word.
function __presman_expand
    set -l values $argv[1]
    set -l before $argv[2]
    set -l cur $argv[3]
    switch "$values"
        case @file
            printf '%s\n' $before(__fish_complete_path "$cur")
        case @attached
            printf '%s\n' $before(__fish_complete_directories "$cur" '')
        case @section
            __presman_sections $argv[4]
        case @group
            printf '%s\n' $before(__presman_groups $argv[5])=
        case @target @csv
            if string match -q 'spool:*' -- "$cur"
                printf '%s\n' {$before}spool:(__fish_complete_directories (string replace spool: '' -- "$cur") '')
                return
            end
            __presman_sections $argv[4]
            string replace '|' \t -- (string split \n -- 'demo:changes|A change window: plan, target and a directive change, an instance restarts
demo:holders|Servers held by those who are not to be ended: SMON, RMAN, SYS, a killed, a sniped and a blocked session
demo:locked|A load waits for a lock with its servers in hand, and reports queue behind it
demo:locked_rac|A cluster of two: a load on one instance waits for a lock of the other with its servers in hand
demo:mixed|OLTP, reports, batch and ETL on 16 CPUs under a three-level plan
demo:noplan|Resource Manager off: CPU is not managed, one queue for all
demo:pdb|A CDB plan and the plans of its PDBs
demo:queueing|A 36-way statement queues behind a 12-way one on a target of 24
demo:quiesce|ALTER SYSTEM QUIESCE RESTRICTED half a minute ago: nobody but SYS and SYSTEM gets in
demo:quiet|Nothing wrong: a few sessions, no queue, no throttling
demo:rac|A cluster of two: one queue over both instances
demo:storm|Dozens queued: a group limit, the system target and an idle holder
demo:tenants|Tenants by CPU_MIN_COUNT, both busy
demo:throttled|One group takes all CPU, two below it get none; a full session pool')
            echo spool:
            if test "$values" = @csv
                __fish_complete_path "$cur"
            else
                set -l recordings $cur*.presman
                printf '%s\n' $before$recordings
            end
        case '@scenario*'
            string split ' ' -- (string replace '@scenario ' '' -- $values)
            __fish_complete_path "$cur"
        case '@*'
        case '*'
            printf '%s\n' $before(string split ' ' -- $values)
    end
end

function __presman
    set -l names (string split \n -- 'demo|the monitor on a simulated database
connect|asks for a database, tries it, and writes it into config.ini
fleet|many databases, one line each, the worst first
once|one reading as text, JSON or CSV
watch|events as lines of text: for screen readers, pipes and logs
export|readings as CSV, one poll after the other
record|every poll into a file, to replay and to query by SQL
metrics|figures of databases for Prometheus to scrape, or pushed to an OpenTelemetry collector
status|running recorders and exporters, and their state
serve|the monitor in a browser, read-only
replay|a recording on the screens of the monitor
report|a period of a recording as one HTML page: what happened, charts, statements, plan
bundle|a short recording without names and texts, to send to others
compare|two windows of recordings: what differs, by how much, and whether it is more than noise
chart|a file that `presman export` wrote: in the terminal, as a picture, as a page
check|one line and an exit code for Nagios, Icinga or cron
alerts|the rules behind the alerts, their thresholds, and with a TARGET their state
whatif|replay observed parallel statements under other limits
lint|problems in the active plans, and why
doctor|what presman can see in a database, and which grants are missing
grants|grants.sql: creates a user who can read what presman reads, and nothing more
collect|a script that spools what presman reads, for sites that allow no tools
trace|waits of 10046 trace files: counts, percentiles, charts, CSV
config|where each setting comes from; --sample prints a config.ini
completions|completions of bash, zsh and fish, and the manual page; --install puts them in place')
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l command monitor
    set -l config ''
    set -l first ''
    set -l previous ''
    for word in $words[2..-1]
        if test -n "$previous"
            test "$previous" = --config; and set config $word
            set previous ''
        else if string match -q -- '--config=*' $word
            set config (string replace -- --config= '' $word)
        else if string match -q -- '-*' $word
            set -l values (__presman_values $command $word)
            test -n "$values" -a "$values" != @attached; and set previous $word
        else if test -z "$first" -a $command = monitor; and string match -q -- "$word|*" $names
            set command $word
        else
            test -n "$first"; or set first (string replace -r '^~' $HOME -- $word)
        end
    end
    set config (string replace -r '^~' "$HOME" -- "$config")
    if test -n "$previous"
        __presman_expand (__presman_values $command $previous) '' "$cur" "$config" "$first"
    else if string match -q -- '--*=*' "$cur"
        set -l parts (string split -m 1 = -- $cur)
        set -l values (__presman_values $command $parts[1])
        and __presman_expand "$values" "$parts[1]=" "$parts[2]" "$config" "$first"
    else if string match -q -- '-*' "$cur"
        for each in (__presman_table $command)
            set -l parts (string split '|' -- $each)
            test -n "$parts[1]"; and printf '%s\t%s\n' $parts[1] $parts[3]
        end
    else
        test $command = monitor -a -z "$first"; and string replace '|' \t -- $names
        set -l values (__presman_values $command '')
        if test -n "$values"; and test -z "$first" -o "$values" = @file
            __presman_expand "$values" '' "$cur" "$config" "$first"
        end
    end
end

complete -c presman -f -a '(__presman)'

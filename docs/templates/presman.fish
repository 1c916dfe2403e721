# Completions of presman for fish, made from presman's own options.

function __presman_sections
    set -l file $argv[1]
    test -n "$file"; or set file "$PRESMAN_CONFIG"
    test -z "$file" -a -f config.ini; and set file config.ini
    set -l home "$XDG_CONFIG_HOME"
    test -n "$home"; or set home "$HOME/.config"
    test -n "$file"; or set file "$home/presman/config.ini"
    test -f "$file"; and awk '@SECTIONS@' "$file" 2>/dev/null
end

function __presman_groups
    test -f "$argv[1]"; and awk -F, '@GROUPS@' "$argv[1]" 2>/dev/null
    echo OTHER_GROUPS
end

function __presman_table
    set -l table
    switch $argv[1]
@TABLE@
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
            string replace '|' \t -- (string split \n -- '@SCENARIOS@')
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
    set -l names (string split \n -- '@COMMANDS@')
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

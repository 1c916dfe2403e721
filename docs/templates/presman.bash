# Completions of presman for bash, made from presman's own options.

_presman_sections() {
    local file=$1
    [ -n "$file" ] || file=${PRESMAN_CONFIG-}
    [ -n "$file" ] || { [ -f config.ini ] && file=config.ini; }
    [ -n "$file" ] || file=${XDG_CONFIG_HOME:-$HOME/.config}/presman/config.ini
    [ -f "$file" ] && awk '@SECTIONS@' "$file" 2>/dev/null
}

_presman_groups() {
    [ -f "$1" ] && awk -F, '@GROUPS@' "$1" 2>/dev/null
    echo OTHER_GROUPS
}

_presman_table() {
    case $1 in
@TABLE@
    esac
}

# Sets `values` to what the option or place (empty) $2 of the command $1 takes; fails if there is none such.
_presman_values() {
    local table flag help
    _presman_table "$1"
    while IFS='|' read -r flag values help; do
        [ "$flag" = "$2" ] && return 0
    done <<< "$table"
    values=
    return 1
}

# Adds each line of $2 that begins with `cur` to the answer, with $1 behind it.
_presman_offer() {
    local line
    while IFS= read -r line; do
        line=${line%%|*}
        [ -n "$line" ] && [[ $line$1 == "$cur"* ]] && COMPREPLY+=("$before$line$1")
    done <<< "$2"
}

_presman_paths() {
    local line
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
        COMPREPLY+=("$before$line")
    done < <(compgen "$@" -- "$cur")
}

# Adds what can stand for `values`.
_presman_expand() {
    local word
    case $values in
        @file) _presman_paths -f ;;
        @section) _presman_offer "" "$(_presman_sections "$config")" ;;
        @group)
            compopt -o nospace 2>/dev/null
            _presman_offer = "$(_presman_groups "$first")" ;;
        @target | @csv | @scenario*)
            if [[ $cur == spool:* && $values != @scenario* ]]; then
                before=${before}spool: cur=${cur#spool:}
                compopt -o nospace 2>/dev/null
                _presman_paths -d
                return
            fi
            if [[ $values == @scenario* ]]; then
                for word in ${values#@scenario }; do _presman_offer "" "$word"; done
            else
                _presman_offer "" "$(_presman_sections "$config")"
                _presman_offer "" 'demo
@SCENARIOS@'
                [[ -n $cur && spool: == "$cur"* ]] && { compopt -o nospace 2>/dev/null; COMPREPLY+=("${before}spool:"); }
            fi
            case $values in
                @target) _presman_paths -f -X '!*.presman' ;;
                *) _presman_paths -f ;;
            esac ;;
        @*) ;;
        *) for word in $values; do _presman_offer "" "$word"; done ;;
    esac
}

_presman() {
    local line=${COMP_LINE:0:COMP_POINT} cur= before= values= config= first= command=monitor previous= found= word table flag help
    local -a words=()
    COMPREPLY=()
    read -ra words <<< "$line"
    if [[ $line != *[[:space:]] ]]; then
        cur=${words[${#words[@]} - 1]}
        unset "words[${#words[@]}-1]"
    fi
    for word in "${words[@]:1}"; do
        if [ -n "$previous" ]; then
            [ "$previous" = --config ] && config=$word
            previous=
        elif [[ $word == --config=* ]]; then
            config=${word#*=}
        elif [[ $word == -* ]]; then
            [[ $word != *=* ]] && _presman_values "$command" "$word" && [[ -n $values && $values != @attached ]] && previous=$word
        elif [ -z "$found" ] && [ "$command" = monitor ] && [[ $'\n'"$(_presman_commands)" == *$'\n'"$word|"* ]]; then
            command=$word
        else
            found=1
            [ -n "$first" ] || first=${word/#\~/$HOME}
        fi
    done
    config=${config/#\~/$HOME}
    if [ -n "$previous" ]; then
        _presman_values "$command" "$previous" && _presman_expand
    elif [[ $cur == --*=* ]]; then
        before=${cur%%=*}=
        if _presman_values "$command" "${cur%%=*}"; then
            cur=${cur#*=}
            if [ "$values" = @attached ]; then _presman_paths -d; else _presman_expand; fi
        fi
    elif [[ $cur == -* ]]; then
        _presman_table "$command"
        while IFS='|' read -r flag values help; do
            [[ -n $flag && $flag == "$cur"* ]] && COMPREPLY+=("$flag")
        done <<< "$table"
    else
        if [ "$command" = monitor ] && [ -z "$found" ]; then _presman_offer "" "$(_presman_commands)"; fi
        if _presman_values "$command" "" && { [ -z "$found" ] || [ "$values" = @file ]; }; then _presman_expand; fi
    fi
    _presman_cut
}

_presman_commands() {
    echo '@COMMANDS@'
}

# bash takes a word to begin behind the last colon, equals or at sign: what stands before it is not repeated.
_presman_cut() {
    local head=${line##*[[:space:]]} index
    while [ -n "$head" ] && [[ ${head: -1} != [=@:] || $COMP_WORDBREAKS != *"${head: -1}"* ]]; do
        head=${head%?}
    done
    [ -n "$head" ] || return 0
    for index in "${!COMPREPLY[@]}"; do
        COMPREPLY[index]=${COMPREPLY[index]#"$head"}
    done
}

complete -F _presman presman

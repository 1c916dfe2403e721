#compdef presman
# Completions of presman for zsh, made from presman's own options.

_presman_sections() {
    local file=$1
    [[ -n $file ]] || file=${PRESMAN_CONFIG-}
    [[ -n $file || ! -f config.ini ]] || file=config.ini
    [[ -n $file ]] || file=${XDG_CONFIG_HOME:-$HOME/.config}/presman/config.ini
    [[ -f $file ]] && awk '@SECTIONS@' $file 2>/dev/null
}

_presman_groups() {
    [[ -f $1 ]] && awk -F, '@GROUPS@' $1 2>/dev/null
    print OTHER_GROUPS
}

_presman_table() {
    case $1 in
@TABLE@
    esac
}

# Sets `values` to what the option or place (empty) $2 of the command $1 takes; fails if there is none such.
_presman_values() {
    local table each
    _presman_table $1
    for each in "${(@f)table}"; do
        if [[ ${each%%\|*} == "$2" ]]; then
            values=${${each#*\|}%%\|*}
            return 0
        fi
    done
    values=
    return 1
}

# Offers lines `word|help` under the heading $1.
_presman_offer() {
    local each title=$1
    local -a shown=()
    shift
    for each in "$@"; do
        [[ -n $each ]] && shown+=("${${each%%\|*}//:/\\:}:${each#*\|}")
    done
    (( $#shown )) && _describe -t presman $title shown
}

# Offers what can stand for `values`.
_presman_expand() {
    local -a groups=()
    case $values in
        @file) _files ;;
        @attached) _files -/ ;;
        @section) _presman_offer section ${(f)"$(_presman_sections $config)"} ;;
        @group) groups=(${(f)"$(_presman_groups $first)"}); compadd -S = -a groups ;;
        @target | @csv)
            if [[ $PREFIX == spool:* ]]; then
                compset -P 'spool:'
                _files -/
                return
            fi
            _presman_offer 'section of config.ini' ${(f)"$(_presman_sections $config)"}
            _presman_offer 'simulated database' ${(f)"$(print -r -- '@SCENARIOS@')"}
            compadd -S '' -- spool:
            if [[ $values == @csv ]]; then _files; else _files -g '*.presman'; fi ;;
        @scenario*) compadd -- ${=values#@scenario }; _files ;;
        @*) _message value ;;
        *) compadd -- ${=values} ;;
    esac
}

_presman() {
    local values= config= first= command=monitor previous= found= word table
    local -a names=(${(f)"$(print -r -- '@COMMANDS@')"})
    for word in "${(@)words[2,CURRENT-1]}"; do
        if [[ -n $previous ]]; then
            [[ $previous == --config ]] && config=$word
            previous=
        elif [[ $word == --config=* ]]; then
            config=${word#*=}
        elif [[ $word == -* ]]; then
            [[ $word != *=* ]] && _presman_values $command $word && [[ -n $values && $values != @attached ]] && previous=$word
        elif [[ -z $found && $command == monitor && -n ${(M)names:#${(b)word}\|*} ]]; then
            command=$word
        else
            found=1
            [[ -n $first ]] || first=${word/#\~/$HOME}
        fi
    done
    config=${config/#\~/$HOME}
    if [[ -n $previous ]]; then
        _presman_values $command $previous && _presman_expand
    elif [[ $PREFIX == --*=* ]]; then
        word=${PREFIX%%=*}
        compset -P '*='
        _presman_values $command $word && _presman_expand
    elif [[ $PREFIX == -* ]]; then
        _presman_table $command
        local each
        local -a options=()
        for each in "${(@f)table}"; do
            [[ $each == -* ]] && options+=("${each%%\|*}|${each##*\|}")
        done
        _presman_offer option $options
    else
        [[ $command == monitor && -z $found ]] && _presman_offer command $names
        if _presman_values $command '' && [[ -z $found || $values == @file ]]; then
            _presman_expand
        fi
    fi
}

if [[ $funcstack[1] == _presman ]]; then
    _presman "$@"
else
    compdef _presman presman
fi

"""Commands are exact, and made of checked values only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.base.release import Release
from presman.rows.commands import CommandKind, Victim, cancel, dequeue, for_queued, is_sql_id, kill, switch, to_end

WHO = Victim(2, 144, 1201, "9md3ukhghgj58")


def test_texts_are_what_oracle_takes() -> None:
    assert cancel(WHO).text == "ALTER SYSTEM CANCEL SQL '144, 1201, @2, 9md3ukhghgj58';"
    assert kill(WHO).text == "ALTER SYSTEM KILL SESSION '144,1201,@2';"
    assert dequeue(WHO).text == ("EXEC DBMS_RESOURCE_MANAGER.DEQUEUE_PARALLEL_STATEMENT(144, 1201, 2, '9md3ukhghgj58')")
    assert switch(WHO, "LOW_GROUP").text == (
        "EXEC DBMS_RESOURCE_MANAGER.SWITCH_CONSUMER_GROUP_FOR_SESS(144, 1201, 'LOW_GROUP')"
    )


def test_the_package_is_called_with_binds_and_alter_system_without() -> None:
    for command in (dequeue(WHO), switch(WHO, "LOW")):
        assert command.statement.startswith("BEGIN DBMS_RESOURCE_MANAGER.")
        assert all(f":{name}" in command.statement for name in command.binds)
        assert "144" not in command.statement
    for command in (cancel(WHO), kill(WHO)):
        assert not command.binds
        assert command.statement + ";" == command.text


def test_commands_offered_depend_on_the_release_and_idleness() -> None:
    assert [each.kind for each in to_end(WHO, Release(19), idle=False)] == [CommandKind.CANCEL, CommandKind.KILL]
    assert [each.kind for each in to_end(WHO, Release(12, 2), idle=False)] == [CommandKind.KILL]
    assert [each.kind for each in to_end(WHO, Release(19), idle=True)] == [CommandKind.KILL]
    assert [each.kind for each in to_end(WHO, None, idle=False)] == [CommandKind.KILL]
    assert [each.kind for each in to_end(WHO._replace(sql_id=""), Release(19), idle=False)] == [CommandKind.KILL]
    assert [each.kind for each in for_queued(WHO, Release(23))] == [
        CommandKind.DEQUEUE,
        CommandKind.CANCEL,
        CommandKind.KILL,
    ]
    assert [each.kind for each in for_queued(WHO, Release(12, 1))] == [CommandKind.KILL]
    assert to_end(WHO._replace(serial=0), Release(19), idle=False) == ()


@given(st.text(max_size=20))
def test_only_a_sql_id_gets_into_a_command_as_text(text: str) -> None:
    if is_sql_id(text):
        assert len(text) == 13
        assert text.isascii()
        assert text.isalnum()
        return
    for make in (cancel, dequeue):
        with pytest.raises(ValueError, match="not a SQL_ID"):
            make(WHO._replace(sql_id=text))


@pytest.mark.parametrize("bad", [0, -1, 2**31, True, "1", 1.0, None])
@pytest.mark.parametrize("field", ["inst_id", "sid", "serial"])
def test_only_positive_integers_get_into_a_command(field: str, bad: object) -> None:
    victim = WHO._replace(**{field: bad})
    for make in (cancel, kill, dequeue):
        with pytest.raises(ValueError, match="not a usable"):
            make(victim)


@pytest.mark.parametrize("name", ["", "low", "A'B", 'A"', "A B", "A;", "1A", "A\n", "Ä", "A" * 129])
def test_only_a_plain_name_is_a_group(name: str) -> None:
    with pytest.raises(ValueError, match="not the plain name"):
        switch(WHO, name)


@pytest.mark.parametrize(
    "text", ["9md3ukhghgj58\n", "9MD3UKHGHGJ58", "9md3ukhghgje8", "9md3ukhghgj5'", "９md3ukhghgj58"]
)
def test_close_is_not_enough(text: str) -> None:
    assert not is_sql_id(text)

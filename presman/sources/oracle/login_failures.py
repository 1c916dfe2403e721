"""Failed connections in a DBA's words: what the message means, what to look at, and what to say differently.

Every command tells the meaning and the first advice behind the message; `presman connect` has room for all advice.

The codes are those of Oracle's error messages; python-oracledb's own errors name the like of them in their texts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

ADDRESS, USER, PASSWORD = "address", "user", "password"


class Explanation(NamedTuple):
    """A failure: what it means, what to look at, and which answer (ADDRESS, USER, PASSWORD, "") would change it."""

    meaning: str
    advice: tuple[str, ...] = ()
    change: str = ""

    @property
    def line(self) -> str:
        """The meaning and the first advice, to follow a message."""
        begins_in_lower_case = not self.meaning[1:2].isupper()
        first = self.meaning[:1].lower() if begins_in_lower_case else self.meaning[:1]
        return " ".join([first + self.meaning[1:], *self.advice[:1]])


_SERVICE = Explanation(
    "A listener answers there, but it does not know this service now.",
    (
        "`lsnrctl services` on the database's host lists the names it knows, with domain (prod.example.com).",
        "A database that has just been started registers within a minute; ALTER SYSTEM REGISTER does it at once.",
        "Each pluggable database has a service of its own, and only while it is open.",
    ),
    ADDRESS,
)
_SID = Explanation(
    "A listener answers there, but it does not know this SID.",
    ("Use a service name: host:port/service. In tnsnames.ora: SERVICE_NAME in place of SID.",),
    ADDRESS,
)
_NO_LISTENER = Explanation(
    "The host answers, but nothing listens on this port.",
    (
        "Is the listener up, and on this port? `lsnrctl status` on the database's host.",
        "1521 is usual; TLS often has 2484 or 1522.",
    ),
    ADDRESS,
)
_NO_NAME = Explanation(
    "The name of the host could not be found.",
    ("Check its spelling, and with `getent hosts NAME` whether this machine knows it; try the full name.",),
    ADDRESS,
)
_SILENCE = Explanation(
    "A firewall drops the packets, the host is down, or it is in another network.",
    (
        "Ask whether this machine may reach that port; an Autonomous Database has an access control list.",
        "A port with TLS answers only to tcps://host:port/service; a port without TLS does not answer that.",
        "If other clients hang, too: is the database quiesced? SYS may look: SELECT active_state FROM v$instance.",
    ),
    ADDRESS,
)
_HELD = Explanation(
    "The listener answered, but the database did not complete the login in time.",
    (
        "A database that is quiesced or being quiesced (ALTER SYSTEM QUIESCE RESTRICTED) lets in only SYS and SYSTEM; "
        "all others hang until ALTER SYSTEM UNQUIESCE. SYS sees it: SELECT active_state FROM v$instance.",
        "Where the account's consumer group has a full active session pool, a login waits to become active: "
        "V$SESSION.EVENT is `resmgr:become active`. Put a monitor's user into a group without a pool.",
        "Or the host is too busy for another process: try again.",
    ),
)
_ALIAS = Explanation(
    "The alias is not in tnsnames.ora, or that file is not where presman looks.",
    ("presman looks in config_dir of config.ini, else in TNS_ADMIN. Name the folder that has tnsnames.ora.",),
    ADDRESS,
)
_WRONG = Explanation(
    "The database answers, but user or password is wrong.",
    (
        "Passwords have upper and lower case. A few more failures may lock the account (FAILED_LOGIN_ATTEMPTS).",
        "A user of a pluggable database exists behind that database's service only; a common user begins with C##.",
    ),
    PASSWORD,
)
_NO_PASSWORD = Explanation(
    "No password was given.", ("Neither prompt, PRESMAN_PASSWORD, keyring nor config.ini gave one.",), PASSWORD
)
_VERIFIER = Explanation(
    "The password is stored in a form too old for the driver.",
    ("Set the password again (ALTER USER ... IDENTIFIED BY ...), or use --thick.",),
    PASSWORD,
)
_NOT_OPEN = Explanation(
    "The instance is not open for logins: it is starting, stopping, or only mounted.",
    ("V$INSTANCE.STATUS says which. A mounted standby accepts only SYSDBA.",),
)
_FULL = Explanation(
    "The instance has no free session or process now.",
    ("PROCESSES and SESSIONS are the limits; V$RESOURCE_LIMIT shows how close they are. Try again.",),
)

BY_CODE: dict[str, Explanation] = {
    "ORA-12514": _SERVICE,
    "DPY-6001": _SERVICE,
    "ORA-12505": _SID,
    "DPY-6003": _SID,
    "ORA-12541": _NO_LISTENER,
    "ORA-12545": _NO_NAME,
    "ORA-12170": _SILENCE,
    "ORA-12506": Explanation(
        "The listener rejects this machine: the service has an access control list.",
        ("Add this machine's address to it (Autonomous Database: Network, Access Control List).",),
    ),
    "ORA-12154": _ALIAS,
    "DPY-4000": _ALIAS,
    "DPY-4026": _ALIAS,
    "DPY-4027": _ALIAS,
    "ORA-01017": _WRONG,
    "ORA-01005": _NO_PASSWORD,
    "DPY-4001": _NO_PASSWORD,
    "ORA-28000": Explanation(
        "The account is locked, often because somebody keeps trying an old password.",
        ("ALTER USER ... ACCOUNT UNLOCK unlocks it; DBA_USERS.LOCK_DATE shows since when.",),
        USER,
    ),
    "ORA-28001": Explanation(
        "The password has expired; the database wants a new one before anything else.",
        ("Set it with SQL*Plus or SQLcl (they ask), or ALTER USER ... IDENTIFIED BY ...; presman changes nothing.",),
        PASSWORD,
    ),
    "ORA-28040": Explanation(
        "Driver and database have no password verifier in common.",
        (
            "An old password: set it again. SQLNET.ALLOWED_LOGON_VERSION_SERVER says what the database accepts.",
            "11.2 and older need Oracle Client libraries: presman connect --thick.",
        ),
        PASSWORD,
    ),
    "DPY-3010": Explanation(
        "This release is too old for the thin driver.",
        ("11.2 needs Oracle Client libraries: presman connect --thick, or --thick=LIBDIR.",),
    ),
    "DPY-3015": _VERIFIER,
    "DPY-3016": Explanation(
        "The driver lacks the Python package cryptography.", ("Install presman again, or: pip install cryptography.",)
    ),
    "DPY-3001": Explanation(
        "The database requires something that needs Oracle Client libraries, such as native network encryption.",
        ("presman connect --thick, or an address with TLS (tcps://).",),
    ),
    "DPI-1047": Explanation(
        "--thick needs Oracle Client libraries, and none were found.",
        ("Install Instant Client; --thick=LIBDIR says where it is.",),
    ),
    "DPY-2029": Explanation(
        "A proxy is used for TLS only.", ("Write the address as tcps://host:port/service.",), ADDRESS
    ),
    "ORA-28009": Explanation("SYS can log in only as SYSDBA.", ("Use one created by `presman grants` instead.",), USER),
    "ORA-01031": Explanation("This user may not log in with that privilege.", (), USER),
    "ORA-01045": Explanation(
        "User and password are right, but the user lacks CREATE SESSION.",
        ("GRANT CREATE SESSION TO ...; `presman grants` prints all that presman's user needs.",),
        USER,
    ),
    "ORA-01033": _NOT_OPEN,
    "ORA-01034": _NOT_OPEN,
    "ORA-01089": _NOT_OPEN,
    "ORA-01090": _NOT_OPEN,
    "ORA-12528": _NOT_OPEN,
    "ORA-00018": _FULL,
    "ORA-00020": _FULL,
    "ORA-12516": _FULL,
    "ORA-12519": _FULL,
    "ORA-12520": _FULL,
}

_WALLET = Explanation(
    "The wallet could not be read.",
    (
        "The thin driver reads ewallet.pem (of a wallet that was downloaded unzipped), not cwallet.sso.",
        "An ewallet.pem that is encrypted needs wallet_password: the one given when it was downloaded.",
    ),
    ADDRESS,
)
BY_TEXT: tuple[tuple[tuple[str, ...], Explanation], ...] = (
    (
        ("CERTIFICATE_VERIFY_FAILED", "certificate verify failed"),
        Explanation(
            "TLS works, but no certificate here has signed the server's.",
            ("wallet_location names the folder with the ewallet.pem that has the certificate of who signed it.",),
            ADDRESS,
        ),
    ),
    (
        ("WRONG_VERSION_NUMBER",),
        Explanation(
            "That port does not speak TLS.",
            ("Write the address without tcps://, or the port that has TLS.",),
            ADDRESS,
        ),
    ),
    (
        ("on the server certificate does not match", "ostname mismatch", "is not valid for"),
        Explanation(
            "The server's certificate is for another host.",
            ("Use the host's name as the certificate has it.",),
            ADDRESS,
        ),
    ),
    (
        ("HANDSHAKE_FAILURE", "CERTIFICATE_REQUIRED", "handshake failure", "certificate required"),
        Explanation(
            "The server wants a certificate of the client (mutual TLS).", ("Name the wallet that has one.",), ADDRESS
        ),
    ),
    (("ewallet.pem", "DPY-2018", "BAD_DECRYPT", "bad decrypt", "PEM lib"), _WALLET),
    (("Name or service not known", "nodename nor servname", "name resolution", "No address associated"), _NO_NAME),
    (("Connection refused", "[Errno 111]", "[Errno 61]"), _NO_LISTENER),
    (("though the login had begun",), _HELD),
    (("timed out", "no answer within", "No route to host", "unreachable", "[Errno 113]", "[Errno 110]"), _SILENCE),
    (
        ("not an Oracle listener",),
        Explanation(
            "Something other than Oracle listens on that port.",
            ("`lsnrctl status` on the database's host names the listener's.",),
            ADDRESS,
        ),
    ),
)
"""What is told by words of the message, where it has no code that says as much."""


def explained(code: str, text: str) -> Explanation | None:
    """Return what the failure of a connection means; None where presman knows no more than the message says."""
    codes = [code, *sorted(re.findall(r"\b(?:ORA|DPY|DPI)-\d{4,5}\b", text))]
    found = next((BY_CODE[each] for each in codes if each in BY_CODE), None)
    return found or next((each for words, each in BY_TEXT if any(word in text for word in words)), None)

"""Profiles of releases: protocol version, field version and capabilities."""

from __future__ import annotations

from dataclasses import dataclass

from presman.base.release import Release

END_OF_RESPONSE = 0x02000000
FAST_AUTHENTICATION = 0x10000000


@dataclass(frozen=True, slots=True)
class Profile:
    """One release as a client sees it on the wire.

    `tns_version` is the version of TNS, `field_version` decides which fields messages have, `flags` are those of the
    accept packet.
    """

    release: Release
    version: tuple[int, int, int, int, int]
    tns_version: int
    field_version: int
    flags: int = 0

    @property
    def end_of_response(self) -> bool:
        """Whether answers end in a mark, which pipelining needs."""
        return bool(self.flags & END_OF_RESPONSE)

    @property
    def version_text(self) -> str:
        """The full version: ``19.22.0.0.0``."""
        return ".".join(map(str, self.version))

    @property
    def version_number(self) -> int:
        """The version as one number, as in the answer to a login."""
        major, minor, third, fourth, fifth = self.version
        if self.field_version >= 11:
            return major << 24 | minor << 16 | third << 12 | fourth << 4 | fifth
        return major << 24 | minor << 20 | third << 12 | fourth << 8 | fifth


PROFILES = {
    profile.release: profile
    for profile in (
        Profile(Release(11, 2), (11, 2, 0, 4, 0), 314, 6),
        Profile(Release(12, 1), (12, 1, 0, 2, 0), 315, 7),
        Profile(Release(12, 2), (12, 2, 0, 1, 0), 315, 8),
        Profile(Release(18), (18, 14, 0, 0, 0), 317, 11),
        Profile(Release(19), (19, 22, 0, 0, 0), 318, 12),
        Profile(Release(21), (21, 3, 0, 0, 0), 318, 16),
        Profile(Release(23), (23, 6, 0, 24, 10), 319, 24, END_OF_RESPONSE | FAST_AUTHENTICATION),
        Profile(Release(23, 26), (23, 26, 1, 0, 0), 319, 24, END_OF_RESPONSE | FAST_AUTHENTICATION),
    )
}
"""The releases that the server can imitate. Thin clients refuse 11.2, as they refuse a real one."""


def profile_of(release: Release) -> Profile:
    """Return the profile of the newest release that is not newer than `release`."""
    return PROFILES[max(known for known in PROFILES if known <= max(release, min(PROFILES)))]

"""Squeezing: zstd with its own checksum, and unsqueezing what may come from a stranger."""

from __future__ import annotations

import sys

from presman.codec.packing import DamagedError

MOST_BYTES = 64 << 20
"""Bytes that a block may unfold to."""

if sys.version_info >= (3, 14):
    from compression import zstd

    def squeezed(content: bytes, level: int) -> bytes:
        """Return `content` compressed, with a checksum."""
        options = {zstd.CompressionParameter.compression_level: level, zstd.CompressionParameter.checksum_flag: 1}
        return zstd.compress(content, options=options)

    def unsqueezed(content: bytes) -> bytes:
        """Return what was compressed. Raises DamagedError for what is damaged or too large."""
        reader = zstd.ZstdDecompressor()
        try:
            found = reader.decompress(content, MOST_BYTES + 1)
        except (zstd.ZstdError, EOFError, ValueError) as error:
            raise DamagedError("it cannot be decompressed") from error
        if len(found) > MOST_BYTES or not reader.eof:
            raise DamagedError("it is cut short" if len(found) <= MOST_BYTES else "it is too large")
        return found

else:
    import zstandard

    def squeezed(content: bytes, level: int) -> bytes:
        """Return `content` compressed, with a checksum."""
        return zstandard.ZstdCompressor(level=level, write_checksum=True).compress(content)

    def unsqueezed(content: bytes) -> bytes:
        """Return what was compressed. Raises DamagedError for what is damaged or too large."""
        try:
            size = zstandard.frame_content_size(content)
            if not 0 <= size <= MOST_BYTES:
                raise DamagedError("it is too large")
            return zstandard.ZstdDecompressor().decompress(content, max_output_size=MOST_BYTES)
        except (zstandard.ZstdError, MemoryError) as error:
            raise DamagedError("it cannot be decompressed") from error

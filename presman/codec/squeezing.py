"""Squeezing: zstd with its own checksum, and unsqueezing what may come from a stranger."""

from __future__ import annotations

import sys

from presman.codec.packing import DamagedError

MOST_BYTES = 32 << 20
"""Bytes that a block may unfold to."""

TOO_LARGE = "it unfolds to more bytes than a recorder writes"

if sys.version_info >= (3, 14):
    from compression import zstd

    def squeezed(content: bytes, level: int) -> bytes:
        """Return `content` compressed, with a checksum."""
        options = {zstd.CompressionParameter.compression_level: level, zstd.CompressionParameter.checksum_flag: 1}
        return zstd.compress(content, options=options)

    def unsqueezed(content: bytes, most: int = MOST_BYTES) -> bytes:
        """Return what was compressed. Raises DamagedError for what is damaged or larger than `most`."""
        reader = zstd.ZstdDecompressor()
        try:
            found = reader.decompress(content, most + 1)
        except (zstd.ZstdError, EOFError, ValueError) as error:
            raise DamagedError("it cannot be decompressed") from error
        if len(found) > most or not reader.eof:
            raise DamagedError("it is cut short" if len(found) <= most else TOO_LARGE)
        return found

else:
    import zstandard

    def squeezed(content: bytes, level: int) -> bytes:
        """Return `content` compressed, with a checksum."""
        return zstandard.ZstdCompressor(level=level, write_checksum=True).compress(content)

    def unsqueezed(content: bytes, most: int = MOST_BYTES) -> bytes:
        """Return what was compressed. Raises DamagedError for what is damaged or larger than `most`."""
        try:
            if not 0 <= zstandard.frame_content_size(content) <= most:
                raise DamagedError(TOO_LARGE)
            return zstandard.ZstdDecompressor().decompress(content, max_output_size=most)
        except (zstandard.ZstdError, MemoryError) as error:
            raise DamagedError("it cannot be decompressed") from error

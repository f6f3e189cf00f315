"""Zips that mean harm, or were made by odd programs: name -> (file, codes it may be answered with; "added": it may be taken)."""

import io
import stat
import struct
import warnings
import zipfile

from forget_me_not.demo.soak.photos import photo

PNG = photo(0, 0)
GOOD = ("dog/0.png", photo(1, 0))
"""Lies behind what is bad: it must not be lost with it."""


def packed(*entries, method=zipfile.ZIP_DEFLATED, comment=b""):
    """A zip of (name, bytes) or (ZipInfo, bytes)."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # duplicate names
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.comment = comment
            for name, data in entries:
                archive.writestr(name, data)
    return out.getvalue()


def one(name):
    """A zip with a good photo under a bad name; a raw entry, since zipfile would mend the name."""
    entry = zipfile.ZipInfo("x")
    entry.filename = name
    return packed((entry, PNG), GOOD)


def patched(data, mark, offset, value, last=False):
    """`data` with bytes overwritten behind the first (last) record that starts with `mark`."""
    at = (data.rindex if last else data.index)(mark) + offset
    return data[:at] + value + data[at + len(value) :]


CENTRAL, LOCAL, END = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"


def linked():
    entry = zipfile.ZipInfo("cat/link.png")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return packed((entry, b"/etc/passwd"), GOOD)


def overlapping(count=1000):
    """One photo, named by a thousand records of the directory: what is small in the zip would be huge outside."""
    data = packed(("cat/0.png", PNG))
    start, end = data.index(CENTRAL), data.index(END)
    record = data[start:end]
    records = b"".join(record.replace(b"cat/0.png", b"c%02d/%d.png" % (n // 10, n % 10)) for n in range(count))
    return data[:start] + records + END + struct.pack("<HHHHIIH", 0, 0, count, count, len(records), start, 0)


def crowd(count=100_000):
    """10^5 entries, each as small as an entry can be, written by hand: zipfile would take a minute."""
    local, central = bytearray(), bytearray()
    for number in range(count):
        name = b"c/%06d.png" % number
        at = len(local)
        local += struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0) + name
        record = (0x02014B50, 20, 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, at)
        central += struct.pack("<IHHHHHHIIIHHHHHII", *record) + name
    far, size = len(local), len(central)
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, far)
    locator = struct.pack("<IIQI", 0x07064B50, 0, far + size, 1)
    end = struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return bytes(local + central + end64 + locator) + END + end


def nested(depth=6):
    """A zip in a zip in a zip …, ten copies a level: unpacked to the ground it would be 10^6 files."""
    data = packed(("0.png", b"\0" * 2**20))
    for level in range(depth):
        data = packed(*((f"{level}/{n}.zip", data) for n in range(10)))
    return packed(("cat/0.png", data), GOOD)


def future_method():
    data = one("cat/0.png")
    return patched(patched(data, LOCAL, 8, b"\x63\0"), CENTRAL, 10, b"\x63\0")


def zip64_lie():
    """A zip64 end record that promises 2^60 entries in 2^60 bytes."""
    data = one("cat/0.png")
    start, end = data.index(CENTRAL), data.index(END)
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 2**60, 2**60, 2**60, start)
    return data[:end] + end64 + struct.pack("<IIQI", 0x07064B50, 0, end, 1) + patched(data[end:], END, 8, b"\xff" * 12)


PHOTO, DENIED, BROKEN = {"added"}, {"image_outside"}, {"images_zip_broken"}

ZIPS = {
    "slip": (lambda: one("../../evil.png"), DENIED),
    "slip in the middle": (lambda: one("cat/../../evil.png"), DENIED),
    "slip the Windows way": (lambda: one("..\\..\\evil.png"), DENIED),
    "absolute path": (lambda: one("/etc/cron.d/evil.png"), DENIED),
    "drive letter": (lambda: one("C:\\Windows\\evil.png"), DENIED),
    "drive letter without a slash": (lambda: one("C:evil.png"), DENIED),
    "network path": (lambda: one("\\\\host\\share\\evil.png"), DENIED),
    "symbolic link": (linked, {"image_link"}),
    "encrypted entry": (lambda: patched(patched(one("cat/0.png"), LOCAL, 6, b"\1\0"), CENTRAL, 8, b"\1\0"), {"image_encrypted"}),
    "bomb of 100 MB": (lambda: packed(("cat/0.png", b"\0" * 100 * 2**20), GOOD), {"image_ratio"}),
    "bombs below the size that is looked at": (lambda: packed(*((f"c/{n}.png", b"\0" * 2**20) for n in range(100)), GOOD),
                                               {"image_type"}),
    "bomb behind the first bytes of a PNG": (lambda: packed(("cat/0.png", PNG[:64] + b"\0" * 50 * 2**20), GOOD), {"image_ratio"}),
    "nested bomb": (nested, {"image_archive"}),
    "nested zip called a picture": (lambda: packed(("cat/0.png", one("x/0.png")), GOOD), {"image_archive"}),
    "overlapping entries": (overlapping, {"image_unreadable", "images_none_usable"}),
    "100,000 entries": (crowd, {"images_too_many"}),
    "zip64 that lies": (zip64_lie, BROKEN),
    "entries counted wrongly": (lambda: patched(one("cat/0.png"), END, 8, b"\xff\xff\xff\xff"), PHOTO | BROKEN),
    "size of 4 GB": (lambda: patched(one("cat/0.png"), CENTRAL, 24, b"\xfe\xff\xff\xff"), {"image_ratio"}),
    "packed size of nothing": (lambda: patched(one("cat/0.png"), CENTRAL, 20, b"\0" * 4), {"image_unreadable", "image_empty"}),
    "directory far behind the end": (lambda: patched(one("cat/0.png"), END, 16, b"\xf0\xff\xff\x7f"),
                                     BROKEN | {"images_none_usable"}),
    "local header that is elsewhere": (lambda: patched(one("cat/0.png"), CENTRAL, 42, b"\xf0\xff\xff\x7f"),
                                       BROKEN | {"image_unreadable"}),
    "wrong checksum": (lambda: patched(one("cat/0.png"), CENTRAL, 16, b"\1\2\3\4"), {"image_unreadable"}),
    "truncated": (lambda: one("cat/0.png")[:-40], BROKEN),
    "only the end record": (lambda: packed(), {"images_none"}),
    "directories only": (lambda: packed(("cat/", b""), ("cat/dog/", b"")), {"images_none"}),
    "litter only": (lambda: packed(("__MACOSX/._0.png", PNG), ("cat/Thumbs.db", PNG)), {"images_none"}),
    "duplicate entries": (lambda: packed(("cat/0.png", PNG), ("cat/0.png", photo(0, 1))), PHOTO),
    "case collisions": (lambda: packed(("Cat/0.PNG", PNG), ("cat/0.png", photo(0, 1)), ("CAT/0.Png", photo(0, 2))), PHOTO),
    "NUL in a name": (lambda: one("cat/0.png\0.exe"), PHOTO),
    "control characters in a name": (lambda: one("c\x1b[31mat\r\n/0.png"), PHOTO),
    "name of 60,000 letters": (lambda: one("cat/" + "x" * 60_000 + ".png"), PHOTO),
    "class of 60,000 letters": (lambda: one("x" * 60_000 + "/0.png"), PHOTO),
    "2,000 folders deep": (lambda: one("d/" * 2000 + "0.png"), PHOTO),
    "names Windows keeps for itself": (lambda: packed(("CON/NUL.png", PNG), ("aux/COM1", photo(0, 1))), PHOTO),
    "names that end in dots and blanks": (lambda: one("cat. . /0.png. "), PHOTO),
    "right-to-left name": (lambda: one("\u202egnp.tac/\u202e0.png"), PHOTO),
    "zero-width name": (lambda: packed(("c\u200bat/0.png", PNG), ("cat/0.png", photo(0, 1))), PHOTO),
    "name of nothing but zero-width letters": (lambda: one("\u200b\u2060/0.png"), PHOTO),
    "script in a name": (lambda: one("<script>alert(1)<\\script>/\"onerror=alert(1).png"), PHOTO),
    "format strings in a name": (lambda: one("%s%n{0}{name}${jndi:ldap:x}/%2e%2e%2f.png"), PHOTO),
    "half of a surrogate pair": (lambda: one("\ufffd\ufeffcat/0.png"), PHOTO),
    "compression of the future": (future_method, {"image_unreadable"}),
    "LZMA": (lambda: packed(("cat/0.png", PNG), method=zipfile.ZIP_LZMA), PHOTO),
    "several disks": (lambda: patched(one("cat/0.png"), END, 4, b"\7\0\7\0"), BROKEN | PHOTO),
    "comment that holds another end": (lambda: packed(("cat/0.png", PNG), comment=packed(("../e.png", PNG))[-22:] * 2),
                                       PHOTO | BROKEN),
    "nothing but extra fields": (lambda: patched(one("cat/0.png"), CENTRAL, 30, b"\xff\xff"), BROKEN),
}

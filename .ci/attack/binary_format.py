"""Binary stores as they are read and written, for stores that no release would write."""
import struct

MAGIC = bytes.fromhex("894344530D0A1A0A")
TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    TABLE.append(_byte)


def crc32c(data):
    sum = 0xFFFFFFFF
    for byte in data:
        sum = TABLE[(sum ^ byte) & 255] ^ sum >> 8
    return sum ^ 0xFFFFFFFF


def payload(file):
    """What the blocks of a file hold."""
    data, place, result = open(file, "rb").read(), 12, b""
    while True:
        length, _ = struct.unpack_from("<II", data, place)
        if length == 0:
            return result
        result += data[place + 8:place + 8 + length]
        place += 8 + length


def blocks(payload, version=1):
    """A file whose blocks hold this, with the right checksums."""
    result = MAGIC + struct.pack("<I", version)
    for number, place in enumerate(list(range(0, len(payload), 65536)) + [None]):
        part = b"" if place is None else payload[place:place + 65536]
        result += struct.pack("<II", len(part), crc32c(struct.pack("<QQ", number, len(part)) + part)) + part
    return result


def number(value):
    result = b""
    while value > 127:
        result += bytes([value & 127 | 128])
        value >>= 7
    return result + bytes([value])


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return number(len(value)) + value


class Raw:
    """Bytes that stand where a value would."""

    def __init__(self, data):
        self.data = data


def value(each):
    if isinstance(each, Raw):
        return each.data
    if each is None:
        return b"\0"
    if isinstance(each, int):
        return b"\1" + number(2 * each if each >= 0 else -2 * each - 1)
    if isinstance(each, float):
        return b"\2" + struct.pack("<d", each)
    if isinstance(each, str):
        return b"\3" + text(each)
    return b"\4" + text(each)


class Contents:
    """Metadata, and tables of rows."""

    def __init__(self, file):
        self.data, self.place = payload(file), 0
        self.metadata = {}
        for _ in range(self.number()):
            key = self.text()
            self.metadata[key] = self.text()
        self.tables = []
        for _ in range(self.number()):
            kind, self.place = self.data[self.place], self.place + 1
            name = self.text()
            columns = [self.text() for _ in range(self.number())]
            rows, last = [], [0] * len(columns)
            while self.byte():
                row = [self.value(place, last) for place in range(len(columns))]
                rows.append(row)
            self.tables.append((kind, name, columns, rows))

    def byte(self):
        self.place += 1
        return self.data[self.place - 1]

    def number(self):
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result

    def bytes(self, count):
        self.place += count
        return self.data[self.place - count:self.place]

    def text(self):
        return self.bytes(self.number()).decode()

    def value(self, place, last):
        kind = self.byte()
        if kind == 0:
            return None
        if kind >= 128:
            return self.bytes(kind - 128).decode()
        if kind >= 8:
            last[place] = kind - 8
        elif kind == 1:
            found = self.number()
            last[place] = -(found + 1) // 2 if found & 1 else found // 2
        elif kind == 5:
            last[place] += 1
        elif kind == 2:
            return struct.unpack("<d", self.bytes(8))[0]
        elif kind == 3:
            return self.text()
        else:
            return self.bytes(self.number())
        return last[place]

    def table(self, name):
        return next(each for each in self.tables if each[1] == name)

    def file(self):
        result = number(len(self.metadata))
        for key, each in self.metadata.items():
            result += (key.data if isinstance(key, Raw) else text(key)) + (each.data if isinstance(each, Raw) else text(each))
        result += number(len(self.tables))
        for kind, name, columns, rows in self.tables:
            result += bytes([kind]) + text(name) + number(len(columns)) + b"".join(text(each) for each in columns)
            result += b"".join(b"\1" + b"".join(value(each) for each in row) for row in rows) + b"\0"
        return blocks(result)

/// The format of binary stores, as <doc:StoreTypes> describes it.
struct BinaryStoreFormat: StoreFormat {
  /// The first bytes of the file. They show whether a transfer has changed line endings or the highest bit.
  static let magic: [UInt8] = [0x89, 0x43, 0x44, 0x53, 0x0D, 0x0A, 0x1A, 0x0A]
  static let version: UInt32 = 1
  /// The maximum number of bytes in a block.
  static let blockSize = 65_536

  /// The byte before a value, which gives its type.
  enum Tag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let bytes: UInt8 = 4
    /// An integer that is the previous row's integer in the same column, plus one.
    static let successor: UInt8 = 5
    /// An integer that is the tag minus this constant. Such tags are less than ``shortText``.
    static let small: UInt8 = 8
    /// A text whose number of bytes is the tag minus this constant.
    static let shortText: UInt8 = 128
  }

  /// The kinds of tables. A file stores the index of a kind.
  private static let kinds: [StoreTable.Kind] = [.keys, .objects, .pairs, .history]

  let name = "binary"

  func recognizes(_ start: [UInt8]) -> Bool { start.starts(with: Self.magic) }

  func write(_ contents: StoreContents, to output: StoreOutput) throws {
    try output.write(Self.magic + withUnsafeBytes(of: Self.version.littleEndian) { Array($0) })
    var writer = BinaryBlockWriter(output)
    writer.count(contents.metadata.count)
    for (key, value) in contents.metadata.orderedByKey() {
      try writer.text(key)
      try writer.text(value)
    }
    writer.count(contents.tables.count)
    for table in contents.tables {
      writer.byte(UInt8(truncatingIfNeeded: Self.kinds.firstIndex(of: table.kind) ?? 0))
      try writer.text(table.name)
      writer.count(table.columns.count)
      for column in table.columns { try writer.text(column.name) }
      var before = [Int64](repeating: 0, count: table.columns.count)
      try contents.forEachRow(of: table) { row in
        writer.byte(1)
        for (column, value) in row.enumerated() { try writer.value(value, after: &before[column]) }
        try writer.writeFullBlocks()
      }
      writer.byte(0)
    }
    try writer.finish()
  }

  func read(_ input: StoreInput, into builder: StoreBuilder) throws {
    let start = try input.read(upToCount: 12) ?? []
    guard start.starts(with: Self.magic) else {
      throw StoreFormatError(Self.magic.starts(with: start) ? .truncated : .otherFormat, offset: 0)
    }
    guard start.count == 12 else { throw StoreFormatError(.truncated, offset: start.count) }
    let version = start[8...].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    guard version == Self.version else {
      throw StoreFormatError(.newerFormat(found: Int(version), supported: Int(Self.version)), offset: 8)
    }
    var reader = BinaryBlockReader(input, offset: 12)
    do {
      try read(&reader, into: builder)
    } catch var error as StoreFormatError {
      if error.offset == nil { error.offset = reader.offset }
      throw error
    }
  }

  private func read(_ reader: inout BinaryBlockReader, into builder: StoreBuilder) throws {
    var metadata: [String: String] = [:]
    for _ in 0..<(try reader.count()) {
      let key = try reader.text()
      guard metadata.updateValue(try reader.text(), forKey: key) == nil else {
        throw StoreFormatError(.metadata(key: key))
      }
    }
    let tables = try builder.begin(metadata: metadata)
    for _ in 0..<(try reader.count()) {
      let kind = Int(try reader.byte())
      guard Self.kinds.indices.contains(kind) else {
        throw StoreFormatError(.syntax("a table of unknown kind"))
      }
      let name = try reader.text()
      guard let table = tables.first(where: { $0.kind == Self.kinds[kind] && $0.name == name }) else {
        throw StoreFormatError(.unknownEntity(name))
      }
      try readRows(of: table, &reader, into: builder)
    }
    try reader.finish()
  }

  private func readRows(
    of table: StoreTable, _ reader: inout BinaryBlockReader, into builder: StoreBuilder
  ) throws {
    var columnIndices: [Int] = []
    for _ in 0..<(try reader.count()) {
      let name = try reader.text()
      guard let index = table.columns.firstIndex(where: { $0.name == name }), !columnIndices.contains(index)
      else {
        throw StoreFormatError(.unknownProperty(entity: table.name, property: name))
      }
      columnIndices.append(index)
    }
    var row = [StoreValue](repeating: .null, count: table.columns.count)
    var before = [Int64](repeating: 0, count: columnIndices.count)
    while true {
      switch try reader.byte() {
      case 0: return
      case 1: break
      default: throw StoreFormatError(.syntax("neither a row nor the end of a table"))
      }
      for (column, index) in columnIndices.enumerated() {
        row[index] = try reader.value(after: &before[column])
      }
      try builder.add(row, to: table)
    }
  }
}
